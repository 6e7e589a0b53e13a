//! What opens beneath a folder, and what does not.

use super::*;
use crate::private_files::PrivatePaths;
use std::fs;
use std::os::unix::fs::symlink;

const START: Now = Now { mono_ms: 0, unix_ms: 0 };

/// A folder with a site, a state folder inside and a secret beside it; it goes with the test.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("beneath-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&path));
        for folder in ["www/a/b", "www/state/ca", "www/state/www"] {
            fs::create_dir_all(path.join(folder)).unwrap();
        }
        for file in ["out", "www/top", "www/a/b/deep", "www/conf.yaml", "www/state/ca/key"] {
            fs::write(path.join(file), file).unwrap();
        }
        Self(path.canonicalize().unwrap())
    }

    fn private(&self) -> Arc<PrivateFiles> {
        let private = ["www/state", "www/state/ca", "www/conf.yaml"].map(|it| self.0.join(it));
        let public = vec![self.0.join("www/state/www")];
        Arc::new(PrivateFiles::new(PrivatePaths { private: private.into(), public }))
    }

    fn root(&self, links: SymlinkPolicy) -> FolderRoot {
        FolderRoot::open(&self.0.join("www"), links, self.private(), START).unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

fn open(root: &FolderRoot, below: &str) -> Result<OpenedFile, Errno> {
    root.open_beneath(Path::new(below), OFlags::RDONLY | OFlags::NONBLOCK, START)
}

fn is_refused(root: &FolderRoot, below: &str, why: Errno) {
    assert_eq!(open(root, below).err(), Some(why), "{below}");
}

#[test]
fn files_and_folders_below_open() {
    let place = Place::new("below");
    let root = place.root(SymlinkPolicy::Inside);
    for below in ["top", "a/b/deep", "a/./b/../b/deep", "", "a/b", "a/.."] {
        assert!(open(&root, below).is_ok(), "{below}");
    }
    is_refused(&root, "..", Errno::XDEV);
    is_refused(&root, "a/../../out", Errno::XDEV);
    is_refused(&root, "/etc/passwd", Errno::XDEV);
    is_refused(&root, "top/x", Errno::NOTDIR);
    is_refused(&root, "gone", Errno::NOENT);
}

#[test]
fn links_are_followed_as_far_as_they_may_be() {
    let place = Place::new("links");
    let www = place.0.join("www");
    symlink("b", www.join("a/in")).unwrap();
    symlink("../out", www.join("up")).unwrap();
    symlink(place.0.join("www/top"), www.join("absolute")).unwrap();
    symlink("loop", www.join("loop")).unwrap();
    symlink("a/in/../in/deep", www.join("winding")).unwrap();
    let inside = place.root(SymlinkPolicy::Inside);
    for below in ["a/in/deep", "winding", "a/in"] {
        assert!(open(&inside, below).is_ok(), "{below}");
    }
    for (below, why) in [
        ("up", Errno::XDEV),
        ("absolute", Errno::XDEV),
        ("loop", Errno::LOOP),
        ("up/x", Errno::XDEV),
    ] {
        is_refused(&inside, below, why);
    }
    let anywhere = place.root(SymlinkPolicy::Follow);
    for below in ["a/in/deep", "up", "absolute", "winding"] {
        assert!(open(&anywhere, below).is_ok(), "{below}");
    }
    is_refused(&anywhere, "loop", Errno::LOOP);
    let none = place.root(SymlinkPolicy::Refuse);
    for below in ["a/in/deep", "up", "absolute", "winding", "a/in"] {
        is_refused(&none, below, Errno::LOOP);
    }
}

#[test]
fn nothing_private_opens_on_any_way() {
    let place = Place::new("private");
    let www = place.0.join("www");
    symlink("state", www.join("linked")).unwrap();
    symlink("state/ca/key", www.join("a/key")).unwrap();
    symlink(www.join("state/ca"), www.join("absolute")).unwrap();
    fs::hard_link(www.join("state/ca/key"), www.join("hard")).unwrap();
    fs::write(www.join("conf.yaml~"), "copy").unwrap();
    for links in [SymlinkPolicy::Inside, SymlinkPolicy::Follow] {
        let root = place.root(links);
        for below in [
            "state",
            "state/ca/key",
            "state/later",
            "a/../state/ca/key",
            "linked",
            "linked/ca/key",
            "hard",
            "conf.yaml",
            "conf.yaml~",
            "conf.yaml.bak",
        ] {
            is_refused(&root, below, Errno::NOENT);
        }
        assert!(open(&root, "top").is_ok() && open(&root, "a/key").is_err());
    }
    is_refused(&place.root(SymlinkPolicy::Follow), "absolute/key", Errno::NOENT);
}

#[test]
fn what_takes_a_private_place_is_private_from_its_first_moment() {
    let place = Place::new("moment");
    let root = place.root(SymlinkPolicy::Inside);
    fs::write(place.0.join("www/fresh"), "new").unwrap();
    fs::rename(place.0.join("www/fresh"), place.0.join("www/conf.yaml")).unwrap();
    fs::write(place.0.join("www/state/later"), "new").unwrap();
    is_refused(&root, "conf.yaml", Errno::NOENT);
    is_refused(&root, "state/later", Errno::NOENT);
}

#[test]
fn a_private_folder_is_no_root_but_for_what_is_public_in_it() {
    let place = Place::new("root");
    let opened = |below: &str| {
        FolderRoot::open(&place.0.join(below), SymlinkPolicy::Inside, place.private(), START)
    };
    for below in ["www/state", "www/state/ca"] {
        assert!(matches!(opened(below), Err(RootError::Private)), "{below}");
    }
    assert!(opened("www/state/www").is_ok() && opened("www").is_ok());
    assert!(matches!(opened("gone"), Err(RootError::Io(_))));
}

#[test]
fn a_root_that_becomes_private_is_served_no_more_within_a_second() {
    let place = Place::new("later");
    let private = place.private();
    let path = place.0.join("www/a");
    let root = FolderRoot::open(&path, SymlinkPolicy::Inside, Arc::clone(&private), START).unwrap();
    let id = root.current(START).id();
    private.replace(PrivatePaths { private: vec![path], public: Vec::new() });
    let later = Now { mono_ms: REOPEN_AFTER_MS, ..START };
    let opened = root.open_beneath(Path::new("b/deep"), OFlags::RDONLY, later);
    assert_eq!(opened.err(), Some(Errno::NOENT));
    assert_ne!(root.current(later).id(), id);
}
