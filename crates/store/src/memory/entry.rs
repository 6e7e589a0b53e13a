//! A stored response: its head as it was filed, and its body in memory.
//!
//! Neither ever changes; a head that the origin freshened is a new entry with the same body. Made
//! by the store; held by the tier, by fetches under way and by doors while they send.

use crate::budget::{Budget, ByteCharge, ByteClass};
use crate::fill::FillBody;
use bytes::{Bytes, BytesMut};
use disk_store::{CacheKey, StoredAnswer};
use http::header::{HeaderMap, HeaderName, HeaderValue};
use http_freshness::{ReuseTerms, StoredHead};
use std::ops::Deref;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

/// Bytes of a filed head besides its fields, URL and tags: itself, its entry, its node
/// and its place in the map. Measured by `tests/resident.rs`.
const FILED_BYTES: u64 = 1024;
/// Bytes of one field besides its value: its place in the map, twice for its growth.
const FIELD_BYTES: u64 = 160;
/// Hits beyond this are not told apart (S3-FIFO: two bits).
const HITS_MAX: u8 = 3;

/// A response's head, filed: what a reader needs before the first byte of the body.
pub struct FiledHead {
    key: CacheKey,
    head: StoredHead,
    terms: ReuseTerms,
    ready: OnceLock<Bytes>,
    charge: ByteCharge,
}

impl FiledHead {
    /// Files a head, counted as of a fetch under way. `None` where the account has no room for it.
    pub(crate) fn new(
        budget: &Arc<Budget>,
        key: CacheKey,
        head: &StoredHead,
        terms: ReuseTerms,
    ) -> Option<Arc<Self>> {
        let head = compact(head);
        let charge = budget.try_charge(ByteClass::Heads, cost(&key, &head, &terms))?;
        Some(Arc::new(Self { key, head, terms, ready: OnceLock::new(), charge }))
    }

    /// Returns what it is filed under.
    pub const fn key(&self) -> &CacheKey {
        &self.key
    }

    /// The head.
    pub const fn head(&self) -> &StoredHead {
        &self.head
    }

    /// On which terms it may be used.
    pub const fn terms(&self) -> &ReuseTerms {
        &self.terms
    }

    /// The lines of its head as a door sends them, made by the first that asks. Room for as many
    /// bytes as the fields' names, values and four more each is counted from the start.
    pub fn ready(&self, make: impl FnOnce(&StoredHead) -> Bytes) -> &Bytes {
        self.ready.get_or_init(|| make(&self.head))
    }

    pub(super) const fn charge(&self) -> &ByteCharge {
        &self.charge
    }
}

/// Where a body is.
#[derive(Clone)]
pub enum EntryContent {
    /// All of it, in memory.
    Memory(FillBody),
    /// Front, in memory, from a fetch that broke off (RFC 9111 §3.3); the rest may be asked
    /// for.
    Partial(FillBody),
    /// All of it, on disk: clone its body to read it, on a thread that may wait, or send it from
    /// the file.
    Disk(Arc<StoredAnswer>),
}

impl EntryContent {
    /// The length of what is there, in bytes.
    pub fn len(&self) -> u64 {
        match self {
            Self::Memory(body) | Self::Partial(body) => body.len(),
            Self::Disk(stored) => stored.body.len(),
        }
    }

    /// True if there is nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn in_memory(&self) -> Option<&FillBody> {
        match self {
            Self::Memory(body) | Self::Partial(body) => Some(body),
            Self::Disk(_) => None,
        }
    }
}

/// A stored response.
pub struct StoredEntry {
    filed: Arc<FiledHead>,
    content: EntryContent,
    hits: AtomicU8,
}

impl StoredEntry {
    pub(crate) const fn new(filed: Arc<FiledHead>, content: EntryContent) -> Self {
        Self { filed, content, hits: AtomicU8::new(0) }
    }

    /// Returns its head and what goes with it.
    pub const fn filed(&self) -> &Arc<FiledHead> {
        &self.filed
    }

    /// Returns its body, or what is there of it.
    pub const fn content(&self) -> &EntryContent {
        &self.content
    }

    /// True if only the front of its body is there.
    pub const fn is_partial(&self) -> bool {
        matches!(self.content, EntryContent::Partial(_))
    }

    /// Returns what it takes in memory, in bytes.
    pub(super) fn cost(&self) -> u64 {
        self.content.in_memory().map_or(0, FillBody::cost) + self.filed.charge.bytes()
    }

    /// Counts all it takes as one class.
    pub(super) fn move_to(&self, class: ByteClass) {
        if let Some(body) = self.content.in_memory() {
            body.move_to(class);
        }
        self.filed.charge.move_to(class);
    }

    /// Notes that it was used.
    pub(crate) fn hit(&self) {
        // Two at once may count as one.
        let hits = self.hits.load(Ordering::Relaxed);
        if hits < HITS_MAX {
            self.hits.store(hits + 1, Ordering::Relaxed);
        }
    }

    pub(super) fn hits(&self) -> u8 {
        self.hits.load(Ordering::Relaxed)
    }

    pub(super) fn set_hits(&self, hits: u8) {
        self.hits.store(hits, Ordering::Relaxed);
    }
}

impl Deref for StoredEntry {
    type Target = FiledHead;
    fn deref(&self) -> &FiledHead {
        &self.filed
    }
}

/// The same head in memory of its own: fields as they are read are slices of a connection's buffer,
/// and would keep all of it.
fn compact(head: &StoredHead) -> StoredHead {
    StoredHead {
        status: head.status,
        fields: compact_fields(&head.fields),
        selecting: compact_fields(&head.selecting),
        requested_ms: head.requested_ms,
        received_ms: head.received_ms,
    }
}

fn compact_fields(fields: &HeaderMap) -> HeaderMap {
    let bytes = fields.values().map(HeaderValue::len).sum();
    let mut values = BytesMut::with_capacity(bytes);
    let mut own = HeaderMap::with_capacity(fields.len());
    for (name, value) in fields {
        values.extend_from_slice(value.as_bytes());
        let copy = HeaderValue::from_maybe_shared(values.split().freeze());
        let own_name = HeaderName::from_bytes(name.as_str().as_bytes());
        let (Ok(own_name), Ok(copy)) = (own_name, copy) else {
            unreachable!("a name and a value are read back from what they are")
        };
        own.append(own_name, copy);
    }
    own
}

fn cost(key: &CacheKey, head: &StoredHead, terms: &ReuseTerms) -> u64 {
    let fields = head.fields.iter().chain(&head.selecting);
    // Name and value stand here and in the lines made ready.
    let fields =
        fields.map(|(name, value)| 2 * (name.as_str().len() + value.len()) as u64 + FIELD_BYTES);
    let tags = terms.tags.iter().map(|tag| tag.len() as u64 + 32);
    FILED_BYTES + key.url().len() as u64 + fields.sum::<u64>() + tags.sum::<u64>()
}
