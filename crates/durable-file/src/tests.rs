//! The order of the steps, what is left when they stop, and a process that is killed.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use super::*;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

/// A folder that goes with its test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("durable-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("a.txt")
    }

    fn names(&self) -> Vec<String> {
        let name = |it: io::Result<fs::DirEntry>| it.unwrap().file_name().into_string().unwrap();
        let mut names: Vec<_> = fs::read_dir(&self.0).unwrap().map(name).collect();
        names.sort();
        names
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The steps on a real disk, written down; from one on everything fails, as if nobody ran.
struct StoppedSteps {
    told: Vec<&'static str>,
    steps_left: usize,
}

impl StoppedSteps {
    fn step(&mut self, name: &'static str) -> io::Result<()> {
        self.steps_left = self.steps_left.checked_sub(1).ok_or(ErrorKind::Interrupted)?;
        self.told.push(name);
        Ok(())
    }
}

impl WriteSteps for StoppedSteps {
    type Draft = File;

    fn remove(&mut self, draft: &Path) -> io::Result<()> {
        self.step("remove")?;
        SystemSteps.remove(draft)
    }

    fn create(&mut self, draft: &Path, access: FileAccess<'_>) -> io::Result<File> {
        self.step("create")?;
        SystemSteps.create(draft, access)
    }

    fn fill(&mut self, draft: &mut File, bytes: &[u8]) -> io::Result<()> {
        self.step("fill")?;
        SystemSteps.fill(draft, bytes)
    }

    fn sync(&mut self, draft: &mut File) -> io::Result<()> {
        self.step("sync")?;
        SystemSteps.sync(draft)
    }

    fn rename(&mut self, draft: &Path, path: &Path) -> io::Result<()> {
        self.step("rename")?;
        SystemSteps.rename(draft, path)
    }

    fn sync_folder(&mut self, folder: &Path) -> io::Result<()> {
        self.step("sync folder")?;
        SystemSteps.sync_folder(folder)
    }
}

#[test]
fn the_contents_are_on_disk_before_the_name_and_the_name_before_the_end() {
    let scratch = Scratch::new("order");
    let mut disk = StoppedSteps { told: Vec::new(), steps_left: 6 };
    FileReplacement::private(&scratch.file()).write_by(&mut disk, b"new").unwrap();
    assert_eq!(disk.told, ["remove", "create", "fill", "sync", "rename", "sync folder"]);
}

#[test]
fn whatever_step_is_the_last_the_old_file_stands_or_the_new_one() {
    let scratch = Scratch::new("steps");
    for steps_left in 0..6 {
        fs::write(scratch.file(), "old").unwrap();
        let mut disk = StoppedSteps { told: Vec::new(), steps_left };
        FileReplacement::private(&scratch.file()).write_by(&mut disk, b"new").unwrap_err();
        let expected = if steps_left < 5 { "old" } else { "new" };
        assert_eq!(fs::read_to_string(scratch.file()).unwrap(), expected, "{steps_left}");
        // What is left of it is in nobody's way.
        FileReplacement::private(&scratch.file()).write(b"newer").unwrap();
        assert_eq!(fs::read_to_string(scratch.file()).unwrap(), "newer");
        assert_eq!(scratch.names(), ["a.txt"]);
    }
}

#[test]
fn an_error_leaves_the_old_file_and_no_draft() {
    let scratch = Scratch::new("error");
    // A folder cannot be replaced by a file.
    fs::create_dir(scratch.file()).unwrap();
    FileReplacement::private(&scratch.file()).write(b"new").unwrap_err();
    assert_eq!(scratch.names(), ["a.txt"]);
    let nowhere = scratch.0.join("none/a.txt");
    assert_eq!(
        FileReplacement::private(&nowhere).write(b"new").unwrap_err().kind(),
        ErrorKind::NotFound
    );
}

#[test]
fn the_file_has_the_mode_that_is_asked_for_and_its_draft_no_more() {
    let scratch = Scratch::new("mode");
    let mode = || fs::metadata(scratch.file()).unwrap().mode() & 0o7777;
    fs::write(scratch.file(), "old").unwrap();
    fs::set_permissions(scratch.file(), Permissions::from_mode(0o640)).unwrap();
    let before = fs::metadata(scratch.file()).unwrap();
    for (access, expected) in [
        (FileAccess::Of(&before), 0o640),
        (FileAccess::Public, 0o644),
        (FileAccess::Private, 0o600),
    ] {
        let file = scratch.file();
        let replacement = FileReplacement { access, ..FileReplacement::private(&file) };
        replacement.write(b"new").unwrap();
        assert_eq!(mode(), expected, "{access:?}");
    }
}

#[test]
fn a_link_where_the_draft_goes_is_not_followed() {
    let scratch = Scratch::new("link");
    let victim = scratch.0.join("victim");
    fs::write(&victim, "untouched").unwrap();
    symlink(&victim, scratch.0.join("a.txt.new")).unwrap();
    FileReplacement::private(&scratch.file()).write(b"new").unwrap();
    assert_eq!(fs::read_to_string(&victim).unwrap(), "untouched");
    assert_eq!(scratch.names(), ["a.txt", "victim"]);
}

#[test]
fn a_draft_is_hidden_where_that_is_asked() {
    let file = Path::new("/lists/ads.txt");
    let named = |draft| FileReplacement { draft, ..FileReplacement::private(file) }.draft_path();
    assert_eq!(named(DraftName::New), Path::new("/lists/ads.txt.new"));
    assert_eq!(named(DraftName::Hidden), Path::new("/lists/.ads.txt.part"));
    let bare = FileReplacement::private(Path::new("a.txt"));
    assert_eq!((bare.draft_path(), bare.folder()), ("a.txt.new".into(), Path::new(".")));
}

const FILE_OF_CHILD: &str = "DURABLE_FILE_OF_CHILD";
/// More than one page and one write of the disk.
const CHILD_BYTES: usize = 300_000;

/// Replaces a file without end where it is started as a child, and nothing else.
#[test]
fn a_child_writes_until_it_is_killed() {
    let Some(file) = std::env::var_os(FILE_OF_CHILD) else { return };
    for round in 0_u32.. {
        let bytes = vec![b'a' + (round % 26) as u8; CHILD_BYTES];
        let file = FileReplacement {
            // Of a sync there is nothing to be seen when only the process dies.
            durability: NameDurability::Left,
            ..FileReplacement::private(Path::new(&file))
        };
        file.write(&bytes).unwrap();
        io::stdout().write_all(b"round\n").unwrap();
    }
}

#[test]
fn a_kill_at_any_moment_leaves_a_whole_file() {
    let scratch = Scratch::new("kill");
    for round in 0..12_u32 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "tests::a_child_writes_until_it_is_killed", "--nocapture"])
            .env(FILE_OF_CHILD, scratch.file())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
        let rounds = (&mut said).filter(|it| it.as_ref().is_ok_and(|it| it.contains("round")));
        assert!(rounds.take(2 + round as usize).count() > 0);
        child.kill().unwrap();
        child.wait().unwrap();
        let mut found = Vec::new();
        File::open(scratch.file()).unwrap().read_to_end(&mut found).unwrap();
        assert_eq!(found.len(), CHILD_BYTES, "{round}");
        assert!(found.iter().all(|it| *it == found[0]), "{round}");
    }
    let left = scratch.names();
    assert!(left.iter().all(|it| it == "a.txt" || it == "a.txt.new"), "{left:?}");
}
