//! One upstream: a question goes in, its answer or a reason comes out.
//!
//! The ways differ (datagrams, streams, HTTP), the contract does not: what is returned answers the
//! very question asked. It chooses nothing between upstreams; `choice` does.

use super::address::{Host, Protocol, UpstreamAddress};
use super::bootstrap::Bootstrap;
use super::dice::Dice;
use super::doh::HttpWay;
use super::plan::Planned;
use super::question::ResolveError;
use super::record::{Failing, Listed, Record, Standing};
use super::streams::{Security, StreamWay};
use super::udp::UdpWay;
use dns_wire::Answer;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use transport::ClientTls;

/// Why an exchange gave no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExchangeError {
    Timeout,
    /// No connection, or one that broke.
    Unreachable,
    Tls,
    /// An answer to the question came, but nothing that can be used.
    BadAnswer,
}

impl From<ExchangeError> for ResolveError {
    fn from(why: ExchangeError) -> Self {
        match why {
            ExchangeError::Timeout => Self::Timeout,
            ExchangeError::Unreachable => Self::Unreachable,
            ExchangeError::Tls => Self::Tls,
            ExchangeError::BadAnswer => Self::BadAnswer,
        }
    }
}

/// What every way needs.
pub(super) struct Means {
    pub(super) tls: ClientTls,
    pub(super) dice: Dice,
}

/// An upstream, ready to be asked.
pub(super) struct Upstream {
    pub(super) name: Arc<str>,
    pub(super) address: UpstreamAddress,
    pub(super) record: Arc<Record>,
    way: Way,
}

enum Way {
    Udp { datagrams: UdpWay, streams: StreamWay },
    Stream(StreamWay),
    Http(HttpWay),
}

impl Upstream {
    pub(super) fn new(planned: &Planned, means: &Rc<Means>, bootstrap: &Rc<Bootstrap>) -> Self {
        let address = planned.address.clone();
        let place = Place::new(&address, bootstrap);
        let streams = |security| StreamWay::new(place.clone(), security, Rc::clone(means));
        let way = match (address.protocol, &address.host) {
            (Protocol::Udp, Host::Ip(ip)) => Way::Udp {
                datagrams: UdpWay::new(SocketAddr::new(*ip, address.port), Rc::clone(means)),
                streams: streams(Security::None),
            },
            // Names are refused for these by the settings' check; TCP would find them all the same.
            (Protocol::Udp, Host::Name(_)) | (Protocol::Tcp, _) => {
                Way::Stream(streams(Security::None))
            }
            (Protocol::Tls, _) => Way::Stream(streams(Security::Tls)),
            (Protocol::Https, _) => {
                Way::Http(HttpWay::new(place.clone(), &address, Rc::clone(means)))
            }
        };
        Self { name: Arc::clone(&planned.name), address, record: Arc::default(), way }
    }

    /// Asks the question within `key`, for at most `limit`, and keeps record of it.
    pub(super) async fn ask(&self, key: &[u8], limit: Duration) -> Result<Answer, ExchangeError> {
        let begun = Instant::now();
        self.record.sent();
        let patience = self.record.mean_time();
        let asked = async {
            match &self.way {
                Way::Udp { datagrams, streams } => match datagrams.ask(key, patience).await {
                    Ok(Some(answer)) => Ok(answer),
                    // Truncated: all of it comes by stream.
                    Ok(None) => streams.ask(key, limit).await,
                    Err(why) => Err(why),
                },
                Way::Stream(streams) => streams.ask(key, limit).await,
                Way::Http(http) => http.ask(key, limit).await,
            }
        };
        let outcome =
            tokio::time::timeout(limit, asked).await.unwrap_or(Err(ExchangeError::Timeout));
        match outcome {
            Ok(_) => self.record.answered(begun.elapsed()),
            Err(why) => {
                let failing = match why {
                    ExchangeError::Timeout => Failing::Timeout,
                    ExchangeError::Unreachable | ExchangeError::Tls | ExchangeError::BadAnswer => {
                        Failing::Other
                    }
                };
                self.record.failed(failing, begun.elapsed(), transport::clock::now());
            }
        }
        outcome
    }

    pub(super) fn standing(&self) -> Standing {
        self.record.standing(transport::clock::now())
    }

    pub(super) fn listed(&self) -> Listed {
        Listed {
            name: Arc::clone(&self.name),
            address: self.address.to_string().into(),
            record: Arc::clone(&self.record),
        }
    }
}

/// Where an upstream is: its addresses, and what it is called in TLS.
#[derive(Clone)]
pub(super) struct Place {
    host: Host,
    port: u16,
    bootstrap: Rc<Bootstrap>,
}

impl Place {
    fn new(address: &UpstreamAddress, bootstrap: &Rc<Bootstrap>) -> Self {
        Self { host: address.host.clone(), port: address.port, bootstrap: Rc::clone(bootstrap) }
    }

    /// What its certificate must be for.
    pub(super) fn server_name(&self) -> String {
        match &self.host {
            Host::Ip(ip) => ip.to_string(),
            Host::Name(name) => name.to_string(),
        }
    }

    /// Opens a connection, trying each address, all within `limit`.
    pub(super) async fn dial(&self, limit: Duration) -> Result<transport::Stream, ExchangeError> {
        let begun = Instant::now();
        let addresses = match &self.host {
            Host::Ip(ip) => vec![*ip],
            Host::Name(name) => self.bootstrap.addresses(name, limit).await?,
        };
        let mut last = ExchangeError::Unreachable;
        for (tried, ip) in addresses.iter().enumerate() {
            let left = limit.saturating_sub(begun.elapsed());
            // Each that is left gets its share, so that a silent one cannot use up all of it.
            let share = left / u32::try_from(addresses.len() - tried).unwrap_or(1);
            match transport::dial(SocketAddr::new(*ip, self.port), share).await {
                Ok(stream) => return Ok(stream),
                Err(why) => {
                    last = match why.reason {
                        transport::DialReason::Timeout => ExchangeError::Timeout,
                        transport::DialReason::Refused
                        | transport::DialReason::Unreachable
                        | transport::DialReason::Other(_) => ExchangeError::Unreachable,
                    };
                }
            }
        }
        Err(last)
    }
}
