//! Caps on the web door's connections: said by sites, for the door as a whole.
//!
//! A connection is counted when it is taken in, before its first byte, so no site can have a cap of
//! its own. Called by `check`, and by `door` for what counts.

use super::SiteSettings;
use http_front::ConnectionCaps;
use transport::CONNECTIONS_MAX_DEFAULT;
use vocab::Complaint;

/// Connections at once from one client by default. Thousands of people may stand behind one address
/// (RFC 6888), and they come to a web server more often than to any other door.
const PER_CLIENT_MAX_DEFAULT: usize = 2048;
/// Connections that can be asked for at most: each costs a descriptor and, under TLS, some 30 KiB.
const CONNECTIONS_MAX: u32 = 1_000_000;

/// A setting's name, and where it stands in a site.
type Setting = (&'static str, fn(&SiteSettings) -> Option<u32>);

const SETTINGS: [Setting; 2] = [
    ("connections", |site| site.connections),
    ("connections_per_client", |site| site.connections_per_client),
];

/// The caps of the door.
pub(crate) fn caps(sites: &[SiteSettings]) -> ConnectionCaps {
    let [all, each] = SETTINGS.map(|(_, said)| sites.iter().find_map(said).map(|it| it as usize));
    ConnectionCaps {
        total: all.unwrap_or(CONNECTIONS_MAX_DEFAULT),
        per_client: each.unwrap_or(PER_CLIENT_MAX_DEFAULT),
    }
}

/// Every complaint about the caps that one site says, with paths relative to its entry.
pub(super) fn check(site: &SiteSettings) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for (name, said) in SETTINGS {
        if let Some(count) = said(site).filter(|count| !(1..=CONNECTIONS_MAX).contains(count)) {
            complaints.push(
                Complaint::new(name, format!("{count} is out of bounds"))
                    .remedy(format!("write a number from 1 to {CONNECTIONS_MAX}")),
            );
        }
    }
    complaints
}

/// Every complaint about sites that say different caps, with paths relative to the `web` list.
pub(super) fn check_together(sites: &[SiteSettings]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for (name, said) in SETTINGS {
        let Some(first) = sites.iter().find_map(said) else { continue };
        for (number, site) in sites.iter().enumerate() {
            if said(site).is_some_and(|count| count != first) {
                let message = format!("another site says {first}, and the door has one count");
                complaints.push(
                    Complaint::new(format!("{number}.{name}"), message)
                        .remedy("write it at one site, or the same at all"),
                );
            }
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(connections: Option<u32>, connections_per_client: Option<u32>) -> SiteSettings {
        SiteSettings { connections, connections_per_client, ..SiteSettings::default() }
    }

    fn paths(complaints: &[Complaint]) -> Vec<&str> {
        complaints.iter().map(|complaint| complaint.path.as_str()).collect()
    }

    #[test]
    fn what_one_site_says_counts_for_the_door() {
        let said = |total, per_client| ConnectionCaps { total, per_client };
        assert_eq!(caps(&[site(None, None)]), said(10_000, 2048));
        assert_eq!(caps(&[site(None, None), site(Some(7), None)]), said(7, 2048));
        assert_eq!(caps(&[site(None, Some(3)), site(Some(7), Some(3))]), said(7, 3));
    }

    #[test]
    fn caps_are_numbers_that_sites_agree_on() {
        assert_eq!(check(&site(Some(1), Some(CONNECTIONS_MAX))), []);
        let wrong = check(&site(Some(0), Some(CONNECTIONS_MAX + 1)));
        assert_eq!(paths(&wrong), ["connections", "connections_per_client"]);
        let silent = site(None, None);
        assert_eq!(check_together(&[site(Some(7), None), silent, site(Some(7), None)]), []);
        let sites = [site(Some(7), Some(1)), site(None, Some(2)), site(Some(8), Some(1))];
        let wrong = check_together(&sites);
        assert_eq!(paths(&wrong), ["2.connections", "1.connections_per_client"]);
    }
}
