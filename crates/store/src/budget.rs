//! The account of all bytes that the store holds in memory, against one limit.
//!
//! Capacities are counted, not lengths, and a byte leaves the account when the last holder of its
//! slab lets go, so that the limit means what is resident: a client's socket that still holds a
//! slice of an evicted body is paid for. It allocates nothing itself. Asked by fills before they
//! take a slab and by the memory tier before it keeps an entry.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

/// The least that a fill takes at once, in bytes. Every fill may have it even when the limit is
/// reached: two of them are set aside for each (see [`RESERVE_BYTES`]).
pub(crate) const PIECE_BYTES_MIN: usize = 512;
/// Bytes that are set aside for each fill: one piece on its way into a socket, one being filled.
pub(crate) const RESERVE_BYTES: u64 = 2 * PIECE_BYTES_MIN as u64;
/// Bounds of one fill's window, in bytes: how far it runs ahead of its slowest reader. Below 16 KiB
/// every packet costs a wake-up; above 256 KiB nothing gets faster on a path of 100 ms and 20
/// Mbit/s.
const WINDOW_BYTES_MIN: u64 = 16 << 10;
const WINDOW_BYTES_MAX: u64 = 256 << 10;

/// Windows beyond what is set aside for each fill take at most one of so many parts of the limit:
/// the rest is for what is asked for again and again.
const WINDOWS_PART: u64 = 2;
/// One of so many parts of the limit is not for windows: the first fills must not keep later ones
/// out.
const ENTRY_PART: u64 = 16;

/// Tells what bytes are held for, in the order in which they are defended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ByteClass {
    /// Bytes on their way to a reader. Never given up.
    Windows,
    /// Heads of fetches under way, and the tables that find things. Never given up.
    Heads,
    /// Responses that the memory tier keeps. Given up first.
    Cache,
}

const CLASSES: [ByteClass; 3] = [ByteClass::Windows, ByteClass::Heads, ByteClass::Cache];

/// Holder of bytes of [`ByteClass::Cache`] that can give them back: the memory tier.
pub(crate) trait CacheYield: Send + Sync {
    /// Gives back at least `bytes` if there are as many. Called without any lock held.
    fn release(&self, bytes: u64);
}

/// The account.
pub struct Budget {
    limit: u64,
    total: AtomicU64,
    classes: [AtomicU64; 3],
    peak: AtomicU64,
    fills: AtomicU64,
    yields: OnceLock<Weak<dyn CacheYield>>,
}

impl Budget {
    /// An empty account with a limit in bytes.
    pub(crate) fn new(limit: u64) -> Arc<Self> {
        Arc::new(Self {
            limit,
            total: AtomicU64::new(0),
            classes: [const { AtomicU64::new(0) }; 3],
            peak: AtomicU64::new(0),
            fills: AtomicU64::new(0),
            yields: OnceLock::new(),
        })
    }

    /// Names who gives way when the limit is reached. The first one stays.
    pub(crate) fn yields_by(&self, who: Weak<dyn CacheYield>) {
        // A second tier on one account would be a mistake in this crate; the first keeps its place.
        let _ = self.yields.set(who);
    }

    /// The limit in bytes.
    pub const fn limit(&self) -> u64 {
        self.limit
    }

    /// Bytes held now, of all classes.
    pub fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    /// The most that was ever held at once, in bytes.
    pub fn peak(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }

    /// Bytes of one class held now.
    pub fn held(&self, class: ByteClass) -> u64 {
        self.classes[class as usize].load(Ordering::Relaxed)
    }

    /// Fills under way.
    pub fn fills(&self) -> u64 {
        self.fills.load(Ordering::Relaxed)
    }

    /// Returns what the memory tier may hold beside all that goes before it, in bytes.
    pub(crate) fn cache_limit(&self) -> u64 {
        let before = self.held(ByteClass::Windows) + self.held(ByteClass::Heads) + self.reserved();
        self.limit.saturating_sub(before)
    }

    /// Returns how far one fill may run ahead of its slowest reader, in bytes.
    pub(crate) fn window(&self) -> u64 {
        (self.limit / self.fills().max(1)).clamp(WINDOW_BYTES_MIN, WINDOW_BYTES_MAX)
    }

    /// Counts bytes whatever the limit says.
    pub(crate) fn charge(self: &Arc<Self>, class: ByteClass, bytes: u64) -> ByteCharge {
        let total = self.total.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak.fetch_max(total, Ordering::Relaxed);
        self.counted(class, bytes)
    }

    /// Counts bytes if they fit, after the cache has given way.
    pub(crate) fn try_charge(self: &Arc<Self>, class: ByteClass, bytes: u64) -> Option<ByteCharge> {
        let room = match class {
            ByteClass::Windows if self.held(class) + bytes > self.limit / WINDOWS_PART => {
                return None;
            }
            ByteClass::Windows => self.limit - self.limit / ENTRY_PART,
            ByteClass::Heads | ByteClass::Cache => self.limit,
        };
        let mut fits = self.try_add(bytes, room);
        if !fits && class != ByteClass::Cache {
            let over = (self.total() + self.reserved() + bytes).saturating_sub(room);
            // An upgrade fails only while the store itself is dropped.
            if let Some(tier) = self.yields.get().and_then(Weak::upgrade) {
                tier.release(over);
            }
            fits = self.try_add(bytes, room);
        }
        fits.then(|| self.counted(class, bytes))
    }

    fn counted(self: &Arc<Self>, class: ByteClass, bytes: u64) -> ByteCharge {
        self.classes[class as usize].fetch_add(bytes, Ordering::Relaxed);
        ByteCharge { budget: Arc::clone(self), bytes, class: AtomicU8::new(class as u8) }
    }

    fn reserved(&self) -> u64 {
        self.fills() * RESERVE_BYTES
    }

    fn try_add(&self, bytes: u64, room: u64) -> bool {
        let room = room.saturating_sub(self.reserved());
        let added = self.total.try_update(Ordering::Relaxed, Ordering::Relaxed, |total| {
            total.checked_add(bytes).filter(|sum| *sum <= room)
        });
        if let Ok(before) = added {
            self.peak.fetch_max(before + bytes, Ordering::Relaxed);
        }
        added.is_ok()
    }

    /// Counts a fill and what it takes beside its bytes, or says that there is no room for another.
    pub(crate) fn admit_fill(self: &Arc<Self>, overhead: u64) -> Option<CountedFill> {
        self.fills.fetch_add(1, Ordering::Relaxed);
        let left = FillCount(Arc::clone(self));
        // Its reserve counts already, so that a fill which gets in can always go on.
        self.try_charge(ByteClass::Heads, overhead)
            .map(|charge| CountedFill { _charge: charge, _left: left })
    }
}

/// A fill that is counted; dropping it ends that.
pub(crate) struct CountedFill {
    _charge: ByteCharge,
    _left: FillCount,
}

struct FillCount(Arc<Budget>);

impl Drop for FillCount {
    fn drop(&mut self) {
        self.0.fills.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Bytes that are counted; dropping it counts them out.
pub struct ByteCharge {
    budget: Arc<Budget>,
    bytes: u64,
    class: AtomicU8,
}

impl ByteCharge {
    /// Moves the bytes to another class.
    pub(crate) fn move_to(&self, class: ByteClass) {
        let before = self.class.swap(class as u8, Ordering::Relaxed);
        self.budget.classes[class as usize].fetch_add(self.bytes, Ordering::Relaxed);
        self.budget.classes[usize::from(before)].fetch_sub(self.bytes, Ordering::Relaxed);
    }

    /// The bytes.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for ByteCharge {
    fn drop(&mut self) {
        let class = usize::from(*self.class.get_mut());
        debug_assert!(class < CLASSES.len(), "set from a Class only");
        self.budget.classes[class].fetch_sub(self.bytes, Ordering::Relaxed);
        self.budget.total.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    struct Hoard(Mutex<Vec<ByteCharge>>);

    impl CacheYield for Hoard {
        fn release(&self, bytes: u64) {
            let mut given = 0;
            while given < bytes {
                let Some(charge) = self.0.lock().unwrap().pop() else { return };
                given += charge.bytes();
            }
        }
    }

    #[test]
    fn the_cache_gives_way_before_a_window_is_refused() {
        let budget = Budget::new(1000);
        let hoard = (0..10).map(|_| budget.try_charge(ByteClass::Cache, 100).unwrap()).collect();
        let hoard: Arc<Hoard> = Arc::new(Hoard(Mutex::new(hoard)));
        let weak: Weak<Hoard> = Arc::downgrade(&hoard);
        budget.yields_by(weak);
        assert!(budget.try_charge(ByteClass::Cache, 1).is_none(), "the cache makes its own room");
        let window = budget.try_charge(ByteClass::Windows, 250).unwrap();
        assert_eq!((budget.held(ByteClass::Cache), budget.total()), (600, 850));
        assert!(budget.try_charge(ByteClass::Windows, 251).is_none(), "more than half");
        drop(window);
        assert_eq!(
            (budget.held(ByteClass::Windows), budget.total(), budget.peak()),
            (0, 600, 1000)
        );
    }

    #[test]
    fn what_is_set_aside_for_a_fill_is_there_when_it_comes() {
        let budget = Budget::new(10 * RESERVE_BYTES);
        let mut fills = Vec::new();
        while let Some(entered) = budget.admit_fill(100) {
            fills.push(entered);
        }
        let pieces: Vec<_> =
            fills.iter().map(|_| budget.charge(ByteClass::Windows, RESERVE_BYTES)).collect();
        assert!(!fills.is_empty() && budget.total() <= budget.limit());
        assert_eq!(budget.fills(), fills.len() as u64);
        drop((fills, pieces));
        assert_eq!((budget.fills(), budget.total()), (0, 0));
    }

    #[test]
    fn the_window_is_the_fair_share_within_its_bounds() {
        let budget = Budget::new(400 << 10);
        assert_eq!(budget.window(), WINDOW_BYTES_MAX);
        let fills: Vec<_> = (0..4).map_while(|_| budget.admit_fill(0)).collect();
        assert_eq!(budget.window(), 100 << 10);
        let more: Vec<_> = (0..90).map_while(|_| budget.admit_fill(0)).collect();
        assert_eq!((fills.len() + more.len(), budget.window()), (94, WINDOW_BYTES_MIN));
    }
}
