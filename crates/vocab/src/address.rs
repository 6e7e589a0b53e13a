//! IP addresses and ports as text, appended to what is there.
//!
//! A request that is passed on has its addresses written several times over. The standard library's
//! formatter takes some 1,300 instructions for `127.0.0.1` (callgrind), which was a twelfth of all
//! that a small one cost the gateway.

use std::net::IpAddr;

/// Characters of the longest address: IPv6 that ends as IPv4.
pub const ADDRESS_TEXT_MAX: usize = 45;

/// `address` as it is displayed.
pub fn address_text(address: IpAddr) -> String {
    let mut text = String::with_capacity(ADDRESS_TEXT_MAX);
    push_address(&mut text, address);
    text
}

/// Appends `address` as it is displayed.
pub fn push_address(text: &mut String, address: IpAddr) {
    match address {
        IpAddr::V4(address) => {
            let [first, others @ ..] = address.octets();
            push_decimal(text, first.into());
            for octet in others {
                text.push('.');
                push_decimal(text, octet.into());
            }
        }
        IpAddr::V6(address) => text.push_str(&address.to_string()),
    }
}

/// Appends `number` in decimal digits.
pub fn push_decimal(text: &mut String, number: u16) {
    text.push_str(itoa::Buffer::new().format(number));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_as_they_are_displayed() {
        let longest = "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255";
        assert_eq!(longest.len(), ADDRESS_TEXT_MAX);
        for address in
            ["0.0.0.0", "127.0.0.1", "192.0.2.10", "255.255.255.255", "2001:db8::7", longest]
        {
            let address: IpAddr = address.parse().unwrap();
            let mut text = String::from("for=");
            push_address(&mut text, address);
            assert_eq!(text, format!("for={address}"));
            assert_eq!(address_text(address), address.to_string());
            assert!(address.to_string().len() <= ADDRESS_TEXT_MAX);
        }
    }

    #[test]
    fn every_number_is_written_as_it_is_displayed() {
        for number in 0..=u16::MAX {
            let mut text = String::new();
            push_decimal(&mut text, number);
            assert_eq!(text, number.to_string());
        }
    }
}
