//! What is written beneath a folder, and what stays as it was.

use super::*;
use crate::beneath::SymlinkPolicy;
use crate::private_files::{PrivateFiles, PrivatePaths};
use std::fs;
use std::os::unix::fs::symlink;

const START: Now = Now { mono_ms: 0, unix_ms: 0 };

/// A folder with a root inside; it goes with the test.
struct Scene(PathBuf);

impl Scene {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("writable-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&path));
        fs::create_dir_all(path.join("www/a/state")).unwrap();
        fs::write(path.join("www/file"), "old").unwrap();
        Self(path.canonicalize().unwrap())
    }

    fn root(&self) -> FolderRoot {
        let private = vec![self.0.join("www/a/state"), self.0.join("www/conf.yaml")];
        let private = PrivateFiles::new(PrivatePaths { private, public: Vec::new() });
        let links = SymlinkPolicy::Inside;
        FolderRoot::open(&self.0.join("www"), links, Arc::new(private), START).unwrap()
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

fn place(root: &FolderRoot, below: &str) -> Result<WritablePlace, Errno> {
    root.writable_place(Path::new(below), START)
}

fn put(place: &WritablePlace, text: &str, existing: ExistingFile) -> Result<(), Errno> {
    let file = place.begin_file()?;
    file.write_all(text.as_bytes(), 0)?;
    file.publish(existing).map(drop)
}

#[test]
fn a_file_is_there_whole_or_not_at_all() {
    let scene = Scene::new("whole");
    let root = scene.root();
    let file = place(&root, "file").unwrap();
    let begun = file.begin_file().unwrap();
    begun.write_all(b"half", 0).unwrap();
    assert_eq!(scene.text("www/file"), "old");
    drop(begun);
    assert_eq!(fs::read_dir(scene.0.join("www")).unwrap().count(), 2, "nothing is left of it");
    assert_eq!(put(&file, "kept", ExistingFile::Kept), Err(Errno::EXIST));
    assert_eq!(put(&file, "new", ExistingFile::Replaced), Ok(()));
    assert_eq!(scene.text("www/file"), "new");
    let other = place(&root, "a/other").unwrap();
    assert_eq!(put(&other, "x", ExistingFile::Kept), Ok(()));
    assert_eq!(other.rename_to(&file), Ok(()));
    assert_eq!(scene.text("www/file"), "x");
    assert_eq!(fs::read_dir(scene.0.join("www")).unwrap().count(), 2);
}

#[test]
fn a_copy_has_every_byte() {
    let scene = Scene::new("copy");
    let root = scene.root();
    let bytes = vec![7_u8; 3 << 20];
    fs::write(scene.0.join("www/big"), &bytes).unwrap();
    let source = fs::File::open(scene.0.join("www/big")).unwrap();
    let file = place(&root, "copy").unwrap().begin_file().unwrap();
    assert_eq!(file.copy_from(source.as_fd()), Ok(bytes.len() as u64));
    file.publish(ExistingFile::Kept).unwrap();
    assert!(fs::read(scene.0.join("www/copy")).unwrap() == bytes);
}

#[test]
fn nothing_outside_and_nothing_private_has_a_place() {
    let scene = Scene::new("outside");
    let root = scene.root();
    symlink("/", scene.0.join("www/out")).unwrap();
    symlink("..", scene.0.join("www/up")).unwrap();
    for (below, why) in [
        ("", Errno::PERM),
        ("..", Errno::PERM),
        ("../x", Errno::XDEV),
        ("out/tmp/x", Errno::XDEV),
        ("up/x", Errno::XDEV),
        ("none/x", Errno::NOENT),
        ("file/x", Errno::NOTDIR),
        ("a/state", Errno::ACCESS),
        ("a/state/x", Errno::NOENT),
        ("conf.yaml", Errno::ACCESS),
        ("conf.yaml~", Errno::ACCESS),
    ] {
        assert_eq!(place(&root, below).err(), Some(why), "{below}");
    }
    // A link is what is changed, not where it leads.
    put(&place(&root, "out").unwrap(), "file now", ExistingFile::Replaced).unwrap();
    assert_eq!(scene.text("www/out"), "file now");
    assert!(root.private().lie_in(&place(&root, "a").unwrap().real_path().unwrap()));
    assert!(!root.private().lie_in(&place(&root, "file").unwrap().real_path().unwrap()));
}
