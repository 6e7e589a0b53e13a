//! One batch of rows and counts into the store, in one transaction.
//!
//! All of a batch is stored or nothing of it. Rows are appended; roll-ups are added up in memory
//! first, so that a name asked for a thousand times is one write. Called by the writer thread.

use super::dictionary::{CLIENTS, NAMES, rule_id};
use super::{LedgerStore, StoreError};
use crate::codes::{CauseCode, LedgerCode, kind_code};
use crate::counters::CounterSums;
use crate::queue::{PackedRow, RowTextForm, unpack_all};
use crate::{AnonymiseMode, RuleTexts};
use rusqlite::{Connection, Result, TransactionBehavior, params};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use vocab::{Action, RuleRef};

/// Longest text of a rule that is stored, in bytes.
const RULE_BYTES_MAX: usize = 1024;

/// Holds what is to be stored at once.
pub(crate) struct RowBatch<'b> {
    /// Packed rows, a buffer a thread.
    pub(crate) buffers: &'b [Vec<u8>],
    /// What was counted since the last batch that was stored.
    pub(crate) counts: &'b CounterSums,
    /// The minute since 1970 in which to count it.
    pub(crate) minute: u64,
    /// Part of a client's address that is stored.
    pub(crate) anonymise: AnonymiseMode,
    /// Who knows the rules.
    pub(crate) rules: &'b dyn RuleTexts,
}

/// Requests that passed and that were blocked.
#[derive(Clone, Copy, Default)]
struct RequestTally {
    passed: u64,
    blocked: u64,
}

/// The hour of a tally, and the number of the name or client that it is of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct TallyKey {
    hour: i64,
    id: i64,
}

/// Roll-ups of a batch.
type Tallies = HashMap<TallyKey, RequestTally>;

/// Holds what one batch has looked up so far.
#[derive(Default)]
struct KnownIds {
    rules: HashMap<RuleRef, i64>,
    clients: HashMap<(IpAddr, i64), i64>,
}

impl LedgerStore {
    /// Stores a batch; after an error nothing of it is stored.
    pub(crate) fn write(&mut self, batch: &RowBatch<'_>) -> std::result::Result<(), StoreError> {
        let written = self.write_in_transaction(batch);
        if written.is_err() {
            // Words that were added have been rolled back, their numbers are void.
            self.dictionaries.forget();
        }
        Ok(written?)
    }

    fn write_in_transaction(&mut self, batch: &RowBatch<'_>) -> Result<()> {
        let Self { connection, dictionaries, .. } = self;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let (mut names, mut clients) = (Tallies::new(), Tallies::new());
        let mut known = KnownIds::default();
        {
            let mut insert = transaction.prepare_cached(
                "INSERT INTO events (time_ms, door, client, subject, url, kind, action, cause,
                     rule, source, status, bytes, took_us, caching)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
            )?;
            for row in in_order(batch.buffers) {
                let hour = (row.unix_ms / 3_600_000) as i64;
                let (host, url) = match row.form {
                    RowTextForm::Name => (row.text, None),
                    RowTextForm::Url => (host_of(row.text), Some(row.text)),
                };
                let host = lower(host);
                let name = dictionaries.names.id(&transaction, &NAMES, &host, hour)?;
                let client = if let Some(id) = known.clients.get(&(row.client, hour)) {
                    *id
                } else {
                    let text = client_text(row.client, batch.anonymise);
                    let id = dictionaries.clients.id(&transaction, &CLIENTS, &text, hour)?;
                    known.clients.insert((row.client, hour), id);
                    id
                };
                let rule = match row.cause.rule() {
                    Some(rule) => {
                        Some(rule_number(&transaction, batch, &mut known.rules, rule, &host, hour)?)
                    }
                    None => None,
                };
                insert.execute(params![
                    row.unix_ms as i64,
                    row.door.code(),
                    client,
                    name,
                    url,
                    kind_code(row.kind),
                    row.action.code(),
                    CauseCode::of(row.cause).code(),
                    rule,
                    row.source.code(),
                    row.status,
                    row.bytes,
                    row.duration_us,
                    row.caching.code(),
                ])?;
                tally(&mut names, TallyKey { hour, id: name }, row.action);
                tally(&mut clients, TallyKey { hour, id: client }, row.action);
            }
        }
        add_tallies(&transaction, &names, "hour_names", "name")?;
        add_tallies(&transaction, &clients, "hour_clients", "client")?;
        add_counts(&transaction, batch)?;
        transaction.commit()
    }
}

/// The rows of all threads, oldest first: rows are shown in the order of their numbers.
fn in_order(buffers: &[Vec<u8>]) -> Vec<PackedRow<'_>> {
    let mut rows: Vec<_> = buffers.iter().flat_map(|buffer| unpack_all(buffer)).collect();
    rows.sort_by_key(|row| row.unix_ms);
    rows
}

/// The number of a rule; its text is asked for once a batch, since a reload may have put another
/// rule in its place by the next.
fn rule_number(
    connection: &Connection,
    batch: &RowBatch<'_>,
    known: &mut HashMap<RuleRef, i64>,
    rule: RuleRef,
    host: &str,
    hour: i64,
) -> Result<i64> {
    if let Some(id) = known.get(&rule) {
        return Ok(*id);
    }
    let (list, line, text) = batch
        .rules
        .text(rule, host)
        .unwrap_or_else(|| (format!("list {}, gone", rule.list.0), rule.line, String::new()));
    let text = &text[..text.floor_char_boundary(RULE_BYTES_MAX)];
    let id = rule_id(connection, &list, line, text, hour)?;
    known.insert(rule, id);
    Ok(id)
}

fn tally(tallies: &mut Tallies, key: TallyKey, action: Action) {
    let tally = tallies.entry(key).or_default();
    match action {
        Action::Pass => tally.passed += 1,
        Action::Block => tally.blocked += 1,
    }
}

fn add_tallies(connection: &Connection, tallies: &Tallies, table: &str, key: &str) -> Result<()> {
    let mut add = connection.prepare_cached(&format!(
        "INSERT INTO {table} (hour, {key}, passed, blocked) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (hour, {key}) DO UPDATE
         SET passed = passed + excluded.passed, blocked = blocked + excluded.blocked"
    ))?;
    // In the order of the table's key: neighbours share a page.
    let mut sorted: Vec<_> = tallies.iter().collect();
    sorted.sort_unstable_by_key(|(key, _)| **key);
    for (TallyKey { hour, id }, tally) in sorted {
        add.execute(params![hour, id, tally.passed as i64, tally.blocked as i64])?;
    }
    Ok(())
}

fn add_counts(connection: &Connection, batch: &RowBatch<'_>) -> Result<()> {
    let mut add = connection.prepare_cached(
        "INSERT INTO minutes (minute, door, action, source, count) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (minute, door, action, source) DO UPDATE
         SET count = count + excluded.count",
    )?;
    for (door, action, source, count) in batch.counts.iter() {
        add.execute(params![
            batch.minute as i64,
            door.code(),
            action.code(),
            source.code(),
            count as i64
        ])?;
    }
    Ok(())
}

/// The client's address as it is stored.
fn client_text(client: IpAddr, anonymise: AnonymiseMode) -> String {
    match (anonymise, client) {
        (AnonymiseMode::None, client) => client.to_string(),
        (AnonymiseMode::Network, IpAddr::V4(v4)) => {
            Ipv4Addr::from_bits(v4.to_bits() & (u32::MAX << 8)).to_string()
        }
        (AnonymiseMode::Network, IpAddr::V6(v6)) => {
            Ipv6Addr::from_bits(v6.to_bits() & (u128::MAX << 80)).to_string()
        }
    }
}

/// The host of a URL, without user, port and brackets; the whole text if it is none.
fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    match host.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or(v6),
        None => host.split(':').next().unwrap_or(host),
    }
}

fn lower(host: &str) -> std::borrow::Cow<'_, str> {
    if host.bytes().any(|byte| byte.is_ascii_uppercase()) {
        host.to_ascii_lowercase().into()
    } else {
        host.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_a_url_stands_alone() {
        for (url, host) in [
            ("http://www.example/a?b", "www.example"),
            ("https://user:pw@www.example:8443", "www.example"),
            ("http://[2001:db8::1]:80/", "2001:db8::1"),
            ("www.example:443", "www.example"),
            ("http://www.example?q=http://other/", "www.example"),
            ("", ""),
        ] {
            assert_eq!(host_of(url), host, "{url}");
        }
    }

    #[test]
    fn an_anonymised_client_is_its_network() {
        let stored = |text: &str| client_text(text.parse().unwrap(), AnonymiseMode::Network);
        assert_eq!(stored("192.168.7.201"), "192.168.7.0");
        assert_eq!(stored("2001:db8:1:2:3:4:5:6"), "2001:db8:1::");
        assert_eq!(
            client_text("192.168.7.201".parse().unwrap(), AnonymiseMode::None),
            "192.168.7.201"
        );
    }
}
