//! Behaviour of a stream of live rows, on a clock that stands still while something is done.

use crate::{LivePlaces, LiveSource, LiveWish, ROWS_PER_SECOND_MAX, live_rows};
use axum::body::Body;
use axum::response::IntoResponse;
use axum::response::sse::Sse;
use http_body_util::BodyExt;
use ledger::{LogRow, NewRows, RowCause, RowFilter};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use tokio::sync::watch;
use tokio::time::{Duration, Instant};
use vocab::{Action, Caching, Door, RequestKind, Source};

fn row(id: u64) -> LogRow {
    LogRow {
        id,
        at_ms: 1_795_262_400_000 + id,
        door: Door::Dns,
        client: IpAddr::from([192, 168, 1, 7]),
        subject: format!("n{id}.example"),
        kind: RequestKind::Lookup(1),
        action: Action::Pass,
        cause: RowCause::NoRule,
        source: Source::Cache,
        caching: Caching::NONE,
        status: 0,
        bytes: 1,
        duration_us: 1,
    }
}

/// A log of rows, numbered from 1.
struct Log {
    rows: Mutex<Vec<LogRow>>,
    newest: watch::Sender<u64>,
    may_read: AtomicBool,
}

struct Reader(Arc<Log>);

impl LiveSource for Reader {
    async fn new_rows(&self, filter: RowFilter, limit: usize) -> Option<NewRows> {
        let rows = self.0.rows.lock().unwrap();
        let found: Vec<_> = rows.iter().filter(|row| filter.fits_but_text(row)).cloned().collect();
        let left_out = found.len().saturating_sub(limit);
        let newest = rows.last().map_or(0, |row| row.id);
        Some(NewRows { rows: found[left_out..].to_vec(), left_out: left_out as u64, newest })
    }

    fn may_read(&self) -> bool {
        self.0.may_read.load(Relaxed)
    }
}

/// A stream that is read as a client reads it.
struct Client {
    log: Arc<Log>,
    body: Body,
    /// Ends the stream when it is gone.
    connection: Option<watch::Sender<()>>,
    text: String,
}

impl Log {
    fn new() -> Arc<Self> {
        let (rows, newest) = (Mutex::default(), watch::Sender::new(0));
        Arc::new(Self { rows, newest, may_read: AtomicBool::new(true) })
    }

    fn write(&self, rows: u64) {
        let mut log = self.rows.lock().unwrap();
        let next = log.last().map_or(1, |row| row.id + 1);
        log.extend((next..next + rows).map(row));
        self.newest.send_replace(next + rows - 1);
    }

    fn follow(self: &Arc<Self>, filter: RowFilter) -> Client {
        let (connection, ended) = watch::channel(());
        let place = LivePlaces::default().take(IpAddr::from([192, 0, 2, 1])).unwrap();
        let wish = LiveWish { filter, newest: self.newest.subscribe(), ended: Some(ended), place };
        let body = Sse::new(live_rows(Reader(Arc::clone(self)), wish)).into_response().into_body();
        let log = Arc::clone(self);
        Client { log, body, connection: Some(connection), text: String::new() }
    }
}

impl Client {
    /// Reads up to a text.
    async fn read_to(&mut self, text: &str) -> &str {
        while !self.text.contains(text) {
            let frame = self.body.frame().await.expect("the stream goes on").unwrap();
            self.text.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap());
        }
        &self.text
    }

    /// Reads to the end of the stream.
    async fn read_to_end(&mut self) -> &str {
        while let Some(frame) = self.body.frame().await {
            self.text.push_str(std::str::from_utf8(frame.unwrap().data_ref().unwrap()).unwrap());
        }
        &self.text
    }

    fn rows(&self) -> usize {
        self.text.matches("event: row\n").count()
    }
}

#[tokio::test(start_paused = true)]
async fn rows_come_as_they_are_written_oldest_first_with_their_numbers() {
    let log = Log::new();
    log.write(3);
    let mut client = log.follow(RowFilter::default());
    assert_eq!(client.read_to("\n\n").await, ": open\n\n");
    log.write(2);
    let text = client.read_to("id: 5\n").await;
    let first = text.find("event: row\nid: 4\ndata: {\"id\":4,").expect("a row as an event");
    assert!(first < text.find("id: 5\n").unwrap() && !text.contains("id: 3\n"), "{text}");
    log.write(1);
    client.read_to("id: 6\n").await;
    assert_eq!(client.rows(), 3);
}

#[tokio::test(start_paused = true)]
async fn what_is_not_wanted_is_not_sent() {
    let log = Log::new();
    let filter = RowFilter { name: Some("n7.example".into()), ..RowFilter::default() };
    let mut client = log.follow(filter);
    client.read_to("open").await;
    for _ in 0..9 {
        log.write(1);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    client.read_to("id: 7\n").await;
    assert_eq!((client.rows(), client.text.contains("missed")), (1, false));
}

#[tokio::test(start_paused = true)]
async fn of_a_burst_a_hundred_rows_are_sent_and_the_others_counted() {
    let log = Log::new();
    let mut client = log.follow(RowFilter::default());
    client.read_to("open").await;
    log.write(250);
    client.read_to("id: 250\n").await;
    assert_eq!(client.rows(), ROWS_PER_SECOND_MAX);
    assert!(client.text.contains("event: missed\ndata: {\"count\":150}\n\n"));
    assert!(client.text.contains("id: 151\n") && !client.text.contains("id: 150\n"));
    // A thousand rows a second for ten seconds: what is sent stays within the rate.
    let begun = Instant::now();
    let written = tokio::spawn({
        let log = Arc::clone(&log);
        async move {
            for _ in 0..100 {
                log.write(100);
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    });
    client.read_to("id: 10250\n").await;
    written.await.unwrap();
    let most = ROWS_PER_SECOND_MAX * (2 + begun.elapsed().as_secs() as usize);
    assert!(client.rows() <= most && client.rows() > 900, "{} rows", client.rows());
    let missed = client.text.split("{\"count\":").skip(1);
    let missed = missed.map(|it| it.split('}').next().unwrap().parse::<usize>().unwrap());
    assert_eq!(missed.sum::<usize>() + client.rows(), 10_250, "none is lost without a word");
}

#[tokio::test(start_paused = true)]
async fn a_reader_who_comes_back_gets_what_is_newer_at_most_a_thousand() {
    let log = Log::new();
    log.write(1_500);
    let mut client = log.follow(RowFilter { after: Some(1_490), ..RowFilter::default() });
    client.read_to("id: 1500\n").await;
    assert_eq!((client.rows(), client.text.contains("missed")), (10, false));
    let mut late = log.follow(RowFilter { after: Some(0), ..RowFilter::default() });
    late.read_to("id: 1500\n").await;
    assert_eq!(late.rows(), 1_000);
    assert!(late.text.contains("{\"count\":500}"));
}

#[tokio::test(start_paused = true)]
async fn it_says_something_every_15_s_and_ends_when_the_session_does() {
    let log = Log::new();
    let mut client = log.follow(RowFilter::default());
    client.read_to("open\n\n").await;
    let begun = Instant::now();
    for beats in 1..=3_usize {
        client.read_to(&": open still\n\n".repeat(beats)).await;
        assert_eq!(begun.elapsed().as_secs(), 15 * beats as u64);
    }
    client.log.may_read.store(false, Relaxed);
    client.read_to_end().await;
    assert_eq!(begun.elapsed().as_secs(), 60);
}

#[tokio::test(start_paused = true)]
async fn it_ends_at_once_with_its_connection_and_with_the_ledger() {
    let log = Log::new();
    let mut client = log.follow(RowFilter::default());
    client.read_to("open").await;
    let begun = Instant::now();
    drop(client.connection.take());
    client.read_to_end().await;
    assert_eq!(begun.elapsed(), Duration::ZERO);
    let (newest, of_a_closed_ledger) = watch::channel(0);
    let place = LivePlaces::default().take(IpAddr::from([192, 0, 2, 1])).unwrap();
    drop(newest);
    let wish =
        LiveWish { filter: RowFilter::default(), newest: of_a_closed_ledger, ended: None, place };
    let body = Sse::new(live_rows(Reader(log), wish)).into_response().into_body();
    assert_eq!(body.collect().await.unwrap().to_bytes(), ": open\n\n");
}

#[tokio::test(start_paused = true)]
async fn numbers_that_begin_anew_are_followed() {
    let log = Log::new();
    log.write(40);
    let mut client = log.follow(RowFilter::default());
    client.read_to("open").await;
    // A damaged file was replaced.
    log.rows.lock().unwrap().clear();
    log.write(2);
    client.read_to("id: 2\n").await;
    assert_eq!(client.rows(), 2);
}
