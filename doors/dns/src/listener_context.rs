//! What every connection of a listener knows.

use crate::shared::DoorShared;
use crate::sockets::SocketRoutes;
use arc_swap::ArcSwap;
use std::sync::Arc;
use transport::neighbours::{self, ArrivedAt};
use transport::{ConnectionLimits, Drain, Stream};

/// Holds what every connection of a listener knows.
#[derive(Clone)]
pub(crate) struct ListenerContext {
    pub(crate) shared: Arc<DoorShared>,
    pub(crate) routes: Arc<ArcSwap<SocketRoutes>>,
    pub(crate) limits: ConnectionLimits,
    /// Begun when the listener closes.
    pub(crate) closing: Drain,
}

impl ListenerContext {
    /// The address of ours that a connection is to, if the policy wants to know its interface.
    pub(crate) fn local(&self, stream: &Stream) -> Option<ArrivedAt> {
        neighbours::local(self.shared.policy.load().link_info_needs(), stream)
    }
}
