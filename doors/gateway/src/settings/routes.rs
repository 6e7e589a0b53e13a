//! What can be set for a route.
//!
//! Plain data. Read as part of the `gateway` section.

use super::{
    AuthSettings, BlockSettings, CompressChoice, FieldSettings, ForwardAuthSettings, LimitSettings,
    PoolSettings, Priority, ReproxySettings, RequestsSettings, TIMEOUT_MAX, UploadMode,
};
use crate::routes::{HostPattern, PathPattern};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::collections::BTreeMap;
use std::time::Duration;
use vocab::{ByteSize, Complaint, Span};

/// Where requests of one host and path go.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of its own in the file")]
pub struct RouteSettings {
    /// The host asked for: a name, or `*.NAME` for all below it. Default any.
    pub host: Option<String>,
    /// The path: `/exact`, or `/prefix/*` for all that begins so. Default `/*`.
    pub path: String,
    /// A folder to serve. Not built yet: must be absent; the web door serves folders.
    pub root: Option<String>,
    /// URLs to refuse. Default none.
    pub block: Option<BlockSettings>,
    /// How often requests may come. Default: any.
    pub limit: Option<LimitSettings>,
    /// How many may be under way at once. Default: any.
    pub requests: Option<RequestsSettings>,
    /// Names and passwords of those who are let in. Default: all are.
    pub auth: Option<AuthSettings>,
    /// Who is asked whom to let in. Default nobody.
    pub forward_auth: Option<ForwardAuthSettings>,
    /// The pool that the rest goes to. Where it is absent, the routes that follow decide.
    pub pool: Option<String>,
    /// Whether answers of the pool are cached, as `Cache-Control` and its like allow. Default false.
    pub cache: bool,
    /// How urgent its requests are where they have to wait for a server of the pool, unless the pool's
    /// `queue` says otherwise. Default `normal`.
    pub priority: Priority,
    /// What is done to header fields on this route, after what is done on every route.
    pub headers: FieldSettings,
    /// Whether answers are compressed on the way out, for clients that take it: `true`, or in detail.
    /// Default false. What a server has compressed, what is known to be short and what has
    /// `no-transform` goes as it is.
    pub compress: CompressChoice,
    /// Whether `Location`, `Content-Location` and `Refresh` that lead to a server of the pool are made
    /// to lead here. Default true.
    pub rewrite_location: bool,
    /// Whether cookies with a server's own name as their `Domain` become cookies of the host that the
    /// client asked. Default false.
    pub rewrite_cookies: bool,
    /// The largest request body on this route, in place of the gateway's `body_max`.
    pub body_max: Option<Text<ByteSize>>,
    /// How long a server may be silent on this route, in place of the gateway's `response_timeout`; from
    /// 1s to 1h.
    pub response_timeout: Option<Text<Span>>,
    /// What its servers may name to be sent in their place. Default nothing.
    pub reproxy: Option<ReproxySettings>,
    /// Whether it is reached only by a server's `X-Accel-Redirect`, never by what a client asks for. Default
    /// false.
    pub internal: bool,
    /// How request bodies reach its servers. Default as `uploads.mode` says.
    pub uploads: Option<UploadMode>,
}

impl Default for RouteSettings {
    fn default() -> Self {
        Self {
            host: None,
            path: "/*".into(),
            root: None,
            block: None,
            limit: None,
            requests: None,
            auth: None,
            forward_auth: None,
            pool: None,
            cache: false,
            priority: Priority::Normal,
            headers: FieldSettings::default(),
            compress: CompressChoice::default(),
            rewrite_location: true,
            rewrite_cookies: false,
            body_max: None,
            response_timeout: None,
            reproxy: None,
            internal: false,
            uploads: None,
        }
    }
}

impl RouteSettings {
    pub(super) fn check(&self, pools: &BTreeMap<String, PoolSettings>) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        if let Some(Err(why)) = self.host.as_deref().map(HostPattern::parse) {
            complaints.push(
                Complaint::new("host", why).remedy("write a name, or *.example for all below it"),
            );
        }
        if let Err(why) = PathPattern::parse(&self.path) {
            complaints.push(Complaint::new("path", why).remedy("write /exact or /prefix/*"));
        }
        if self.root.is_some() {
            complaints.push(
                Complaint::new("root", "serving a folder is not built yet for the gateway")
                    .remedy("serve it with the web door, and name that as a server of a pool"),
            );
        }
        let of_pools = [
            ("limit", self.limit.is_some()),
            ("requests", self.requests.is_some()),
            ("auth", self.auth.is_some()),
            ("forward_auth", self.forward_auth.is_some()),
        ];
        for (name, _) in of_pools.into_iter().filter(|(_, is_set)| *is_set && self.pool.is_none()) {
            complaints.push(
                Complaint::new(name, "without a pool, the route lets nobody through anyway")
                    .remedy(format!("name a pool, or leave {name} out")),
            );
        }
        if self.cache && self.pool.is_none() {
            complaints.push(
                Complaint::new("cache", "the route leads to nothing that could be cached")
                    .remedy("name a pool, or leave cache out"),
            );
        }
        complaints.extend(self.check_reproxy());
        match &self.pool {
            Some(pool) if !pools.contains_key(pool) => {
                let known: Vec<_> = pools.keys().map(String::as_str).collect();
                let remedy = if known.is_empty() {
                    format!("write it under pools: {{ {pool}: {{ servers: [...] }} }}")
                } else {
                    format!("known are: {}", known.join(", "))
                };
                complaints.push(
                    Complaint::new("pool", format!("there is no pool {pool:?}")).remedy(remedy),
                );
            }
            None if self.block.is_none() && self.root.is_none() => complaints.push(
                Complaint::new("pool", "the route neither blocks nor leads anywhere")
                    .remedy("name a pool, or patterns to block"),
            ),
            Some(_) | None => {}
        }
        complaints.extend(self.check_guards());
        complaints.extend(self.check_edge());
        complaints
    }

    /// What is wrong with what is done to messages on their way.
    fn check_edge(&self) -> Vec<Complaint> {
        let headers = self.headers.check().into_iter().map(|it| it.under("headers"));
        let compress = self.compress.check().into_iter().map(|it| it.under("compress"));
        let mut complaints: Vec<_> = headers.chain(compress).collect();
        if let Some(size) = self.body_max
            && size.bytes() < 1 << 10
        {
            complaints.push(
                Complaint::new("body_max", format!("{size} is out of bounds"))
                    .remedy("write a size of at least 1KiB"),
            );
        }
        if let Some(Text(span)) = self.response_timeout
            && (span.0 < Duration::from_secs(1) || span.0 > TIMEOUT_MAX)
        {
            complaints.push(
                Complaint::new("response_timeout", format!("{span} is out of bounds"))
                    .remedy("write a span from 1s to 1h"),
            );
        }
        complaints
    }

    fn check_reproxy(&self) -> Vec<Complaint> {
        let Some(reproxy) = &self.reproxy else { return Vec::new() };
        let mut complaints: Vec<_> =
            reproxy.check().into_iter().map(|it| it.under("reproxy")).collect();
        if self.pool.is_none() {
            complaints.push(
                Complaint::new("reproxy", "the route has no servers that could name anything")
                    .remedy("name a pool, or leave reproxy out"),
            );
        }
        if self.cache && reproxy.reroute {
            complaints.push(
                Complaint::new("reproxy.reroute", "what is routed again is not cached here")
                    .remedy("cache the route that it leads to, and leave cache out of this one"),
            );
        }
        complaints
    }
}
