//! Settings: the section `fleet.live` of the configuration.

use crate::server_place::ServerPlace;
use rate_limit::AwayRule;
use redis::{ConnectionAddr, IntoConnectionInfo, RedisConnectionInfo, RedisError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::SecretText;
use std::path::{Path, PathBuf};
use std::{fmt, io};
use transport::tls::BadClientTls;
use vocab::Complaint;

/// Fewest characters of a secret.
const SECRET_LENGTH_MIN: usize = 32;
/// Most characters of a prefix.
const PREFIX_LENGTH_MAX: usize = 64;
/// Most Sentinels.
const SENTINELS_MAX: usize = 16;
/// Most nodes of a cluster that are named.
const NODES_MAX: usize = 64;
/// Largest file of authorities, in bytes.
const CA_BYTES_MAX: u64 = 1 << 20;
/// Port of a Sentinel that names none.
const SENTINEL_PORT: u16 = 26_379;

/// State that a fleet shares while it runs, in Valkey or Redis: pauses, allows, blocks and purges
/// made at one machine, and limits that count together. Nothing waits for the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LiveSettings {
    /// Server, with a user of its ACL: `redis://USER:PASSWORD@HOST[:PORT][/NUMBER]`, or
    /// `rediss://` over TLS. Passwords are best kept in a file: `${file:…}`.
    pub url: String,
    /// Sentinels that know the primary, as `HOST:PORT`, or with a user of their own and over TLS as
    /// `rediss://USER:PASSWORD@HOST[:PORT]`; HOST of `url` is then the name that they have for it.
    /// At most 16; the first that answers is believed. Default none.
    #[serde(default)]
    pub sentinels: Vec<String>,
    /// Nodes of a Redis Cluster as `HOST:PORT`, from which the others are learnt; `url` is one of
    /// them, and its user, password and TLS are those of all. At most 64. Default none: no cluster.
    #[serde(default)]
    pub cluster: Vec<String>,
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
    /// Values that machines keep for each other in the server, behind their own caches; needs
    /// `secret`, with which they are sealed. Default: none.
    #[serde(default)]
    pub cache: LiveCacheSettings,
    /// True if this machine asks all others, and answers them: why a name is let through or blocked
    /// here, and for rows of its request log, which are personal data; needs `secret`, with which
    /// questions and answers are sealed. Default false: it says that it does not answer.
    #[serde(default)]
    pub questions: bool,
}

/// Values that machines of a fleet keep for each other, behind their own caches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LiveCacheSettings {
    /// True if answers of upstreams to DNS questions are kept for the other machines, and looked
    /// for there, for 2 ms at most, before an upstream is asked. Default false.
    pub dns: bool,
    /// True if small responses that the gateway's cache stores are kept for the other machines, and
    /// looked for there, for 2 ms at most, before a server is asked. Default false.
    pub http: bool,
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

impl WhenAway {
    pub(crate) fn rule(self) -> AwayRule {
        match self {
            Self::Divide => AwayRule::Divide,
            Self::Open => AwayRule::Open,
            Self::Closed => AwayRule::Closed,
        }
    }

    /// The rule in the log's words, after the limits.
    pub(crate) fn told(self) -> &'static str {
        match self {
            Self::Divide => "are divided by the edges seen last",
            Self::Open => "let everything pass",
            Self::Closed => "refuse everything",
        }
    }
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
        let is_tls = |url: &String| url.starts_with("rediss://");
        if self.ca.is_some() && !is_tls(&self.url) && !self.sentinels.iter().any(is_tls) {
            let told = Complaint::new("ca", "without TLS nobody vouches for the server");
            complaints.push(told.remedy("write rediss:// in url, or leave ca out"));
        }
        if self.sentinels.len() > SENTINELS_MAX {
            complaints.push(Complaint::new("sentinels", format!("at most {SENTINELS_MAX}")));
        }
        for (index, sentinel) in self.sentinels.iter().enumerate() {
            if sentinel_address(sentinel).is_none() {
                let told = "this is no address of a Sentinel";
                let told = Complaint::new(format!("sentinels.{index}"), told);
                complaints.push(told.remedy(
                    "write HOST:PORT, as 10.0.0.11:26379, or redis://USER:PASSWORD@HOST:PORT",
                ));
            }
        }
        self.check_cluster(&mut complaints);
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
        let kinds = [
            (self.cache.dns, "cache.dns", "answers"),
            (self.cache.http, "cache.http", "responses"),
        ];
        for (_, path, what) in kinds.into_iter().filter(|it| it.0 && self.secret.is_none()) {
            let told = format!("{what} are sealed with secret, and there is none");
            let remedy = "openssl rand -hex 32 makes one for fleet.live.secret";
            complaints.push(Complaint::new(path, told).remedy(remedy));
        }
        if self.questions && self.secret.is_none() {
            let told =
                Complaint::new("questions", "questions are sealed with secret, and there is none");
            complaints.push(told.remedy("openssl rand -hex 32 makes one for fleet.live.secret"));
        }
        complaints
    }

    fn check_cluster(&self, complaints: &mut Vec<Complaint>) {
        if self.cluster.is_empty() {
            return;
        }
        if self.cluster.len() > NODES_MAX {
            complaints.push(Complaint::new("cluster", format!("at most {NODES_MAX}")));
        }
        if !self.sentinels.is_empty() {
            let told = Complaint::new("cluster", "a cluster has no Sentinels");
            complaints.push(told.remedy("leave sentinels out, or cluster"));
        }
        if self.address().is_ok_and(|it| it.login.db() != 0) {
            let told = Complaint::new("url", "a cluster has one database");
            complaints.push(told.remedy("leave its number out of url"));
        }
        for (index, node) in self.cluster.iter().enumerate() {
            if ServerPlace::parse(node).is_none() {
                let told = Complaint::new(format!("cluster.{index}"), "this is no node's address");
                complaints.push(told.remedy("write HOST:PORT, as 10.0.0.21:6379"));
            }
        }
    }

    /// The server's address and the user; a reason without the password if it is none.
    pub(crate) fn address(&self) -> Result<LoginAddress, BadServer> {
        if self.url.contains(',') || self.url.contains(char::is_whitespace) {
            return Err(BadServer::Many);
        }
        LoginAddress::parse(&self.url)
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

/// Address with the user that it is spoken to as.
#[derive(Clone, Debug)]
pub(crate) struct LoginAddress {
    pub(crate) place: ServerPlace,
    pub(crate) login: RedisConnectionInfo,
    pub(crate) is_tls: bool,
}

impl LoginAddress {
    fn parse(url: &str) -> Result<Self, BadServer> {
        let (scheme, rest) = url.split_once("://").unwrap_or_default();
        if !["redis", "rediss"].contains(&scheme) {
            return Err(BadServer::NoAddress);
        }
        if rest.contains(['#', '?']) {
            return Err(BadServer::Options);
        }
        // TLS is our own: the client's library is built without.
        let plain = format!("redis://{rest}");
        let parsed = plain.as_str().into_connection_info().map_err(BadServer::Refused)?;
        let ConnectionAddr::Tcp(host, port) = parsed.addr() else {
            return Err(BadServer::NoAddress);
        };
        let place = ServerPlace::new(host, *port).ok_or(BadServer::NoAddress)?;
        let login = parsed.redis_settings().clone();
        Ok(Self { place, login, is_tls: scheme == "rediss" })
    }
}

/// The address of a Sentinel, from `HOST:PORT` or an URL; none of what is none.
pub(crate) fn sentinel_address(text: &str) -> Option<LoginAddress> {
    let Some((scheme, rest)) = text.split_once("://") else {
        let place = ServerPlace::parse(text)?;
        return Some(LoginAddress { place, login: RedisConnectionInfo::default(), is_tls: false });
    };
    let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    let is_whole = host.rsplit_once(':').is_some_and(|(_, port)| !port.contains(']'));
    let port = if is_whole { String::new() } else { format!(":{SENTINEL_PORT}") };
    let address = LoginAddress::parse(&format!("{scheme}://{rest}{port}")).ok()?;
    // Sentinels have no databases.
    (!host.contains('/')).then_some(address)
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
    /// The file holds none.
    Authorities(BadClientTls),
}

impl fmt::Display for BadServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Many => f.write_str(
                "one server is named here; Sentinels in sentinels, other nodes of a cluster in cluster",
            ),
            Self::NoAddress => f.write_str("this is no address of a server"),
            Self::Options => f.write_str("a server's address ends with its database"),
            Self::Refused(why) => write!(f, "this leads to no server: {why}"),
            Self::Authorities(why) => write!(f, "the file of authorities: {why}"),
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
            cluster: Vec::new(),
            ca: None,
            prefix: "tidegate".into(),
            when_away: WhenAway::Divide,
            secret: None,
            cache: LiveCacheSettings::default(),
            questions: false,
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
    fn a_cluster_has_nodes_one_database_and_no_sentinels() {
        let mut cluster = settings("rediss://edge:word@10.0.0.21:7000");
        cluster.cluster = vec!["10.0.0.22:7000".into(), "[2001:db8::1]:7000".into()];
        assert_eq!(cluster.check(), []);
        cluster.url = "redis://10.0.0.21:7000/3".into();
        cluster.cluster.push("10.0.0.23".into());
        cluster.sentinels = vec!["10.0.0.11:26379".into()];
        let complaints = cluster.check();
        assert!(complaints.iter().all(|it| it.remedy.is_some()));
        let paths: Vec<String> = complaints.into_iter().map(|it| it.path).collect();
        assert_eq!(paths, ["cluster", "url", "cluster.2"]);
    }

    #[test]
    fn a_sentinel_has_a_user_tls_and_the_usual_port_where_it_says_so() {
        let of = |text| sentinel_address(text).unwrap();
        for (text, port, is_tls) in [
            ("10.0.0.11:26380", 26_380, false),
            ("redis://watch:word@10.0.0.11", 26_379, false),
            ("rediss://watch:word@[2001:db8::1]", 26_379, true),
            ("rediss://watch:word@sentinel.example:7", 7, true),
        ] {
            let address = of(text);
            assert_eq!((address.place.port, address.is_tls), (port, is_tls), "{text}");
            assert_eq!(address.login.password().is_some(), text.contains("word"), "{text}");
        }
    }

    #[test]
    fn prefixes_secrets_and_authorities_are_checked() {
        let mut wrong = settings("redis://127.0.0.1");
        wrong.prefix = "a*".into();
        wrong.secret = Some("short".into());
        wrong.ca = Some("ca.pem".into());
        wrong.sentinels = [
            "[::1]:26379",
            "sentinel.example",
            ":1",
            "redis://:hidden@[::1]",
            "redis://watch:hidden@sentinel.example/3",
            "http://watch:hidden@sentinel.example",
        ]
        .map(String::from)
        .to_vec();
        let complaints = wrong.check();
        assert!(complaints.iter().all(|it| !it.to_string().contains("hidden")), "{complaints:?}");
        let paths: Vec<String> = complaints.into_iter().map(|it| it.path).collect();
        let sentinels = ["sentinels.1", "sentinels.2", "sentinels.4", "sentinels.5"];
        assert_eq!(paths, [&["ca"], &sentinels[..], &["prefix", "secret"]].concat());
    }
}
