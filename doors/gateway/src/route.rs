//! A route as it runs: what it is for, what it refuses, where it leads.
//!
//! Made by `door` from its settings; `decide` walks the routes. It reads pattern files, and nothing
//! once it is made.

use crate::fields::FieldRules;
use crate::patterns::{PATTERNS_FILE_BYTES_MAX, Patterns};
use crate::pools::Pool;
use crate::public::{Cookies, Links, Public};
use crate::reproxy::Reproxy;
use crate::routes::{HostPattern, PathPattern};
use crate::settings::{PatternSource, Priority, RouteSettings, Settings, UploadMode};
use http::header::HOST;
use http_cache::Cache;
use http_engine::encoding::Offer;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use vocab::{Complaint, ListId};

/// Where requests of one host and path go.
pub(crate) struct Route {
    pub(crate) host: Option<HostPattern>,
    pub(crate) path: PathPattern,
    pub(crate) block: Option<Block>,
    pub(crate) pool: Option<Arc<Pool>>,
    /// Where its answers are kept, if they are.
    pub(crate) cache: Option<Arc<Cache>>,
    /// How urgent its requests are.
    pub(crate) priority: Priority,
    pub(crate) request_fields: FieldRules,
    pub(crate) response_fields: FieldRules,
    /// What answers are offered, if anything.
    pub(crate) compress: Option<Offer>,
    pub(crate) public: Public,
    /// The largest request body, in bytes; the gateway's own where there is none.
    pub(crate) body_max: Option<u64>,
    /// How long a server may be silent; the gateway's own where there is none.
    pub(crate) response_timeout: Option<Duration>,
    /// What its servers may name to be sent in their place.
    pub(crate) reproxy: Option<Reproxy>,
    /// Whether only servers lead here.
    pub(crate) internal: bool,
    /// How request bodies reach its servers, if not as all do.
    pub(crate) uploads: Option<UploadMode>,
}

/// The patterns of a route, and the list number under which they are recorded.
pub(crate) struct Block {
    pub(crate) list: ListId,
    pub(crate) name: String,
    pub(crate) patterns: Patterns,
}

/// Reads every pattern file as [`Door::new`] would, relative ones from `base`, and says what is
/// wrong with them.
pub(crate) fn check_files(settings: &Settings, base: &Path) -> Vec<Complaint> {
    let routes = settings.routes.iter().enumerate();
    let wrong = routes.filter_map(|(index, route)| {
        let block = Block::new(index, &route.block.as_ref()?.patterns, base);
        block.err().map(|why| why.under(&format!("routes.{index}")))
    });
    wrong.collect()
}

/// What a route is made with.
pub(crate) struct Around<'s> {
    pub(crate) pools: &'s BTreeMap<String, Arc<Pool>>,
    pub(crate) cache: Option<&'s Arc<Cache>>,
    pub(crate) base: &'s Path,
}

impl Route {
    pub(crate) fn new(
        index: usize,
        settings: &RouteSettings,
        around: &Around<'_>,
    ) -> Result<Self, Complaint> {
        let host = settings.host.as_deref().map(HostPattern::parse).transpose();
        let path = PathPattern::parse(&settings.path);
        let block = match &settings.block {
            None => None,
            Some(block) => Some(Block::new(index, &block.patterns, around.base)?),
        };
        let reproxy = settings.reproxy.as_ref().map(|reproxy| Reproxy::new(reproxy, around.base));
        let pool = settings.pool.as_deref().and_then(|name| around.pools.get(name));
        let (request_fields, response_fields) = settings.headers.compile();
        let hosts = || request_fields.literals(&HOST).map(str::to_owned).collect();
        let public = Public {
            links: settings.rewrite_location.then(|| Links(hosts())),
            cookies: if settings.rewrite_cookies { Cookies::Public } else { Cookies::AsTheyAre },
        };
        Ok(Self {
            host: host.map_err(|why| Complaint::new("host", why))?,
            path: path.map_err(|why| Complaint::new("path", why))?,
            block,
            pool: pool.cloned(),
            cache: around.cache.filter(|_| settings.cache).cloned(),
            priority: settings.priority,
            request_fields,
            response_fields,
            compress: settings.compress.offer(),
            public,
            body_max: settings.body_max.map(|size| size.bytes()),
            response_timeout: settings.response_timeout.map(|span| span.0.0),
            reproxy: reproxy.transpose()?,
            internal: settings.internal,
            uploads: settings.uploads,
        })
    }
}

impl Block {
    fn new(index: usize, source: &PatternSource, base: &Path) -> Result<Self, Complaint> {
        let number =
            u8::try_from(index).ok().and_then(|index| ListId::DOOR_FIRST.0.checked_add(index));
        let Some(number) = number else {
            return Err(Complaint::new("block", "there are too many routes with patterns"));
        };
        let wrong = |message: String| Complaint::new("block.patterns", message);
        let (name, patterns) = match source {
            PatternSource::Inline(lines) => (
                format!("gateway.routes.{index}"),
                Patterns::compile(lines.iter().map(String::as_str))
                    .map_err(|why| wrong(why.to_string()))?,
            ),
            PatternSource::File(path) => {
                let text = read_text(&base.join(path)).map_err(|why| {
                    wrong(format!("{path}: {why}")).remedy("name a readable text file of patterns")
                })?;
                let compiled = Patterns::compile(text.lines());
                (path.clone(), compiled.map_err(|why| wrong(format!("{path}: {why}")))?)
            }
        };
        Ok(Self { list: ListId(number), name, patterns })
    }
}

fn read_text(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(PATTERNS_FILE_BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > PATTERNS_FILE_BYTES_MAX {
        return Err(std::io::Error::other("it is larger than 64MiB"));
    }
    Ok(text)
}
