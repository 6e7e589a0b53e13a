//! The answer that the client gets: pages in place of a server, fields that are ours.
//!
//! Called by `request`.

use crate::decide::RequestRules;
use crate::guards::AnswerAuthor;
use crate::outcome::{GatewayOutcome, GatewayRefusal};
use crate::pages;
use crate::upgraded::LeavingConnection;
use http::header::{CONNECTION, HeaderValue, UPGRADE};
use http::{Response, StatusCode, Version};
use http_engine::html::PageReader;
use http_engine::{Body, hop_by_hop};
use origins::{Blame, SendError, add_via};
use std::time::Duration;
use vocab::Source;

/// Returns what a server sent is passed on only if it is an answer to what was asked. What came
/// through the cache was looked at before it was stored.
pub(crate) fn review(outcome: GatewayOutcome) -> GatewayOutcome {
    match &outcome {
        GatewayOutcome::Fetched(response) => match answers(response) {
            Ok(()) => outcome,
            Err(why) => GatewayOutcome::Failed(why),
        },
        _ => outcome,
    }
}

/// Returns whether it is an answer to what was asked.
pub(crate) fn answers(response: &Response<Body>) -> Result<(), SendError> {
    match response.status() {
        StatusCode::SWITCHING_PROTOCOLS => {
            Err(SendError::BadResponse("it switched protocols unasked".into()))
        }
        _ => Ok(()),
    }
}

/// An answer ready to go out.
pub(crate) struct ShapedAnswer {
    pub(crate) response: Response<Body>,
    pub(crate) source: Source,
    pub(crate) switched: Option<LeavingConnection>,
}

impl ShapedAnswer {
    fn new(response: Response<Body>, source: Source) -> Self {
        Self { response, source, switched: None }
    }

    /// Words of ours, as whoever reads them likes them.
    fn own_page(words: Response<Body>, source: Source, reader: PageReader) -> Self {
        Self::new(reader.render_for(words), source)
    }
}

/// The answer for an outcome. `reader` is who gets what is ours to say.
pub(crate) fn shape(
    outcome: GatewayOutcome,
    reader: PageReader,
    rules: RequestRules<'_>,
    response_timeout: Duration,
) -> ShapedAnswer {
    match outcome {
        GatewayOutcome::Refused(refusal) => {
            ShapedAnswer::own_page(refused(&refusal), Source::Refused, reader)
        }
        GatewayOutcome::Blocked { verdict, host, block } => {
            let rule = rules.text(verdict, host.as_name());
            let page = match block {
                None => pages::blocked(rule.as_ref()),
                Some(block) => block.answer.respond(rule.as_ref(), response_timeout),
            };
            ShapedAnswer::own_page(page, Source::Policy, reader)
        }
        GatewayOutcome::Rejected(turned) => match turned.author {
            AnswerAuthor::Ours => ShapedAnswer::own_page(turned.response, Source::Refused, reader),
            AnswerAuthor::OfAuthority => ShapedAnswer::new(turned.response, Source::Refused),
        },
        GatewayOutcome::Nowhere => ShapedAnswer::own_page(pages::no_route(), Source::Local, reader),
        GatewayOutcome::Answered(response, source) => ShapedAnswer::new(response, source),
        GatewayOutcome::Fetched(response) => ShapedAnswer::new(sign(response), Source::Origin),
        GatewayOutcome::Cached(served) => {
            let source = served.source.recorded();
            if served.source == http_cache::AnswerSource::NotFetched {
                return ShapedAnswer::own_page(served.response, source, reader);
            }
            ShapedAnswer::new(sign(served.response), source)
        }
        GatewayOutcome::Switched(response, client) => {
            let protocol = response.headers().get(UPGRADE).cloned();
            let mut response = sign(response);
            // HTTP/2 has no such fields: its answer is a 200.
            if let Some(protocol) = protocol
                && response.status() == StatusCode::SWITCHING_PROTOCOLS
            {
                let upgrade = HeaderValue::from_static("upgrade");
                response.headers_mut().insert(CONNECTION, upgrade);
                response.headers_mut().insert(UPGRADE, protocol);
            }
            ShapedAnswer { response, source: Source::Tunnel, switched: Some(client) }
        }
        GatewayOutcome::ScriptFailed => {
            ShapedAnswer::own_page(pages::script_failed(), Source::Failed, reader)
        }
        GatewayOutcome::Loop => {
            ShapedAnswer::own_page(pages::loop_detected(), Source::Refused, reader)
        }
        GatewayOutcome::Unavailable(wait) => {
            ShapedAnswer::own_page(pages::unavailable(wait), Source::Failed, reader)
        }
        GatewayOutcome::Failed(why) => {
            let source = match why.blame() {
                Blame::Client => Source::Refused,
                Blame::Origin | Blame::Slow | Blame::Guard | Blame::Busy => Source::Failed,
            };
            ShapedAnswer::own_page(pages::error_page(&why), source, reader)
        }
    }
}

/// Page about a request that goes no further than being read.
fn refused(refusal: &GatewayRefusal) -> Response<Body> {
    match refusal {
        GatewayRefusal::Method => pages::method(),
        GatewayRefusal::Host => pages::bad_request("The request names no host that can be served"),
        GatewayRefusal::Path(why) => pages::bad_request(&why.to_string()),
        GatewayRefusal::BodyTooLarge => pages::too_large(),
        GatewayRefusal::Misdirected => pages::misdirected(),
        GatewayRefusal::TooManyUpgrades => pages::busy(),
    }
}

/// Without what was for us alone, and signed.
pub(crate) fn sign<B>(mut response: Response<B>) -> Response<B> {
    let received = response.version();
    *response.version_mut() = Version::HTTP_11;
    hop_by_hop::strip(response.headers_mut());
    // A response that has passed many of us is not dangerous: it has arrived.
    let _ = add_via(response.headers_mut(), received);
    response
}
