//! Folders that go when their test ends.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// An empty folder that is removed with the value.
#[derive(Debug)]
pub struct ScratchFolder(PathBuf);

impl ScratchFolder {
    /// A folder that no other test has.
    #[allow(clippy::new_without_default, reason = "it makes a folder, which no default does")]
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Relaxed);
        let name = format!("tidegate-scratch-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file, with the folders above it.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.0.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// An empty folder that goes with the thread of the test.
pub fn scratch() -> PathBuf {
    thread_local! {
        static FOLDERS: RefCell<Vec<ScratchFolder>> = const { RefCell::new(Vec::new()) };
    }
    let folder = ScratchFolder::new();
    let path = folder.path().to_owned();
    FOLDERS.with(|folders| folders.borrow_mut().push(folder));
    path
}
