//! One connection, as its requests see it: the sites that it may ask for, and who asks.
//!
//! The same for all of its requests, whatever is reloaded meanwhile. It reads none. Made by
//! `serve`, once a connection.

use crate::door::WebDoor;
use crate::handshake::WebContext;
use crate::table::SiteTable;
use http_engine::HttpVersions;
use std::net::IpAddr;
use std::sync::Arc;

/// One connection, as its requests see it.
pub(crate) struct WebConnection {
    pub(crate) door: Arc<WebDoor>,
    pub(crate) table: Arc<SiteTable>,
    pub(crate) context: WebContext,
    pub(crate) versions: HttpVersions,
}

impl WebConnection {
    /// The address of the client.
    pub(crate) const fn client(&self) -> IpAddr {
        self.context.client_ip()
    }
}
