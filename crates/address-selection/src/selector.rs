//! One selector: what it knows of addresses, what it has measured, and what it makes of an answer.
//!
//! An answer of which any address is known is put in order at once; one of which none is waits, for
//! a bounded time, until enough is. Called by the DNS door.

use super::probe;
use super::scores::{AddressScore, MeasureTurn, ScoreBook};
use super::settings::{ProbeScope, SelectionMode, SelectorSettings, SignedPolicy};
use dns_wire::{record_type, reply};
use resolver::is_public_address;
use std::net::IpAddr;
use std::sync::Arc;
use tokio::sync::{Notify, Semaphore};
use tokio::time::{Instant, timeout_at};
use vocab::Now;

/// Addresses of one answer that are measured, at most; others keep their places.
const MEASURED_MAX: usize = 16;
/// Addresses of an answer that is put in order, at most: an answer with more stays as it came.
const CANDIDATES_MAX: usize = 256;

/// Measures addresses, remembers, and chooses among them.
pub struct AddressSelector {
    settings: SelectorSettings,
    scores: ScoreBook,
    slots: Arc<Semaphore>,
}

/// Tells whether whoever asks, or what is answered, has to do with signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignedAnswer {
    /// Has.
    Yes,
    /// Has not.
    No,
}

/// Tells what is to be done before an answer goes out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SelectionState {
    /// Nothing.
    Settled,
    /// These addresses are to be measured, and the answer waits.
    Wait(Box<[IpAddr]>),
    /// The same, but it does not wait.
    Later(Box<[IpAddr]>),
}

/// A measurement under way. Whoever waits is told however it ends.
struct OpenMeasurement {
    selector: Arc<AddressSelector>,
    address: IpAddr,
}

impl Drop for OpenMeasurement {
    fn drop(&mut self) {
        self.selector.scores.finish(self.address);
    }
}

impl AddressSelector {
    /// A selector that knows nothing yet.
    pub fn new(settings: SelectorSettings) -> Self {
        let scores = ScoreBook::new(settings.memory);
        let slots = Arc::new(Semaphore::new(settings.parallel.min(Semaphore::MAX_PERMITS)));
        Self { settings, scores, slots }
    }

    /// Returns what it was made with.
    pub fn settings(&self) -> &SelectorSettings {
        &self.settings
    }

    /// Puts the addresses of `message`, which has no OPT, in order and leaves some out, as far as
    /// anything is known of them; else says what is to be measured.
    pub fn settle(&self, message: &mut Vec<u8>, signed: SignedAnswer, now: Now) -> SelectionState {
        let addresses = self.candidates(message, signed);
        if addresses.len() < 2 {
            return SelectionState::Settled;
        }
        let is_known =
            |it: &IpAddr| matches!(self.scores.score(*it, now), Some(AddressScore::Within(_)));
        if addresses.iter().any(is_known) {
            self.choose(message, signed, now);
            return SelectionState::Settled;
        }
        let unknown: Box<[IpAddr]> = addresses
            .into_iter()
            .filter(|it| self.is_tried(*it) && self.scores.score(*it, now).is_none())
            .take(MEASURED_MAX)
            .collect();
        match self.settings.mode {
            _ if unknown.is_empty() || self.settings.methods.is_empty() => SelectionState::Settled,
            SelectionMode::Background => SelectionState::Later(unknown),
            SelectionMode::FirstSuccess | SelectionMode::BestWithinBudget => {
                SelectionState::Wait(unknown)
            }
        }
    }

    /// Measures `addresses` until enough is known or the time is over, and does with `message` what
    /// [`Self::settle`] does. To be called on a thread with local tasks.
    pub async fn measure_and_settle(
        self: Arc<Self>,
        addresses: &[IpAddr],
        message: &mut Vec<u8>,
        signed: SignedAnswer,
    ) {
        Arc::clone(&self).measure(addresses).await;
        // Without anything known it stays as it is.
        let _ = self.settle(message, signed, transport::clock::now());
    }

    /// Measures `addresses` until enough is known or the time is over; what is under way then goes
    /// on for whoever asks next. To be called on a thread with local tasks.
    pub async fn measure(self: Arc<Self>, addresses: &[IpAddr]) {
        let deadline = Instant::now() + self.settings.max_wait;
        let told = Arc::new(Notify::new());
        for address in addresses {
            if self.scores.join(*address, &told) == MeasureTurn::Ours {
                self.begin(*address);
            }
        }
        while self.scores.is_open(addresses)
            && !self.is_enough(addresses, transport::clock::now())
            && timeout_at(deadline, told.notified()).await.is_ok()
        {}
    }

    /// Begins to measure one address, if there is room.
    fn begin(self: &Arc<Self>, address: IpAddr) {
        let open = OpenMeasurement { selector: Arc::clone(self), address };
        let methods = u32::try_from(self.settings.methods.len()).unwrap_or(u32::MAX);
        let Ok(slots) = Arc::clone(&self.slots).try_acquire_many_owned(methods) else {
            // It is not remembered: there may be room in a moment.
            return;
        };
        tokio::task::spawn_local(async move {
            let selector = &open.selector;
            let took = probe::measure(address, &selector.settings).await;
            let score = took.map_or(AddressScore::Unranked, AddressScore::Within);
            selector.scores.remember(address, score, transport::clock::now());
            drop(slots);
        });
    }

    /// True if an answer with `addresses` need not wait any longer.
    fn is_enough(&self, addresses: &[IpAddr], now: Now) -> bool {
        let mut scores = addresses.iter().map(|it| self.scores.score(*it, now));
        match self.settings.mode {
            SelectionMode::FirstSuccess => {
                let mut is_any = false;
                let mut is_all = true;
                for score in scores {
                    is_any |= matches!(score, Some(AddressScore::Within(_)));
                    is_all &= score.is_some();
                }
                is_any || is_all
            }
            SelectionMode::BestWithinBudget | SelectionMode::Background => {
                scores.all(|score| score.is_some())
            }
        }
    }

    fn is_tried(&self, address: IpAddr) -> bool {
        match self.settings.scope {
            ProbeScope::Public => is_public_address(address),
            ProbeScope::Any => !address.is_unspecified() && !address.is_multicast(),
        }
    }

    /// The different addresses of an answer that may be put in order; none of any other.
    fn candidates(&self, message: &[u8], signed: SignedAnswer) -> Vec<IpAddr> {
        if reply::rcode(message) != 0
            || (signed == SignedAnswer::Yes && self.settings.signed == SignedPolicy::Leave)
        {
            return Vec::new();
        }
        let mut all = Vec::new();
        for (count, address) in reply::addresses(message).enumerate() {
            if count == CANDIDATES_MAX {
                return Vec::new();
            }
            if !all.contains(&address) {
                all.push(address);
            }
        }
        all
    }

    fn choose(&self, message: &mut Vec<u8>, signed: SignedAnswer, now: Now) {
        let score = |address| self.scores.score(address, now).unwrap_or(AddressScore::Unranked);
        reply::order_addresses(message, score);
        if self.settings.keep == 0 || signed == SignedAnswer::Yes {
            return;
        }
        let mut left = self.settings.keep;
        let is_address = |rtype| matches!(rtype, record_type::A | record_type::AAAA);
        // Where it cannot be done, all stay.
        let _ = reply::leave_out(message, |record| {
            if record.section != reply::MessageSection::Answer || !is_address(record.rtype) {
                return false;
            }
            let is_over = left == 0;
            left = left.saturating_sub(1);
            is_over
        });
    }
}
