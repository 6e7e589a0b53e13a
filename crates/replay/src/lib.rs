//! Replay: recorded requests judged by two policies, and the verdicts that differ.
//!
//! Both policies know as much of a request as the log does: neither the page that asked nor what
//! the client said of itself. Rules that ask for these match in neither, so that only what a change
//! of the configuration changes is told. It reads nothing: requests are handed in.

use foldhash::fast::RandomState;
use ledger::RecordedRequest;
use policy::{Ask, Policy, Verdict};
use serde::Serialize;
use std::collections::HashMap;
use std::net::IpAddr;
use vocab::{Action, Name, Now, RuleRef};

/// Different names that are told apart, for each way; requests for others are counted alone.
const NAMES_MAX: usize = 1 << 16;
/// Different rules that are counted.
const RULES_MAX: usize = 1 << 14;
/// Clients that are named beside a name.
const CLIENTS_MAX: usize = 5;

/// Judges requests by a policy as it is and as it would be.
pub struct RequestReplay<'p> {
    now: &'p Policy,
    then: &'p Policy,
    counts: ReplayCounts,
    blocked: ChangedNames,
    passed: ChangedNames,
    rules: HashMap<RuleRef, ChangedRule, RandomState>,
}

/// Names whose verdict changes one way: a name may be blocked for one client and pass for another.
type ChangedNames = HashMap<Box<str>, ChangedName, RandomState>;

/// Counts of a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReplayCounts {
    /// Requests that were judged.
    pub requests: u64,
    /// Requests among them that pass now and would be blocked.
    pub blocked: u64,
    /// Requests among them that are blocked now and would pass.
    pub passed: u64,
    /// Requests that could not be judged: their name is none.
    pub skipped: u64,
}

/// Action that would be taken in place of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangedAction {
    /// Blocked, which passes now.
    Block,
    /// Passes, which is blocked now.
    Pass,
}

/// Name whose verdict would be another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChangedName {
    /// The name.
    pub name: String,
    /// Action that would be taken.
    pub action: ChangedAction,
    /// Requests for it whose verdict would be another.
    pub requests: u64,
    /// Clients that asked for it, at most 5.
    pub clients: Vec<IpAddr>,
    /// The rule that would block it, or that blocks it now: list, line and text.
    pub rule: Option<String>,
}

/// Rule by which verdicts would be another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChangedRule {
    /// The rule's list.
    pub list: String,
    /// Line there.
    pub line: u32,
    /// Text of the rule.
    pub text: String,
    /// Action that it takes.
    pub action: ChangedAction,
    /// Requests whose verdict would be another by it.
    pub requests: u64,
}

/// Result of a replay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReplayReport {
    /// Counts of requests.
    #[serde(flatten)]
    pub counts: ReplayCounts,
    /// Names whose verdict would be another, those with most requests first.
    pub names: Vec<ChangedName>,
    /// Number of such names that are left out.
    pub more: usize,
    /// Rules that would decide otherwise than now, those with most requests first. A verdict that
    /// is another because a rule is gone has none.
    pub rules: Vec<ChangedRule>,
}

impl<'p> RequestReplay<'p> {
    /// Begins with the policy that is `now` and the one that would be `then`.
    pub fn new(now: &'p Policy, then: &'p Policy) -> Self {
        Self {
            now,
            then,
            counts: ReplayCounts::default(),
            blocked: ChangedNames::default(),
            passed: ChangedNames::default(),
            rules: HashMap::default(),
        }
    }

    /// Judges one request, at the moment at which it was made.
    pub fn judge(&mut self, request: &RecordedRequest<'_>) {
        let Ok(host) = Name::from_lowercase(request.host) else {
            self.counts.skipped += 1;
            return;
        };
        self.counts.requests += 1;
        let ask = Ask {
            door: request.door,
            client: request.client,
            identity: None,
            host,
            kind: request.kind,
            url: request.url,
            page: None,
        };
        let at = Now { unix_ms: request.at_ms, mono_ms: 0 };
        let (now, then) = (self.now.decide(&ask, at), self.then.decide(&ask, at));
        if now.action == then.action {
            return;
        }
        self.count_rule(host, then);
        // The rule that blocks is told, whichever of the two has it.
        let (action, names, policy, verdict) = match then.action {
            Action::Block => {
                self.counts.blocked += 1;
                (ChangedAction::Block, &mut self.blocked, self.then, then)
            }
            Action::Pass => {
                self.counts.passed += 1;
                (ChangedAction::Pass, &mut self.passed, self.now, now)
            }
        };
        if let Some(known) = names.get_mut(request.host) {
            known.requests += 1;
            if known.clients.len() < CLIENTS_MAX && !known.clients.contains(&request.client) {
                known.clients.push(request.client);
            }
        } else if names.len() < NAMES_MAX {
            let rule = verdict.cause.rule().and_then(|rule| policy.rule_text(rule, host));
            let text = |it: policy::RuleText| format!("{}:{} {}", it.list, it.line, it.text);
            let entry = ChangedName {
                name: request.host.to_owned(),
                action,
                requests: 1,
                clients: vec![request.client],
                rule: rule.map(text),
            };
            names.insert(request.host.into(), entry);
        }
    }

    fn count_rule(&mut self, host: Name<'_>, then: Verdict) {
        let Some(rule) = then.cause.rule() else { return };
        if let Some(known) = self.rules.get_mut(&rule) {
            known.requests += 1;
        } else if self.rules.len() < RULES_MAX
            && let Some(text) = self.then.rule_text(rule, host)
        {
            let action = match then.action {
                Action::Block => ChangedAction::Block,
                Action::Pass => ChangedAction::Pass,
            };
            let policy::RuleText { list, line, text } = text;
            self.rules.insert(rule, ChangedRule { list, line, text, action, requests: 1 });
        }
    }

    /// Ends it: the names and the rules with most requests, at most `n` of each.
    pub fn report(self, n: usize) -> ReplayReport {
        let mut names: Vec<_> =
            self.blocked.into_values().chain(self.passed.into_values()).collect();
        names
            .sort_unstable_by(|a, b| b.requests.cmp(&a.requests).then_with(|| a.name.cmp(&b.name)));
        let more = names.len().saturating_sub(n);
        names.truncate(n);
        let mut rules: Vec<_> = self.rules.into_values().collect();
        rules.sort_unstable_by(|a, b| {
            (b.requests, &a.list, a.line).cmp(&(a.requests, &b.list, b.line))
        });
        rules.truncate(n);
        ReplayReport { counts: self.counts, names, more, rules }
    }
}
