//! Calendar steps of a zone: where its hours, days and months begin.
//!
//! A day of summer time has 23 or 25 hours, and some zones stand half an hour beside others: so
//! the step of a moment is looked up, never computed by division. Asked by the statistics.

use crate::ScheduleZone;
use jiff::civil::Date;
use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, ToSpan};

const HOUR_S: i64 = 3_600;

/// Length of a step on the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CalendarStep {
    /// An hour.
    Hour,
    /// From midnight to midnight.
    Day,
    /// From the first of a month to the next.
    Month,
}

impl ScheduleZone {
    /// Reads a compiled file of the IANA database, as `/etc/localtime` is one.
    pub fn from_tzif(bytes: &[u8]) -> Option<Self> {
        TimeZone::tzif("Local", bytes).ok().map(Self::Region)
    }

    /// The start of the step that a moment lies in; both in seconds since 1970.
    pub fn step_start(&self, step: CalendarStep, unix_s: i64) -> i64 {
        match step {
            CalendarStep::Hour => {
                let offset = i64::from(self.offset_s(unix_s));
                (unix_s + offset).div_euclid(HOUR_S) * HOUR_S - offset
            }
            CalendarStep::Day => self.midnight(unix_s, Some),
            CalendarStep::Month => self.midnight(unix_s, |date| Some(date.first_of_month())),
        }
    }

    /// The start of the step after the one that a moment lies in.
    pub fn next_step(&self, step: CalendarStep, unix_s: i64) -> i64 {
        let next = match step {
            CalendarStep::Hour => {
                self.step_start(step, self.step_start(step, unix_s).saturating_add(HOUR_S))
            }
            CalendarStep::Day => self.midnight(unix_s, |date| date.tomorrow().ok()),
            CalendarStep::Month => {
                self.midnight(unix_s, |date| date.first_of_month().checked_add(1.month()).ok())
            }
        };
        // Past the end of the calendar every moment is a step of its own.
        next.max(unix_s.saturating_add(1))
    }

    /// Seconds east of UTC at a moment. Past the year 9999 there is no summer time to be known.
    pub(crate) fn offset_s(&self, unix_s: i64) -> i32 {
        match self {
            Self::Fixed(seconds) => *seconds,
            Self::Region(zone) => {
                Timestamp::from_second(unix_s).map_or(0, |at| zone.to_offset(at).seconds())
            }
        }
    }

    /// The first moment of a day that is told from the moment's own; the moment itself where the
    /// calendar ends.
    fn midnight(&self, unix_s: i64, day: impl Fn(Date) -> Option<Date>) -> i64 {
        let zone = match self {
            Self::Fixed(seconds) => Offset::from_seconds(*seconds).map(TimeZone::fixed).ok(),
            Self::Region(zone) => Some(zone.clone()),
        };
        let start = || {
            let zone = zone?;
            let date = zone.to_datetime(Timestamp::from_second(unix_s).ok()?).date();
            // Where summer time leaves midnight out, the day begins an hour later.
            zone.to_timestamp(day(date)?.at(0, 0, 0, 0)).ok().map(Timestamp::as_second)
        };
        start().unwrap_or(unix_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(name: &str) -> ScheduleZone {
        ScheduleZone::parse(name).unwrap()
    }

    /// 2026-03-29T12:00Z, a day of 23 hours in Zurich.
    const SPRING: i64 = 1_774_785_600;

    #[test]
    fn days_begin_at_the_zones_midnight() {
        let zurich = zone("Europe/Zurich");
        let begun = zurich.step_start(CalendarStep::Day, SPRING);
        assert_eq!(begun, SPRING - 13 * HOUR_S);
        assert_eq!(zurich.next_step(CalendarStep::Day, SPRING) - begun, 23 * HOUR_S);
        assert_eq!(zone("UTC").step_start(CalendarStep::Day, SPRING), SPRING - 12 * HOUR_S);
    }

    #[test]
    fn hours_follow_one_another_whatever_the_zone() {
        for name in ["UTC", "Asia/Kolkata", "Australia/Lord_Howe", "Europe/Zurich", "-03:30"] {
            let zone = zone(name);
            let mut at = zone.step_start(CalendarStep::Hour, SPRING - 90 * 86_400);
            for _ in 0..4_000 {
                let next = zone.next_step(CalendarStep::Hour, at);
                assert!(next > at && next - at <= 2 * HOUR_S, "{name} {at}");
                // The only place whose clocks go back by half an hour tells that one twice.
                if name != "Australia/Lord_Howe" {
                    assert_eq!(zone.step_start(CalendarStep::Hour, next - 1), at, "{name} {at}");
                }
                at = next;
            }
        }
        let kolkata = zone("Asia/Kolkata").step_start(CalendarStep::Hour, SPRING);
        assert_eq!((SPRING - kolkata) / 60, 30, "the clock there shows half past");
    }

    #[test]
    fn months_have_their_own_lengths() {
        let zone = zone("America/New_York");
        let march = zone.step_start(CalendarStep::Month, SPRING);
        let april = zone.next_step(CalendarStep::Month, march);
        assert_eq!((april - march) / HOUR_S, 31 * 24 - 1);
        assert_eq!(zone.step_start(CalendarStep::Month, april), april);
    }

    #[test]
    fn moments_past_the_calendar_are_steps_of_their_own() {
        for step in [CalendarStep::Hour, CalendarStep::Day, CalendarStep::Month] {
            for at in [i64::MAX / 4, -400_000_000_000] {
                assert!(zone("Europe/Zurich").next_step(step, at) > at);
                assert!(zone("Europe/Zurich").step_start(step, at) <= at);
            }
        }
    }
}
