//! Verdicts of a hook beside those of the rules.

use crate::support::{CLIENT, NOW, lookup, name, policy};
use policy::{
    Ask, HookVerdict, NameOverride, OverrideClients, OverrideEnd, Policy, RuleOutcome, Verdict,
    VerdictHook,
};
use std::sync::Arc;
use vocab::{Action, Cause, DomainName};

/// A hook that blocks names with `bad` and lets those with `fine` pass.
#[derive(Debug)]
struct ByWord;

impl VerdictHook for ByWord {
    fn decide(&self, ask: &Ask<'_>, verdict: Verdict) -> Option<HookVerdict> {
        let (action, line) = match ask.host.as_str() {
            host if host.contains("bad") => (Action::Block, 3),
            host if host.contains("fine") && verdict.action == Action::Block => (Action::Pass, 5),
            _ => return None,
        };
        Some(HookVerdict { action, line })
    }

    fn name(&self) -> &'static str {
        "decide.luau"
    }

    fn reason(&self, line: u32) -> Option<String> {
        Some(format!("reason {line}"))
    }
}

fn hooked(list: &str) -> Policy {
    policy(list).with_hook(Some(Arc::new(ByWord)))
}

#[test]
fn a_hook_has_the_last_word_and_is_named_by_line() {
    for list in ["", "||ads.example^\n@@||bad.test^"] {
        let policy = hooked(list);
        let blocked = lookup(&policy, "bad.test");
        assert_eq!(blocked.action, Action::Block, "{list}");
        let rule = blocked.cause.rule().unwrap();
        let text = policy.rule_text(rule, name("bad.test")).unwrap();
        assert_eq!(
            (text.list.as_str(), text.line, text.text.as_str()),
            ("decide.luau", 3, "reason 3")
        );
        assert_eq!(lookup(&policy, "other.test"), Verdict::NO_RULE);
    }
    let passed = lookup(&hooked("||ads.example^"), "fine.ads.example");
    assert_eq!(passed.action, Action::Pass);
    assert_eq!(passed.cause.rule().unwrap().line, 5);
    assert_eq!(lookup(&hooked("||ads.example^"), "ads.example").cause.rule().unwrap().line, 1);
}

#[test]
fn an_explanation_shows_the_line_and_what_it_outranks() {
    let policy = hooked("||ads.example^");
    let ask = Ask::addresses(name("fine.ads.example"), CLIENT);
    let explained = policy.explain(&ask, NOW);
    assert_eq!(explained.verdict, policy.decide(&ask, NOW));
    assert_eq!(explained.winner.unwrap().list, "decide.luau");
    let told: Vec<_> =
        explained.considered.iter().map(|it| (it.rule.text.as_str(), it.outcome)).collect();
    assert_eq!(
        told,
        [("reason 5", RuleOutcome::Decides), ("||ads.example^", RuleOutcome::Outranked)]
    );
    assert_eq!(explained.schedule, None);
}

#[test]
fn pauses_and_temporary_allows_lift_what_a_hook_blocks() {
    let policy = hooked("");
    let host = DomainName::parse("bad.test").unwrap();
    let until = OverrideEnd::Time(NOW.unix_ms + 60_000);
    let leave = NameOverride {
        action: Action::Pass,
        host: Some(host),
        clients: OverrideClients::Everyone,
        until,
    };
    policy.set_override(leave, NOW).unwrap();
    assert_eq!(lookup(&policy, "bad.test"), Verdict::usual(Action::Pass, Cause::Paused));
    assert_eq!(lookup(&policy, "bad.example").action, Action::Block);
    policy.pause_until(NOW.unix_ms + 1);
    assert_eq!(lookup(&policy, "bad.example").cause, Cause::Paused);
}
