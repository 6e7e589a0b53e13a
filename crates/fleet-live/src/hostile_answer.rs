//! An answer of a server that nobody trusts, as everything that reads answers takes it.
//!
//! It does nothing with it. Called by the fuzz target.

use crate::cluster_map::ClusterMap;
use crate::entry::StoredEntry;
use crate::question_frame::{ReplyFrame, WireFrame};
use crate::reply_gauge::{BadReply, ReplyGauge};
use crate::server_place::ServerPlace;
use crate::session::{items, pages};
use crate::ticket_keys::FleetSeal;
use redis::{ErrorKind, Value, from_redis_value, parse_redis_value};

/// Readings that were made of an answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct HostileAnswer {
    /// Values in the answer, lists among them.
    pub values: u64,
    /// True if the client's library takes it for a whole answer.
    pub is_whole: bool,
    /// True if the library waits for more of it.
    pub is_begun: bool,
    /// Nodes of a cluster in it, and parts that these have.
    pub nodes: usize,
    /// Items of streams in it.
    pub items: usize,
    /// Longest text of an entry in it, in bytes.
    pub text_bytes: usize,
    /// Longest sealed question in it, in bytes.
    pub carried_bytes: usize,
    /// Replies to a question in it.
    pub replies: usize,
}

impl HostileAnswer {
    /// Reads bytes as a session does; an error says why the connection would be given up.
    pub fn read(bytes: &[u8]) -> Result<Self, BadReply> {
        ReplyGauge::default().take(bytes)?;
        let mut read = Self::default();
        let value = match parse_redis_value(bytes) {
            Ok(value) => value,
            Err(why) => {
                let is_begun = why.kind() == ErrorKind::Io;
                return Ok(Self { is_begun, ..read });
            }
        };
        read.is_whole = true;
        read.values = count(&value);
        if let Some(asked) = ServerPlace::new("127.0.0.1", 6379) {
            let map = ClusterMap::read(value.clone(), &asked);
            read.nodes =
                map.map_or(0, |map| map.nodes.len() + map.parts().iter().flatten().count());
        }
        let streams = pages(value.clone()).unwrap_or_default();
        let paged = streams.into_iter().flat_map(|(_, items)| items);
        for item in paged.chain(items(value.clone()).unwrap_or_default()) {
            read.items += 1;
            let question = WireFrame::read(&item.fields).map_or(0, |it| it.sealed.len());
            read.carried_bytes = read.carried_bytes.max(question);
            for text in item.fields.values() {
                read.take_text(text);
            }
        }
        if let Ok(replies) = from_redis_value::<Vec<Vec<u8>>>(value.clone()) {
            let replies = replies.iter().filter_map(|it| ReplyFrame::parse(it));
            read.replies = replies.count();
        }
        if let Ok(text) = from_redis_value::<String>(value) {
            read.take_text(&text);
        }
        Ok(read)
    }

    fn take_text(&mut self, text: &str) {
        if let Some(entry) = StoredEntry::parse(text) {
            let said = entry.entry("k", i64::MIN).said.map_or(0, |said| said.text.len());
            self.text_bytes = self.text_bytes.max(said);
            // Neither may panic, whatever the moments are.
            let _ = (entry.is_forgotten(0), entry.is_forgotten(u64::MAX));
        }
        let seal = FleetSeal::new("a secret that nobody has", "tidegate");
        if seal.is_some_and(|seal| seal.open(text, 1).is_some()) {
            self.text_bytes = usize::MAX;
        }
    }
}

fn count(value: &Value) -> u64 {
    1 + match value {
        Value::Array(values) | Value::Set(values) => values.iter().map(count).sum(),
        Value::Map(pairs) => pairs.iter().map(|(key, value)| count(key) + count(value)).sum(),
        Value::Push { data, .. } => data.iter().map(count).sum(),
        Value::Attribute { data, attributes } => {
            let pairs = attributes.iter().map(|(key, value)| count(key) + count(value));
            count(data) + pairs.sum::<u64>()
        }
        _ => 0,
    }
}
