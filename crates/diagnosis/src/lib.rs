//! Obstacles of a machine to a configuration, with a remedy each.
//!
//! Every group of checks is a file; all run beside each other and each has three seconds. Nothing
//! is started or changed: sockets are tried and closed, resolvers and servers asked once. It prints
//! nothing and knows no command line. Called by `tidegate doctor`, and by `check`
//! for its warnings.

mod clock;
mod disk;
mod finding;
mod kernel;
mod limits;
mod owner;
mod ports;
mod reach;
mod resolv_conf;
mod servers;
mod sockets;
mod surroundings;
mod trust;
mod upstreams;
mod warnings;

pub use finding::{CheckGroup, FindingSeverity, MachineFinding};
pub use ports::{PortStanding, PortState, standings};
pub use resolv_conf::name_servers;
pub use sockets::{ListeningSocket, SocketProtocol, parse_sockets};
pub use surroundings::MachineFolders;
pub use warnings::{readable_secrets, unusable_listeners};

use config::Plan;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, LocalOptions};
use tokio::task::JoinSet;

/// Time that one group of checks may take.
pub const CHECK_MAX: Duration = Duration::from_secs(3);

/// A configuration and the machine that it is to run on.
#[derive(Clone, Debug)]
pub struct DiagnosisSubject {
    /// The configuration.
    pub plan: Plan,
    /// State folder.
    pub state: PathBuf,
    /// Places where the system tells of itself.
    pub machine: MachineFolders,
}

impl DiagnosisSubject {
    /// The number of the process that uses the state folder, if one does.
    pub(crate) fn running(&self) -> Option<u32> {
        self.machine.lock_holder(&self.state.join("lock"))
    }

    /// Folders of HTTP caches on disk, each with the bytes that it may take.
    pub(crate) fn cache_folders(&self) -> Vec<(&'static str, PathBuf, u64)> {
        let file = &self.plan.file;
        let proxy = file.proxy.iter().filter_map(|proxy| proxy.cache.as_ref()?.disk.as_ref());
        let gateway = file.gateway.iter().filter_map(|gateway| gateway.cache.disk.as_ref());
        let proxy = proxy.map(|disk| ("proxy.cache.disk", disk));
        let all = proxy.chain(gateway.map(|disk| ("gateway.cache.disk", disk)));
        let place = |path: &Path| self.state.join(path);
        all.map(|(setting, disk)| (setting, place(&disk.path), disk.size.0.0)).collect()
    }
}

/// Everything that was found, group by group; what is fine among it.
pub fn examine(subject: DiagnosisSubject) -> io::Result<Vec<MachineFinding>> {
    let runtime = Builder::new_current_thread().enable_all().build_local(LocalOptions::default())?;
    let found = runtime.block_on(examine_all(Arc::new(subject)));
    // A look-up by the system that hangs is not waited for.
    runtime.shutdown_background();
    Ok(found)
}

/// A check that looks at this machine alone.
type LocalCheck = fn(&DiagnosisSubject) -> Vec<MachineFinding>;

async fn examine_all(subject: Arc<DiagnosisSubject>) -> Vec<MachineFinding> {
    let mut checks = JoinSet::new();
    let local: [(CheckGroup, LocalCheck); 8] = [
        (CheckGroup::Ports, ports::check),
        (CheckGroup::ResolvConf, resolv_conf::check),
        (CheckGroup::Limits, limits::check),
        (CheckGroup::Trust, trust::check),
        (CheckGroup::Ipv6, reach::ipv6),
        (CheckGroup::Disk, disk::check),
        (CheckGroup::Kernel, kernel::check),
        (CheckGroup::Owner, owner::check),
    ];
    for (group, check) in local {
        let subject = Arc::clone(&subject);
        // A disk that hangs holds up a thread of its own.
        let check = tokio::task::spawn_blocking(move || check(&subject));
        checks.spawn_local(bounded(group, async { check.await.unwrap_or_default() }));
    }
    for check in upstreams::checks(&subject) {
        checks.spawn_local(bounded(CheckGroup::Upstreams, check));
    }
    for check in servers::checks(&subject) {
        checks.spawn_local(bounded(CheckGroup::Servers, check));
    }
    checks.spawn_local(bounded(CheckGroup::Clock, clock::check(Arc::clone(&subject))));
    checks.spawn_local(bounded(CheckGroup::Quic, reach::quic(Arc::clone(&subject))));
    let mut found: Vec<MachineFinding> = checks.join_all().await.into_iter().flatten().collect();
    found.sort_by(|one, other| (one.check, &one.what).cmp(&(other.check, &other.what)));
    found
}

async fn bounded(
    group: CheckGroup,
    check: impl Future<Output = Vec<MachineFinding>>,
) -> Vec<MachineFinding> {
    tokio::time::timeout(CHECK_MAX, check).await.unwrap_or_else(|_| {
        let what = format!("this could not be found out within {} s", CHECK_MAX.as_secs());
        vec![MachineFinding::note(group, what)]
    })
}
