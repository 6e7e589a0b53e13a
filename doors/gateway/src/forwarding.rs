//! Means by which requests go on to servers, the same for all routes of a gateway.
//!
//! Made by `setup`, and shared with fetches of the cache, which may outlive the client. It decides
//! nothing.

use crate::fields::FieldRules;
use crate::forwarded::ForwardedHeaders;
use crate::settings::ForwardedStyle;
use crate::upgraded::LeftConnections;
use crate::uploads::UploadRules;
use balancer::Pools;
use http_cache::HttpCache;
use http_engine::claims::MethodOverrides;
use origins::Origins;
use std::sync::Arc;
use std::time::Duration;
use upload_progress::UploadTable;
use vocab::Network;

/// Means by which requests go on to servers.
pub(crate) struct ForwardingSetup {
    pub(crate) origins: Origins,
    pub(crate) pools: Pools,
    pub(crate) trusted: Vec<Network>,
    pub(crate) style: ForwardedStyle,
    /// Done to the fields of requests on every route.
    pub(crate) request_fields: FieldRules,
    /// Treatment of fields in which strangers ask for another method.
    pub(crate) overrides: MethodOverrides,
    pub(crate) cache: Option<Arc<HttpCache>>,
    pub(crate) uploads: UploadRules,
    /// Progress of uploads, those from before a reload among them.
    pub(crate) progress: Arc<UploadTable>,
    pub(crate) left: LeftConnections,
    pub(crate) limits: ForwardingLimits,
}

/// Limits that count where a route has none of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ForwardingLimits {
    /// The largest request body, in bytes.
    pub(crate) body_max: u64,
    /// Connections that may have left HTTP.
    pub(crate) upgrades: u32,
    /// Time for which a server may be silent.
    pub(crate) response_timeout: Duration,
}

impl ForwardingSetup {
    /// Returns who is believed, and how servers behind are told.
    pub(crate) fn telling(&self) -> ForwardedHeaders<'_> {
        ForwardedHeaders { trusted: &self.trusted, style: self.style }
    }
}
