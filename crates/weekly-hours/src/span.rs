//! Hours of the week at which something holds.
//!
//! A span that ends before it begins goes on past midnight and belongs to the day on which it
//! began. It knows no clock and no zone: the hour is handed in. Built from settings that were
//! checked, asked by every decision for clients that have some.

use crate::zone::{ClockHour, minutes_of};

const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
const EVERY_DAY: u8 = 0x7f;

/// A span of hours on some days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HourSpan {
    /// A bit for each day on which it begins, from Monday.
    days: u8,
    /// Minutes since midnight.
    from: u16,
    /// Minutes since midnight; not after `from`, it is on the next day.
    to: u16,
}

/// Tells what of a span cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoursError {
    /// The days of the week.
    Days,
    /// The start.
    From,
    /// The end.
    To,
}

impl HourSpan {
    /// Reads `mon-fri,sun` and two times of day. No days are all of them; no times are midnight.
    ///
    /// # Errors
    /// Names the part that cannot be read.
    pub fn parse(days: &str, from: &str, to: &str) -> Result<Self, HoursError> {
        let time = |text: &str, wrong| match text {
            "" => Ok(0),
            text => minutes_of(text).ok_or(wrong),
        };
        let from_minute = time(from, HoursError::From)?;
        if usize::from(from_minute) >= 24 * 60 {
            return Err(HoursError::From);
        }
        let days = days_of(days).ok_or(HoursError::Days)?;
        Ok(Self { days, from: from_minute, to: time(to, HoursError::To)? })
    }

    /// True if it holds at that hour.
    pub fn contains(self, at: ClockHour) -> bool {
        let begins = |day: u8| self.days >> day & 1 == 1;
        let today = begins(at.weekday);
        if self.from < self.to {
            return today && (self.from..self.to).contains(&at.minute);
        }
        today && at.minute >= self.from || begins((at.weekday + 6) % 7) && at.minute < self.to
    }
}

fn days_of(text: &str) -> Option<u8> {
    if text.trim().is_empty() {
        return Some(EVERY_DAY);
    }
    let day = |word: &str| DAYS.iter().position(|day| *day == word.trim());
    let mut days = 0;
    for span in text.split(',') {
        let (first, last) = span.split_once('-').unwrap_or((span, span));
        let (first, last) = (day(first)?, day(last)?);
        // `fri-mon` goes on past Sunday.
        let length = (last + 7 - first) % 7;
        for at in 0..=length {
            days |= 1 << ((first + at) % 7);
        }
    }
    Some(days)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(hours: [&str; 3], weekday: u8, clock: &str, expected: bool) {
        let [days, from, to] = hours;
        let minute = minutes_of(clock).unwrap();
        let holds =
            HourSpan::parse(days, from, to).unwrap().contains(ClockHour { weekday, minute });
        assert_eq!(holds, expected, "{hours:?} on day {weekday} at {clock}");
    }

    #[test]
    fn a_span_holds_from_its_first_minute_to_before_its_last() {
        let work = ["mon-fri", "08:00", "17:30"];
        check(work, 0, "07:59", false);
        check(work, 0, "08:00", true);
        check(work, 4, "17:29", true);
        check(work, 4, "17:30", false);
        check(work, 5, "12:00", false);
        check(["", "", ""], 6, "23:59", true);
        check(["sat", "", "24:00"], 5, "23:59", true);
        check(["sat", "", "24:00"], 6, "00:00", false);
    }

    #[test]
    fn a_night_belongs_to_the_evening_on_which_it_began() {
        let night = ["fri", "21:00", "07:00"];
        check(night, 4, "20:59", false);
        check(night, 4, "21:00", true);
        check(night, 5, "06:59", true);
        check(night, 5, "07:00", false);
        check(night, 4, "03:00", false);
        check(["sun", "21:00", "07:00"], 0, "03:00", true);
        check(["fri-mon", "00:00", "24:00"], 6, "12:00", true);
        check(["fri-mon", "00:00", "24:00"], 1, "12:00", false);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        assert_eq!(HourSpan::parse("monday", "", ""), Err(HoursError::Days));
        assert_eq!(HourSpan::parse("", "9:00", ""), Err(HoursError::From));
        assert_eq!(HourSpan::parse("", "24:00", ""), Err(HoursError::From));
        assert_eq!(HourSpan::parse("", "", "24:01"), Err(HoursError::To));
    }
}
