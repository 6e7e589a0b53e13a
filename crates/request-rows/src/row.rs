//! Rows of the request log as JSON.
//!
//! Times are ISO 8601 in UTC, statuses have their name beside the number. Sent by the API.

use ledger::{LogRow, RowCause, status_name};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vocab::{CacheUse, RequestNumber, iso};

/// Rows of the request log, newest first.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RequestPage {
    /// The rows.
    pub rows: Vec<RequestRow>,
    /// Ask with this as `before` for older rows; null if there are none. It can stand beside few
    /// rows or none: one question looks through a bounded part of the log.
    pub next_before: Option<u64>,
}

/// One request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RequestRow {
    /// Where it stands in the log; newer rows have larger ones.
    pub id: u64,
    /// The number that a block page shows of it: `01A2-076A-9DE3`. Requests of the same millisecond
    /// share it.
    pub number: String,
    /// When it was read.
    pub at: String,
    /// Where it came in.
    pub door: String,
    /// Client that asked.
    pub client: String,
    /// The name or URL.
    pub subject: String,
    /// A record type (`A`, `HTTPS`) or `document`, `script`, `image` and so on.
    pub kind: String,
    /// `pass` or `block`.
    pub action: String,
    /// `none` (no rule matched), `rule`, `paused`, `not_asked`, `unlisted` (no rule
    /// lets it pass, and the client's profile blocks all others), or `other_blocker` (no rule names
    /// it, and `pixel.any_name` answers what another blocker sends).
    pub cause: String,
    /// The rule that decided; null if none did.
    pub rule: Option<RuleInfo>,
    /// Where the answer came from.
    pub source: String,
    /// Outcome at the door's HTTP cache, in the words of `Cache-Status`: `hit`, or why it did not
    /// answer (`uri-miss`, `stale`, `client-no-cache` …); null where none was asked.
    pub cache: Option<String>,
    /// Why the answer was not stored (`no-store`, `private` …); null where it was, and where no
    /// cache was asked.
    pub not_stored: Option<String>,
    /// Both in a sentence for people; null where no cache was asked.
    pub cache_text: Option<String>,
    /// DNS response code or HTTP status.
    pub status: u16,
    /// The same for people: `NXDOMAIN`, `404`.
    pub status_text: String,
    /// Bytes of the answer.
    pub bytes: u32,
    /// Microseconds that it took.
    pub took_us: u32,
}

/// A rule and where it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RuleInfo {
    /// The list's name.
    pub list: String,
    /// The line in it, from 1.
    pub line: u32,
    /// The rule as it is written there.
    pub text: String,
}

impl From<LogRow> for RequestRow {
    fn from(row: LogRow) -> Self {
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
        Self {
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
            status_text: status_name(row.door, row.status),
            bytes: row.bytes,
            took_us: row.duration_us,
        }
    }
}
