//! The bounds within which connections are carried to other servers.
//!
//! Made by the binary from the settings of all doors; read by `splice`.

use origins::DestinationScope;
use std::net::SocketAddr;

/// Where connections of clients may be carried.
#[derive(Clone, Debug)]
pub struct SpliceBounds {
    /// How far clients are taken.
    pub destinations: DestinationScope,
    /// Listeners of this program and the addresses that it gives for blocked names: a connection
    /// there would go round in circles.
    pub doors: Vec<SocketAddr>,
}
