//! Places for streams of live rows: a few at once, and fewer of one client.
//!
//! A place is given back when it is dropped. Asked by the route of live rows.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Streams at once.
pub const STREAMS_MAX: usize = 16;
/// Streams of one client at once.
pub const STREAMS_PER_CLIENT_MAX: usize = 4;

/// Places for streams. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct LivePlaces(Arc<Mutex<HashMap<IpAddr, usize>>>);

/// A place that is taken.
#[derive(Debug)]
pub struct LivePlace {
    client: IpAddr,
    places: LivePlaces,
}

/// Why there is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPlace {
    /// All are taken.
    Taken,
    /// This client has as many as one may.
    TakenByClient,
}

impl LivePlaces {
    /// Takes a place.
    pub fn take(&self, client: IpAddr) -> Result<LivePlace, NoPlace> {
        let mut taken = self.lock();
        if taken.get(&client).is_some_and(|theirs| *theirs >= STREAMS_PER_CLIENT_MAX) {
            return Err(NoPlace::TakenByClient);
        }
        if taken.values().sum::<usize>() >= STREAMS_MAX {
            return Err(NoPlace::Taken);
        }
        *taken.entry(client).or_default() += 1;
        drop(taken);
        Ok(LivePlace { client, places: self.clone() })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for LivePlace {
    fn drop(&mut self) {
        let mut taken = self.places.lock();
        if let Some(theirs) = taken.get_mut(&self.client) {
            *theirs -= 1;
            if *theirs == 0 {
                taken.remove(&self.client);
            }
        }
    }
}

impl NoPlace {
    /// Remedy for who is refused.
    pub const fn remedy(self) -> &'static str {
        match self {
            Self::Taken => "close a tab that shows the log, or ask /api/requests with `after`",
            Self::TakenByClient => {
                "close a tab of this device that shows the log, or ask /api/requests with `after`"
            }
        }
    }
}

impl fmt::Display for NoPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Taken => write!(f, "{STREAMS_MAX} streams of live rows are open already"),
            Self::TakenByClient => write!(
                f,
                "this client has {STREAMS_PER_CLIENT_MAX} streams of live rows open already"
            ),
        }
    }
}

impl std::error::Error for NoPlace {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_is_given_back_can_be_taken_again() {
        let places = LivePlaces::default();
        let client = |last: u8| IpAddr::from([192, 0, 2, last]);
        let mut held: Vec<_> = (0..4).map(|_| places.take(client(1)).unwrap()).collect();
        assert_eq!(places.take(client(1)).unwrap_err(), NoPlace::TakenByClient);
        for other in 2..5 {
            held.extend((0..4).map(|_| places.take(client(other)).unwrap()));
        }
        assert_eq!(places.take(client(9)).unwrap_err(), NoPlace::Taken);
        drop(held.remove(0));
        let _again = places.take(client(9)).unwrap();
        assert_eq!(places.take(client(1)).unwrap_err(), NoPlace::Taken);
        drop(held);
        assert_eq!(places.lock().len(), 1);
    }
}
