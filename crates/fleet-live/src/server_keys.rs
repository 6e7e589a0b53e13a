//! Names of the keys at the server: all begin with the prefix, so that one pattern of an ACL
//! serves.

use crate::cluster_map::part_tag;
use crate::question_frame::QuestionId;
use rate_limit::BucketName;

/// Spread of keys over servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeySpread {
    /// One server has them all.
    One,
    /// Nodes of a cluster share them: one has all but the buckets, each has parts of these.
    Cluster,
}

/// Names of the keys.
#[derive(Clone, Debug)]
pub(crate) struct ServerKeys {
    /// Pauses, allows and blocks: a hash.
    pub(crate) entries: String,
    /// Changes of those: a stream.
    pub(crate) changes: String,
    /// Purges: a stream.
    pub(crate) purges: String,
    /// The line of the purges, and the number of its last: a hash.
    pub(crate) purge_line: String,
    /// Edges by the moment of their last word: a sorted set.
    pub(crate) edges: String,
    /// Questions to all machines: a stream.
    pub(crate) questions: String,
    /// Beginning of the names of replies to them.
    replies: String,
    /// Seed of the names of buckets.
    pub(crate) seed: String,
    /// Beginning of the names of buckets.
    buckets: String,
    /// Beginning of the names of values.
    values: String,
    tag: String,
    spread: KeySpread,
    /// Keys of TLS sessions.
    pub(crate) tickets: String,
}

impl ServerKeys {
    pub(crate) fn new(prefix: &str, spread: KeySpread) -> Self {
        let key = |name: &str| match spread {
            KeySpread::One => format!("{prefix}:{name}"),
            // The braces have the prefix decide the slot: scripts touch several of these keys.
            KeySpread::Cluster => format!("{prefix}:{{{prefix}}}:{name}"),
        };
        Self {
            entries: key("entries"),
            changes: key("changes"),
            purges: key("purges"),
            purge_line: key("purge-line"),
            edges: key("edges"),
            questions: key("questions"),
            replies: key("answer"),
            seed: key("seed"),
            buckets: format!("{prefix}:limit:"),
            values: format!("{prefix}:cache:"),
            tag: prefix.to_owned(),
            spread,
            tickets: key("ticket-keys"),
        }
    }

    /// The part of the names of all but the buckets that decides their slot in a cluster.
    pub(crate) fn tag(&self) -> &str {
        &self.tag
    }

    /// The name of the list of replies to a question.
    pub(crate) fn replies(&self, id: QuestionId) -> String {
        format!("{}:{id}", self.replies)
    }

    /// The name of a bucket.
    pub(crate) fn bucket(&self, bucket: BucketName) -> String {
        self.spread(&self.buckets, bucket.0)
    }

    /// The name of a value that machines keep for each other.
    pub(crate) fn value(&self, name: u128) -> String {
        self.spread(&self.values, name)
    }

    fn spread(&self, first: &str, name: u128) -> String {
        match self.spread {
            KeySpread::One => format!("{first}{name:032x}"),
            KeySpread::Cluster => {
                let (part, rest) = ((name >> 120) as u8, name & (u128::MAX >> 8));
                format!("{first}{{{}}}{rest:030x}", part_tag(part))
            }
        }
    }
}
