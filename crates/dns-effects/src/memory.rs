//! Which name an address was last given for.
//!
//! Learned from answers, bounded in number and time, and forgotten with the process. It is a guess:
//! many names share an address, and the last one asked for wins. Called by the door with answers,
//! and for PTR questions and whoever wants a name beside an address.

use quick_cache::sync::Cache;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use vocab::{Complaint, Name, Now};

/// Addresses that are remembered where nothing is set, as in mosdns.
pub const SIZE_DEFAULT: usize = 65_536;
/// Most that can be set: some 200 bytes each.
pub const SIZE_MAX: usize = 4 << 20;
/// Time for which a name is remembered where nothing is set.
pub const TTL_DEFAULT: Duration = Duration::from_hours(2);
const TTL_MAX: Duration = Duration::from_hours(30 * 24);
/// Time for which clients may keep the answer to a PTR question: it may be another in a moment.
pub const PTR_TTL_S: u32 = 5;
/// Names with more bytes of text are not remembered: escaped binary labels, which no host has.
const NAME_BYTES_MAX: usize = 255;

/// The memory. At its cap the addresses that are asked for least give way.
#[derive(Debug)]
pub struct ReverseMemory {
    names: Cache<IpAddr, Arc<RememberedName>>,
    ttl_ms: u64,
    learned_count: AtomicU64,
}

/// A name and until when it holds.
#[derive(Debug)]
struct RememberedName {
    name: Box<str>,
    until_mono_ms: AtomicU64,
}

/// A name that an address was given for.
#[derive(Clone, Debug)]
pub struct KnownName(Arc<RememberedName>);

impl KnownName {
    /// The name, lower-case, without a final dot.
    pub fn as_str(&self) -> &str {
        &self.0.name
    }
}

impl ReverseMemory {
    /// Says what is wrong with its settings.
    pub fn check(size: usize, ttl: Duration) -> Vec<Complaint> {
        let mut wrong = Vec::new();
        super::bounds(&mut wrong, "size", &size, &(1..=SIZE_MAX), "from 1 to 4194304");
        let ttls = Duration::from_secs(1)..=TTL_MAX;
        super::bounds(&mut wrong, "ttl", &ttl, &ttls, "from 1s to 30d");
        wrong
    }

    /// Remembers at most `size` addresses, each for `ttl` after it was last seen in an answer.
    pub fn new(size: usize, ttl: Duration) -> Self {
        let size = size.clamp(1, SIZE_MAX);
        let ttl_ms = u64::try_from(ttl.min(TTL_MAX).as_millis()).unwrap_or(u64::MAX);
        Self { names: Cache::new(size), ttl_ms, learned_count: AtomicU64::new(0) }
    }

    /// Notes that `name` was answered with `addresses`. Allocates only for what is new.
    pub fn learn(&self, name: Name<'_>, addresses: impl IntoIterator<Item = IpAddr>, now: Now) {
        if name.as_str().len() > NAME_BYTES_MAX {
            return;
        }
        let until = now.mono_ms.saturating_add(self.ttl_ms);
        // All addresses of an answer share the name.
        let mut shared: Option<Arc<RememberedName>> = None;
        for address in addresses {
            let address = address.to_canonical();
            match self.names.get(&address) {
                Some(known) if &*known.name == name.as_str() => {
                    known.until_mono_ms.store(until, Relaxed);
                }
                _ => {
                    let known = shared.get_or_insert_with(|| {
                        let name = name.as_str().into();
                        Arc::new(RememberedName { name, until_mono_ms: AtomicU64::new(until) })
                    });
                    self.names.insert(address, Arc::clone(known));
                    self.learned_count.fetch_add(1, Relaxed);
                }
            }
        }
    }

    /// The name that `address` was last given for, if that is not too long ago.
    pub fn name_of(&self, address: IpAddr, now: Now) -> Option<KnownName> {
        let known = self.names.get(&address.to_canonical())?;
        (now.mono_ms < known.until_mono_ms.load(Relaxed)).then_some(KnownName(known))
    }

    /// Addresses held now.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// True if it holds none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Addresses that were new or got another name, since the start.
    pub fn learned_count(&self) -> u64 {
        self.learned_count.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn at(seconds: u64) -> Now {
        Now { unix_ms: 0, mono_ms: seconds * 1000 }
    }

    fn name(text: &str) -> Name<'_> {
        Name::from_lowercase(text).expect("a name")
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    fn named(memory: &ReverseMemory, address: &str, now: Now) -> Option<String> {
        memory.name_of(ip(address), now).map(|it| it.as_str().to_owned())
    }

    #[test]
    fn an_address_has_the_name_it_was_last_given_for() {
        let memory = ReverseMemory::new(100, Duration::from_mins(1));
        memory.learn(name("a.example"), [ip("192.0.2.1"), ip("2001:db8::1")], at(0));
        assert_eq!(named(&memory, "192.0.2.1", at(59)).as_deref(), Some("a.example"));
        assert_eq!(named(&memory, "::ffff:192.0.2.1", at(59)).as_deref(), Some("a.example"));
        assert_eq!(named(&memory, "192.0.2.1", at(60)), None, "its time is over");
        memory.learn(name("a.example"), [ip("192.0.2.1")], at(100));
        assert_eq!(named(&memory, "192.0.2.1", at(159)).as_deref(), Some("a.example"));
        memory.learn(name("b.example"), [ip("192.0.2.1")], at(110));
        assert_eq!(named(&memory, "192.0.2.1", at(111)).as_deref(), Some("b.example"));
        assert_eq!(named(&memory, "192.0.2.2", at(1)), None);
        assert_eq!(memory.learned_count(), 3, "the second time it was known");
    }

    #[test]
    fn a_flood_of_addresses_stays_within_the_size() {
        let memory = ReverseMemory::new(1000, Duration::from_mins(1));
        for number in 0..100_000 {
            memory.learn(name("a.example"), [Ipv4Addr::from_bits(number).into()], at(0));
        }
        assert!(memory.len() <= 1000, "{}", memory.len());
        assert!(!memory.is_empty());
    }
}
