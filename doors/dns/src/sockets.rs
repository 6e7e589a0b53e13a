//! The sockets that the settings want: listeners of one protocol and address share one, whatever
//! their paths and entries.
//!
//! It opens nothing. Called by `door`; connections ask where a path leads.

use crate::listener_spec::ListenerSpec;
use crate::settings::Settings;
use crate::start_error::StartError;
use std::net::SocketAddr;
use vocab::{Complaint, Listen, Scheme};

/// The path of DNS over HTTPS where a listener names none: what RFC 8484 and its clients write.
pub const DOH_PATH_DEFAULT: &str = "/dns-query";

/// Holds what one socket serves: each path's entry; without HTTP there is one, and its path is
/// empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SocketRoutes(Vec<(Box<str>, u16)>);

/// A socket as it is wanted: all openings of one protocol and address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SocketSpec {
    pub(crate) scheme: Scheme,
    pub(crate) address: SocketAddr,
    pub(crate) routes: SocketRoutes,
}

impl SocketRoutes {
    /// Where questions begin on a listener without paths.
    pub(crate) fn entry(&self) -> u16 {
        self.0.first().map_or(0, |(_, entry)| *entry)
    }

    /// The paths, in the order in which they were asked for.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(path, _)| &**path)
    }

    /// The longest path that `path` is, or lies one segment below; and that segment.
    pub(crate) fn find<'p>(&self, path: &'p str) -> Option<(u16, Option<&'p str>)> {
        let below = |(ours, entry): &(Box<str>, u16)| {
            let rest = path.strip_prefix(&**ours)?;
            let segment = match rest.strip_prefix('/') {
                None if rest.is_empty() => None,
                Some(segment) if !segment.is_empty() && !segment.contains('/') => Some(segment),
                Some(_) | None => return None,
            };
            Some((ours.len(), (*entry, segment)))
        };
        self.0.iter().filter_map(below).max_by_key(|(length, _)| *length).map(|(_, found)| found)
    }
}

/// The listeners of the settings: those that a foreign pipeline has itself, each at its entry; else
/// those of `listen`, all at the first.
pub(crate) fn openings(settings: &Settings) -> Vec<ListenerSpec> {
    if let Some(foreign) = settings.foreign.as_ref().filter(|it| it.has_servers()) {
        return foreign.openings.clone();
    }
    settings.listen.iter().map(|it| ListenerSpec { listen: it.0.clone(), entry: 0 }).collect()
}

/// The addresses and protocols at which a door of these settings listens.
pub fn listens(settings: &Settings) -> Vec<Listen> {
    openings(settings).into_iter().map(|it| it.listen).collect()
}

/// The sockets that `openings` come to, in their order.
pub(crate) fn group(openings: &[ListenerSpec]) -> Result<Vec<SocketSpec>, StartError> {
    let mut all: Vec<SocketSpec> = Vec::new();
    for ListenerSpec { listen, entry } in openings {
        let path = match listen.scheme {
            Scheme::Http | Scheme::Https if listen.path.is_empty() => DOH_PATH_DEFAULT,
            Scheme::Http | Scheme::Https => listen.path.trim_end_matches('/'),
            Scheme::Udp
            | Scheme::Tcp
            | Scheme::Tls
            | Scheme::Quic
            | Scheme::Redirect
            | Scheme::Tproxy => "",
        };
        let route = (Box::from(path), *entry);
        let same =
            |it: &&mut SocketSpec| it.scheme == listen.scheme && it.address == listen.address;
        match all.iter_mut().find(same) {
            Some(wanted) if wanted.routes.0.iter().any(|(ours, _)| **ours == *path) => {
                let twice = Complaint::new("listen", format!("{listen} is here twice"));
                return Err(StartError::Settings(vec![twice.remedy("leave one out")]));
            }
            Some(wanted) => wanted.routes.0.push(route),
            None => all.push(SocketSpec {
                scheme: listen.scheme,
                address: listen.address,
                routes: SocketRoutes(vec![route]),
            }),
        }
    }
    Ok(all)
}

impl SocketSpec {
    /// True if it presents a certificate.
    pub(crate) fn is_encrypted(&self) -> bool {
        match self.scheme {
            Scheme::Tls | Scheme::Quic | Scheme::Https => true,
            Scheme::Udp | Scheme::Tcp | Scheme::Http | Scheme::Redirect | Scheme::Tproxy => false,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn openings(entries: &[(&str, u16)]) -> Vec<ListenerSpec> {
        let opening = |&(listen, entry): &(&str, u16)| ListenerSpec {
            listen: listen.parse().unwrap(),
            entry,
        };
        entries.iter().map(opening).collect()
    }

    #[test]
    fn paths_of_one_address_share_its_socket() {
        let wanted = group(&openings(&[
            ("https://127.0.0.1:443/dns-query", 0),
            ("https://127.0.0.1:443/kids", 2),
            ("tls://127.0.0.1:853", 1),
            ("https://127.0.0.2:443", 3),
        ]))
        .unwrap();
        assert_eq!(wanted.len(), 3);
        assert_eq!(wanted[0].routes.find("/kids"), Some((2, None)));
        assert_eq!(wanted[1].routes.entry(), 1);
        assert_eq!(wanted[2].routes.find(DOH_PATH_DEFAULT), Some((3, None)));
    }

    #[test]
    fn a_path_may_go_one_segment_on_and_the_longest_counts() {
        let wanted = group(&openings(&[
            ("https://127.0.0.1:443/dns-query", 0),
            ("https://127.0.0.1:443/dns-query/kids", 1),
        ]))
        .unwrap();
        let find = |path| wanted[0].routes.find(path);
        assert_eq!(find("/dns-query"), Some((0, None)));
        assert_eq!(find("/dns-query/tablet"), Some((0, Some("tablet"))));
        assert_eq!(find("/dns-query/kids"), Some((1, None)));
        assert_eq!(find("/dns-query/kids/tablet"), Some((1, Some("tablet"))));
        for nowhere in ["/", "", "/dns-query/", "/dns-queryx", "/dns-query/a/b", "/DNS-QUERY"] {
            assert_eq!(find(nowhere), None, "{nowhere}");
        }
    }

    #[test]
    fn the_same_place_twice_is_refused() {
        for twice in [
            ["udp://127.0.0.1:53", "udp://127.0.0.1:53"],
            ["https://127.0.0.1:443", "https://127.0.0.1:443/dns-query"],
        ] {
            let refused = group(&openings(&twice.map(|entry| (entry, 0))));
            assert!(matches!(refused, Err(StartError::Settings(_))), "{twice:?}");
        }
    }
}
