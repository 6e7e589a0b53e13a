//! Link information of a client: its hardware address, and the interface by which it came in.
//!
//! The kernel's tables are read when somebody is asked for who is not known, and again after a
//! while; whoever wants neither pays nothing. It starts no thread and fails never: who cannot be
//! found is unknown, and counts by its address. Called by every door.

mod rtnetlink;

use crate::Stream;
use arc_swap::ArcSwapOption;
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use vocab::{LinkInfo, LinkInfoNeeds, MacAddress, Now};

/// For how long what was read is believed: an address that moved to another device is found out by
/// then, and a home's table costs some 50 µs to read.
const FRESH_MS: u64 = 30_000;
/// Delay after a reading until somebody unknown has the table read again. Strangers from beyond a
/// router are never in it.
const REREAD_MIN_MS: u64 = 1_000;
/// Most neighbours, and most addresses of ours, that are kept. Linux itself keeps 1,024 neighbours
/// of a family unless it is told otherwise (`gc_thresh3`); those beyond are unknown.
const ENTRIES_MAX: usize = 16_384;
/// Most names of interfaces in the life of the process: each is kept for good, in 15 bytes at most.
/// Interfaces beyond are unknown.
const NAMES_MAX: usize = 1_024;

static NEIGHBOURS: KernelTable<Neighbours> = KernelTable::new();
static INTERFACES: KernelTable<InterfaceTable> = KernelTable::new();
static NAMES: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());

/// Hardware addresses; none where two links have the same address with different devices.
type Neighbours = HashMap<IpAddr, Option<MacAddress>>;

/// The names of interfaces by their numbers, and whose an address is.
#[derive(Debug, Default)]
struct InterfaceTable {
    names: HashMap<u32, &'static str>,
    /// None where two interfaces have the same address.
    addresses: HashMap<IpAddr, Option<u32>>,
}

/// Where a request came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrivedAt {
    /// To this address of ours.
    Address(SocketAddr),
    /// By the interface with this number.
    Interface(u32),
}

/// Returns what is known of a client, as far as it is wanted; `came_to` is asked only then.
#[inline]
pub fn of(
    wanted: LinkInfoNeeds,
    client: IpAddr,
    came_to: impl FnOnce() -> Option<ArrivedAt>,
    now: Now,
) -> LinkInfo {
    let mac = if wanted.mac { mac(client, now) } else { None };
    let came_to = if wanted.interface { came_to() } else { None };
    LinkInfo { mac, interface: came_to.and_then(|came_to| interface(came_to, now)) }
}

/// The address of ours that a connection is to, if somebody may want to know its interface.
pub fn local(wanted: LinkInfoNeeds, stream: &Stream) -> Option<ArrivedAt> {
    let local = if wanted.interface { stream.local().ok() } else { None };
    local.map(ArrivedAt::Address)
}

fn interface(came_to: ArrivedAt, now: Now) -> Option<&'static str> {
    INTERFACES.find(now, InterfaceTable::read, |known| known.name(came_to))
}

/// True if an interface of this machine has this address: what the kernel says, whatever it would
/// let a socket be bound to (`ip_nonlocal_bind`, `IP_TRANSPARENT`).
pub fn is_interface_address(address: IpAddr, now: Now) -> bool {
    let address = address.to_canonical();
    let has = |known: &InterfaceTable| known.addresses.contains_key(&address).then_some(());
    address.is_loopback() || INTERFACES.find(now, InterfaceTable::read, has).is_some()
}

/// The addresses of an interface now, in their order; those that need its name beside them
/// (link-local ones of IPv6) are left out, as are those that another interface has too.
pub fn interface_addresses(interface: &str) -> io::Result<Vec<IpAddr>> {
    let names = rtnetlink::links(ENTRIES_MAX)?;
    let index = names.into_iter().find(|(_, name)| name == interface).map(|(index, _)| index);
    let index = index.ok_or(io::ErrorKind::NotFound)?;
    let is_scoped =
        |address: &IpAddr| matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local());
    let all = rtnetlink::addresses(ENTRIES_MAX)?.into_iter();
    let its = all.filter(|(_, of)| *of == Some(index)).map(|(address, _)| address);
    let mut its: Vec<IpAddr> = its.filter(|address| !is_scoped(address)).collect();
    its.sort_unstable();
    Ok(its)
}

/// Every address of this machine that one interface alone has, with the interface's name, in their
/// order.
pub fn named_addresses() -> io::Result<Vec<(IpAddr, String)>> {
    let links = rtnetlink::links(ENTRIES_MAX)?;
    let all = rtnetlink::addresses(ENTRIES_MAX)?.into_iter();
    let found = all.filter_map(|(address, of)| Some((address, links.get(&of?)?.clone())));
    let mut found: Vec<_> = found.collect();
    found.sort_unstable();
    Ok(found)
}

/// The addresses of all interfaces now, in their order, link-local ones left out.
pub(crate) fn local_addresses() -> io::Result<Vec<IpAddr>> {
    let is_scoped =
        |address: &IpAddr| matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local());
    let all = rtnetlink::addresses(ENTRIES_MAX)?.into_keys();
    let mut all: Vec<IpAddr> = all.filter(|address| !is_scoped(address)).collect();
    all.sort_unstable();
    Ok(all)
}

fn mac(client: IpAddr, now: Now) -> Option<MacAddress> {
    let client = client.to_canonical();
    if client.is_loopback() {
        return None;
    }
    let read = || rtnetlink::neighbours(ENTRIES_MAX);
    NEIGHBOURS.find(now, read, |known| known.get(&client).copied().flatten())
}

impl InterfaceTable {
    fn read() -> io::Result<Self> {
        let names = rtnetlink::links(ENTRIES_MAX)?;
        let names = names.into_iter().filter_map(|(index, name)| Some((index, intern(&name)?)));
        Ok(Self { names: names.collect(), addresses: rtnetlink::addresses(ENTRIES_MAX)? })
    }

    fn name(&self, came_to: ArrivedAt) -> Option<&'static str> {
        let index = match came_to {
            ArrivedAt::Interface(index) => index,
            // A link-local address says its interface itself.
            ArrivedAt::Address(SocketAddr::V6(address)) if address.scope_id() != 0 => {
                address.scope_id()
            }
            ArrivedAt::Address(address) => {
                *self.addresses.get(&address.ip().to_canonical())?.as_ref()?
            }
        };
        self.names.get(&index).copied()
    }
}

/// The name, for the life of the process.
fn intern(name: &str) -> Option<&'static str> {
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.iter().find(|known| **known == name) {
        return Some(known);
    }
    (names.len() < NAMES_MAX).then(|| {
        let name: &'static str = Box::leak(name.into());
        names.push(name);
        name
    })
}

/// A table of the kernel's, as it was read last.
struct KernelTable<T> {
    last: ArcSwapOption<(u64, T)>,
    /// Held by whoever reads: others make do with what there is.
    reading: Mutex<()>,
}

impl<T: Default> KernelTable<T> {
    const fn new() -> Self {
        Self { last: ArcSwapOption::const_empty(), reading: Mutex::new(()) }
    }

    /// Returns what `find` finds. The table is read first if it is old, or if it is a second old
    /// and nothing is found.
    fn find<R>(
        &self,
        now: Now,
        read: impl FnOnce() -> io::Result<T>,
        find: impl Fn(&T) -> Option<R>,
    ) -> Option<R> {
        let last = self.last.load();
        let (age_ms, found) = match &*last {
            Some(last) => (now.mono_ms.saturating_sub(last.0), find(&last.1)),
            None => (u64::MAX, None),
        };
        let enough_ms = if found.is_some() { FRESH_MS } else { REREAD_MIN_MS };
        if age_ms < enough_ms {
            return found;
        }
        let _reading = match self.reading.try_lock() {
            Ok(reading) => reading,
            Err(TryLockError::Poisoned(reading)) => reading.into_inner(),
            // The first of all has nothing to go by, so it waits for whoever reads.
            Err(TryLockError::WouldBlock) if last.is_none() => {
                drop(self.reading.lock());
                return self.last.load().as_ref().and_then(|last| find(&last.1));
            }
            Err(TryLockError::WouldBlock) => return found,
        };
        // Where the kernel tells nothing, it is not asked again at once.
        let table = read().unwrap_or_default();
        let found = find(&table);
        self.last.store(Some(Arc::new((now.mono_ms, table))));
        found
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use std::cell::Cell;

    const NOBODY: LinkInfoNeeds = LinkInfoNeeds { mac: false, interface: false };
    const BOTH: LinkInfoNeeds = LinkInfoNeeds { mac: true, interface: true };

    fn at(mono_ms: u64) -> Now {
        Now { unix_ms: 0, mono_ms }
    }

    #[test]
    fn the_addresses_of_an_interface_are_found_by_its_name() {
        assert!(interface_addresses("lo").unwrap().contains(&"127.0.0.1".parse().unwrap()));
        let named = named_addresses().unwrap();
        assert!(named.contains(&("127.0.0.1".parse().unwrap(), "lo".into())), "{named:?}");
        let absent = interface_addresses("nosuch0").unwrap_err();
        assert_eq!(absent.kind(), io::ErrorKind::NotFound);
        let now = Now { unix_ms: 0, mono_ms: 10_000 };
        assert!(is_interface_address("127.0.0.9".parse().unwrap(), now));
        assert!(!is_interface_address("192.0.2.77".parse().unwrap(), now));
    }

    #[test]
    fn a_table_is_read_again_when_it_is_old_or_knows_somebody_not() {
        let kept = KernelTable::<HashMap<u8, u8>>::new();
        let readings = Cell::new(0);
        let ask = |who: u8, mono_ms: u64| {
            let read = || {
                readings.set(readings.get() + 1);
                Ok(HashMap::from([(1, readings.get())]))
            };
            (kept.find(at(mono_ms), read, |known| known.get(&who).copied()), readings.get())
        };
        assert_eq!(ask(1, 5), (Some(1), 1));
        assert_eq!(ask(1, 5 + FRESH_MS - 1), (Some(1), 1), "known, and fresh enough");
        assert_eq!(ask(1, 5 + FRESH_MS), (Some(2), 2), "known, but long ago");
        let read = 5 + FRESH_MS;
        assert_eq!(ask(2, read + REREAD_MIN_MS - 1), (None, 2), "unknown a moment ago too");
        assert_eq!(ask(2, read + REREAD_MIN_MS), (None, 3), "unknown, and a second has gone by");
    }

    #[test]
    fn a_kernel_that_tells_nothing_is_not_asked_at_once_again() {
        let kept = KernelTable::<HashMap<u8, u8>>::new();
        let ask = |mono_ms| {
            let asked = Cell::new(false);
            let read = || {
                asked.set(true);
                Err(io::ErrorKind::PermissionDenied.into())
            };
            assert_eq!(kept.find(at(mono_ms), read, |known| known.get(&1).copied()), None);
            asked.get()
        };
        assert!(ask(10));
        assert!(!ask(10 + REREAD_MIN_MS - 1));
        assert!(ask(10 + REREAD_MIN_MS));
    }

    #[test]
    fn the_kernel_knows_our_loopback() {
        let client = "127.0.0.1".parse().unwrap();
        let check = |wanted, came_to, interface| {
            let known = of(wanted, client, || Some(came_to), at(1));
            assert_eq!(known, LinkInfo { mac: None, interface }, "{came_to:?}");
        };
        let ours = ArrivedAt::Address("127.0.0.1:53".parse().unwrap());
        check(BOTH, ours, Some("lo"));
        check(BOTH, ArrivedAt::Interface(1), Some("lo"));
        check(BOTH, ArrivedAt::Address("192.0.2.1:53".parse().unwrap()), None);
        check(NOBODY, ours, None);
    }

    #[test]
    fn an_address_that_two_interfaces_have_is_nobodys() {
        let address: IpAddr = "fe80::1".parse().unwrap();
        let known = InterfaceTable {
            names: HashMap::from([(3, "br-lan")]),
            addresses: HashMap::from([(address, None)]),
        };
        let name = |text: &str| known.name(ArrivedAt::Address(text.parse().unwrap()));
        assert_eq!(name("[fe80::1]:53"), None);
        assert_eq!(name("[fe80::1%3]:53"), Some("br-lan"));
    }
}
