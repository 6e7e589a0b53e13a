//! Statistics: folded, capped, anonymised, brought forward from older files, and read.

use super::*;
use crate::report::ReadError;
use crate::statistics::{
    HOUR_KEYS_MAX, StatisticCounts, StatisticDimension, StatisticRange, StatisticSeries,
    StatisticStep, StatisticsQuery, StatisticsReport, UpstreamCount,
};
use crate::store::statistics::backfill::BackfillTerms;
use crate::store::statistics::tidy::StatisticsBounds;
use crate::zone::LedgerZone;
use std::net::IpAddr;
use weekly_hours::{CalendarStep, ScheduleZone};

const DAY: u64 = 24 * HOUR;

/// What happens at one moment.
struct Happening<'h> {
    at_ms: u64,
    clients: &'h [IpAddr],
    name: &'h str,
    action: Action,
    zone: &'h LedgerZone,
}

impl Happening<'_> {
    fn write(&self, store: &mut LedgerStore) {
        let (queue, counters) = (RowQueue::new(), LedgerCounters::new());
        let at = Now { unix_ms: self.at_ms, mono_ms: 0 };
        for client in self.clients {
            let asked = RequestEvent { at, client: *client, ..event(self.name, self.action) };
            queue.push(0, &asked).unwrap();
            counters.count(0, &crate::CountedRequest::of(&asked));
        }
        let mut buffers = Vec::new();
        queue.drain(&mut buffers);
        let upstream = UpstreamCount { name: "quad9".into(), sent: 2, failed: 1, took_us: 90 };
        store
            .write(&RowBatch {
                buffers: &buffers,
                counts: &counters.counted(),
                minute: self.at_ms / 60_000,
                hour: self
                    .zone
                    .zone()
                    .step_start(CalendarStep::Hour, (self.at_ms / 1000).cast_signed()),
                clients: CountedClients::Each,
                upstreams: &[upstream],
                anonymise: AnonymiseMode::None,
                rules: &OneList,
            })
            .unwrap();
    }
}

fn zone(name: &str) -> LedgerZone {
    LedgerZone::of(name)
}

fn client(number: u8) -> IpAddr {
    IpAddr::from([192, 168, 1, number])
}

/// One request of two clients each at a moment.
fn ask(store: &mut LedgerStore, at_ms: u64, action: Action) {
    let clients = [client(7), client(8)];
    let zone = zone("UTC");
    Happening { at_ms, clients: &clients, name: "www.example", action, zone: &zone }.write(store);
}

fn query(range: StatisticRange) -> StatisticsQuery {
    StatisticsQuery {
        range,
        step: None,
        series: StatisticSeries::All,
        rankings: StatisticDimension::ALL.into(),
        limit: 100,
    }
}

fn answer(folder: &Folder, query: &StatisticsQuery, at_ms: u64) -> StatisticsReport {
    let answered: Result<_, ReadError> =
        reader(folder).statistics(query, &zone("UTC"), Now { unix_ms: at_ms, mono_ms: 0 });
    answered.unwrap()
}

fn fold_all(store: &mut LedgerStore, now_ms: u64) {
    while store.fold_step(now_ms, &ScheduleZone::UTC).unwrap() == CleanupProgress::More {}
}

fn tidy_all(store: &mut LedgerStore, now_ms: u64, clients: CountedClients) {
    let days = |count: u64| Duration::from_hours(count * 24);
    let bounds = StatisticsBounds {
        keep_hours: days(40),
        keep_days: days(730),
        keep_months: days(3650),
        clients,
    };
    while store.tidy_step(now_ms, bounds).unwrap() == CleanupProgress::More {}
}

fn ranked(report: &StatisticsReport, dimension: StatisticDimension) -> Vec<(String, u64)> {
    let ranking = report.rankings.iter().find(|it| it.dimension == dimension).unwrap();
    ranking.lines.iter().map(|line| (line.key.clone(), line.counts.requests())).collect()
}

#[test]
fn a_day_counts_by_door_client_list_and_upstream() {
    let folder = Folder::new();
    let (mut store, _) = LedgerStore::open(folder.path(), NOON).unwrap();
    ask(&mut store, NOON - 2 * HOUR, Action::Pass);
    ask(&mut store, NOON, Action::Block);
    // By itself a ledger of two hours is shown by the minute.
    let young = answer(&folder, &query(StatisticRange::Day), NOON + 900_000);
    assert_eq!((young.step, young.points.len()), (StatisticStep::Minute, 136));
    let by_hour = StatisticsQuery { step: Some(StatisticStep::Hour), ..query(StatisticRange::Day) };
    let report = answer(&folder, &by_hour, NOON + 900_000);
    assert_eq!((report.step, report.points.len()), (StatisticStep::Hour, 3));
    let counted: Vec<_> =
        report.points.iter().map(|it| (it.counts.passed, it.counts.blocked, it.share)).collect();
    assert_eq!(counted, [(2, 0, 1.0), (0, 0, 1.0), (0, 2, 0.25)], "the last hour is young");
    let total = StatisticCounts {
        passed: 2,
        blocked: 2,
        cached: 2,
        failed: 0,
        bytes: 480,
        took_us: 4 * 41,
    };
    assert_eq!(report.total, total);
    assert_eq!(ranked(&report, StatisticDimension::Door), [("dns".into(), 4)]);
    let clients = [("192.168.1.7".into(), 2), ("192.168.1.8".into(), 2)];
    assert_eq!(ranked(&report, StatisticDimension::Client), clients);
    assert_eq!(ranked(&report, StatisticDimension::List), [("ads".into(), 2)]);
    assert_eq!(ranked(&report, StatisticDimension::Upstream), [("quad9".into(), 4)]);
    let one = StatisticSeries::One(StatisticDimension::Client, "192.168.1.8".into());
    let one = answer(&folder, &StatisticsQuery { series: one, ..query(StatisticRange::Day) }, NOON);
    assert_eq!((one.total.passed, one.total.blocked), (1, 1));
    let hour = answer(&folder, &query(StatisticRange::Hour), NOON);
    assert_eq!((hour.step, hour.total.blocked), (StatisticStep::Minute, 2));
    assert_eq!(ranked(&hour, StatisticDimension::Door), [("dns".into(), 2)]);
}

#[test]
fn hours_become_days_and_days_months_and_nothing_is_counted_twice() {
    let folder = Folder::new();
    let (mut store, _) = LedgerStore::open(folder.path(), NOON).unwrap();
    for day in 0..100 {
        ask(&mut store, NOON + day * DAY, Action::Pass);
        ask(&mut store, NOON + day * DAY + HOUR, Action::Block);
        // As the writer does, between batches; a process that is killed loses a step at most.
        if day % 3 == 0 {
            let step = store.fold_step(NOON + day * DAY, &ScheduleZone::UTC);
            assert!(step.is_ok());
            drop(store);
            (store, _) = LedgerStore::open(folder.path(), NOON).unwrap();
        }
    }
    let now = NOON + 99 * DAY + 2 * HOUR;
    for fold in [false, true, true] {
        if fold {
            fold_all(&mut store, now);
        }
        for step in [StatisticStep::Day, StatisticStep::Month] {
            let asked = StatisticsQuery { step: Some(step), ..query(StatisticRange::All) };
            let report = answer(&folder, &asked, now);
            assert_eq!((report.step, report.total.requests()), (step, 400));
            assert_eq!(ranked(&report, StatisticDimension::Client)[0].1, 200);
            assert_eq!(ranked(&report, StatisticDimension::List), [("ads".into(), 200)]);
        }
    }
    let year = answer(&folder, &query(StatisticRange::Year), now);
    assert_eq!(
        (year.step, year.points.len()),
        (StatisticStep::Day, 100),
        "no step before the first"
    );
    assert!(year.points.iter().all(|point| point.counts.requests() == 4));
    assert_eq!((year.points[0].share, year.points[99].share), (0.5, 14.0 / 24.0));
    tidy_all(&mut store, now + 41 * DAY, CountedClients::Each);
    let hours = StatisticsQuery { step: Some(StatisticStep::Hour), ..query(StatisticRange::Week) };
    let later = now + 41 * DAY;
    assert_eq!(answer(&folder, &hours, later).total.requests(), 0);
    assert_eq!(answer(&folder, &query(StatisticRange::Year), later).total.requests(), 400);
}

#[test]
fn what_comes_late_for_a_folded_hour_is_in_its_day_and_month_too() {
    let folder = Folder::new();
    let (mut store, _) = LedgerStore::open(folder.path(), NOON).unwrap();
    ask(&mut store, NOON, Action::Pass);
    let later = NOON + 40 * DAY;
    fold_all(&mut store, later);
    // A clock that was set back; once into the folded hour, once into an hour that is not there.
    ask(&mut store, NOON, Action::Block);
    ask(&mut store, NOON + 3 * HOUR, Action::Block);
    for _ in 0..2 {
        for step in [StatisticStep::Day, StatisticStep::Month] {
            let asked = StatisticsQuery { step: Some(step), ..query(StatisticRange::All) };
            let total = answer(&folder, &asked, later).total;
            assert_eq!((total.passed, total.blocked), (2, 4), "{step:?}");
        }
        fold_all(&mut store, later);
    }
}

#[test]
fn days_are_those_of_the_zone_and_a_change_of_it_doubles_nothing() {
    let folder = Folder::new();
    let (mut store, _) = LedgerStore::open(folder.path(), NOON).unwrap();
    let kolkata = zone("Asia/Kolkata");
    let clients = [client(7)];
    // 23:45 and 00:15 there.
    let midnight = NOON + 6 * HOUR + HOUR / 2;
    for at_ms in [midnight - 900_000, midnight + 900_000] {
        let asked = Happening {
            at_ms,
            clients: &clients,
            name: "www.example",
            action: Action::Pass,
            zone: &kolkata,
        };
        asked.write(&mut store);
    }
    let at = |unix_ms| Now { unix_ms, mono_ms: 0 };
    let by_day = StatisticsQuery { step: Some(StatisticStep::Day), ..query(StatisticRange::Week) };
    let days = |zone: &LedgerZone| -> Vec<u64> {
        let report = reader(&folder).statistics(&by_day, zone, at(midnight + HOUR)).unwrap();
        report.points.iter().map(|point| point.counts.passed).collect()
    };
    assert_eq!(days(&kolkata), [1, 1]);
    while store.fold_step(midnight + HOUR, kolkata.zone()).unwrap() == CleanupProgress::More {}
    assert_eq!(days(&kolkata), [1, 1]);
    // From now on UTC: the first hour is folded already, the second lies in the same day of it.
    let total: u64 = days(&zone("UTC")).iter().sum();
    assert_eq!(total, 2);
    fold_all(&mut store, midnight + 5 * DAY);
    let after = reader(&folder).statistics(&by_day, &zone("UTC"), at(midnight + 5 * DAY)).unwrap();
    assert_eq!(after.total.passed, 2);
}

#[test]
fn beyond_the_cap_clients_count_as_others() {
    let folder = Folder::new();
    let (mut store, _) = LedgerStore::open(folder.path(), NOON).unwrap();
    let zone = zone("UTC");
    let many: Vec<IpAddr> = (0..3000_u32)
        .flat_map(|it| {
            let address = IpAddr::from(std::net::Ipv4Addr::from_bits(0x0a00_0000 + it));
            // Some ask twice: they find room first.
            std::iter::repeat_n(address, if it % 10 == 0 { 2 } else { 1 })
        })
        .collect();
    for part in many.chunks(1500) {
        let asked = Happening {
            at_ms: NOON,
            clients: part,
            name: "www.example",
            action: Action::Pass,
            zone: &zone,
        };
        asked.write(&mut store);
    }
    for now in [NOON, NOON + DAY, NOON + 40 * DAY] {
        fold_all(&mut store, now);
        let asked = StatisticsQuery {
            step: Some(StatisticStep::Month),
            limit: 500,
            ..query(StatisticRange::All)
        };
        let report = answer(&folder, &asked, now);
        let ranking =
            report.rankings.iter().find(|it| it.dimension == StatisticDimension::Client).unwrap();
        let named: u64 = ranking.lines.iter().map(|line| line.counts.passed).sum();
        assert_eq!(named + ranking.others.passed, 3300);
        assert!(ranking.lines.len() + ranking.more <= HOUR_KEYS_MAX);
        assert_eq!(ranking.lines[0].counts.passed, 2);
        assert_eq!(report.total.passed, 3300);
    }
}

#[test]
fn clients_leave_the_statistics_or_become_networks_where_the_settings_say_so() {
    let folder = Folder::new();
    let (mut store, _) = LedgerStore::open(folder.path(), NOON).unwrap();
    ask(&mut store, NOON, Action::Pass);
    ask(&mut store, NOON + DAY, Action::Pass);
    fold_all(&mut store, NOON + 2 * DAY);
    store.anonymise_statistics(AnonymiseMode::Network).unwrap();
    let clients =
        |range| ranked(&answer(&folder, &query(range), NOON + DAY), StatisticDimension::Client);
    assert_eq!(clients(StatisticRange::Day), [("192.168.1.0".into(), 2)]);
    assert_eq!(clients(StatisticRange::Year), [("192.168.1.0".into(), 4)]);
    tidy_all(&mut store, NOON + DAY, CountedClients::None);
    assert_eq!((clients(StatisticRange::Day), clients(StatisticRange::Year)), (vec![], vec![]));
    let left = answer(&folder, &query(StatisticRange::Year), NOON + DAY);
    assert_eq!((left.total.passed, ranked(&left, StatisticDimension::Door)[0].1), (4, 4));
}

/// Makes the file one of version 3, which has rows and minutes alone.
fn make_older(folder: &Folder) {
    let file = Connection::open(folder.path().join(crate::FILE_NAME)).unwrap();
    let drop = "DROP TABLE statistics; DROP TABLE statistic_steps; PRAGMA user_version = 3";
    file.execute_batch(drop).unwrap();
}

#[test]
fn rows_of_an_older_file_are_counted_once_however_often_it_is_killed() {
    let folder = Folder::new();
    let (mut store, _) = LedgerStore::open(folder.path(), NOON).unwrap();
    for hour in 0..200 {
        ask(&mut store, NOON + hour * HOUR, Action::Block);
    }
    // Minutes stay 31 days, rows for longer: before the first minute rows alone tell of requests.
    let first_minute = (NOON + 50 * HOUR) / 60_000;
    let delete = "DELETE FROM minutes WHERE minute < ?1";
    store.connection.execute(delete, [first_minute.cast_signed()]).unwrap();
    drop(store);
    make_older(&folder);
    let now = NOON + 200 * HOUR;
    let zone = ScheduleZone::UTC;
    let terms = BackfillTerms {
        zone: &zone,
        anonymise: AnonymiseMode::Network,
        clients: CountedClients::Each,
    };
    let (mut store, _) = LedgerStore::open(folder.path(), now).unwrap();
    assert!(store.has_uncounted_rows());
    // New rows are counted by themselves meanwhile, and joined with old ones into one block.
    for second in 0..70 {
        ask(&mut store, now + second * 1000, Action::Pass);
    }
    while store.has_uncounted_rows() {
        store.backfill_step(terms).unwrap();
        drop(store);
        (store, _) = LedgerStore::open(folder.path(), now).unwrap();
    }
    fold_all(&mut store, now);
    let report = answer(&folder, &query(StatisticRange::Month), now + HOUR);
    // The last minute of before is left out where it may have been written by others.
    assert_eq!((report.total.blocked, report.total.passed), (400 - 2, 140));
    assert_eq!(report.total.bytes, 120 * 540);
    // Two hours whose minutes are gone are shown by the hour.
    let old = StatisticRange::Between { from_ms: NOON, to_ms: NOON + 2 * HOUR };
    let old = answer(&folder, &query(old), now);
    assert_eq!((old.step, old.total.blocked), (StatisticStep::Hour, 4));
    let clients = ranked(&report, StatisticDimension::Client);
    assert_eq!(clients[0], ("192.168.1.0".into(), 400));
    assert_eq!(ranked(&report, StatisticDimension::List), [("ads".into(), 400)]);
    assert_eq!(reader(&folder).integrity(), "ok");
}

#[test]
fn an_older_file_without_rows_begins_its_statistics() {
    let folder = Folder::new();
    drop(LedgerStore::open(folder.path(), NOON).unwrap());
    make_older(&folder);
    let (mut store, _) = LedgerStore::open(folder.path(), NOON).unwrap();
    let zone = ScheduleZone::UTC;
    let terms = BackfillTerms {
        zone: &zone,
        anonymise: AnonymiseMode::None,
        clients: CountedClients::Each,
    };
    while store.has_uncounted_rows() {
        store.backfill_step(terms).unwrap();
    }
    ask(&mut store, NOON, Action::Pass);
    let report = answer(&folder, &query(StatisticRange::All), NOON);
    assert_eq!((report.total.passed, report.begins_ms), (2, Some(NOON)));
    assert_eq!(report.offered, [StatisticRange::Day]);
}

#[test]
fn an_empty_store_has_no_steps_and_any_question_an_answer() {
    let folder = Folder::new();
    let (mut store, _) = LedgerStore::open(folder.path(), NOON).unwrap();
    let ranges = [0, 1, NOON, u64::MAX].map(|from_ms| {
        [0, NOON, NOON + 1, u64::MAX].map(|to_ms| StatisticRange::Between { from_ms, to_ms })
    });
    let ranges: Vec<_> = ranges.into_iter().flatten().chain(StatisticRange::NAMED).collect();
    for range in &ranges {
        let report = answer(&folder, &query(*range), NOON);
        assert_eq!((report.points.len(), report.begins_ms), (0, None), "{range:?}");
    }
    ask(&mut store, NOON, Action::Pass);
    for (range, step) in
        ranges.iter().flat_map(|range| StatisticStep::ALL.map(|step| (*range, step)))
    {
        let asked = StatisticsQuery { step: Some(step), ..query(range) };
        let report = answer(&folder, &asked, NOON + 1);
        assert!(report.points.len() <= crate::STEPS_MAX, "{range:?} {step:?}");
    }
}
