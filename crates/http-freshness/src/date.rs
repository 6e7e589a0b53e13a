//! Dates in fields: the three forms of RFC 9110 §5.6.7, and nothing that merely looks like one.
//!
//! Letters may have any case, and the day of the week need not be right, for both are common and
//! neither leaves a doubt; another zone, a missing comma or a lost digit makes it no date. Pure.
//! Called by the rules and by the head.

use http::header::{HeaderMap, HeaderName, HeaderValue};
use std::time::{Duration, UNIX_EPOCH};

const MONTHS: [&[u8; 3]; 12] = [
    b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov", b"dec",
];
const WEEKDAYS: [&str; 7] =
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
/// 1970-01-01, counted from the first of March of the year 0.
const EPOCH_DAYS: u64 = 719_468;
/// The longest form, with room for spaces around: `Wednesday, 06-Nov-94 08:49:37 GMT`.
const DATE_BYTES_MAX: usize = 48;

/// Seconds since 1970 of the first line of a field; `None` if it is missing, no date, or before
/// 1970.
pub(crate) fn field(fields: &HeaderMap, name: &HeaderName) -> Option<u64> {
    parse(fields.get(name)?.as_bytes())
}

/// Seconds since 1970.
pub(crate) fn parse(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii();
    if text.len() > DATE_BYTES_MAX {
        return None;
    }
    let mut small = [0; DATE_BYTES_MAX];
    let small = &mut small[..text.len()];
    small.copy_from_slice(text);
    small.make_ascii_lowercase();
    fixed(small).or_else(|| obsolete(small)).or_else(|| asctime(small))
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`
fn fixed(text: &[u8]) -> Option<u64> {
    let (weekday, rest) = text.split_at_checked(3)?;
    let rest = rest.strip_prefix(b", ")?.strip_suffix(b" gmt")?;
    is_short_weekday(weekday)?;
    let [day @ .., b' ', y1, y2, y3, y4, b' ', _, _, b':', _, _, b':', _, _] = rest else {
        return None;
    };
    let [d1, d2, b' ', month @ ..] = day else { return None };
    let date = HttpDate { year: number(&[*y1, *y2, *y3, *y4])?, month, day: number(&[*d1, *d2])? };
    date.unix_secs(&rest[rest.len() - 8..])
}

/// `Sunday, 06-Nov-94 08:49:37 GMT`
fn obsolete(text: &[u8]) -> Option<u64> {
    let comma = text.iter().position(|it| *it == b',')?;
    let (weekday, rest) = text.split_at(comma);
    let rest = rest.strip_prefix(b", ")?.strip_suffix(b" gmt")?;
    WEEKDAYS.iter().find(|it| it.as_bytes() == weekday)?;
    let [d1, d2, b'-', m1, m2, m3, b'-', y1, y2, b' ', time @ ..] = rest else { return None };
    let year = number(&[*y1, *y2])?;
    // What the form cannot say: nothing on the web is older than 1970.
    let year = if year < 70 { 2000 + year } else { 1900 + year };
    HttpDate { year, month: &[*m1, *m2, *m3], day: number(&[*d1, *d2])? }.unix_secs(time)
}

/// `Sun Nov  6 08:49:37 1994`
fn asctime(text: &[u8]) -> Option<u64> {
    let [w1, w2, w3, b' ', m1, m2, m3, b' ', d1, d2, b' ', rest @ ..] = text else { return None };
    is_short_weekday(&[*w1, *w2, *w3])?;
    let (time, year) = rest.split_at_checked(8)?;
    let year = year.strip_prefix(b" ").filter(|it| it.len() == 4)?;
    let tens = if *d1 == b' ' { b'0' } else { *d1 };
    let day = number(&[tens, *d2])?;
    HttpDate { year: number(year)?, month: &[*m1, *m2, *m3], day }.unix_secs(time)
}

struct HttpDate<'a> {
    year: u64,
    month: &'a [u8],
    day: u64,
}

impl HttpDate<'_> {
    /// With `08:49:37`, in seconds since 1970.
    fn unix_secs(&self, time: &[u8]) -> Option<u64> {
        let [h1, h2, b':', m1, m2, b':', s1, s2] = time else { return None };
        let (hour, minute) = (number(&[*h1, *h2])?, number(&[*m1, *m2])?);
        let second = number(&[*s1, *s2])?;
        let month = MONTHS.iter().position(|it| it.as_slice() == self.month)? as u64 + 1;
        let is_leap = self.year.is_multiple_of(4)
            && (!self.year.is_multiple_of(100) || self.year.is_multiple_of(400));
        let days_of_month = match month {
            2 => 28 + u64::from(is_leap),
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        let is_day = (1..=days_of_month).contains(&self.day) && self.year >= 1970;
        // A leap second is the first of the next minute.
        if !is_day || hour > 23 || minute > 59 || second > 60 {
            return None;
        }
        // Years begin in March, so that the day that comes and goes is the last.
        let (year, month) =
            if month > 2 { (self.year, month - 3) } else { (self.year - 1, month + 9) };
        let day_of_year = (153 * month + 2) / 5 + self.day - 1;
        let days = 365 * year + year / 4 - year / 100 + year / 400 + day_of_year;
        Some((days - EPOCH_DAYS) * 86_400 + hour * 3600 + minute * 60 + second)
    }
}

fn is_short_weekday(text: &[u8]) -> Option<()> {
    WEEKDAYS.iter().any(|it| &it.as_bytes()[..3] == text).then_some(())
}

fn number(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0, |number, digit| {
        digit.is_ascii_digit().then(|| number * 10 + u64::from(digit - b'0'))
    })
}

/// A moment as a field value; beyond the year 9999, which the form cannot say, its last second.
pub(crate) fn value(unix_secs: u64) -> HeaderValue {
    const LAST: u64 = 253_402_300_799;
    let moment = UNIX_EPOCH + Duration::from_secs(unix_secs.min(LAST));
    HeaderValue::from_str(&httpdate::fmt_http_date(moment)).expect("a date is visible ASCII")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_is_read_as_it_is_written() {
        // Every 17th hour of four centuries, with all their leap years.
        for hour in (0..400 * 365 * 24).step_by(17) {
            let secs = hour * 3600 + 59;
            assert_eq!(parse(value(secs).as_bytes()), Some(secs));
        }
        assert_eq!(parse(value(u64::MAX).as_bytes()), Some(253_402_300_799));
    }

    #[test]
    fn what_is_no_moment_is_no_date() {
        for text in [
            "",
            "Sun, 31 Feb 1994 08:49:37 GMT",
            "Sun, 29 Feb 1900 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:00:00 GMT",
            "Sun, 06 Nov 1994 08:60:00 GMT",
            "Sun, 06 Nov 1969 08:49:37 GMT",
            "Sum, 06 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37",
            "Sunday, 06-Nov-1994 08:49:37 GMT",
            "Sun Nov 6 08:49:37 1994",
            "784111777",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(parse(b"Sun Nov  6 08:49:37 1994"), Some(784_111_777));
        assert_eq!(parse(b" sunday, 06-NOV-94 08:49:37 gmt "), Some(784_111_777));
    }
}
