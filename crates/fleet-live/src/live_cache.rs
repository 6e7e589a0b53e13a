//! Values that machines keep for each other for a while: asked for and told through bounded queues,
//! by whoever must not wait.
//!
//! It neither seals nor believes anything: names and values are the caller's. While the server is
//! away, slow, or has not heard of a purge of ours, nothing is asked. Made by the binary; emptied
//! by the session.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::{Mutex, oneshot};

/// Largest value, in bytes; what the server has beyond it is cut off there.
pub const VALUE_BYTES_MAX: usize = 16 << 10;
/// Questions that may wait; beyond it none is asked.
const ASKED_MAX: usize = 1024;
/// Values that may wait to be told; beyond it they are dropped.
const TOLD_MAX: usize = 1024;

/// Values that machines share.
pub struct LiveCache {
    asked: Sender<AskedValue>,
    told: Sender<ToldValue>,
    pub(crate) asks: Mutex<Receiver<AskedValue>>,
    pub(crate) tells: Mutex<Receiver<ToldValue>>,
    /// True while there is a session.
    is_open: AtomicBool,
    /// True from a purge of ours until the server has given it its number.
    awaits_purge: AtomicBool,
    /// Moment until which the server is not asked, as it was slow, by the clock that never goes
    /// back.
    closed_until_ms: AtomicU64,
}

/// Question for a value.
pub(crate) struct AskedValue {
    pub(crate) name: u128,
    pub(crate) answer: oneshot::Sender<Option<Vec<u8>>>,
}

/// Value to be told.
pub(crate) struct ToldValue {
    pub(crate) name: u128,
    pub(crate) value: Vec<u8>,
    /// Moment at which it is of no use any more, in milliseconds since 1970.
    pub(crate) ends_unix_ms: u64,
}

/// Place in the line of purges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PurgeMark {
    /// Line: another one says that the server has lost what it had.
    pub line: String,
    /// Number of the last purge.
    pub number: u64,
}

/// Outcome of telling a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueTold {
    /// The value waits to be told.
    Waits,
    /// The value is not told: the server is away, too many wait, or it is too long.
    Dropped,
}

impl Default for LiveCache {
    fn default() -> Self {
        let (asked, asks) = channel(ASKED_MAX);
        let (told, tells) = channel(TOLD_MAX);
        Self {
            asked,
            told,
            asks: Mutex::new(asks),
            tells: Mutex::new(tells),
            is_open: AtomicBool::new(false),
            awaits_purge: AtomicBool::new(false),
            closed_until_ms: AtomicU64::new(0),
        }
    }
}

impl LiveCache {
    /// Asks for a value; none at once where it is not worth asking. The answer may never come.
    pub fn ask(&self, name: u128, mono_ms: u64) -> Option<oneshot::Receiver<Option<Vec<u8>>>> {
        if !self.is_open(mono_ms) {
            return None;
        }
        let (answer, receiver) = oneshot::channel();
        self.asked.try_send(AskedValue { name, answer }).ok().map(|()| receiver)
    }

    /// Tells a value. Never waits.
    pub fn tell(&self, name: u128, value: Vec<u8>, ends_unix_ms: u64, mono_ms: u64) -> ValueTold {
        if !self.is_open(mono_ms) || value.len() > VALUE_BYTES_MAX {
            return ValueTold::Dropped;
        }
        match self.told.try_send(ToldValue { name, value, ends_unix_ms }) {
            Ok(()) => ValueTold::Waits,
            Err(_) => ValueTold::Dropped,
        }
    }

    /// True while a purge of ours has no number yet: what comes now may be older than it.
    pub fn awaits_purge(&self) -> bool {
        self.awaits_purge.load(Relaxed)
    }

    fn is_open(&self, mono_ms: u64) -> bool {
        self.is_open.load(Relaxed)
            && !self.awaits_purge()
            && mono_ms >= self.closed_until_ms.load(Relaxed)
    }

    pub(crate) fn open(&self) {
        self.is_open.store(true, Relaxed);
    }

    pub(crate) fn close(&self) {
        self.is_open.store(false, Relaxed);
    }

    pub(crate) fn close_until(&self, mono_ms: u64) {
        self.closed_until_ms.store(mono_ms, Relaxed);
    }

    pub(crate) fn await_purge(&self) {
        self.awaits_purge.store(true, Relaxed);
    }

    pub(crate) fn purge_is_told(&self) {
        self.awaits_purge.store(false, Relaxed);
    }
}
