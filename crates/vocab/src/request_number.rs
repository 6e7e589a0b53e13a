//! The number of a request, as block pages show it and people read it out.
//!
//! The moment of the request in milliseconds since 1970 is written as twelve hexadecimal digits in
//! groups of four, so the number costs no memory to hand out and leads to the row in the ledger.

use crate::Now;
use std::fmt;
use std::str::FromStr;

/// Number of a request: `01A2-076A-9DE3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestNumber {
    /// The request's time in the ledger, in milliseconds since 1970; below 2^48.
    unix_ms: u64,
}

/// Text that is no number of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRequestNumber;

/// Digits of a number.
const DIGITS: usize = 12;
/// Digits of one group.
const GROUP: usize = 4;
const NUMBER_MAX: u64 = (1 << (DIGITS * 4)) - 1;

impl RequestNumber {
    /// The number of a request that was made at this moment.
    pub const fn at(unix_ms: u64) -> Self {
        // Twelve digits last until the year 10889.
        Self { unix_ms: unix_ms & NUMBER_MAX }
    }

    /// When the request was made, in milliseconds since 1970.
    pub const fn unix_ms(self) -> u64 {
        self.unix_ms
    }
}

impl From<Now> for RequestNumber {
    fn from(now: Now) -> Self {
        Self::at(now.unix_ms)
    }
}

impl fmt::Display for RequestNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let group = |at: u32| (self.unix_ms >> (at * 16)) & 0xFFFF;
        write!(f, "{:04X}-{:04X}-{:04X}", group(2), group(1), group(0))
    }
}

impl FromStr for RequestNumber {
    type Err = NoRequestNumber;

    /// Reads a number in either case, with both hyphens or with none.
    fn from_str(text: &str) -> Result<Self, NoRequestNumber> {
        let mut groups = text.split('-');
        let digits = match (groups.next(), groups.next(), groups.next(), groups.next()) {
            (Some(all), None, None, None) if all.len() == DIGITS => all.to_owned(),
            (Some(a), Some(b), Some(c), None) if [a, b, c].iter().all(|it| it.len() == GROUP) => {
                [a, b, c].concat()
            }
            _ => return Err(NoRequestNumber),
        };
        // `from_str_radix` takes a sign as well.
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(NoRequestNumber);
        }
        let unix_ms = u64::from_str_radix(&digits, 16).map_err(|_| NoRequestNumber)?;
        Ok(Self { unix_ms })
    }
}

impl fmt::Display for NoRequestNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a request's number has twelve digits, as in 01A2-076A-9DE3")
    }
}

impl std::error::Error for NoRequestNumber {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_comes_back_however_it_is_written() {
        let number = RequestNumber::at(0x01A2_076A_9DE3);
        assert_eq!(number.to_string(), "01A2-076A-9DE3");
        for text in ["01A2-076A-9DE3", "01a2-076a-9de3", "01A2076A9DE3", "01a2076a9de3"] {
            assert_eq!(text.parse(), Ok(number), "{text}");
        }
    }

    #[test]
    fn nothing_else_is_a_number() {
        for text in [
            "",
            "-",
            "01A2-076A",
            "01A2-076A-9DE",
            "01A20-76A-9DE3",
            "01A2-076A-9DE3-",
            "01A2076A9DEG",
            "+1A2076A9DE3",
            "éA2076A9DE3",
        ] {
            assert_eq!(text.parse::<RequestNumber>(), Err(NoRequestNumber), "{text}");
        }
        assert_eq!(RequestNumber::at(u64::MAX).to_string(), "FFFF-FFFF-FFFF");
    }
}
