//! Bounds of lists of networks and of prefixes, which several sections have.

use settings::Text;
use vocab::{Complaint, Network};

/// Networks of one list, at most: a list of all that a country has, several times over.
pub(crate) const NETWORKS_MAX: usize = 100_000;

/// The complaint about a list that is too long.
pub(crate) fn too_many(path: &str, list: &[Text<Network>]) -> Option<Complaint> {
    (list.len() > NETWORKS_MAX).then(|| {
        let message = format!("{} networks are over the {NETWORKS_MAX} allowed", list.len());
        Complaint::new(path, message).remedy("write wider networks instead of many small ones")
    })
}

/// Complaints about prefixes that their families do not have.
pub(crate) fn check_prefixes(ipv4: u8, ipv6: u8) -> Vec<Complaint> {
    [("ipv4_prefix", ipv4, 32), ("ipv6_prefix", ipv6, 128)]
        .into_iter()
        .filter(|(_, bits, most)| bits > most)
        .map(|(path, bits, most)| {
            Complaint::new(path, format!("{bits} bits are more than an address has"))
                .remedy(format!("write 0 to {most}"))
        })
        .collect()
}
