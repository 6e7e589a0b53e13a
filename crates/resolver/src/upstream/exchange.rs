//! One upstream: a question goes in, its answer or a reason comes out.
//!
//! The ways differ (datagrams, streams, HTTP, QUIC), the contract does not: what is returned
//! answers the very question asked. It chooses nothing between upstreams; `engine::group` does.

use super::bootstrap::BootstrapResolver;
use super::dialer::UpstreamDialer;
use super::doh::DohTransport;
use super::doq::DoqTransport;
use super::exchange_error::ExchangeError;
use super::means::ExchangeMeans;
use super::query::UpstreamQuestion;
use super::record::{ExchangeFailure, UpstreamRecord};
use super::streams::{StreamSecurity, StreamTransport};
use super::udp::UdpTransport;
use crate::settings::address::{UpstreamHost, UpstreamProtocol};
use crate::settings::dial_settings::UpstreamReach;
use crate::settings::plan::PlannedUpstream;
use crate::settings::upstream::TrustAd;
use dns_wire::WireAnswer;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// So often it is looked whether connections that are kept open are open still.
const STANDING_CHECK: Duration = Duration::from_secs(1);
/// One that is opened before anybody asks may take so long.
const STANDING_TIMEOUT: Duration = Duration::from_secs(5);
/// Between tries at an upstream that cannot be connected to, at most.
const STANDING_PAUSE_MAX: Duration = Duration::from_mins(1);

/// An upstream, ready to be asked.
pub(crate) struct ReadyUpstream {
    pub(crate) name: Arc<str>,
    pub(crate) record: Arc<UpstreamRecord>,
    dial_settings: Rc<UpstreamReach>,
    /// True if nobody can answer in its place.
    is_authenticated: bool,
    transport: UpstreamTransport,
}

enum UpstreamTransport {
    Udp { datagrams: UdpTransport, streams: StreamTransport },
    Stream(StreamTransport),
    Http(DohTransport),
    Quic(DoqTransport),
}

impl ReadyUpstream {
    pub(crate) fn new(
        planned: &PlannedUpstream,
        means: &Rc<ExchangeMeans>,
        bootstrap: &Rc<BootstrapResolver>,
    ) -> Self {
        let address = &planned.address;
        let dial_settings = Rc::new(planned.dial_settings.clone());
        let place = UpstreamDialer::new(address, &dial_settings, bootstrap);
        let streams = |security| StreamTransport::new(place.clone(), security, Rc::clone(means));
        let transport = match (address.protocol, dial_settings.target(&address.host)) {
            (UpstreamProtocol::Udp, UpstreamHost::Ip(ip)) => {
                let to = SocketAddr::new(*ip, address.port);
                UpstreamTransport::Udp {
                    datagrams: UdpTransport::new(to, &dial_settings, Rc::clone(means)),
                    streams: streams(StreamSecurity::None),
                }
            }
            // Names are refused for these by the settings' check; TCP would find them all the same.
            (UpstreamProtocol::Udp, UpstreamHost::Name(_)) | (UpstreamProtocol::Tcp, _) => {
                UpstreamTransport::Stream(streams(StreamSecurity::None))
            }
            (UpstreamProtocol::Tls, _) => UpstreamTransport::Stream(streams(StreamSecurity::Tls)),
            (UpstreamProtocol::Https, _) => {
                UpstreamTransport::Http(DohTransport::new(place, address, means))
            }
            (UpstreamProtocol::Quic, _) => UpstreamTransport::Quic(DoqTransport::new(place, means)),
        };
        let is_authenticated = dial_settings.authenticates(address);
        let name = Arc::clone(&planned.name);
        let record = Arc::clone(&planned.record);
        Self { name, record, dial_settings, is_authenticated, transport }
    }

    /// Keeps as many connections open as its settings want, on a task that ends with it. Called
    /// within the engine's runtime.
    pub(crate) fn keep_open(self: &Rc<Self>) {
        if self.dial_settings.min_connections == 0 {
            return;
        }
        let upstream = Rc::downgrade(self);
        tokio::task::spawn_local(async move {
            let mut pause = STANDING_CHECK;
            while let Some(it) = upstream.upgrade() {
                let opened = match &it.transport {
                    UpstreamTransport::Stream(streams) => {
                        streams.open_standing(STANDING_TIMEOUT).await
                    }
                    UpstreamTransport::Http(http) => http.open_standing(STANDING_TIMEOUT).await,
                    // The settings' check refuses it for these.
                    UpstreamTransport::Udp { .. } | UpstreamTransport::Quic(_) => return,
                };
                pause = match opened {
                    Ok(()) => STANDING_CHECK,
                    Err(_) => (pause * 2).min(STANDING_PAUSE_MAX),
                };
                drop(it);
                tokio::time::sleep(pause).await;
            }
        });
    }

    /// Returns its datagrams, where it speaks UDP: the engine sends and receives those itself, and
    /// keeps record of them.
    pub(crate) fn datagrams(&self) -> Option<&UdpTransport> {
        match &self.transport {
            UpstreamTransport::Udp { datagrams, .. } => Some(datagrams),
            UpstreamTransport::Stream(_)
            | UpstreamTransport::Http(_)
            | UpstreamTransport::Quic(_) => None,
        }
    }

    /// Returns its answer, without its word on validation where that is not believed.
    pub(crate) fn without_untrusted_ad(&self, answer: WireAnswer) -> WireAnswer {
        let believed = match self.dial_settings.trust_ad {
            TrustAd::On => true,
            TrustAd::Off => false,
            TrustAd::Auto => self.is_authenticated,
        };
        if believed { answer } else { answer.without_validation() }
    }

    /// True if its own questions, if it had some, could come to us from `ip`.
    pub(crate) fn may_loop_from(&self, ip: IpAddr) -> bool {
        self.datagrams().is_some_and(|way| {
            let own = way.address().ip();
            own == ip || own.is_loopback() && ip.is_loopback()
        })
    }

    /// Asks by stream, HTTP or QUIC for at most `limit`, and keeps record of it.
    pub(crate) async fn ask(
        &self,
        wanted: &UpstreamQuestion<'_>,
        limit: Duration,
    ) -> Result<WireAnswer, ExchangeError> {
        let begun = Instant::now();
        self.record.sent();
        let asked = async {
            match &self.transport {
                // Over UDP: what did not fit into a datagram, or was not proved by one.
                UpstreamTransport::Udp { streams, .. } | UpstreamTransport::Stream(streams) => {
                    streams.ask(wanted, limit).await
                }
                UpstreamTransport::Http(http) => http.ask(wanted, limit).await,
                UpstreamTransport::Quic(quic) => quic.ask(wanted, limit).await,
            }
        };
        let outcome =
            tokio::time::timeout(limit, asked).await.unwrap_or(Err(ExchangeError::Timeout));
        let outcome = outcome.map(|answer| self.without_untrusted_ad(answer));
        match outcome {
            Ok(_) => self.record.answered(begun.elapsed()),
            Err(why) => {
                let failing = match why {
                    ExchangeError::Timeout => ExchangeFailure::Timeout,
                    ExchangeError::Unreachable | ExchangeError::Tls | ExchangeError::BadAnswer => {
                        ExchangeFailure::Other
                    }
                };
                self.record.failed(failing, begun.elapsed(), transport::clock::now());
            }
        }
        outcome
    }
}
