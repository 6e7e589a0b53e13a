//! What can be set for how a pool's servers are spoken to: TLS, HTTP version, PROXY header,
//! patience.
//!
//! Plain data; the files that it names are read by `open`. Read as part of a pool.

use super::bounds::{bounded, counted};
use super::servers::ServerSettings;
use http::Uri;
use origins::{FreshConnection, HttpVersion, OriginServer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;
use transport::proxy_protocol::ProxyVersion;
use transport::tls::VerifyMode;
use vocab::{Complaint, DomainName, TimeSpan};

const PATIENCE_MIN: Duration = Duration::from_millis(10);
const CONNECT_MAX: Duration = Duration::from_mins(1);
const PATIENCE_MAX: Duration = Duration::from_hours(1);
const KEPT_MIN: Duration = Duration::from_secs(1);
const IDLE_MAX: Duration = Duration::from_hours(1);
const AGE_MAX: Duration = Duration::from_hours(24);
/// Idle connections for one server and core: each is a socket here and a worker there.
const KEPT_MAX: u32 = 1_024;
const REQUESTS_MAX: u32 = 1_000_000_000;

/// TLS with the `https://` servers of a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ServerTlsSettings {
    /// Certificates of the authorities that alone are trusted, in PEM; a relative path starts from
    /// the configuration's folder. At most 1 MiB, read on every reload. Default: the public
    /// authorities.
    pub ca: Option<PathBuf>,
    /// Client certificate for servers that ask for one: a chain, leaf first, in PEM. Read on every
    /// reload. Default none.
    pub certificate: Option<PathBuf>,
    /// The private key of `certificate`, in PEM.
    pub key: Option<PathBuf>,
    /// The name that is sent (SNI) and that the server's certificate must be for: a host name or an
    /// address. Default: the host of the server's URL.
    pub name: Option<String>,
    /// Verification of the server's certificate. Default `full`.
    pub verify: VerifyChoice,
}

/// Tells how a server's certificate is checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerifyChoice {
    /// Must be of a trusted authority, in its time, and for the name.
    #[default]
    Full,
    /// Is not: anybody on the way can be the server.
    None,
}

/// Which HTTP is spoken with servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HttpChoice {
    /// With `https://` servers HTTP/2 where they have it, else HTTP/1.1; with others HTTP/1.1.
    #[default]
    Auto,
    /// HTTP/1.1.
    H1,
    /// HTTP/2: with `https://` servers that have it, with others without asking first.
    H2,
}

/// The PROXY header that connections to servers begin with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProxyProtocolChoice {
    /// None.
    #[default]
    Off,
    /// A line of text.
    V1,
    /// A binary header.
    V2,
}

/// Timeouts of a pool's servers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TimeoutSettings {
    /// Time that a connection may take until it can carry a request, TLS and `verify_connection`
    /// included. Default 5s, from 10ms to 1m. Beyond it the next server is tried.
    pub connect: Text<TimeSpan>,
    /// Time that a server may take to begin its answer, after the request's last byte. Default: the
    /// gateway's `response_timeout`; from 10ms to 1h. A route's own counts before it. Beyond it:
    /// 504.
    pub first_byte: Option<Text<TimeSpan>>,
    /// Time for which a server may be silent in the middle of an answer. Default: the gateway's
    /// `response_timeout`; from 10ms to 1h. Beyond it the answer is broken off.
    pub between_bytes: Option<Text<TimeSpan>>,
}

/// Idle connections to servers that are kept for the next request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct KeepAliveSettings {
    /// Idle connections kept for each server and core. Default 128, at most 1024; 0 keeps none. One
    /// of HTTP/2 carries all requests at once.
    pub connections: u32,
    /// Time for which an idle connection is kept: less than the server keeps it. Default 30s, from
    /// 1s to 1h.
    pub idle: Text<TimeSpan>,
    /// Age beyond which a connection carries no more requests. Default: any age; from 1s to 24h.
    pub age: Option<Text<TimeSpan>>,
    /// Number of requests a connection carries. Default 0: any number.
    pub requests: u32,
}

impl Default for TimeoutSettings {
    fn default() -> Self {
        let connect = Text(TimeSpan(Duration::from_secs(5)));
        Self { connect, first_byte: None, between_bytes: None }
    }
}

impl Default for KeepAliveSettings {
    fn default() -> Self {
        Self {
            connections: 128,
            idle: Text(TimeSpan(Duration::from_secs(30))),
            age: None,
            requests: 0,
        }
    }
}

impl From<VerifyChoice> for VerifyMode {
    fn from(choice: VerifyChoice) -> Self {
        match choice {
            VerifyChoice::Full => Self::Full,
            VerifyChoice::None => Self::Nothing,
        }
    }
}

impl From<HttpChoice> for HttpVersion {
    fn from(choice: HttpChoice) -> Self {
        match choice {
            HttpChoice::Auto => Self::Auto,
            HttpChoice::H1 => Self::Http1,
            HttpChoice::H2 => Self::Http2,
        }
    }
}

impl ProxyProtocolChoice {
    /// The version that is sent, if any.
    pub(crate) const fn version(self) -> Option<ProxyVersion> {
        match self {
            Self::Off => None,
            Self::V1 => Some(ProxyVersion::V1),
            Self::V2 => Some(ProxyVersion::V2),
        }
    }
}

impl HttpChoice {
    /// Returns what is wrong with `server` where this is spoken.
    pub(crate) fn check(self, server: &ServerSettings) -> Option<Complaint> {
        let is_h2c = server.url().parse::<OriginServer>().is_ok_and(|it| it.is_h2c());
        (self == Self::H1 && is_h2c).then(|| {
            let message = format!("{} means HTTP/2, but the pool's http is h1", server.url());
            Complaint::new("", message)
                .remedy("write http:// or unix:, or leave the pool's http out")
        })
    }
}

impl ServerTlsSettings {
    pub(super) fn check(&self, servers: &[ServerSettings]) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        let mut say = |path: &str, message: String, remedy: &str| {
            complaints.push(Complaint::new(path, message).remedy(remedy));
        };
        let is_secure =
            |it: &ServerSettings| it.url().parse::<OriginServer>().is_ok_and(|it| it.is_secure());
        if *self != Self::default() && !servers.iter().any(is_secure) {
            let message = "the pool has no https:// server, so nothing of this is used".into();
            say("", message, "write https:// before the servers, or leave tls out");
        }
        match (&self.certificate, &self.key) {
            (Some(_), None) => {
                say("certificate", "it has no key".into(), "name its private key in key");
            }
            (None, Some(_)) => {
                say("key", "it has no certificate".into(), "name its chain in certificate");
            }
            (Some(_), Some(_)) | (None, None) => {}
        }
        if self.ca.is_some() && self.verify == VerifyChoice::None {
            let message = "with verify: none no authority is asked".into();
            say("ca", message, "leave verify out, or ca");
        }
        if let Some(name) = &self.name
            && name.parse::<IpAddr>().is_err()
            && DomainName::parse(name).is_err()
        {
            let message = format!("{name:?} is no host name and no address");
            say("name", message, "write the name that the server's certificate is for");
        }
        complaints
    }
}

impl TimeoutSettings {
    pub(super) fn check(&self) -> Vec<Complaint> {
        let patience = |path: &str, span: Option<Text<TimeSpan>>| {
            span.and_then(|span| bounded(path, span, PATIENCE_MIN, PATIENCE_MAX))
        };
        let found = [
            bounded("connect", self.connect, PATIENCE_MIN, CONNECT_MAX),
            patience("first_byte", self.first_byte),
            patience("between_bytes", self.between_bytes),
        ];
        found.into_iter().flatten().collect()
    }
}

/// Question that a fresh connection asks before it carries a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum VerifyConnection {
    /// `OPTIONS *`, or none.
    Switch(bool),
    /// `OPTIONS` for this path.
    Path(String),
}

impl Default for VerifyConnection {
    fn default() -> Self {
        Self::Switch(false)
    }
}

impl VerifyConnection {
    /// The same as terms.
    pub(crate) fn terms(&self) -> FreshConnection {
        match self {
            Self::Switch(false) => FreshConnection::Trusted,
            Self::Switch(true) => FreshConnection::verified(),
            // Checked: it is a path.
            Self::Path(path) => {
                path.parse().map_or_else(|_| FreshConnection::verified(), FreshConnection::Verified)
            }
        }
    }

    pub(super) fn check(&self) -> Option<Complaint> {
        let Self::Path(path) = self else { return None };
        let is_path = path.starts_with('/')
            && path.parse::<Uri>().is_ok_and(|target| target.path_and_query().is_some());
        (!is_path).then(|| {
            Complaint::new("verify_connection", format!("{path:?} is no path"))
                .remedy("write true for OPTIONS *, or a path such as /alive")
        })
    }
}

impl KeepAliveSettings {
    pub(super) fn check(&self) -> Vec<Complaint> {
        let found = [
            counted("connections", self.connections, 0, KEPT_MAX),
            bounded("idle", self.idle, KEPT_MIN, IDLE_MAX),
            self.age.and_then(|age| bounded("age", age, KEPT_MIN, AGE_MAX)),
            counted("requests", self.requests, 0, REQUESTS_MAX),
        ];
        found.into_iter().flatten().collect()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use crate::settings::PoolSettings;

    fn complaints(text: &str) -> Vec<String> {
        let pool: PoolSettings = serde_json::from_str(text).unwrap();
        pool.check().into_iter().map(|it| it.path).collect()
    }

    #[test]
    fn every_kind_of_server_is_taken() {
        let text = r#"{
            "servers": ["http://a.example", "https://a.example", "h2c://a.example",
                "unix:/run/a.sock", { "url": "h2c+unix:/run/a.sock", "weight": 2 }],
            "tls": { "ca": "ca.pem", "certificate": "me.pem", "key": "me.key", "name": "app" },
            "http": "h2",
            "proxy_protocol": "v2",
            "timeouts": { "connect": "1s", "first_byte": "10ms", "between_bytes": "1h" },
            "keep_alive": { "connections": 0, "idle": "5s", "age": "1h", "requests": 1000 },
            "verify_connection": true
        }"#;
        assert_eq!(complaints(text), [] as [String; 0]);
    }

    #[test]
    fn what_would_have_no_effect_is_refused() {
        let text = r#"{
            "servers": ["http://a.example", "h2c://a.example", "unix:run/a.sock"],
            "tls": { "ca": "ca.pem", "key": "me.key", "name": "a b", "verify": "none" },
            "http": "h1",
            "timeouts": { "connect": "2m", "first_byte": "1ms", "between_bytes": "2h" },
            "keep_alive": { "connections": 2000, "idle": "0s", "age": "2d" },
            "verify_connection": "alive now"
        }"#;
        let expected = [
            "servers.1",
            "servers.2",
            "tls",
            "tls.key",
            "tls.ca",
            "tls.name",
            "timeouts.connect",
            "timeouts.first_byte",
            "timeouts.between_bytes",
            "keep_alive.connections",
            "keep_alive.idle",
            "keep_alive.age",
            "verify_connection",
        ];
        assert_eq!(complaints(text), expected);
    }
}
