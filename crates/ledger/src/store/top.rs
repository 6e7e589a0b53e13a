//! Top tables: the names and clients that were asked for, or asked, most.
//!
//! Each block says how often each of its clients and words was asked; only a block that began
//! before the range is read row by row. What is counted at once is bounded: beyond
//! [`RANKED_MAX`] different ones the rarest are forgotten. Called by questions to the store.

use super::block::RequestTally;
use super::block::decode::{BlockBody, BlockSummary};
use super::bytes_of;
use super::write::{host_of, lower};
use crate::LIMIT_MAX;
use crate::queue::RowTextForm;
use crate::report::{ReadError, ReportRange, TopKind, TopLine};
use foldhash::fast::RandomState;
use rusqlite::Connection;
use std::borrow::{Borrow, Cow, ToOwned};
use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use vocab::Now;

/// Different names or clients that are counted at once; some 60 MiB of names.
const RANKED_MAX: usize = 1 << 19;
const HOUR_MS: u64 = 3_600_000;

/// The requests of each name.
pub(super) type NameTable = TallyTable<Box<str>>;

/// The requests of each of many.
pub(super) struct TallyTable<K> {
    tallies: HashMap<K, RequestTally, RandomState>,
    len_max: usize,
}

/// The requests of each name, and of each client.
enum TopTable {
    Names(NameTable),
    Clients(TallyTable<IpAddr>),
}

/// The first `n` over a range, widened to whole hours.
pub(super) fn top(
    connection: &Connection,
    top: TopKind,
    range: ReportRange,
    n: usize,
    now: Now,
) -> Result<Vec<TopLine>, ReadError> {
    let first_hour = (now.unix_secs() / 60).saturating_sub(range.minutes()) / 60;
    let since_ms = first_hour * HOUR_MS;
    let mut table = match top {
        TopKind::Blocked | TopKind::Names => TopTable::Names(NameTable::of_names()),
        TopKind::Clients => TopTable::Clients(TallyTable::new(RANKED_MAX)),
    };
    let mut blocks = connection.prepare(
        "SELECT first, first_ms, summary FROM blocks WHERE last_ms >= ?1 ORDER BY last_ms",
    )?;
    let mut body = connection.prepare("SELECT body FROM blocks WHERE first = ?1")?;
    let mut found = blocks.query([since_ms as i64])?;
    while let Some(row) = found.next()? {
        // A damaged block counts nothing.
        let Some(summary) = BlockSummary::read(bytes_of(row, 2)?) else { continue };
        let (first, first_ms): (i64, i64) = (row.get(0)?, row.get(1)?);
        if first_ms >= since_ms as i64 {
            table.add_summary(&summary);
        } else {
            let body = body.query_row([first], |row| Ok(bytes_of(row, 0)?.to_vec()))?;
            table.add_rows(&summary, &body, since_ms);
        }
    }
    Ok(table.lines(top, n.min(LIMIT_MAX)))
}

impl TopTable {
    fn add_summary(&mut self, summary: &BlockSummary<'_>) {
        match self {
            Self::Names(names) => {
                for (place, word) in summary.words.iter().enumerate() {
                    if let Some(name) = name_of(summary, place) {
                        names.add(&*name, word.tally);
                    }
                }
            }
            Self::Clients(clients) => {
                summary.clients.iter().for_each(|entry| clients.add(&entry.client, entry.tally));
            }
        }
    }

    fn add_rows(&mut self, summary: &BlockSummary<'_>, body: &[u8], since_ms: u64) {
        let Some(body) = BlockBody::read(body) else { return };
        for row in body.rows().filter(|row| row.at_ms >= since_ms) {
            let tally = RequestTally::one(row.facts);
            match self {
                Self::Names(names) => {
                    if let Some(name) = name_of(summary, row.word) {
                        names.add(&*name, tally);
                    }
                }
                Self::Clients(clients) => {
                    if let Some(entry) = summary.clients.get(row.client) {
                        clients.add(&entry.client, tally);
                    }
                }
            }
        }
    }

    fn lines(self, top: TopKind, n: usize) -> Vec<TopLine> {
        match self {
            Self::Names(names) => names.top(top, n),
            Self::Clients(clients) => clients.lines(top, n, IpAddr::to_string),
        }
    }
}

/// The name of a word: the host, if it is a URL.
pub(super) fn name_of<'b>(summary: &BlockSummary<'b>, place: usize) -> Option<Cow<'b, str>> {
    let (text, form) = summary.word(place)?;
    Some(match form {
        RowTextForm::Name => text.into(),
        RowTextForm::Url => lower(host_of(text)),
    })
}

impl NameTable {
    /// An empty one.
    pub(super) fn of_names() -> Self {
        Self::new(RANKED_MAX)
    }

    /// The first `n`, by what is ranked.
    pub(super) fn top(&self, top: TopKind, n: usize) -> Vec<TopLine> {
        self.lines(top, n, |name| name.as_ref().to_owned())
    }
}

impl<K: Eq + Hash + Ord> TallyTable<K> {
    fn new(len_max: usize) -> Self {
        Self { tallies: HashMap::default(), len_max }
    }

    /// Adds requests to those of a key.
    pub(super) fn add<Q>(&mut self, key: &Q, tally: RequestTally)
    where
        Q: Eq + Hash + ToOwned<Owned: Into<K>> + ?Sized,
        K: Borrow<Q>,
    {
        if let Some(sum) = self.tallies.get_mut(key) {
            return sum.add(tally);
        }
        if self.tallies.len() >= self.len_max {
            self.forget_rarest();
        }
        self.tallies.insert(key.to_owned().into(), tally);
    }

    /// Makes room: what was asked least goes, until half are left.
    fn forget_rarest(&mut self) {
        let mut rarest = 1;
        while self.tallies.len() > self.len_max / 2 {
            self.tallies.retain(|_, tally| tally.passed + tally.blocked > rarest);
            rarest *= 2;
        }
    }

    fn lines(&self, top: TopKind, n: usize, text: impl Fn(&K) -> String) -> Vec<TopLine> {
        let rank = |tally: &RequestTally| match top {
            TopKind::Blocked => tally.blocked,
            TopKind::Names => tally.passed,
            TopKind::Clients => tally.passed + tally.blocked,
        };
        let mut ranked: Vec<_> = self
            .tallies
            .iter()
            .map(|(key, tally)| (rank(tally), key, tally.blocked))
            .filter(|(rank, _, _)| *rank > 0)
            .collect();
        let order = |a: &(u64, &K, u64), b: &(u64, &K, u64)| b.0.cmp(&a.0).then(a.1.cmp(b.1));
        if ranked.len() > n && n > 0 {
            ranked.select_nth_unstable_by(n - 1, order);
        }
        ranked.truncate(n);
        ranked.sort_unstable_by(order);
        let line = |(count, key, blocked)| TopLine { text: text(key), count, blocked };
        ranked.into_iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beyond_the_cap_the_rarest_are_forgotten() {
        let mut table = TallyTable::<Box<str>>::new(8);
        let passed = |passed| RequestTally { passed, blocked: 0 };
        for _ in 0..50 {
            table.add("often.example", passed(1));
            table.add("now-and-then.example", passed(1));
        }
        table.add("often.example", passed(7));
        for name in 0..10_000 {
            table.add(&*format!("n{name}.example"), passed(1));
            assert!(table.tallies.len() <= 8);
        }
        let lines = table.lines(TopKind::Names, 2, |name| name.as_ref().into());
        let lines: Vec<_> = lines.iter().map(|line| (line.text.as_str(), line.count)).collect();
        assert_eq!(lines, [("often.example", 57), ("now-and-then.example", 50)]);
    }
}
