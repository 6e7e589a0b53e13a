//! The decision about a request: the policy's verdict, and whether the connection may give it.
//!
//! The same for both lanes. It reads no bytes and makes no answer. Called by `request` and `quick`,
//! and by `splice` for the name alone.

use crate::answered_names::AnsweredNames;
use crate::connection::PixelConnection;
use http_front::ConnectionSecurity;
use policy::{Ask, ClientIdentity, Policy, Verdict, VerdictManner};
use std::net::IpAddr;
use vocab::{Action, Name, Now, RequestKind};

/// DNS type A, the question that led here.
pub(crate) const TYPE_A: u16 = 1;

/// A client as the policy knows it.
#[derive(Clone, Copy)]
pub(crate) struct PolicyClient<'c> {
    pub(crate) address: IpAddr,
    pub(crate) who: &'c ClientIdentity<'c>,
}

/// A request as the policy sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PixelQuery<'r> {
    /// The host asked for; the root where none is named, or one that is no name.
    pub(crate) host: Name<'r>,
    /// Absolute.
    pub(crate) url: &'r str,
    pub(crate) kind: RequestKind,
    /// The host of the page that asks.
    pub(crate) page: Option<Name<'r>>,
}

/// Tells what is to be done with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PixelDecision {
    Block(Verdict),
    /// The name is not blocked: it came here by an address that a device remembers.
    NotBlocked(Verdict),
    /// The connection's certificate is for other names.
    NotCovered(Verdict),
}

impl PixelDecision {
    pub(crate) const fn verdict(&self) -> Verdict {
        let (Self::Block(verdict) | Self::NotBlocked(verdict) | Self::NotCovered(verdict)) = self;
        *verdict
    }

    /// The stand-in that the rule of `policy` names which decided.
    pub(crate) fn named<'p>(&self, policy: &'p Policy) -> Option<&'p str> {
        match self.verdict().manner {
            VerdictManner::StandIn(id) => policy.stand_in(id),
            VerdictManner::Default | VerdictManner::Rewrite => None,
        }
    }
}

/// A URL is blocked by a rule about it or about its host. One that a rule excepts, on a host that
/// is blocked all the same, is answered too: the real one cannot be reached from here.
pub(crate) fn decide(
    policy: &Policy,
    connection: &PixelConnection,
    asked: &PixelQuery<'_>,
    names: AnsweredNames,
    now: Now,
) -> PixelDecision {
    let PixelQuery { host, url, kind, page } = *asked;
    let (door, client) = (vocab::Door::Pixel, connection.client());
    let who = &connection.link_info(policy, now).into();
    let ask = Ask { door, client, identity: Some(who), host, kind, url: Some(url), page };
    let of_url = policy.decide(&ask, now);
    let verdict = match of_url.action {
        Action::Block => of_url,
        Action::Pass => match of_name(policy, PolicyClient { address: client, who }, host, now) {
            blocked @ Verdict { action: Action::Block, .. } => blocked,
            Verdict { action: Action::Pass, .. } => names.judge(policy, &ask, of_url, now),
        },
    };
    // RFC 9110 §15.5.20: HTTP/2 lets one connection serve many hosts, those of its certificate.
    let is_covered = match &connection.context.security {
        ConnectionSecurity::Plain => true,
        ConnectionSecurity::Tls(secured) => secured.covers(host),
    };
    if !is_covered {
        return PixelDecision::NotCovered(verdict);
    }
    match verdict.action {
        Action::Block => PixelDecision::Block(verdict),
        Action::Pass => PixelDecision::NotBlocked(verdict),
    }
}

/// True if a name passes for a leave or a pause alone: rules about it, or about what stands behind
/// it, would block it, and led here.
pub(crate) fn is_exempt(
    policy: &Policy,
    client: PolicyClient<'_>,
    host: Name<'_>,
    now: Now,
) -> bool {
    let asks = [RequestKind::Lookup(TYPE_A), RequestKind::Other].map(|kind| Ask {
        door: vocab::Door::Pixel,
        client: client.address,
        identity: Some(client.who),
        host,
        kind,
        url: None,
        page: None,
    });
    policy.has_exemptions(now)
        && asks.iter().any(|ask| policy.is_exempt(ask, now))
        && asks.iter().all(|ask| policy.decide(ask, now).action == Action::Pass)
}

/// Returns what the DNS door would say to the question for the name's address.
pub(crate) fn of_name(
    policy: &Policy,
    client: PolicyClient<'_>,
    host: Name<'_>,
    now: Now,
) -> Verdict {
    let (door, kind) = (vocab::Door::Pixel, RequestKind::Lookup(TYPE_A));
    let PolicyClient { address: client, who } = client;
    policy
        .decide(&Ask { door, client, identity: Some(who), host, kind, url: None, page: None }, now)
}
