//! What the client gets of what came: pages in place of a server, fields that are ours.
//!
//! Called by `request`.

use crate::door::{Door, Setup};
use crate::guards::Words;
use crate::leaving::Leaving;
use crate::pages;
use crate::request::{Outcome, Refusal};
use http::header::{CONNECTION, HeaderValue, UPGRADE};
use http::{Response, StatusCode, Version};
use http_engine::html::Reader;
use http_engine::{Body, hop_by_hop};
use policy::{RuleText, Verdict};
use upstream::origins::{Blame, SendError, add_via};
use vocab::{Name, Source};

/// What a server sent is passed on only if it is an answer to what was asked. What came through the
/// cache was looked at before it was stored.
pub(crate) fn review(outcome: Outcome) -> Outcome {
    match &outcome {
        Outcome::Fetched(response) => match answers(response) {
            Ok(()) => outcome,
            Err(why) => Outcome::Failed(why),
        },
        _ => outcome,
    }
}

/// Whether it is an answer to what was asked.
pub(crate) fn answers(response: &Response<Body>) -> Result<(), SendError> {
    match response.status() {
        StatusCode::SWITCHING_PROTOCOLS => {
            Err(SendError::BadResponse("it switched protocols unasked".into()))
        }
        _ => Ok(()),
    }
}

/// An answer ready to go out.
pub(crate) struct Shaped {
    pub(crate) response: Response<Body>,
    pub(crate) source: Source,
    pub(crate) switched: Option<Leaving>,
}

impl Shaped {
    fn new(response: Response<Body>, source: Source) -> Self {
        Self { response, source, switched: None }
    }

    /// Words of ours, as whoever reads them likes them.
    fn told(words: Response<Body>, source: Source, reader: Reader) -> Self {
        Self::new(reader.shown(words), source)
    }
}

/// `reader` is who gets what is ours to say.
pub(crate) fn shape(door: &Door, setup: &Setup, outcome: Outcome, reader: Reader) -> Shaped {
    match outcome {
        Outcome::Refused(refusal) => {
            let page = match refusal {
                Refusal::Method => pages::method(),
                Refusal::Host => pages::bad_request("The request names no host that can be served"),
                Refusal::Path(why) => pages::bad_request(&why.to_string()),
                Refusal::BodyTooLarge => pages::too_large(),
                Refusal::Misdirected => pages::misdirected(),
                Refusal::TooManyUpgrades => pages::busy(),
            };
            Shaped::told(page, Source::Refused, reader)
        }
        Outcome::Blocked { verdict, host, block } => {
            let rule = rule_text(door, setup, verdict, host.as_name());
            let page = match block {
                None => pages::blocked(rule.as_ref()),
                Some(block) => {
                    block.answer.give(rule.as_ref(), setup.settings.response_timeout.0.0)
                }
            };
            Shaped::told(page, Source::Policy, reader)
        }
        Outcome::Turned(turned) => match turned.words {
            Words::Ours => Shaped::told(turned.response, Source::Refused, reader),
            Words::OfAuthority => Shaped::new(turned.response, Source::Refused),
        },
        Outcome::Nowhere => Shaped::told(pages::no_route(), Source::Local, reader),
        Outcome::Answered(response, source) => Shaped::new(response, source),
        Outcome::Fetched(response) => Shaped::new(passed_on(response), Source::Origin),
        Outcome::Cached(served) => {
            let source = match served.source {
                http_cache::Source::Fresh => Source::Cache,
                http_cache::Source::Stale => Source::Stale,
                http_cache::Source::Origin => Source::Origin,
                http_cache::Source::Nowhere => Source::Refused,
            };
            if served.source == http_cache::Source::Nowhere {
                return Shaped::told(served.response, source, reader);
            }
            Shaped::new(passed_on(served.response), source)
        }
        Outcome::Switched(response, client) => {
            let protocol = response.headers().get(UPGRADE).cloned();
            let mut response = passed_on(response);
            // HTTP/2 has no such fields: its answer is a 200.
            if let Some(protocol) = protocol
                && response.status() == StatusCode::SWITCHING_PROTOCOLS
            {
                let upgrade = HeaderValue::from_static("upgrade");
                response.headers_mut().insert(CONNECTION, upgrade);
                response.headers_mut().insert(UPGRADE, protocol);
            }
            Shaped { response, source: Source::Tunnel, switched: Some(client) }
        }
        Outcome::GoingRound => Shaped::told(pages::going_round(), Source::Refused, reader),
        Outcome::Unavailable(wait) => {
            Shaped::told(pages::unavailable(wait), Source::Failed, reader)
        }
        Outcome::Failed(why) => {
            let source = match why.blame() {
                Blame::Client => Source::Refused,
                Blame::Origin | Blame::Slow | Blame::Guard => Source::Failed,
            };
            Shaped::told(pages::rescue(&why), source, reader)
        }
    }
}

/// Without what was for us alone, and signed.
pub(crate) fn passed_on<B>(mut response: Response<B>) -> Response<B> {
    let received = response.version();
    *response.version_mut() = Version::HTTP_11;
    hop_by_hop::strip(response.headers_mut());
    // A response that has passed many of us is not dangerous: it has arrived.
    let _ = add_via(response.headers_mut(), received);
    response
}

fn rule_text(door: &Door, setup: &Setup, verdict: Verdict, host: Name<'_>) -> Option<RuleText> {
    let rule = verdict.cause.rule()?;
    setup.rule_text(rule).or_else(|| door.parts.policy.load().rule_text(rule, host))
}
