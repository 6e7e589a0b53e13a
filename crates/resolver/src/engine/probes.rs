//! Measures how soon addresses let us connect, on a thread of its own, and remembers it.
//!
//! It sends nothing over what it connects and closes it at once. What is tried at once is bounded,
//! and beyond the bound nothing is measured: an answer is then given as it came. It chooses no
//! answer; [`super::fastest`] does, which calls it.

use crate::settings::probe::{PROBE_PORTS_MAX, ProbeTarget};
use quick_cache::sync::Cache;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;
use vocab::Now;

/// Addresses of one question that are measured, at most; others keep their places.
pub(crate) const PROBED_MAX: usize = 16;
/// Connections that are tried at once, at most, all questions together.
const SOCKETS_MAX: usize = 512;
/// Measurements that are remembered, at most.
const REMEMBERED_MAX: usize = 8192;
/// For so long a time is believed; an answer in that order is not kept longer.
pub(crate) const RESULT_TTL_S: u32 = 600;
/// For so long it is believed that an address lets nobody in.
const UNREACHED_S: u32 = 60;

/// Tells how soon an address lets us in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ProbeSpeed {
    /// After this time.
    Within(Duration),
    Unknown,
    /// Not at all, or not in time.
    Never,
}

/// Measures how soon addresses accept a connection, and remembers it. The thread ends with it.
pub(crate) struct AddressProber {
    table: Arc<ProbeTable>,
    jobs: mpsc::Sender<ProbeJob>,
    sockets: Arc<Semaphore>,
}

type Key = (IpAddr, [u16; PROBE_PORTS_MAX]);

struct ProbeTable(Cache<Key, (ProbeSpeed, u64)>);

struct ProbeJob {
    addresses: Vec<IpAddr>,
    target: ProbeTarget,
    /// Told, or dropped, when the first has let us in or none will.
    done: Option<oneshot::Sender<()>>,
    _sockets: OwnedSemaphorePermit,
}

impl AddressProber {
    pub(crate) fn start() -> io::Result<Self> {
        let table = Arc::new(ProbeTable(Cache::new(REMEMBERED_MAX)));
        let (jobs, received) = mpsc::channel(SOCKETS_MAX);
        let remembered = Arc::clone(&table);
        std::thread::Builder::new().name("address-probes".into()).spawn(move || {
            let runtime =
                Builder::new_current_thread().enable_all().build_local(LocalOptions::default());
            // Without it nobody takes what is to be measured, and nothing is.
            if let Ok(runtime) = runtime {
                runtime.block_on(work(received, remembered));
            }
        })?;
        Ok(Self { table, jobs, sockets: Arc::new(Semaphore::new(SOCKETS_MAX)) })
    }

    pub(crate) fn speed(&self, address: IpAddr, aim: &ProbeTarget, now: Now) -> ProbeSpeed {
        self.table.speed(address, aim, now)
    }

    /// Has `addresses` measured; none if there are too many at it already.
    pub(crate) fn probe(
        &self,
        addresses: Vec<IpAddr>,
        aim: ProbeTarget,
    ) -> Option<oneshot::Receiver<()>> {
        let sockets = u32::try_from(addresses.len() * aim.ports().count()).ok()?;
        let sockets = Arc::clone(&self.sockets).try_acquire_many_owned(sockets).ok()?;
        let (done, told) = oneshot::channel();
        let job = ProbeJob { addresses, target: aim, done: Some(done), _sockets: sockets };
        self.jobs.try_send(job).ok()?;
        Some(told)
    }
}

impl ProbeTable {
    fn speed(&self, address: IpAddr, aim: &ProbeTarget, now: Now) -> ProbeSpeed {
        match self.0.get(&(address, aim.ports)) {
            Some((speed, until_ms)) if now.mono_ms < until_ms => speed,
            Some(_) | None => ProbeSpeed::Unknown,
        }
    }

    fn remember(&self, address: IpAddr, aim: &ProbeTarget, speed: ProbeSpeed) {
        let believed_s = match speed {
            ProbeSpeed::Within(_) => RESULT_TTL_S,
            ProbeSpeed::Never | ProbeSpeed::Unknown => UNREACHED_S,
        };
        let until_ms = transport::clock::now().mono_ms + u64::from(believed_s) * 1000;
        self.0.insert((address, aim.ports), (speed, until_ms));
    }
}

async fn work(mut jobs: mpsc::Receiver<ProbeJob>, table: Arc<ProbeTable>) {
    while let Some(job) = jobs.recv().await {
        tokio::task::spawn_local(measure(job, Arc::clone(&table)));
    }
}

/// Tries every address of `job` at every port, all at once.
async fn measure(mut job: ProbeJob, table: Arc<ProbeTable>) {
    let begun = Instant::now();
    let mut tries = JoinSet::new();
    for address in job.addresses.iter().copied() {
        for port in job.target.ports() {
            tries.spawn_local(async move {
                let opened = TcpStream::connect(SocketAddr::new(address, port)).await;
                (address, opened.is_ok())
            });
        }
    }
    let mut open = Vec::with_capacity(job.addresses.len());
    let all = async {
        while let Some(outcome) = tries.join_next().await {
            let Ok((address, true)) = outcome else { continue };
            if open.contains(&address) {
                continue;
            }
            open.push(address);
            table.remember(address, &job.target, ProbeSpeed::Within(begun.elapsed()));
            if let Some(done) = job.done.take() {
                // Whoever asked may be content already.
                let _ = done.send(());
            }
        }
    };
    // What has not answered by then is as good as closed.
    let _ = tokio::time::timeout(job.target.timeout, all).await;
    for address in job.addresses.iter().filter(|it| !open.contains(it)) {
        table.remember(*address, &job.target, ProbeSpeed::Never);
    }
}
