//! Servers of the gateway's pools: whether they take connections.

use crate::DiagnosisSubject;
use crate::finding::{CheckGroup, MachineFinding};
use crate::upstreams::WaitingCheck;
use std::time::{Duration, Instant};
use tokio::net::{TcpStream, UnixStream};

const GROUP: CheckGroup = CheckGroup::Servers;
/// Servers that are tried, at most.
const TRIED_MAX: usize = 256;
const CONNECT_MAX: Duration = Duration::from_millis(2800);

/// One check a server.
pub(crate) fn checks(subject: &DiagnosisSubject) -> Vec<WaitingCheck> {
    let pools = subject.plan.file.gateway.iter().flat_map(|gateway| &gateway.pools);
    let servers = pools.flat_map(|(pool, settings)| {
        settings.servers.iter().map(|server| (pool.clone(), server.details()))
    });
    // Those that DNS finds have a name that need not have an address.
    let dialled = servers.filter(|(_, server)| server.resolve.is_none());
    let check = |(pool, url)| -> WaitingCheck { Box::pin(connect(pool, url)) };
    dialled.take(TRIED_MAX).map(|(pool, server)| check((pool, server.url))).collect()
}

async fn connect(pool: String, url: String) -> Vec<MachineFinding> {
    let begun = Instant::now();
    let outcome = tokio::time::timeout(CONNECT_MAX, dial(&url)).await;
    let took = begun.elapsed().as_millis();
    let place = format!("pool {pool}: {url}");
    let failed = |why: String| {
        MachineFinding::warning(GROUP, format!("{place} takes no connection: {why}")).remedy(
            "start that server, or see that its address is right and no firewall stands between; \
             `ctl pools` shows how the running Tidegate finds it",
        )
    };
    vec![match outcome {
        Ok(Ok(())) => MachineFinding::fine(GROUP, format!("{place} takes connections ({took} ms)")),
        Ok(Err(why)) => failed(why.to_string()),
        Err(_) => failed("nothing answers".into()),
    }]
}

async fn dial(url: &str) -> std::io::Result<()> {
    if let Some(path) = url.strip_prefix("unix:").or_else(|| url.strip_prefix("h2c+unix:")) {
        return UnixStream::connect(path).await.map(drop);
    }
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let place = rest.split(['/', '?']).next().unwrap_or_default();
    let port = if scheme == "https" { 443 } else { 80 };
    let has_port = place.rsplit(':').next().is_some_and(|port| port.parse::<u16>().is_ok());
    if has_port && !place.ends_with(']') {
        return TcpStream::connect(place).await.map(drop);
    }
    TcpStream::connect((place.trim_matches(['[', ']']), port)).await.map(drop)
}
