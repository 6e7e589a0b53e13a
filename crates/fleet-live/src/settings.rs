//! Settings: the section `fleet.live` of the configuration.

use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo, RedisError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::SecretText;
use std::path::{Path, PathBuf};
use std::{fmt, io};
use vocab::Complaint;

/// Fewest characters of a secret.
const SECRET_LENGTH_MIN: usize = 32;
/// Most characters of a prefix.
const PREFIX_LENGTH_MAX: usize = 64;
/// Most Sentinels.
const SENTINELS_MAX: usize = 16;
/// Largest file of authorities, in bytes.
const CA_BYTES_MAX: u64 = 1 << 20;

/// State that a fleet shares while it runs, in Valkey or Redis: pauses, allows, blocks and purges
/// made at one machine, and limits that count together. Nothing waits for the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LiveSettings {
    /// Server, with a user of its ACL: `redis://USER:PASSWORD@HOST[:PORT][/NUMBER]`, or
    /// `rediss://` over TLS. Passwords are best kept in a file: `${file:…}`.
    pub url: String,
    /// Sentinels that know the primary, as `HOST:PORT`; HOST of `url` is then the name that they
    /// have for it. At most 16; the first that answers is believed. Default none.
    #[serde(default)]
    pub sentinels: Vec<String>,
    /// File with the authorities that may vouch for a server at `rediss://`, as PEM; a relative
    /// path starts from the configuration's folder. Default: those that browsers know.
    #[serde(default)]
    pub ca: Option<String>,
    /// First part of the name of every key, so that a server can be shared: `PREFIX:…`. Letters,
    /// digits, `.`, `-` and `_`, at most 64. Default `tidegate`.
    #[serde(default = "tidegate")]
    pub prefix: String,
    /// Rule for shared limits while the server is away: `divide` holds each machine to its part,
    /// the limit divided by the machines seen last; `open` lets all requests pass; `closed` refuses
    /// them. Default `divide`.
    #[serde(default)]
    pub when_away: WhenAway,
    /// Secret of the fleet, of at least 32 characters: with it, keys of TLS tickets are shared, so
    /// that a session begun at one machine is resumed at another. The server sees them sealed.
    /// Default: none are shared.
    #[serde(default)]
    pub secret: Option<SecretText>,
}

/// Rule for shared limits while the server is away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WhenAway {
    /// Each machine has its part of the limit.
    #[default]
    Divide,
    /// All requests pass.
    Open,
    /// All are refused.
    Closed,
}

fn tidegate() -> String {
    "tidegate".into()
}

impl LiveSettings {
    /// Everything that is wrong with them.
    pub fn check(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        if let Err(why) = self.address() {
            complaints.push(
                Complaint::new("url", why.to_string())
                    .remedy("write redis://USER:PASSWORD@HOST:PORT, or rediss:// for TLS"),
            );
        }
        if self.ca.is_some() && !self.url.starts_with("rediss://") {
            let told = Complaint::new("ca", "without TLS nobody vouches for the server");
            complaints.push(told.remedy("write rediss:// in url, or leave ca out"));
        }
        if self.sentinels.len() > SENTINELS_MAX {
            complaints.push(Complaint::new("sentinels", format!("at most {SENTINELS_MAX}")));
        }
        for (index, sentinel) in self.sentinels.iter().enumerate() {
            if sentinel_address(sentinel).is_none() {
                let told = Complaint::new(
                    format!("sentinels.{index}"),
                    format!("{sentinel:?} is no address of a Sentinel"),
                );
                complaints.push(told.remedy("write HOST:PORT, as 10.0.0.11:26379"));
            }
        }
        let is_plain = |it: char| it.is_ascii_alphanumeric() || ".-_".contains(it);
        let length = self.prefix.len();
        if !(1..=PREFIX_LENGTH_MAX).contains(&length) || !self.prefix.chars().all(is_plain) {
            let text = format!("{:?} is no prefix", self.prefix);
            let remedy = "write 1 to 64 letters, digits, dots, dashes and underscores";
            complaints.push(Complaint::new("prefix", text).remedy(remedy));
        }
        let is_short = |it: &SecretText| it.reveal().chars().count() < SECRET_LENGTH_MIN;
        if self.secret.as_ref().is_some_and(is_short) {
            let text = format!("a secret has at least {SECRET_LENGTH_MIN} characters");
            complaints
                .push(Complaint::new("secret", text).remedy("openssl rand -hex 32 makes one"));
        }
        complaints
    }

    /// The server's address and the user; a reason without the password if it is none.
    pub(crate) fn address(&self) -> Result<ConnectionInfo, BadServer> {
        if self.url.contains(',') || self.url.contains(char::is_whitespace) {
            return Err(BadServer::Many);
        }
        let (scheme, rest) = self.url.split_once("://").unwrap_or_default();
        if !["redis", "rediss"].contains(&scheme) {
            return Err(BadServer::NoAddress);
        }
        if rest.contains(['#', '?']) {
            return Err(BadServer::Options);
        }
        let parsed = self.url.as_str().into_connection_info().map_err(BadServer::Refused)?;
        match parsed.addr() {
            ConnectionAddr::Tcp(..) | ConnectionAddr::TcpTls { .. } => Ok(parsed),
            _ => Err(BadServer::NoAddress),
        }
    }

    /// The authorities that may vouch for the server, as PEM; none for those that browsers know.
    pub(crate) fn authorities(&self, base: &Path) -> Result<Option<Vec<u8>>, BadServer> {
        let Some(ca) = &self.ca else { return Ok(None) };
        let path = base.join(ca);
        let told = |why: io::Error| BadServer::File(path.clone(), why);
        let length = std::fs::metadata(&path).map_err(told)?.len();
        if length > CA_BYTES_MAX {
            let why = format!("over {CA_BYTES_MAX} bytes");
            return Err(told(io::Error::new(io::ErrorKind::FileTooLarge, why)));
        }
        std::fs::read(&path).map(Some).map_err(told)
    }
}

/// The address of a Sentinel, from `HOST:PORT`; none of what is none.
pub(crate) fn sentinel_address(text: &str) -> Option<ConnectionInfo> {
    let (host, port) = text.rsplit_once(':')?;
    let is_host = |it: char| it.is_ascii_alphanumeric() || ".-_:[]".contains(it);
    let port = port.parse::<u16>().ok().filter(|port| *port > 0)?;
    if host.is_empty() || !host.chars().all(is_host) {
        return None;
    }
    let host = host.trim_start_matches('[').trim_end_matches(']');
    ConnectionAddr::Tcp(host.to_owned(), port).into_connection_info().ok()
}

/// Reason why settings lead to no server.
#[derive(Debug)]
pub(crate) enum BadServer {
    /// Several are named.
    Many,
    /// The text is none of the forms of an address.
    NoAddress,
    /// Something stands behind the database.
    Options,
    /// The client of Redis takes the address, or the authorities, for none.
    Refused(RedisError),
    /// The file of authorities cannot be read.
    File(PathBuf, io::Error),
}

impl fmt::Display for BadServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Many => f.write_str(
                "one server is named here, and Sentinels in sentinels; clusters are not built yet",
            ),
            Self::NoAddress => f.write_str("this is no address of a server"),
            Self::Options => f.write_str("a server's address ends with its database"),
            Self::Refused(why) => write!(f, "this leads to no server: {why}"),
            Self::File(path, why) => write!(f, "{}: {why}", path.display()),
        }
    }
}

impl std::error::Error for BadServer {}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(url: &str) -> LiveSettings {
        LiveSettings {
            url: url.into(),
            sentinels: Vec::new(),
            ca: None,
            prefix: "tidegate".into(),
            when_away: WhenAway::Divide,
            secret: None,
        }
    }

    #[test]
    fn addresses_of_one_server_are_taken() {
        for url in [
            "redis://127.0.0.1",
            "redis://edge-1:pass%20word@valkey.example:6380/3",
            "rediss://:password@valkey.example",
            "redis://[::1]:6379",
        ] {
            assert_eq!(settings(url).check(), [], "{url}");
        }
    }

    #[test]
    fn what_is_no_server_is_refused_with_a_remedy_and_without_its_password() {
        for url in [
            "",
            "valkey.example",
            "http://valkey.example",
            "redis://",
            "redis+unix:///run/redis.sock",
            "rediss://valkey.example#insecure",
            "redis://a:hidden@one.example,redis://a:hidden@two.example",
            "redis://a:hidden@host:port",
            "redis://a:hidden@host/number",
        ] {
            let complaints = settings(url).check();
            assert_eq!(complaints.len(), 1, "{url}");
            assert!(complaints[0].remedy.is_some(), "{url}");
            assert!(!complaints[0].to_string().contains("hidden"), "{complaints:?}");
        }
    }

    #[test]
    fn prefixes_secrets_and_authorities_are_checked() {
        let mut wrong = settings("redis://127.0.0.1");
        wrong.prefix = "a*".into();
        wrong.secret = Some("short".into());
        wrong.ca = Some("ca.pem".into());
        wrong.sentinels = vec!["[::1]:26379".into(), "sentinel.example".into(), ":1".into()];
        let paths: Vec<String> = wrong.check().into_iter().map(|it| it.path).collect();
        assert_eq!(paths, ["ca", "sentinels.1", "sentinels.2", "prefix", "secret"]);
    }
}
