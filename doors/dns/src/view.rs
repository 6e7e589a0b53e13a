//! The world as one request sees it: the door, and the policy and plan of its moment.
//!
//! It answers nothing itself but what is blocked, in the style that the client gets. Made by
//! whatever received the question; a question that waits makes another when it goes on.

use crate::blocked::PixelReach;
use crate::caller::DnsCaller;
use crate::plan::DnsPlan;
use crate::settings::AliasesAtPixel;
use crate::shared::DoorShared;
use dns_wire::DnsQuery;
use policy::{ClientIdentity, Policy};
use std::sync::Arc;

/// Holds what one request sees of the world; it does not change under its feet.
#[derive(Clone, Copy)]
pub(crate) struct RequestView<'v> {
    pub(crate) shared: &'v Arc<DoorShared>,
    pub(crate) policy: &'v Policy,
    pub(crate) plan: &'v Arc<DnsPlan>,
}

impl RequestView<'_> {
    /// Returns what is known of the client beside its address. It says itself who it is: in the
    /// path of DNS over HTTPS, or in the first label of the name that it connects to.
    pub(crate) fn identity<'c>(&self, caller: &DnsCaller<'c>) -> ClientIdentity<'c> {
        let id = Some(caller.client_id).filter(|id| !id.is_empty());
        ClientIdentity {
            id: id.or_else(|| self.plan.id_in(caller.server_name)),
            ..caller.link_info.into()
        }
    }

    /// Writes the answer to `query` for a blocked name.
    pub(crate) fn block(&self, query: &DnsQuery<'_>, caller: &DnsCaller<'_>, out: &mut Vec<u8>) {
        let style = self.policy.style_of(caller.client, Some(&self.identity(caller)));
        self.plan.blocked.write(query, style, self.pixel_reach(caller), out);
    }

    /// Writes the answer to `query` for a name that is blocked for its alias alone.
    pub(crate) fn block_alias(
        &self,
        query: &DnsQuery<'_>,
        caller: &DnsCaller<'_>,
        out: &mut Vec<u8>,
    ) {
        let style = self.policy.style_of(caller.client, Some(&self.identity(caller)));
        let reaches = match self.plan.aliases_at_pixel {
            AliasesAtPixel::Nothing => PixelReach::Nothing,
            AliasesAtPixel::Answers => self.pixel_reach(caller),
        };
        self.plan.blocked.write(query, style, reaches, out);
    }

    /// Returns what the client would have of the pixel door's address.
    fn pixel_reach(&self, caller: &DnsCaller<'_>) -> PixelReach {
        if self.shared.trust.avoids(caller.client, caller.now) {
            PixelReach::Nothing
        } else {
            PixelReach::Pixel
        }
    }
}
