//! Sizes as people say them, for what the store tells of what it keeps.
//!
//! They are for reading only: nothing parses them, and settings are written otherwise. Called by
//! [`crate::Store::explain`].

use std::fmt;

/// A size in bytes: `355 bytes`, `1 MiB`, `1.4 MiB`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SizeText(pub(crate) u64);

impl fmt::Display for SizeText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0;
        // Each with where it begins: what would be rounded to 1024.0 of the unit below is one of
        // this.
        let nearly = |factor: u64| factor - factor / 20_480;
        let (kib, mib, gib): (u64, u64, u64) = (1 << 10, 1 << 20, 1 << 30);
        let units = [("GiB", gib, nearly(gib)), ("MiB", mib, nearly(mib)), ("KiB", kib, kib)];
        let unit = units.into_iter().find(|(_, _, from)| bytes >= *from);
        match unit.map(|(unit, factor, _)| (unit, factor)) {
            None => write!(f, "{bytes} bytes"),
            Some((unit, factor)) if bytes.is_multiple_of(factor) => {
                write!(f, "{} {unit}", bytes / factor)
            }
            Some((unit, factor)) => write!(f, "{:.1} {unit}", bytes as f64 / factor as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_said_with_the_largest_unit() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            ((1 << 20) - 1, "1.0 MiB"),
            (1 << 20, "1 MiB"),
            ((1 << 20) + (1 << 19), "1.5 MiB"),
            (3 << 30, "3 GiB"),
        ] {
            assert_eq!(SizeText(bytes).to_string(), text);
        }
    }
}
