//! Names that another blocker sends: everything is blocked that no rule lets pass.

use crate::support::{CLIENT, NOW, name, policy};
use policy::{Ask, Policy};
use vocab::{Action, Cause, Door, RequestKind};

fn decided(policy: &Policy, host: &str) -> (Action, Cause) {
    let ask =
        Ask { door: Door::Pixel, kind: RequestKind::Other, ..Ask::addresses(name(host), CLIENT) };
    let verdict = policy.decide_any_name(&ask, NOW);
    (verdict.action, verdict.cause)
}

#[test]
fn a_name_that_no_rule_names_is_blocked() {
    for list in ["", "||ads.example^"] {
        assert_eq!(decided(&policy(list), "a.test"), (Action::Block, Cause::OtherBlocker));
    }
}

#[test]
fn rules_decide_as_ever_and_an_exception_needs_no_block() {
    let policy = policy(
        "||ads.example^\n@@||good.ads.example^\n@@||good.test^\n@@/^x[0-9]\\.test$/\n\
         @@||images.test^$image",
    );
    for (host, action) in [
        ("ads.example", Action::Block),
        ("good.ads.example", Action::Pass),
        ("www.good.test", Action::Pass),
        ("x7.test", Action::Pass),
    ] {
        let (decided, cause) = decided(&policy, host);
        assert_eq!(decided, action, "{host}");
        assert!(cause.rule().is_some(), "{host}: {cause:?}");
    }
    assert_eq!(decided(&policy, "images.test").0, Action::Block, "an exception for images alone");
}

#[test]
fn a_pause_lets_everything_pass() {
    let policy = policy("||ads.example^");
    policy.pause_until(NOW.unix_ms + 1000);
    assert_eq!(decided(&policy, "a.test"), (Action::Pass, Cause::Paused));
}
