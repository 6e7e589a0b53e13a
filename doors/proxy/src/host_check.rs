//! The check of an intercepted request's host, between the policy's word and the deed.
//!
//! A host that does not lead to where the client has connected to is asked about a second time, by
//! that address, and what either is blocked for counts; the request is then pinned to the address.
//! A name that is blocked is looked up nowhere. Called by `request`.

use crate::connection::{HostStanding, InterceptedConnection, PinnedDestination, ProxyConnection};
use crate::decide::{ProxyDecision, ProxyQuery, decide};
use crate::destination_guard::{DestinationGuard, HostAsker};
use crate::door::ProxyDoor;
use crate::proxy_request::ProxyRequest;
use crate::setup::ProxySetup;
use crate::target::ProxyTarget;
use http::Method;
use std::sync::Arc;
use vocab::Now;

/// A request whose host is held against its connection.
pub(crate) struct HostCheck<'r> {
    pub(crate) door: &'r Arc<ProxyDoor>,
    pub(crate) setup: &'r ProxySetup,
    pub(crate) caller: &'r ProxyConnection,
    pub(crate) method: &'r Method,
    pub(crate) now: Now,
}

impl HostCheck<'_> {
    /// The decision, which may become a block. Pins `wish` where its host does not lead to where it
    /// was meant to go.
    pub(crate) async fn hold(
        &self,
        intercepted: &InterceptedConnection,
        wish: &mut ProxyRequest,
        decision: ProxyDecision,
    ) -> ProxyDecision {
        let ProxyDecision::Pass(verdict) = &decision else { return decision };
        let (Some(origin), Some(address)) = (wish.target.origin(), intercepted.meant) else {
            return decision;
        };
        let policy = &self.door.parts.policy;
        let user = wish.user.clone();
        let asker = HostAsker::of(policy, self.caller, user, verdict.cause, self.now);
        let off_limits = &self.door.parts.off_limits;
        let guard = DestinationGuard::of(self.setup, off_limits, asker, Some(&origin.host));
        let dialer = self.setup.origins.dialer();
        let standing = match intercepted.verify(dialer, origin, &guard).await {
            Ok(standing) => standing,
            Err(alias) => {
                wish.blocked_alias = Some(alias);
                return decision;
            }
        };
        let pinned = PinnedDestination { address, standing };
        wish.pinned = match (&wish.target, standing) {
            // Any of its host's addresses will do, and what is stored of it.
            (ProxyTarget::Fetch { .. }, HostStanding::Verified) => None,
            (ProxyTarget::Fetch { .. }, HostStanding::Unverified)
            | (ProxyTarget::Tunnel(_) | ProxyTarget::Local(_), _) => Some(pinned),
        };
        match standing {
            HostStanding::Verified => decision,
            HostStanding::Unverified => self.decide_by_address(wish, pinned).unwrap_or(decision),
        }
    }

    /// The block of the address that a request goes to, if there is one.
    fn decide_by_address(
        &self,
        wish: &ProxyRequest,
        pinned: PinnedDestination,
    ) -> Option<ProxyDecision> {
        let origin = pinned.origin(wish.target.origin()?.scheme);
        let host = origin.host.to_name();
        let url = match &wish.target {
            ProxyTarget::Fetch { path, .. } => Some(origin.url(path)),
            ProxyTarget::Tunnel(_) | ProxyTarget::Local(_) => None,
        };
        let query = wish.query(self.method);
        let asked = ProxyQuery { host: host.as_name(), url: url.as_deref(), ..query };
        match decide(self.door, self.caller, &asked, self.now) {
            block @ ProxyDecision::Block(_) => Some(block),
            ProxyDecision::Pass(_) | ProxyDecision::RemoveParams(..) => None,
        }
    }
}
