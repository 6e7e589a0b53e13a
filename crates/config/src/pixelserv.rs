//! The command line of pixelserv-tls, said in our words.
//!
//! From options to the text of a configuration that [`crate::parse`] takes, with notes about what
//! is done otherwise. It opens nothing. Called by `tidegate pixelserv`.

use serde_json::json;
use std::net::{IpAddr, SocketAddr};

/// Where pixelserv-tls listens unless it is told otherwise.
const PORTS: (u16, u16) = (80, 443);
/// Networks of a home, whose people may read the counters.
const HOME: [&str; 6] =
    ["127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1/128", "fc00::/7"];

/// Options of pixelserv-tls that have a counterpart here.
#[derive(Clone, Debug)]
pub struct PixelservOptions {
    /// Where it listens: an address, or those of an interface (`-n`).
    pub addresses: Vec<IpAddr>,
    /// Ports of HTTP (`-p`); none means 80.
    pub http: Vec<u16>,
    /// Ports of HTTPS (`-k`, `-A`); none means 443.
    pub https: Vec<u16>,
    /// The user that it becomes (`-u`).
    pub user: Option<String>,
    /// Connections at once (`-T`).
    pub connections: Option<u32>,
    /// Seconds for which a connection may idle (`-O`).
    pub idle_secs: Option<u32>,
    /// Use that is made of an address inside a blocked one (`-R`).
    pub onward: OnwardLink,
}

/// Use that is made of a web address inside a blocked one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnwardLink {
    /// A page shows it.
    #[default]
    Shown,
    /// People are redirected to it.
    Followed,
}

/// A configuration that does what these options did: every name that is sent there is answered,
/// and certified.
pub fn from_pixelserv(options: &PixelservOptions) -> String {
    let ports = |given: &[u16], usual| if given.is_empty() { vec![usual] } else { given.to_vec() };
    let at = |scheme: &'static str, port: u16| {
        let sockets = options.addresses.iter().map(move |it| SocketAddr::new(*it, port));
        sockets.map(move |it| format!("{scheme}://{it}"))
    };
    let http = ports(&options.http, PORTS.0).into_iter().flat_map(|port| at("http", port));
    let https = ports(&options.https, PORTS.1).into_iter().flat_map(|port| at("https", port));
    let mut pixel = json!({
        "listen": http.chain(https).collect::<Vec<_>>(),
        "addresses": [],
        "any_name": true,
        "servstats": HOME,
    });
    if let Some(connections) = options.connections {
        pixel["connections"] = json!(connections);
    }
    if let Some(secs) = options.idle_secs {
        pixel["idle_timeout"] = json!(format!("{}s", secs.clamp(1, 3600)));
    }
    if options.onward == OnwardLink::Followed {
        pixel["redirect"] = json!(true);
    }
    let mut text = String::from(
        "# Written by tidegate pixelserv from its command line, at each start.\n\
         # Another blocker decides which names come here: no list is needed.\n",
    );
    let mut line = |key: &str, value: serde_json::Value| {
        text.extend([key, ": ", &value.to_string(), "\n"]);
    };
    line("policy", json!({ "lists": [] }));
    line("pixel", pixel);
    line("signer", json!({ "names": "any" }));
    if let Some(user) = &options.user {
        line("user", json!(user));
    }
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use std::path::Path;

    fn options() -> PixelservOptions {
        PixelservOptions {
            addresses: vec!["192.168.1.2".parse().unwrap()],
            http: Vec::new(),
            https: Vec::new(),
            user: None,
            connections: None,
            idle_secs: None,
            onward: OnwardLink::Shown,
        }
    }

    #[test]
    fn what_it_writes_is_a_configuration() {
        let all = PixelservOptions {
            http: vec![80, 8080],
            https: vec![443, 8443],
            user: Some("nobody".into()),
            connections: Some(300),
            idle_secs: Some(120),
            onward: OnwardLink::Followed,
            ..options()
        };
        for (options, listeners) in [(options(), 2), (all, 4)] {
            let text = from_pixelserv(&options);
            let plan = crate::parse(&text, Path::new("pixelserv.yaml")).unwrap();
            let pixel = plan.file.pixel.unwrap();
            assert_eq!(pixel.listen.len(), listeners, "{text}");
            assert!(pixel.any_name && plan.file.dns.is_none() && plan.file.proxy.is_none());
            assert_eq!(pixel.redirect, options.onward == OnwardLink::Followed);
            assert_eq!(plan.file.user, options.user);
            let idle = options.idle_secs.map_or(60, u64::from);
            assert_eq!(pixel.idle_timeout.0.0.as_secs(), idle);
        }
    }

    #[test]
    fn every_address_of_an_interface_is_listened_on_and_ipv6_stands_in_brackets() {
        let addresses = ["fd00::2", "10.0.0.2"].map(|it| it.parse().unwrap()).to_vec();
        let text = from_pixelserv(&PixelservOptions { addresses, ..options() });
        for listener in [
            "\"http://[fd00::2]:80\",\"http://10.0.0.2:80\"",
            "\"https://[fd00::2]:443\",\"https://10.0.0.2:443\"",
        ] {
            assert!(text.contains(listener), "{text}");
        }
    }
}
