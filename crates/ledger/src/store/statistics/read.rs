//! Statistics, read from the roll-ups.
//!
//! A question by the day reads days, and the hours that are not folded into one yet; one by the
//! month likewise. A year of a home's days is some ten thousand lines, however many rows there
//! were. Called by questions to the store.

use super::fold::middle_of;
use super::{SUMS, counts_of, dimension_code, span_code};
use crate::LIMIT_MAX;
use crate::codes::LedgerCode;
use crate::report::ReadError;
use crate::statistics::{
    STEPS_MAX, StatisticCounts, StatisticDimension, StatisticLine, StatisticPoint, StatisticRange,
    StatisticRanking, StatisticSeries, StatisticStep, StatisticsQuery, StatisticsReport,
    client_key, client_of,
};
use crate::store::bytes_of;
use crate::zone::LedgerZone;
use foldhash::fast::RandomState;
use rusqlite::{Connection, OptionalExtension, Result, named_params, params};
use std::collections::HashMap;
use std::net::IpAddr;
use vocab::{Action, Door, Now, Source};
use weekly_hours::CalendarStep;

const DAY_S: i64 = 86_400;
/// Up to this age of all counts, in seconds, a day is shown by the minute.
const YOUNG_S: i64 = 4 * 3_600;
/// Minutes that a series by the minute may have.
const MINUTES_MAX: i64 = 720;

/// Lines of a step's length whose middle lies between two moments.
const LINES: &str = "FROM statistics
    WHERE span = :span AND dimension = :dimension AND at >= :first AND at < :end";

/// Steps of a series, and what they are read from.
struct SeriesSteps {
    step: StatisticStep,
    /// The start of each, and the end of the last.
    bounds: Vec<i64>,
}

/// Answers a question.
pub(in crate::store) fn statistics(
    connection: &Connection,
    query: &StatisticsQuery,
    zone: &LedgerZone,
    now: Now,
) -> std::result::Result<StatisticsReport, ReadError> {
    let now_s = now.unix_secs() as i64;
    let begins = begins(connection, zone)?;
    let steps = steps(connection, query, zone, now_s, begins)?;
    let mut points = blank(&steps, now_s, begins);
    match &query.series {
        _ if points.is_empty() => {}
        StatisticSeries::All if steps.step == StatisticStep::Minute => {
            add_minutes(connection, &steps, None, &mut points)?;
        }
        StatisticSeries::One(StatisticDimension::Door, word)
            if steps.step == StatisticStep::Minute =>
        {
            add_minutes(connection, &steps, word.parse().ok(), &mut points)?;
        }
        StatisticSeries::All => add_steps(connection, &steps, None, &[], &mut points)?,
        StatisticSeries::One(dimension, text) => {
            if let Some(key) = key_of(*dimension, text) {
                add_steps(connection, &steps, Some(*dimension), &key, &mut points)?;
            }
        }
    }
    let mut total = StatisticCounts::default();
    for point in &points {
        total.add(&point.counts);
    }
    let ranked = whole_hours(&steps, zone);
    let ranking = |dimension: &StatisticDimension| {
        ranking(connection, &ranked, *dimension, query.limit.min(LIMIT_MAX))
    };
    Ok(StatisticsReport {
        zone: zone.name().to_owned(),
        begins_ms: begins.map(milliseconds),
        offered: offered(begins, now_s),
        step: steps.step,
        total,
        points,
        rankings: query.rankings.iter().map(ranking).collect::<Result<_>>()?,
    })
}

fn milliseconds(unix_s: i64) -> u64 {
    u64::try_from(unix_s).unwrap_or(0).saturating_mul(1000)
}

/// The first moment that is counted. A month tells no more than that it lies in it: the first day
/// and hour of it do, if they are still there, and the chart's minutes tell the minute.
fn begins(connection: &Connection, zone: &LedgerZone) -> Result<Option<i64>> {
    let mut begins: Option<i64> = None;
    for step in [CalendarStep::Month, CalendarStep::Day, CalendarStep::Hour] {
        let Some(first) = oldest(connection, step)? else { continue };
        // Of what is kept for a shorter time, the oldest may be long after the beginning.
        let within =
            begins.is_none_or(|begins| first < zone.zone().next_step(longer(step), begins));
        if within {
            begins = Some(begins.map_or(first, |begins| begins.max(first)));
        } else if step == CalendarStep::Day {
            return Ok(begins);
        }
    }
    let Some(first) = begins else { return Ok(None) };
    let minute: Option<i64> = connection.query_row(
        "SELECT min(minute) FROM minutes WHERE minute >= ?1",
        [first.div_euclid(60)],
        |row| row.get(0),
    )?;
    let minute = minute.map(|minute| minute.saturating_mul(60));
    Ok(Some(minute.filter(|minute| (first..first + 3_600).contains(minute)).unwrap_or(first)))
}

/// The step that holds several of this one.
const fn longer(step: CalendarStep) -> CalendarStep {
    match step {
        CalendarStep::Hour => CalendarStep::Day,
        CalendarStep::Day | CalendarStep::Month => CalendarStep::Month,
    }
}

/// Ranges that show more than the next shorter one, which the first always does.
fn offered(begins: Option<i64>, now: i64) -> Vec<StatisticRange> {
    let age = begins.map_or(0, |begins| now - begins);
    [
        (StatisticRange::Day, -1),
        (StatisticRange::Week, DAY_S),
        (StatisticRange::Month, 7 * DAY_S),
        (StatisticRange::Year, 30 * DAY_S),
        (StatisticRange::All, 365 * DAY_S),
    ]
    .into_iter()
    .filter(|(_, more_than)| age > *more_than)
    .map(|(range, _)| range)
    .collect()
}

/// The steps of a question: as fine as it asks for, as there is data for, and as fit.
fn steps(
    connection: &Connection,
    query: &StatisticsQuery,
    zone: &LedgerZone,
    now: i64,
    begins: Option<i64>,
) -> Result<SeriesSteps> {
    let (from, to, usual) = span(query.range, now, begins.unwrap_or(now));
    let by_minute = matches!(
        query.series,
        StatisticSeries::All | StatisticSeries::One(StatisticDimension::Door, _)
    );
    // Counting may have begun later than the range; and no step is drawn that is still to come.
    let from = from.max(begins.unwrap_or(from)).min(now);
    let to = to.min(now.saturating_add(1)).max(from);
    // What has just begun has few hours to see, and no day.
    let is_young = usual == StatisticStep::Hour && to - from <= YOUNG_S;
    let usual = if is_young { StatisticStep::Minute } else { usual };
    let mut step = query.step.unwrap_or(usual);
    if step == StatisticStep::Minute && !(by_minute && to - from <= MINUTES_MAX * 60) {
        step = StatisticStep::Hour;
    }
    loop {
        let oldest = match step.calendar() {
            Some(calendar) => oldest(connection, calendar)?,
            None => Some(oldest_minute(connection)?.unwrap_or(i64::MAX)),
        };
        let kept = oldest
            .is_none_or(|oldest| from >= oldest || begins.is_some_and(|begins| begins >= oldest));
        if (kept || step == StatisticStep::Month)
            && let Some(bounds) = bounds(step, zone, from, to)
        {
            return Ok(SeriesSteps { step, bounds });
        }
        if step == StatisticStep::Month {
            // More months than fit: the newest.
            return Ok(SeriesSteps { step, bounds: Vec::new() });
        }
        step = step.coarser();
    }
}

/// From when to when a range goes, and its usual step.
fn span(range: StatisticRange, now: i64, begins: i64) -> (i64, i64, StatisticStep) {
    let back = |seconds: i64, step| (now - seconds, now + 1, step);
    match range {
        StatisticRange::Hour => back(59 * 60, StatisticStep::Minute),
        StatisticRange::Day => back(23 * 3_600, StatisticStep::Hour),
        StatisticRange::Week => back(7 * DAY_S - 3_600, StatisticStep::Hour),
        StatisticRange::Month => back(29 * DAY_S, StatisticStep::Day),
        StatisticRange::Year => back(364 * DAY_S, StatisticStep::Day),
        StatisticRange::All => (begins, now + 1, usual_step(now - begins)),
        StatisticRange::Between { from_ms, to_ms } => {
            let second = |ms: u64| i64::try_from(ms / 1000).unwrap_or(i64::MAX / 2);
            let (from, to) = (second(from_ms), second(to_ms));
            (from, to, usual_step(to.saturating_sub(from)))
        }
    }
}

/// The step for a time of so many seconds.
const fn usual_step(seconds: i64) -> StatisticStep {
    if seconds <= 2 * 3_600 {
        StatisticStep::Minute
    } else if seconds <= 8 * DAY_S {
        StatisticStep::Hour
    } else if seconds <= 2 * 366 * DAY_S {
        StatisticStep::Day
    } else {
        StatisticStep::Month
    }
}

/// The start of the oldest step of a length.
fn oldest(connection: &Connection, step: CalendarStep) -> Result<Option<i64>> {
    let oldest = "SELECT at FROM statistic_steps WHERE span = ?1 ORDER BY at LIMIT 1";
    connection.prepare_cached(oldest)?.query_row([span_code(step)], |row| row.get(0)).optional()
}

/// The oldest minute of the chart.
fn oldest_minute(connection: &Connection) -> Result<Option<i64>> {
    let oldest: Option<i64> =
        connection.query_row("SELECT min(minute) FROM minutes", [], |row| row.get(0))?;
    Ok(oldest.map(|minute| minute.saturating_mul(60)))
}

/// The start of each step from one moment to another, and the end of the last; none if they are
/// more than fit.
fn bounds(step: StatisticStep, zone: &LedgerZone, from: i64, to: i64) -> Option<Vec<i64>> {
    let zone = zone.zone();
    let (start, next): (i64, Box<dyn Fn(i64) -> i64>) = match step.calendar() {
        None => (from.div_euclid(60) * 60, Box::new(|at| at + 60)),
        Some(step) => (zone.step_start(step, from), Box::new(move |at| zone.next_step(step, at))),
    };
    let mut bounds = vec![start];
    let mut at = start;
    while at < to {
        at = next(at);
        bounds.push(at);
        if bounds.len() > STEPS_MAX + 1 {
            return None;
        }
    }
    Some(bounds)
}

/// The steps without requests, each with the part of it that is counted.
fn blank(steps: &SeriesSteps, now: i64, begins: Option<i64>) -> Vec<StatisticPoint> {
    let Some(begins) = begins else { return Vec::new() };
    let point = |bounds: &[i64]| {
        let (start, end) = (bounds[0], bounds[1]);
        let counted = end.min(now.max(start)) - start.max(begins.min(end));
        StatisticPoint {
            at_ms: milliseconds(start),
            until_ms: milliseconds(end),
            share: (counted as f64 / (end - start).max(1) as f64).clamp(0.0, 1.0),
            counts: StatisticCounts::default(),
        }
    };
    steps.bounds.windows(2).map(point).collect()
}

/// The steps that a ranking reads: nobody is counted by the minute.
fn whole_hours(steps: &SeriesSteps, zone: &LedgerZone) -> SeriesSteps {
    let (first, end) = steps.range();
    let step = steps.step.max(StatisticStep::Hour);
    let bounds = match steps.step {
        StatisticStep::Minute => bounds(step, zone, first, end).unwrap_or_default(),
        StatisticStep::Hour | StatisticStep::Day | StatisticStep::Month => steps.bounds.clone(),
    };
    SeriesSteps { step, bounds }
}

impl SeriesSteps {
    /// The first moment and the end.
    fn range(&self) -> (i64, i64) {
        (self.bounds.first().copied().unwrap_or(0), self.bounds.last().copied().unwrap_or(0))
    }

    /// The place of a moment.
    fn place(&self, at: i64) -> Option<usize> {
        self.bounds.partition_point(|bound| *bound <= at).checked_sub(1)
    }

    /// Lengths of steps that are read, and the part of each: all, or what was not folded yet.
    fn sources(&self) -> Vec<(CalendarStep, &'static str)> {
        const ALL: &str = "";
        const UNFOLDED: &str = " AND at IN
            (SELECT at FROM statistic_steps WHERE span = :span AND folded IS NULL)";
        match self.step {
            StatisticStep::Minute | StatisticStep::Hour => vec![(CalendarStep::Hour, ALL)],
            StatisticStep::Day => vec![(CalendarStep::Day, ALL), (CalendarStep::Hour, UNFOLDED)],
            StatisticStep::Month => vec![
                (CalendarStep::Month, ALL),
                (CalendarStep::Day, UNFOLDED),
                (CalendarStep::Hour, UNFOLDED),
            ],
        }
    }
}

/// Adds the lines of one key.
fn add_steps(
    connection: &Connection,
    steps: &SeriesSteps,
    dimension: Option<StatisticDimension>,
    key: &[u8],
    points: &mut [StatisticPoint],
) -> Result<()> {
    let (first, end) = steps.range();
    for (span, part) in steps.sources() {
        let mut select = connection.prepare(&format!(
            "SELECT at, passed, blocked, cached, failed, bytes, took_us {LINES} AND key = :key{part}"
        ))?;
        let mut found = select.query(named_params! {
            ":span": span_code(span), ":dimension": dimension_code(dimension),
            ":first": first - middle_of(span, 0), ":end": end - middle_of(span, 0), ":key": key,
        })?;
        while let Some(row) = found.next()? {
            let middle = middle_of(span, row.get(0)?);
            let place = steps.place(middle).and_then(|place| points.get_mut(place));
            if let Some(point) = place {
                point.counts.add(&counts_of(row, 1)?);
            }
        }
    }
    Ok(())
}

/// Adds the minutes of the chart, of one door or all.
fn add_minutes(
    connection: &Connection,
    steps: &SeriesSteps,
    door: Option<Door>,
    points: &mut [StatisticPoint],
) -> Result<()> {
    let (first, end) = steps.range();
    let mut select = connection.prepare(
        "SELECT minute, action, source, count FROM minutes
         WHERE minute >= ?1 AND minute < ?2 AND (?3 IS NULL OR door = ?3)",
    )?;
    let mut found = select.query(params![first / 60, end / 60, door.map(LedgerCode::code)])?;
    while let Some(row) = found.next()? {
        let (minute, count): (i64, i64) = (row.get(0)?, row.get(3)?);
        let words = Action::from_code(row.get(1)?).zip(Source::from_code(row.get(2)?));
        let place = steps.place(minute.saturating_mul(60)).and_then(|it| points.get_mut(it));
        if let (Some(point), Some((action, source))) = (place, words) {
            point.counts.count(action, source, count.cast_unsigned());
        }
    }
    Ok(())
}

/// Ranking by requests.
fn ranking(
    connection: &Connection,
    steps: &SeriesSteps,
    dimension: StatisticDimension,
    limit: usize,
) -> Result<StatisticRanking> {
    let (first, end) = steps.range();
    let mut sums: HashMap<Vec<u8>, StatisticCounts, RandomState> = HashMap::default();
    for (span, part) in steps.sources() {
        let mut select =
            connection.prepare(&format!("SELECT key, {SUMS} {LINES}{part} GROUP BY key"))?;
        let mut found = select.query(named_params! {
            ":span": span_code(span), ":dimension": dimension_code(Some(dimension)),
            ":first": first - middle_of(span, 0), ":end": end - middle_of(span, 0),
        })?;
        while let Some(row) = found.next()? {
            let counts = counts_of(row, 1)?;
            let key = bytes_of(row, 0)?;
            match sums.get_mut(key) {
                Some(sum) => sum.add(&counts),
                None => drop(sums.insert(key.to_vec(), counts)),
            }
        }
    }
    let mut others = sums.remove(&[][..]).unwrap_or_default();
    let mut ranked: Vec<_> = sums
        .into_iter()
        .filter_map(|(key, counts)| Some((text_of(dimension, &key)?, counts)))
        .collect();
    ranked.sort_unstable_by(|(a, one), (b, other)| {
        other.requests().cmp(&one.requests()).then_with(|| a.cmp(b))
    });
    let rest = ranked.split_off(limit.min(ranked.len()));
    for (_, counts) in &rest {
        others.add(counts);
    }
    let line = |(key, counts)| StatisticLine { key, counts };
    Ok(StatisticRanking {
        dimension,
        lines: ranked.into_iter().map(line).collect(),
        others,
        more: rest.len(),
    })
}

/// The key of a text, as it stands in the file.
fn key_of(dimension: StatisticDimension, text: &str) -> Option<Vec<u8>> {
    Some(match dimension {
        StatisticDimension::Door => vec![text.parse::<Door>().ok()?.code()],
        StatisticDimension::Client => client_key(text.parse::<IpAddr>().ok()?.to_canonical()),
        StatisticDimension::List | StatisticDimension::Upstream => text.as_bytes().to_vec(),
    })
}

/// The text of a key.
fn text_of(dimension: StatisticDimension, key: &[u8]) -> Option<String> {
    match dimension {
        StatisticDimension::Door => {
            Door::from_code(*key.first()?).map(|door| door.as_str().to_owned())
        }
        StatisticDimension::Client => client_of(key).map(|client| client.to_string()),
        StatisticDimension::List | StatisticDimension::Upstream => {
            Some(String::from_utf8_lossy(key).into_owned())
        }
    }
}
