//! Names of the keys at the server: all begin with the prefix, so that one pattern of an ACL
//! serves.

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
    /// Seed of the names of buckets.
    pub(crate) seed: String,
    /// Beginning of the names of buckets.
    pub(crate) buckets: String,
    /// Keys of TLS sessions.
    pub(crate) tickets: String,
}

impl ServerKeys {
    pub(crate) fn new(prefix: &str) -> Self {
        let key = |name: &str| format!("{prefix}:{name}");
        Self {
            entries: key("entries"),
            changes: key("changes"),
            purges: key("purges"),
            purge_line: key("purge-line"),
            edges: key("edges"),
            seed: key("seed"),
            buckets: key("limit:"),
            tickets: key("ticket-keys"),
        }
    }
}
