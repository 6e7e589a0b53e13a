//! What can be set for the web door: one entry a site in the `web` list of the configuration.
//!
//! It opens no folder; `config` reads it, [`SiteSettings::check`] says what is wrong with one site
//! and [`check`] what is wrong between several.

use crate::secure::{self, TlsSettings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::collections::{BTreeMap, HashSet};
use std::net::SocketAddr;
use vocab::{Complaint, DomainName, Listen, Network, Scheme};

/// Sites: more are better told apart by a path below one root.
const SITES_MAX: usize = 1024;

/// One site: a folder, and where it is served.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SiteSettings {
    /// Where to answer: `http://ADDRESS:PORT` or `https://ADDRESS:PORT`. Sites may share a listener: the host that is asked
    /// for tells them apart. Default `http://127.0.0.1:8000`.
    pub listen: Vec<Text<Listen>>,
    /// The host names of this site. A host that no site of the listener names gets the first site.
    /// Default none.
    pub hosts: Vec<Text<DomainName>>,
    /// The folder to serve; a relative path starts from the configuration's folder. Names that
    /// begin with a dot are not served, but for `.well-known`. No default.
    pub root: String,
    /// HTTPS: certificates, and which clients are let in.
    pub tls: TlsSettings,
    /// The networks of proxies in front that say who the client is by the PROXY protocol, version
    /// 1 or 2. Where there are some, every connection must come from them and begin so; any other
    /// is closed. Sites of one listener write the same. Default none: nobody is believed.
    pub proxy_protocol: Vec<Text<Network>>,
    /// Compression. Not built yet: must be absent or false.
    pub compress: bool,
    /// `FastCGI` servers by pattern of path. Not built yet: must be absent.
    pub fastcgi: BTreeMap<String, String>,
}

impl Default for SiteSettings {
    fn default() -> Self {
        let address = SocketAddr::from(([127, 0, 0, 1], 8000));
        Self {
            listen: vec![Text(Listen { scheme: Scheme::Http, address, path: String::new() })],
            hosts: Vec::new(),
            root: String::new(),
            tls: TlsSettings::default(),
            proxy_protocol: Vec::new(),
            compress: false,
            fastcgi: BTreeMap::new(),
        }
    }
}

impl SiteSettings {
    /// Every complaint about this site alone, with paths relative to its entry.
    pub fn check(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        if self.listen.is_empty() {
            complaints.push(
                Complaint::new("listen", "the site has nowhere to listen")
                    .remedy("write listen: [\"http://127.0.0.1:8000\"]"),
            );
        }
        for (index, listen) in self.listen.iter().enumerate() {
            complaints.extend(check_listen(&format!("listen.{index}"), listen));
        }
        if self.root.is_empty() {
            complaints.push(
                Complaint::new("root", "the site has no folder to serve")
                    .remedy("write root: /srv/www"),
            );
        } else if self.root.contains('\0') {
            complaints.push(Complaint::new("root", "a path cannot hold a NUL"));
        }
        complaints.extend(secure::check(self));
        if self.compress {
            complaints.push(
                Complaint::new("compress", "compress is not built yet")
                    .remedy("leave it out, or write compress: false"),
            );
        }
        if !self.fastcgi.is_empty() {
            complaints.push(
                Complaint::new("fastcgi", "fastcgi is not built yet: only files are served")
                    .remedy("leave it out"),
            );
        }
        complaints
    }
}

fn check_listen(path: &str, listen: &Listen) -> Option<Complaint> {
    match listen.scheme {
        Scheme::Http | Scheme::Https if listen.path.is_empty() => None,
        Scheme::Http | Scheme::Https => Some(
            Complaint::new(path, "a site is served from its root, so no path can be given here")
                .remedy(format!("write {}://{}", listen.scheme.as_str(), listen.address)),
        ),
        Scheme::Udp | Scheme::Tcp | Scheme::Tls | Scheme::Quic => Some(
            Complaint::new(path, format!("the web door does not speak {}", listen.scheme.as_str()))
                .remedy(format!("write http://{}", listen.address)),
        ),
    }
}

/// Every complaint about the whole `web` list, with paths relative to it: those about each site,
/// and host names that two sites of one listener claim.
pub fn check(sites: &[SiteSettings]) -> Vec<Complaint> {
    let mut complaints: Vec<Complaint> = Vec::new();
    if sites.len() > SITES_MAX {
        let message = format!("{} sites are too many: at most {SITES_MAX}", sites.len());
        complaints.push(Complaint::new("", message));
    }
    for (index, site) in sites.iter().enumerate() {
        complaints.extend(site.check().into_iter().map(|it| it.under(&index.to_string())));
    }
    complaints.extend(claimed_twice(sites));
    complaints.extend(secure::check_together(sites));
    complaints
}

/// Host names that more than one site of the same listener claims.
pub(crate) fn claimed_twice(sites: &[SiteSettings]) -> Vec<Complaint> {
    let mut claimed = HashSet::new();
    let mut complaints = Vec::new();
    for (index, site) in sites.iter().enumerate() {
        for (position, host) in site.hosts.iter().enumerate() {
            let twice = site.listen.iter().any(|listen| {
                // Two listeners on ports that the system picks are never the same one.
                listen.address.port() != 0 && !claimed.insert((listen.address, host.as_str()))
            });
            if twice {
                complaints.push(
                    Complaint::new(
                        format!("{index}.hosts.{position}"),
                        format!("{host} is already a host of another site on this listener"),
                    )
                    .remedy("give each host to one site"),
                );
            }
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(listen: &str, hosts: &[&str]) -> SiteSettings {
        SiteSettings {
            listen: vec![Text(listen.parse().unwrap())],
            hosts: hosts.iter().map(|it| Text(it.parse().unwrap())).collect(),
            root: "/srv".into(),
            ..SiteSettings::default()
        }
    }

    fn paths(complaints: &[Complaint]) -> Vec<&str> {
        complaints.iter().map(|complaint| complaint.path.as_str()).collect()
    }

    #[test]
    fn what_is_not_built_yet_is_refused_by_name() {
        let wrong = SiteSettings {
            compress: true,
            fastcgi: BTreeMap::from([("*.php".into(), "unix:///run/php.sock".into())]),
            ..site("http://127.0.0.1:8000", &[])
        };
        let complaints = wrong.check();
        assert_eq!(paths(&complaints), ["compress", "fastcgi"]);
        assert!(complaints.iter().all(|it| it.message.contains("not built yet")));
    }

    #[test]
    fn a_site_needs_a_folder_and_a_listener() {
        let nothing = SiteSettings { listen: Vec::new(), ..SiteSettings::default() };
        assert_eq!(paths(&nothing.check()), ["listen", "root"]);
        assert_eq!(paths(&site("udp://127.0.0.1:53", &[]).check()), ["listen.0"]);
        assert_eq!(paths(&site("http://127.0.0.1:80/x", &[]).check()), ["listen.0"]);
        assert_eq!(site("http://127.0.0.1:80", &["a.example"]).check(), []);
    }

    #[test]
    fn a_host_belongs_to_one_site_of_a_listener() {
        let (here, there) = ("http://127.0.0.1:80", "http://127.0.0.1:81");
        let sites = [site(here, &["a.example"]), site(there, &["a.example"])];
        assert_eq!(check(&sites), []);
        let sites = [site(here, &["a.example"]), site(here, &["b.example", "a.example"])];
        assert_eq!(paths(&check(&sites)), ["1.hosts.1"]);
    }
}
