//! Rows on their way to the store: a bounded queue that nobody ever waits for.
//!
//! Each thread packs its rows into a buffer of its own (52 bytes and the text), under a lock
//! that only the writer's drain contends for, and wakes nobody. At the cap, in rows or in bytes,
//! the row is refused and counted. Filled by [`crate::Ledger::record`], drained by the writer.

use crate::counters::LedgerCounters;
use crate::event::{EventSubject, RequestEvent};
use crate::row_facts::{FACTS_BYTES, RowFacts};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use vocab::{ListId, RuleRef};

/// Rows that may wait.
pub(crate) const QUEUE_ROWS_MAX: usize = 16_384;
/// Bytes that may wait: full of the longest URLs the queue would hold 34 MiB.
const QUEUE_BYTES_MAX: usize = 8 << 20;
/// Of a packed row: everything but the text.
const HEAD_BYTES: usize = 52;

/// The queue.
pub(crate) struct RowQueue {
    parts: Box<[QueuePart]>,
    rows: AtomicUsize,
    bytes: AtomicUsize,
}

/// One thread's buffer, on cache lines of its own.
#[repr(align(128))]
#[derive(Default)]
struct QueuePart(Mutex<PartBuffer>);

/// Packed rows, and how many they are.
#[derive(Default)]
struct PartBuffer {
    packed: Vec<u8>,
    rows: usize,
}

/// The queue was full: the row is not stored.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct QueueFull;

/// A row as the writer reads it out of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PackedRow<'b> {
    pub(crate) unix_ms: u64,
    pub(crate) duration_us: u32,
    pub(crate) bytes: u32,
    pub(crate) client: IpAddr,
    /// UTF-8; whoever wants to know looks.
    pub(crate) text: &'b [u8],
    pub(crate) form: RowTextForm,
    pub(crate) facts: RowFacts,
    /// The rule, if the cause is one.
    pub(crate) rule: RuleRef,
}

/// Tells what the text of a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RowTextForm {
    Name,
    Url,
}

impl RowQueue {
    pub(crate) fn new() -> Self {
        Self {
            parts: (0..LedgerCounters::shard_count()).map(|_| QueuePart::default()).collect(),
            rows: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
        }
    }

    /// Takes the row of an event, or refuses it at the cap.
    pub(crate) fn push(&self, shard: usize, event: &RequestEvent) -> Result<(), QueueFull> {
        // Read before written, without a reservation: threads that meet at the cap can overshoot
        // it by a row each, which is cheaper than an atomic addition taken back.
        if self.rows.load(Relaxed) >= QUEUE_ROWS_MAX || self.bytes.load(Relaxed) >= QUEUE_BYTES_MAX
        {
            return Err(QueueFull);
        }
        let mut part = lock(&self.parts[shard].0);
        let before = part.packed.len();
        pack(event, &mut part.packed);
        part.rows += 1;
        self.rows.fetch_add(1, Relaxed);
        self.bytes.fetch_add(part.packed.len() - before, Relaxed);
        Ok(())
    }

    /// Rows that wait.
    pub(crate) fn len(&self) -> usize {
        self.rows.load(Relaxed)
    }

    /// Moves everything that waits into `buffers` (one a shard), leaving their emptied memory for
    /// the next rows. Says how many rows came.
    pub(crate) fn drain(&self, buffers: &mut Vec<Vec<u8>>) -> usize {
        buffers.resize_with(self.parts.len(), Vec::new);
        let mut rows = 0;
        for (part, buffer) in self.parts.iter().zip(buffers) {
            buffer.clear();
            // A burst's memory is not kept for ever.
            if buffer.capacity() > QUEUE_BYTES_MAX / 8 {
                *buffer = Vec::new();
            }
            let mut part = lock(&part.0);
            if part.packed.is_empty() {
                continue;
            }
            std::mem::swap(&mut part.packed, buffer);
            let taken = std::mem::take(&mut part.rows);
            drop(part);
            self.bytes.fetch_sub(buffer.len(), Relaxed);
            self.rows.fetch_sub(taken, Relaxed);
            rows += taken;
        }
        rows
    }
}

/// The rows of a buffer, oldest first.
pub(crate) fn unpack_all(mut buffer: &[u8]) -> impl Iterator<Item = PackedRow<'_>> {
    std::iter::from_fn(move || {
        let (row, rest) = unpack(buffer)?;
        buffer = rest;
        Some(row)
    })
}

fn lock(mutex: &Mutex<PartBuffer>) -> MutexGuard<'_, PartBuffer> {
    // Packing cannot panic half way through a row: memory is the only thing that could fail it.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn pack(event: &RequestEvent, out: &mut Vec<u8>) {
    let (form, text) = match &event.subject {
        EventSubject::Name(name) => (0, name.as_bytes()),
        EventSubject::Url(url) => (1, url.as_bytes()),
    };
    let (list, line) = event.cause.rule().map_or((0, 0), |rule| (rule.list.0, rule.line));
    let client = match event.client {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    };
    let mut head = [0; HEAD_BYTES];
    head[0..8].copy_from_slice(&event.at.unix_ms.to_le_bytes());
    head[8..12].copy_from_slice(&event.duration_us.to_le_bytes());
    head[12..16].copy_from_slice(&event.bytes.to_le_bytes());
    head[16..32].copy_from_slice(&client.octets());
    head[32..44].copy_from_slice(&RowFacts::of(event).to_bytes());
    head[44..48].copy_from_slice(&line.to_le_bytes());
    head[48..50].copy_from_slice(&(text.len() as u16).to_le_bytes());
    head[50] = list;
    head[51] = form;
    out.extend_from_slice(&head);
    out.extend_from_slice(text);
}

fn unpack(buffer: &[u8]) -> Option<(PackedRow<'_>, &[u8])> {
    let (head, rest) = buffer.split_first_chunk::<HEAD_BYTES>()?;
    let (text, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(part(head, 48))))?;
    let client = Ipv6Addr::from(part::<16>(head, 16));
    let row = PackedRow {
        unix_ms: u64::from_le_bytes(part(head, 0)),
        duration_us: u32::from_le_bytes(part(head, 8)),
        bytes: u32::from_le_bytes(part(head, 12)),
        client: client.to_ipv4_mapped().map_or(IpAddr::V6(client), IpAddr::V4),
        text,
        form: if head[51] == 1 { RowTextForm::Url } else { RowTextForm::Name },
        facts: RowFacts::from_bytes(part::<FACTS_BYTES>(head, 32)),
        rule: RuleRef { list: ListId(head[50]), line: u32::from_le_bytes(part(head, 44)) },
    };
    Some((row, rest))
}

fn part<const N: usize>(head: &[u8; HEAD_BYTES], at: usize) -> [u8; N] {
    *head[at..].first_chunk().expect("within: every place is a constant below HEAD_BYTES")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes::CauseCode;
    use crate::tests::event;
    use vocab::{Action, CacheUse, Caching, Cause, NotStored, RequestKind};

    #[test]
    fn a_row_comes_out_as_it_went_in() {
        let queue = RowQueue::new();
        let mut asked = event("ads.example", Action::Block);
        asked.cause = Cause::Rule(RuleRef { list: ListId(7), line: 1_000_000 });
        asked.client = "2001:db8::1".parse().unwrap();
        queue.push(3, &asked).unwrap();
        let page = RequestEvent {
            subject: EventSubject::url("http://www.example/ü?q=1"),
            cause: Cause::NotAsked,
            client: "192.0.2.7".parse().unwrap(),
            kind: RequestKind::Script,
            caching: Caching {
                outcome: CacheUse::UriMiss,
                not_stored: Some(NotStored::HeadTooLarge),
            },
            ..asked.clone()
        };
        queue.push(3, &page).unwrap();
        let mut buffers = Vec::new();
        assert_eq!(queue.drain(&mut buffers), 2);
        assert_eq!(queue.len(), 0);
        let rows: Vec<_> = unpack_all(&buffers[3]).collect();
        assert_eq!((rows[0].text, rows[0].form), (&b"ads.example"[..], RowTextForm::Name));
        assert_eq!((rows[0].client, rows[0].facts), (asked.client, RowFacts::of(&asked)));
        assert_eq!(rows[0].rule, RuleRef { list: ListId(7), line: 1_000_000 });
        assert_eq!((rows[0].unix_ms, rows[0].bytes), (asked.at.unix_ms, asked.bytes));
        assert_eq!(rows[1].text, "http://www.example/ü?q=1".as_bytes());
        assert_eq!((rows[1].form, rows[1].client), (RowTextForm::Url, page.client));
        let facts = rows[1].facts;
        assert_eq!((facts.kind(), facts.cause()), (RequestKind::Script, CauseCode::NotAsked));
        assert_eq!((rows[0].facts.caching(), facts.caching()), (asked.caching, page.caching));
        assert_eq!(queue.drain(&mut buffers), 0);
    }

    #[test]
    fn a_full_queue_refuses_rows_until_it_is_drained() {
        let queue = RowQueue::new();
        let row = event("a.example", Action::Pass);
        for _ in 0..QUEUE_ROWS_MAX {
            queue.push(0, &row).unwrap();
        }
        assert_eq!(queue.push(1, &row), Err(QueueFull));
        queue.drain(&mut Vec::new());
        assert_eq!(queue.push(1, &row), Ok(()));
    }

    #[test]
    fn a_queue_of_long_urls_is_full_by_its_bytes() {
        let queue = RowQueue::new();
        let url = format!("http://a.example/{}", "x".repeat(3000));
        let row =
            RequestEvent { subject: EventSubject::url(&url), ..event("a.example", Action::Pass) };
        let taken = (0..QUEUE_ROWS_MAX).take_while(|_| queue.push(0, &row).is_ok()).count();
        assert_eq!(taken, QUEUE_BYTES_MAX.div_ceil(HEAD_BYTES + 2048));
    }

    #[test]
    fn a_torn_buffer_ends_early_and_harms_nobody() {
        let queue = RowQueue::new();
        queue.push(0, &event("a.example", Action::Pass)).unwrap();
        let mut buffers = Vec::new();
        queue.drain(&mut buffers);
        for end in 0..buffers[0].len() {
            assert_eq!(unpack_all(&buffers[0][..end]).count(), 0);
        }
    }
}
