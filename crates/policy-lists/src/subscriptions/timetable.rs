//! When a subscription is asked for next.
//!
//! Pure: the time and a random number are arguments. The wall clock counts, since times outlive
//! restarts; where it jumps, a list is asked for early rather than never. Called by the thread that
//! fetches, and by whoever tells when that will be.

use fetch::FetchRecord;
use std::time::Duration;

/// The wait after a first failure; each further one doubles it.
const RETRY_FIRST: Duration = Duration::from_mins(1);
/// The longest wait after failures, unless `refresh` is shorter: a server that is down for days is
/// asked four times in each.
const RETRY_MAX: Duration = Duration::from_hours(6);
/// Lists that are overdue when the program starts are asked for within this time, not all at once.
const SPREAD_S: u64 = 120;

/// When it is due, in seconds since 1970. `chance` is any random number.
pub(crate) fn due_s(record: &FetchRecord, refresh: Duration, chance: u64) -> u64 {
    if record.failures == 0 && record.version.is_none() {
        return 0;
    }
    let wait = match record.failures {
        0 => refresh,
        failures => {
            let doublings = (failures - 1).min(16);
            (RETRY_FIRST * 2_u32.pow(doublings)).min(RETRY_MAX).min(refresh)
        }
    };
    record.checked_s.saturating_add(jittered_s(wait, chance))
}

/// The same at a start, or when a reload brings it: what is not there at all is asked for at once,
/// what is there and overdue waits for its turn.
pub(crate) fn due_at_start_s(
    record: &FetchRecord,
    refresh: Duration,
    chance: u64,
    now_s: u64,
) -> u64 {
    if record.version.is_none() {
        return 0;
    }
    let due = due_s(record, refresh, chance);
    if due <= now_s { now_s + chance % SPREAD_S } else { due }
}

/// True if it is to be asked for now. What would be due later than it can be was reckoned by a
/// clock that went wrong.
pub(crate) fn is_due(due_s: u64, refresh: Duration, now_s: u64) -> bool {
    due_s <= now_s || due_s - now_s > refresh.as_secs() + refresh.as_secs() / 10 + SPREAD_S
}

/// Within a tenth of `wait`, so that a thousand boxes that got their power back at once do not come
/// at once for ever.
fn jittered_s(wait: Duration, chance: u64) -> u64 {
    let wait = wait.as_secs();
    let tenth = wait / 10;
    wait - tenth + chance % (2 * tenth + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fetch::FileVersion;

    const DAY: Duration = Duration::from_hours(24);
    const T: u64 = 1_800_000_000;

    fn record(failures: u32, version: Option<FileVersion>) -> FetchRecord {
        let mut record = FetchRecord::default();
        (record.checked_s, record.failures, record.version) = (T, failures, version);
        record
    }

    #[test]
    fn a_good_list_comes_again_after_a_day_give_or_take_a_tenth() {
        let good = record(0, Some(FileVersion::default()));
        let waits: Vec<u64> = (0..20_000).map(|n| due_s(&good, DAY, n) - T).collect();
        assert_eq!(waits.iter().min(), Some(&77_760));
        assert_eq!(waits.iter().max(), Some(&95_040));
    }

    #[test]
    fn a_list_that_was_never_there_comes_at_once_and_then_after_a_minute_doubling() {
        assert_eq!(due_s(&FetchRecord::default(), DAY, 7), 0);
        let wait = |failures, refresh| due_s(&record(failures, None), refresh, 6) - T;
        assert_eq!([1, 2, 3].map(|n| wait(n, DAY)), [60, 114, 222]);
        let longest = RETRY_MAX.as_secs();
        assert!(wait(40, DAY) <= longest + longest / 10 && wait(40, DAY) >= longest - longest / 10);
        assert!(wait(40, Duration::from_mins(10)) <= 660);
        assert!(wait(u32::MAX, DAY) <= longest + longest / 10);
    }

    #[test]
    fn overdue_lists_are_spread_after_a_start_and_missing_ones_are_not() {
        let late = T + 10 * DAY.as_secs();
        let there = record(0, Some(FileVersion::default()));
        let dues: Vec<u64> = (0..500).map(|n| due_at_start_s(&there, DAY, n, late)).collect();
        assert!(dues.iter().all(|due| (late..late + SPREAD_S).contains(due)));
        assert!(dues.iter().any(|due| *due > late + SPREAD_S / 2));
        for missing in [FetchRecord::default(), record(9, None)] {
            assert_eq!(due_at_start_s(&missing, DAY, 77, late), 0);
        }
        let early = due_at_start_s(&there, DAY, 77, T + 5);
        assert!(early > T + 70_000, "not due, not asked for");
    }

    #[test]
    fn a_clock_that_was_wrong_puts_nothing_off_for_years() {
        assert!(!is_due(T + 90_000, DAY, T));
        assert!(is_due(T + 400_000_000, DAY, T));
        assert!(is_due(T, DAY, T) && is_due(0, DAY, T));
    }
}
