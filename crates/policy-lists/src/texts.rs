//! List files into compiled rules, by way of the snapshot in the state folder.
//!
//! The texts are read and digested at every start (a few milliseconds for 200,000 lines); the
//! compiled form is taken from the snapshot when its digest is the same, else compiled anew and
//! kept. A list that cannot be read is a problem with a name and a remedy: at start and at reload
//! nothing changes; a running Tidegate keeps the rules it has. A list that was never fetched is no
//! problem but an empty one: [`crate::subscriptions`] brings it.

use crate::folder;
use crate::hex_text::hex;
use crate::randomness::random;
use crate::subscriptions::Subscription;
use crate::unreadable::ListReadError;
use admin_api::{ListInfo, SkippedCount, SkippedLine};
use config::{FileComplaint, Plan};
use policy::{ListFile, ListKind, ListReport, ListSettings, ListSource, RuleSet, UnfitList};
use sha2::{Digest, Sha256};
use state_folder::replace_file;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;
use vocab::Complaint;

/// The lists that come with the binary.
const STARTER: &str = include_str!("../assets/starter.txt");
const SNAPSHOT_FILE: &str = "policy.snapshot";
/// Folder of compiled lists in a bundle of a fleet. What the fleet's own folder has in hidden
/// folders is not published, so that nothing else is in there.
pub const COMPILED_FOLDER: &str = ".compiled";

/// A list's text.
struct ListText {
    name: String,
    kind: ListKind,
    content: ListContent,
}

/// Holds what a list says.
#[derive(Default)]
struct ListContent {
    text: Vec<u8>,
    /// Files, if it is a folder.
    files: Vec<ListFile>,
    /// When it last changed, in milliseconds since 1970; none where nobody knows.
    changed_ms: Option<u64>,
}

impl ListText {
    fn source(&self) -> ListSource<'_> {
        let ListContent { text, files, .. } = &self.content;
        ListSource { name: &self.name, kind: self.kind, text, files }
    }
}

/// All texts that could be read, and what could not.
pub struct ListTexts {
    lists: Vec<ListText>,
    /// Lists that could not be read, with their place in the configuration.
    pub problems: Vec<FileComplaint>,
    /// Remarks on what is no problem, but perhaps not meant: folders without any list.
    pub remarks: Vec<String>,
    /// Folder of lists that whoever publishes a fleet's bundles has compiled.
    compiled: Option<PathBuf>,
}

/// Where compiled rules came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RulesOrigin {
    /// The snapshot of an earlier start.
    Snapshot,
    /// The bundle of a fleet, whose publisher has compiled them.
    Bundle,
    /// Compiled just now.
    Compiled,
}

/// Reads every list that the plan names.
pub fn read(plan: &Plan, state_dir: &Path) -> ListTexts {
    let base = plan.base(state_dir);
    let compiled = plan.fleet_folder().map(|folder| folder.join(COMPILED_FOLDER));
    let mut texts =
        ListTexts { lists: Vec::new(), problems: Vec::new(), remarks: Vec::new(), compiled };
    // What stands in the configuration has not changed since that did.
    let configured_ms = changed_ms(&plan.source);
    for (index, list) in plan.file.policy.lists.iter().enumerate() {
        let kind = list.kind;
        let content = if list.builtin.is_some() {
            Ok(ListContent { text: STARTER.as_bytes().to_vec(), ..ListContent::default() })
        } else if let Some(path) = &list.path {
            let path = base.join(path);
            let content = if path.is_dir() {
                of_folder(&path, list, &mut texts.remarks)
            } else {
                of_file(&path, list.bytes_max())
            };
            content.map_err(|what| ("path", format!("{}: {what}", path.display())))
        } else if let Some(subscription) = Subscription::of(list, state_dir) {
            let content = subscription.map(|it| {
                let changed_ms = changed_ms(&it.path);
                ListContent { text: it.stored().unwrap_or_default(), files: Vec::new(), changed_ms }
            });
            content.map_err(|what| ("url", what.to_string()))
        } else {
            let text = list.rules.join("\n").into_bytes();
            Ok(ListContent { text, files: Vec::new(), changed_ms: configured_ms })
        };
        match content {
            Ok(content) => texts.lists.push(ListText { name: list.name.clone(), kind, content }),
            Err((key, what)) => {
                let at = format!("policy.lists.{index}.{key}");
                let message = format!("list {:?}: {what}", list.name);
                let remedy = format!("correct the {key}, or leave the list out");
                texts.problems.push(plan.locate(Complaint::new(at, message).remedy(remedy)));
            }
        }
    }
    for (name, text) in plan.file.policy.schedule_lists() {
        let text = text.into_bytes();
        let content = ListContent { text, files: Vec::new(), changed_ms: configured_ms };
        texts.lists.push(ListText { name, kind: ListKind::Block, content });
    }
    texts
}

/// Lists of a plan that are folders: all of them, or the one of this name.
pub fn folders(plan: &Plan, state_dir: &Path, name: Option<&str>) -> Vec<String> {
    let base = plan.base(state_dir);
    let is_folder =
        |list: &&ListSettings| list.path.as_ref().is_some_and(|path| base.join(path).is_dir());
    let lists = plan.file.policy.lists.iter().filter(is_folder);
    let names = lists.map(|list| list.name.clone());
    names.filter(|it| name.is_none_or(|name| it == name)).collect()
}

/// Lists with a path that were read and of which nothing is in force, with their place in the
/// configuration. One that is fetched tells by itself; an empty file is a list without rules.
pub fn not_in_force(plan: &Plan, rules: &RuleSet) -> Vec<FileComplaint> {
    let lists = plan.file.policy.lists.iter().enumerate();
    let complaint = |(index, list): (usize, &ListSettings)| {
        list.path.as_ref()?;
        let report = rules.lists().iter().find(|report| report.name == list.name)?;
        let why = report.unfit.filter(|why| *why != UnfitList::Empty)?;
        let at = format!("policy.lists.{index}.path");
        let message = format!("list {:?} is not in force: {why}", list.name);
        let remedy =
            "name another file, or leave the list out; tidegate lists test FILE shows more";
        Some(plan.locate(Complaint::new(at, message).remedy(remedy)))
    };
    lists.filter_map(complaint).collect()
}

/// Lists whose every line was skipped, for reasons that may be right.
pub fn without_rules(rules: &RuleSet) -> Vec<String> {
    let is_idle = |report: &&ListReport| {
        report.unfit.is_none()
            && u64::from(report.rules_names) + u64::from(report.rules_urls) == 0
            && !report.skipped.is_empty()
    };
    let told = |report: &ListReport| {
        let why = report.skipped_by_reason.first();
        let why = why.map_or_else(String::new, |(reason, count)| format!(": {count} {reason}"));
        format!("list {}: none of its lines is in force{why}", report.name)
    };
    rules.lists().iter().filter(is_idle).map(told).collect()
}

fn of_file(path: &Path, size_max: u64) -> Result<ListContent, ListReadError> {
    // Before it is read: what is read has then not changed since, or later.
    let changed_ms = changed_ms(path);
    let text = read_capped(path, size_max).and_then(fit)?;
    Ok(ListContent { text, files: Vec::new(), changed_ms })
}

fn of_folder(
    path: &Path,
    list: &ListSettings,
    remarks: &mut Vec<String>,
) -> Result<ListContent, ListReadError> {
    let files = folder::files(path)?;
    if files.is_empty() {
        remarks.push(format!(
            "list {}: the folder {} has no file whose name ends in .txt, .list or .hosts",
            list.name,
            path.display()
        ));
    }
    // The folder itself changes when a file comes or goes.
    let changed = files.iter().map(|file| changed_ms(file)).max().flatten();
    let changed_ms = changed_ms(path).max(changed);
    let (text, files) = folder::read(&files, list.bytes_max())?;
    Ok(ListContent { text, files, changed_ms })
}

/// When a file last changed, in milliseconds since 1970, as far as the file system tells.
fn changed_ms(path: &Path) -> Option<u64> {
    let changed = std::fs::metadata(path).and_then(|it| it.modified()).ok()?;
    let since = changed.duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(since.as_millis()).ok()
}

/// The text of a list, unless it is none at all; an empty file is a list without rules.
pub(crate) fn fit(text: Vec<u8>) -> Result<Vec<u8>, ListReadError> {
    match policy::unfit(&text) {
        None | Some(UnfitList::Empty) => Ok(text),
        Some(why) => Err(ListReadError::Unfit(why)),
    }
}

/// A file, if it is no larger than so many bytes.
pub(crate) fn read_capped(path: &Path, bytes_max: u64) -> Result<Vec<u8>, ListReadError> {
    let bytes = std::fs::metadata(path)?.len();
    if bytes > bytes_max {
        return Err(ListReadError::TooLarge { bytes, bytes_max });
    }
    Ok(std::fs::read(path)?)
}

/// Content of a list, in the words of the API.
pub fn list_info(report: &ListReport) -> ListInfo {
    let skipped = report
        .skipped_by_reason
        .iter()
        .map(|(reason, count)| SkippedCount { reason: reason.to_string(), count: *count });
    let lines = report.skipped.iter().map(|line| {
        let (file, number) = report.in_file(line.line);
        SkippedLine {
            file: file.map(str::to_owned),
            line: number,
            reason: line.reason.to_string(),
            text: line.text.clone(),
        }
    });
    ListInfo {
        name: report.name.clone(),
        kind: report.kind.to_string(),
        syntax: report.syntax.to_string(),
        lines: report.lines,
        rules_names: report.rules_names,
        rules_urls: report.rules_urls,
        skipped: report.skipped_by_reason.iter().map(|(_, count)| count).sum(),
        skipped_by_reason: skipped.collect(),
        skipped_lines: lines.collect(),
        unfit: report.unfit.map(|why| why.to_string()),
        ..ListInfo::default()
    }
}

/// Where a list comes from, in a few words.
pub fn origin_of(list: &ListSettings) -> String {
    match (&list.builtin, &list.path, &list.url) {
        (Some(name), _, _) => format!("builtin {name}"),
        (None, Some(path), _) => path.display().to_string(),
        (None, None, Some(url)) => url.clone(),
        (None, None, None) => "rules".into(),
    }
}

impl ListTexts {
    /// When each list last changed.
    pub fn changed(&self) -> Vec<Option<u64>> {
        self.lists.iter().map(|list| list.content.changed_ms).collect()
    }

    /// Returns what identifies these texts: name, kind and content of each list, with its files if
    /// it is a folder.
    pub(crate) fn digest(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        for list in &self.lists {
            for part in [list.name.as_bytes(), &[list.kind as u8], &list.content.text] {
                hash.update((part.len() as u64).to_le_bytes());
                hash.update(part);
            }
            hash.update((list.content.files.len() as u64).to_le_bytes());
            for file in &list.content.files {
                hash.update((file.name.len() as u64).to_le_bytes());
                hash.update(&file.name);
                hash.update((file.end as u64).to_le_bytes());
            }
        }
        hash.finalize().into()
    }

    /// The rules, from the snapshot or the fleet's bundle if they are of these texts; else
    /// compiled, where there are rules of before by reading only what changed since.
    pub fn rules(&self, state_dir: &Path, before: Option<&RuleSet>) -> (RuleSet, RulesOrigin) {
        let key = self.digest();
        if let Some(kept) = self.kept(state_dir, key) {
            return kept;
        }
        let snapshot = state_dir.join(SNAPSHOT_FILE);
        let rules = self.compile_after(before);
        if let Err(error) = replace_file(&snapshot, &rules.to_snapshot(key)) {
            log::warn!(
                target: "lists",
                "the compiled lists cannot be kept in {}: {error}; the next start will \
                 compile them again",
                snapshot.display()
            );
        }
        (rules, RulesOrigin::Compiled)
    }

    /// The same, and nothing is kept for the next start.
    pub fn rules_unkept(&self, state_dir: &Path, before: Option<&RuleSet>) -> RuleSet {
        let kept = self.kept(state_dir, self.digest());
        kept.map_or_else(|| self.compile_after(before), |(rules, _)| rules)
    }

    fn compile_after(&self, before: Option<&RuleSet>) -> RuleSet {
        match before {
            Some(before) => policy::recompile(before, &self.sources()),
            None => self.compile(),
        }
    }

    /// Rules that were compiled from these texts before, or elsewhere.
    fn kept(&self, state_dir: &Path, key: [u8; 32]) -> Option<(RuleSet, RulesOrigin)> {
        let snapshot = (state_dir.join(SNAPSHOT_FILE), RulesOrigin::Snapshot);
        let bundle = self.compiled.iter();
        let bundle = bundle.map(|folder| (folder.join(hex(&key)), RulesOrigin::Bundle));
        std::iter::once(snapshot).chain(bundle).find_map(|(file, origin)| {
            let bytes = std::fs::read(file).ok()?;
            Some((RuleSet::from_snapshot(&bytes, key).ok()?, origin))
        })
    }

    /// The rules, compiled now.
    pub fn compile(&self) -> RuleSet {
        policy::compile(&self.sources(), random())
    }

    fn sources(&self) -> Vec<ListSource<'_>> {
        self.lists.iter().map(ListText::source).collect()
    }
}

/// Rules of one file alone, for `tidegate lists test`.
pub fn compile_file(path: &Path) -> Result<RuleSet, ListReadError> {
    let text = read_capped(path, ListSettings::default().bytes_max())?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(compiled_alone(&name, &text))
}

/// Rules of one text alone.
pub fn compiled_alone(name: &str, text: &[u8]) -> RuleSet {
    policy::compile(&[ListSource { name, kind: ListKind::Block, text, files: &[] }], random())
}
