//! Archives written, read and put back, in folders of their own.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;
use crate::restore::{RestoreStep, StepWatch, restore_watched};
use rusqlite::Connection;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

mod hostile;

/// In 2026.
const NOW: u64 = 1_795_800_000;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir();
        let path = path.join(format!("tidegate-archive-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.0.join(name)).ok()
    }

    /// A state with some of everything.
    fn state(&self, word: &str) -> PathBuf {
        self.write("var/state/ca/ca.key", &format!("key {word}"));
        self.write("var/state/ca/ca.pem", &format!("certificate {word}"));
        self.write("var/state/admin.token", word);
        self.write("var/state/lists/ads-1.list", "||ads.example^\n");
        self.write("var/state/policy.snapshot", "built again");
        self.write("var/state/cache/segment-1", "fetched again");
        self.write("var/state/lock", "");
        self.write("var/state/admin.address", "127.0.0.1:9053");
        let key = self.0.join("var/state/ca/ca.key");
        fs::set_permissions(key, fs::Permissions::from_mode(0o600)).unwrap();
        self.0.join("var/state")
    }

    fn source(&self, caches: CacheChoice) -> BackupSource {
        let state = self.0.join("var/state");
        let cache_folders = vec![state.join("cache")];
        BackupSource {
            state,
            cache_folders,
            caches,
            configuration: None,
            version: "1".into(),
            now_secs: NOW,
        }
    }

    /// A backup of the state, with the configuration `etc/tidegate.yaml`.
    fn backup(&self, named: &[&str]) -> PathBuf {
        let file = self.0.join("etc/tidegate.yaml");
        let named = named.iter().map(|name| self.0.join("etc").join(name)).collect();
        let configuration = file.is_file().then_some(ConfigurationFiles { file, named });
        let archive = self.0.join("backup.tar.zst");
        let source = BackupSource { configuration, ..self.source(CacheChoice::LeftOut) };
        write_backup(&source, &archive).unwrap();
        archive
    }

    fn restore(archive: &Path) -> Result<RestoreReport, ArchiveError> {
        let target = RestoreTarget {
            state: None,
            configuration: ConfigurationChoice::Restored,
            now_secs: NOW,
        };
        restore_archive(fs::File::open(archive).unwrap(), &target)
    }

    /// Restores up to the `count`th step, and ends there as a kill would. True if it was done
    /// before.
    fn restore_until(archive: &Path, count: usize) -> bool {
        let mut seen = 0;
        let mut goes_on = |_: RestoreStep| {
            seen += 1;
            seen != count
        };
        let target = RestoreTarget {
            state: None,
            configuration: ConfigurationChoice::Restored,
            now_secs: NOW,
        };
        let file = fs::File::open(archive).unwrap();
        let mut watch = StepWatch { goes_on: &mut goes_on, is_ended: false };
        restore_watched(file, &target, &mut watch).is_ok()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_state_comes_back_as_it_was_and_the_one_in_its_place_is_kept() {
    let folder = Folder::new("round");
    folder.state("old");
    let archive = folder.backup(&[]);
    assert_eq!(fs::metadata(&archive).unwrap().permissions().mode() & 0o777, 0o600);
    folder.state("new");
    folder.write("var/state/allows.json", "later");
    let report = Folder::restore(&archive).unwrap();
    assert_eq!(folder.read("var/state/admin.token").as_deref(), Some("old"));
    assert_eq!(folder.read("var/state/ca/ca.key").as_deref(), Some("key old"));
    let key = fs::metadata(folder.0.join("var/state/ca/ca.key")).unwrap();
    assert_eq!(key.permissions().mode() & 0o777, 0o600);
    for gone in ["allows.json", "policy.snapshot", "cache", "admin.address"] {
        assert!(!folder.0.join("var/state").join(gone).exists(), "{gone}");
    }
    let replaced = report.replaced.unwrap();
    assert!(replaced.file_name().unwrap().to_string_lossy().starts_with("state.replaced-20"));
    assert_eq!(fs::read_to_string(replaced.join("admin.token")).unwrap(), "new");
    assert_eq!(fs::read_to_string(replaced.join("allows.json")).unwrap(), "later");
    // Nothing else is left beside it.
    assert_eq!(fs::read_dir(folder.0.join("var")).unwrap().count(), 2);
}

#[test]
fn links_are_passed_over_and_told() {
    let folder = Folder::new("links");
    let state = folder.state("a");
    let outside = folder.write("outside", "not ours");
    std::os::unix::fs::symlink(&outside, state.join("lists/link")).unwrap();
    let archive = folder.0.join("backup.tar.zst");
    let report = write_backup(&folder.source(CacheChoice::LeftOut), &archive).unwrap();
    assert_eq!((report.links, report.state_files), (1, 4));
    Folder::restore(&archive).unwrap();
    assert!(!state.join("lists/link").exists());
}

#[test]
fn caches_are_taken_along_where_that_is_asked_for() {
    let folder = Folder::new("caches");
    let state = folder.state("a");
    let archive = folder.0.join("backup.tar.zst");
    write_backup(&folder.source(CacheChoice::Taken), &archive).unwrap();
    fs::remove_dir_all(state).unwrap();
    let report = Folder::restore(&archive).unwrap();
    assert_eq!(report.replaced, None);
    assert_eq!(folder.read("var/state/policy.snapshot").as_deref(), Some("built again"));
    assert_eq!(folder.read("var/state/cache/segment-1").as_deref(), Some("fetched again"));
    assert!(!folder.0.join("var/state/lock").exists());
}

#[test]
fn a_ledger_is_copied_whole_while_it_is_written() {
    let folder = Folder::new("ledger");
    let state = folder.state("a");
    let path = state.join(ledger::FILE_NAME);
    let connection = Connection::open(&path).unwrap();
    connection.query_row("PRAGMA journal_mode=WAL", [], |_| Ok(())).unwrap();
    // Two tables that always agree.
    connection.execute_batch("CREATE TABLE a (n); CREATE TABLE b (n)").unwrap();
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let writer = std::thread::spawn(move || {
        let mut rows = 0;
        while stopped.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
            let both = "BEGIN; INSERT INTO a VALUES (hex(randomblob(500))); INSERT INTO b SELECT n \
                        FROM a WHERE rowid = last_insert_rowid(); COMMIT";
            connection.execute_batch(both).unwrap();
            rows += 1;
        }
        rows
    });
    let mut seen = 0_u32;
    for _ in 0..5 {
        let archive = folder.backup(&[]);
        let other = Folder::new("ledger-restored");
        let target = RestoreTarget {
            state: Some(other.0.join("state")),
            configuration: ConfigurationChoice::LeftAlone,
            now_secs: NOW,
        };
        restore_archive(fs::File::open(archive).unwrap(), &target).unwrap();
        let copy = Connection::open(other.0.join("state").join(ledger::FILE_NAME)).unwrap();
        let count = |sql: &str| copy.query_row(sql, [], |row| row.get::<_, u32>(0)).unwrap();
        let rows = count("SELECT count(*) FROM a JOIN b ON a.rowid = b.rowid AND a.n = b.n");
        assert_eq!(
            (rows, rows),
            (count("SELECT count(*) FROM a"), count("SELECT count(*) FROM b"))
        );
        assert!(rows >= seen, "{rows} after {seen}");
        seen = rows;
        let check = copy.query_row("PRAGMA quick_check", [], |row| row.get::<_, String>(0));
        assert_eq!(check.unwrap(), "ok");
    }
    stop.send(()).unwrap();
    assert!(writer.join().unwrap() >= seen);
}

#[test]
fn the_configuration_comes_back_with_the_files_that_it_names() {
    let folder = Folder::new("configuration");
    folder.state("a");
    folder.write("etc/tidegate.yaml", "old");
    folder.write("etc/lists/ads.txt", "old list");
    folder.write("etc/other.txt", "not named");
    let archive = folder.backup(&["lists", "absent.txt", "../outside.txt"]);
    folder.write("etc/tidegate.yaml", "new");
    folder.write("etc/other.txt", "stays");
    fs::remove_dir_all(folder.0.join("etc/lists")).unwrap();
    let report = Folder::restore(&archive).unwrap();
    assert_eq!(folder.read("etc/tidegate.yaml").as_deref(), Some("old"));
    assert_eq!(folder.read("etc/lists/ads.txt").as_deref(), Some("old list"));
    assert_eq!(folder.read("etc/other.txt").as_deref(), Some("stays"));
    let kept: Vec<_> = report.configuration.iter().filter_map(|(_, kept)| kept.as_ref()).collect();
    assert_eq!(kept.len(), 1);
    assert_eq!(fs::read_to_string(kept[0]).unwrap(), "new");
    // Nothing differs any more: nothing is written.
    assert!(Folder::restore(&archive).unwrap().configuration.is_empty());
}

#[test]
fn a_kill_at_any_moment_leaves_the_old_state_or_the_new_one() {
    let folder = Folder::new("kill");
    folder.state("old");
    folder.write("etc/tidegate.yaml", "old");
    folder.write("etc/lists.txt", "old");
    let archive = folder.backup(&["lists.txt"]);
    let mut count = 0;
    loop {
        count += 1;
        fs::remove_dir_all(folder.0.join("var")).unwrap();
        folder.state("new");
        folder.write("etc/tidegate.yaml", "new");
        folder.write("etc/lists.txt", "new");
        let is_done = Folder::restore_until(&archive, count);
        let token = folder.read("var/state/admin.token").unwrap();
        let all = ["ca/ca.key", "ca/ca.pem"].map(|it| folder.read(&format!("var/state/{it}")));
        let word = all.map(|text| text.unwrap().split(' ').next_back().unwrap().to_owned());
        assert_eq!(word, [token.clone(), token.clone()], "step {count}");
        // A configuration that is a mixture is marked as such.
        let files = ["etc/tidegate.yaml", "etc/lists.txt"].map(|it| folder.read(it).unwrap());
        let is_marked = folder.0.join("etc").join(UNFINISHED_MARK).exists();
        assert!(files[0] == files[1] || is_marked, "step {count}: {files:?}");
        if is_done {
            break;
        }
        // Done again, it is whole, and nothing of the cut one is left.
        Folder::restore(&archive).unwrap();
        assert_eq!(folder.read("var/state/admin.token").as_deref(), Some("old"));
        assert!(!folder.0.join("etc").join(UNFINISHED_MARK).exists());
        assert!(!folder.0.join("var/.state.restore-draft").exists());
    }
    assert!(count > 5, "{count}");
}

#[test]
fn a_swap_inside_the_folder_that_is_cut_off_is_told_and_goes_on() {
    let folder = Folder::new("within");
    let state = folder.state("old");
    let archive = folder.backup(&[]);
    for count in 1.. {
        fs::remove_dir_all(folder.0.join("var")).unwrap();
        folder.state("new");
        // A mark has the slower way taken, as a mount point would.
        folder.write("var/state/.restoring", "");
        let is_done = Folder::restore_until(&archive, count);
        if is_done {
            assert!(count > 5 && !is_unfinished(&state));
            break;
        }
        assert!(is_unfinished(&state), "step {count}");
        Folder::restore(&archive).unwrap();
        assert!(!is_unfinished(&state));
        assert_eq!(folder.read("var/state/admin.token").as_deref(), Some("old"));
        let kept = fs::read_dir(&state).unwrap().filter_map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            name.starts_with(".replaced-").then_some(path)
        });
        let kept: Vec<_> = kept.collect();
        assert_eq!(kept.len(), 1, "step {count}: {kept:?}");
        assert_eq!(fs::read_to_string(kept[0].join("admin.token")).unwrap(), "new");
    }
}

#[test]
fn a_state_in_use_is_left_alone() {
    let folder = Folder::new("in-use");
    let state = folder.state("a");
    let archive = folder.backup(&[]);
    let lock = fs::File::open(state.join("lock")).unwrap();
    lock.lock().unwrap();
    let refused = Folder::restore(&archive).unwrap_err();
    assert!(matches!(refused, ArchiveError::InUse(_)), "{refused}");
    assert!(refused.to_string().contains("systemctl stop tidegate"));
}

#[test]
fn a_newer_state_is_refused_and_of_an_older_ledger_a_copy_is_kept() {
    let folder = Folder::new("format");
    let state = folder.0.clone();
    assert!(admit_format(&state).unwrap().is_empty());
    assert_eq!(folder.read("format").as_deref(), Some("1\n"));
    let ledger = Connection::open(state.join(ledger::FILE_NAME)).unwrap();
    ledger.execute_batch("CREATE TABLE events (x); PRAGMA user_version = 2").unwrap();
    drop(ledger);
    let kept = admit_format(&state).unwrap();
    assert_eq!(kept, [state.join("ledger.db.kept-2")]);
    let copy = Connection::open(&kept[0]).unwrap();
    let version: u32 = copy.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    assert_eq!(version, 2);
    // Once.
    assert!(admit_format(&state).unwrap().is_empty());
    folder.write("format", "2\n");
    let refused = admit_format(&state).unwrap_err().to_string();
    assert!(refused.contains("format 2") && refused.contains("tidegate restore"), "{refused}");
    assert_eq!(folder.read("format").as_deref(), Some("2\n"));
    folder.write("format", "");
    assert!(admit_format(&state).is_ok());
    folder.write("format", "x");
    assert!(matches!(admit_format(&state), Err(FormatError::Unreadable(_))));
}
