//! Questions to PostgreSQL: its edges, and requests over time.

use crate::connection::in_time;
use crate::failure::DatabaseFailure;
use crate::row_form::moment;
use std::time::{SystemTime, UNIX_EPOCH};
use tokio_postgres::{Client, Row};

/// Edges that are told at most.
pub(crate) const EDGES_MAX: i64 = 2_000;
/// Whole minutes over which requests per minute are counted.
pub const RATE_MINUTES: u32 = 10;

/// An edge as the database knows it; moments in milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EdgeRow {
    /// Name.
    pub edge: String,
    /// Release that it runs.
    pub version: String,
    /// Start of its program.
    pub started_ms: u64,
    /// When it was heard of last, by the database's clock.
    pub seen_ms: u64,
    /// Time since then, by the same clock.
    pub silent_ms: u64,
    /// Share of requests of which it sends a row: one of so many; 0 for none.
    pub sample: u32,
    /// Rows of its log that wait, as it told last.
    pub waiting: u64,
    /// Rows that it has left out since it is known.
    pub dropped: u64,
    /// The last minute in which it had a request; none in the last hour.
    pub minute_ms: Option<u64>,
    /// Requests of the last [`RATE_MINUTES`] whole minutes.
    pub requests: u64,
    /// Requests among them that were blocked.
    pub blocked: u64,
}

/// Question for requests over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MinuteQuestion {
    /// One edge; all of them where there is none.
    pub edge: Option<String>,
    /// From here, in milliseconds since 1970.
    pub from_ms: u64,
    /// Before this.
    pub to_ms: u64,
    /// Seconds of a step.
    pub step_s: u32,
}

/// Requests of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MinutePoint {
    /// Start of the step, in milliseconds since 1970.
    pub at_ms: u64,
    /// Requests that passed.
    pub passed: u64,
    /// Requests that were blocked.
    pub blocked: u64,
}

const EDGES: &str = "
    SELECT e.edge, e.version, e.started, e.seen,
        greatest(extract(epoch FROM now() - e.seen) * 1000, 0)::bigint, e.sample::bigint,
        e.waiting, e.dropped, m.minute, coalesce(m.requests, 0)::bigint,
        coalesce(m.blocked, 0)::bigint
    FROM tidegate.edges e LEFT JOIN (
        SELECT edge, max(minute) AS minute,
            sum(requests) FILTER (WHERE minute >= since) AS requests,
            sum(requests) FILTER (WHERE minute >= since AND action = 'block') AS blocked
        FROM tidegate.minutes,
            (SELECT date_trunc('minute', now()) - $2 * interval '1 minute' AS since) AS span
        WHERE minute >= now() - interval '1 hour' AND minute < date_trunc('minute', now())
        GROUP BY edge) m ON m.edge = e.edge
    ORDER BY e.edge LIMIT $1";

const MINUTES: &str = "
    SELECT (floor(extract(epoch FROM minute)::float8 / $4) * $4)::bigint,
        coalesce(sum(requests) FILTER (WHERE action <> 'block'), 0)::bigint,
        coalesce(sum(requests) FILTER (WHERE action = 'block'), 0)::bigint
    FROM tidegate.minutes
    WHERE minute >= $1 AND minute < $2 AND ($3::text IS NULL OR edge = $3)
    GROUP BY 1 ORDER BY 1";

/// Every edge, by name.
pub(crate) async fn ask_edges(client: &Client) -> Result<Vec<EdgeRow>, DatabaseFailure> {
    let minutes = f64::from(RATE_MINUTES);
    let found = in_time(async { Ok(client.query(EDGES, &[&EDGES_MAX, &minutes]).await?) }).await?;
    found.iter().map(edge).collect()
}

/// Requests over time; steps without one are left out.
pub(crate) async fn ask_minutes(
    client: &Client,
    question: &MinuteQuestion,
) -> Result<Vec<MinutePoint>, DatabaseFailure> {
    let [from, to] = [question.from_ms, question.to_ms].map(moment);
    let step = f64::from(question.step_s.max(1));
    let asked = async { Ok(client.query(MINUTES, &[&from, &to, &question.edge, &step]).await?) };
    let found = in_time(asked).await?;
    let point = |row: &Row| {
        Ok(MinutePoint {
            at_ms: count(row, 0)?.saturating_mul(1000),
            passed: count(row, 1)?,
            blocked: count(row, 2)?,
        })
    };
    found.iter().map(point).collect()
}

fn edge(row: &Row) -> Result<EdgeRow, DatabaseFailure> {
    Ok(EdgeRow {
        edge: row.try_get(0)?,
        version: row.try_get(1)?,
        started_ms: since_1970(row.try_get(2)?),
        seen_ms: since_1970(row.try_get(3)?),
        silent_ms: count(row, 4)?,
        sample: u32::try_from(count(row, 5)?).unwrap_or(u32::MAX),
        waiting: count(row, 6)?,
        dropped: count(row, 7)?,
        minute_ms: row.try_get::<_, Option<SystemTime>>(8)?.map(since_1970),
        requests: count(row, 9)?,
        blocked: count(row, 10)?,
    })
}

fn count(row: &Row, column: usize) -> Result<u64, DatabaseFailure> {
    Ok(row.try_get::<_, i64>(column)?.max(0).cast_unsigned())
}

fn since_1970(moment: SystemTime) -> u64 {
    let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
