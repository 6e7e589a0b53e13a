//! Order of profiles: the first that matches a client holds, so that one made by hand may hold for
//! nobody.
//!
//! Called where a profile is made in the dashboard.

use config::{MadeChange, MadeItems, MadeSettings, Plan};
use vocab::{MacAddress, Network};

/// The complaint about a profile that would not hold for a client that it names, because an earlier
/// one has it already.
pub(super) fn hidden(plan: &Plan, made: &MadeSettings, changes: &[MadeChange]) -> Option<String> {
    let put = changes.iter().find_map(|change| match change {
        MadeChange::Add(MadeItems::Clients, item)
        | MadeChange::Replace(MadeItems::Clients, _, item) => item["name"].as_str(),
        MadeChange::Add(MadeItems::Lists | MadeItems::Groups, _)
        | MadeChange::Replace(MadeItems::Lists | MadeItems::Groups, ..)
        | MadeChange::Remove(..)
        | MadeChange::SwitchOff(_)
        | MadeChange::SwitchOn(_) => None,
    })?;
    let clients = &plan.file.policy.clients;
    let place = clients.iter().position(|client| client.name == put)?;
    let (before, own) = (&clients[..place], &clients[place]);
    own.matches.iter().find_map(|text| {
        let earlier = before.iter().find(|it| it.matches.iter().any(|it| covers(it, text)))?;
        let by_hand = made.names(MadeItems::Clients).contains(&earlier.name);
        let place = if by_hand { "the dashboard" } else { "the configuration's file" };
        let name = &earlier.name;
        Some(format!(
            "{text} belongs to the profile {name:?} of {place} already, which comes first; take it \
             out there"
        ))
    })
}

/// True if whoever `text` matches is matched by an earlier `text` as well.
fn covers(earlier: &str, text: &str) -> bool {
    if earlier.eq_ignore_ascii_case(text) {
        return true;
    }
    match (earlier.parse::<MacAddress>(), text.parse::<MacAddress>()) {
        (Ok(earlier), Ok(mac)) => earlier == mac,
        _ => match (earlier.parse::<Network>(), text.parse::<Network>()) {
            (Ok(earlier), Ok(network)) => {
                earlier.prefix() <= network.prefix() && earlier.contains(network.address())
            }
            _ => false,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_earlier_match_covers_the_same_clients_and_those_within() {
        for (earlier, text) in [
            ("192.168.1.0/24", "192.168.1.7"),
            ("192.168.0.0/16", "192.168.1.0/24"),
            ("aa:bb:cc:00:11:22", "AA-BB-CC-00-11-22"),
            ("id:phone", "id:Phone"),
            ("fd00::/8", "fd00::7"),
        ] {
            assert!(covers(earlier, text), "{earlier} {text}");
        }
        for (earlier, text) in [
            ("192.168.1.7", "192.168.1.0/24"),
            ("192.168.1.7", "192.168.1.8"),
            ("aa:bb:cc:00:11:22", "aa:bb:cc:00:11:23"),
            ("id:phone", "user:phone"),
            ("0.0.0.0/0", "fd00::7"),
        ] {
            assert!(!covers(earlier, text), "{earlier} {text}");
        }
    }
}
