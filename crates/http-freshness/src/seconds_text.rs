//! Spans of time as people say them, for what is said of a stored response.
//!
//! They are for reading only: nothing parses them, and settings are written otherwise. Called by
//! the rules where they are put in words, and by the store.

use std::fmt;

/// A span in seconds: `90 s`, `1 h 5 min`, `7 days`. The two largest units are said, and the rest
/// is cut off.
#[derive(Clone, Copy, Debug)]
pub struct SecondsText(pub u64);

/// A number of one unit, as a part of a span.
struct UnitCount(u64, &'static str);

/// Below this, plain seconds read best: `90 s`, not `1 min 30 s`.
const PLAIN_SECS: u64 = 120;

impl fmt::Display for SecondsText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let secs = self.0;
        let (minutes, hours, days) = (secs / 60, secs / 3600, secs / 86_400);
        if secs < PLAIN_SECS {
            write!(f, "{secs} s")
        } else if hours == 0 {
            write_units(f, &UnitCount(minutes, "min"), &UnitCount(secs % 60, "s"))
        } else if days == 0 {
            write_units(f, &UnitCount(hours, "h"), &UnitCount(minutes % 60, "min"))
        } else {
            let unit = if days == 1 { "day" } else { "days" };
            write_units(f, &UnitCount(days, unit), &UnitCount(hours % 24, "h"))
        }
    }
}

/// Writes the larger unit, and the smaller one where there is any of it.
fn write_units(f: &mut fmt::Formatter<'_>, large: &UnitCount, small: &UnitCount) -> fmt::Result {
    write!(f, "{} {}", large.0, large.1)?;
    if small.0 > 0 { write!(f, " {} {}", small.0, small.1) } else { Ok(()) }
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
}
