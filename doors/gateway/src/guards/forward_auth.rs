//! An authority that is asked about every request, and what it says of the user.
//!
//! It is asked by `GET` with the request's fields and no body. Its word counts alone: fields that
//! it may bring are taken from the client first, and where it does not answer, nobody is let in.
//! Called by `guards`.

use super::guard_answer::{AnswerAuthor, GuardAnswer};
use crate::context::RequestContext;
use crate::settings::{BadCopiedField, BadVerifyUrl, ForwardAuthSettings, check_copied};
use http::header::{
    CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderMap, HeaderName, IF_MATCH, IF_MODIFIED_SINCE,
    IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE, InvalidHeaderValue, RANGE,
};
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri, Version};
use http_engine::claims::MethodOverrides;
use http_engine::{Body, hop_by_hop, interim};
use origins::{AnyDestination, Origin, add_via};
use route_matching::ParsedRequest;
use std::fmt;
use std::pin::pin;
use std::time::Duration;

const METHOD: HeaderName = HeaderName::from_static("x-forwarded-method");
const URI: HeaderName = HeaderName::from_static("x-forwarded-uri");
/// Fields about the body, or about an answer that the client holds, which the authority does not
/// need.
const DROPPED: [HeaderName; 8] = [
    CONTENT_LENGTH,
    EXPECT,
    IF_MATCH,
    IF_MODIFIED_SINCE,
    IF_NONE_MATCH,
    IF_RANGE,
    IF_UNMODIFIED_SINCE,
    RANGE,
];

/// Holds whom to ask, and what to take from the answer.
pub(super) struct ForwardAuth {
    origin: Origin,
    host: HeaderValue,
    path: Uri,
    copied: Vec<HeaderName>,
    timeout: Duration,
}

/// Why an authority cannot be asked.
#[derive(Debug)]
pub(super) enum BadForwardAuth {
    /// The URL leads to none.
    Url(BadVerifyUrl),
    /// The host is no value of a field.
    Host(InvalidHeaderValue),
    /// A field of the answer may not go on.
    Copied(BadCopiedField),
}

impl ForwardAuth {
    pub(super) fn new(settings: &ForwardAuthSettings) -> Result<Self, BadForwardAuth> {
        let (origin, path) = settings.target().map_err(BadForwardAuth::Url)?;
        let host = HeaderValue::from_str(&origin.authority()).map_err(BadForwardAuth::Host)?;
        let names = settings.copy_headers.iter().map(|name| check_copied(name));
        let copied = names.collect::<Result<_, _>>().map_err(BadForwardAuth::Copied)?;
        Ok(Self { origin, host, path, copied, timeout: settings.timeout.0.0 })
    }

    /// Asks, and puts what it says of the user into `headers`.
    pub(super) async fn admit(
        &self,
        context: &RequestContext<'_>,
        parsed: &ParsedRequest,
        method: &Method,
        headers: &mut HeaderMap,
    ) -> Result<(), Box<GuardAnswer>> {
        if self.would_be_dropped(headers) {
            let text = "Connection names a field that is not the client's.\n";
            return Err(Box::new(GuardAnswer::refused(StatusCode::BAD_REQUEST, text)));
        }
        for name in &self.copied {
            headers.remove(name);
        }
        let failed = || Box::new(GuardAnswer::busy("Nobody can be let in at the moment.\n"));
        let question = self.question(context, parsed, method, headers).ok_or_else(failed)?;
        let sent =
            context.forwarding.origins.send(&self.origin, Box::new(question), &AnyDestination);
        let sent = pin!(tokio::time::timeout(self.timeout, sent));
        // Its interim answers are to us.
        let Ok(Ok(answer)) = interim::with_handler(sent, drop).await else {
            return Err(failed());
        };
        let status = answer.status();
        if status.is_success() {
            for name in &self.copied {
                for value in answer.headers().get_all(name) {
                    headers.append(name.clone(), value.clone());
                }
            }
            return Ok(());
        }
        let told = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        if told || status.is_redirection() && status != StatusCode::NOT_MODIFIED {
            let response = passed(answer);
            return Err(Box::new(GuardAnswer { response, author: AnswerAuthor::OfAuthority }));
        }
        Err(failed())
    }

    /// True if the client asks for a field of ours to be dropped on the way to the server
    /// (RFC 9110 §7.6.1), which would take it for nobody's.
    fn would_be_dropped(&self, headers: &HeaderMap) -> bool {
        let lines = headers.get_all(CONNECTION).iter();
        let mut options = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
        options.any(|option| {
            let option = option.trim_ascii();
            self.copied.iter().any(|name| option.eq_ignore_ascii_case(name.as_str().as_bytes()))
        })
    }

    /// None where the request goes round in circles.
    fn question(
        &self,
        context: &RequestContext<'_>,
        parsed: &ParsedRequest,
        method: &Method,
        headers: &HeaderMap,
    ) -> Option<Request<Body>> {
        let mut fields = headers.clone();
        hop_by_hop::strip(&mut fields);
        for name in &DROPPED {
            fields.remove(name);
        }
        let (telling, caller) = (context.forwarding.telling(), context.caller);
        let overrides = MethodOverrides::None;
        telling.strip_untrusted(&mut fields, caller.peer(), &[], &Method::GET, overrides);
        telling.apply(&mut fields, caller);
        let method = HeaderValue::from_str(method.as_str()).ok()?;
        fields.insert(METHOD, method);
        fields.insert(URI, HeaderValue::from_str(&parsed.path).ok()?);
        fields.insert(HOST, self.host.clone());
        add_via(&mut fields, Version::HTTP_11).ok()?;
        let mut question = Request::new(Body::empty());
        *question.method_mut() = Method::GET;
        *question.uri_mut() = self.path.clone();
        *question.headers_mut() = fields;
        Some(question)
    }
}

impl fmt::Display for BadForwardAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(why) => why.fmt(f),
            Self::Host(why) => why.fmt(f),
            Self::Copied(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for BadForwardAuth {}

fn passed(mut answer: Response<Body>) -> Response<Body> {
    *answer.version_mut() = Version::HTTP_11;
    hop_by_hop::strip(answer.headers_mut());
    answer
}
