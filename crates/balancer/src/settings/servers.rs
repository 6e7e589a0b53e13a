//! What can be set for one server of a pool, or for a name that several are found by.
//!
//! Plain data. Read as part of a pool.

use origins::{OriginServer, ResolveKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vocab::Complaint;

/// The largest weight: how many times one server may outweigh another.
pub const WEIGHT_MAX: u32 = 100;

/// One server: its URL, or a mapping.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ServerSettings {
    /// URL.
    Url(String),
    /// URL and more.
    Detailed(ServerDetails),
}

/// One server in full.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ServerDetails {
    /// `http://HOST:PORT`, `https://HOST:PORT`, `h2c://HOST:PORT` (HTTP/2 without TLS and without
    /// asking first), `unix:/PATH` (a socket of this machine) or `h2c+unix:/PATH`. Needed.
    pub url: String,
    /// Share that it gets beside the others. Default 1, from 1 to 100.
    pub weight: u32,
    /// True if it serves only while no other server is up. Default false.
    pub backup: bool,
    /// Requests that it works on at once, upgraded connections included; further ones go to others,
    /// or wait in the pool's queue. Default 0: no bound.
    pub max_requests: u32,
    /// True if it takes no new clients, only those that a sticky cookie leads to it. Default false.
    pub drain: bool,
    /// Look-up of several servers by one name, repeated when the time of the answer is over, from 1
    /// s to 5 m: `addresses` (each of its addresses is a server) or `srv` (its SRV records name
    /// them, with port, weight and rank). The other settings hold for each. Default: it is one
    /// server, and its name is looked up for each connection.
    pub resolve: Option<ResolveChoice>,
}

/// Tells what the name of servers is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResolveChoice {
    /// A and AAAA records.
    Addresses,
    /// SRV records (RFC 2782): those of the lowest priority serve, the others are backups.
    Srv,
}

impl ResolveChoice {
    /// As it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Addresses => "addresses",
            Self::Srv => "srv",
        }
    }
}

impl From<ResolveChoice> for ResolveKind {
    fn from(choice: ResolveChoice) -> Self {
        match choice {
            ResolveChoice::Addresses => Self::Addresses,
            ResolveChoice::Srv => Self::Srv,
        }
    }
}

impl Default for ServerDetails {
    fn default() -> Self {
        Self {
            url: String::new(),
            weight: 1,
            backup: false,
            max_requests: 0,
            drain: false,
            resolve: None,
        }
    }
}

impl ServerSettings {
    /// Returns its settings in full.
    pub fn details(&self) -> ServerDetails {
        match self {
            Self::Url(url) => ServerDetails { url: url.clone(), ..Default::default() },
            Self::Detailed(details) => details.clone(),
        }
    }

    /// Returns its URL.
    pub fn url(&self) -> &str {
        match self {
            Self::Url(url) => url,
            Self::Detailed(details) => &details.url,
        }
    }

    /// Everything that is wrong.
    pub fn check(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        if let Err(why) = self.url().parse::<OriginServer>() {
            complaints.push(
                Complaint::new("", format!("{:?}: {why}", self.url()))
                    .remedy("write it as http://10.0.0.11:8080 or unix:/run/app.sock"),
            );
        }
        if let Self::Detailed(details) = self {
            if !(1..=WEIGHT_MAX).contains(&details.weight) {
                complaints.push(
                    Complaint::new("weight", format!("{} is out of bounds", details.weight))
                        .remedy(format!("write a weight from 1 to {WEIGHT_MAX}")),
                );
            }
            complaints.extend(details.check_resolve());
        }
        complaints
    }
}

impl ServerDetails {
    /// Returns what cannot be looked up, and what the records say already.
    fn check_resolve(&self) -> Vec<Complaint> {
        let (Some(resolve), Ok(server)) = (self.resolve, self.url.parse::<OriginServer>()) else {
            return Vec::new();
        };
        let url = &self.url;
        if server.name().is_none() {
            let remedy = "leave resolve out, or write a name in url";
            let message = format!("{url} has no name that could be looked up");
            return vec![Complaint::new("resolve", message).remedy(remedy)];
        }
        if resolve == ResolveChoice::Addresses {
            return Vec::new();
        }
        let mut complaints = Vec::new();
        if has_port(url) {
            complaints.push(
                Complaint::new("url", format!("{url} has a port, but SRV records say which"))
                    .remedy("leave the port out, as in http://_http._tcp.app.internal"),
            );
        }
        for (path, is_said) in [("weight", self.weight != 1), ("backup", self.backup)] {
            if is_said {
                let message = format!("with resolve: srv the records say the {path}");
                let remedy = format!("leave {path} out");
                complaints.push(Complaint::new(path, message).remedy(remedy));
            }
        }
        complaints
    }
}

/// True if a URL that leads to a name has a port.
fn has_port(url: &str) -> bool {
    url.split_once("://").is_some_and(|(_, authority)| authority.contains(':'))
}

impl From<String> for ServerSettings {
    fn from(url: String) -> Self {
        Self::Url(url)
    }
}

impl From<&str> for ServerSettings {
    fn from(url: &str) -> Self {
        Self::Url(url.into())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;

    fn complaints(text: &str) -> Vec<String> {
        let server: ServerSettings = serde_json::from_str(text).unwrap();
        server.check().into_iter().map(|it| it.path).collect()
    }

    #[test]
    fn names_are_looked_up_and_nothing_else() {
        for (server, expected) in [
            (
                r#"{ "url": "http://app.internal:8080", "resolve": "addresses", "weight": 3 }"#,
                &[][..],
            ),
            (r#"{ "url": "h2c://app.internal", "resolve": "addresses", "backup": true }"#, &[]),
            (r#"{ "url": "https://_https._tcp.app.internal", "resolve": "srv" }"#, &[]),
            (r#"{ "url": "http://10.0.0.1:80", "resolve": "addresses" }"#, &["resolve"]),
            (r#"{ "url": "http://[::1]", "resolve": "srv" }"#, &["resolve"]),
            (r#"{ "url": "unix:/run/app.sock", "resolve": "addresses" }"#, &["resolve"]),
            (r#"{ "url": "http://app.internal:80/", "resolve": "srv" }"#, &["url"]),
            (
                r#"{ "url": "http://a.internal", "resolve": "srv", "weight": 2, "backup": true }"#,
                &["weight", "backup"],
            ),
        ] {
            assert_eq!(complaints(server), expected, "{server}");
        }
    }
}
