//! Asking servers how they are, on a thread of its own: one owner for all pools of a door.
//!
//! It walks the pools that are in force, so that servers that come and go need no notice; what it
//! learns stands in the servers. It ends with its door. It never sends a client's request. Started by
//! `door`.

use super::Pool;
use super::checks::Health;
use super::server::Server;
use crate::dice;
use crate::settings::{HealthKind, HealthSettings};
use arc_swap::ArcSwap;
use http::header::{HOST, USER_AGENT};
use http::{HeaderValue, Request, Uri};
use http_engine::Body;
use std::io;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;
use tokio::runtime::{Builder, LocalOptions};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use transport::clock;
use upstream::origins::{Dialer, Limits, Origins, Terms};

/// Servers that are asked at once; further ones are asked later.
const CHECKS_MAX: usize = 256;
/// How long servers that are new, and the end of the door, may go unnoticed.
const LOOK: Duration = Duration::from_millis(500);
/// A check is under way: it says itself when the next is due.
const UNDER_WAY: u64 = u64::MAX;

/// The pools whose servers are asked.
#[derive(Debug, Default)]
pub(crate) struct Checker {
    pools: Arc<ArcSwap<Vec<Arc<Pool>>>>,
    started: OnceLock<()>,
}

impl Checker {
    /// Asks the servers of those of `pools` that want it, from now on.
    pub(crate) fn watch<'p>(
        &self,
        pools: impl Iterator<Item = &'p Arc<Pool>>,
        dialer: &Dialer,
    ) -> io::Result<()> {
        let watched: Vec<_> =
            pools.filter(|pool| pool.settings().health.is_some()).cloned().collect();
        let is_needed = !watched.is_empty() && self.started.get().is_none();
        self.pools.store(Arc::new(watched));
        if is_needed {
            let (pools, dialer) = (Arc::downgrade(&self.pools), dialer.clone());
            let runtime = move || {
                // A local runtime cannot leave its thread, so it is built here.
                let built =
                    Builder::new_current_thread().enable_all().build_local(LocalOptions::default());
                if let Ok(runtime) = built {
                    runtime.block_on(run(pools, dialer));
                }
            };
            std::thread::Builder::new().name("gateway-health".into()).spawn(runtime)?;
            // Reloads queue up, so that nobody has said so meanwhile.
            let _ = self.started.set(());
        }
        Ok(())
    }
}

async fn run(pools: Weak<ArcSwap<Vec<Arc<Pool>>>>, dialer: Dialer) {
    let limits = Limits { idle_per_origin_max: 0, idle_max: 0, ..Limits::default() };
    let origins = Arc::new(Origins::new(dialer, limits));
    let mut checks = JoinSet::new();
    loop {
        let Some(watched) = pools.upgrade().map(|pools| pools.load_full()) else { return };
        let now_ms = clock::now().mono_ms;
        let mut wait = LOOK;
        for pool in watched.iter() {
            for server in &pool.members.load().servers {
                let due_ms = server.check_due_ms();
                if due_ms <= now_ms && checks.len() < CHECKS_MAX {
                    server.check_at(UNDER_WAY);
                    let check = check(Arc::clone(pool), Arc::clone(server), Arc::clone(&origins));
                    checks.spawn_local(check);
                } else {
                    wait = wait.min(Duration::from_millis(due_ms.saturating_sub(now_ms).max(1)));
                }
            }
        }
        drop(watched);
        tokio::select! {
            _ = checks.join_next(), if !checks.is_empty() => {}
            () = sleep(wait) => {}
        }
    }
}

/// Asks one server, notes what it says, and when to ask again.
async fn check(pool: Arc<Pool>, server: Arc<Server>, origins: Arc<Origins>) {
    let Some(settings) = &pool.settings().health else { return };
    let asked = async {
        match settings.kind {
            HealthKind::Tcp => origins.connects(&server.address, pool.terms()).await.is_ok(),
            HealthKind::Http => answers_well(&server, settings, (&origins, pool.terms())).await,
        }
    };
    let well = timeout(settings.timeout.0.0, asked).await == Ok(true);
    let seen = if well { Health::Up } else { Health::Down };
    let now = clock::now();
    server.checked(seen, settings.healthy, settings.unhealthy, now);
    let interval = u64::try_from(settings.interval.0.0.as_millis()).unwrap_or(u64::MAX / 2);
    let spread = interval * u64::from(settings.jitter) / 100;
    let jitter = (dice::throw() >> 32) % (2 * spread + 1);
    server.check_at(now.mono_ms + interval - spread + jitter);
    pool.serve_line();
}

async fn answers_well(
    server: &Server,
    settings: &HealthSettings,
    (origins, terms): (&Origins, &Terms),
) -> bool {
    let host = settings.host.clone().unwrap_or_else(|| server.address.authority());
    let (Ok(host), Ok(path)) = (HeaderValue::from_str(&host), settings.path.parse::<Uri>()) else {
        return false;
    };
    let mut request = Request::new(Body::empty());
    *request.uri_mut() = path;
    request.headers_mut().insert(HOST, host);
    request.headers_mut().insert(USER_AGENT, HeaderValue::from_static("tidegate-health"));
    let asked = origins.send_to(&server.address, terms, Box::new(request), None);
    let Ok(response) = asked.await else { return false };
    let status = response.status();
    if settings.status.is_empty() {
        status.is_success() || status.is_redirection()
    } else {
        settings.status.contains(&status.as_u16())
    }
}
