//! Addresses of answers into sets of the kernel's packet filter: ipset and nftables.
//!
//! One thread writes, behind a bounded queue; whoever answers a query only puts an address there,
//! and at the cap the newest is dropped and counted. It makes, empties and removes no set. Called
//! by [`Effects`](super::Effects).

mod ipset;
mod message;
mod nft;
mod recent;

use super::counts::{EffectCounts, FailureReporter};
use super::settings::{NftFamily, SetPlace, SetTarget};
use arc_swap::ArcSwapOption;
use message::KernelRefusal;
use recent::AdditionNeed;
pub(super) use recent::RecentAdditions;
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;
use transport::netlink::NetlinkSocket;
use vocab::Now;

/// Additions that wait for the thread, 24 bytes each. At the cap a new one is dropped and counted;
/// the next query for the name brings it again.
pub const WAITING_MAX: usize = 4096;
/// Additions that go to the kernel at once: its acknowledgements (some 768 bytes each) must fit
/// into a receive buffer of 208 KiB.
const BATCH_MAX: usize = 64;

/// An address prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct AddressPrefix {
    network: IpAddr,
    /// Bits, at most those of the family.
    length: u8,
}

impl AddressPrefix {
    /// The prefix of that length in which `address` lies.
    fn new(address: IpAddr, length: u8) -> Self {
        let network = match address {
            IpAddr::V4(it) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
                Ipv4Addr::from_bits(it.to_bits() & mask).into()
            }
            IpAddr::V6(it) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
                Ipv6Addr::from_bits(it.to_bits() & mask).into()
            }
        };
        Self { network, length }
    }
}

/// A set to write to, and whose it is.
pub(super) struct WriteTarget {
    pub(super) counts: Arc<EffectCounts>,
    pub(super) set: SetTarget,
}

/// An address for the set of that number.
struct SetAddition {
    target: u16,
    address: IpAddr,
}

/// The thread that writes, as the answer path sees it.
pub(super) struct SetWriter {
    /// Taken away to end the thread: it writes what waits first.
    queue: ArcSwapOption<SyncSender<SetAddition>>,
    recent: RecentAdditions,
    ended: std::sync::Mutex<Receiver<()>>,
    _thread: JoinHandle<()>,
}

impl SetWriter {
    /// Starts the thread. Its sets are those of the network namespace of the calling thread.
    pub(super) fn start(targets: Vec<WriteTarget>, teller: FailureReporter) -> io::Result<Self> {
        let (queue, waiting) = sync_channel(WAITING_MAX);
        let (end, ended) = sync_channel(1);
        let thread = std::thread::Builder::new().name("sets".into()).spawn(move || {
            SetWriterThread { targets, reporter: teller, socket: None }.run(&waiting);
            // Nobody may wait for the end.
            let _ = end.send(());
        })?;
        Ok(Self {
            queue: ArcSwapOption::from_pointee(queue),
            recent: RecentAdditions::new(),
            ended: ended.into(),
            _thread: thread,
        })
    }

    /// Has `address` added to the set of that number. Never waits.
    pub(super) fn add(&self, target: u16, address: IpAddr, counts: &EffectCounts, now: Now) {
        let address = address.to_canonical();
        let AdditionNeed::Needed(place) = self.recent.note(target, address, now) else {
            counts.suppressed.fetch_add(1, Relaxed);
            return;
        };
        let queue = self.queue.load();
        let sent = match &*queue {
            Some(queue) => queue.try_send(SetAddition { target, address }),
            None => Err(TrySendError::Disconnected(SetAddition { target, address })),
        };
        if sent.is_ok() {
            counts.triggered.fetch_add(1, Relaxed);
        } else {
            self.recent.forget(place);
            counts.dropped.fetch_add(1, Relaxed);
        }
    }

    /// Takes nothing more; what waits is still written, for at most `patience`.
    pub(super) fn close(&self, patience: Duration) -> Result<(), RecvTimeoutError> {
        self.queue.store(None);
        let ended = self.ended.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match ended.recv_timeout(patience) {
            // Disconnected: it had ended before.
            Ok(()) | Err(RecvTimeoutError::Disconnected) => Ok(()),
            Err(RecvTimeoutError::Timeout) => Err(RecvTimeoutError::Timeout),
        }
    }
}

/// Holds what the thread holds.
struct SetWriterThread {
    targets: Vec<WriteTarget>,
    reporter: FailureReporter,
    socket: Option<NetlinkSocket>,
}

impl SetWriterThread {
    fn run(mut self, waiting: &Receiver<SetAddition>) {
        while let Ok(first) = waiting.recv() {
            let mut batch: BTreeMap<u16, Vec<IpAddr>> = BTreeMap::new();
            for addition in std::iter::once(first).chain(waiting.try_iter().take(BATCH_MAX - 1)) {
                batch.entry(addition.target).or_default().push(addition.address);
            }
            for (target, addresses) in batch {
                self.write(usize::from(target), &addresses);
            }
        }
    }

    fn write(&mut self, target: usize, addresses: &[IpAddr]) {
        let mut socket = match self.socket.take().map_or_else(NetlinkSocket::netfilter, Ok) {
            Ok(socket) => socket,
            Err(why) => {
                let why = format!("no netlink socket: {why}");
                return self.fail(target, addresses.len() as u64, &why);
            }
        };
        let set = &self.targets[target].set;
        let failure = match &set.address {
            SetPlace::Ipset { name } => write_ipset(&mut socket, name, set.mask, addresses),
            SetPlace::Nftset { family, table, set: name } => {
                let place = nft::NftSetAddress {
                    family: protocol_of(*family),
                    table: table.clone(),
                    set: name.clone(),
                };
                write_nft(&mut socket, &place, set.mask, addresses)
            }
        };
        let failed = failure.as_ref().map_or_else(|(count, _)| *count, |()| 0);
        let all = addresses.len() as u64;
        self.targets[target].counts.done.fetch_add(all.saturating_sub(failed), Relaxed);
        if let Err((count, why)) = failure {
            self.fail(target, count, &why);
        }
        // Kept open: a socket that failed has no state that the next batch could stumble over.
        self.socket = Some(socket);
    }

    fn fail(&self, target: usize, count: u64, why: &str) {
        let WriteTarget { counts, set } = &self.targets[target];
        counts.failed.fetch_add(count, Relaxed);
        self.reporter.failure(counts, &format!("{}: {why}", set.address));
    }
}

/// Additions that failed, and why the last of them did.
type Failed = (u64, String);

fn write_ipset(
    socket: &mut NetlinkSocket,
    name: &str,
    mask: u8,
    addresses: &[IpAddr],
) -> Result<(), Failed> {
    let mut prefixes: Vec<_> = addresses.iter().map(|it| AddressPrefix::new(*it, mask)).collect();
    prefixes.sort_unstable();
    prefixes.dedup();
    let (mut failed, mut last) = (0, 0);
    let outcome = ipset::add(socket, name, &prefixes, |_, error| {
        failed += 1;
        last = error;
    });
    match outcome {
        Ok(()) if failed == 0 => Ok(()),
        Ok(()) => Err((failed, ipset::meaning(last))),
        Err(why) => Err((prefixes.len() as u64, refusal(&why, ipset::meaning))),
    }
}

/// A batch is added as a whole or not at all; then its addresses are tried one by one. Where an
/// interval of the set lies across the prefix of one, the address itself is added instead.
fn write_nft(
    socket: &mut NetlinkSocket,
    place: &nft::NftSetAddress,
    mask: u8,
    addresses: &[IpAddr],
) -> Result<(), Failed> {
    match nft::add(socket, place, addresses, mask) {
        Ok(()) => return Ok(()),
        Err(KernelRefusal::Kernel(nft::EEXIST)) => {}
        Err(why) => return Err((addresses.len() as u64, refusal(&why, nft::meaning))),
    }
    let mut failures: Option<Failed> = None;
    for address in addresses {
        let one = std::slice::from_ref(address);
        let whole = if address.is_ipv4() { 32 } else { 128 };
        let outcome = match nft::add(socket, place, one, mask) {
            Err(KernelRefusal::Kernel(nft::EEXIST)) => match nft::add(socket, place, one, whole) {
                // Whatever lies across a single address covers it.
                Err(KernelRefusal::Kernel(nft::EEXIST)) => Ok(()),
                outcome => outcome,
            },
            outcome => outcome,
        };
        if let Err(why) = outcome {
            let count = failures.map_or(0, |(count, _)| count);
            failures = Some((count + 1, refusal(&why, nft::meaning)));
        }
    }
    failures.map_or(Ok(()), Err)
}

fn refusal(why: &KernelRefusal, meaning: fn(i32) -> String) -> String {
    match why {
        KernelRefusal::Kernel(error) => meaning(*error),
        KernelRefusal::Socket(why) => format!("the kernel gave no reply: {why}"),
    }
}

/// Returns what an error number of the system means here.
fn errno_meaning(error: i32, make: &str) -> String {
    match error {
        1 | 13 => "no permission; give the process CAP_NET_ADMIN".into(),
        2 => format!("there is no such set; {make}"),
        _ => io::Error::from_raw_os_error(error).to_string(),
    }
}

/// `NFPROTO_*` (linux/netfilter.h).
const fn protocol_of(family: NftFamily) -> u8 {
    match family {
        NftFamily::Inet => 1,
        NftFamily::Ip => 2,
        NftFamily::Ip6 => 10,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_masked() {
        let check = |address: &str, length, expected: &str| {
            let prefix = AddressPrefix::new(address.parse().expect("an address"), length);
            assert_eq!(prefix.network.to_string(), expected, "{address}/{length}");
        };
        check("192.0.2.77", 24, "192.0.2.0");
        check("192.0.2.77", 32, "192.0.2.77");
        check("192.0.2.77", 0, "0.0.0.0");
        check("2001:db8:1:2::3", 48, "2001:db8:1::");
        check("2001:db8::3", 128, "2001:db8::3");
        check("2001:db8::3", 0, "::");
    }
}
