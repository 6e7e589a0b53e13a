//! What the proxy's connections have taught of origins, gathered from the cores.
//!
//! Each core keeps its own connections and looks through them between two of its tasks; nobody
//! waits for it but whoever asks. Called by the admin's control.

use super::RunningApp;
use admin_api::OriginInfo;
use door_proxy::ProxyDoor;
use http::Version;
use origins::KnownOrigin;
use std::sync::mpsc::channel;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// Origins that are told, at most.
const TOLD_MAX: usize = 200;
/// Time that the cores have to answer; what one knows that is too busy is left out.
const PATIENCE: Duration = Duration::from_secs(1);

impl RunningApp {
    /// The origins that the proxy has connections to, or had several to of late. Blocks until the
    /// cores have answered: not for a core's own thread.
    pub(super) fn origins(&self) -> Vec<OriginInfo> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let proxy = running.doors.get::<ProxyDoor>();
        drop(running);
        let Some(proxy) = proxy else { return Vec::new() };
        let (tell, told) = channel();
        for core in 0..self.cores.count() {
            let (proxy, tell) = (Arc::clone(&proxy), tell.clone());
            let look = move || async move {
                // Whoever asked may have lost patience.
                let _ = tell.send(proxy.known_origins());
            };
            // A core that takes no more work has nothing to say.
            let _ = self.cores.spawn(core, look);
        }
        drop(tell);
        let end = Instant::now() + PATIENCE;
        let mut known = Vec::new();
        while let Ok(more) = told.recv_timeout(end.saturating_duration_since(Instant::now())) {
            known.extend(more);
        }
        KnownOrigin::joined(known, TOLD_MAX).iter().map(origin_info).collect()
    }
}

/// As the API tells it.
fn origin_info(known: &KnownOrigin) -> OriginInfo {
    let version = if known.version == Version::HTTP_2 { "2" } else { "1.1" };
    OriginInfo {
        origin: known.server.to_string(),
        version: version.into(),
        open: known.open,
        idle: known.idle,
        at_once: known.at_once,
        unused_s: known.unused.as_secs(),
    }
}
