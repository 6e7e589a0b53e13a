//! What can be set about the way clients come in: certificates, PROXY headers, patience.
//!
//! Plain data. Read as part of the `gateway` section.

use http_engine::{ExtendedConnect, Limits};
use http_front::{CertificateSettings, ClientCertificate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::path::PathBuf;
use std::time::Duration;
use vocab::{ByteSize, Complaint, DomainName, TimeSpan};

/// Certificates of one gateway: each is read, watched and held in memory.
const CERTIFICATES_MAX: usize = 256;

/// HTTPS of the gateway.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TlsSettings {
    /// Certificates from files; the name that a client asks for (SNI) picks the one that names it,
    /// and the first where none does. At most 256. Default: none, and one that Tidegate's own
    /// authority signs.
    pub certificates: Vec<CertificateSettings>,
    /// Names for which a certificate is signed by Tidegate's own authority. Default none: where
    /// there are no files either, it is signed for the listeners' addresses.
    pub names: Vec<Text<DomainName>>,
    /// Certificates of the authorities whose clients are let in, in PEM; at most 1 MiB, read on
    /// every reload.
    pub client_ca: Option<PathBuf>,
    /// Client certificates: asked for, required or neither. Default `none`. Servers are told of
    /// them in `Client-Cert` (RFC 9440).
    pub client_certificate: ClientCertificate,
}

/// Timeouts, rates and limits for clients.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ClientSettings {
    /// Time that the head of a request may take. Default 10s, from 1s to 5m. Beyond it the
    /// connection is cut.
    pub header_timeout: Text<TimeSpan>,
    /// Time for which a connection may be open between requests. Default 60s, from 1s to 1h.
    pub idle_timeout: Text<TimeSpan>,
    /// True if a connection is for further requests; false if it ends with its first answer
    /// (`Connection: close`). HTTP/2 has one connection for all in any case. Default true.
    pub keep_alive: bool,
    /// Time for which a client may send nothing of a body that it announced, or take nothing of an
    /// answer. Default 60s, from 1s to 1h. Beyond it the connection is cut.
    pub body_timeout: Text<TimeSpan>,
    /// Bytes a second that a client must send of a body, or take of an answer, on average, after
    /// the first 20 s of each. Default 500 (as Apache's `mod_reqtimeout` has it); 0 lets any rate
    /// do.
    pub rate_min: Text<ByteSize>,
    /// The largest head of a request. Default 64KiB, from 8KiB to 1MiB. Beyond it: 431.
    pub header_max: Text<ByteSize>,
    /// Fields in a head. Default 100, from 16 to 1000. Beyond it: 431.
    pub headers: u16,
    /// HTTP/2: requests at once on a connection. Default 128, from 1 to 1000.
    pub http2_streams: u16,
}

/// Tells whether any listener speaks TLS, and whether all do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HttpsUse {
    Nowhere,
    Somewhere,
    Everywhere,
}

impl TlsSettings {
    pub(super) fn check(&self, https: HttpsUse) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        let mut say = |path: &str, message: &str, remedy: &str| {
            complaints.push(Complaint::new(path, message).remedy(remedy.to_owned()));
        };
        if https == HttpsUse::Nowhere && *self != Self::default() {
            let message = "the gateway has no https:// listener, so nothing of this is used";
            say("", message, "write listen: [\"https://0.0.0.0:443\"], or leave tls out");
        }
        if self.certificates.len() > CERTIFICATES_MAX {
            let message = format!("at most {CERTIFICATES_MAX} certificates");
            say("certificates", &message, "one certificate may hold many names");
        }
        let asks = self.client_certificate != ClientCertificate::None;
        if asks && self.client_ca.is_none() {
            let message = "no setting says which authorities of clients count";
            say("client_certificate", message, "set tls.client_ca");
        }
        if !asks && self.client_ca.is_some() {
            let message = "clients are not asked for a certificate, so this is not used";
            say("client_ca", message, "write client_certificate: require, or request");
        }
        if asks && https == HttpsUse::Somewhere {
            let message = "without TLS no client can show a certificate";
            say("client_certificate", message, "give the gateway https:// listeners only");
        }
        complaints
    }
}

impl Default for ClientSettings {
    fn default() -> Self {
        let limits = Limits::default();
        Self {
            header_timeout: Text(TimeSpan(limits.header_timeout)),
            idle_timeout: Text(TimeSpan(limits.idle_timeout)),
            keep_alive: true,
            body_timeout: Text(TimeSpan(limits.stall_timeout)),
            rate_min: Text(ByteSize(limits.rate_bytes_min.into())),
            header_max: Text(ByteSize(limits.header_bytes_max as u64)),
            headers: limits.headers_max as u16,
            http2_streams: limits.http2_streams_max as u16,
        }
    }
}

impl ClientSettings {
    /// Returns what the engine is told.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            header_bytes_max: self.header_max.bytes() as usize,
            headers_max: self.headers.into(),
            header_timeout: self.header_timeout.0.0,
            idle_timeout: self.idle_timeout.0.0,
            stall_timeout: self.body_timeout.0.0,
            rate_bytes_min: u32::try_from(self.rate_min.bytes()).unwrap_or(u32::MAX),
            http2_streams_max: self.http2_streams.into(),
            http2_extended_connect: ExtendedConnect::Accepted,
            ..Limits::default()
        }
    }

    pub(super) fn check(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        for (path, span, most) in [
            ("header_timeout", *self.header_timeout, Duration::from_mins(5)),
            ("idle_timeout", *self.idle_timeout, Duration::from_hours(1)),
            ("body_timeout", *self.body_timeout, Duration::from_hours(1)),
        ] {
            if span.0 < Duration::from_secs(1) || span.0 > most {
                complaints.push(
                    Complaint::new(path, format!("{span} is out of bounds"))
                        .remedy(format!("write a span from 1s to {}", TimeSpan(most))),
                );
            }
        }
        let header = self.header_max.bytes();
        let counts = [
            ("rate_min", self.rate_min.bytes(), 0, u64::from(u32::MAX), "0 to 4GiB"),
            ("header_max", header, 8 << 10, 1 << 20, "8KiB to 1MiB"),
            ("headers", self.headers.into(), 16, 1_000, "16 to 1000"),
            ("http2_streams", self.http2_streams.into(), 1, 1_000, "1 to 1000"),
        ];
        for (path, count, least, most, bounds) in counts {
            if count < least || count > most {
                complaints.push(
                    Complaint::new(path, format!("{count} is out of bounds"))
                        .remedy(format!("write {bounds}")),
                );
            }
        }
        complaints
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(complaints: &[Complaint]) -> Vec<&str> {
        complaints.iter().map(|complaint| complaint.path.as_str()).collect()
    }

    #[test]
    fn half_a_wish_for_tls_is_complained_about() {
        let none = TlsSettings::default;
        let ca = Some(PathBuf::from("a"));
        let require = ClientCertificate::Require;
        let both = TlsSettings { client_ca: ca.clone(), client_certificate: require, ..none() };
        for (https, tls, expected) in [
            (HttpsUse::Nowhere, none(), &[][..]),
            (HttpsUse::Everywhere, both.clone(), &[]),
            (HttpsUse::Somewhere, both, &["client_certificate"]),
            (HttpsUse::Somewhere, TlsSettings { client_ca: ca, ..none() }, &["client_ca"]),
            (
                HttpsUse::Everywhere,
                TlsSettings { client_certificate: require, ..none() },
                &["client_certificate"],
            ),
            (
                HttpsUse::Nowhere,
                TlsSettings { names: vec![Text("a.example".parse().expect("a name"))], ..none() },
                &[""],
            ),
        ] {
            assert_eq!(paths(&tls.check(https)), expected, "{tls:?}");
        }
    }

    #[test]
    fn what_is_expected_of_clients_has_bounds() {
        assert_eq!(ClientSettings::default().check(), []);
        let expected =
            Limits { http2_extended_connect: ExtendedConnect::Accepted, ..Limits::default() };
        assert_eq!(ClientSettings::default().limits(), expected);
        let odd = ClientSettings {
            header_timeout: Text(TimeSpan(Duration::ZERO)),
            header_max: Text(ByteSize(1)),
            headers: 5000,
            http2_streams: 0,
            ..ClientSettings::default()
        };
        let expected = ["header_timeout", "header_max", "headers", "http2_streams"];
        assert_eq!(paths(&odd.check()), expected);
    }
}
