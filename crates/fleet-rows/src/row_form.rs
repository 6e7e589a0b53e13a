//! A row of the request log as a row of the table `requests`.
//!
//! The words are those of the API. A text without the one character that PostgreSQL stores in none:
//! a request with a NUL in its address must not keep all others from being sent.

use ledger::{LogRow, RowCause};
use serde::Serialize;
use std::borrow::Cow;
use std::net::IpAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio_postgres::types::{ToSql, Type};
use vocab::CacheUse;

/// Columns in the order of [`RowForm::values`].
pub(crate) const COLUMNS: &str = "at, edge, sequence, door, client, subject, kind, action, cause, \
    list, line, rule, source, cache, status, bytes, duration_us, sample";

/// Their types.
pub(crate) const TYPES: [Type; 18] = [
    Type::TIMESTAMPTZ,
    Type::TEXT,
    Type::INT8,
    Type::TEXT,
    Type::INET,
    Type::TEXT,
    Type::TEXT,
    Type::TEXT,
    Type::TEXT,
    Type::TEXT,
    Type::INT8,
    Type::TEXT,
    Type::TEXT,
    Type::TEXT,
    Type::INT4,
    Type::INT8,
    Type::INT8,
    Type::INT4,
];

/// A row's values.
#[derive(Serialize)]
pub(crate) struct RowForm<'r> {
    #[serde(skip)]
    at: SystemTime,
    edge: &'r str,
    sequence: i64,
    door: &'static str,
    client: IpAddr,
    subject: Cow<'r, str>,
    kind: String,
    action: &'static str,
    cause: &'static str,
    list: Option<Cow<'r, str>>,
    line: Option<i64>,
    rule: Option<Cow<'r, str>>,
    source: &'static str,
    cache: Option<&'static str>,
    status: i32,
    bytes: i64,
    duration_us: i64,
    sample: i32,
}

impl<'r> RowForm<'r> {
    /// The values of a row of this edge, one of `sample`.
    pub(crate) fn of(row: &'r LogRow, edge: &'r str, sample: u32) -> Self {
        let (cause, rule) = match &row.cause {
            RowCause::NoRule => ("none", None),
            RowCause::Rule { list, line, text } => ("rule", Some((list, *line, text))),
            RowCause::Paused => ("paused", None),
            RowCause::NotAsked => ("not_asked", None),
            RowCause::Unlisted => ("unlisted", None),
            RowCause::ByHand => ("by_hand", None),
            RowCause::OtherBlocker => ("other_blocker", None),
        };
        let was_asked = row.caching.outcome != CacheUse::NotAsked;
        Self {
            at: moment(row.at_ms),
            edge,
            sequence: row.id.cast_signed(),
            door: row.door.as_str(),
            client: row.client,
            subject: storable(&row.subject),
            kind: row.kind.to_string(),
            action: row.action.as_str(),
            cause,
            list: rule.map(|(list, _, _)| storable(list)),
            line: rule.map(|(_, line, _)| line.into()),
            rule: rule.map(|(_, _, text)| storable(text)),
            source: row.source.as_str(),
            cache: was_asked.then(|| row.caching.outcome.word()),
            status: row.status.into(),
            bytes: row.bytes.into(),
            duration_us: row.duration_us.into(),
            sample: i32::try_from(sample).unwrap_or(i32::MAX),
        }
    }

    /// The values in the order of [`COLUMNS`].
    pub(crate) fn values(&self) -> [&(dyn ToSql + Sync); 18] {
        [
            &self.at,
            &self.edge,
            &self.sequence,
            &self.door,
            &self.client,
            &self.subject,
            &self.kind,
            &self.action,
            &self.cause,
            &self.list,
            &self.line,
            &self.rule,
            &self.source,
            &self.cache,
            &self.status,
            &self.bytes,
            &self.duration_us,
            &self.sample,
        ]
    }
}

/// A moment in milliseconds since 1970.
pub(crate) fn moment(at_ms: u64) -> SystemTime {
    UNIX_EPOCH.checked_add(Duration::from_millis(at_ms)).unwrap_or(UNIX_EPOCH)
}

/// A text as PostgreSQL can store it.
fn storable(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { text.replace('\0', "\u{fffd}").into() } else { text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nul_is_replaced_and_nothing_else() {
        assert!(matches!(storable("http://a.example/ü"), Cow::Borrowed("http://a.example/ü")));
        assert_eq!(storable("http://a.example/\0?\0"), "http://a.example/\u{fffd}?\u{fffd}");
    }

    #[test]
    fn there_is_a_type_for_each_column() {
        assert_eq!(COLUMNS.split(',').count(), TYPES.len());
    }
}
