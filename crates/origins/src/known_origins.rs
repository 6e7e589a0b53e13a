//! What the connections to origins have taught, for people who ask.
//!
//! Nothing is counted for it: each core looks through what it keeps when it is asked, and whoever
//! asks joins what the cores say. [`super::pool`] and [`super::shared`] know. Called by the proxy
//! door and the binary.

use super::server::OriginServer;
use http::Version;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Duration;

/// Holds what is known of the connections to one origin. What has left HTTP (a WebSocket, a tunnel)
/// is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownOrigin {
    /// Where they lead: the origin, or the parent proxy that is asked for `http` URLs.
    pub server: OriginServer,
    /// The newest version of HTTP that is spoken there.
    pub version: Version,
    /// Connections that are open or being opened; through a parent in HTTP/1.1, the idle ones
    /// alone.
    pub open: usize,
    /// Those that are open and carry no request.
    pub idle: usize,
    /// Connections that were of use at once on one core, and are opened together the next time: 6
    /// at most. 0 where that is not learnt: in HTTP/2, and through a parent.
    pub at_once: usize,
    /// For how long none of them has carried a request; zero while one does.
    pub unused: Duration,
}

impl KnownOrigin {
    /// Each origin once, those used last first, and no more than `most` of them.
    pub fn joined(known: impl IntoIterator<Item = Self>, most: usize) -> Vec<Self> {
        let mut joined: HashMap<OriginServer, Self> = HashMap::new();
        for one in known {
            match joined.entry(one.server.clone()) {
                Entry::Occupied(mut before) => before.get_mut().join(&one),
                Entry::Vacant(place) => {
                    place.insert(one);
                }
            }
        }
        let mut all: Vec<_> = joined.into_values().collect();
        // By name too, so that those in use do not change places from one look to the next.
        all.sort_by_cached_key(|one| (one.unused, one.server.to_string()));
        all.truncate(most);
        all
    }

    fn join(&mut self, other: &Self) {
        self.version = self.version.max(other.version);
        self.open += other.open;
        self.idle += other.idle;
        self.at_once = self.at_once.max(other.at_once);
        self.unused = self.unused.min(other.unused);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(server: &str, version: Version, figures: [usize; 4]) -> KnownOrigin {
        let [open, idle, at_once, unused_s] = figures;
        KnownOrigin {
            server: server.parse().unwrap(),
            version,
            open,
            idle,
            at_once,
            unused: Duration::from_secs(unused_s as u64),
        }
    }

    #[test]
    fn what_cores_know_of_one_origin_is_joined_and_what_was_used_last_comes_first() {
        let told = [
            known("http://a.example", Version::HTTP_11, [3, 2, 3, 0]),
            known("https://b.example", Version::HTTP_11, [1, 1, 2, 9]),
            known("http://old.example", Version::HTTP_11, [0, 0, 4, 300]),
            known("http://a.example", Version::HTTP_11, [2, 2, 5, 7]),
            known("https://b.example", Version::HTTP_2, [1, 1, 0, 4]),
        ];
        let first = known("http://a.example", Version::HTTP_11, [5, 4, 5, 0]);
        let second = known("https://b.example", Version::HTTP_2, [2, 2, 2, 4]);
        let last = told[2].clone();
        assert_eq!(KnownOrigin::joined(told.clone(), 9), [first.clone(), second.clone(), last]);
        assert_eq!(KnownOrigin::joined(told, 2), [first, second]);
    }
}
