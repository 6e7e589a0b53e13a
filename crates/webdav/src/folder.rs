//! A folder that is written over HTTP, and one request at it.

use crate::asked::{DavAsked, DavPurpose};
use crate::depth;
use crate::digests::ExpectedDigests;
use crate::fault::FaultNote;
use crate::filesystem::WrittenFolder;
use crate::limits::{DavLimits, DavMethods};
use crate::locks::{BoundedLocks, LockClock};
use crate::quota::FolderQuota;
use crate::rules::PathRules;
use crate::strict_fields::{self, BadField};
use bytes::{Bytes, BytesMut};
use dav_server::davpath::DavPath;
use dav_server::{DavHandler, DavMethod};
use file_access::beneath::FolderRoot;
use futures_util::FutureExt as _;
use http::header::{
    ALLOW, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, HeaderMap,
    HeaderValue,
};
use http::{Request, Response, StatusCode, request};
use http_body::Body as _;
use http_engine::Body;
use rustix::fs::Stat;
use std::fmt;
use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use vocab::Now;

/// Bytes of a body in XML.
const XML_BYTES_MAX: usize = 64 << 10;
/// Answer to a look at a folder and all that is below it (RFC 4918 §9.1.1).
const FINITE_DEPTH: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n\
    <D:error xmlns:D=\"DAV:\"><D:propfind-finite-depth/></D:error>\n";

/// A folder that is written over HTTP.
pub struct DavFolder {
    root: Arc<FolderRoot>,
    prefix: Box<str>,
    handler: DavHandler<DavAsked>,
    methods: DavMethods,
    clock: LockClock,
}

/// One request, once it is let in.
pub struct DavRequest {
    /// Head, whose path is in normal form and encoded; `Destination` is such a path
    /// too.
    pub head: request::Parts,
    /// Body.
    pub body: Body,
    /// Client: a name that was proven, else an address.
    pub client: String,
    /// Rules about what it may touch.
    pub rules: Arc<dyn PathRules>,
    /// Time when it came.
    pub now: Now,
}

impl DavFolder {
    /// The folder `root`, which stands at the path `prefix`, from slash to slash and decoded.
    /// `tag` gives a file's entity tag, without quotes, as the door gives it to readers.
    pub fn new(
        root: Arc<FolderRoot>,
        prefix: &str,
        methods: DavMethods,
        limits: DavLimits,
        tag: fn(&Stat) -> String,
    ) -> Self {
        let quota = limits.quota.map(|max| Arc::new(FolderQuota::new(max)));
        let mut config = DavHandler::builder()
            .filesystem(Box::new(WrittenFolder { root: Arc::clone(&root), limits, quota, tag }))
            .methods(methods.set())
            .strip_prefix(prefix.strip_suffix('/').unwrap_or(prefix));
        let clock = LockClock::default();
        if methods == DavMethods::All {
            config = config.locksystem(Box::new(BoundedLocks::new(&clock)));
        }
        Self { root, prefix: prefix.into(), handler: config.build_handler(), methods, clock }
    }

    /// Which ways of writing it has.
    pub fn methods(&self) -> DavMethods {
        self.methods
    }

    /// Answers one request. Within a tokio run time only.
    pub async fn answer(&self, request: DavRequest) -> Response<Body> {
        let DavRequest { mut head, body, client, rules, now } = request;
        // Suites may ask for what clients may not, by this field.
        head.headers.remove("x-litmus");
        head.headers.remove("x-expected-entity-length");
        let Ok(method) = DavMethod::try_from(&head.method) else {
            return plain(StatusCode::NOT_IMPLEMENTED, "There is no such method here.\n");
        };
        if method == DavMethod::Options && self.methods != DavMethods::All {
            return self.options();
        }
        let digests = match check_head(method, &head.headers) {
            Ok(digests) => digests,
            Err(refused) => return *refused,
        };
        let Ok(replaced) = self.check_paths(method, &head, now) else {
            let text = "The folder itself stays, and none is moved or copied into itself.\n";
            return plain(StatusCode::FORBIDDEN, text);
        };
        let purpose = match method {
            DavMethod::Put | DavMethod::Patch => DavPurpose::Upload,
            DavMethod::Lock => DavPurpose::Lock,
            DavMethod::Copy => DavPurpose::Copy,
            DavMethod::Delete if self.methods != DavMethods::All => DavPurpose::RemoveFile,
            _ => DavPurpose::Other,
        };
        let body = match small_body(purpose, method, body).await {
            Ok(body) => body,
            Err(status) => return plain(status, "This body is not understood.\n"),
        };
        self.clock.set(now);
        let fault = FaultNote::default();
        let asked = DavAsked { rules, purpose, replaced, digests, fault: fault.clone(), now };
        let request = Request::from_parts(head, body);
        let answered = AssertUnwindSafe(self.handler.handle_guarded(request, client, asked));
        let Ok(mut response) = answered.catch_unwind().await else {
            return plain(StatusCode::INTERNAL_SERVER_ERROR, "This request failed.\n");
        };
        // Whether a connection goes on is for the engine to say.
        response.headers_mut().remove(CONNECTION);
        let status = response.status();
        match fault.read() {
            Some(fault) if status.is_server_error() || status.is_client_error() => {
                plain(fault.status(), fault.text())
            }
            Some(_) | None => response.map(Body::boxed),
        }
    }

    fn options(&self) -> Response<Body> {
        let mut response = Response::new(Body::empty());
        let allow = HeaderValue::from_static(self.methods.allow());
        response.headers_mut().insert(ALLOW, allow);
        response
    }

    /// Refuses a change of the folder itself, and one of two folders that lie in one another:
    /// dav-server removes what is replaced before it moves. Returns the path of a file that another
    /// one replaces.
    fn check_paths(
        &self,
        method: DavMethod,
        head: &request::Parts,
        now: Now,
    ) -> Result<Option<PathBuf>, ()> {
        let below = |path: &str| {
            let path = DavPath::new(path).ok()?;
            let path = path.as_rel_ospath().to_owned();
            path.strip_prefix(self.prefix.trim_matches('/')).ok().map(PathBuf::from)
        };
        let from = below(head.uri.path()).ok_or(())?;
        let is_root = from == Path::new("");
        if !matches!(method, DavMethod::Copy | DavMethod::Move) {
            return if is_root && method == DavMethod::Delete { Err(()) } else { Ok(None) };
        }
        let to = head.headers.get("destination").and_then(|it| it.to_str().ok());
        // Without one it is a bad request, as dav-server says.
        let Some(to) = to else { return Ok(None) };
        let to = below(to).ok_or(())?;
        if from.starts_with(&to) || to.starts_with(&from) {
            return Err(());
        }
        let is_file = |path: &Path| {
            let place = self.root.writable_place(path, now);
            place.is_ok_and(|place| place.stat().is_ok() && !place.is_folder())
        };
        Ok((is_file(&from) && is_file(&to)).then_some(to))
    }
}

/// Refuses what dav-server would take, and reads what the request says of its body.
fn check_head(
    method: DavMethod,
    headers: &HeaderMap,
) -> Result<ExpectedDigests, Box<Response<Body>>> {
    let refuse = |status, text| Err(Box::new(plain(status, text)));
    if let Err(BadField(field)) = strict_fields::check(headers) {
        return Err(Box::new(plain(
            StatusCode::BAD_REQUEST,
            format!("{field} is not of its form.\n"),
        )));
    }
    let depth = headers.get("depth").map(HeaderValue::as_bytes);
    match method {
        DavMethod::PropFind if !matches!(depth, Some(b"0" | b"1")) => {
            let mut response = plain(StatusCode::FORBIDDEN, FINITE_DEPTH);
            let xml = HeaderValue::from_static("application/xml; charset=utf-8");
            response.headers_mut().insert(CONTENT_TYPE, xml);
            Err(Box::new(response))
        }
        DavMethod::Put | DavMethod::Patch => {
            let coding = headers.get(CONTENT_ENCODING);
            if coding.is_some_and(|it| !it.as_bytes().eq_ignore_ascii_case(b"identity")) {
                let text = "Files are kept as they come: without a content coding.\n";
                return refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, text);
            }
            if headers.contains_key(CONTENT_RANGE) && !headers.contains_key(CONTENT_LENGTH) {
                let text = "A range is written with a Content-Length.\n";
                return refuse(StatusCode::LENGTH_REQUIRED, text);
            }
            ExpectedDigests::of(headers).or_else(|_| {
                refuse(StatusCode::BAD_REQUEST, "A digest of the body cannot be read.\n")
            })
        }
        _ => Ok(ExpectedDigests::default()),
    }
}

/// All of a body that is XML if it is anything; a file's is left as it is.
async fn small_body(
    purpose: DavPurpose,
    method: DavMethod,
    mut body: Body,
) -> Result<Body, StatusCode> {
    if purpose == DavPurpose::Upload {
        return Ok(body);
    }
    let mut all = BytesMut::new();
    while let Some(frame) = poll_fn(|task| Pin::new(&mut body).poll_frame(task)).await {
        let frame = frame.map_err(|_| StatusCode::BAD_REQUEST)?;
        let Ok(piece) = frame.into_data() else { continue };
        if all.len() + piece.len() > XML_BYTES_MAX {
            return Err(StatusCode::PAYLOAD_TOO_LARGE);
        }
        all.extend_from_slice(&piece);
    }
    let is_xml = matches!(method, DavMethod::PropFind | DavMethod::PropPatch | DavMethod::Lock);
    if is_xml && !all.is_empty() && depth::check(&all).is_err() {
        return Err(StatusCode::BAD_REQUEST);
    }
    Ok(Body::full(all.freeze()))
}

fn plain(status: StatusCode, text: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Body::full(text));
    *response.status_mut() = status;
    let media = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, media);
    response
}

impl fmt::Debug for DavFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DavFolder").field("methods", &self.methods).finish_non_exhaustive()
    }
}
