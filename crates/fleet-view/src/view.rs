//! The fleet as one of its edges sees it, for the admin API: what the edge does itself, and what
//! lies at the place of the bundles.
//!
//! The place is read when somebody asks, at most once in two seconds whoever asks, by a client of
//! its own: the one that looks for revisions is not held up.

use crate::facts::{OwnWord, ViewFacts, ViewSetup};
use crate::place_reading::PlaceReading;
use crate::words;
use fleet_api::{FleetRevisions, RevisionSource};
use fleet_bundle::{EdgeName, EdgeState, EdgeStatus};
use fleet_edge::{BundleClient, RevisionRecord};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time for which a reading serves everybody who asks.
const READ_AGAIN: Duration = Duration::from_secs(2);

/// View of a fleet.
pub struct FleetView {
    setup: ViewSetup,
    own: Mutex<OwnWord>,
    reading: Mutex<TimedReading>,
}

/// A reading and its time.
#[derive(Default)]
struct TimedReading {
    place: PlaceReading,
    read: Option<(Instant, u64)>,
    trouble: Option<String>,
}

impl FleetView {
    /// A view that has read nothing yet.
    pub fn new(setup: ViewSetup) -> Self {
        Self { setup, own: Mutex::default(), reading: Mutex::default() }
    }

    /// Name of the edge.
    pub fn name(&self) -> &EdgeName {
        &self.setup.name
    }

    /// Revision that the edge has in force.
    pub fn in_force(&self) -> Option<u64> {
        self.setup.store.record().ok()?.in_force.map(|it| it.number)
    }

    /// Notes what the edge found at its last look, and what the fleet wants of it.
    pub fn note(&self, status: EdgeStatus, wanted: EdgeState) {
        *lock(&self.own) = OwnWord { status: Some(status), wanted };
    }

    fn read(&self, reading: &mut TimedReading, record: &RevisionRecord, now: u64) {
        if reading.read.is_some_and(|(at, _)| at.elapsed() < READ_AGAIN) {
            return;
        }
        let ViewSetup { place, credentials, dialer, trusted, .. } = &self.setup;
        let client = BundleClient::hasty(place, credentials.clone(), dialer.clone());
        let trusted = record.trusted(trusted);
        let looked = match client {
            Ok(client) => reading.place.look(&client, &trusted).map_err(|why| why.to_string()),
            Err(why) => Err(why.to_string()),
        };
        reading.trouble = looked.err();
        // From its end on: a place that is slow is not asked without a pause.
        reading.read = Some((Instant::now(), now));
    }
}

impl RevisionSource for FleetView {
    fn revisions(&self, now: u64) -> FleetRevisions {
        let mut reading = lock(&self.reading);
        let record = self.setup.store.record().unwrap_or_default();
        self.read(&mut reading, &record, now);
        let own = lock(&self.own).clone();
        let facts = ViewFacts {
            setup: &self.setup,
            record: &record,
            own: &own,
            place: &reading.place,
            now,
        };
        let read = reading.read.map_or(now, |(_, at)| at);
        FleetRevisions {
            trouble: reading.trouble.clone(),
            read: crate::line::seconds(read),
            ..words::shown(&facts)
        }
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
