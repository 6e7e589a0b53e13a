//! The fields of a request that goes on to a server: hop-by-hop ones out, ours in.
//!
//! It sends nothing. Called by `passing`, and by `cached` for what the cache fetches.

use crate::caller::ClientConnection;
use crate::fields::{self, ValueChange};
use crate::forwarded::ForwardedHeaders;
use http::Version;
use http::header::{CONNECTION, EXPECT, HOST, HeaderMap, HeaderValue, UPGRADE};
use http_engine::hop_by_hop;
use origins::{RequestLoop, add_via};

/// Fields that are put into a request that goes on.
pub(crate) struct OnwardFields<'s> {
    pub(crate) telling: ForwardedHeaders<'s>,
    pub(crate) caller: &'s ClientConnection,
    pub(crate) received: Version,
    pub(crate) changes: &'s [ValueChange],
}

impl OnwardFields<'_> {
    /// Makes its fields ours to send; a protocol to switch to is asked for on our own behalf.
    pub(crate) fn prepare(
        &self,
        headers: &mut HeaderMap,
        wants: Option<HeaderValue>,
    ) -> Result<(), RequestLoop> {
        hop_by_hop::strip(headers);
        if let Some(protocol) = wants {
            headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
            headers.insert(UPGRADE, protocol);
        }
        self.telling.apply(headers, self.caller);
        // HTTP/1.0 knows no host, but what we send needs one (RFC 9112 §3.2).
        headers.entry(HOST).or_insert(HeaderValue::from_static(""));
        // The engine has told the client to go on, or will when the body is read: its word is kept.
        headers.remove(EXPECT);
        add_via(headers, self.received)?;
        fields::apply(self.changes, headers);
        Ok(())
    }
}
