//! Asking servers how they are.
//!
//! What it learns stands in the servers. It never sends a client's request. Called by `watch`.

use super::ServerPool;
use crate::checks::ServerHealth;
use crate::random;
use crate::server::PooledServer;
use crate::settings::{HealthKind, HealthSettings};
use http::header::{HOST, USER_AGENT};
use http::{HeaderValue, Request, Uri};
use http_engine::Body;
use origins::{ConnectionPolicy, Origins};
use std::sync::Arc;
use tokio::time::timeout;
use transport::clock;

/// Asks one server, notes what it says, and when to ask again.
pub(super) async fn check(pool: Arc<ServerPool>, server: Arc<PooledServer>, origins: Arc<Origins>) {
    let Some(settings) = &pool.settings().health else { return };
    let asked = async {
        match settings.kind {
            HealthKind::Tcp => origins.connects(&server.address, pool.policy()).await.is_ok(),
            HealthKind::Http => is_healthy(&server, settings, &origins, pool.policy()).await,
        }
    };
    let well = timeout(settings.timeout.0.0, asked).await == Ok(true);
    let seen = if well { ServerHealth::Up } else { ServerHealth::Down };
    let now = clock::now();
    server.checked(seen, settings.healthy, settings.unhealthy, now);
    let interval = u64::try_from(settings.interval.0.0.as_millis()).unwrap_or(u64::MAX / 2);
    let spread = interval * u64::from(settings.jitter) / 100;
    let jitter = (random::bits() >> 32) % (2 * spread + 1);
    server.check_at(now.mono_ms + interval - spread + jitter);
    pool.serve_line();
}

async fn is_healthy(
    server: &PooledServer,
    settings: &HealthSettings,
    origins: &Origins,
    terms: &ConnectionPolicy,
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
