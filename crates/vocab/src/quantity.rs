//! Sizes and spans of time as people write them: `64MiB`, `24h`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A number of bytes. Written with a unit: `512`, `64KiB`, `64MiB`, `20GiB`; `kB`, `MB` and `GB`
/// are powers of ten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteSize(pub u64);

/// A span of time. Written with a unit: `150ms`, `5s`, `10m`, `24h`, `30d`, or several: `1h30m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimeSpan(pub Duration);

/// Why a text is no size or span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuantityError {
    /// No number at the start.
    NoNumber,
    /// A number without a unit, where one is needed.
    NoUnit,
    /// A unit that is not known.
    Unit(String),
    /// More than fits.
    TooLarge,
}

const SIZES: &[(&str, u64)] = &[
    ("", 1),
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
];

const SPANS_MS: &[(&str, u64)] =
    &[("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

impl ByteSize {
    /// The number of bytes.
    pub const fn bytes(self) -> u64 {
        self.0
    }
}

fn split(text: &str) -> Result<(u64, &str), QuantityError> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if digits == 0 {
        return Err(QuantityError::NoNumber);
    }
    let number = text[..digits].parse().map_err(|_| QuantityError::TooLarge)?;
    Ok((number, &text[digits..]))
}

impl FromStr for ByteSize {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let (number, unit) = split(text.trim())?;
        let unit = unit.trim_start();
        let factor = SIZES
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(unit))
            .ok_or_else(|| QuantityError::Unit(unit.into()))?
            .1;
        number.checked_mul(factor).map(Self).ok_or(QuantityError::TooLarge)
    }
}

impl FromStr for TimeSpan {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let mut rest = text.trim();
        let mut total: u64 = 0;
        if rest == "0" {
            return Ok(Self(Duration::ZERO));
        }
        loop {
            let (number, tail) = split(rest)?;
            let end = tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len());
            let unit = tail[..end].trim();
            if unit.is_empty() {
                return Err(QuantityError::NoUnit);
            }
            let factor = SPANS_MS
                .iter()
                .find(|(name, _)| *name == unit)
                .ok_or_else(|| QuantityError::Unit(unit.into()))?
                .1;
            total = number
                .checked_mul(factor)
                .and_then(|part| total.checked_add(part))
                .ok_or(QuantityError::TooLarge)?;
            rest = &tail[end..];
            if rest.is_empty() {
                return Ok(Self(Duration::from_millis(total)));
            }
        }
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, factor) in
            [("TiB", 1u64 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)]
        {
            if self.0 >= factor && self.0.is_multiple_of(factor) {
                return write!(f, "{}{name}", self.0 / factor);
            }
        }
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for TimeSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0.as_millis() as u64;
        for (name, factor) in SPANS_MS.iter().rev() {
            if ms >= *factor && ms.is_multiple_of(*factor) {
                return write!(f, "{}{name}", ms / factor);
            }
        }
        f.write_str("0")
    }
}

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoNumber => f.write_str("a number should stand first, as in 64MiB or 24h"),
            Self::NoUnit => f.write_str("a unit is missing: ms, s, m, h or d"),
            Self::Unit(unit) => write!(f, "{unit:?} is no unit known here"),
            Self::TooLarge => f.write_str("the number is too large"),
        }
    }
}

impl std::error::Error for QuantityError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_and_print() {
        assert_eq!("64MiB".parse(), Ok(ByteSize(64 << 20)));
        assert_eq!("1 kB".parse(), Ok(ByteSize(1000)));
        assert_eq!("512".parse(), Ok(ByteSize(512)));
        assert_eq!(ByteSize(64 << 20).to_string(), "64MiB");
        assert_eq!("5 apples".parse::<ByteSize>(), Err(QuantityError::Unit("apples".into())));
        assert_eq!("99999999999TiB".parse::<ByteSize>(), Err(QuantityError::TooLarge));
    }

    #[test]
    fn spans_read_and_print() {
        assert_eq!("1h30m".parse(), Ok(TimeSpan(Duration::from_mins(90))));
        assert_eq!("150ms".parse(), Ok(TimeSpan(Duration::from_millis(150))));
        assert_eq!("0".parse(), Ok(TimeSpan(Duration::ZERO)));
        assert_eq!("5".parse::<TimeSpan>(), Err(QuantityError::NoUnit));
        assert_eq!("h".parse::<TimeSpan>(), Err(QuantityError::NoNumber));
        assert_eq!(TimeSpan(Duration::from_hours(24)).to_string(), "1d");
    }
}
