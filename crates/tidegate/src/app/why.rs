//! A verdict told to a person: the policy's explanation in the words of the API, and what the door
//! would do. The `why` command and the admin API say the same.

mod outcome;

use admin::WhyQuestion;
use admin_api::{GatewayWhy, RuleInfo, RuleMatch, WhyAnswer};
use config::Plan;
use door_pixel::JudgedPart;
use outcome::{is_configured, outcome, sends_redirects};
use policy::{
    Ask, ConsideredRule, OverrideEnd, Policy, PolicyExplanation, RuleEffect, RuleOutcome, RuleText,
    VerdictManner,
};
use vocab::{Action, Cause, DomainName, Door, Now, RuleRef};

/// The answer to a question, as the running program or a fresh one would give it.
pub(crate) fn why(policy: &Policy, plan: &Plan, question: &WhyQuestion, now: Now) -> WhyAnswer {
    // By which interface a client would come in, nobody can say beforehand.
    let who =
        transport::neighbours::of(policy.link_info_needs(), question.client, || None, now).into();
    let ask = Ask {
        door: question.door,
        client: question.client,
        identity: Some(&who),
        host: question.host.as_name(),
        kind: question.kind,
        url: question.url.as_deref(),
        page: question.page.as_ref().map(DomainName::as_name),
    };
    let at_pixel = (question.door == Door::Pixel).then(|| {
        let names = plan.file.pixel.as_ref().map(door_pixel::Settings::answered_names);
        door_pixel::preview(policy, &ask, names.unwrap_or_default(), now)
    });
    // Clients come to the pixel door by the answer to a look-up: that decides where the URL does
    // not.
    let judged_part = at_pixel.as_ref().map(|it| it.judged);
    let judged = if judged_part == Some(JudgedPart::Name) { door_pixel::lookup(&ask) } else { ask };
    let explanation = policy.explain(&judged, now);
    let trimmed = explanation.without_parameters.as_ref().filter(|_| sends_redirects(question));
    let cut_by = trimmed.and_then(|trimmed| trimmed.rules.first().copied());
    let decisive = cut_by.or(explanation.verdict.cause.rule());
    let cut_by = cut_by.and_then(|rule| policy.rule_text(rule, ask.host));
    let why = WhyAnswer {
        summary: summary(&explanation, question),
        target: question.url.clone().unwrap_or_else(|| question.host.to_string()),
        client: question.client.to_string(),
        profile: explanation.profile.clone(),
        host: question.host.to_string(),
        site: policy::site_of(question.host.as_str()).to_owned(),
        door: question.door.to_string(),
        kind: question.kind.to_string(),
        page: question.page.as_ref().map(ToString::to_string),
        action: explanation.verdict.action.to_string(),
        cause: match &cut_by {
            Some(_) => cause_word(decisive.map_or(Cause::NoRule, Cause::Rule)),
            None => cause_word(explanation.verdict.cause),
        }
        .into(),
        rule: cut_by.as_ref().or(explanation.winner.as_ref()).map(rule),
        list_changed_at: decisive.and_then(|rule| changed_at(policy, rule)),
        matches: explanation.considered.iter().map(considered).collect(),
        trimmed: explanation.without_parameters.as_ref().map(|it| it.url.clone()),
        door_outcome: match (at_pixel, trimmed) {
            _ if !is_configured(plan, question.door) => "this door is not configured".into(),
            (Some(foretold), _) => foretold.outcome,
            (None, Some(trimmed)) => format!("307 to {}", trimmed.url),
            (None, None) => outcome(policy, plan, &ask, explanation.verdict, now),
        },
        stored: Vec::new(),
        gateway: None,
    };
    match judged_part {
        Some(JudgedPart::Own) => not_asked("passes: it asks for the pixel door's own pages", why),
        Some(JudgedPart::Nothing) => sent_by_another_blocker(why),
        Some(JudgedPart::Name | JudgedPart::Url) | None => why,
    }
}

/// The answer of a pixel door that answers names which no rule blocks.
fn sent_by_another_blocker(why: WhyAnswer) -> WhyAnswer {
    WhyAnswer {
        action: Action::Block.to_string(),
        cause: cause_word(Cause::OtherBlocker).into(),
        summary: "blocked: no rule names it, and pixel.any_name answers what another blocker sends"
            .into(),
        ..why
    }
}

/// The answer where a door answers by itself, before any rule is asked.
fn not_asked(summary: &str, why: WhyAnswer) -> WhyAnswer {
    WhyAnswer {
        action: Action::Pass.to_string(),
        cause: cause_word(Cause::NotAsked).into(),
        rule: None,
        list_changed_at: None,
        matches: Vec::new(),
        summary: summary.into(),
        ..why
    }
}

/// Since when the list of a rule is unchanged.
fn changed_at(policy: &Policy, rule: RuleRef) -> Option<String> {
    policy.list_changed_ms(rule.list).map(vocab::iso)
}

/// The answer with what the DNS door makes of the question: it answers some names before it asks
/// the rules, and blocks what is an alias of a blocked name.
pub(super) fn as_the_dns_door_does(
    why: WhyAnswer,
    foretold: door_dns::DnsForecast,
    policy: &Policy,
    host: &DomainName,
) -> WhyAnswer {
    let door_dns::DnsForecast { action, cause, source, outcome } = foretold;
    let why = WhyAnswer { door_outcome: outcome, ..why };
    match cause {
        Cause::NotAsked if source.is_some() => {
            not_asked("passes: the DNS door answers it by itself, before any rule is asked", why)
        }
        Cause::Rule(rule) if action == Action::Block && why.action == Action::Pass.as_str() => {
            let Some(text) = policy.rule_text(rule, host.as_name()) else { return why };
            let summary = format!(
                "blocked: it is an alias of what {}, line {} of list {:?}, blocks",
                text.text, text.line, text.list
            );
            let list_changed_at = changed_at(policy, rule);
            WhyAnswer { summary, list_changed_at, ..blocked_by(self::rule(&text), why) }
        }
        Cause::NotAsked
        | Cause::NoRule
        | Cause::Unlisted
        | Cause::ByHand
        | Cause::OtherBlocker
        | Cause::Paused
        | Cause::Rule(_) => why,
    }
}

/// The answer with what the gateway's routes and its own patterns, which come before the policy,
/// make of it.
pub(super) fn as_the_gateway_does(
    why: WhyAnswer,
    foretold: door_gateway::GatewayForecast,
    policy: &Policy,
    host: &DomainName,
) -> WhyAnswer {
    let door_gateway::GatewayForecast { refused_by, blocked, outcome } = foretold;
    if let Some(verdict) = blocked {
        let why = WhyAnswer { door_outcome: outcome, ..why };
        // The policy may block another spelling of the path than the one that was asked about.
        let other = verdict.cause.rule().filter(|_| why.action == Action::Pass.as_str());
        let Some(other) = other else { return why };
        let Some(text) = policy.rule_text(other, host.as_name()) else { return why };
        let summary = format!(
            "blocked: {} is line {} of list {:?}, and matches another spelling of the path",
            text.text, text.line, text.list
        );
        let list_changed_at = changed_at(policy, other);
        return WhyAnswer { summary, list_changed_at, ..blocked_by(rule(&text), why) };
    }
    let gateway =
        Some(GatewayWhy { rule: refused_by.as_ref().map(rule), outcome: outcome.clone() });
    let why = WhyAnswer { door_outcome: outcome, gateway, ..why };
    let Some(refuses) = refused_by.as_ref().map(rule) else { return why };
    let summary = format!("blocked: {} is line {} of {}", refuses.text, refuses.line, refuses.list);
    WhyAnswer { summary, list_changed_at: None, ..blocked_by(refuses, why) }
}

/// The answer where this rule blocks, and overrules all that matched so far.
fn blocked_by(refuses: RuleInfo, why: WhyAnswer) -> WhyAnswer {
    let mut matches = vec![RuleMatch {
        rule: refuses.clone(),
        decides: true,
        note: RuleOutcome::Decides.to_string(),
    }];
    let overruled = why.matches.into_iter().map(|it| match it {
        RuleMatch { decides: true, .. } => {
            RuleMatch { decides: false, note: RuleOutcome::Outranked.to_string(), ..it }
        }
        RuleMatch { decides: false, .. } => it,
    });
    matches.extend(overruled);
    WhyAnswer {
        action: Action::Block.to_string(),
        cause: "rule".into(),
        rule: Some(refuses),
        matches,
        ..why
    }
}

fn removes_parameters(found: &ConsideredRule) -> bool {
    found.effect == RuleEffect::RemoveParameters && found.outcome == RuleOutcome::Decides
}

fn rule(text: &RuleText) -> RuleInfo {
    RuleInfo { list: text.list.clone(), line: text.line, text: text.text.clone() }
}

fn considered(found: &ConsideredRule) -> RuleMatch {
    RuleMatch {
        rule: rule(&found.rule),
        decides: found.outcome == RuleOutcome::Decides,
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
        Cause::ByHand => "by_hand",
        Cause::OtherBlocker => "other_blocker",
    }
}

fn summary(explanation: &PolicyExplanation, question: &WhyQuestion) -> String {
    let verdict = explanation.verdict;
    match (&explanation.winner, verdict.action, verdict.cause) {
        (_, _, Cause::Paused) => {
            match explanation.by_hand.as_ref().map(|it| (&it.host, it.until)) {
                Some((Some(host), OverrideEnd::Time(_))) => {
                    format!("passes: {host} is let through for a while")
                }
                Some((Some(host), OverrideEnd::Revoked)) => {
                    format!("passes: {host} is let through, until that is taken back")
                }
                Some((None, _)) | None => "passes: protection is paused".into(),
            }
        }
        (_, _, Cause::ByHand) => {
            match explanation.by_hand.as_ref().map(|it| (&it.host, it.until)) {
                Some((Some(host), OverrideEnd::Time(_))) => {
                    format!("blocked: {host} is blocked by hand for a while")
                }
                Some((Some(host), OverrideEnd::Revoked)) => {
                    format!("blocked: {host} is blocked by hand, until that is taken back")
                }
                Some((None, _)) | None => "blocked by hand".into(),
            }
        }
        (Some(rule), _, _) if verdict.manner == VerdictManner::Rewrite => {
            format!("rewritten: {} is line {} of list {:?}", rule.text, rule.line, rule.list)
        }
        (Some(rule), Action::Block, _) => {
            let (text, line, list) = (&rule.text, rule.line, &rule.list);
            let hours = explanation.schedule.as_ref();
            let hours = hours.map_or_else(String::new, |it| format!(", which holds {it}"));
            format!("blocked: {text} is line {line} of list {list:?}{hours}")
        }
        (Some(rule), Action::Pass, _) => format!(
            "passes: the exception {} is line {} of list {:?}",
            rule.text, rule.line, rule.list
        ),
        (None, Action::Block, Cause::Unlisted) => {
            let profile = &explanation.profile;
            format!("blocked: no rule lets it pass, and profile {profile:?} has otherwise: block")
        }
        (None, Action::Block, _) => "blocked".into(),
        (None, Action::Pass, _) => {
            match explanation.considered.iter().find(|it| removes_parameters(it)) {
                Some(ConsideredRule { rule: RuleText { list, line, text }, .. })
                    if sends_redirects(question) =>
                {
                    format!("passes without parameters: {text} is line {line} of list {list:?}")
                }
                Some(_) | None => "passes: no rule matches".into(),
            }
        }
    }
}
