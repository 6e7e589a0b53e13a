//! Ports as people write them: `443`, or `1024-65535`.

use std::fmt;
use std::str::FromStr;

/// A range of TCP or UDP ports, both ends included; never port 0.
///
/// ```
/// let free: vocab::PortRange = "1024-65535".parse().unwrap();
/// assert!(free.contains(8080) && !free.contains(443));
/// assert_eq!(vocab::PortRange::one(443).unwrap().to_string(), "443");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PortRange {
    first: u16,
    last: u16,
}

/// Reason why a text is no range of ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortRangeError {
    /// No number up to 65535.
    NotANumber,
    /// Port 0.
    Zero,
    /// The last comes before the first.
    Backwards,
}

impl PortRange {
    /// The range of one port; none for port 0.
    pub const fn one(port: u16) -> Option<Self> {
        if port == 0 { None } else { Some(Self { first: port, last: port }) }
    }

    /// True for a port in it.
    pub const fn contains(self, port: u16) -> bool {
        self.first <= port && port <= self.last
    }
}

impl FromStr for PortRange {
    type Err = PortRangeError;

    fn from_str(text: &str) -> Result<Self, PortRangeError> {
        let port = |text: &str| text.trim().parse::<u16>().map_err(|_| PortRangeError::NotANumber);
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let (first, last) = (port(first)?, port(last)?);
        if first == 0 {
            return Err(PortRangeError::Zero);
        }
        if last < first {
            return Err(PortRangeError::Backwards);
        }
        Ok(Self { first, last })
    }
}

impl fmt::Display for PortRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            return write!(f, "{}", self.first);
        }
        write!(f, "{}-{}", self.first, self.last)
    }
}

impl fmt::Display for PortRangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotANumber => "ports are numbers up to 65535",
            Self::Zero => "there is no port 0",
            Self::Backwards => "the last port comes before the first",
        })
    }
}

impl std::error::Error for PortRangeError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_and_written() {
        for text in ["1", "443", "1-65535", "8000-8000"] {
            let range: PortRange = text.parse().unwrap();
            assert_eq!(range.to_string(), text.trim_end_matches("-8000"), "{text}");
        }
        for (text, why) in [
            ("", PortRangeError::NotANumber),
            ("65536", PortRangeError::NotANumber),
            ("80-", PortRangeError::NotANumber),
            ("0-10", PortRangeError::Zero),
            ("10-9", PortRangeError::Backwards),
        ] {
            assert_eq!(text.parse::<PortRange>(), Err(why), "{text:?}");
        }
    }
}
