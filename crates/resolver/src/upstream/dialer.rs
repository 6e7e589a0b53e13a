//! Where an upstream is: its addresses, what it is called in TLS, and streams to it.
//!
//! It looks names up through the bootstrap servers, goes through a proxy where there is one, and
//! tries one address after the other. It sends no question. Called by every way but UDP.

use super::bootstrap::BootstrapResolver;
use super::exchange_error::ExchangeError;
use crate::settings::address::{UpstreamAddress, UpstreamHost};
use crate::settings::dial_settings::UpstreamReach;
use crate::upstream::socks;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};
use transport::{DialReason, Stream, dial_with};

/// The addresses of one upstream, and streams to it.
#[derive(Clone)]
pub(crate) struct UpstreamDialer {
    host: UpstreamHost,
    port: u16,
    pub(crate) dial_settings: Rc<UpstreamReach>,
    bootstrap: Rc<BootstrapResolver>,
}

impl UpstreamDialer {
    pub(crate) fn new(
        address: &UpstreamAddress,
        reach: &Rc<UpstreamReach>,
        bootstrap: &Rc<BootstrapResolver>,
    ) -> Self {
        Self {
            host: address.host.clone(),
            port: address.port,
            dial_settings: Rc::clone(reach),
            bootstrap: Rc::clone(bootstrap),
        }
    }

    /// Returns what its certificate must be for.
    pub(crate) fn server_name(&self) -> String {
        match &self.host {
            UpstreamHost::Ip(ip) => ip.to_string(),
            UpstreamHost::Name(name) => name.to_string(),
        }
    }

    /// Where it can be reached, at least one.
    pub(crate) async fn addresses(
        &self,
        limit: Duration,
    ) -> Result<Vec<SocketAddr>, ExchangeError> {
        let found = match self.dial_settings.target(&self.host) {
            UpstreamHost::Ip(ip) => vec![*ip],
            UpstreamHost::Name(name) => {
                let mut found =
                    self.bootstrap.addresses(name, &self.dial_settings.dial, limit).await?;
                found.retain(|ip| self.dial_settings.family.accepts(*ip));
                found
            }
        };
        if found.is_empty() {
            return Err(ExchangeError::Unreachable);
        }
        Ok(found.into_iter().map(|ip| SocketAddr::new(ip, self.port)).collect())
    }

    /// Opens a stream, trying each address, all within `limit`.
    pub(crate) async fn dial(&self, limit: Duration) -> Result<Stream, ExchangeError> {
        let begun = Instant::now();
        if let Some(proxy) = &self.dial_settings.proxy {
            let dialled = self.dial_through(proxy, limit);
            return tokio::time::timeout(limit, dialled)
                .await
                .unwrap_or(Err(ExchangeError::Timeout));
        }
        let addresses = self.addresses(limit).await?;
        let mut last = ExchangeError::Unreachable;
        for (tried, address) in addresses.iter().enumerate() {
            let share = share(limit, begun, addresses.len() - tried);
            match dial_with(*address, share, &self.dial_settings.dial).await {
                Ok(stream) => return Ok(stream),
                Err(why) => last = why.reason.into(),
            }
        }
        Err(last)
    }

    async fn dial_through(
        &self,
        proxy: &socks::SocksProxy,
        limit: Duration,
    ) -> Result<Stream, ExchangeError> {
        let mut stream = dial_with(proxy.address, limit, &self.dial_settings.dial)
            .await
            .map_err(|why| ExchangeError::from(why.reason))?;
        let host = self.dial_settings.target(&self.host);
        socks::connect(&mut stream, proxy.credentials.as_ref(), host, self.port)
            .await
            .map_err(|_: io::Error| ExchangeError::Unreachable)?;
        Ok(stream)
    }
}

/// Returns what one of `left` tries may take of what is left of `limit`, so that a silent address
/// cannot use up all of it.
pub(crate) fn share(limit: Duration, begun: Instant, left: usize) -> Duration {
    limit.saturating_sub(begun.elapsed()) / u32::try_from(left).unwrap_or(1).max(1)
}

impl From<DialReason> for ExchangeError {
    fn from(why: DialReason) -> Self {
        match why {
            DialReason::Timeout => Self::Timeout,
            DialReason::Refused | DialReason::Unreachable | DialReason::Other(_) => {
                Self::Unreachable
            }
        }
    }
}
