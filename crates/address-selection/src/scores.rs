//! Scores of addresses, as far as they are known, and those that are being measured.
//!
//! It measures nothing and knows no answer. Called by [`super::selector`].

use super::settings::ScoreMemory;
use quick_cache::sync::Cache;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use vocab::Now;

/// Tells what is known of an address; the best comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum AddressScore {
    /// Lets us in after so long.
    Within(Duration),
    /// Nothing, or that it let nobody in: both keep their places behind.
    Unranked,
}

/// Scores by address, until when they are believed.
pub(super) struct ScoreBook {
    memory: ScoreMemory,
    known: Cache<IpAddr, (AddressScore, u64)>,
    measured: Mutex<HashMap<IpAddr, Vec<Arc<Notify>>>>,
}

/// Tells who measures an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MeasureTurn {
    /// The caller does.
    Ours,
    /// Another, who tells when it is done.
    Another,
}

impl ScoreBook {
    pub(super) fn new(memory: ScoreMemory) -> Self {
        Self { memory, known: Cache::new(memory.entries.max(1)), measured: Mutex::default() }
    }

    /// The score of `address`; none where it must be measured first.
    pub(super) fn score(&self, address: IpAddr, now: Now) -> Option<AddressScore> {
        let (score, until_ms) = self.known.get(&address)?;
        (now.mono_ms < until_ms).then_some(score)
    }

    pub(super) fn remember(&self, address: IpAddr, score: AddressScore, now: Now) {
        let believed = match score {
            AddressScore::Within(_) => self.memory.success,
            AddressScore::Unranked => self.memory.failure,
        };
        let until_ms = now.mono_ms.saturating_add(believed.as_millis() as u64);
        self.known.insert(address, (score, until_ms));
    }

    /// Lets `told` hear of the end of measuring `address`, and says whose it is to begin it.
    pub(super) fn join(&self, address: IpAddr, told: &Arc<Notify>) -> MeasureTurn {
        let mut measured = self.measured.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(waiting) = measured.get_mut(&address) {
            waiting.push(Arc::clone(told));
            return MeasureTurn::Another;
        }
        measured.insert(address, vec![Arc::clone(told)]);
        MeasureTurn::Ours
    }

    /// True if one of `addresses` is still being measured.
    pub(super) fn is_open(&self, addresses: &[IpAddr]) -> bool {
        let measured = self.measured.lock().unwrap_or_else(PoisonError::into_inner);
        addresses.iter().any(|it| measured.contains_key(it))
    }

    /// Tells whoever waits that `address` has been measured, or will not be.
    pub(super) fn finish(&self, address: IpAddr) {
        let mut measured = self.measured.lock().unwrap_or_else(PoisonError::into_inner);
        for told in measured.remove(&address).into_iter().flatten() {
            told.notify_one();
        }
    }
}
