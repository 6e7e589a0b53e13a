//! The decision about a request: the policy's verdict on its URL, or about where a tunnel
//! leads.
//!
//! The same for both lanes. It answers nothing and counts nothing. Called by `request` and `quick`.

use crate::connection::ProxyConnection;
use crate::door::ProxyDoor;
use crate::remove_params::TrimRedirect;
use http::Method;
use policy::{Ask, ClientIdentity, Verdict};
use vocab::{Action, Cause, Name, Now, RequestKind};

/// Holds what the policy is asked about a request, beside who asks from where.
pub(crate) struct ProxyQuery<'a> {
    pub(crate) method: &'a Method,
    pub(crate) host: Name<'a>,
    pub(crate) page: Option<Name<'a>>,
    pub(crate) kind: RequestKind,
    pub(crate) user: Option<&'a str>,
    /// None of a tunnel.
    pub(crate) url: Option<&'a str>,
}

/// Tells what is to be done with a request.
pub(crate) enum ProxyDecision {
    Block(Verdict),
    /// Passes, and its URL has parameters too many.
    RemoveParams(Verdict, TrimRedirect),
    Pass(Verdict),
}

/// Returns what the policy says.
pub(crate) fn decide(
    door: &ProxyDoor,
    caller: &ProxyConnection,
    asked: &ProxyQuery<'_>,
    now: Now,
) -> ProxyDecision {
    let policy = door.parts.policy.load();
    let who = ClientIdentity { user: asked.user, ..caller.near(&policy, now).into() };
    let ask = Ask {
        door: vocab::Door::Proxy,
        client: caller.client(),
        identity: Some(&who),
        host: asked.host,
        kind: asked.kind,
        url: asked.url,
        page: asked.page,
    };
    let verdict = policy.decide(&ask, now);
    match verdict.action {
        Action::Block => ProxyDecision::Block(verdict),
        Action::Pass => match TrimRedirect::of(&policy, &ask, asked.method, now) {
            Some(trim) => ProxyDecision::RemoveParams(verdict, trim),
            None => ProxyDecision::Pass(verdict),
        },
    }
}

impl ProxyDecision {
    /// Returns what the policy says of passing.
    pub(crate) fn verdict(&self) -> Verdict {
        let (Self::Block(verdict) | Self::RemoveParams(verdict, _) | Self::Pass(verdict)) = self;
        *verdict
    }

    /// Returns what it comes of: the rule that takes something off the URL, where one does.
    pub(crate) fn cause(&self) -> Cause {
        match self {
            Self::Block(verdict) | Self::Pass(verdict) => verdict.cause,
            Self::RemoveParams(_, trim) => Cause::Rule(trim.rule),
        }
    }
}
