//! Compiled sequences, run: the order of things is that of the dialect they were written in.

use crate::foreign;
#[allow(dead_code, reason = "the machine's own tests use the rest")]
use crate::support;

use foreign::{compiled, with};
use pipeline::state::{RunResponse, RunState};
use support::Bench;

/// The response code that `www.test A` gets; none without an answer.
fn rcode(text: &str) -> Option<u16> {
    run(text).rcode()
}

fn run(text: &str) -> Bench {
    let made = compiled(text);
    let mut bench = Bench::new(Vec::new());
    bench.state = RunState::new(made.entries[0].start);
    bench.program = made.program;
    bench.done();
    bench
}

fn both(plugins: &str, rules: &str) -> (Option<u16>, Option<u16>) {
    let text = with(plugins, rules);
    (rcode(&text), rcode(&format!("runtime: {{}}\n{text}")))
}

#[test]
fn an_accept_ends_the_called_sequence_in_mosdns_and_everything_in_oxidns() {
    let sub = "- { tag: sub, type: sequence, args: [ { exec: accept }, { exec: reject 1 } ] }";
    assert_eq!(both(sub, "- exec: $sub\n- exec: reject 3"), (Some(3), None));
    let sub = "- { tag: sub, type: sequence, args: [ { exec: reject 2 } ] }";
    assert_eq!(both(sub, "- exec: $sub\n- exec: reject 3"), (Some(3), Some(2)));
}

#[test]
fn an_accept_behind_a_jump_ends_who_jumped_too() {
    let sub = "- { tag: sub, type: sequence, args: [ { exec: accept } ] }";
    assert_eq!(both(sub, "- exec: jump sub\n- exec: reject 3"), (None, None));
}

#[test]
fn a_jump_comes_back_and_a_goto_does_not() {
    let sub = "- { tag: sub, type: sequence, args: [ { exec: mark 1 } ] }";
    let marked = "{ matches: mark 1, exec: reject 3 }";
    assert_eq!(both(sub, &format!("- exec: jump sub\n- {marked}")), (Some(3), Some(3)));
    assert_eq!(both(sub, &format!("- exec: goto sub\n- {marked}")), (None, None));
}

#[test]
fn a_goto_behind_a_jump_never_comes_back_in_mosdns() {
    let subs = "- { tag: end, type: sequence, args: [ { exec: mark 1 } ] }\n\
                - { tag: sub, type: sequence, args: [ { exec: goto end } ] }";
    assert_eq!(both(subs, "- exec: jump sub\n- exec: reject 3"), (None, Some(3)));
    let subs = "- { tag: end, type: sequence, args: [ { exec: return } ] }\n\
                - { tag: sub, type: sequence, args: [ { exec: goto end } ] }";
    assert_eq!(both(subs, "- exec: jump sub\n- exec: reject 3"), (None, Some(3)));
}

#[test]
fn a_return_goes_back_to_whoever_jumped() {
    let sub = "- { tag: sub, type: sequence, args: [ { exec: return }, { exec: reject 2 } ] }";
    assert_eq!(both(sub, "- exec: jump sub\n- exec: reject 3"), (Some(3), Some(3)));
    // Run on its own it just ends in mosdns; in OxiDNS nobody jumped, so all of it ends.
    assert_eq!(both(sub, "- exec: $sub\n- exec: reject 3"), (Some(3), None));
    let subs = "- { tag: inner, type: sequence, args: [ { exec: return } ] }\n\
                - { tag: outer, type: sequence, args: [ { exec: $inner }, { exec: reject 2 } ] }";
    assert_eq!(both(subs, "- exec: jump outer\n- exec: reject 3"), (Some(2), Some(3)));
    assert_eq!(
        both(
            &subs.replace("$inner", "query_summary in }, { exec: $inner"),
            "- exec: jump outer\n- exec: reject 3"
        ),
        (Some(2), Some(3))
    );
}

#[test]
fn what_wraps_the_rest_wraps_who_jumped_in_mosdns_only() {
    let sub = "- { tag: sub, type: sequence, args: [ { exec: query_summary in } ] }";
    let text = with(sub, "- exec: jump sub\n- exec: debug_print out");
    let told = |text: &str| {
        let told = run(text).world.told;
        told.iter().map(|it| it.split(':').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(told(&text), ["out", "in false"]);
    assert_eq!(told(&format!("runtime: {{}}\n{text}")), ["in false", "out"]);
    let called = text.replace("jump sub", "$sub");
    assert_eq!(told(&called), ["in false", "out"]);
}

#[test]
fn a_hit_goes_on_unless_it_is_to_stop() {
    let text = with("- { tag: cache, type: cache }", "- exec: $cache\n- exec: reject 3");
    let again = |text: &str| {
        let made = compiled(text);
        let mut bench = Bench::new(Vec::new());
        bench.program = made.program;
        let place = made.entries[0].start;
        bench.world.cache = run(&text.replace("reject 3", "black_hole 192.0.2.1")).world.cache;
        assert_eq!(bench.world.cache.len(), 1);
        bench.state = RunState::new(place);
        bench.done();
        bench.rcode()
    };
    assert_eq!(again(&text), Some(3));
    let stops = "- { tag: cache, type: cache, args: { short_circuit: true } }";
    assert_eq!(again(&with(stops, "- exec: $cache\n- exec: reject 3")), Some(0));
}

#[test]
fn a_redirect_is_undone_on_the_way_back() {
    let text = with(
        "- { tag: there, type: redirect, args: { rules: [\"full:www.test target.test\"] } }\n\
         - { tag: zone, type: arbitrary, args: { rules: [\"target.test. 60 IN A 192.0.2.10\"] } }",
        "- exec: $there\n- exec: $zone\n- { matches: has_resp, exec: accept }\n- exec: reject 2",
    );
    let bench = run(&text);
    assert_eq!(bench.rcode(), Some(0));
    assert_eq!(bench.addresses(), [support::ip("192.0.2.10")]);
    assert!(matches!(bench.state.response(), RunResponse::Made));
    assert!(bench.state.target().is_none());
}

#[test]
fn tests_are_asked_from_left_to_right_and_all_must_hold() {
    let rule = |tests: &str| {
        rcode(&with(
            "- { tag: none, type: cache }",
            &format!(
                "- exec: mark 7\n- {{ matches: [{tests}], exec: reject 1 }}\n- exec: reject 2"
            ),
        ))
    };
    assert_eq!(rule("mark 7, \"!has_resp\", qtype 1 28, \"client_ip 192.0.2.0/24\""), Some(1));
    assert_eq!(rule("mark 7, has_resp"), Some(2));
    assert_eq!(rule("qname www.test keyword:zzz, \"!mark 8\""), Some(1));
    assert_eq!(rule("\"string_exp server_name prefix kids.\""), Some(1));
}
