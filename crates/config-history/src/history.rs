//! The history of the configuration: who changed what, when, from where, and why.
//!
//! A change is what differs between the texts that were in force and those that are; so one that
//! was made in an editor, even while nothing ran, is noticed too. At most 100 changes and 16 MiB
//! are kept, and the oldest go. It never stands against a change: what cannot be written down is
//! told as its trouble.

use crate::files_in_force::FilesInForce;
use crate::stored::{ChangeFolder, KnownText, KnownTexts, StoredChange, StoredText};
use admin::ChangeAuthor;
use admin_api::{ChangeDetails, ChangeInfo, ChangeList, ChangedText};
use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Folder of it in the state folder.
const FOLDER: &str = "config-history";
/// Changes that are kept.
const CHANGES_MAX: usize = 100;
/// Bytes of all of them.
const BYTES_MAX: u64 = 16 << 20;
/// Bytes of texts of one change, and of the texts in force as they are written down.
const TEXTS_BYTES_MAX: usize = 4 << 20;

/// Author of what is found changed in the files.
pub fn outside() -> ChangeAuthor {
    ChangeAuthor { who: "outside".into(), ..ChangeAuthor::default() }
}

/// The history.
#[derive(Debug)]
pub struct ChangeHistory {
    folder: ChangeFolder,
    kept: Mutex<KeptChanges>,
}

/// A file as it was before a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EarlierText {
    /// The file.
    pub path: String,
    /// Text of it; none where it was no part of the configuration.
    pub text: Option<String>,
}

#[derive(Debug, Default)]
struct KeptChanges {
    /// The oldest first, with the size of each.
    changes: VecDeque<(StoredChange, u64)>,
    /// Texts in force; none before the first start.
    known: Option<KnownTexts>,
    files: FilesInForce,
    next: u64,
    trouble: Option<String>,
}

impl ChangeHistory {
    /// The history of a state folder. One that cannot be read begins anew, and says so.
    pub fn open(state_dir: &Path) -> Self {
        let folder = ChangeFolder::new(state_dir.join(FOLDER));
        let mut kept = KeptChanges::default();
        if let Err(why) = kept.read(&folder) {
            let place = folder.path().display();
            kept.trouble = Some(format!("changes of the configuration in {place}: {why}"));
        }
        kept.next = kept.next.max(1);
        Self { folder, kept: Mutex::new(kept) }
    }

    /// Takes over the files that are in force from now on; the number of the change, if one was
    /// made.
    pub fn take_over(&self, files: FilesInForce, author: &ChangeAuthor, at_ms: u64) -> Option<u64> {
        let mut kept = self.lock();
        let now = KnownTexts { last: 0, files: files.iter().map(known_text).collect() };
        kept.files = files;
        match kept.record(&self.folder, now, author, at_ms) {
            Ok(number) => number,
            Err(why) => {
                let place = self.folder.path().display();
                kept.trouble =
                    Some(format!("{place}: a change of the configuration is not kept: {why}"));
                None
            }
        }
    }

    /// The files in force.
    pub fn files(&self) -> FilesInForce {
        self.lock().files.clone()
    }

    /// Reason why changes are not kept.
    pub fn trouble(&self) -> Option<String> {
        self.lock().trouble.clone()
    }

    /// Changes, the newest first. Times are written by `iso`.
    pub fn list(&self, iso: fn(u64) -> String) -> ChangeList {
        let kept = self.lock();
        let changes = kept.changes.iter().rev().map(|(change, _)| info(change, iso)).collect();
        ChangeList { changes, trouble: kept.trouble.clone() }
    }

    /// One change with its texts; none where it is not kept.
    ///
    /// # Errors
    /// Its file cannot be read.
    pub fn details(
        &self,
        number: u64,
        iso: fn(u64) -> String,
    ) -> io::Result<Option<ChangeDetails>> {
        let kept = self.lock();
        let Some(at) = kept.place(number) else { return Ok(None) };
        let change = self.folder.read(number)?;
        let mut texts = Vec::with_capacity(change.files.len());
        for text in &change.files {
            let after = self.text_after(&kept, at, &text.path)?;
            texts.push(ChangedText { path: text.path.clone(), before: text.before.clone(), after });
        }
        Ok(Some(ChangeDetails { change: info(&change, iso), texts }))
    }

    /// Texts of files as they were before a change, of those that it or a later one changed; none
    /// where the change is not kept.
    ///
    /// # Errors
    /// A file cannot be read, or a text was too large to be kept.
    pub fn before(&self, number: u64) -> io::Result<Option<Vec<EarlierText>>> {
        let kept = self.lock();
        let Some(at) = kept.place(number) else { return Ok(None) };
        let mut found: Vec<EarlierText> = Vec::new();
        for (change, _) in kept.changes.iter().skip(at) {
            for text in self.folder.read(change.number)?.files {
                if found.iter().any(|known| known.path == text.path) {
                    continue;
                }
                if text.left_out {
                    let why = format!("the text of {} was too large to be kept", text.path);
                    return Err(io::Error::other(why));
                }
                found.push(EarlierText { path: text.path, text: text.before });
            }
        }
        Ok(Some(found))
    }

    /// Text of a file after the change at this place: what the next one found, or what is in force.
    fn text_after(&self, kept: &KeptChanges, at: usize, path: &str) -> io::Result<Option<String>> {
        let has = |change: &StoredChange| change.files.iter().any(|text| text.path == path);
        if let Some((next, _)) = kept.changes.iter().skip(at + 1).find(|(it, _)| has(it)) {
            let next = self.folder.read(next.number)?;
            let found = next.files.into_iter().find(|text| text.path == path);
            return Ok(found.and_then(|text| text.before));
        }
        let known = kept.known.iter().flat_map(|known| &known.files);
        Ok(known.clone().find(|text| text.path == path).map(|text| text.text.clone()))
    }

    fn lock(&self) -> MutexGuard<'_, KeptChanges> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeptChanges {
    fn read(&mut self, folder: &ChangeFolder) -> io::Result<()> {
        self.known = folder.known()?;
        for (number, bytes) in folder.numbers()? {
            self.next = number + 1;
            let mut change = folder.read(number)?;
            without_texts(&mut change);
            self.changes.push_back((change, bytes));
        }
        let last = self.known.as_ref().map_or(0, |known| known.last);
        self.next = self.next.max(last + 1);
        // A kill between the change and the texts: the change has been written down.
        if self.next > last + 1 {
            self.known = None;
        }
        Ok(())
    }

    fn place(&self, number: u64) -> Option<usize> {
        self.changes.iter().position(|(change, _)| change.number == number)
    }

    fn record(
        &mut self,
        folder: &ChangeFolder,
        mut now: KnownTexts,
        author: &ChangeAuthor,
        at_ms: u64,
    ) -> io::Result<Option<u64>> {
        let files = self.known.as_ref().map(|known| differing(known, &now)).unwrap_or_default();
        let number = (!files.is_empty()).then_some(self.next);
        if let Some(number) = number {
            let mut change = StoredChange {
                number,
                at_ms,
                who: author.who.clone(),
                from: author.from.map(|from| from.to_string()),
                why: author.why.clone(),
                files,
            };
            leave_out_large(&mut change);
            let bytes = folder.write(&change)?;
            without_texts(&mut change);
            self.changes.push_back((change, bytes));
            self.next += 1;
        }
        now.last = self.next - 1;
        let bytes: usize = now.files.iter().map(|text| text.text.len()).sum();
        let is_new = self.known.as_ref() != Some(&now);
        self.known = Some(now);
        self.drop_oldest(folder)?;
        // What is too large is known as long as the program runs.
        if let (true, Some(known)) = (is_new && bytes <= TEXTS_BYTES_MAX, &self.known) {
            folder.write_known(known)?;
        }
        Ok(number)
    }

    fn drop_oldest(&mut self, folder: &ChangeFolder) -> io::Result<()> {
        let mut bytes: u64 = self.changes.iter().map(|(_, bytes)| bytes).sum();
        while self.changes.len() > CHANGES_MAX || (bytes > BYTES_MAX && self.changes.len() > 1) {
            let Some((oldest, size)) = self.changes.pop_front() else { break };
            bytes -= size;
            folder.remove(oldest.number)?;
        }
        Ok(())
    }
}

/// Files whose texts differ, with the texts before.
fn differing(before: &KnownTexts, now: &KnownTexts) -> Vec<StoredText> {
    let text_in = |texts: &KnownTexts, path: &str| {
        texts.files.iter().find(|text| text.path == path).map(|text| text.text.clone())
    };
    let changed = now.files.iter().filter_map(|text| {
        let was = text_in(before, &text.path);
        let differs = was.as_ref() != Some(&text.text);
        differs.then(|| StoredText { path: text.path.clone(), before: was, left_out: false })
    });
    let gone = before.files.iter().filter(|text| text_in(now, &text.path).is_none());
    let gone = gone.map(|text| StoredText {
        path: text.path.clone(),
        before: Some(text.text.clone()),
        left_out: false,
    });
    changed.chain(gone).collect()
}

/// Leaves texts out that are too large together.
fn leave_out_large(change: &mut StoredChange) {
    let mut bytes = 0;
    for text in &mut change.files {
        bytes += text.before.as_ref().map_or(0, String::len);
        if bytes > TEXTS_BYTES_MAX {
            text.left_out = text.before.take().is_some();
        }
    }
}

fn without_texts(change: &mut StoredChange) {
    for text in &mut change.files {
        text.before = None;
    }
}

fn known_text(file: &crate::FileInForce) -> KnownText {
    KnownText { path: file.name.clone(), text: file.text.to_string() }
}

fn info(change: &StoredChange, iso: fn(u64) -> String) -> ChangeInfo {
    ChangeInfo {
        number: change.number,
        at: iso(change.at_ms),
        who: change.who.clone(),
        from: change.from.clone(),
        why: change.why.clone(),
        files: change.files.iter().map(|text| text.path.clone()).collect(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use test_support::ScratchFolder;

    fn author(who: &str) -> ChangeAuthor {
        ChangeAuthor { who: who.into(), from: None, why: format!("{who} wished it") }
    }

    /// A configuration with this text, in force.
    fn files(folder: &Path, text: &str) -> FilesInForce {
        let path = folder.join("t.yaml");
        fs::write(&path, text).unwrap();
        FilesInForce::of(&config::load(&path, config::ConfigLayers::default()).unwrap(), folder)
    }

    fn iso(ms: u64) -> String {
        ms.to_string()
    }

    #[test]
    fn changes_are_kept_with_who_and_why_over_restarts_and_can_be_gone_back_to() {
        let folder = ScratchFolder::new();
        let at = folder.path();
        let history = ChangeHistory::open(at);
        assert_eq!(history.take_over(files(at, "user: a\n"), &author("start"), 1), None);
        assert_eq!(history.take_over(files(at, "user: a\n"), &author("again"), 2), None);
        assert_eq!(history.take_over(files(at, "user: b\n"), &author("ann"), 3), Some(1));
        drop(history);
        let history = ChangeHistory::open(at);
        assert_eq!(history.take_over(files(at, "user: c\n"), &author("outside"), 4), Some(2));
        let list = history.list(iso).changes;
        let told: Vec<_> = list.iter().map(|it| (it.number, &*it.who, &*it.at)).collect();
        assert_eq!(told, [(2, "outside", "4"), (1, "ann", "3")]);
        assert_eq!(list[1].why, "ann wished it");
        let first = history.details(1, iso).unwrap().unwrap().texts;
        assert_eq!(first[0].before.as_deref(), Some("user: a\n"));
        assert_eq!(first[0].after.as_deref(), Some("user: b\n"));
        let second = history.details(2, iso).unwrap().unwrap().texts;
        assert_eq!(second[0].after.as_deref(), Some("user: c\n"));
        let path = at.join("t.yaml").display().to_string();
        let earlier = EarlierText { path, text: Some("user: a\n".into()) };
        assert_eq!(history.before(1).unwrap(), Some(vec![earlier]));
        assert!(history.before(3).unwrap().is_none());
        for entry in fs::read_dir(at.join(FOLDER)).unwrap() {
            let mode = entry.unwrap().metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[test]
    fn the_oldest_go_and_numbers_are_never_given_twice() {
        let folder = ScratchFolder::new();
        let at = folder.path();
        let history = ChangeHistory::open(at);
        for number in 0..=CHANGES_MAX + 2 {
            history.take_over(files(at, &format!("user: u{number}\n")), &author("a"), 1);
        }
        let list = history.list(iso).changes;
        assert_eq!((list.len(), list[0].number), (CHANGES_MAX, CHANGES_MAX as u64 + 2));
        assert!(history.details(2, iso).unwrap().is_none());
        drop(history);
        let history = ChangeHistory::open(at);
        let next = history.take_over(files(at, "user: z\n"), &author("a"), 1);
        assert_eq!(next, Some(CHANGES_MAX as u64 + 3));
    }

    #[test]
    fn texts_that_are_too_many_bytes_push_out_older_ones() {
        let folder = ScratchFolder::new();
        let at = folder.path();
        let history = ChangeHistory::open(at);
        for number in 0..12 {
            let text = format!("user: u{number}\n# {}\n", "x".repeat(2 << 20));
            history.take_over(files(at, &text), &author("a"), 1);
        }
        let list = history.list(iso).changes;
        assert_eq!((list.len(), list[0].number), (7, 11), "16 MiB hold seven of 2 MiB and more");
        assert!(history.trouble().is_none());
    }

    #[test]
    fn a_kill_after_the_change_was_written_down_does_not_write_it_down_twice() {
        let folder = ScratchFolder::new();
        let at = folder.path();
        let history = ChangeHistory::open(at);
        history.take_over(files(at, "user: a\n"), &author("start"), 1);
        let known = fs::read(at.join(FOLDER).join("known.json")).unwrap();
        history.take_over(files(at, "user: b\n"), &author("ann"), 2);
        fs::write(at.join(FOLDER).join("known.json"), known).unwrap();
        let history = ChangeHistory::open(at);
        assert_eq!(history.take_over(files(at, "user: b\n"), &author("outside"), 3), None);
        assert_eq!(history.list(iso).changes.len(), 1);
        assert_eq!(history.take_over(files(at, "user: c\n"), &author("bob"), 4), Some(2));
    }

    #[test]
    fn a_broken_history_begins_anew_and_says_so() {
        let folder = ScratchFolder::new();
        let at = folder.path();
        fs::create_dir_all(at.join(FOLDER)).unwrap();
        fs::write(at.join(FOLDER).join("0000000004.json"), "{").unwrap();
        let history = ChangeHistory::open(at);
        assert!(history.trouble().unwrap().contains("0000000004.json"));
        history.take_over(files(at, "user: a\n"), &author("start"), 1);
        assert_eq!(history.take_over(files(at, "user: b\n"), &author("ann"), 2), Some(5));
    }
}
