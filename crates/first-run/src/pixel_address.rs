//! The address that blocked names get: which one is proposed, where the pixel door listens for it,
//! and whether browsers gate it.
//!
//! Browsers have a page of the internet ask its reader before it may load anything from a local
//! address (Local Network Access), so one for documentation that this machine has is best. It asks
//! the kernel whether an address is ours, and nothing else.

use admin_api::PixelAddress;
use std::net::IpAddr;
use transport::is_own_address;

/// The address for devices that reach this machine at `address`: the one that was asked for, one
/// for documentation that this machine has, the one in force, or `address` itself.
pub(crate) fn proposed(
    asked: Option<IpAddr>,
    own: &[IpAddr],
    in_force: Option<IpAddr>,
    address: Option<IpAddr>,
) -> Option<IpAddr> {
    let documentation = own.iter().copied().find(|it| is_documentation(*it));
    let in_force = in_force.filter(|it| !it.is_loopback());
    let address = address.filter(|it| !it.is_unspecified());
    let first = || own.iter().copied().find(|it| !it.is_loopback());
    asked.or(documentation).or(in_force).or(address).or_else(first)
}

/// Address for which the pixel door listens: the address that names get if it is this machine's;
/// else devices come by a router that leads them to `address`.
pub fn pixel_place(pixel: IpAddr, address: IpAddr) -> IpAddr {
    if is_own_address(pixel) { pixel } else { address }
}

/// The address as it is told, with what to do about it.
pub(crate) fn told(address: Option<IpAddr>) -> PixelAddress {
    let gated = address.is_some_and(door_pixel::is_gated);
    PixelAddress {
        address: address.map(|it| it.to_string()),
        gated,
        remedy: gated.then(|| door_pixel::GATED_REMEDY.to_owned()),
    }
}

/// Address by which a device reaches a listener: of one at all addresses, another one.
pub fn shown_at(listening: IpAddr, given: &[IpAddr]) -> Option<IpAddr> {
    if !listening.is_unspecified() {
        return Some(listening);
    }
    let is_right = |it: &&IpAddr| it.is_ipv4() == listening.is_ipv4() && is_own_address(**it);
    let given = given.iter().find(is_right).copied();
    given.or_else(|| {
        let own = transport::own_addresses(&[(listening, 0).into()]);
        own.into_iter().next()
    })
}

/// The networks of RFC 5737, which browsers take for public and nobody uses.
fn is_documentation(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_documentation(),
        IpAddr::V6(_) => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn an_address_that_browsers_do_not_gate_is_proposed_where_there_is_one() {
        let own = [ip("127.0.0.1"), ip("192.168.1.2"), ip("192.0.2.1")];
        let chosen = Some(ip("192.168.1.2"));
        assert_eq!(proposed(None, &own, None, chosen), Some(ip("192.0.2.1")));
        assert_eq!(proposed(Some(ip("10.0.0.9")), &own, None, chosen), Some(ip("10.0.0.9")));
        assert_eq!(
            proposed(None, &own[..2], Some(ip("203.0.113.5")), chosen),
            Some(ip("203.0.113.5"))
        );
        assert_eq!(proposed(None, &own[..2], Some(ip("127.0.0.1")), chosen), chosen);
        assert_eq!(proposed(None, &own[..2], None, Some(ip("0.0.0.0"))), chosen);
        let gated = told(chosen);
        assert!(gated.gated && gated.remedy.unwrap().contains("192.0.2.1/32 dev lo"));
        assert_eq!(told(Some(ip("192.0.2.1"))).remedy, None);
    }

    #[test]
    fn the_door_listens_where_devices_come_to() {
        assert_eq!(pixel_place(ip("127.0.0.9"), ip("127.0.0.1")), ip("127.0.0.9"));
        assert_eq!(pixel_place(ip("192.0.2.99"), ip("127.0.0.1")), ip("127.0.0.1"));
        assert_eq!(shown_at(ip("127.0.0.5"), &[]), Some(ip("127.0.0.5")));
        assert_eq!(
            shown_at(ip("0.0.0.0"), &[ip("192.0.2.99"), ip("127.0.0.7")]),
            Some(ip("127.0.0.7"))
        );
    }
}
