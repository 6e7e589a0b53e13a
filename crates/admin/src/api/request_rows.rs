//! Rows of the request log: found by a filter, and as the API shows them.
//!
//! Called by the routes of the log, for pages and for files.

use super::ApiState;
use crate::iso::iso;
use crate::model::{RequestRow, RuleInfo};
use ledger::{LogRow, ReadError, RowCause, RowFilter, RowPage};
use vocab::{CacheUse, Door, RequestNumber};

/// A page of the rows that a filter finds.
pub(super) fn page(app: &ApiState, filter: &RowFilter, limit: usize) -> Result<RowPage, ReadError> {
    match numbered(app, filter, limit)? {
        Some(page) => Ok(page),
        None => app.ledger.rows(filter, limit),
    }
}

/// The rows of a request's number, if the filter is one and there are such rows: the number that a
/// block page shows is the request's moment, and stands in no column.
fn numbered(
    app: &ApiState,
    filter: &RowFilter,
    limit: usize,
) -> Result<Option<RowPage>, ReadError> {
    let Ok(number) = filter.text.parse::<RequestNumber>() else { return Ok(None) };
    if filter.before.is_some() {
        return Ok(None);
    }
    let mut rows = app.ledger.rows_at(number.unix_ms())?;
    rows.retain(|row| {
        filter.door.is_none_or(|door| row.door == door)
            && filter.action.is_none_or(|action| row.action == action)
    });
    rows.truncate(limit);
    Ok((!rows.is_empty()).then_some(RowPage { rows, next: None }))
}

/// A row as it is shown.
pub(super) fn shape(row: LogRow) -> RequestRow {
    let (cause, rule) = match row.cause {
        RowCause::NoRule => ("none", None),
        RowCause::Rule { list, line, text } => ("rule", Some(RuleInfo { list, line, text })),
        RowCause::Paused => ("paused", None),
        RowCause::NotAsked => ("not_asked", None),
        RowCause::Unlisted => ("unlisted", None),
        RowCause::ByHand => ("by_hand", None),
        RowCause::OtherBlocker => ("other_blocker", None),
    };
    let caching = Some(row.caching).filter(|it| it.outcome != CacheUse::NotAsked);
    RequestRow {
        id: row.id,
        number: RequestNumber::at(row.at_ms).to_string(),
        at: iso(row.at_ms),
        door: row.door.as_str().into(),
        client: row.client.to_string(),
        subject: row.subject,
        kind: row.kind.to_string(),
        action: row.action.as_str().into(),
        cause: cause.into(),
        rule,
        source: row.source.as_str().into(),
        cache: caching.map(|it| it.outcome.word().into()),
        not_stored: row.caching.not_stored.map(|why| why.word().into()),
        cache_text: caching.map(|it| it.to_string()),
        status: row.status,
        status_text: status_text(row.door, row.status),
        bytes: row.bytes,
        took_us: row.duration_us,
    }
}

/// A status for people: a DNS response code by its name (IANA DNS parameters), an HTTP status by
/// its number.
fn status_text(door: Door, status: u16) -> String {
    if door != Door::Dns {
        return status.to_string();
    }
    let name = match status {
        0 => "NOERROR",
        1 => "FORMERR",
        2 => "SERVFAIL",
        3 => "NXDOMAIN",
        4 => "NOTIMP",
        5 => "REFUSED",
        16 => "BADVERS",
        other => return format!("RCODE{other}"),
    };
    name.into()
}
