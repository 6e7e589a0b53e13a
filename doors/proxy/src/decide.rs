//! What is to be done with a request: the policy's word about its URL, or about where a tunnel leads.
//!
//! The same for both lanes. It answers nothing and counts nothing. Called by `request` and `quick`.

use crate::door::{Caller, Door};
use crate::trims::Trim;
use http::Method;
use policy::{Ask, Verdict, Who};
use vocab::{Action, Cause, Kind, Name, Now};

/// What the policy is asked about a request, beside who asks from where.
pub(crate) struct Asked<'a> {
    pub(crate) method: &'a Method,
    pub(crate) host: Name<'a>,
    pub(crate) page: Option<Name<'a>>,
    pub(crate) kind: Kind,
    pub(crate) user: Option<&'a str>,
    /// None of a tunnel.
    pub(crate) url: Option<&'a str>,
}

/// What is to be done with a request.
pub(crate) enum Decision {
    Block(Verdict),
    /// It passes, and its URL has parameters too many.
    Trim(Verdict, Trim),
    Pass(Verdict),
}

/// What the policy says.
pub(crate) fn decide(door: &Door, caller: &Caller, asked: &Asked<'_>, now: Now) -> Decision {
    let policy = door.parts.policy.load();
    let who = Who { user: asked.user, ..caller.near(&policy, now).into() };
    let ask = Ask {
        door: vocab::Door::Proxy,
        client: caller.client,
        who: Some(&who),
        host: asked.host,
        kind: asked.kind,
        url: asked.url,
        page: asked.page,
    };
    let verdict = policy.decide(&ask, now);
    match verdict.action {
        Action::Block => Decision::Block(verdict),
        Action::Pass => match Trim::of(&policy, &ask, asked.method, now) {
            Some(trim) => Decision::Trim(verdict, trim),
            None => Decision::Pass(verdict),
        },
    }
}

impl Decision {
    /// What the policy says of passing.
    pub(crate) fn verdict(&self) -> Verdict {
        let (Self::Block(verdict) | Self::Trim(verdict, _) | Self::Pass(verdict)) = self;
        *verdict
    }

    /// What it comes of: the rule that takes something off the URL, where one does.
    pub(crate) fn cause(&self) -> Cause {
        match self {
            Self::Block(verdict) | Self::Pass(verdict) => verdict.cause,
            Self::Trim(_, trim) => Cause::Rule(trim.rule),
        }
    }
}
