//! Forecast of the answer to a blocked request that a person asks about.
//!
//! The same choice as in `blocked`, for a program's `GET` without fields beyond those that its kind
//! implies. Called for `why`.

use null_answers::{AnswerAudience, BlankBody, NullAnswer, describe, select_for_get};
use policy::{Ask, Policy, Verdict, VerdictManner};
use vocab::RequestKind;

/// Fate of a tunnel to a blocked host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockedTunnel {
    /// Nobody answers in the host's place.
    Refused,
    /// The pixel door does.
    Answered,
}

/// The answer to a blocked request, in a few words.
pub fn preview(policy: &Policy, ask: &Ask<'_>, verdict: Verdict, tunnel: BlockedTunnel) -> String {
    if ask.kind == RequestKind::Tunnel || ask.url.is_none() {
        return match tunnel {
            BlockedTunnel::Refused => "403 that names list and rule".into(),
            BlockedTunnel::Answered => {
                "200, and the pixel door answers inside the tunnel in the host's place; 403 to a \
                 client that refuses its certificates"
                    .into()
            }
        };
    }
    let named = match verdict.manner {
        VerdictManner::StandIn(id) => policy.stand_in(id),
        VerdictManner::Default | VerdictManner::Rewrite => None,
    };
    match select_for_get(ask, named) {
        AnswerAudience::Page => "403 with a page that says why".into(),
        AnswerAudience::Null(NullAnswer::Blank(BlankBody::Text | BlankBody::NoMethod)) => {
            "403 that names list and rule".into()
        }
        // A WebSocket is opened by the door that stands for the host.
        AnswerAudience::Null(NullAnswer::Socket) => {
            describe(&NullAnswer::Blank(BlankBody::NoSocket))
        }
        AnswerAudience::Null(null) => describe(&null),
    }
}
