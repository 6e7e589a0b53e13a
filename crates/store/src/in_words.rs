//! Spans of time and sizes as people say them, for what the store tells of what it keeps.
//!
//! They are for reading only: nothing parses them, and settings are written otherwise. Called by
//! [`crate::Store::explain`] and by the freshness rules where they are put in words.

use std::fmt;

/// A span in seconds: `90 s`, `1 h 5 min`, `7 days`. The two largest units are said, and the rest
/// is cut off.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SecondsText(pub(crate) u64);

/// A size in bytes: `355 bytes`, `1 MiB`, `1.4 MiB`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SizeText(pub(crate) u64);

/// Below this, plain seconds read best: `90 s`, not `1 min 30 s`.
const PLAIN_SECS: u64 = 120;

impl fmt::Display for SecondsText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let secs = self.0;
        let (minutes, hours, days) = (secs / 60, secs / 3600, secs / 86_400);
        if secs < PLAIN_SECS {
            write!(f, "{secs} s")
        } else if hours == 0 {
            two(f, (minutes, "min"), (secs % 60, "s"))
        } else if days == 0 {
            two(f, (hours, "h"), (minutes % 60, "min"))
        } else {
            two(f, (days, if days == 1 { "day" } else { "days" }), (hours % 24, "h"))
        }
    }
}

fn two(
    f: &mut fmt::Formatter<'_>,
    (large, large_unit): (u64, &str),
    (small, small_unit): (u64, &str),
) -> fmt::Result {
    write!(f, "{large} {large_unit}")?;
    if small > 0 { write!(f, " {small} {small_unit}") } else { Ok(()) }
}

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
    fn spans_are_said_in_two_units() {
        for (secs, text) in [
            (0, "0 s"),
            (119, "119 s"),
            (120, "2 min"),
            (3599, "59 min 59 s"),
            (3600, "1 h"),
            (3901, "1 h 5 min"),
            (86_400, "1 day"),
            (86_400 + 3600, "1 day 1 h"),
            (604_800, "7 days"),
        ] {
            assert_eq!(SecondsText(secs).to_string(), text);
        }
    }

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
