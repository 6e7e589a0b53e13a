//! Cache that machines share, as the resolver asks it: within two milliseconds, or not at all.

use crate::counted_looks::{CacheCounts, CountedLooks};
use crate::purge_floor::PurgeFloor;
use crate::sealed_answer::{AnswerSeal, SealedAnswer};
use fleet_live::{LiveCache, LiveSettings, PurgeMark, ValueTold};
use resolver::{SecondLevelAnswer, SecondLevelCache, SecondLevelKey, SecondLevelLook, wire_of};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use vocab::{DomainName, Now};

/// Cache that machines share.
pub struct FleetCache(Arc<CacheCore>);

struct CacheCore {
    live: Arc<LiveCache>,
    seal: AnswerSeal,
    floor: Mutex<PurgeFloor>,
    counts: CountedLooks,
}

/// Purge as far as it concerns what is kept here.
#[derive(Clone, Debug)]
pub enum CachePurge {
    /// Of everything.
    All,
    /// Of answers to DNS questions: more than one name.
    Names,
    /// Of answers about one name.
    Name(DomainName),
    /// Of stored responses.
    Responses,
}

impl FleetCache {
    /// A cache by these settings; none where nothing is to be shared.
    pub fn new(settings: &LiveSettings, live: &Arc<LiveCache>) -> Option<Self> {
        let secret = settings.secret.as_ref().filter(|_| settings.cache.dns)?;
        let seal = AnswerSeal::new(secret.reveal(), &settings.prefix)?;
        let (floor, counts) = (Mutex::default(), CountedLooks::default());
        Some(Self(Arc::new(CacheCore { live: Arc::clone(live), seal, floor, counts })))
    }

    /// Notes up to where purges are done, and the last where it is known.
    pub fn purged(&self, mark: &PurgeMark, last: Option<&CachePurge>) {
        let mut floor = self.0.floor();
        match last {
            // It is told at each connection.
            None if floor.mark() == Some(mark) => {}
            None | Some(CachePurge::All | CachePurge::Names) => floor.purge_all(mark),
            Some(CachePurge::Responses) => floor.pass(mark),
            Some(CachePurge::Name(name)) => match wire_of(name) {
                Some(name) => floor.purge_name(mark, &name),
                None => floor.purge_all(mark),
            },
        }
    }

    /// Counts since the start.
    pub fn counts(&self) -> CacheCounts {
        self.0.counts.read()
    }
}

impl CacheCore {
    fn floor(&self) -> MutexGuard<'_, PurgeFloor> {
        self.floor.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer in a value, if it is to be believed. Its time is looked at by the resolver.
    fn believe(&self, key: &SecondLevelKey, name: u128, value: &[u8]) -> Option<SecondLevelAnswer> {
        let sealed = self.seal.open(name, value)?;
        let asked = key.name()?;
        if self.live.awaits_purge() || !self.floor().is_above(&sealed.mark, asked) {
            return None;
        }
        let age_ms = sealed.age_ms(transport::clock::now().unix_ms)?;
        Some(SecondLevelAnswer { message: sealed.message, age_ms })
    }
}

impl SecondLevelCache for FleetCache {
    fn look(&self, key: SecondLevelKey) -> Option<SecondLevelLook> {
        let core = Arc::clone(&self.0);
        let name = core.seal.name(&key);
        let answer = core.live.ask(name, transport::clock::now().mono_ms)?;
        Some(Box::pin(async move {
            core.counts.look(answer, |value| core.believe(&key, name, value)).await
        }))
    }

    fn keep(&self, key: SecondLevelKey, message: &[u8], ttl_s: u32, now: Now) {
        let core = &*self.0;
        let Some(mark) = core.floor().mark().cloned() else { return };
        let name = core.seal.name(&key);
        let answer = SealedAnswer { came_unix_ms: now.unix_ms, mark, message: message.to_vec() };
        let ends_unix_ms = now.unix_ms + u64::from(ttl_s) * 1000;
        let told = core.seal.seal(name, &answer).map_or(ValueTold::Dropped, |value| {
            core.live.tell(name, value, ends_unix_ms, now.mono_ms)
        });
        core.counts.note(told);
    }
}
