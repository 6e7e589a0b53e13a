//! Live rows: a stream of server-sent events that follows the request log.
//!
//! The writer of the ledger wakes it with each batch; then it asks once for what is new. A burst is
//! not sent whole: rows beyond the rate are counted and told. It holds no rows for a reader who is
//! slow, and looks now and then whether the reader may still read. Begun by the route of live rows.

use crate::places::LivePlace;
use crate::row::RequestRow;
use axum::response::sse::Event;
use futures_util::stream::{self, Stream};
use ledger::{NEW_ROWS_MAX, NewRows, RowFilter};
use serde::Serialize;
use std::collections::VecDeque;
use std::future::{Future, pending};
use tokio::sync::watch;
use tokio::time::{Duration, Instant, Interval, MissedTickBehavior, interval_at, sleep_until};

/// Rows of one stream in a second, on average; as many may come at once.
pub const ROWS_PER_SECOND_MAX: usize = 100;
/// A row may be sent each time that so long has passed.
const ROW_TIME: Duration = Duration::from_millis(1_000 / ROWS_PER_SECOND_MAX as u64);
/// Time between two looks at whether the reader may still read, each with a comment line: proxies
/// keep a connection that says something.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Time between two questions of one stream to the store.
const TURN: Duration = Duration::from_millis(250);

/// The program as a stream needs it.
pub trait LiveSource: Send + Sync + 'static {
    /// Rows that are new; none if they cannot be read now.
    fn new_rows(
        &self,
        filter: RowFilter,
        limit: usize,
    ) -> impl Future<Output = Option<NewRows>> + Send;

    /// True as long as the reader may read.
    fn may_read(&self) -> bool;
}

/// A stream that is wanted.
pub struct LiveWish {
    /// The rows that are wanted; those newer than its `after`, if it has one, come at once.
    pub filter: RowFilter,
    /// The number of the newest row, told with each batch.
    pub newest: watch::Receiver<u64>,
    /// Ends the stream when its sender is gone.
    pub ended: Option<watch::Receiver<()>>,
    /// The place that it takes.
    pub place: LivePlace,
}

/// Number of rows that were left out.
#[derive(Serialize)]
struct MissedRows {
    count: u64,
}

/// A stream under way.
struct LiveStream<S> {
    source: S,
    filter: RowFilter,
    /// The number of the newest row that was looked at.
    seen: u64,
    newest: watch::Receiver<u64>,
    ended: Option<watch::Receiver<()>>,
    heartbeat: Interval,
    budget: RowBudget,
    news: NewsState,
    next_turn: Instant,
    ready: VecDeque<Event>,
    _place: LivePlace,
}

/// Tells whether there may be new rows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NewsState {
    None,
    Told,
}

/// Rows that may be sent: filled with time, emptied by rows.
struct RowBudget {
    rows: usize,
    /// The moment up to which time has been turned into rows.
    at: Instant,
}

/// The events of a stream that is wanted.
pub fn live_rows<S: LiveSource>(
    source: S,
    wish: LiveWish,
) -> impl Stream<Item = Result<Event, axum::Error>> + Send {
    let LiveWish { filter, mut newest, ended, place } = wish;
    let now = Instant::now();
    let stored = *newest.borrow_and_update();
    let at_once = if filter.after.is_some() { NEW_ROWS_MAX } else { ROWS_PER_SECOND_MAX };
    let mut heartbeat = interval_at(now + HEARTBEAT, HEARTBEAT);
    heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut begun = LiveStream {
        seen: filter.after.unwrap_or(stored),
        news: if filter.after.is_some() { NewsState::Told } else { NewsState::None },
        source,
        filter,
        newest,
        ended,
        heartbeat,
        budget: RowBudget { rows: at_once, at: now },
        next_turn: now,
        ready: VecDeque::new(),
        _place: place,
    };
    // Sent at once, so that the answer's head leaves and the reader knows that it is open.
    begun.ready.push_back(Event::default().comment("open"));
    stream::unfold(begun, |mut stream| async move {
        let event = stream.next().await?;
        Some((event, stream))
    })
}

impl<S: LiveSource> LiveStream<S> {
    /// The next event; none at the end.
    async fn next(&mut self) -> Option<Result<Event, axum::Error>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            let turn = async {
                match self.news {
                    NewsState::Told => sleep_until(self.next_turn).await,
                    NewsState::None => pending().await,
                }
            };
            tokio::select! {
                biased;
                () = end_of(&mut self.ended) => return None,
                _ = self.heartbeat.tick() => {
                    if !self.source.may_read() {
                        return None;
                    }
                    self.ready.push_back(Event::default().comment("open still"));
                }
                () = turn => {
                    self.news = NewsState::None;
                    if let Err(why) = self.read().await {
                        return Some(Err(why));
                    }
                }
                told = self.newest.changed(), if self.news == NewsState::None => {
                    // The ledger is closed.
                    told.ok()?;
                    self.news = NewsState::Told;
                }
            }
        }
    }

    /// Asks for what is new.
    async fn read(&mut self) -> Result<(), axum::Error> {
        let stored = *self.newest.borrow();
        if stored < self.seen {
            // A damaged file was replaced, and numbers begin anew.
            self.seen = 0;
        }
        let limit = self.budget.left(Instant::now());
        let filter = RowFilter { after: Some(self.seen), ..self.filter.clone() };
        let found = self.source.new_rows(filter, limit).await;
        self.next_turn = Instant::now() + TURN;
        let Some(found) = found else {
            // The next batch asks again.
            return Ok(());
        };
        self.seen = self.seen.max(found.newest);
        self.budget.take(found.rows.len());
        if found.left_out > 0 {
            let missed = MissedRows { count: found.left_out };
            self.ready.push_back(Event::default().event("missed").json_data(missed)?);
        }
        for row in found.rows {
            let event = Event::default().event("row").id(row.id.to_string());
            self.ready.push_back(event.json_data(RequestRow::from(row))?);
        }
        Ok(())
    }
}

async fn end_of(connection: &mut Option<watch::Receiver<()>>) {
    match connection {
        // Nothing is ever sent.
        Some(connection) => drop(connection.changed().await),
        None => pending().await,
    }
}

impl RowBudget {
    /// Rows that may be sent now.
    fn left(&mut self, now: Instant) -> usize {
        // What was resumed with may be more than a second brings.
        let most = self.rows.max(ROWS_PER_SECOND_MAX);
        let passed = now.duration_since(self.at).as_nanos();
        let earned = passed / ROW_TIME.as_nanos();
        // Part of a row's time is kept for the next turn.
        self.at = now
            .checked_sub(Duration::from_nanos((passed % ROW_TIME.as_nanos()) as u64))
            .unwrap_or(now);
        self.rows = self.rows.saturating_add(earned as usize).min(most);
        self.rows
    }

    fn take(&mut self, rows: usize) {
        self.rows = self.rows.saturating_sub(rows).min(ROWS_PER_SECOND_MAX);
    }
}
