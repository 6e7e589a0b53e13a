//! Where a visit begins and ends.

use ledger::LogRow;
use policy::site_of;
use std::net::IpAddr;
use std::ops::Range;
use vocab::{Action, DomainName};

/// Rows of a client that are looked through, the newest.
pub const ROWS_MAX: usize = 50_000;
/// Visits that are told, the newest.
pub const VISITS_MAX: usize = 50;
/// Longest pause within a visit before a request for anything, in milliseconds.
pub const GAP_MAX_MS: u64 = 5_000;
/// The same before a request for the site's own name.
pub const OWN_GAP_MAX_MS: u64 = 30_000;
/// Longest visit, in milliseconds: a device that never rests ends none by a pause.
pub const LENGTH_MAX_MS: u64 = 120_000;

/// A visit among rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundVisit {
    /// Rows of it.
    pub rows: Range<usize>,
    /// First request, in milliseconds since 1970.
    pub at_ms: u64,
    /// Last one.
    pub until_ms: u64,
    /// Requests that were blocked.
    pub blocked: usize,
}

/// The site of a name that somebody wrote; an address is its own. None of what is neither.
pub fn site_named(text: &str) -> Option<String> {
    let name = text.trim().trim_end_matches('.');
    if let Ok(address) = name.trim_matches(['[', ']']).parse::<IpAddr>() {
        return Some(address.to_string());
    }
    let host = DomainName::parse(name).ok()?;
    Some(site_of(host.as_str()).to_owned())
}

/// The visit that a moment falls into, in milliseconds since 1970; the newest if none does.
pub fn picked(found: &[FoundVisit], at_ms: Option<u64>) -> Option<&FoundVisit> {
    let is_it =
        |visit: &&FoundVisit| at_ms.is_some_and(|at| (visit.at_ms..=visit.until_ms).contains(&at));
    found.iter().rev().find(is_it).or(found.last())
}

/// Visits of a site among the rows of one client, oldest first.
///
/// A visit begins with a request for a name of the site. It goes on with whatever the client asks
/// for within [`GAP_MAX_MS`], and with names of the site within [`OWN_GAP_MAX_MS`] and what was
/// asked for before them, for at most [`LENGTH_MAX_MS`].
pub fn visits(rows: &[LogRow], site: &str) -> Vec<FoundVisit> {
    let mut found: Vec<FoundVisit> = Vec::new();
    let mut is_open = false;
    for (place, row) in rows.iter().enumerate() {
        let is_own = site_of(&row.host()) == site;
        let goes_on = found.last_mut().filter(|visit| {
            let gap = row.at_ms.saturating_sub(visit.until_ms);
            let gap_max = if is_own { OWN_GAP_MAX_MS } else { GAP_MAX_MS };
            is_open && gap <= gap_max && row.at_ms.saturating_sub(visit.at_ms) <= LENGTH_MAX_MS
        });
        if let Some(visit) = goes_on {
            visit.rows.end = place + 1;
            visit.until_ms = row.at_ms;
            continue;
        }
        // A pause that only the site's own name may bridge is not over for other names.
        let within_own_gap = found
            .last()
            .is_some_and(|visit| row.at_ms.saturating_sub(visit.until_ms) <= OWN_GAP_MAX_MS);
        if is_own {
            let (at_ms, until_ms) = (row.at_ms, row.at_ms);
            found.push(FoundVisit { rows: place..place + 1, at_ms, until_ms, blocked: 0 });
            is_open = true;
        } else if !within_own_gap {
            is_open = false;
        }
    }
    for visit in &mut found {
        let rows = &rows[visit.rows.clone()];
        visit.blocked = rows.iter().filter(|row| row.action == Action::Block).count();
    }
    found
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
pub(crate) mod tests {
    use super::*;
    use ledger::RowCause;
    use vocab::{Caching, Door, RequestKind, Source};

    pub(crate) fn row(at_ms: u64, subject: &str, action: Action) -> LogRow {
        LogRow {
            id: at_ms,
            at_ms,
            door: if subject.contains("://") { Door::Proxy } else { Door::Dns },
            client: "192.0.2.7".parse().unwrap(),
            subject: subject.into(),
            kind: RequestKind::Lookup(1),
            action,
            cause: match action {
                Action::Pass => RowCause::NoRule,
                Action::Block => {
                    RowCause::Rule { list: "ads".into(), line: 3, text: "||ads.example^".into() }
                }
            },
            source: Source::Policy,
            caching: Caching::NONE,
            status: 0,
            bytes: 10,
            duration_us: 1,
        }
    }

    fn spans(rows: &[(u64, &str)], site: &str) -> Vec<(u64, u64, usize)> {
        let rows: Vec<_> = rows.iter().map(|(at, name)| row(*at, name, Action::Pass)).collect();
        let found = visits(&rows, site).into_iter();
        found.map(|visit| (visit.at_ms, visit.until_ms, visit.rows.len())).collect()
    }

    #[test]
    fn a_visit_is_what_follows_the_sites_own_name_without_a_pause() {
        let rows = [
            (1_000, "ads.example"),
            (2_000, "www.news.example"),
            (2_500, "ads.example"),
            (7_000, "https://cdn.other.example/a.js"),
            (12_001, "late.example"),
            (20_000, "https://img.news.example/1.png"),
            (90_000, "news.example"),
        ];
        assert_eq!(spans(&rows, "news.example"), [(2_000, 20_000, 5), (90_000, 90_000, 1)]);
        assert_eq!(spans(&rows, "nowhere.example"), []);
    }

    #[test]
    fn a_device_that_never_rests_ends_a_visit_by_its_length() {
        let rows: Vec<(u64, &str)> = (0..300).map(|at| (at * 1000, "busy.example")).collect();
        let mut rows = rows;
        rows[10].1 = "news.example";
        rows[200].1 = "news.example";
        let found = spans(&rows, "news.example");
        assert_eq!(found, [(10_000, 130_000, 121), (200_000, 299_000, 100)]);
    }

    #[test]
    fn hosts_of_rows_are_read_from_names_and_urls() {
        for (subject, host) in [
            ("Www.Example.", "www.example"),
            ("https://A.example:8443/x?y", "a.example"),
            ("http://u:p@a.example/", "a.example"),
            ("https://[2001:db8::1]:443/", "2001:db8::1"),
            ("https://", ""),
        ] {
            assert_eq!(row(0, subject, Action::Pass).host(), host);
        }
    }
}
