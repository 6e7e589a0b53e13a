//! What acting on a request needs to know: the door as it is set up, and who asks.
//!
//! Made by `request` once a request is decided about; read by everything that acts.

use crate::bandwidth::TransferPace;
use crate::connection::{HostStanding, PinnedDestination, ProxyConnection};
use crate::destination_guard::DestinationGuard;
use crate::door::ProxyDoor;
use crate::setup::ProxySetup;
use http_engine::html::PageReader;
use origins::{Origin, ProxyRoute};
use policy::ClientIdentity;
use std::borrow::Cow;
use std::sync::Arc;
use vocab::{LinkInfo, Now};

/// Holds what acting on a request needs to know.
pub(crate) struct ProxyContext<'d> {
    pub(crate) door: &'d Arc<ProxyDoor>,
    pub(crate) setup: &'d Arc<ProxySetup>,
    pub(crate) caller: &'d Arc<ProxyConnection>,
    pub(crate) destination: DestinationGuard<'d>,
    /// The address that the request goes to in place of any of its host's.
    pub(crate) pinned: Option<PinnedDestination>,
    pub(crate) now: Now,
}

/// What a page of ours is about, and who reads it.
#[derive(Clone, Copy)]
pub(crate) struct PageSubject<'r> {
    /// The URL, `host:port` of a tunnel, or the address of the proxy itself.
    pub(crate) text: &'r str,
    pub(crate) reader: PageReader,
}

impl<'d> ProxyContext<'d> {
    /// Returns who is connected to for `origin`.
    pub(crate) fn server_of<'o>(&self, origin: &'o Origin) -> Cow<'o, Origin> {
        self.pinned.map_or(Cow::Borrowed(origin), |it| Cow::Owned(it.origin(origin.scheme)))
    }

    /// Returns the pace of what comes from this path of `origin`, if it has one.
    pub(crate) fn pace(&self, origin: &Origin, path: &str) -> Option<TransferPace> {
        let classes = self.setup.bandwidth.as_ref()?;
        classes.pace(self.caller.client(), origin, path, self.now)
    }

    /// Returns the way to `origin`: by its host, unless that host is only said to be there.
    pub(crate) fn route_for(&self, origin: &Origin) -> &'d ProxyRoute {
        match self.pinned {
            Some(pinned) if pinned.standing == HostStanding::Unverified => {
                self.setup.routes.route_for(&pinned.origin(origin.scheme).host)
            }
            Some(_) | None => self.setup.routes.route_for(&origin.host),
        }
    }

    /// Returns what is known of the client beside its address.
    pub(crate) fn identity(&self) -> ClientIdentity<'_> {
        ClientIdentity { user: self.destination.asker.user.as_deref(), ..self.link_info().into() }
    }

    /// Returns what the client's link tells of it, as far as the policy wants to know.
    pub(crate) fn link_info(&self) -> LinkInfo {
        self.caller.near(&self.door.parts.policy.load(), self.now)
    }
}
