//! Requests whose bodies are still under way: how many a door has at once, and whose they are.
//!
//! A request that never ends costs a server behind it as much as one that does, so they are bounded
//! in sum and shared fairly: a client may have as many as are still free for all others. One client
//! alone gets half, two get a third each, and a newcomer always finds a place (the dynamic
//! thresholds of Choudhury and Hahne, IEEE/ACM Transactions on Networking 6(2), 1998). It keeps no
//! byte of any body. Called by the doors that pass bodies on, once per request.

use crate::body::Body;
use crate::incoming::Incoming;
use crate::reply;
use http::{HeaderValue, Request, Response, StatusCode, header};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Of so many connections that a door may have, one may be within the body of a request.
const CONNECTIONS_EACH: usize = 5;
/// So many requests may be unfinished however few connections a door may have.
const MAX_LEAST: usize = 64;
/// When a client that was refused may try again, in seconds.
const RETRY_AFTER_S: u32 = 5;

/// The unfinished requests of one door. Clones share their counts.
#[derive(Clone, Debug)]
pub struct UnfinishedRequests(Arc<UnfinishedTable>);

#[derive(Debug)]
struct UnfinishedTable {
    max: AtomicUsize,
    refused: AtomicU64,
    /// Only clients with unfinished requests are in it: the greatest `max` so far bounds it.
    held: Mutex<UnfinishedByClient>,
}

#[derive(Debug, Default)]
struct UnfinishedByClient {
    all: usize,
    by_client: HashMap<IpAddr, usize>,
}

/// Holds what has become of requests with bodies so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnfinishedCounts {
    /// Unfinished now.
    pub open: usize,
    /// Refused since the start, because too many were.
    pub refused: u64,
}

/// A request is refused: too many are unfinished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany {
    retry_after_s: u32,
}

/// One request's place, until its body has come or nobody reads it any more.
#[derive(Debug)]
pub(crate) struct UnfinishedPermit {
    table: Arc<UnfinishedTable>,
    client: IpAddr,
}

impl UnfinishedRequests {
    /// For a door with at most `connections`: a fifth of these, and 64 at least.
    pub fn for_connections(connections: usize) -> Self {
        let max = max_for(connections).into();
        Self(Arc::new(UnfinishedTable { max, refused: AtomicU64::new(0), held: Mutex::default() }))
    }

    /// As many as befit `connections` from now on. Requests that are over it go on.
    pub fn set_connections(&self, connections: usize) {
        self.0.max.store(max_for(connections), Relaxed);
    }

    /// The counts so far.
    pub fn counts(&self) -> UnfinishedCounts {
        let open = self.0.held().all;
        UnfinishedCounts { open, refused: self.0.refused.load(Relaxed) }
    }

    /// Counts `request` while its body is under way; one without a body is passed as it is.
    /// `client` is an address, or what stands for all addresses of one customer.
    pub fn admit(
        &self,
        mut request: Request<Incoming>,
        client: impl FnOnce() -> IpAddr,
    ) -> Result<Request<Incoming>, TooMany> {
        if request.body().is_awaited() {
            let place = self.place(client()).ok_or(TooMany { retry_after_s: RETRY_AFTER_S })?;
            request.body_mut().hold(place);
        }
        Ok(request)
    }

    fn place(&self, client: IpAddr) -> Option<UnfinishedPermit> {
        let table = &self.0;
        let max = table.max.load(Relaxed);
        let mut held = table.held();
        let free = max.saturating_sub(held.all);
        let mine = held.by_client.entry(client).or_insert(0);
        if *mine >= free {
            if *mine == 0 {
                held.by_client.remove(&client);
            }
            drop(held);
            table.refused.fetch_add(1, Relaxed);
            return None;
        }
        *mine += 1;
        held.all += 1;
        drop(held);
        Some(UnfinishedPermit { table: Arc::clone(table), client })
    }
}

fn max_for(connections: usize) -> usize {
    (connections / CONNECTIONS_EACH).max(MAX_LEAST)
}

impl UnfinishedTable {
    fn held(&self) -> MutexGuard<'_, UnfinishedByClient> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for UnfinishedPermit {
    fn drop(&mut self) {
        let mut held = self.table.held();
        held.all -= 1;
        if let Some(mine) = held.by_client.get_mut(&self.client) {
            *mine -= 1;
            if *mine == 0 {
                held.by_client.remove(&self.client);
            }
        }
    }
}

impl TooMany {
    /// Returns what the client is told: 503, and when to come again. The connection closes.
    pub fn answer(self) -> Response<Body> {
        let why = "too many requests are being sent at once\n";
        let mut answer = reply::text(StatusCode::SERVICE_UNAVAILABLE, why);
        let headers = answer.headers_mut();
        headers.insert(header::RETRY_AFTER, self.retry_after_s.into());
        // Its body is not read: over HTTP/1 nothing can follow.
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::iter;

    fn client(number: u8) -> IpAddr {
        [192, 0, 2, number].into()
    }

    fn fill(door: &UnfinishedRequests, number: u8) -> Vec<UnfinishedPermit> {
        iter::from_fn(|| door.place(client(number))).collect()
    }

    #[test]
    fn each_client_gets_what_is_left_for_the_others() {
        let door = UnfinishedRequests::for_connections(0);
        let first = fill(&door, 1);
        assert_eq!(first.len(), MAX_LEAST / 2, "one alone gets half");
        let second = fill(&door, 2);
        assert_eq!(second.len(), MAX_LEAST / 4);
        let others: Vec<_> = (3..100).map(|number| fill(&door, number)).collect();
        let used = || door.counts().open;
        assert_eq!(used(), MAX_LEAST, "the cap holds");
        drop((first, second, others));
        assert_eq!(used(), 0);
        assert_eq!(door.0.held().by_client.len(), 0, "nobody is remembered");
    }

    #[test]
    fn a_newcomer_finds_a_place_beside_a_greedy_client() {
        let door = UnfinishedRequests::for_connections(10_000);
        let greedy = fill(&door, 1);
        assert_eq!(greedy.len(), 1_000);
        assert_eq!(door.counts(), UnfinishedCounts { open: 1_000, refused: 1 });
        let places: Vec<_> = (2..=200).filter_map(|it| door.place(client(it))).collect();
        assert_eq!(places.len(), 199);
        door.set_connections(0);
        assert!(door.place(client(201)).is_none(), "the cap is lower now");
        assert_eq!(door.counts().open, 1_199, "what is under way goes on");
    }
}
