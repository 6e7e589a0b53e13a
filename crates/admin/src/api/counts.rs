//! Totals, the chart's series, top tables.

use super::{ApiRequest, ApiState};
use crate::query::CheckedQuery;
use crate::refused::ApiRefusal;
use admin_api::{
    ApiProblem, DoorCount, RangeQuery, RequestTotals, SourceCount, TimePoint, TimeSeries, TopLine,
    TopQuery, TopTable,
};
use axum::Json;
use axum::extract::State;
use ledger::{ReportRange, TopKind};
use std::sync::Arc;
use vocab::iso;
use vocab::{Action, Door, Now, Source};

/// Lines of a top table, if none are asked for, and at most.
const LINES_DEFAULT: u32 = 10;
const LINES_MAX: u32 = 100;

/// Counts over a range of time.
#[utoipa::path(get, path = "/api/totals", params(RangeQuery), responses(
    (status = 200, body = RequestTotals),
    (status = 400, body = ApiProblem), (status = 401, body = ApiProblem), (status = 503, body = ApiProblem)
))]
pub(crate) async fn totals(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
    CheckedQuery(query): CheckedQuery<RangeQuery>,
) -> Result<Json<RequestTotals>, ApiRefusal> {
    let range = range(query.range.as_deref())?;
    let found = app.ask(move |app| app.ledger.totals(range, asked.now)).await??;
    Ok(Json(shape_totals(&found, range, asked.now)))
}

/// Counts over time, for a chart.
#[utoipa::path(get, path = "/api/series", params(RangeQuery), responses(
    (status = 200, body = TimeSeries),
    (status = 400, body = ApiProblem), (status = 401, body = ApiProblem), (status = 503, body = ApiProblem)
))]
pub(crate) async fn series(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
    CheckedQuery(query): CheckedQuery<RangeQuery>,
) -> Result<Json<TimeSeries>, ApiRefusal> {
    let range = range(query.range.as_deref())?;
    let found = app.ask(move |app| app.ledger.series(range, asked.now)).await??;
    Ok(Json(TimeSeries {
        range: range.as_str().into(),
        step_s: found.step_s,
        begins: found.begins_ms.map(iso),
        points: found.points.into_iter().map(time_point).collect(),
    }))
}

/// What was asked for most.
#[utoipa::path(get, path = "/api/top", params(TopQuery), responses(
    (status = 200, body = TopTable),
    (status = 400, body = ApiProblem), (status = 401, body = ApiProblem), (status = 503, body = ApiProblem)
))]
pub(crate) async fn top(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
    CheckedQuery(query): CheckedQuery<TopQuery>,
) -> Result<Json<TopTable>, ApiRefusal> {
    let range = range(query.range.as_deref())?;
    let what: TopKind = query
        .what
        .parse()
        .map_err(|_| ApiRefusal::unknown_word("what", &query.what, "blocked, names, clients"))?;
    let n = query.limit.unwrap_or(LINES_DEFAULT).clamp(1, LINES_MAX) as usize;
    let found = app.ask(move |app| app.ledger.top(what, range, n, asked.now)).await??;
    Ok(Json(TopTable {
        what: what.as_str().into(),
        range: range.as_str().into(),
        lines: found.into_iter().map(top_line).collect(),
    }))
}

/// A step of a chart as it is shown.
pub(super) fn time_point(point: ledger::ReportPoint) -> TimePoint {
    TimePoint { at: iso(point.at_ms), passed: point.passed, blocked: point.blocked }
}

/// A line of a top table as it is shown.
pub(super) fn top_line(line: ledger::TopLine) -> TopLine {
    TopLine { text: line.text, count: line.count, blocked: line.blocked }
}

/// The range that is meant; a day if none is.
pub(super) fn range(word: Option<&str>) -> Result<ReportRange, ApiRefusal> {
    let Some(word) = word else { return Ok(ReportRange::Day) };
    word.parse().map_err(|_| ApiRefusal::unknown_word("range", word, "1h, 24h, 7d, 30d"))
}

fn shape_totals(found: &ledger::ReportTotals, range: ReportRange, now: Now) -> RequestTotals {
    let sum = |wanted: &dyn Fn(&ledger::NamedCount) -> bool| -> u64 {
        found.counts.iter().filter(|count| wanted(count)).map(|count| count.count).sum()
    };
    let (passed, blocked) = (found.of(Action::Pass), found.of(Action::Block));
    let requests = passed + blocked;
    let of_door = |door: Door, action| sum(&|count| count.door == door && count.action == action);
    let by_door = Door::ALL.into_iter().map(|door| DoorCount {
        door: door.as_str().into(),
        passed: of_door(door, Action::Pass),
        blocked: of_door(door, Action::Block),
    });
    let by_source = Source::ALL.into_iter().map(|source| SourceCount {
        source: source.as_str().into(),
        count: sum(&|count| count.source == source),
    });
    RequestTotals {
        range: range.as_str().into(),
        since: iso(found.since_ms),
        until: iso(now.unix_ms),
        requests,
        passed,
        blocked,
        blocked_share: if requests == 0 { 0.0 } else { blocked as f64 / requests as f64 },
        by_door: by_door.filter(|door| door.passed + door.blocked > 0).collect(),
        by_source: by_source.filter(|source| source.count > 0).collect(),
    }
}
