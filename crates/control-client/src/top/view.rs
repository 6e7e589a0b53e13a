//! The lines of the live view.
//!
//! Rates are between two looks; the first look has none yet, and shows those since the start.

use super::TopSnapshot;
use admin_api::{DoorLatency, PoolServer, TopTable};
use std::fmt::Write as _;

/// Lines of a table, and of servers and upstreams, at most.
const ROWS_MAX: usize = 8;
/// Letters of a name.
const NAME_LENGTH: usize = 26;

pub(super) fn lines(now: &TopSnapshot, before: Option<&TopSnapshot>) -> Vec<String> {
    let mut lines = head(now);
    lines.push(String::new());
    doors(&mut lines, now, before);
    tables(&mut lines, now);
    upstreams(&mut lines, now);
    pools(&mut lines, now);
    caches(&mut lines, now);
    lines.extend(now.status.running.warnings.iter().take(ROWS_MAX).map(|it| {
        let warning = plain(it);
        format!("warning  {warning}")
    }));
    lines
}

fn head(now: &TopSnapshot) -> Vec<String> {
    let running = &now.status.running;
    let memory =
        running.resident_bytes.map_or_else(String::new, |it| format!(", {} MiB", it >> 20));
    let paused = running
        .paused_until
        .as_ref()
        .map_or_else(String::new, |until| format!(", paused until {until}"));
    vec![
        format!(
            "tidegate {}, process {}, up {}{memory}{paused}",
            running.version,
            running.pid,
            span(running.uptime_s)
        ),
        format!(
            "{} lists, {} rules; last hour: {} requests, {:.1} % blocked; log: {} rows, {} dropped",
            running.lists,
            running.rules,
            now.totals.requests,
            now.totals.blocked_share * 100.0,
            now.status.ledger.stored,
            now.status.ledger.dropped_queue + now.status.ledger.dropped_store,
        ),
    ]
}

fn doors(lines: &mut Vec<String>, now: &TopSnapshot, before: Option<&TopSnapshot>) {
    lines.push(format!(
        "{:<9} {:>8} {:>11} {:>9} {:>9} {:>12} {:>12}",
        "door", "per s", "requests", "median", "99 of 100", "passed 1h", "blocked 1h"
    ));
    for door in &now.status.latency {
        let hour = now.totals.by_door.iter().find(|it| it.door == door.door);
        lines.push(format!(
            "{:<9} {:>8.1} {:>11} {:>9} {:>9} {:>12} {:>12}",
            door.door,
            rate(door, now, before),
            door.count,
            duration(door.median_us),
            duration(door.p99_us),
            hour.map_or(0, |it| it.passed),
            hour.map_or(0, |it| it.blocked),
        ));
    }
    if now.status.latency.is_empty() {
        lines.push("no door has had a request yet".into());
    }
}

fn rate(door: &DoorLatency, now: &TopSnapshot, before: Option<&TopSnapshot>) -> f64 {
    let Some(before) = before else {
        return door.count as f64 / now.status.running.uptime_s.max(1) as f64;
    };
    let earlier = before.status.latency.iter().find(|it| it.door == door.door);
    let more = door.count.saturating_sub(earlier.map_or(0, |it| it.count));
    more as f64 / now.at.duration_since(before.at).as_secs_f64().max(0.001)
}

/// The tables beside one another.
fn tables(lines: &mut Vec<String>, now: &TopSnapshot) {
    let tables = [("names", &now.names), ("blocked", &now.blocked), ("clients", &now.clients)];
    let rows = tables.iter().map(|(_, table)| table.lines.len()).max().unwrap_or(0);
    if rows == 0 {
        return;
    }
    lines.push(String::new());
    let heads = tables.map(|(name, _)| format!("{:<NAME_LENGTH$} {:>8}", name, "1h"));
    lines.push(heads.join("  "));
    for row in 0..rows.min(ROWS_MAX) {
        let cells = tables.map(|(_, table)| cell(table, row));
        lines.push(cells.join("  ").trim_end().to_owned());
    }
}

fn cell(table: &TopTable, row: usize) -> String {
    let Some(line) = table.lines.get(row) else { return " ".repeat(NAME_LENGTH + 9) };
    format!("{:<NAME_LENGTH$} {:>8}", cut(&plain(&line.text)), line.count)
}

fn upstreams(lines: &mut Vec<String>, now: &TopSnapshot) {
    let all = &now.upstreams.upstreams;
    if all.is_empty() {
        return;
    }
    lines.push(String::new());
    let head = ["upstream", "state", "questions", "failures", "mean"];
    lines.push(row(head.map(str::to_owned)));
    for it in all.iter().take(ROWS_MAX) {
        let state = if it.healthy { "asked" } else { "aside" };
        lines.push(row([
            plain(&it.name),
            state.into(),
            it.queries.to_string(),
            it.failures.to_string(),
            it.latency_us.map_or_else(|| "-".into(), duration),
        ]));
    }
    more(lines, all.len());
}

fn pools(lines: &mut Vec<String>, now: &TopSnapshot) {
    let servers = |it: &'_ PoolServer| {
        row([
            format!("  {}", plain(&it.url)),
            it.state.clone(),
            it.answers.to_string(),
            it.failures.to_string(),
            duration(it.latency_us),
        ])
    };
    for pool in &now.pools.pools {
        lines.push(String::new());
        let waiting = pool.waiting_high + pool.waiting_normal + pool.waiting_low;
        let name = format!("pool {} ({waiting} waiting)", plain(&pool.name));
        lines.push(row([
            name,
            "state".into(),
            "answers".into(),
            "failures".into(),
            "begin".into(),
        ]));
        lines.extend(pool.servers.iter().take(ROWS_MAX).map(servers));
        more(lines, pool.servers.len());
    }
}

fn caches(lines: &mut Vec<String>, now: &TopSnapshot) {
    lines.push(String::new());
    lines.push(row(["cache", "hit", "hits", "misses", "memory"].map(str::to_owned)));
    for it in now.caches.caches.iter().take(ROWS_MAX) {
        let name = format!("dns {}", plain(&it.name));
        lines.push(cache([name, mebibytes(it.bytes)], it.hits + it.stale, it.misses));
    }
    for it in &now.stores.stores {
        let hits = it.hits + it.stale + it.collapsed;
        lines.push(cache([it.door.clone(), mebibytes(it.bytes)], hits, it.fetched));
    }
}

fn cache([name, memory]: [String; 2], hits: u64, misses: u64) -> String {
    let share = hits as f64 / (hits + misses).max(1) as f64 * 100.0;
    row([name, format!("{share:.0} %"), hits.to_string(), misses.to_string(), memory])
}

fn row([name, state, first, second, last]: [String; 5]) -> String {
    format!("{:<NAME_LENGTH$} {state:>8} {first:>12} {second:>12} {last:>10}", cut(&name))
}

fn more(lines: &mut Vec<String>, count: usize) {
    if count > ROWS_MAX {
        lines.push(format!("  and {} more", count - ROWS_MAX));
    }
}

/// A text without what a terminal would obey.
fn plain(text: &str) -> String {
    text.chars().filter(|it| !it.is_control()).collect()
}

fn cut(text: &str) -> String {
    if text.chars().count() <= NAME_LENGTH {
        return text.to_owned();
    }
    text.chars().take(NAME_LENGTH - 1).chain(['\u{2026}']).collect()
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

/// Microseconds as people read them.
fn duration(us: u64) -> String {
    match us {
        0..1_000 => format!("{us} \u{b5}s"),
        1_000..1_000_000 => format!("{:.1} ms", us as f64 / 1e3),
        _ => format!("{:.1} s", us as f64 / 1e6),
    }
}

/// Seconds as people read them.
fn span(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    let mut text = String::new();
    // A text grows in memory and cannot fail.
    let _ = match (days, hours, minutes) {
        (0, 0, 0) => write!(text, "{seconds} s"),
        (0, 0, minutes) => write!(text, "{minutes} min"),
        (0, hours, minutes) => write!(text, "{hours} h {minutes} min"),
        (days, hours, _) => write!(text, "{days} d {hours} h"),
    };
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_names_are_short_and_harmless() {
        assert_eq!([duration(41), duration(40_960)], ["41 \u{b5}s", "41.0 ms"]);
        assert_eq!(duration(2_500_000), "2.5 s");
        assert_eq!([span(59), span(3_700), span(90_000)], ["59 s", "1 h 1 min", "1 d 1 h"]);
        assert_eq!(plain("a\x1b[2Jb\n"), "a[2Jb");
        assert_eq!(cut(&"x".repeat(60)).chars().count(), NAME_LENGTH);
    }
}
