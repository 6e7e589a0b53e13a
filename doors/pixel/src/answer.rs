//! Null answers made ready: status, fields and bytes of each, built once.
//!
//! What depends on the request is added to a copy: the origin that may read it, the range, the
//! callback. It chooses nothing (`null` does) and writes no page for people (`page` does). Called by
//! `request`.

use crate::null::Null;
use crate::objects;
use bytes::Bytes;
use http::header::{
    ACCEPT_RANGES, ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS,
    ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_MAX_AGE,
    ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, ALLOW, ALT_SVC, CACHE_CONTROL,
    CONTENT_LENGTH, CONTENT_RANGE, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap, HeaderName,
    HeaderValue, ORIGIN, VARY, X_CONTENT_TYPE_OPTIONS,
};
use http::{Method, Response, StatusCode};
use http_engine::Body;
use http_engine::range::{self, Selection};
use std::sync::LazyLock;

const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
const EMBEDDER_POLICY: HeaderName = HeaderName::from_static("cross-origin-embedder-policy");
const TIMING: HeaderName = HeaderName::from_static("timing-allow-origin");
const ASKS_PRIVATE: HeaderName = HeaderName::from_static("access-control-request-private-network");
const ALLOWS_PRIVATE: HeaderName = HeaderName::from_static("access-control-allow-private-network");

const METHODS: HeaderValue =
    HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
pub(crate) const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
/// Long enough for one visit, short enough that nobody notices after a name is let through.
const BRIEFLY: HeaderValue = HeaderValue::from_static("max-age=60");
/// Two hours: what Chromium caps a preflight's age at.
const PREFLIGHT_AGE: HeaderValue = HeaderValue::from_static("7200");
const TRUE: HeaderValue = HeaderValue::from_static("true");

/// Whether caches may keep an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// For a minute.
    Briefly,
    /// Not at all.
    No,
}

/// One answer, ready to be copied.
struct Ready {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

/// The type of an answer, and whether browsers may be told to take it at its word.
enum Type {
    Exact(&'static str),
    /// Asked for by who knows what: a script tag must not be refused for it.
    Loose(&'static str),
    None,
}

struct AllReady {
    frame: Ready,
    script: Ready,
    style: Ready,
    bitmap: Ready,
    drawing: Ready,
    font: Ready,
    sound: Ready,
    captions: Ready,
    playlist: Ready,
    json: Ready,
    vast: Ready,
    vmap: Ready,
    text: Ready,
    nothing: Ready,
    no_socket: Ready,
    no_method: Ready,
}

static READY: LazyLock<AllReady> = LazyLock::new(|| {
    let ok = |media: Type, body| Ready::new(StatusCode::OK, &media, body);
    let exact = |media, body| ok(Type::Exact(media), body);
    let mut frame = exact("text/html; charset=utf-8", objects::FRAME);
    frame.set(CONTENT_SECURITY_POLICY, "default-src 'none'");
    // A page that requires this of its frames (COEP) would otherwise show an error in it.
    frame.set(EMBEDDER_POLICY, "require-corp");
    let mut sound = exact("audio/wav", &objects::SOUND);
    sound.set(ACCEPT_RANGES, "bytes");
    let mut nothing = Ready::new(StatusCode::NO_CONTENT, &Type::None, b"");
    nothing.headers.insert(CACHE_CONTROL, NO_STORE);
    let mut no_socket = Ready::new(StatusCode::FORBIDDEN, &Type::None, b"");
    no_socket.headers.insert(CACHE_CONTROL, NO_STORE);
    let mut no_method = Ready::new(StatusCode::METHOD_NOT_ALLOWED, &Type::None, b"");
    no_method.headers.insert(ALLOW, METHODS);
    AllReady {
        frame,
        script: exact("text/javascript; charset=utf-8", b""),
        style: exact("text/css; charset=utf-8", b""),
        bitmap: exact("image/gif", objects::BITMAP),
        drawing: exact("image/svg+xml", objects::DRAWING),
        font: Ready::new(StatusCode::NOT_FOUND, &Type::None, b""),
        sound,
        captions: exact("text/vtt; charset=utf-8", objects::CAPTIONS),
        playlist: exact("application/vnd.apple.mpegurl", objects::PLAYLIST),
        json: exact("application/json", b"{}"),
        vast: exact("application/xml; charset=utf-8", objects::VAST),
        vmap: exact("application/xml; charset=utf-8", objects::VMAP),
        text: ok(Type::Loose("text/plain; charset=utf-8"), b""),
        nothing,
        no_socket,
        no_method,
    }
});

impl Ready {
    fn new(status: StatusCode, media: &Type, body: &'static [u8]) -> Self {
        // Room for what `copy` adds, so that a copy never grows.
        let mut headers = HeaderMap::with_capacity(16);
        headers.insert(VARY, HeaderValue::from_static("Origin, Accept, Sec-Fetch-Dest"));
        // Pages with COEP embed only what says that it may be embedded.
        headers.insert(RESOURCE_POLICY, HeaderValue::from_static("cross-origin"));
        headers.insert(TIMING, HeaderValue::from_static("*"));
        // A blocked host may have promised HTTP/3 before: have the browser forget it.
        headers.insert(ALT_SVC, HeaderValue::from_static("clear"));
        headers.insert(CACHE_CONTROL, BRIEFLY);
        match media {
            Type::Exact(media) => {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static(media));
                headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
            }
            Type::Loose(media) => {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static(media));
            }
            Type::None => {}
        }
        // RFC 9110 §8.6: 204 has no length.
        if status != StatusCode::NO_CONTENT {
            headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
        }
        Self { status, headers, body: Bytes::from_static(body) }
    }

    fn set(&mut self, field: HeaderName, value: &'static str) {
        self.headers.insert(field, HeaderValue::from_static(value));
    }

    fn copy(&self) -> Response<Body> {
        let mut answer = Response::new(Body::full(self.body.clone()));
        *answer.status_mut() = self.status;
        *answer.headers_mut() = self.headers.clone();
        answer
    }
}

/// The answer to a request of this method with these fields.
pub(crate) fn render(
    null: &Null<'_>,
    keep: Keep,
    method: &Method,
    headers: &HeaderMap,
) -> Response<Body> {
    let ready = &*READY;
    let mut answer = match null {
        Null::Frame => ready.frame.copy(),
        Null::Script => ready.script.copy(),
        Null::Callback(name) => call(name, &ready.script),
        Null::Style => ready.style.copy(),
        Null::Bitmap => ready.bitmap.copy(),
        Null::Drawing => ready.drawing.copy(),
        Null::Font => ready.font.copy(),
        Null::Sound => part(&ready.sound, method, headers),
        Null::Captions => ready.captions.copy(),
        Null::Playlist => ready.playlist.copy(),
        Null::Json => ready.json.copy(),
        Null::Vast => ready.vast.copy(),
        Null::Vmap => ready.vmap.copy(),
        Null::Text => ready.text.copy(),
        Null::Nothing => ready.nothing.copy(),
        Null::NoSocket => ready.no_socket.copy(),
        Null::Preflight => preflight(&ready.nothing, headers),
        Null::NoMethod => ready.no_method.copy(),
    };
    let fields = answer.headers_mut();
    if let Some(origin) = headers.get(ORIGIN) {
        // `null` is echoed like any origin: it is what sandboxed frames have.
        fields.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        fields.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, TRUE);
    }
    // A fetch that was posted, or an answer that stands for a name not blocked by itself.
    if keep == Keep::No || (*method != Method::GET && *method != Method::HEAD) {
        fields.insert(CACHE_CONTROL, NO_STORE);
    }
    answer
}

/// Calls a JSONP callback. One that does not exist, or that throws, is no error on the page; the
/// comment in front keeps the body from being read as anything but a script.
fn call(name: &str, script: &Ready) -> Response<Body> {
    let body = format!("/**/try{{{name}({{}})}}catch(e){{}}");
    let length = body.len();
    let mut answer = script.copy();
    answer.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(length));
    *answer.body_mut() = Body::from(body);
    answer
}

/// Media players insist on ranges.
fn part(whole: &Ready, method: &Method, headers: &HeaderMap) -> Response<Body> {
    let total = whole.body.len() as u64;
    let mut answer = whole.copy();
    match range::select(method, headers, total) {
        Selection::Whole => {}
        Selection::Part(part) => {
            let bytes = whole.body.slice(part.first as usize..=part.last as usize);
            *answer.status_mut() = StatusCode::PARTIAL_CONTENT;
            answer.headers_mut().insert(CONTENT_RANGE, part.content_range());
            answer.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(bytes.len()));
            *answer.body_mut() = Body::full(bytes);
        }
        Selection::Unsatisfiable => {
            *answer.status_mut() = StatusCode::RANGE_NOT_SATISFIABLE;
            answer.headers_mut().insert(CONTENT_RANGE, range::unsatisfied(total));
            answer.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(0));
            *answer.body_mut() = Body::empty();
        }
    }
    answer
}

/// Allows what is asked for (Fetch §3.2): refusing would only have the page try again.
fn preflight(nothing: &Ready, headers: &HeaderMap) -> Response<Body> {
    let mut answer = nothing.copy();
    let fields = answer.headers_mut();
    let Some(method) = headers.get(ACCESS_CONTROL_REQUEST_METHOD) else {
        fields.insert(ALLOW, METHODS);
        return answer;
    };
    fields.insert(ACCESS_CONTROL_ALLOW_METHODS, method.clone());
    if let Some(names) = headers.get(ACCESS_CONTROL_REQUEST_HEADERS) {
        fields.insert(ACCESS_CONTROL_ALLOW_HEADERS, names.clone());
    }
    if headers.get(ASKS_PRIVATE).is_some_and(|asked| asked == "true") {
        fields.insert(ALLOWS_PRIVATE, TRUE);
    }
    fields.insert(ACCESS_CONTROL_MAX_AGE, PREFLIGHT_AGE);
    answer
}
