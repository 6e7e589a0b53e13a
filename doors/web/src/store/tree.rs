//! The folders that are watched, and the marks on names in them.
//!
//! Pure: it is told which watch spoke of which name, and sets the marks of everything that this
//! touches: the name itself and, if it is a folder, all that stands below. It makes no watch but
//! through a function that is handed in. Called by `watcher`, under its lock.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Folders that are watched for one door. The kernel allows a user some 8,000 or more
/// (`fs.inotify.max_user_watches`) and takes about a kilobyte for each.
pub(crate) const WATCHES_MAX: usize = 4096;
/// Marks of one folder that are looked through for unused ones when so many are there.
const MARKS_MIN: usize = 64;

/// Says that something about a name has changed; it never says the opposite.
#[derive(Debug, Default)]
pub(crate) struct ChangeMark(AtomicBool);

/// Why a folder is not watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotWatched {
    /// [`WATCHES_MAX`] or the kernel's own limit is reached.
    Full,
    /// Is not there, or is none, or a link, or watching is off.
    Impossible,
}

/// A watch that is to be taken back.
pub(crate) type Watch = i32;

/// All watched folders of all sites.
#[derive(Debug, Default)]
pub(crate) struct WatchTrees {
    nodes: HashMap<u64, TreeNode>,
    roots: HashMap<u64, u64>,
    /// One folder may stand in several trees; the kernel gives it one watch.
    by_watch: HashMap<Watch, Vec<u64>>,
    next: u64,
}

#[derive(Debug)]
struct TreeNode {
    tree: u64,
    parent: Option<(u64, OsString)>,
    watch: Watch,
    children: HashMap<OsString, u64>,
    marks: HashMap<OsString, Arc<ChangeMark>>,
    look_through_at: usize,
}

impl ChangeMark {
    /// True if something has changed.
    pub(crate) fn is_changed(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    fn set(&self) {
        self.0.store(true, Ordering::Release);
    }
}

impl WatchTrees {
    /// Watches every folder on the way to `file` in `tree`, from the top, and gives the mark of its
    /// name. `watch` is asked for folders that are new.
    pub(crate) fn watch_path(
        &mut self,
        tree: u64,
        file: &Path,
        watch: &mut dyn FnMut(&Path) -> Result<Watch, NotWatched>,
    ) -> Result<Arc<ChangeMark>, NotWatched> {
        let name = file.file_name().ok_or(NotWatched::Impossible)?;
        let mut below = PathBuf::new();
        let mut here = match self.roots.get(&tree) {
            Some(root) => *root,
            None => self.add(tree, None, watch(&below)?)?,
        };
        for folder in file.parent().unwrap_or(Path::new("")) {
            below.push(folder);
            let known = self.nodes.get(&here).and_then(|node| node.children.get(folder)).copied();
            here = match known {
                Some(known) => known,
                None => self.add(tree, Some((here, folder.into())), watch(&below)?)?,
            };
        }
        let node = self.nodes.get_mut(&here).ok_or(NotWatched::Impossible)?;
        Ok(node.mark(name))
    }

    fn add(
        &mut self,
        tree: u64,
        parent: Option<(u64, OsString)>,
        watch: Watch,
    ) -> Result<u64, NotWatched> {
        if self.nodes.len() >= WATCHES_MAX {
            return Err(NotWatched::Full);
        }
        let id = self.next;
        self.next += 1;
        match &parent {
            Some((above, name)) => {
                let above = self.nodes.get_mut(above).ok_or(NotWatched::Impossible)?;
                above.children.insert(name.clone(), id);
            }
            None => drop(self.roots.insert(tree, id)),
        }
        self.by_watch.entry(watch).or_default().push(id);
        let (children, marks) = (HashMap::new(), HashMap::new());
        let node = TreeNode { tree, parent, watch, children, marks, look_through_at: MARKS_MIN };
        self.nodes.insert(id, node);
        Ok(id)
    }

    /// Something happened to `name` in a folder. Gives the watches that nobody needs any more.
    pub(crate) fn changed(&mut self, watch: Watch, name: &OsStr) -> Vec<Watch> {
        let mut needless = Vec::new();
        for id in self.by_watch.get(&watch).cloned().unwrap_or_default() {
            let Some(node) = self.nodes.get_mut(&id) else { continue };
            if let Some(mark) = node.marks.remove(name) {
                mark.set();
            }
            if let Some(child) = node.children.get(name).copied() {
                self.cut(child, &mut needless);
            }
        }
        needless
    }

    /// A folder itself was moved or removed, or its watch has ended.
    pub(crate) fn remove(&mut self, watch: Watch) -> Vec<Watch> {
        let mut needless = Vec::new();
        for id in self.by_watch.get(&watch).cloned().unwrap_or_default() {
            self.cut(id, &mut needless);
        }
        needless
    }

    /// Forgets one tree.
    pub(crate) fn forget(&mut self, tree: u64) -> Vec<Watch> {
        let mut needless = Vec::new();
        if let Some(root) = self.roots.get(&tree).copied() {
            self.cut(root, &mut needless);
        }
        needless
    }

    /// Events were lost: everything may have changed.
    pub(crate) fn forget_all(&mut self) -> Vec<Watch> {
        let mut needless = Vec::new();
        for root in self.roots.values().copied().collect::<Vec<_>>() {
            self.cut(root, &mut needless);
        }
        needless
    }

    /// Takes a folder out, with all below it.
    fn cut(&mut self, id: u64, needless: &mut Vec<Watch>) {
        let mut left = vec![id];
        while let Some(id) = left.pop() {
            let Some(node) = self.nodes.remove(&id) else { continue };
            node.marks.values().for_each(|mark| mark.set());
            left.extend(node.children.values());
            match &node.parent {
                Some((above, name)) => {
                    if let Some(above) = self.nodes.get_mut(above) {
                        above.children.remove(name);
                    }
                }
                None => drop(self.roots.remove(&node.tree)),
            }
            if let Some(sharing) = self.by_watch.get_mut(&node.watch) {
                sharing.retain(|it| *it != id);
                if sharing.is_empty() {
                    self.by_watch.remove(&node.watch);
                    needless.push(node.watch);
                }
            }
        }
    }

    /// Folders that are watched.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.nodes.len()
    }
}

impl TreeNode {
    fn mark(&mut self, name: &OsStr) -> Arc<ChangeMark> {
        if let Some(mark) = self.marks.get(name) {
            return Arc::clone(mark);
        }
        if self.marks.len() >= self.look_through_at {
            // A mark that nobody else holds is of a file that is no longer kept.
            self.marks.retain(|_, mark| Arc::strong_count(mark) > 1);
            self.look_through_at = MARKS_MIN.max(2 * self.marks.len());
        }
        let mark = Arc::new(ChangeMark::default());
        self.marks.insert(name.into(), Arc::clone(&mark));
        mark
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives every folder the watch that stands at its place in `folders`.
    fn follow(trees: &mut WatchTrees, tree: u64, file: &str, folders: &[&str]) -> Arc<ChangeMark> {
        let mut watch = |below: &Path| {
            let at = folders.iter().position(|it| Path::new(it) == below);
            at.and_then(|at| Watch::try_from(at).ok()).ok_or(NotWatched::Impossible)
        };
        trees.watch_path(tree, Path::new(file), &mut watch).unwrap()
    }

    #[test]
    fn a_change_marks_the_name_and_nothing_beside_it() {
        let mut trees = WatchTrees::default();
        let folders = ["", "a", "a/b"];
        let (file, other) =
            (follow(&mut trees, 1, "a/b/x", &folders), follow(&mut trees, 1, "a/y", &folders));
        assert!(trees.changed(2, OsStr::new("z")).is_empty());
        assert!(trees.changed(0, OsStr::new("x")).is_empty());
        assert!(!file.is_changed() && !other.is_changed());
        assert!(trees.changed(2, OsStr::new("x")).is_empty());
        assert!(file.is_changed() && !other.is_changed());
        assert!(!follow(&mut trees, 1, "a/b/x", &folders).is_changed(), "a new mark");
    }

    #[test]
    fn a_folder_that_changes_takes_along_what_is_below() {
        let mut trees = WatchTrees::default();
        let folders = ["", "a", "a/b"];
        let (file, other) =
            (follow(&mut trees, 1, "a/b/x", &folders), follow(&mut trees, 1, "y", &folders));
        assert_eq!(trees.changed(0, OsStr::new("a")), [1, 2]);
        assert!(file.is_changed() && !other.is_changed());
        assert_eq!(trees.len(), 1);
        assert_eq!(trees.remove(0), [0]);
        assert!(other.is_changed() && trees.len() == 0);
    }

    #[test]
    fn a_folder_in_two_trees_keeps_its_watch_until_both_are_gone() {
        let mut trees = WatchTrees::default();
        let one = follow(&mut trees, 1, "x", &[""]);
        let two = follow(&mut trees, 2, "x", &[""]);
        assert!(trees.forget(1).is_empty());
        assert!(one.is_changed() && !two.is_changed());
        assert!(trees.changed(0, OsStr::new("x")).is_empty());
        assert!(two.is_changed());
        assert_eq!(trees.forget_all(), [0]);
    }

    #[test]
    fn at_the_cap_no_folder_is_added() {
        let mut trees = WatchTrees::default();
        let mut next = 0;
        let mut watch = |_: &Path| {
            next += 1;
            Ok(next)
        };
        let mut outcome = Ok(Arc::default());
        for number in 0..=WATCHES_MAX {
            outcome = trees.watch_path(1, Path::new(&format!("{number}/x")), &mut watch);
        }
        assert_eq!(outcome.unwrap_err(), NotWatched::Full);
        assert_eq!(trees.len(), WATCHES_MAX);
    }

    #[test]
    fn marks_that_nobody_holds_are_dropped() {
        let mut trees = WatchTrees::default();
        let held = follow(&mut trees, 1, "held", &[""]);
        for number in 0..1000 {
            follow(&mut trees, 1, &format!("{number}"), &[""]);
        }
        assert!(trees.nodes[&0].marks.len() <= MARKS_MIN);
        trees.changed(0, OsStr::new("held"));
        assert!(held.is_changed());
    }
}
