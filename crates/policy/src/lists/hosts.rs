//! Lines of hosts files: an address and the names that have it.
//!
//! Null and loopback addresses block; any other address is a record, which a block list does not
//! make. The machine's own names are left alone. Called by `detect`.

use crate::names::NameForm;
use crate::report::SkipReason;
use std::net::{IpAddr, Ipv4Addr};

/// Names that hosts files give the machine itself; to block them would break it.
const LOCAL_NAMES: &[&str] = &[
    "localhost",
    "localhost.localdomain",
    "localhost4",
    "localhost6",
    "localhost4.localdomain4",
    "localhost6.localdomain6",
    "local",
    "broadcasthost",
    "ip6-localhost",
    "ip6-loopback",
    "ip6-localnet",
    "ip6-mcastprefix",
    "ip6-allnodes",
    "ip6-allrouters",
    "ip6-allhosts",
    "0.0.0.0",
];

/// The form of lines with this address; none if the word is no address.
pub(crate) fn form_of(word: &str) -> Option<Result<NameForm, SkipReason>> {
    // The two addresses of nearly every line, ahead of the parser.
    match word {
        "0.0.0.0" => return Some(Ok(NameForm::HostsNull)),
        "127.0.0.1" => return Some(Ok(NameForm::HostsLoopback)),
        _ => {}
    }
    // An address of IPv6 may name the interface behind `%`.
    let bare = word.split('%').next()?;
    if !bare.bytes().all(|byte| byte.is_ascii_hexdigit() || matches!(byte, b'.' | b':')) {
        return None;
    }
    let address: IpAddr = match bare {
        "0" => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        _ => bare.parse().ok()?,
    };
    Some(match address {
        IpAddr::V4(address) if address.is_unspecified() => Ok(NameForm::HostsNull),
        IpAddr::V4(address) if address.is_loopback() => Ok(NameForm::HostsLoopback),
        IpAddr::V6(address) if address.is_unspecified() => Ok(NameForm::HostsNullV6),
        IpAddr::V6(address) if address.is_loopback() => Ok(NameForm::HostsLoopbackV6),
        IpAddr::V4(_) | IpAddr::V6(_) => Err(SkipReason::Record),
    })
}

/// True if a hosts file means the machine itself by this name.
pub(crate) fn is_local(name: &str) -> bool {
    LOCAL_NAMES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_null_and_loopback_addresses_block() {
        let form = |word| form_of(word);
        assert_eq!(form("0.0.0.0"), Some(Ok(NameForm::HostsNull)));
        assert_eq!(form("0"), Some(Ok(NameForm::HostsNull)));
        assert_eq!(form("127.0.1.1"), Some(Ok(NameForm::HostsLoopback)));
        assert_eq!(form("::"), Some(Ok(NameForm::HostsNullV6)));
        assert_eq!(form("::1"), Some(Ok(NameForm::HostsLoopbackV6)));
        assert_eq!(form("fe80::1%lo0"), Some(Err(SkipReason::Record)));
        assert_eq!(form("192.0.2.7"), Some(Err(SkipReason::Record)));
        assert_eq!(form("ads.example"), None);
        assert_eq!(form("cafe"), None);
    }
}
