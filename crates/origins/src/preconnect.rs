//! Connections that are opened before a request needs them.
//!
//! What an origin had open at once while it was busy, it will need again when a client comes back
//! to it: with the first connection the others are opened too, and the requests that follow wait
//! for no handshake. A connection opened so and dropped unused makes it one less the next time.
//! Only what speaks HTTP/1.1 directly: connections of HTTP/2 are shared, and those to servers of a
//! pool are counted by its owner. Called by [`super::send`]; [`super::pool`] keeps what is learnt,
//! apart for every core.

use super::dialer::Dialer;
use super::need::CountedConnection;
use super::origin::Origin;
use super::places::OriginPlaces;
use super::pool::{self, OpenConnection, PoolCaps, PoolKey};
use super::speak::speak_as_agreed;
use super::versions::UsableVersions;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

/// Where connections are opened ahead.
pub(super) struct AheadOpener<'c> {
    pub(super) dialer: &'c Dialer,
    pub(super) origin: &'c Origin,
    pub(super) key: &'c PoolKey,
    pub(super) caps: PoolCaps,
    pub(super) versions: UsableVersions,
    pub(super) places: Option<&'c Arc<OriginPlaces>>,
}

impl AheadOpener<'_> {
    /// Opens, in the background, what is missing beside `first`. They lead to its `peer`, which its
    /// client was permitted; whoever uses one later is asked whether it is too.
    pub(super) fn open_extra(&self, first: &CountedConnection, peer: SocketAddr) {
        if !pool::has_room(self.key, &self.caps) {
            return;
        }
        for _ in 0..first.need().missing() {
            // What nobody has asked for yet waits for no place.
            let own = match self.places.map(|places| places.try_take(&self.key.server)) {
                Some(None) => return,
                Some(Some(own)) => Some(own),
                None => None,
            };
            let place = first.need().count_connection();
            let (dialer, origin, key) =
                (self.dialer.clone(), self.origin.clone(), self.key.clone());
            let (caps, versions) = (self.caps, self.versions);
            let need = Rc::clone(place.need());
            tokio::task::spawn_local(async move {
                if let Ok(connection) = dialer.redial(&origin, versions, peer).await
                    && let Ok(open) = speak_as_agreed(connection, peer, caps.answer, own).await
                    && !open.is_http2()
                {
                    pool::put_idle(key, OpenConnection { counted: Some(place), ..open }, caps);
                } else {
                    need.report_unused();
                }
            });
        }
    }
}
