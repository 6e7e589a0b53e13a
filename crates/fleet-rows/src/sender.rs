//! The one task that sends rows: it follows the request log and fills the database.
//!
//! It runs on a thread of its own and nobody waits for it. The log is its spool: rows wait there
//! while the database is away, under the log's own bounds and those of `backlog`. Started and
//! stopped by [`crate::FleetRows`].

use crate::database::{DatabaseWays, RowDatabase};
use crate::days::DAY_MS;
use crate::failure::DatabaseFailure;
use crate::figures::SenderFigures;
use crate::row_step::{CopyWay, EdgeFacts, EdgePosition, RowStep, before};
use crate::sample::RowSample;
use crate::settings::RowSettings;
use back_off::BackOff;
use ledger::{FollowBounds, FollowPlace, Ledger, LogRow, MinuteCount};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// Rows, and bytes of rows, that one transaction stores at most.
const STEP_ROWS: usize = 8_192;
const STEP_BYTES: usize = 4 << 20;
/// Rows of the log that are looked at for one transaction at most.
const LOOK_ROWS: usize = 65_536;
/// Rows that may be looked at without the place being stored, where none of them is wanted.
const PLACE_EVERY: u64 = 50_000;
/// Time between two sendings of counts by the minute, and between two looks at partitions.
const BEAT: Duration = Duration::from_secs(10);
const PARTITIONS: Duration = Duration::from_hours(1);
/// Counts by the minute that one transaction stores at most.
const BEAT_COUNTS: usize = 2_000;
/// Minutes that are sent again: a clock may have been set back a little.
const MINUTES_AGAIN: u64 = 2;
/// Moments this far ahead are a clock's fault.
const AHEAD_MS: u64 = 2 * DAY_MS;
/// First pause before the database is tried again, and the longest.
const PAUSE_FIRST: Duration = Duration::from_millis(250);
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// Pause where another process sends under the same name.
const MOVED_PAUSE: Duration = Duration::from_mins(1);

/// The sender.
pub(crate) struct RowSender {
    pub(crate) settings: RowSettings,
    pub(crate) facts: EdgeFacts,
    pub(crate) ways: DatabaseWays,
    pub(crate) ledger: Ledger,
    pub(crate) figures: Arc<SenderFigures>,
}

/// A joined database and how far this edge has come there.
struct SendSession<'s> {
    sender: &'s RowSender,
    database: RowDatabase,
    /// As it stands in the database.
    stored: EdgePosition,
    /// The place up to which the log was looked at.
    looked: FollowPlace,
    way: CopyWay,
    /// Rows of the next step at most: fewer after a row was not taken.
    rows_max: usize,
}

/// A number by chance; a middle one where the system gives none.
fn chance() -> u64 {
    getrandom::u64().unwrap_or(u64::MAX / 2)
}

/// Rest of the log behind a step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LogRest {
    More,
    None,
}

impl RowSender {
    /// Sends until `stop` is told, or its sender is gone.
    pub(crate) async fn run(self, mut stop: watch::Receiver<bool>) {
        let mut back_off = BackOff::new(PAUSE_FIRST, PAUSE_MAX);
        loop {
            let failure = tokio::select! {
                _ = stop.wait_for(|stop| *stop) => return,
                failure = self.session(&mut back_off) => match failure {
                    Ok(never) => match never {},
                    Err(failure) => failure,
                },
            };
            let told = failure.to_string();
            if self.figures.failed(&told) {
                log::warn!(target: "logs", "fleet.rows: {told}; rows wait in the request log");
            }
            let pause = match failure {
                DatabaseFailure::Moved => MOVED_PAUSE,
                DatabaseFailure::Lost(_)
                | DatabaseFailure::Silent
                | DatabaseFailure::Refused(_)
                | DatabaseFailure::Unfit(_)
                | DatabaseFailure::Twice
                | DatabaseFailure::Newer(_) => back_off.pause(chance()),
            };
            tokio::select! {
                _ = stop.wait_for(|stop| *stop) => return,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Joins the database and sends until something fails.
    async fn session(&self, back_off: &mut BackOff) -> Result<Infallible, DatabaseFailure> {
        let joined = RowDatabase::join(&self.settings, &self.ways, self.facts.clone()).await?;
        let (database, stored) = joined;
        let mut session = SendSession {
            sender: self,
            database,
            stored,
            looked: stored.place,
            way: CopyWay::Straight,
            rows_max: STEP_ROWS,
        };
        if self.settings.sample > 0 {
            self.figures.come_to(stored.place);
        }
        let mut newest = self.ledger.newest_row();
        let (mut beat_at, mut partitions_at) = (Instant::now(), Instant::now());
        loop {
            if Instant::now() >= partitions_at {
                session.database.keep_partitions(&self.settings, now_ms()).await?;
                partitions_at = Instant::now() + PARTITIONS;
            }
            if Instant::now() >= beat_at {
                session.beat().await?;
                beat_at = Instant::now() + BEAT;
            }
            newest.mark_unchanged();
            if session.send_rows().await? == LogRest::More {
                continue;
            }
            self.figures.joined();
            back_off.reset();
            let gathered = Instant::now() + session.database.gather();
            tokio::select! {
                () = tokio::time::sleep_until(beat_at) => {}
                Ok(()) = newest.changed(), if self.settings.sample > 0 => {
                    tokio::time::sleep_until(gathered).await;
                }
            }
        }
    }
}

impl SendSession<'_> {
    /// Sends the next rows of the log.
    async fn send_rows(&mut self) -> Result<LogRest, DatabaseFailure> {
        let RowSender { settings, ledger, figures, .. } = self.sender;
        let sample = RowSample(settings.sample);
        if sample.0 == 0 {
            return Ok(LogRest::None);
        }
        let bounds = FollowBounds {
            rows: self.rows_max,
            bytes: STEP_BYTES,
            looked: LOOK_ROWS,
            backlog: settings.backlog,
        };
        let found = ledger.follow(self.looked, bounds, |row| sample.has(row));
        // A log that cannot be read, on a full disk for one, says so itself.
        let Ok(found) = found else { return Ok(LogRest::None) };
        let rest = if found.place.row < found.newest { LogRest::More } else { LogRest::None };
        let now_ms = now_ms();
        let kept = before(now_ms, settings.keep.0.0)..now_ms.saturating_add(AHEAD_MS);
        let read = found.rows.len();
        let rows: Vec<LogRow> =
            found.rows.into_iter().filter(|row| kept.contains(&row.at_ms)).collect();
        let outside = (read - rows.len()) as u64;
        let dropped = found.gone + outside;
        let unstored = found.place.row.abs_diff(self.stored.place.row);
        if !rows.is_empty() || dropped > 0 || unstored >= PLACE_EVERY {
            let (from, to) = (self.stored.place, found.place);
            let waiting = found.newest.saturating_sub(to.row);
            let step = RowStep { rows: &rows, from, to, dropped, waiting, way: self.way };
            let outcome = self.database.store(&step).await;
            if !self.is_stored(outcome, &step).await? {
                return Ok(LogRest::More);
            }
            self.stored.place = found.place;
            figures.dropped.backlog.fetch_add(found.gone, Relaxed);
            figures.dropped.moment.fetch_add(outside, Relaxed);
        }
        self.looked = found.place;
        figures.come_to(found.place);
        Ok(rest)
    }

    /// Takes the outcome of a step: `true` if its rows are done with, `false` if they are to be
    /// tried in another way.
    async fn is_stored(
        &mut self,
        outcome: Result<(), DatabaseFailure>,
        step: &RowStep<'_>,
    ) -> Result<bool, DatabaseFailure> {
        let figures = &self.sender.figures;
        match outcome {
            Ok(()) => {
                figures.sent.fetch_add(step.rows.len() as u64, Relaxed);
                self.way = CopyWay::Straight;
                self.rows_max = (self.rows_max * 2).min(STEP_ROWS);
                Ok(true)
            }
            // As after the database was put back from a backup of its edges alone.
            Err(DatabaseFailure::Twice) if self.way == CopyWay::Straight => {
                self.way = CopyWay::Aside;
                Ok(false)
            }
            // The row is found by halves, and left out alone.
            Err(DatabaseFailure::Unfit(_)) if step.rows.len() > 1 => {
                self.rows_max = (step.rows.len() / 2).max(1);
                Ok(false)
            }
            Err(DatabaseFailure::Unfit(why)) => {
                log::warn!(target: "logs", "fleet.rows: a row is left out: {why}");
                let dropped = step.dropped + step.rows.len() as u64;
                let without = RowStep { rows: &[], dropped, ..*step };
                self.database.store(&without).await?;
                figures.dropped.unfit.fetch_add(step.rows.len() as u64, Relaxed);
                Ok(true)
            }
            Err(failure) => Err(failure),
        }
    }

    /// Sends counts by the minute, and says that this edge is there.
    async fn beat(&mut self) -> Result<(), DatabaseFailure> {
        let RowSender { settings, ledger, figures, .. } = self.sender;
        let now_ms = now_ms();
        let oldest = before(now_ms, settings.keep_minutes.0.0) / 60_000;
        let last = (now_ms + AHEAD_MS) / 60_000;
        let known = self.stored.minute.min(now_ms / 60_000);
        let mut from = known.saturating_sub(MINUTES_AGAIN).max(oldest);
        loop {
            let found = ledger.minutes_since(from, BEAT_COUNTS).unwrap_or_default();
            let (is_last, begun) = (found.len() < BEAT_COUNTS, from);
            from = found.last().map_or(from, |count| count.minute);
            let counts: Vec<MinuteCount> =
                found.into_iter().filter(|count| count.minute <= last).collect();
            let waiting = figures.read(*ledger.newest_row().borrow(), now_ms).waiting;
            let minute = from.min(now_ms / 60_000).max(known);
            self.database.beat(&counts, minute, waiting).await?;
            figures.minutes_sent.fetch_add(counts.len() as u64, Relaxed);
            self.stored.minute = minute;
            if is_last || from > last || from == begun {
                return Ok(());
            }
        }
    }
}

/// The moment, in milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    transport::clock::now().unix_ms
}
