//! Statistics of the handle: what the settings keep of clients, and what is left after a restart.

use super::*;
use crate::clock;
use crate::{
    StatisticClients, StatisticDimension, StatisticRange, StatisticSeries, StatisticsQuery,
    StatisticsReport, StatisticsSettings, UpstreamCount, UpstreamCounts,
};

fn asked(range: StatisticRange) -> StatisticsQuery {
    StatisticsQuery {
        range,
        step: None,
        series: StatisticSeries::All,
        rankings: StatisticDimension::ALL.into(),
        limit: 50,
    }
}

fn lines(report: &StatisticsReport, dimension: StatisticDimension) -> Vec<(String, u64)> {
    let ranking = report.rankings.iter().find(|it| it.dimension == dimension).unwrap();
    ranking.lines.iter().map(|line| (line.key.clone(), line.counts.requests())).collect()
}

fn day(ledger: &Ledger) -> StatisticsReport {
    ledger.statistics(&asked(StatisticRange::Day), AT_NOON).unwrap()
}

/// Each row that is stored is counted once: for its client and, if one decided, for its list.
pub(super) fn check_rows_are_counted(ledger: &Ledger, rows: u64) {
    let now = Now { unix_ms: clock::system(), mono_ms: 0 };
    let report = ledger.statistics(&asked(StatisticRange::Day), now).unwrap();
    assert_eq!(lines(&report, StatisticDimension::Client), [("192.168.1.77".into(), rows)]);
    assert_eq!(lines(&report, StatisticDimension::List), [("ads".into(), 100)]);
    assert!(report.total.requests() >= rows);
}

#[test]
fn statistics_count_clients_as_far_as_the_settings_let_them() {
    let of = |settings: &Settings| {
        let folder = Folder::new();
        let ledger = start(&folder, settings);
        ledger.record(event("www.example", Action::Pass));
        ledger.record(event("ads.example", Action::Block));
        let report = day(&ledger);
        assert_eq!((report.total.passed, report.total.blocked), (1, 1));
        assert_eq!(lines(&report, StatisticDimension::Door), [("dns".into(), 2)]);
        let (clients, lists) = (StatisticDimension::Client, StatisticDimension::List);
        (lines(&report, clients), lines(&report, lists).len())
    };
    let base = Settings::default();
    assert_eq!(of(&base), (vec![("192.168.1.77".into(), 2)], 1));
    let network = Settings { anonymise: AnonymiseMode::Network, ..base.clone() };
    assert_eq!(of(&network), (vec![("192.168.1.0".into(), 2)], 1));
    let none = StatisticsSettings { clients: StatisticClients::None, ..base.statistics.clone() };
    assert_eq!(of(&Settings { statistics: none, ..base.clone() }), (vec![], 1));
    let blocked = Settings { log: LogScope::Blocked, ..base.clone() };
    assert_eq!(of(&blocked), (vec![("192.168.1.77".into(), 1)], 1));
    // Without rows nothing is known of clients and lists.
    let nothing = Settings { log: LogScope::None, ..base.clone() };
    assert_eq!(of(&nothing), (vec![], 0));
    let keep = Text(TimeSpan(Duration::ZERO));
    assert_eq!(of(&Settings { keep, ..base }), (vec![], 0));
}

#[test]
fn clients_go_at_once_when_settings_say_so_and_counts_stay() {
    let folder = Folder::new();
    let base = Settings::default();
    let ledger = start(&folder, &base);
    ledger.record(event("www.example", Action::Pass));
    assert_eq!(lines(&day(&ledger), StatisticDimension::Client).len(), 1);
    ledger.apply(&Settings { anonymise: AnonymiseMode::Network, ..base.clone() });
    wait_until(|| lines(&day(&ledger), StatisticDimension::Client) == [("192.168.1.0".into(), 1)]);
    let none = StatisticsSettings { clients: StatisticClients::None, ..base.statistics.clone() };
    ledger.apply(&Settings { statistics: none, ..base });
    wait_until(|| lines(&day(&ledger), StatisticDimension::Client).is_empty());
    assert_eq!(day(&ledger).total.passed, 1);
}

#[test]
fn statistics_are_there_after_a_restart_and_upstreams_are_counted() {
    struct Quad9;
    impl UpstreamCounts for Quad9 {
        fn counts(&self) -> Vec<UpstreamCount> {
            vec![UpstreamCount { name: "quad9".into(), sent: 7, failed: 2, took_us: 9 }]
        }
    }
    let folder = Folder::new();
    let ledger = start(&folder, &Settings::default());
    ledger.count_upstreams(Arc::new(Quad9));
    ledger.record(event("www.example", Action::Pass));
    ledger.flush();
    ledger.close();
    drop(ledger);
    let again = start(&folder, &Settings::default());
    let report = day(&again);
    assert_eq!((report.total.passed, report.begins_ms), (1, Some(NOON)));
    assert_eq!(lines(&report, StatisticDimension::Upstream), [("quad9".into(), 7)]);
    assert_eq!(report.rankings[3].lines[0].counts.failed, 2);
}
