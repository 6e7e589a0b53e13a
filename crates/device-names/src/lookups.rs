//! Names that are asked for: by multicast DNS of the device, then of the network's own resolver.
//!
//! Nobody waits for them: what is not known is asked for on a thread of its own, one device after
//! the other, and is there for the next question. What was found is kept for an hour, what was not
//! for ten minutes. Called for each question about devices.

use crate::multicast;
use crate::reverse::reverse_name;
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::net::IpAddr;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use vocab::{Name, Now, is_own_network};

/// Devices whose names are remembered; beyond, what is over is forgotten, and then nothing new is
/// taken.
const NAMES_MAX: usize = 4_096;
/// Devices that wait to be asked; those beyond are asked when somebody looks again.
const WAITING_MAX: usize = 256;
/// Time for which a name is believed, and the lack of one.
const FOUND_MS: u64 = 3_600_000;
const NOT_FOUND_MS: u64 = 600_000;
/// Pause between two devices.
const PAUSE: Duration = Duration::from_millis(50);

/// The network's own resolver, which knows the names of private addresses.
pub trait ReverseLookups: Send + Sync + 'static {
    /// True if there is one.
    fn is_there(&self) -> bool;

    /// The name of an address, by the name that has it; waits for some seconds at most.
    fn name_of(&self, reverse: Name<'_>) -> Option<String>;
}

/// Source of a device's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameSource {
    /// A record of the configuration.
    Local,
    /// A lease of a DHCP server.
    Dhcp,
    /// The device, by multicast DNS.
    Mdns,
    /// The network's own resolver.
    Reverse,
}

impl NameSource {
    /// Returns its word in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Dhcp => "dhcp",
            Self::Mdns => "mdns",
            Self::Reverse => "reverse",
        }
    }
}

/// Reach of a device: may it be asked itself?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeviceReach {
    /// On a link of this machine, and multicast DNS is on.
    OnLink,
    /// Elsewhere, or it is off.
    Beyond,
}

/// A device that is to be asked for.
#[derive(Clone, Copy, Debug)]
struct WantedName {
    address: IpAddr,
    reach: DeviceReach,
    now: Now,
}

#[derive(Clone, Debug)]
struct KnownName {
    found: Option<(String, NameSource)>,
    until_ms: u64,
}

/// Names that were found, and the thread that asks.
pub(crate) struct NameLookups {
    known: Arc<Mutex<HashMap<IpAddr, KnownName>>>,
    resolver: Arc<dyn ReverseLookups>,
    /// None until the first device is to be asked for, and where no thread can be had.
    waiting: Mutex<Option<SyncSender<WantedName>>>,
}

impl NameLookups {
    pub(crate) fn new(resolver: Arc<dyn ReverseLookups>) -> Self {
        Self { known: Arc::default(), resolver, waiting: Mutex::default() }
    }

    /// The name of a device, if it is known by now; else it is asked for.
    pub(crate) fn name_of(
        &self,
        address: IpAddr,
        reach: DeviceReach,
        now: Now,
    ) -> Option<(String, NameSource)> {
        let known = lock(&self.known).get(&address).cloned();
        if let Some(known) = known.as_ref().filter(|known| known.until_ms > now.mono_ms) {
            return known.found.clone();
        }
        let may_ask = reach == DeviceReach::OnLink || self.resolver.is_there();
        if may_ask && is_own_network(address) {
            self.ask(WantedName { address, reach, now });
        }
        known.and_then(|known| known.found)
    }

    fn ask(&self, wanted: WantedName) {
        let mut waiting = lock(&self.waiting);
        if waiting.is_none() {
            *waiting = self.start();
        }
        let taken = waiting.as_ref().is_some_and(|waiting| waiting.try_send(wanted).is_ok());
        drop(waiting);
        if taken {
            // Not asked for again while it waits.
            let until_ms = wanted.now.mono_ms + NOT_FOUND_MS;
            let before = lock(&self.known).get(&wanted.address).and_then(|it| it.found.clone());
            keep(&self.known, wanted, KnownName { found: before, until_ms });
        }
    }

    /// Starts the thread, which ends when this is gone.
    fn start(&self) -> Option<SyncSender<WantedName>> {
        let (sender, receiver) = sync_channel(WAITING_MAX);
        let (known, resolver) = (Arc::clone(&self.known), Arc::clone(&self.resolver));
        let work = move || look_up_all(&receiver, &known, &*resolver);
        let started = std::thread::Builder::new().name("device-names".into()).spawn(work);
        started.ok().map(|_| sender)
    }
}

fn look_up_all(
    wanted: &Receiver<WantedName>,
    known: &Mutex<HashMap<IpAddr, KnownName>>,
    resolver: &dyn ReverseLookups,
) {
    while let Ok(wanted) = wanted.recv() {
        let found = look_up(wanted, resolver);
        let life = if found.is_some() { FOUND_MS } else { NOT_FOUND_MS };
        keep(known, wanted, KnownName { found, until_ms: wanted.now.mono_ms + life });
        std::thread::sleep(PAUSE);
    }
}

fn look_up(wanted: WantedName, resolver: &dyn ReverseLookups) -> Option<(String, NameSource)> {
    let reverse = reverse_name(wanted.address)?;
    let reverse = reverse.as_name();
    if let (DeviceReach::OnLink, IpAddr::V4(device)) = (wanted.reach, wanted.address.to_canonical())
    {
        // Nobody elsewhere can guess it; whoever is on the link hears it.
        let id = RandomState::new().build_hasher().finish() as u16;
        // A link that takes no question has no answer.
        if let Some(name) = multicast::ask(device, reverse, id).ok().flatten() {
            return Some((name, NameSource::Mdns));
        }
    }
    let name = resolver.is_there().then(|| resolver.name_of(reverse)).flatten()?;
    Some((name, NameSource::Reverse))
}

fn keep(known: &Mutex<HashMap<IpAddr, KnownName>>, wanted: WantedName, name: KnownName) {
    let mut known = lock(known);
    if known.len() >= NAMES_MAX && !known.contains_key(&wanted.address) {
        known.retain(|_, known| known.until_ms > wanted.now.mono_ms);
        if known.len() >= NAMES_MAX {
            return;
        }
    }
    known.insert(wanted.address, name);
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
