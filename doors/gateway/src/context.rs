//! The context of one request: with what it goes on, for whom, and when it came.
//!
//! Handed down from `request` to whatever acts for it, whole. It decides nothing.

use crate::caller::ClientConnection;
use crate::forwarding::ForwardingSetup;
use http_front::HookVisit;
use route_matching::ParsedRequest;
use std::net::IpAddr;
use std::sync::Arc;
use vocab::Now;

/// The context of one request.
#[derive(Clone, Copy)]
pub(crate) struct RequestContext<'r> {
    pub(crate) forwarding: &'r Arc<ForwardingSetup>,
    pub(crate) caller: &'r Arc<ClientConnection>,
    /// The client, for whom a trusted proxy may have spoken.
    pub(crate) client: IpAddr,
    /// The URL that it asks for.
    pub(crate) url: &'r str,
    /// State that the hooks of its route share.
    pub(crate) visit: &'r HookVisit,
    pub(crate) now: Now,
}

impl<'r> RequestContext<'r> {
    /// The same for a request that a server has led to another path.
    pub(crate) fn at(self, parsed: &'r ParsedRequest) -> Self {
        Self { url: &parsed.url, ..self }
    }
}
