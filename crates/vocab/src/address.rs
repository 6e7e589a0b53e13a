//! IP addresses and ports as text, appended to what is there.
//!
//! A request that is passed on has its addresses written several times over. The standard library's
//! formatter takes some 1,300 instructions for `127.0.0.1` (callgrind), which was a twelfth of all that a
//! small one cost the gateway.

use std::net::IpAddr;

/// Characters of the longest address: IPv6 that ends as IPv4.
pub const ADDRESS_TEXT_MAX: usize = 45;
/// Digits of `u16::MAX`.
const DIGITS_MAX: usize = 5;

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
    let mut digits = ['0'; DIGITS_MAX];
    let (mut first, mut rest) = (DIGITS_MAX, u32::from(number));
    while first == DIGITS_MAX || rest > 0 {
        first -= 1;
        digits[first] = char::from_digit(rest % 10, 10).unwrap_or('0');
        rest /= 10;
    }
    text.extend(&digits[first..]);
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
