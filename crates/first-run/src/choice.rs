//! Choice of a first run, read into types: whatever comes of it is valid in itself.

use admin_api::{FirstRunQuery, FirstRunRequest};
use std::fmt;
use std::net::{AddrParseError, IpAddr, SocketAddr};
use std::time::Duration;
use vocab::Door;

/// Seconds for which a choice waits for confirmation.
const CONFIRM_DEFAULT_S: u64 = 60;
const CONFIRM_MAX_S: u64 = 600;
/// Resolvers that are asked, and lists that are chosen.
const UPSTREAMS_MAX: usize = 16;
const LISTS_MAX: usize = 64;

/// A choice of a first run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstRunChoice {
    /// Address of this machine that devices use.
    pub address: IpAddr,
    /// Doors to open there.
    pub doors: Vec<Door>,
    /// Ports of them.
    pub ports: FirstRunPorts,
    /// Resolvers to ask; none to leave them as they are.
    pub upstreams: Vec<String>,
    /// Lists to have.
    pub lists: Vec<String>,
    /// Address that blocked names get.
    pub pixel_address: Option<IpAddr>,
    /// Place of the dashboard.
    pub dashboard: Option<SocketAddr>,
    /// Time for which it waits for confirmation.
    pub confirm_within: Duration,
}

/// Ports of a first run's doors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstRunPorts {
    /// The DNS door's.
    pub dns: u16,
    /// The pixel door's without TLS.
    pub http: u16,
    /// The pixel door's with TLS.
    pub https: u16,
    /// The proxy's.
    pub proxy: u16,
}

/// Fault of a choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChoiceError {
    /// No address.
    Address(String),
    /// No door of a first run.
    Door(String),
    /// Nothing is to be opened.
    NoDoor,
    /// Too many resolvers or lists.
    TooMany,
    /// The time for a confirmation is out of bounds.
    Confirm(u64),
}

impl FirstRunChoice {
    /// Reads what was sent.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn read(sent: &FirstRunRequest) -> Result<Self, ChoiceError> {
        let doors = sent.doors.iter().map(|word| match word.parse() {
            Ok(door @ (Door::Dns | Door::Pixel | Door::Proxy)) => Ok(door),
            Ok(Door::Web | Door::Gateway) | Err(_) => Err(ChoiceError::Door(shown(word))),
        });
        let doors: Vec<Door> = doors.collect::<Result<_, _>>()?;
        if doors.is_empty() {
            return Err(ChoiceError::NoDoor);
        }
        if sent.upstreams.len() > UPSTREAMS_MAX || sent.lists.len() > LISTS_MAX {
            return Err(ChoiceError::TooMany);
        }
        let pixel_address = sent.pixel_address.as_deref().map(address).transpose()?;
        Ok(Self {
            address: address(&sent.address)?,
            doors,
            ports: FirstRunPorts::or_usual([
                sent.dns_port,
                sent.http_port,
                sent.https_port,
                sent.proxy_port,
            ]),
            upstreams: sent.upstreams.clone(),
            lists: sent.lists.clone(),
            pixel_address,
            dashboard: sent.dashboard.as_deref().map(address).transpose()?,
            confirm_within: confirm_within(sent.confirm_within_s)?,
        })
    }
}

impl FirstRunPorts {
    /// Ports that devices expect.
    pub const USUAL: Self = Self { dns: 53, http: 80, https: 443, proxy: 3128 };

    /// Ports that are asked about.
    pub fn asked(query: &FirstRunQuery) -> Self {
        Self::or_usual([query.dns_port, query.http_port, query.https_port, query.proxy_port])
    }

    /// The ports for DNS, HTTP, HTTPS and the proxy, or those that devices expect.
    fn or_usual([dns, http, https, proxy]: [Option<u16>; 4]) -> Self {
        Self {
            dns: dns.unwrap_or(Self::USUAL.dns),
            http: http.unwrap_or(Self::USUAL.http),
            https: https.unwrap_or(Self::USUAL.https),
            proxy: proxy.unwrap_or(Self::USUAL.proxy),
        }
    }
}

/// Time for which a change waits for confirmation.
///
/// # Errors
/// Out of bounds.
pub fn confirm_within(seconds: Option<u64>) -> Result<Duration, ChoiceError> {
    match seconds.unwrap_or(CONFIRM_DEFAULT_S) {
        seconds @ 1..=CONFIRM_MAX_S => Ok(Duration::from_secs(seconds)),
        seconds => Err(ChoiceError::Confirm(seconds)),
    }
}

fn address<T: std::str::FromStr<Err = AddrParseError>>(text: &str) -> Result<T, ChoiceError> {
    text.trim().parse().map_err(|_| ChoiceError::Address(shown(text)))
}

/// The beginning of what was sent.
fn shown(text: &str) -> String {
    text.chars().take(64).collect()
}

impl fmt::Display for ChoiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(text) => write!(
                f,
                "{text:?} is no address; write one of this machine's, such as 192.168.1.2, and \
                 with a port for the dashboard"
            ),
            Self::Door(word) => write!(
                f,
                "{word:?} is no door that a first run opens: dns, pixel or proxy; write others into \
                 the configuration"
            ),
            Self::NoDoor => f.write_str("no door is chosen; name one of dns, pixel and proxy"),
            Self::TooMany => write!(
                f,
                "too many resolvers or lists; name at most {UPSTREAMS_MAX} and {LISTS_MAX}"
            ),
            Self::Confirm(seconds) => write!(
                f,
                "confirm_within_s: {seconds} is out of bounds; write 1 to {CONFIRM_MAX_S}"
            ),
        }
    }
}

impl std::error::Error for ChoiceError {}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_is_read_once_and_what_is_wrong_is_named() {
        let sent = FirstRunRequest {
            address: " 192.0.2.7".into(),
            doors: vec!["dns".into(), "pixel".into()],
            https_port: Some(8443),
            ..FirstRunRequest::default()
        };
        let choice = FirstRunChoice::read(&sent).unwrap();
        assert_eq!((choice.ports.dns, choice.ports.https), (53, 8443));
        assert_eq!(choice.confirm_within, Duration::from_mins(1));
        let wrong = |sent: FirstRunRequest| FirstRunChoice::read(&sent).unwrap_err();
        let of = |doors: &str| FirstRunRequest { doors: vec![doors.into()], ..sent.clone() };
        assert_eq!(wrong(of("web")), ChoiceError::Door("web".into()));
        assert_eq!(
            wrong(FirstRunRequest { doors: Vec::new(), ..sent.clone() }),
            ChoiceError::NoDoor
        );
        let address = "x".repeat(500);
        let told = wrong(FirstRunRequest { address, ..sent.clone() }).to_string();
        assert!(told.len() < 250, "{told}");
        let many = FirstRunRequest { lists: vec!["a".into(); LISTS_MAX + 1], ..sent.clone() };
        assert_eq!(wrong(many), ChoiceError::TooMany);
        let late = FirstRunRequest { confirm_within_s: Some(601), ..sent.clone() };
        assert_eq!(wrong(late), ChoiceError::Confirm(601));
        let nowhere = FirstRunRequest { dashboard: Some("192.0.2.7".into()), ..sent };
        assert!(matches!(wrong(nowhere), ChoiceError::Address(_)));
    }
}
