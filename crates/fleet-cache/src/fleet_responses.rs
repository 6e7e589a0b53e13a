//! Small HTTP responses that machines share, as HTTP caches ask for them: within two milliseconds,
//! or not at all.

use crate::counted_looks::{CacheCounts, CountedLooks};
use crate::fleet_cache::CachePurge;
use crate::forgotten_urls::ForgottenUrls;
use crate::purge_floor::PurgeFloor;
use crate::sealed_answer::{AnswerSeal, SealedAnswer};
use crate::shared_bytes::{read_response, write_response};
use fleet_live::{LiveCache, LiveSettings, PurgeMark, ValueTold};
use http_cache::{FetchPlace, ResponseLook, SecondLevelStore, SharedResponse, SharedResponseKey};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use vocab::Now;

/// Longest time for which a response is kept for others, in seconds: a day. The server's room is
/// for what is asked for.
const KEPT_SECS_MAX: u64 = 24 * 60 * 60;

/// HTTP responses that machines share.
pub struct FleetResponses(Arc<ResponsesCore>);

struct ResponsesCore {
    live: Arc<LiveCache>,
    seal: AnswerSeal,
    floor: Mutex<PurgeFloor>,
    forgotten: Mutex<ForgottenUrls>,
    counts: CountedLooks,
}

impl FleetResponses {
    /// Responses by these settings; none where none are to be shared.
    pub fn new(settings: &LiveSettings, live: &Arc<LiveCache>) -> Option<Self> {
        let secret = settings.secret.as_ref().filter(|_| settings.cache.http)?;
        Some(Self(Arc::new(ResponsesCore {
            live: Arc::clone(live),
            seal: AnswerSeal::new(secret.reveal(), &settings.prefix)?,
            floor: Mutex::default(),
            forgotten: Mutex::default(),
            counts: CountedLooks::default(),
        })))
    }

    /// Notes up to where purges are done, and the last where it is known.
    pub fn purged(&self, mark: &PurgeMark, last: Option<&CachePurge>) {
        let mut floor = lock(&self.0.floor);
        match last {
            // It is told at each connection.
            None if floor.mark() == Some(mark) => {}
            None | Some(CachePurge::All | CachePurge::Responses) => floor.purge_all(mark),
            Some(CachePurge::Names | CachePurge::Name(_)) => floor.pass(mark),
        }
    }

    /// Counts since the start.
    pub fn counts(&self) -> CacheCounts {
        self.0.counts.read()
    }
}

impl ResponsesCore {
    /// The response in a value, if it is to be believed. Its time is looked at by the store.
    fn believe(&self, url: &str, name: u128, value: &[u8]) -> Option<SharedResponse> {
        let sealed = self.seal.open(name, value)?;
        if self.live.awaits_purge() || !lock(&self.floor).is_above(&sealed.mark, &[]) {
            return None;
        }
        sealed.age_ms(transport::clock::now().unix_ms)?;
        let response = read_response(&sealed.message)?;
        let is_whole = response.head.received_ms == sealed.came_unix_ms
            && response.head.requested_ms <= response.head.received_ms;
        let is_past = lock(&self.forgotten).is_past(url, response.head.requested_ms);
        (is_whole && is_past).then_some(response)
    }
}

impl SecondLevelStore for FleetResponses {
    fn place(&self) -> Option<FetchPlace> {
        let floor = lock(&self.0.floor);
        let mark = floor.mark()?;
        Some(FetchPlace { line: mark.line.clone(), number: mark.number })
    }

    fn look(&self, key: SharedResponseKey) -> Option<ResponseLook> {
        let core = Arc::clone(&self.0);
        let name = core.seal.response_name(&key);
        let answer = core.live.ask(name, transport::clock::now().mono_ms)?;
        Some(Box::pin(async move {
            core.counts.look(answer, |value| core.believe(&key.url, name, value)).await
        }))
    }

    fn keep(
        &self,
        key: SharedResponseKey,
        begun: &FetchPlace,
        response: SharedResponse,
        ttl_s: u64,
        now: Now,
    ) {
        let core = &*self.0;
        let mark = PurgeMark { line: begun.line.clone(), number: begun.number };
        let name = core.seal.response_name(&key);
        let sealed = write_response(&response).and_then(|message| {
            let came_unix_ms = response.head.received_ms;
            core.seal.seal(name, &SealedAnswer { came_unix_ms, mark, message })
        });
        let ends_unix_ms = now.unix_ms + ttl_s.min(KEPT_SECS_MAX) * 1000;
        let told = sealed.map_or(ValueTold::Dropped, |value| {
            core.live.tell(name, value, ends_unix_ms, now.mono_ms)
        });
        core.counts.note(told);
    }

    fn forget(&self, url: &str, now: Now) {
        lock(&self.0.forgotten).note(url, now);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing under these locks leaves what they guard half changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
