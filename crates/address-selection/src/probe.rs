//! Measuring of one address: its methods, one after the other, until one lets us in.
//!
//! Nothing is sent over a connection, which is closed at once. Called by [`super::selector`].

use super::ping::ping;
use super::settings::{ProbeMethod, SelectorSettings};
use resolver::{SocksProxy, UpstreamHost, connect_through};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// The time after which `address` let us in by the first method that it did; none if it did by
/// none.
pub(super) async fn measure(address: IpAddr, settings: &SelectorSettings) -> Option<Duration> {
    let mut attempts = JoinSet::new();
    for (index, method) in settings.methods.iter().copied().enumerate() {
        let wait = settings.stagger.saturating_mul(index as u32);
        let (limit, proxy) = (settings.timeout, settings.socks5.clone());
        attempts.spawn_local(async move {
            sleep(wait).await;
            let begun = Instant::now();
            let done = timeout(limit, attempt(address, method, proxy.as_ref())).await;
            matches!(done, Ok(Ok(()))).then(|| begun.elapsed())
        });
    }
    while let Some(ended) = attempts.join_next().await {
        if let Ok(Some(took)) = ended {
            return Some(took);
        }
    }
    None
}

async fn attempt(
    address: IpAddr,
    method: ProbeMethod,
    proxy: Option<&SocksProxy>,
) -> io::Result<()> {
    match (method, proxy) {
        (ProbeMethod::Ping, _) => ping(address).await,
        (ProbeMethod::Tcp(port), None) => {
            TcpStream::connect(SocketAddr::new(address, port)).await.map(drop)
        }
        (ProbeMethod::Tcp(port), Some(proxy)) => {
            let mut stream = TcpStream::connect(proxy.address).await?;
            let host = UpstreamHost::Ip(address);
            connect_through(&mut stream, proxy.credentials.as_ref(), &host, port).await
        }
    }
}
