//! Days and months of the database's partitions: their names and bounds, in UTC.

use time::{Date, OffsetDateTime};

/// Milliseconds of a day.
pub(crate) const DAY_MS: u64 = 86_400_000;

/// Span of a table that one partition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum PartitionSpan {
    /// A day.
    Day,
    /// A month of the calendar.
    Month,
}

/// One partition: the end of its table's name, where it begins and where the next one does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TablePartition {
    pub(crate) suffix: String,
    pub(crate) from: String,
    pub(crate) to: String,
}

impl PartitionSpan {
    /// The partition of a moment; none of one that no calendar has.
    pub(crate) fn partition(self, at_ms: u64) -> Option<TablePartition> {
        let seconds = i64::try_from(at_ms / 1000).ok()?;
        let date = OffsetDateTime::from_unix_timestamp(seconds).ok()?.date();
        let (from, to) = match self {
            Self::Day => (date, date.next_day()?),
            Self::Month => {
                let from = date.replace_day(1).ok()?;
                (from, from.checked_add(time::Duration::days(31))?.replace_day(1).ok()?)
            }
        };
        let suffix = match self {
            Self::Day => {
                format!("{:04}{:02}{:02}", from.year(), u8::from(from.month()), from.day())
            }
            Self::Month => format!("{:04}{:02}", from.year(), u8::from(from.month())),
        };
        Some(TablePartition { suffix, from: written(from), to: written(to) })
    }
}

fn written(date: Date) -> String {
    format!("{:04}-{:02}-{:02} 00:00:00+00", date.year(), u8::from(date.month()), date.day())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_begins_with_its_day_or_month_in_utc() {
        let of = |span: PartitionSpan, at_ms| {
            let TablePartition { suffix, from, to } = span.partition(at_ms).unwrap();
            [suffix, from, to]
        };
        // 2024-02-29 23:59:59.999 UTC.
        let leap = 1_709_251_199_999;
        let day = ["20240229", "2024-02-29 00:00:00+00", "2024-03-01 00:00:00+00"];
        assert_eq!(of(PartitionSpan::Day, leap), day);
        let month = ["202402", "2024-02-01 00:00:00+00", "2024-03-01 00:00:00+00"];
        assert_eq!(of(PartitionSpan::Month, leap), month);
        assert_eq!(of(PartitionSpan::Month, 1_767_225_600_000 - 1)[2], "2026-01-01 00:00:00+00");
        assert_eq!(PartitionSpan::Day.partition(u64::MAX), None);
    }
}
