//! `$redirect` and `$redirect-rule`: what stands in for a blocked request.

use crate::support::{Fetch, fetch, policy};
use policy::VerdictManner;
use vocab::{Action, RequestKind};

const URL: &str = "https://a.example/ads.js";

/// What becomes of a script: `pass`, `block`, or the name of its stand-in.
fn check(list: &str, expected: &str) {
    let policy = policy(list);
    let verdict = fetch(&policy, Fetch(URL, RequestKind::Script, "page.example"));
    let found = match (verdict.action, verdict.manner) {
        (Action::Block, VerdictManner::StandIn(id)) => {
            policy.stand_in(id).expect("it is of this policy").to_owned()
        }
        (action, manner) => {
            assert_eq!(manner, VerdictManner::Default);
            action.to_string()
        }
    };
    assert_eq!(found, expected, "{list}");
}

#[test]
fn redirect_blocks_and_names_a_stand_in() {
    check("||a.example/ads.js$script,redirect=noop.js", "noop.js");
    check("||a.example^$redirect=noop.js", "noop.js");
    check("/ads.js$redirect=noop.js,domain=page.example", "noop.js");
    check("/ads.js$redirect=noop.js,domain=other.example", "pass");
    check("||a.example^$image,redirect=1x1.gif", "pass");
    check("||a.example^$rewrite=abp-resource:blank-js", "blank-js");
    check("||a.example^$script,empty", "empty");
}

#[test]
fn redirect_rule_waits_for_a_block() {
    let rule = "||a.example^$script,redirect-rule=noop.js";
    check(rule, "pass");
    check(&format!("{rule}\n/ads.js"), "noop.js");
    check(&format!("{rule}\n||a.example^"), "noop.js");
    check(&format!("{rule}\n||a.example^\n@@||a.example^"), "pass");
}

#[test]
fn the_highest_priority_wins_then_the_first() {
    let lines = [
        "/ads.js$redirect-rule=one.js",
        "||a.example^$redirect=two.js:5",
        "/ads*$redirect-rule=x:-1",
    ];
    check(&lines.join("\n"), "two.js");
    check("/ads.js$redirect=one.js\n||a.example^$redirect=two.js", "one.js");
    check("/ads.js$redirect=one.js\n||a.example^$redirect-rule=none:9", "block");
}

#[test]
fn exceptions_take_back_a_stand_in_but_not_the_block() {
    let rule = "||a.example^$script,redirect=noop.js";
    check(&format!("{rule}\n@@/ads.js$redirect-rule=noop.js"), "block");
    check(&format!("{rule}\n@@/ads.js$redirect-rule"), "block");
    check(&format!("{rule}\n@@/ads.js$redirect-rule=other.js"), "noop.js");
    check(&format!("{rule}\n@@/ads.js$redirect"), "pass");
}
