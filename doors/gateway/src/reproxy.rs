//! Servers that name what is to be sent in their place: a file, URLs, another pool, another path.
//!
//! The server that named it is free at once, while the body is still on its way to the client: that
//! is the use of it. It acts on no field that the route does not allow, and lets none through to a
//! client. `exchange` sends through it on routes that have it.

mod fields;
mod files;
mod remembered;
mod rerouted;
mod urls;

pub(crate) use self::fields::CAPABILITIES;
use self::fields::{RememberUrls, ReproxyOrder, ReproxyOrders};
use self::files::ReproxyFolder;
use self::remembered::{RememberedEntry, RememberedUrls};
pub(crate) use self::rerouted::{ReroutedPath, stand_over};
use self::urls::NamedUrls;
use crate::allowed_targets::{AllowedTargets, NotAllowed};
use crate::context::RequestContext;
use crate::pages;
use crate::sending::{NoAnswer, ServedClient, send};
use crate::settings::{HostSent, ReproxySettings};
use crate::uploads::ReplayBody;
use balancer::ServerPool;
use file_access::private_files::PrivateFiles;
use http::header::{
    CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderMap, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH,
    LAST_MODIFIED, TRAILER, TRANSFER_ENCODING,
};
use http::{Method, Request, Response, StatusCode, Uri, Version, response};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use http_engine::conditional::{
    ETag, IfRange, Precondition, Validators, if_range, parse_date, precondition,
};
use http_engine::html::PageReader;
use http_engine::{Body, interim};
use origins::SendError;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use vocab::{Complaint, Now};

/// Pools that one request is handed to, at most, the first included.
const POOLS_MAX: u32 = 4;
/// Bytes that are read of a body that no client gets, so that its connection can be used again.
const DRAIN_BYTES_MAX: usize = 64 << 10;
const DRAIN_TIME_MAX: Duration = Duration::from_secs(2);

/// Holds what servers of one route may name.
#[derive(Debug)]
pub(crate) struct ReproxyRules {
    files: Option<ReproxyFolder>,
    urls: Option<AllowedTargets>,
    services: Services,
    reroute: Reroute,
    remembered: RememberedUrls,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Services {
    Named,
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reroute {
    Followed,
    Never,
}

/// Holds what of a request is needed after it was sent.
struct OriginalRequest {
    method: Method,
    uri: Uri,
    version: Version,
    headers: HeaderMap,
    host: HostSent,
    body: RepeatBody,
}

/// Tells whether a request's body can be sent once more.
enum RepeatBody {
    Empty,
    Replay(ReplayBody),
    Never,
}

/// Tells what the request's conditions leave to be sent.
enum ConditionsLeft {
    /// Nothing but this.
    Answer(StatusCode),
    Full,
    /// The ranges that it asks for, if any.
    Ranges,
}

impl ReproxyRules {
    /// Of settings that were checked; relative folders start from `base`.
    pub(crate) fn new(
        settings: &ReproxySettings,
        base: &Path,
        private: &Arc<PrivateFiles>,
    ) -> Result<Self, Complaint> {
        let files = settings.files.as_ref().map(|files| {
            ReproxyFolder::new(base.join(files), private).map_err(|why| {
                Complaint::new("reproxy.files", format!("{files}: {why}")).remedy(
                    "name a folder that this process may read, with nothing private above it",
                )
            })
        });
        let mut urls = AllowedTargets::default();
        for (index, text) in settings.urls.iter().enumerate() {
            let wrong = |why: NotAllowed| {
                Complaint::new(format!("reproxy.urls.{index}"), format!("{text:?}: {why}"))
            };
            urls.add(text).map_err(wrong)?;
        }
        Ok(Self {
            files: files.transpose()?,
            urls: (!settings.urls.is_empty()).then_some(urls),
            services: if settings.services { Services::Named } else { Services::Never },
            reroute: if settings.reroute { Reroute::Followed } else { Reroute::Never },
            remembered: RememberedUrls::new(settings.remembered),
        })
    }

    /// True if its servers may lead to another path.
    pub(crate) fn reroutes(&self) -> bool {
        self.reroute == Reroute::Followed
    }

    /// Returns what is remembered for a request, fetched.
    async fn lookup(
        &self,
        context: &RequestContext<'_>,
        asked: &OriginalRequest,
    ) -> Option<Response<Body>> {
        let urls = self.urls.as_ref().filter(|_| asked.reads())?;
        let entry = self.remembered.get(context.url, context.now)?;
        let (origins, head) = (&context.forwarding.origins, entry.head());
        let answer = urls::answer(origins, urls, asked, head, &entry.named, context.now).await;
        if answer.is_none() {
            // The server may know better by now.
            self.remembered.forget(context.url);
        }
        answer
    }

    /// Returns what the first good of these URLs gives.
    async fn fetch(
        &self,
        context: &RequestContext<'_>,
        urls: &AllowedTargets,
        asked: &OriginalRequest,
        head: response::Parts,
        named: NamedUrls,
        remember: Option<RememberUrls>,
    ) -> Option<Response<Body>> {
        let is_lasting = asked.reads() && head.status == StatusCode::OK;
        let entry = remember.filter(|_| is_lasting).map(|remember| {
            RememberedEntry::new(named.clone(), &head.headers, &remember, context.now)
        });
        let origins = &context.forwarding.origins;
        let answer = urls::answer(origins, urls, asked, head, &named, context.now).await?;
        if let Some(entry) = entry {
            self.remembered.keep(context.url, entry);
        }
        Some(answer)
    }

    /// Sends a request to a pool, and gives what is to be sent to the client: the server's answer,
    /// or what it names. An answer that leads to another path is for `reroute`.
    pub(crate) async fn exchange(
        &self,
        context: &RequestContext<'_>,
        pool: &Arc<ServerPool>,
        client: ServedClient,
        mut request: Box<Request<Body>>,
    ) -> Result<Response<Body>, NoAnswer> {
        let (forwarding, now, mut pool) = (context.forwarding, context.now, pool);
        request.headers_mut().insert(CAPABILITIES, HeaderValue::from_static("reproxy-file"));
        let asked = OriginalRequest::of(&request);
        if let Some(answer) = self.lookup(context, &asked).await {
            return Ok(answer);
        }
        for _ in 0..POOLS_MAX {
            let sending = pin!(send(&forwarding.origins, pool, request, client, now));
            let response = interim::with_handler(sending, forward_interim).await?;
            let (mut head, body) = response.into_parts();
            let ReproxyOrders { order, expected, remember } =
                fields::take_orders(&mut head.headers);
            if !asked.method.is_safe() && head.status.is_success() {
                self.remembered.forget(context.url);
            }
            let is_final =
                !head.status.is_informational() && head.status != StatusCode::NOT_MODIFIED;
            let Some(order) = order.filter(|_| is_final) else {
                return Ok(Response::from_parts(head, body));
            };
            release(body);
            let field = order.field();
            let forbidden = || SendError::BadResponse(format!("{field} is of no use here"));
            match order {
                ReproxyOrder::File(path) => {
                    let folder = self.files.as_ref().ok_or_else(forbidden)?;
                    return Ok(folder.answer(&asked, head, &path, expected, now));
                }
                ReproxyOrder::Urls(targets) => {
                    let urls = self.urls.as_ref().ok_or_else(forbidden)?;
                    let named = NamedUrls { targets, expected };
                    let answer = self.fetch(context, urls, &asked, head, named, remember).await;
                    let nothing = || asked.reader().render_for(pages::reproxy_missing());
                    return Ok(answer.unwrap_or_else(nothing));
                }
                ReproxyOrder::Service(name) if self.services == Services::Named => {
                    pool = forwarding.pools.get(&name).ok_or_else(|| no_pool(&name))?;
                    request = asked.resend().ok_or_else(read_already)?;
                }
                ReproxyOrder::Path(path) if self.reroutes() => return Ok(rerouted(head, path)),
                ReproxyOrder::Service(_) | ReproxyOrder::Path(_) | ReproxyOrder::Invalid(_) => {
                    return Err(forbidden().into());
                }
            }
        }
        let why = "servers hand the request round among themselves";
        Err(SendError::BadResponse(why.into()).into())
    }
}

/// An order counts in an answer alone, but what it says is of inner names wherever it stands.
fn forward_interim(mut early: Response<()>) {
    drop(fields::take_orders(early.headers_mut()));
    interim::send(early);
}

fn no_pool(name: &str) -> SendError {
    SendError::BadResponse(format!("it hands the request to {name:?}, and no pool is called so"))
}

fn read_already() -> SendError {
    SendError::BadResponse("it hands on a request whose body it has read".into())
}

fn rerouted(mut head: response::Parts, path: String) -> Response<Body> {
    strip_body_fields(&mut head);
    let fields = rerouted::kept(&head.headers);
    head.extensions.insert(ReroutedPath { path, fields });
    Response::from_parts(head, Body::empty())
}

/// Reads what little may be left of a body, so that its server's connection serves the next
/// request.
fn release(body: Body) {
    if body.is_end_stream() {
        return;
    }
    let read = http_body_util::Limited::new(body, DRAIN_BYTES_MAX);
    tokio::task::spawn_local(async move {
        let _ = tokio::time::timeout(DRAIN_TIME_MAX, read.collect()).await;
    });
}

/// Makes the head of an answer without a body one that any body may follow.
fn strip_body_fields(head: &mut response::Parts) {
    if matches!(head.status, StatusCode::NO_CONTENT | StatusCode::PARTIAL_CONTENT) {
        head.status = StatusCode::OK;
    }
    for name in [CONTENT_LENGTH, CONTENT_RANGE, TRANSFER_ENCODING, TRAILER] {
        head.headers.remove(name);
    }
}

/// Judges the request's conditions by what the head says of the body to come.
fn check_conditions(asked: &OriginalRequest, head: &response::Parts, now: Now) -> ConditionsLeft {
    if head.status != StatusCode::OK || !asked.reads() {
        return ConditionsLeft::Full;
    }
    if repeats_word(asked, head) {
        return ConditionsLeft::Answer(StatusCode::NOT_MODIFIED);
    }
    let text = |name| head.headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let current = Validators {
        etag: text(ETAG).and_then(ETag::parse),
        modified_unix_secs: text(LAST_MODIFIED).and_then(parse_date),
    };
    if current.etag.is_some() || current.modified_unix_secs.is_some() {
        match precondition(&asked.method, &asked.headers, &current) {
            Precondition::NotModified => return ConditionsLeft::Answer(StatusCode::NOT_MODIFIED),
            Precondition::Failed => return ConditionsLeft::Answer(StatusCode::PRECONDITION_FAILED),
            Precondition::Met => {}
        }
    }
    match if_range(&asked.headers, &current, now.unix_secs()) {
        IfRange::Satisfied => ConditionsLeft::Ranges,
        IfRange::Ignore => ConditionsLeft::Full,
    }
}

/// True if a client gives back, letter for letter, a `Last-Modified` that is no date. RFC 9110
/// §13.1.3 has such a field ignored, for there is no date to compare; but this is the server's own
/// word for what the client has, as Perlbal takes it, and spares sending the same bytes again.
fn repeats_word(asked: &OriginalRequest, head: &response::Parts) -> bool {
    let (Some(given), Some(said)) =
        (asked.headers.get(IF_MODIFIED_SINCE), head.headers.get(LAST_MODIFIED))
    else {
        return false;
    };
    let is_date = said.to_str().is_ok_and(|text| parse_date(text).is_some());
    given == said && !is_date && !asked.headers.contains_key(IF_NONE_MATCH)
}

impl OriginalRequest {
    fn of(request: &Request<Body>) -> Self {
        let body = match request.extensions().get::<ReplayBody>() {
            Some(replay) => RepeatBody::Replay(replay.clone()),
            None if request.body().is_end_stream() => RepeatBody::Empty,
            None => RepeatBody::Never,
        };
        Self {
            method: request.method().clone(),
            uri: request.uri().clone(),
            version: request.version(),
            headers: request.headers().clone(),
            host: request.extensions().get().copied().unwrap_or_default(),
            body,
        }
    }

    /// Returns who gets what is ours to say.
    fn reader(&self) -> PageReader {
        PageReader::of(&self.headers)
    }

    /// True if it only asks for something.
    fn reads(&self) -> bool {
        self.method == Method::GET || self.method == Method::HEAD
    }

    /// The same request once more.
    fn resend(&self) -> Option<Box<Request<Body>>> {
        let mut request = Box::new(match &self.body {
            RepeatBody::Empty => Request::new(Body::empty()),
            RepeatBody::Replay(replay) => replay.request(),
            RepeatBody::Never => return None,
        });
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.uri.clone();
        *request.version_mut() = self.version;
        *request.headers_mut() = self.headers.clone();
        request.extensions_mut().insert(self.host);
        Some(request)
    }
}
