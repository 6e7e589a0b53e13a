//! A hardware address of a client, as its neighbour table has it.
//!
//! Six bytes and their usual spellings. It looks nothing up: whoever sees neighbours makes one.

use std::fmt;
use std::str::FromStr;

/// A MAC address (EUI-48): six bytes.
///
/// ```
/// let mac: vocab::MacAddress = "AA-bb-cc-00-11-22".parse().unwrap();
/// assert_eq!(mac.to_string(), "aa:bb:cc:00:11:22");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MacAddress(pub [u8; 6]);

/// A text that is no MAC address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MacError(pub String);

impl MacAddress {
    /// True if it is of the locally administered ones (IEEE 802 §8.4), which no maker has given to
    /// the device: phones make such addresses up, a new one for each network or day.
    pub const fn is_local(self) -> bool {
        self.0[0] & 2 != 0
    }
}

impl FromStr for MacAddress {
    type Err = MacError;
    fn from_str(text: &str) -> Result<Self, MacError> {
        let wrong = || MacError(text.to_owned());
        let mut bytes = [0; 6];
        let mut groups = text.split([':', '-']);
        for byte in &mut bytes {
            let group = groups.next().filter(|group| group.len() == 2).ok_or_else(wrong)?;
            let is_hex = group.bytes().all(|digit| digit.is_ascii_hexdigit());
            *byte = u8::from_str_radix(group, 16).ok().filter(|_| is_hex).ok_or_else(wrong)?;
        }
        groups.next().is_none().then_some(Self(bytes)).ok_or_else(wrong)
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, byte) in self.0.iter().enumerate() {
            write!(f, "{}{byte:02x}", if at == 0 { "" } else { ":" })?;
        }
        Ok(())
    }
}

impl fmt::Display for MacError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no MAC address: write six bytes such as aa:bb:cc:00:11:22", self.0)
    }
}

impl std::error::Error for MacError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_pairs_of_digits_are_an_address() {
        assert_eq!("01:23:45:67:89:ab".parse(), Ok(MacAddress([1, 0x23, 0x45, 0x67, 0x89, 0xab])));
        for wrong in ["", "01:23:45:67:89", "01:23:45:67:89:ab:cd", "+1:23:45:67:89:ab", "fe80::1"]
        {
            assert!(wrong.parse::<MacAddress>().is_err(), "{wrong}");
        }
    }
}
