//! ClickHouse as the sender sees it: joined, then given rows and minutes.
//!
//! It knows no transaction. Rows are stored first and the place of the edge after them, so that an
//! end in between sends the same rows again: they have the same key, and `FINAL` knows each once
//! (docs/adr/0074). Called by [`crate::database`].

use crate::clickhouse_client::{ClickHouseAddress, ClickHouseClient, number, quoted};

use crate::days::PartitionSpan;
use crate::failure::DatabaseFailure;
use crate::row_form::RowForm;
use crate::row_step::{EdgeFacts, EdgePosition, RowStep, before};
use crate::settings::RowSettings;
use ledger::{FollowPlace, MinuteCount};
use origins::Dialer;
use serde::Serialize;

/// Version of the tables that this release makes.
const VERSION: u64 = 1;

/// Tables of version 1, which every release of ClickHouse since 18.16 takes.
const TABLES: [&str; 4] = [
    "CREATE TABLE IF NOT EXISTS requests (at DateTime('UTC'), at_ms UInt64, edge String,
        sequence UInt64, door String, client String, subject String, kind String, action String,
        cause String, list Nullable(String), line Nullable(UInt64), rule Nullable(String),
        source String, cache Nullable(String), status UInt32, bytes UInt64, duration_us UInt64,
        sample UInt32)
    ENGINE = ReplacingMergeTree() PARTITION BY toYYYYMMDD(at) ORDER BY (edge, sequence, at)",
    "CREATE TABLE IF NOT EXISTS minutes (minute DateTime('UTC'), edge String, door String,
        action String, source String, requests UInt64)
    ENGINE = ReplacingMergeTree(requests) PARTITION BY toYYYYMM(minute)
    ORDER BY (minute, edge, door, action, source)",
    "CREATE TABLE IF NOT EXISTS edges (edge String, version String, started_ms UInt64,
        seen DateTime('UTC') DEFAULT now(), sample UInt32, waiting UInt64, dropped UInt64,
        sequence UInt64, sequence_at_ms UInt64, minute UInt64, changed UInt64)
    ENGINE = ReplacingMergeTree(changed) ORDER BY edge",
    "CREATE TABLE IF NOT EXISTS schema (version UInt32, usable_from UInt32)
    ENGINE = ReplacingMergeTree() ORDER BY version",
];

/// Columns of an edge's line: `seen` is left to the server's clock.
const EDGE_LINES: &str = "edges (edge, version, started_ms, sample, waiting, dropped, sequence, \
    sequence_at_ms, minute, changed)";

/// A joined ClickHouse.
pub(crate) struct ClickHouseTables {
    client: ClickHouseClient,
    facts: EdgeFacts,
    /// The edge's row as it was stored last.
    place: EdgeLine,
}

/// Row of an edge, but for when it was seen, which the server says.
#[derive(Clone, Debug, Serialize)]
struct EdgeLine {
    edge: String,
    version: &'static str,
    started_ms: u64,
    sample: u32,
    waiting: u64,
    dropped: u64,
    sequence: u64,
    sequence_at_ms: u64,
    minute: u64,
    /// Grows with every change: of several rows the largest holds.
    changed: u64,
}

/// A request as a row.
#[derive(Serialize)]
struct RequestLine<'r> {
    at: u32,
    at_ms: u64,
    #[serde(flatten)]
    form: RowForm<'r>,
}

/// Requests of a minute as a row.
#[derive(Serialize)]
struct MinuteLine<'r> {
    minute: u64,
    edge: &'r str,
    door: &'static str,
    action: &'static str,
    source: &'static str,
    requests: u64,
}

impl ClickHouseTables {
    /// Connects, makes what is missing, and finds how far this edge has come.
    pub(crate) async fn join(
        address: &ClickHouseAddress,
        dialer: Dialer,
        facts: EdgeFacts,
    ) -> Result<(Self, EdgePosition), DatabaseFailure> {
        let client = ClickHouseClient::new(address, dialer)?;
        bring_about(&client).await?;
        let question = format!(
            "SELECT dropped, sequence, sequence_at_ms, minute, changed FROM edges FINAL
             WHERE edge = {}",
            quoted(&facts.edge)
        );
        let found = client.ask(&question).await?.into_iter().next().unwrap_or_default();
        let of = |column| number(&found, column);
        let place = EdgeLine {
            edge: facts.edge.clone(),
            version: facts.version,
            started_ms: facts.started_ms,
            sample: facts.sample,
            waiting: 0,
            dropped: of(0),
            sequence: of(1),
            sequence_at_ms: of(2),
            minute: of(3),
            changed: of(4),
        };
        let stored = FollowPlace { row: place.sequence, at_ms: place.sequence_at_ms };
        let position = EdgePosition { place: stored, minute: place.minute };
        Ok((Self { client, facts, place }, position))
    }

    /// Drops the partitions whose last moment is past its time; another edge may be quicker.
    pub(crate) async fn drop_partitions(
        &self,
        settings: &RowSettings,
        now_ms: u64,
    ) -> Result<(), DatabaseFailure> {
        for (table, span, keep) in [
            ("requests", PartitionSpan::Day, settings.keep.0.0),
            ("minutes", PartitionSpan::Month, settings.keep_minutes.0.0),
        ] {
            let Some(first_kept) = span.partition(before(now_ms, keep)) else { continue };
            let question = format!(
                "SELECT DISTINCT partition FROM system.parts
                 WHERE database = currentDatabase() AND table = '{table}' AND active"
            );
            for row in self.client.ask(&question).await? {
                let name = row.first().and_then(|it| it.as_str()).unwrap_or_default();
                let is_day = name.len() == first_kept.suffix.len()
                    && name.bytes().all(|byte| byte.is_ascii_digit());
                if is_day && name < first_kept.suffix.as_str() {
                    self.client.run(&format!("ALTER TABLE {table} DROP PARTITION {name}")).await?;
                }
            }
        }
        Ok(())
    }

    /// Stores rows, then how far the edge has come.
    pub(crate) async fn store(&mut self, step: &RowStep<'_>) -> Result<(), DatabaseFailure> {
        if !step.rows.is_empty() {
            let mut lines = Vec::with_capacity(step.rows.len() * 300);
            for row in step.rows {
                let at = u32::try_from(row.at_ms / 1000).unwrap_or(u32::MAX);
                let form = RowForm::of(row, &self.facts.edge, self.facts.sample);
                write_line(&mut lines, &RequestLine { at, at_ms: row.at_ms, form });
            }
            self.client.insert("requests", lines).await?;
        }
        let place = EdgeLine {
            sequence: step.to.row,
            sequence_at_ms: step.to.at_ms,
            dropped: self.place.dropped + step.dropped,
            waiting: step.waiting,
            ..self.place.clone()
        };
        self.put_place(place).await
    }

    /// Stores counts by the minute, and says that the edge is there.
    pub(crate) async fn beat(
        &mut self,
        counts: &[MinuteCount],
        minute: u64,
        waiting: u64,
    ) -> Result<(), DatabaseFailure> {
        self.check_alone().await?;
        if !counts.is_empty() {
            let mut lines = Vec::with_capacity(counts.len() * 120);
            for count in counts {
                let line = MinuteLine {
                    minute: count.minute * 60,
                    edge: &self.facts.edge,
                    door: count.door.as_str(),
                    action: count.action.as_str(),
                    source: count.source.as_str(),
                    requests: count.count,
                };
                write_line(&mut lines, &line);
            }
            self.client.insert("minutes", lines).await?;
        }
        self.put_place(EdgeLine { waiting, minute, ..self.place.clone() }).await
    }

    /// Finds out whether another process sends under this name: the edge has come to where nobody
    /// here has led it.
    async fn check_alone(&self) -> Result<(), DatabaseFailure> {
        let edge = quoted(&self.facts.edge);
        let question = format!("SELECT changed FROM edges FINAL WHERE edge = {edge}");
        let found = self.client.ask(&question).await?;
        match found.first() {
            Some(row) if number(row, 0) > self.place.changed => Err(DatabaseFailure::Moved),
            Some(_) | None => Ok(()),
        }
    }

    async fn put_place(&mut self, place: EdgeLine) -> Result<(), DatabaseFailure> {
        let changed = transport::clock::now().unix_ms.max(self.place.changed + 1);
        let place = EdgeLine { changed, ..place };
        let mut line = Vec::new();
        write_line(&mut line, &place);
        self.client.insert(EDGE_LINES, line).await?;
        self.place = place;
        Ok(())
    }
}

/// Makes the tables, or finds that they are fit for this release. A user who may make nothing is
/// enough once they are there.
async fn bring_about(client: &ClickHouseClient) -> Result<(), DatabaseFailure> {
    let is_made = "SELECT count() FROM system.tables
        WHERE database = currentDatabase() AND name = 'schema'";
    let count = client.ask(is_made).await?.first().map_or(0, |row| number(row, 0));
    if count == 0 {
        for table in TABLES {
            client.run(table).await?;
        }
        let line = format!("{{\"version\":{VERSION},\"usable_from\":{VERSION}}}\n");
        client.insert("schema", line.into_bytes()).await?;
    }
    let found = client.ask("SELECT max(version), max(usable_from) FROM schema").await?;
    match found.first() {
        Some(row) if number(row, 1) > VERSION => {
            let version = i32::try_from(number(row, 0)).unwrap_or(i32::MAX);
            Err(DatabaseFailure::Newer(version))
        }
        Some(_) | None => Ok(()),
    }
}

fn write_line(lines: &mut Vec<u8>, line: &impl Serialize) {
    // Plain data is JSON, and a vector takes what is written.
    let _ = serde_json::to_writer(&mut *lines, line);
    lines.push(b'\n');
}
