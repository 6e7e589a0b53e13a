//! A place to run, a folder to write to, and a listener to talk to.

use std::future::Future;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::runtime::{Builder, LocalOptions};
use transport::{ConnectionLimits, Drain, Stream, WaitForData, accept_loop, listen_tcp_per_core};

/// Longer than anything here takes; reached only by a failing test.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

/// Runs a test on a runtime like a core's.
pub(crate) fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime =
        Builder::new_current_thread().enable_all().build_local(LocalOptions::default()).unwrap();
    runtime.block_on(async { tokio::time::timeout(DEADLINE, test).await.unwrap() })
}

/// Accepts connections and hands each to `handle`.
pub(crate) fn accepting<F>(
    wait: WaitForData,
    limits: ConnectionLimits,
    drain: Drain,
    handle: impl Fn(Stream) -> F + 'static,
) -> SocketAddr
where
    F: Future<Output = ()> + 'static,
{
    let any = "127.0.0.1:0".parse().unwrap();
    let listener = listen_tcp_per_core(any, wait, 1, &[]).unwrap().remove(0);
    let address = listener.local_addr();
    tokio::task::spawn_local(accept_loop(listener, limits, drain, handle));
    address
}

/// A folder of its own, removed in the end.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tidegate-transport-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
