//! Statistics by the hour, the day and the month.

use super::{ApiRequest, ApiState};
use crate::query::CheckedQuery;
use crate::refused::ApiRefusal;
use crate::table_export::{attachment, read_format};
use admin_api::{
    ApiProblem, CountInfo, RankingInfo, RankingLine, StatisticKey, StatisticsPage, StatisticsPoint,
    StatisticsQuery,
};
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use ledger::{
    StatisticCounts, StatisticDimension, StatisticPoint, StatisticRange, StatisticRanking,
    StatisticSeries, StatisticsReport,
};
use std::io;
use std::sync::Arc;
use table_files::{ExportCell, ExportFormat, TableExport};
use vocab::iso;
use vocab::{Door, Now};

/// Lines of a ranking, if none are asked for; of a file, as many as there may be.
const LINES_DEFAULT: u32 = 20;

/// Columns of a series and of a ranking in a file.
const SERIES_COLUMNS: &[&str] =
    &["at", "until", "share", "passed", "blocked", "cached", "failed", "bytes", "took_us"];
const RANKING_COLUMNS: &[&str] =
    &["by", "key", "passed", "blocked", "cached", "failed", "bytes", "took_us"];
/// The key of the line of all that have none.
const OTHERS: &str = "(others)";

/// Counts of requests over hours, days and months, by client, list, door and upstream.
#[utoipa::path(get, path = "/api/statistics", params(StatisticsQuery), responses(
    (status = 200, body = StatisticsPage, description = "With `format=csv` or `jsonl` a file of the series, or of the ranking that `by` names"),
    (status = 400, body = ApiProblem), (status = 401, body = ApiProblem), (status = 503, body = ApiProblem)
))]
pub(crate) async fn statistics(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
    CheckedQuery(words): CheckedQuery<StatisticsQuery>,
) -> Result<Response, ApiRefusal> {
    let format = read_format(words.format.as_deref())?;
    let query = query(&words, format, asked.now)?;
    let (range, only) = (query.range, key(&query.series));
    let report = app.ask(move |app| app.ledger.statistics(&query, asked.now)).await??;
    match format {
        None => Ok(Json(page(report, range, only)).into_response()),
        Some(format) => file(&report, format, range),
    }
}

fn query(
    words: &StatisticsQuery,
    format: Option<ExportFormat>,
    now: Now,
) -> Result<ledger::StatisticsQuery, ApiRefusal> {
    let step = match filled(words.step.as_ref()) {
        None => None,
        Some(word) => Some(
            word.parse()
                .map_err(|_| ApiRefusal::unknown_word("step", word, "minute, hour, day, month"))?,
        ),
    };
    let rankings =
        match filled(words.by.as_ref()) {
            None if format.is_some() => Vec::new(),
            None => StatisticDimension::ALL.into(),
            Some(word) => vec![word.parse().map_err(|_| {
                ApiRefusal::unknown_word("by", word, "client, list, door, upstream")
            })?],
        };
    let usual = if format.is_some() { ledger::LIMIT_MAX as u32 } else { LINES_DEFAULT };
    let limit = words.limit.unwrap_or(usual).clamp(1, ledger::LIMIT_MAX as u32) as usize;
    Ok(ledger::StatisticsQuery {
        range: range(words, now)?,
        step,
        series: series(words)?,
        rankings,
        limit,
    })
}

fn filled(word: Option<&String>) -> Option<&str> {
    word.map(String::as_str).filter(|word| !word.is_empty())
}

fn range(words: &StatisticsQuery, now: Now) -> Result<StatisticRange, ApiRefusal> {
    let wrong = |error: &str, remedy: &str| ApiRefusal::new(StatusCode::BAD_REQUEST, error, remedy);
    match (filled(words.range.as_ref()), words.from, words.to) {
        (None, None, None) => Ok(StatisticRange::Day),
        (Some(word), None, None) => word.parse().map_err(|_| {
            ApiRefusal::unknown_word("range", word, "hour, day, week, month, year, all")
        }),
        (None, Some(from_ms), to) => {
            let to_ms = to.unwrap_or(now.unix_ms);
            if from_ms < to_ms {
                Ok(StatisticRange::Between { from_ms, to_ms })
            } else {
                Err(wrong("`to` is not after `from`", "write the earlier moment as `from`"))
            }
        }
        (None, None, Some(_)) => Err(wrong("`to` stands without `from`", "write `from` too")),
        (Some(_), _, _) => Err(wrong(
            "`range` and `from` are two ways to say the same",
            "leave `range` out, or `from` and `to`",
        )),
    }
}

fn series(words: &StatisticsQuery) -> Result<StatisticSeries, ApiRefusal> {
    let given = [
        (StatisticDimension::Client, filled(words.client.as_ref())),
        (StatisticDimension::List, filled(words.list.as_ref())),
        (StatisticDimension::Door, filled(words.door.as_ref())),
        (StatisticDimension::Upstream, filled(words.upstream.as_ref())),
    ];
    let mut given = given.into_iter().filter_map(|(by, key)| Some((by, key?)));
    let Some((by, key)) = given.next() else { return Ok(StatisticSeries::All) };
    if let Some((other, _)) = given.next() {
        return Err(ApiRefusal::new(
            StatusCode::BAD_REQUEST,
            format!("`{}` and `{}` cannot be asked for at once", by.as_str(), other.as_str()),
            "counts are kept for each by itself: leave one out",
        ));
    }
    if by == StatisticDimension::Client && key.parse::<std::net::IpAddr>().is_err() {
        return Err(ApiRefusal::unknown_word("client", key, "the addresses of `by=client`"));
    }
    if by == StatisticDimension::Door && key.parse::<Door>().is_err() {
        return Err(ApiRefusal::unknown_word("door", key, "dns, pixel, proxy, web, gateway"));
    }
    Ok(StatisticSeries::One(by, key.to_owned()))
}

fn key(series: &StatisticSeries) -> Option<StatisticKey> {
    match series {
        StatisticSeries::All => None,
        StatisticSeries::One(by, key) => {
            Some(StatisticKey { by: by.as_str().into(), key: key.clone() })
        }
    }
}

fn page(
    report: StatisticsReport,
    range: StatisticRange,
    only: Option<StatisticKey>,
) -> StatisticsPage {
    let line =
        |line: ledger::StatisticLine| RankingLine { key: line.key, counts: counts(&line.counts) };
    let ranking = |it: StatisticRanking| RankingInfo {
        by: it.dimension.as_str().into(),
        lines: it.lines.into_iter().map(line).collect(),
        others: counts(&it.others),
        more: it.more as u64,
    };
    let point = |point: StatisticPoint| StatisticsPoint {
        at: iso(point.at_ms),
        until: iso(point.until_ms),
        share: point.share,
        counts: counts(&point.counts),
    };
    StatisticsPage {
        range: range.as_str().into(),
        offered: report.offered.iter().map(|range| range.as_str().into()).collect(),
        zone: report.zone,
        begins: report.begins_ms.map(iso),
        step: report.step.as_str().into(),
        only,
        total: counts(&report.total),
        points: report.points.into_iter().map(point).collect(),
        rankings: report.rankings.into_iter().map(ranking).collect(),
    }
}

const fn counts(counts: &StatisticCounts) -> CountInfo {
    let StatisticCounts { passed, blocked, cached, failed, bytes, took_us } = *counts;
    CountInfo { passed, blocked, cached, failed, bytes, took_us }
}

/// The series as a file, or the ranking that was asked for.
fn file(
    report: &StatisticsReport,
    format: ExportFormat,
    range: StatisticRange,
) -> Result<Response, ApiRefusal> {
    let range = if range.as_str().is_empty() { "range" } else { range.as_str() };
    let (name, bytes) = match report.rankings.first() {
        Some(ranking) => {
            (format!("tidegate-{}s-{range}", ranking.dimension.as_str()), ranked(ranking, format))
        }
        None => (format!("tidegate-statistics-{range}"), over_time(&report.points, format)),
    };
    let bytes = bytes.map_err(|why| {
        let remedy = "ask for JSON, and report this";
        ApiRefusal::new(StatusCode::INTERNAL_SERVER_ERROR, why.to_string(), remedy)
    })?;
    Ok(attachment(format, &name, Body::from(bytes)))
}

fn ranked(ranking: &StatisticRanking, format: ExportFormat) -> io::Result<Vec<u8>> {
    let row = |key: &str, counts: &StatisticCounts| {
        let mut cells =
            vec![ExportCell::text(ranking.dimension.as_str()), ExportCell::text(key.to_owned())];
        cells.extend(cells_of(counts));
        cells
    };
    let lines = ranking.lines.iter().map(|line| row(&line.key, &line.counts));
    let others = Some(&ranking.others).filter(|counts| **counts != StatisticCounts::default());
    let others = others.map(|counts| row(OTHERS, counts));
    TableExport::new(format, RANKING_COLUMNS).rows(lines.chain(others))
}

fn over_time(points: &[StatisticPoint], format: ExportFormat) -> io::Result<Vec<u8>> {
    let row = |point: &StatisticPoint| {
        let mut cells = vec![
            ExportCell::text(iso(point.at_ms)),
            ExportCell::text(iso(point.until_ms)),
            ExportCell::Share(point.share),
        ];
        cells.extend(cells_of(&point.counts));
        cells
    };
    TableExport::new(format, SERIES_COLUMNS).rows(points.iter().map(row))
}

fn cells_of(counts: &StatisticCounts) -> [ExportCell<'static>; 6] {
    let StatisticCounts { passed, blocked, cached, failed, bytes, took_us } = *counts;
    [passed, blocked, cached, failed, bytes, took_us].map(ExportCell::Number)
}
