//! Dates as logs write them, in UTC.
//!
//! Pure: the time is handed in.

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// A time since 1970 as a clock and a calendar show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockTime {
    year: u64,
    /// From 0.
    month: usize,
    day: u64,
    of_day: u64,
    ms: u64,
}

impl ClockTime {
    /// The time so many milliseconds after 1970 began.
    pub fn of_ms(unix_ms: u64) -> Self {
        let secs = unix_ms / 1000;
        let (year, month, day) = civil_from_days(secs / 86_400);
        Self { year, month, day, of_day: secs % 86_400, ms: unix_ms % 1000 }
    }

    /// As Apache writes it: `21/Nov/2026:17:29:07 +0000`.
    pub fn common(&self) -> String {
        let Self { year, month, day, of_day, .. } = *self;
        let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
        format!("{day:02}/{}/{year}:{hour:02}:{minute:02}:{second:02} +0000", MONTHS[month])
    }

    /// As RFC 3339 writes it, with milliseconds: `2026-11-21T17:29:07.005Z`.
    pub fn rfc3339_ms(&self) -> String {
        format!("{}.{:03}Z", self.to_second(), self.ms)
    }

    /// As nginx's `$time_iso8601`: `2026-11-21T17:29:07+00:00`.
    pub fn iso8601(&self) -> String {
        format!("{}+00:00", self.to_second())
    }

    fn to_second(self) -> String {
        let Self { year, month, day, of_day, .. } = self;
        let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
        format!("{year:04}-{:02}-{day:02}T{hour:02}:{minute:02}:{second:02}", month + 1)
    }
}

/// The date of a second, kept: a busy core writes thousands of lines in one.
#[derive(Debug, Default)]
pub struct DateKept {
    secs: u64,
    text: String,
}

impl DateKept {
    /// A date of empty text, for places that need one at compile time.
    pub const EMPTY: Self = Self { secs: 0, text: String::new() };

    /// As Apache writes it, in UTC: `21/Nov/2026:17:29:07 +0000`.
    pub fn common(&mut self, secs: u64) -> &str {
        if self.secs != secs || self.text.is_empty() {
            self.text = ClockTime::of_ms(secs.saturating_mul(1000)).common();
            self.secs = secs;
        }
        &self.text
    }
}

/// Year, month from 0 and day from 1 of a day since 1970. The year is taken to begin in March, so
/// that the leap day is its last.
fn civil_from_days(days: u64) -> (u64, usize, u64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let march_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march_month + 2) / 5 + 1;
    let month = (march_month as usize + 2) % 12;
    (era * 400 + year + u64::from(month < 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_right_over_leap_years_and_centuries() {
        let date = |secs| DateKept::default().common(secs).to_owned();
        assert_eq!(date(0), "01/Jan/1970:00:00:00 +0000");
        assert_eq!(date(951_782_399), "28/Feb/2000:23:59:59 +0000");
        assert_eq!(date(951_782_400), "29/Feb/2000:00:00:00 +0000");
        assert_eq!(date(4_107_542_400), "01/Mar/2100:00:00:00 +0000");
        assert_eq!(date(1_735_689_599), "31/Dec/2024:23:59:59 +0000");
    }

    #[test]
    fn a_time_is_written_in_the_forms_of_syslog_and_nginx() {
        let time = ClockTime::of_ms(1_795_282_147_005);
        assert_eq!(time.rfc3339_ms(), "2026-11-21T17:29:07.005Z");
        assert_eq!(time.iso8601(), "2026-11-21T17:29:07+00:00");
    }
}
