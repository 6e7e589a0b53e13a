//! Requests whose bodies are still under way: how many a door has at once, and whose they are.
//!
//! A request that never ends costs a server behind it as much as one that does, so they are bounded
//! in sum and shared fairly: a client may have as many as are still free for all others. One client
//! alone gets half, two get a third each, and a newcomer always finds a place (the dynamic
//! thresholds of Choudhury and Hahne, IEEE/ACM Transactions on Networking 6(2), 1998). It keeps no
//! byte of any body. Called by the doors that pass bodies on, once per request.

mod table;

pub(crate) use table::UnfinishedPermit;

use crate::body::Body;
use crate::incoming::Incoming;
use crate::reply;
use http::{HeaderValue, Request, Response, StatusCode, header};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use table::UnfinishedTable;

/// Of so many connections that a door may have, one may be within the body of a request.
const CONNECTIONS_EACH: usize = 5;
/// So many requests may be unfinished however few connections a door may have.
const MAX_LEAST: usize = 64;
/// When a client that was refused may try again, in seconds.
const RETRY_AFTER_S: u32 = 5;

/// The unfinished requests of one door. Clones share their counts.
#[derive(Clone, Debug)]
pub struct UnfinishedRequests(Arc<UnfinishedTable>);

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

impl UnfinishedRequests {
    /// For a door with at most `connections`: a fifth of these, and 64 at least.
    pub fn for_connections(connections: usize) -> Self {
        Self(Arc::new(UnfinishedTable::new(max_for(connections))))
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
        if request.body().is_incomplete() {
            let place = self.0.place(client()).ok_or(TooMany { retry_after_s: RETRY_AFTER_S })?;
            request.body_mut().hold_permit(place);
        }
        Ok(request)
    }
}

fn max_for(connections: usize) -> usize {
    (connections / CONNECTIONS_EACH).max(MAX_LEAST)
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
        iter::from_fn(|| door.0.place(client(number))).collect()
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
        let places: Vec<_> = (2..=200).filter_map(|it| door.0.place(client(it))).collect();
        assert_eq!(places.len(), 199);
        door.set_connections(0);
        assert!(door.0.place(client(201)).is_none(), "the cap is lower now");
        assert_eq!(door.counts().open, 1_199, "what is under way goes on");
    }
}
