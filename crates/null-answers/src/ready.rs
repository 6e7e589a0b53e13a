//! The table of null answers: each built once, as fields for hyper and as a head for the wire.
//!
//! It knows no request. Nothing here may outlast a block: no HSTS, no cookie, no NEL, a minute in
//! caches. Read by `answer`.

use crate::blank::BlankBody;
use crate::media;
use crate::objects;
use crate::stubs::Stub;
use bytes::Bytes;
use http::StatusCode;
use http::header::{
    ACCEPT_RANGES, ALLOW, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    HeaderMap, HeaderName, HeaderValue, VARY, X_CONTENT_TYPE_OPTIONS,
};
use std::sync::LazyLock;

const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
const EMBEDDER_POLICY: HeaderName = HeaderName::from_static("cross-origin-embedder-policy");
const TIMING: HeaderName = HeaderName::from_static("timing-allow-origin");

pub(crate) const METHODS: HeaderValue =
    HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
/// What `Alt-Svc` says over TLS.
pub const FORGET_HTTP3: HeaderValue = HeaderValue::from_static("clear");
/// Long enough for one visit, short enough that nobody notices after a name is let through.
const ONE_MINUTE: &str = "max-age=60";
const NEVER: &str = "no-store";

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const XML: &str = "application/xml; charset=utf-8";

/// Tells what carries HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpCarrier {
    /// Nothing but TCP.
    Tcp,
    /// TLS.
    Tls,
}

/// One answer, ready to be copied.
pub(crate) struct ReadyAnswer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// The length as a line of a head; empty for 204.
    pub(crate) length_field: Box<[u8]>,
    /// Status line and fields, less length and date.
    plain_head: Box<[u8]>,
    /// The same over TLS.
    secure_head: Box<[u8]>,
}

/// The type of an answer, and whether browsers may be told to take it at its word.
enum AnswerType {
    Exact(&'static str),
    /// Asked for by who knows what: a script tag must not be refused for it.
    Lenient(&'static str),
    None,
}

static BLANKS: LazyLock<Vec<ReadyAnswer>> = LazyLock::new(|| BlankBody::ALL.map(make).into());
static READY_STUBS: LazyLock<Vec<ReadyAnswer>> = LazyLock::new(|| {
    let script = |stub: &Stub| ReadyAnswer::of(AnswerType::Exact(SCRIPT), stub.text().as_bytes());
    Stub::ALL.iter().map(script).collect()
});

/// An answer of fixed bytes.
pub(crate) fn blank(blank: BlankBody) -> &'static ReadyAnswer {
    &BLANKS[blank.index()]
}

/// A script that stands in for a well-known one.
pub(crate) fn stub(stub: Stub) -> &'static ReadyAnswer {
    &READY_STUBS[stub.index()]
}

fn make(blank: BlankBody) -> ReadyAnswer {
    let exact = |media, body| ReadyAnswer::of(AnswerType::Exact(media), body);
    let played = |media, body: Vec<u8>| {
        let body = Bytes::from(body);
        ReadyAnswer::new(
            StatusCode::OK,
            &AnswerType::Exact(media),
            &[(ACCEPT_RANGES, "bytes")],
            body,
        )
    };
    let bare =
        |status, fields: &[_]| ReadyAnswer::new(status, &AnswerType::None, fields, Bytes::new());
    match blank {
        BlankBody::Frame => ReadyAnswer::new(
            StatusCode::OK,
            &AnswerType::Exact(HTML),
            &[
                (CONTENT_SECURITY_POLICY, "default-src 'none'"),
                // A page that requires this of its frames (COEP) would show an error in it.
                (EMBEDDER_POLICY, "require-corp"),
            ],
            Bytes::from_static(objects::FRAME),
        ),
        BlankBody::ClickToLoad => ReadyAnswer::new(
            StatusCode::OK,
            &AnswerType::Exact(HTML),
            &[
                (CONTENT_SECURITY_POLICY, "default-src 'none'; style-src 'unsafe-inline'"),
                (EMBEDDER_POLICY, "require-corp"),
            ],
            Bytes::from_static(objects::CLICK_TO_LOAD),
        ),
        BlankBody::Script => exact(SCRIPT, b""),
        BlankBody::Worker => ReadyAnswer::new(
            StatusCode::OK,
            &AnswerType::Exact(SCRIPT),
            &[(CACHE_CONTROL, NEVER)],
            Bytes::from_static(objects::WORKER),
        ),
        BlankBody::Style => exact("text/css; charset=utf-8", b""),
        BlankBody::Bitmap => exact("image/gif", objects::BITMAP),
        BlankBody::Png => exact("image/png", objects::PNG),
        BlankBody::Png2x2 => exact("image/png", objects::PNG_2X2),
        BlankBody::Png3x2 => exact("image/png", objects::PNG_3X2),
        BlankBody::Png32x32 => exact("image/png", objects::PNG_32X32),
        BlankBody::Icon => exact("image/x-icon", objects::ICON),
        BlankBody::Favicon => exact("image/x-icon", objects::FAVICON),
        BlankBody::Svg => exact("image/svg+xml", objects::SVG),
        BlankBody::Font => exact("font/woff2", objects::FONT),
        BlankBody::Audio => played("audio/mpeg", media::silent_mp3()),
        BlankBody::Video => played("video/mp4", media::black_mp4()),
        BlankBody::Captions => exact("text/vtt; charset=utf-8", objects::CAPTIONS),
        BlankBody::Playlist => exact("application/vnd.apple.mpegurl", objects::PLAYLIST),
        BlankBody::Json => exact("application/json", b"{}"),
        BlankBody::Vast2 => exact(XML, objects::VAST[0]),
        BlankBody::Vast3 => exact(XML, objects::VAST[1]),
        BlankBody::Vast4 => exact(XML, objects::VAST[2]),
        BlankBody::Vmap => exact(XML, objects::VMAP),
        BlankBody::Text => ReadyAnswer::of(AnswerType::Lenient("text/plain; charset=utf-8"), b""),
        BlankBody::NoContent => bare(StatusCode::NO_CONTENT, &[(CACHE_CONTROL, NEVER)]),
        BlankBody::NoSocket => bare(StatusCode::FORBIDDEN, &[(CACHE_CONTROL, NEVER)]),
        BlankBody::NoMethod => {
            let mut none = bare(StatusCode::METHOD_NOT_ALLOWED, &[]);
            none.headers.insert(ALLOW, METHODS);
            none.write_heads();
            none
        }
    }
}

impl ReadyAnswer {
    #[allow(clippy::needless_pass_by_value, reason = "a type is written where it is used")]
    fn of(media: AnswerType, body: &'static [u8]) -> Self {
        Self::new(StatusCode::OK, &media, &[], Bytes::from_static(body))
    }

    fn new(
        status: StatusCode,
        media: &AnswerType,
        more: &[(HeaderName, &'static str)],
        body: Bytes,
    ) -> Self {
        // Room for what a copy gets, so that it never grows.
        let mut headers = HeaderMap::with_capacity(16);
        headers.insert(VARY, HeaderValue::from_static("Origin, Accept, Sec-Fetch-Dest"));
        // Pages with COEP embed only what says that it may be embedded.
        headers.insert(RESOURCE_POLICY, HeaderValue::from_static("cross-origin"));
        headers.insert(TIMING, HeaderValue::from_static("*"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static(ONE_MINUTE));
        match media {
            AnswerType::Exact(media) => {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static(media));
                headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
            }
            AnswerType::Lenient(media) => {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static(media));
            }
            AnswerType::None => {}
        }
        for (field, value) in more {
            headers.insert(field, HeaderValue::from_static(value));
        }
        // RFC 9110 §8.6: 204 has no length.
        let mut length_field = Vec::new();
        if status != StatusCode::NO_CONTENT {
            headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
            length_field = format!("content-length: {}\r\n", body.len()).into_bytes();
        }
        let mut ready = Self {
            status,
            headers,
            body,
            length_field: length_field.into(),
            plain_head: Box::default(),
            secure_head: Box::default(),
        };
        ready.write_heads();
        ready
    }

    fn write_heads(&mut self) {
        let (code, words) = (self.status.as_str(), self.status.canonical_reason().unwrap_or(""));
        let mut head = format!("HTTP/1.1 {code} {words}\r\n").into_bytes();
        for (field, value) in self.headers.iter().filter(|(field, _)| **field != CONTENT_LENGTH) {
            for piece in [field.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
                head.extend_from_slice(piece);
            }
        }
        self.plain_head = head.clone().into();
        head.extend_from_slice(b"alt-svc: clear\r\n");
        self.secure_head = head.into();
    }

    /// Status line and fields, less length and date.
    pub(crate) fn head(&self, carrier: HttpCarrier) -> &[u8] {
        match carrier {
            HttpCarrier::Tcp => &self.plain_head,
            HttpCarrier::Tls => &self.secure_head,
        }
    }
}
