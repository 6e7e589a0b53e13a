//! Questions to ClickHouse: its edges, and requests over time.

use crate::clickhouse_client::{ClickHouseClient, number, quoted, text};
use crate::failure::DatabaseFailure;
use crate::question::{EDGES_MAX, EdgeRow, MinutePoint, MinuteQuestion, RATE_MINUTES};
use serde_json::Value as Json;
use std::collections::HashMap;

/// Every edge, by name.
pub(crate) async fn ask_edges(client: &ClickHouseClient) -> Result<Vec<EdgeRow>, DatabaseFailure> {
    let question = format!(
        "SELECT edge, version, started_ms, toUnixTimestamp(seen), toUnixTimestamp(now()), sample,
            waiting, dropped
         FROM edges FINAL ORDER BY edge LIMIT {EDGES_MAX}"
    );
    let edges = client.ask(&question).await?;
    let question = format!(
        "SELECT edge, toUnixTimestamp(max(minute)),
            sumIf(requests, minute >= toStartOfMinute(now()) - {span}),
            sumIf(requests, minute >= toStartOfMinute(now()) - {span} AND action = 'block')
         FROM minutes FINAL
         WHERE minute >= now() - 3600 AND minute < toStartOfMinute(now()) GROUP BY edge",
        span = RATE_MINUTES * 60
    );
    let rates = client.ask(&question).await?;
    let rates: HashMap<String, Vec<Json>> =
        rates.into_iter().map(|row| (text(&row, 0), row)).collect();
    Ok(edges.iter().map(|row| edge(row, rates.get(&text(row, 0)))).collect())
}

fn edge(row: &[Json], rate: Option<&Vec<Json>>) -> EdgeRow {
    let of = |column| rate.map_or(0, |row| number(row, column));
    EdgeRow {
        edge: text(row, 0),
        version: text(row, 1),
        started_ms: number(row, 2),
        seen_ms: number(row, 3).saturating_mul(1000),
        silent_ms: number(row, 4).saturating_sub(number(row, 3)).saturating_mul(1000),
        sample: u32::try_from(number(row, 5)).unwrap_or(u32::MAX),
        waiting: number(row, 6),
        dropped: number(row, 7),
        minute_ms: rate.map(|row| number(row, 1).saturating_mul(1000)),
        requests: of(2),
        blocked: of(3),
    }
}

/// Requests over time; steps without one are left out.
pub(crate) async fn ask_minutes(
    client: &ClickHouseClient,
    question: &MinuteQuestion,
) -> Result<Vec<MinutePoint>, DatabaseFailure> {
    let step = question.step_s.max(1);
    let edge = question.edge.as_deref().map(quoted);
    let of_edge = edge.map_or(String::new(), |edge| format!(" AND edge = {edge}"));
    let [from, to] = [question.from_ms, question.to_ms].map(|it| it / 1000);
    let asked = format!(
        "SELECT intDiv(toUnixTimestamp(minute), {step}) * {step} AS step,
            sumIf(requests, action != 'block'), sumIf(requests, action = 'block')
         FROM minutes FINAL
         WHERE minute >= toDateTime({from}) AND minute < toDateTime({to}){of_edge}
         GROUP BY step ORDER BY step"
    );
    let point = |row: Vec<Json>| MinutePoint {
        at_ms: number(&row, 0).saturating_mul(1000),
        passed: number(&row, 1),
        blocked: number(&row, 2),
    };
    Ok(client.ask(&asked).await?.into_iter().map(point).collect())
}
