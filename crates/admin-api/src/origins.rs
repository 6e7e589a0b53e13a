//! The origins that the proxy has connections to, as the API tells them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Holds what the proxy's connections have taught of origins.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct OriginList {
    /// Those used last first, 200 at most; none without a proxy.
    pub origins: Vec<OriginInfo>,
}

/// One origin, with the connections of all cores together.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct OriginInfo {
    /// Scheme, host, and port where it is not the scheme's own: `https://www.example`. A parent
    /// proxy stands here for the `http` URLs that it is asked for.
    pub origin: String,
    /// The version of HTTP that is spoken there: `1.1` or `2`.
    pub version: String,
    /// Connections open or being opened; through a parent in HTTP/1.1, the idle ones alone.
    pub open: usize,
    /// Those that are open and carry no request.
    pub idle: usize,
    /// Connections that were of use at once on one core, and are opened together the next time; 0
    /// where that is not learnt: in HTTP/2, and through a parent.
    pub at_once: usize,
    /// For how many seconds none of them has carried a request; 0 while one does.
    pub unused_s: u64,
}
