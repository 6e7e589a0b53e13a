//! What the end-to-end tests stand on: the built binary with a state folder of its own, an
//! upstream resolver and web origins that the test controls, real clients, and network namespaces.
//!
//! Everything listens on free ports of loopback, or inside a namespace made here; everything is
//! stopped when its value is dropped. Nothing waits for time: each wait is for an event, with a
//! deadline after which the test fails and says what it was waiting for.

// Tests stop at the first surprise, and talk on standard error.
#![allow(clippy::unwrap_used, clippy::print_stderr, missing_docs)]

pub mod browser;
pub mod clients;
pub mod collector;
pub mod compare_pack;
pub mod list_server;
pub mod namespace;
pub mod origin;
pub mod php;
pub mod resolver;
pub mod s3_server;
pub mod sign_on_provider;
pub mod tidegate;
pub mod wait;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder that is removed with the value.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("tidegate-test-{}-{count}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        // Started by root, Tidegate becomes another user, who writes logs and the like here.
        let everyone = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(&path, everyone).unwrap();
        Self(path)
    }

    pub fn path(&self) -> &std::path::Path {
        &self.0
    }

    /// Writes a file into the folder and returns its path.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

/// The folder of shared data beside the checkout: real block lists, the DNS compare pack.
pub fn shared() -> PathBuf {
    let named = std::env::var_os("TIDEGATE_SHARED").map(PathBuf::from);
    let path = named.unwrap_or_else(|| repository().join("../shared"));
    assert!(
        path.join("data/lists").is_dir(),
        "the shared data is expected at {} (or set TIDEGATE_SHARED)",
        path.display()
    );
    path
}

/// The root of the checkout.
pub fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}
