//! Forecast of the answer to a request that a person asks about: the same decision, and nothing is
//! counted or done.
//!
//! No fields are known but those that the kind implies, and the client trusts the authority. Called
//! for `why`.

use crate::answered_names::AnsweredNames;
use crate::decision::{PolicyClient, TYPE_A, is_exempt, of_name};
use crate::setup;
use http::Method;
use http_engine::authority;
use null_answers::{AnswerAudience, describe, select_for_get};
use policy::{Ask, ClientIdentity, Policy, Verdict, VerdictManner};
use vocab::{Action, Cause, Now, RequestKind};

/// Part of a request that a verdict is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JudgedPart {
    /// The URL with all that is known of the request.
    Url,
    /// The name alone, as the DNS door is asked for it: it led the client here.
    Name,
    /// Neither: no rule names it, and any name is answered (`pixel.any_name`).
    Nothing,
    /// Nothing: a page of our own is asked for, by our address.
    Own,
}

/// Forecast of the answer to a `GET`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PixelForecast {
    /// Part of the request that decides.
    pub judged: JudgedPart,
    /// The answer, in a few words.
    pub outcome: String,
}

/// The question about the name that led a client here.
pub fn lookup<'a>(ask: &Ask<'a>) -> Ask<'a> {
    Ask { kind: RequestKind::Lookup(TYPE_A), url: None, page: None, ..*ask }
}

/// Forecast for a client that sends this question here as a `GET`.
pub fn preview(policy: &Policy, ask: &Ask<'_>, names: AnsweredNames, now: Now) -> PixelForecast {
    if !is_secure(ask.url) && asks_for_own_page(ask.url.unwrap_or_default()) {
        let outcome = "answers with one of its own pages: set-up, certificate, counters".into();
        return PixelForecast { judged: JudgedPart::Own, outcome };
    }
    let nobody = ClientIdentity::default();
    let who = ask.identity.unwrap_or(&nobody);
    let client = PolicyClient { address: ask.client, who };
    let of_url = policy.decide(ask, now);
    let by_name = of_name(policy, client, ask.host, now);
    let (judged, verdict) = match (of_url.action, by_name.action) {
        (Action::Pass, Action::Block) => (JudgedPart::Name, by_name),
        (Action::Block, _) | (Action::Pass, Action::Pass) => {
            let verdict = names.judge(policy, ask, of_url, now);
            let is_elsewhere = verdict.cause == Cause::OtherBlocker;
            (if is_elsewhere { JudgedPart::Nothing } else { JudgedPart::Url }, verdict)
        }
    };
    let outcome = match (verdict.action, ask.kind) {
        (Action::Pass, _) if is_exempt(policy, client, ask.host, now) => {
            "carries the connection to its real server".into()
        }
        (Action::Pass, _) if is_secure(ask.url) => {
            "breaks the handshake off: the name is not blocked, so it gets no certificate".into()
        }
        (Action::Pass, _) => not_blocked(policy, ask, verdict),
        (Action::Block, _) if verdict.cause == Cause::OtherBlocker => {
            format!("{}: another blocker sent it here", answer_due(policy, ask, verdict))
        }
        (Action::Block, RequestKind::Tunnel) => "405, a method that has no meaning here".into(),
        (Action::Block, _) => answer_due(policy, ask, verdict),
    };
    PixelForecast { judged, outcome }
}

fn answer_due(policy: &Policy, ask: &Ask<'_>, verdict: Verdict) -> String {
    match answer(policy, ask, verdict) {
        AnswerAudience::Page => "403 with a page that says why".into(),
        AnswerAudience::Null(null) => describe(&null),
    }
}

/// Over plain HTTP a name that is not blocked is answered all the same: an alias behind it may be.
fn not_blocked(policy: &Policy, ask: &Ask<'_>, verdict: Verdict) -> String {
    match answer(policy, ask, verdict) {
        AnswerAudience::Page => "421 with a page that says that it is not blocked".into(),
        AnswerAudience::Null(null) => {
            format!("{}: not blocked, but asked for here", describe(&null))
        }
    }
}

fn asks_for_own_page(url: &str) -> bool {
    let behind = url.split_once("://").map_or("", |(_, behind)| behind);
    let (authority, target) = behind.split_at(behind.find(['/', '?', '#']).unwrap_or(behind.len()));
    let path = target.split(['?', '#']).next().filter(|path| !path.is_empty()).unwrap_or("/");
    setup::setup_page(authority::host(authority), &Method::GET, path).is_some()
}

fn is_secure(url: Option<&str>) -> bool {
    let scheme = url.and_then(|url| url.split_once("://")).map_or("", |(scheme, _)| scheme);
    ["https", "wss"].iter().any(|it| it.eq_ignore_ascii_case(scheme))
}

/// The answer that is due.
fn answer<'a>(policy: &'a Policy, ask: &Ask<'a>, verdict: Verdict) -> AnswerAudience<'a> {
    select_for_get(
        ask,
        match verdict.manner {
            VerdictManner::StandIn(id) => policy.stand_in(id),
            VerdictManner::Default | VerdictManner::Rewrite => None,
        },
    )
}
