//! A verdict told to a person: the policy's explanation in the words of the API, and what the door
//! would do. The `why` command and the admin API say the same.

use admin::Question;
use admin::model::{GatewayWhy, Rule, RuleMatch, Why};
use config::Plan;
use door_gateway::Foretold;
use policy::{
    Ask, Considered, Effect, Explanation, Manner, Outcome, Policy, RuleText, Style, Until, Verdict,
};
use vocab::{Action, Cause, Door, Kind, Name, Now};

/// The answer to a question, as the running program or a fresh one would give it.
pub(crate) fn why(
    policy: &Policy,
    plan: &Plan,
    question: &Question,
    page: Option<Name<'_>>,
    now: Now,
) -> Why {
    // By which interface a client would come in, nobody can say beforehand.
    let who = transport::near::of(policy.near_wanted(), question.client, || None, now).into();
    let ask = Ask {
        door: question.door,
        client: question.client,
        who: Some(&who),
        host: question.host.as_name(),
        kind: question.kind,
        url: question.url.as_deref(),
        page,
    };
    let explanation = policy.explain(&ask, now);
    let target = question.url.clone().unwrap_or_else(|| question.host.to_string());
    Why {
        summary: summary(&explanation, question),
        target,
        client: question.client.to_string(),
        profile: explanation.profile.clone(),
        door: question.door.to_string(),
        kind: question.kind.to_string(),
        action: explanation.verdict.action.to_string(),
        cause: cause_word(explanation.verdict.cause).into(),
        rule: explanation.winner.as_ref().map(rule),
        list_changed_at: explanation
            .verdict
            .cause
            .rule()
            .and_then(|rule| policy.list_changed_ms(rule.list))
            .map(admin::iso),
        matches: explanation.considered.iter().map(considered).collect(),
        trimmed: explanation.trimmed.as_ref().map(|it| it.url.clone()),
        door_outcome: match &explanation.trimmed {
            Some(trimmed) if trims(question) => format!("307 to {}", trimmed.url),
            Some(_) | None => {
                let own = policy.style_of(question.client, Some(&who));
                outcome(plan, question, explanation.verdict, own)
            }
        },
        stored: Vec::new(),
        gateway: None,
    }
}

/// What the gateway foretells, in the words of the API.
pub(super) fn at_gateway(foretold: Foretold) -> GatewayWhy {
    GatewayWhy { rule: foretold.refused_by.as_ref().map(rule), outcome: foretold.outcome }
}

/// The answer with what the gateway's routes and its own patterns, which come before the policy, make of it.
pub(crate) fn as_the_gateway_does(why: Why, gateway: Option<GatewayWhy>) -> Why {
    let Some(GatewayWhy { rule: refuses, outcome }) = gateway.clone() else { return why };
    let Some(refuses) = refuses else {
        return Why { door_outcome: outcome, gateway, ..why };
    };
    let mut matches = vec![RuleMatch {
        rule: refuses.clone(),
        decides: true,
        note: Outcome::Decides.to_string(),
    }];
    let overruled = why.matches.into_iter().map(|it| match it {
        RuleMatch { decides: true, .. } => {
            RuleMatch { decides: false, note: Outcome::Outranked.to_string(), ..it }
        }
        RuleMatch { decides: false, .. } => it,
    });
    matches.extend(overruled);
    Why {
        action: Action::Block.to_string(),
        cause: "rule".into(),
        list_changed_at: None,
        summary: format!(
            "blocked: {} stands on line {} of {}",
            refuses.text, refuses.line, refuses.list
        ),
        rule: Some(refuses),
        matches,
        door_outcome: outcome,
        gateway,
        ..why
    }
}

/// Whether the door of a question sends clients to URLs without the parameters that rules take off.
fn trims(question: &Question) -> bool {
    question.door == Door::Proxy
}

fn takes_off(found: &Considered) -> bool {
    found.effect == Effect::Trim && found.outcome == Outcome::Decides
}

fn rule(text: &RuleText) -> Rule {
    Rule { list: text.list.clone(), line: text.line, text: text.text.clone() }
}

fn considered(found: &Considered) -> RuleMatch {
    RuleMatch {
        rule: rule(&found.rule),
        decides: found.outcome == Outcome::Decides,
        note: found.outcome.to_string(),
    }
}

fn cause_word(cause: Cause) -> &'static str {
    match cause {
        Cause::NoRule => "none",
        Cause::Rule(_) => "rule",
        Cause::Paused => "paused",
        Cause::NotAsked => "not_asked",
        Cause::Unlisted => "unlisted",
    }
}

fn summary(explanation: &Explanation, question: &Question) -> String {
    let verdict = explanation.verdict;
    match (&explanation.winner, verdict.action, verdict.cause) {
        (_, _, Cause::Paused) => match explanation.leave.as_ref().map(|it| (&it.host, it.until)) {
            Some((Some(host), Until::Moment(_))) => {
                format!("passes: {host} is let through for a while")
            }
            Some((Some(host), Until::Withdrawn)) => {
                format!("passes: {host} is let through, until that is taken back")
            }
            Some((None, _)) | None => "passes: protection is paused".into(),
        },
        (Some(rule), _, _) if verdict.manner == Manner::Rewrite => {
            format!("rewritten: {} stands on line {} of list {:?}", rule.text, rule.line, rule.list)
        }
        (Some(rule), Action::Block, _) => {
            let (text, line, list) = (&rule.text, rule.line, &rule.list);
            let hours = explanation.schedule.as_ref();
            let hours = hours.map_or_else(String::new, |it| format!(", which holds {it}"));
            format!("blocked: {text} stands on line {line} of list {list:?}{hours}")
        }
        (Some(rule), Action::Pass, _) => format!(
            "passes: the exception {} stands on line {} of list {:?}",
            rule.text, rule.line, rule.list
        ),
        (None, Action::Block, Cause::Unlisted) => {
            let profile = &explanation.profile;
            format!("blocked: no rule lets it pass, and profile {profile:?} has otherwise: block")
        }
        (None, Action::Block, _) => "blocked".into(),
        (None, Action::Pass, _) => match explanation.considered.iter().find(|it| takes_off(it)) {
            Some(Considered { rule: RuleText { list, line, text }, .. }) if trims(question) => {
                format!("passes without parameters: {text} stands on line {line} of list {list:?}")
            }
            Some(_) | None => "passes: no rule matches".into(),
        },
    }
}

/// What the door would do, in a few words.
fn outcome(plan: &Plan, question: &Question, verdict: Verdict, own: Option<Style>) -> String {
    if verdict.action == Action::Pass {
        return match question.door {
            Door::Dns => "asks the upstream resolvers, or answers from the cache",
            Door::Pixel if verdict.cause == Cause::Paused => {
                "carries the connection to its real server, if a rule would block the name"
            }
            Door::Pixel => {
                "refuses: the name is not blocked, so it gets no certificate and no answer"
            }
            Door::Proxy => "fetches it from its origin",
            Door::Web => "serves the file",
            Door::Gateway => "does what its route says, unless its own patterns block it",
        }
        .into();
    }
    match question.door {
        Door::Dns => dns_outcome(plan, question.kind, own),
        Door::Pixel => match question.kind {
            Kind::Document => "403 with a page that says why".into(),
            kind => format!("an empty answer of the type {kind}"),
        },
        Door::Proxy | Door::Web | Door::Gateway => "403 that names list and rule".into(),
    }
}

fn dns_outcome(plan: &Plan, kind: Kind, own: Option<Style>) -> String {
    let Some(dns) = &plan.file.dns else { return "the DNS door is not configured".into() };
    let nodata = "NODATA with SOA and EDE 15";
    let is_address = matches!(kind, Kind::Lookup(1 | 28));
    match own.unwrap_or_else(|| super::build::effective_style(plan)) {
        Style::Pixel if is_address => {
            format!("the pixel door's address, for {} s", dns.blocked_ttl.0.0.as_secs())
        }
        Style::Null if is_address => "0.0.0.0 or ::".into(),
        Style::Nxdomain => "NXDOMAIN with SOA and EDE 15".into(),
        Style::Refused => "REFUSED with EDE 15".into(),
        Style::Pixel | Style::Null | Style::Nodata | Style::Auto => nodata.into(),
    }
}
