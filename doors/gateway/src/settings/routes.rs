//! What can be set for a route.
//!
//! Plain data. Read as part of the `gateway` section.

mod check;
mod order;
mod takes;

pub(super) use self::order::check_order;

use super::{
    AuthSettings, BlockSettings, CompressChoice, FieldSettings, FixedAnswerSettings,
    FolderSettings, ForwardAuthSettings, HostSetting, LimitSettings, RedirectSettings,
    ReproxySettings, RequestsSettings, ScriptChoice, UploadMode,
};
use balancer::RequestPriority;
use http_engine::upgrade::WEBSOCKET;
use route_matching::{EncodedSlash, PathPattern, PathPrefix, PathRewrite, RewriteSettings};
use schemars::JsonSchema;
use scripting::LuauChoice;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::collections::BTreeMap;
use vocab::{ByteSize, Complaint, Listen, Network, TimeSpan};
use wasm_filters::WasmFilterSettings;

/// A route: the requests that it is for, where they go, and what is changed on the way.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of its own in the file")]
pub struct RouteSettings {
    /// The host asked for: a name, `*.NAME` for all below it, or a regular expression after `~`.
    /// Default any.
    pub host: Option<String>,
    /// The path, percent-decoded: `/exact`, `/prefix/*` for all that begins so, `/a/*/b` with stars
    /// for anything (slashes too), or a regular expression after `~`. Default `/*`.
    pub path: String,
    /// Treatment of `%2F`, `%5C` and a backslash in the path: `refuse` (the default: 400),
    /// `keep` (for servers to which it is no slash, as npm registries, `GitLab` and `RabbitMQ`) or
    /// `decode` (it is a slash before anything is decided). `..` beside one is refused, and so is a
    /// path that another route would take were it decoded.
    pub encoded_slash: EncodedSlash,
    /// Merging of several slashes in a row into one. Default true; false for servers to which they
    /// are not, as those that have a URL in the path. A path that another route would take were
    /// they one is refused.
    pub merge_slashes: bool,
    /// The methods, as `[GET, HEAD]`; a WebSocket is a `GET`. At most 16. Default any.
    pub methods: Vec<String>,
    /// Header fields that the request must have: a value, `*` for any, or a regular expression
    /// after `~`. At most 16. Default none.
    pub with_headers: BTreeMap<String, String>,
    /// The same for names of the query, read as forms write them. At most 16. Default none.
    pub with_query: BTreeMap<String, String>,
    /// The networks that the client must be in. At most 256. Default any.
    pub clients: Vec<Text<Network>>,
    /// The networks that the connection must come from, whatever a trusted proxy says of the
    /// client. At most 256. Default any.
    pub peers: Vec<Text<Network>>,
    /// The listeners at which the request must come in, written as in the gateway's `listen`, with
    /// a port. Default any.
    pub listen: Vec<Text<Listen>>,
    /// A folder to serve: what is below the `/prefix/` of the path, or below `strip_prefix`. A
    /// relative one starts from the configuration's folder. Default none.
    pub root: Option<String>,
    /// The pages to show for a folder of `root`; the first that exists. At most 16. Default
    /// `[index.html]`.
    pub index: Vec<String>,
    /// True if a folder of `root` without an index page shows what is in it. Default false.
    pub listing: bool,
    /// Files of `root` that are never sent, by pattern of path, unless a `fastcgi` server runs
    /// them. Default: scripts of servers (`*.php`, `*.cgi` and the like), as at the web door.
    pub forbidden_files: Option<Vec<String>>,
    /// A file below `root` that is served, with 200, where nothing is found: `/index.html` for an
    /// application of one page. Default none.
    pub fallback: Option<String>,
    /// `FastCGI` servers for scripts of `root`, by pattern of path: `"*.php":
    /// "unix:///run/php.sock"`. Default none.
    pub fastcgi: BTreeMap<String, ScriptChoice>,
    /// Sends the client to another place. Default none.
    pub redirect: Option<RedirectSettings>,
    /// Answers always the same. Default none.
    pub answer: Option<FixedAnswerSettings>,
    /// Answers nothing, of the type that was asked for: an empty script, a transparent picture.
    /// Default false.
    pub null_answer: bool,
    /// URLs to refuse. Default none.
    pub block: Option<BlockSettings>,
    /// Rate limit. Default: none.
    pub limit: Option<LimitSettings>,
    /// Number that may be under way at once. Default: any.
    pub requests: Option<RequestsSettings>,
    /// Names and passwords of those who are let in. Default: all are.
    pub auth: Option<AuthSettings>,
    /// An authentication service that is asked about each request. Default none.
    pub forward_auth: Option<ForwardAuthSettings>,
    /// A script in Luau that looks at requests and answers of the route. Default none.
    pub script: Option<LuauChoice>,
    /// Filters in WebAssembly by proxy-wasm, in their order; builds with the feature `wasm` alone
    /// have them. At most 16. Default none.
    pub wasm: Vec<WasmFilterSettings>,
    /// The pool that the rest goes to. Where it is absent, the routes that follow decide.
    pub pool: Option<String>,
    /// Whole segments that are taken off the beginning of the path before a server of the pool is
    /// asked: `/app`. `Location` and its like get them back. Default none.
    pub strip_prefix: Option<String>,
    /// Another path for servers of the pool, after `strip_prefix`. Default none.
    pub rewrite: Option<RewriteSettings>,
    /// The `Host` that servers of the pool read: `keep` what the client asked for, `server` for
    /// that of the server, or a host. A rule of `headers` overrides it. Default `keep`.
    pub set_host: String,
    /// True if answers of the pool are cached, as `Cache-Control` and its like allow. Default
    /// false.
    pub cache: bool,
    /// Storing of answers that set a cookie: the cache sends the cookie to every client that gets
    /// them, as RFC 9111 (section 7.3) allows. Without, such an answer goes only to the client that
    /// asked. Default false.
    pub store_set_cookie: bool,
    /// Priority of its requests when they wait for a server of the pool, unless the pool's `queue`
    /// sets another. Default `normal`.
    pub priority: RequestPriority,
    /// Changes of header fields on this route, after those of all routes.
    pub headers: FieldSettings,
    /// Compression of answers for clients that accept it: `true`, or in detail. Default false.
    /// Answers that a server has compressed, that are known to be short or have `no-transform` are
    /// not.
    pub compress: CompressChoice,
    /// True if `Location`, `Content-Location` and `Refresh` that lead to a server of the pool are
    /// made to lead here. Default true.
    pub rewrite_location: bool,
    /// True if cookies with a server's own name as their `Domain` become cookies of the host that
    /// the client asked, and their `Path` gets back what `strip_prefix` took off. Default false.
    pub rewrite_cookies: bool,
    /// The largest request body on this route, in place of the gateway's `body_max`.
    pub body_max: Option<Text<ByteSize>>,
    /// Time for which a server may be silent on this route, in place of the gateway's
    /// `response_timeout`; from 1s to 1h.
    pub response_timeout: Option<Text<TimeSpan>>,
    /// Files and URLs that its servers may name to be sent in place of their answer. Default none.
    pub reproxy: Option<ReproxySettings>,
    /// True if it is reached only by a server's `X-Accel-Redirect`, never by what a client asks
    /// for. Default false.
    pub internal: bool,
    /// Request bodies: streamed to its servers, or collected first. Default as `uploads.mode` says.
    pub uploads: Option<UploadMode>,
    /// True if the progress of uploads is told: of one with `client_up_sess=NAME` in its query,
    /// `GET /__upload_status?client_up_sess=NAME` on this route tells how many bytes came, as
    /// Perlbal's upload tracker did. NAME is 5 to 50 letters, digits and underscores that its page
    /// makes up, long enough not to be guessed. 4096 uploads are known at once, each until a minute
    /// after its end. Default false.
    pub upload_status: bool,
    /// Protocols for which connections may leave HTTP (`Upgrade`), by their names: `[websocket,
    /// tcp]`. Any other is not passed on, and the request is answered without it. `h2c`, `HTTP` and
    /// `TLS` are refused, because requests inside them would pass unread. At most 8. Default
    /// `[websocket]`.
    pub upgrade: Vec<String>,
}

impl Default for RouteSettings {
    fn default() -> Self {
        Self {
            host: None,
            path: "/*".into(),
            encoded_slash: EncodedSlash::Refuse,
            merge_slashes: true,
            methods: Vec::new(),
            with_headers: BTreeMap::new(),
            with_query: BTreeMap::new(),
            clients: Vec::new(),
            peers: Vec::new(),
            listen: Vec::new(),
            root: None,
            index: vec!["index.html".into()],
            listing: false,
            forbidden_files: None,
            fallback: None,
            fastcgi: BTreeMap::new(),
            redirect: None,
            answer: None,
            null_answer: false,
            block: None,
            limit: None,
            requests: None,
            auth: None,
            forward_auth: None,
            script: None,
            wasm: Vec::new(),
            pool: None,
            strip_prefix: None,
            rewrite: None,
            set_host: "keep".into(),
            cache: false,
            store_set_cookie: false,
            priority: RequestPriority::Normal,
            headers: FieldSettings::default(),
            compress: CompressChoice::default(),
            rewrite_location: true,
            rewrite_cookies: false,
            body_max: None,
            response_timeout: None,
            reproxy: None,
            internal: false,
            uploads: None,
            upload_status: false,
            upgrade: vec![WEBSOCKET.into()],
        }
    }
}

impl RouteSettings {
    /// The settings by which it leads somewhere, of which it may have one.
    pub(in crate::settings) fn destinations(&self) -> impl Iterator<Item = &'static str> {
        let all = [
            ("pool", self.pool.is_some()),
            ("root", self.root.is_some()),
            ("redirect", self.redirect.is_some()),
            ("answer", self.answer.is_some()),
            ("null_answer", self.null_answer),
        ];
        all.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name)
    }

    /// The folder that it serves, if it does; `body_max` is the gateway's, in bytes.
    pub(crate) fn folder(&self, body_max: u64) -> Option<FolderSettings> {
        let root = self.root.clone()?;
        let stripped = self.strip_prefix.as_deref().and_then(|it| PathPrefix::parse(it).ok());
        let path = match stripped {
            Some(prefix) => prefix.folder(),
            None => PathPattern::parse(&self.path, self.slashes()).ok()?.folder().to_owned(),
        };
        let scripts = self.fastcgi.iter();
        Some(FolderSettings {
            root,
            path,
            index: self.index.clone(),
            listing: self.listing,
            forbidden_files: self.forbidden_files.clone(),
            fallback: self.fallback.clone(),
            fastcgi: scripts.map(|(paths, it)| (paths.clone(), it.settings())).collect(),
            body_max: self.body_max.map_or(body_max, |size| size.bytes()),
        })
    }

    /// The `Host` that its servers read.
    pub(crate) fn host_sent(&self) -> Result<HostSetting, String> {
        HostSetting::parse(&self.set_host)
    }

    /// Returns what is done to the path before its servers are asked.
    pub(crate) fn path_rewrite(&self) -> Result<PathRewrite, Complaint> {
        let strip =
            self.strip_prefix.as_deref().map(PathPrefix::parse).transpose().map_err(|why| {
                Complaint::new("strip_prefix", why.to_string()).remedy("write strip_prefix: /app")
            })?;
        let made = PathRewrite::new(strip, self.rewrite.as_ref(), self.slashes());
        made.map_err(|why| Complaint::new("rewrite", why.to_string()))
    }
}
