//! Idle connections of a core give way to requests that wait for their places on other cores.
//!
//! One task a core and set of origins, once the first connection with a place was opened there; it
//! ends with the set. It closes what idles, and nothing that carries a request. Called by
//! [`super::speak`].

use super::places::{OriginPlace, OriginPlaces};
use super::{pool, shared};
use std::cell::RefCell;
use std::pin::pin;
use std::sync::{Arc, Weak};
use tokio::sync::Notify;

thread_local! {
    /// Sets whose idle connections on this core give way.
    static YIELDING: RefCell<Vec<Weak<OriginPlaces>>> = RefCell::default();
}

/// From now on idle connections of this core, in the set of `place`, give way.
pub(super) fn begin(place: &OriginPlace) {
    let all = Arc::downgrade(place.of());
    let is_new = YIELDING.with_borrow_mut(|sets| {
        sets.retain(|set| set.strong_count() > 0);
        let is_new = sets.iter().all(|set| !set.ptr_eq(&all));
        if is_new {
            sets.push(Weak::clone(&all));
        }
        is_new
    });
    if is_new {
        let wanted = Arc::clone(place.of().wanted());
        tokio::task::spawn_local(give_way(wanted, all));
    }
}

async fn give_way(wanted: Arc<Notify>, all: Weak<OriginPlaces>) {
    while all.strong_count() > 0 {
        let mut told = pin!(wanted.notified());
        told.as_mut().enable();
        pool::close_wanted();
        shared::leave_wanted();
        told.await;
    }
}
