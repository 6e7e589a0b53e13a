//! The machine against a world of the test's own: what runs, in which order, and what comes out.

use crate::support;

use dns_wire::{DnsQuery, KeyBuffer, WireAnswer, record_type, reply};
use pipeline::machine::{self, pointer_address};
use pipeline::program::*;
use pipeline::records::RedirectTable;
use pipeline::sets::LearnedKind;
use pipeline::state::{RunFailure, RunResponse, RunState, RunStep, RunWait, WaitOutcome};
use std::sync::Arc;
use std::time::Duration;
use support::*;
use vocab::{Name, NameBuffer, Source};

const ACCEPT: Op = Op::Accept(EndScope::Called);
const CACHE: Op = Op::Cache { cache: 0, keeper: CacheKeeper::Run, then: AfterAnswer::Next };
const FORWARD: Op = Op::Forward { group: 3, cache: None, then: AfterAnswer::Next };

#[test]
fn tests_guard_what_follows() {
    let run = |matcher: GuardMatcher, sense| {
        Bench::new(vec![when(matcher, sense, 2), reject(5), reject(2)]).done().rcode()
    };
    assert_eq!(run(GuardMatcher::Always, TestSense::Is), Some(5));
    assert_eq!(run(GuardMatcher::Never, TestSense::Is), Some(2));
    assert_eq!(run(GuardMatcher::Never, TestSense::IsNot), Some(5));
    assert_eq!(run(GuardMatcher::Type([1, 28].into()), TestSense::Is), Some(5));
    // CAA is 257: a peer that keeps only the low byte takes it for A.
    assert_eq!(run(GuardMatcher::Type([257].into()), TestSense::Is), Some(2));
    assert_eq!(run(GuardMatcher::HasResponse, TestSense::Is), Some(2));
    assert_eq!(run(GuardMatcher::Random(0), TestSense::Is), Some(2));
    assert_eq!(run(GuardMatcher::Random(1 << 32), TestSense::Is), Some(5));
    let text = |source, comparison| GuardMatcher::Text(TextTest { source, comparison });
    let equal = |word: &str| TextComparison::Equal([word.into()].into());
    assert_eq!(run(text(TextSource::Type, equal("1")), TestSense::Is), Some(5));
    assert_eq!(run(text(TextSource::Client, equal("192.0.2.77")), TestSense::Is), Some(5));
    let prefix = TextComparison::Prefix(["kids.".into()].into());
    assert_eq!(run(text(TextSource::ServerName, prefix), TestSense::Is), Some(5));
    assert_eq!(
        run(text(TextSource::ResponseAddress, TextComparison::Empty), TestSense::Is),
        Some(5)
    );
}

#[test]
fn a_black_hole_answers_its_family_and_ttls_are_changed() {
    let mut bench = Bench::new(vec![hole("192.0.2.1"), Op::Ttl(TtlRule::Fixed(60)), Op::End]);
    assert_eq!(bench.done().addresses(), [ip("192.0.2.1")]);
    assert_eq!(reply::least_ttl(&bench.out), Some(60));
    let mut bench = Bench::new(vec![hole("192.0.2.1")]).asking("www.test", record_type::AAAA);
    assert_eq!(bench.done().rcode(), None);
}

#[test]
fn a_dropped_answer_is_gone_and_another_may_follow() {
    let mut bench = Bench::new(vec![hole("192.0.2.1"), Op::DropResponse, hole("192.0.2.2")]);
    assert_eq!(bench.done().addresses(), [ip("192.0.2.2")]);
}

#[test]
fn a_jump_comes_back_a_goto_does_not_and_return_leads_back() {
    let there = || [Op::Print("there".into()), Op::Return, reject(9)];
    let ops = |enter: Op| [enter, reject(2), Op::End].into_iter().chain(there()).collect();
    let mut bench = Bench::new(ops(Op::Jump(3)));
    assert_eq!(bench.done().rcode(), Some(2));
    assert_eq!(bench.world.told, ["there: www.test"]);
    assert_eq!(Bench::new(ops(Op::Goto(3))).done().rcode(), None);
}

#[test]
fn an_accept_ends_a_call_or_everything_as_its_scope_says() {
    let ops = |scope| vec![Op::Call(3), reject(2), Op::End, hole("192.0.2.1"), Op::Accept(scope)];
    assert_eq!(Bench::new(ops(EndScope::Called)).done().rcode(), Some(2));
    assert_eq!(Bench::new(ops(EndScope::Everything)).done().addresses(), [ip("192.0.2.1")]);
}

#[test]
fn what_wraps_a_jumped_sequence_wraps_the_rest_and_a_called_one_only_itself() {
    let ops = |enter: Op| {
        vec![enter, Op::Print("rest".into()), Op::End, Op::Summary("summary".into()), Op::End]
    };
    let mut bench = Bench::new(ops(Op::Jump(3)));
    assert_eq!(bench.done().world.told, ["rest: www.test", "summary false: www.test"]);
    let mut bench = Bench::new(ops(Op::Call(3)));
    assert_eq!(bench.done().world.told, ["summary false: www.test", "rest: www.test"]);
}

#[test]
fn an_answer_that_another_replaces_is_gone_from_the_message() {
    let blocked = vec![hole("192.0.2.1"), FORWARD, Op::End];
    let called = vec![Op::Call(3), FORWARD, Op::End, hole("192.0.2.1"), ACCEPT];
    for ops in [blocked, called] {
        let mut bench = Bench::new(ops);
        assert!(matches!(bench.run(), RunStep::Wait(RunWait::Forward { .. })));
        let answer = WireAnswer::from_response(&response(&bench.message, "192.0.2.9")).unwrap();
        let arrived = WaitOutcome::Answer(Arc::new(answer), 0, Source::Upstream);
        machine::arrive(&bench.program, &mut bench.state, arrived);
        assert_eq!(bench.done().addresses(), [ip("192.0.2.9")]);
        assert!(matches!(bench.state.response(), RunResponse::Kept(..)) && bench.out.is_empty());
    }

    // A hit of the cache, too, and a failure.
    let mut bench = Bench::new(vec![hole("192.0.2.1"), CACHE, Op::End]);
    let mut key = KeyBuffer::new();
    let message = bench.message.clone();
    DnsQuery::parse(&message, &mut NameBuffer::new()).unwrap().key(&mut key);
    bench.world.cache.insert(key.as_bytes().into(), response(&message, "192.0.2.9"));
    assert_eq!(bench.done().addresses(), [ip("192.0.2.9")]);
    assert!(bench.out.is_empty());
    let mut bench = Bench::new(vec![hole("192.0.2.1"), FORWARD, Op::End]);
    assert!(matches!(bench.run(), RunStep::Wait(RunWait::Forward { .. })));
    machine::arrive(&bench.program, &mut bench.state, WaitOutcome::Failed(RunFailure::Upstream));
    bench.done();
    assert!(matches!(bench.state.response(), RunResponse::Nothing) && bench.out.is_empty());

    // The door's own answer stands alone as well.
    let door = Op::DoorAnswer(OwnAnswer::Policy);
    let mut bench = Bench::new(vec![hole("192.0.2.1"), door, Op::End]).asking("blocked.test", 1);
    assert_eq!(bench.done().rcode(), Some(3));
    assert!(bench.addresses().is_empty());
}

/// `cache`, `has_resp` → `accept`, `forward`, as nearly every mosdns file has it.
fn cached_forward() -> Vec<Op> {
    vec![CACHE, when(GuardMatcher::HasResponse, TestSense::Is, 3), ACCEPT, FORWARD, Op::End]
}

#[test]
fn what_was_not_cached_is_forwarded_and_kept_as_it_left() {
    let mut ops = cached_forward();
    ops.insert(4, Op::Ttl(TtlRule::Within(0, 20)));
    let mut bench = Bench::new(ops);
    let step = bench.run();
    let RunStep::Wait(RunWait::Forward { group: 3, cache: None, ref key, .. }) = step else {
        panic!("{step:?}");
    };
    assert_eq!(key[..10], *b"\x03www\x04test\0");
    let answer = WireAnswer::from_response(&response(&bench.message, "192.0.2.9")).unwrap();
    let arrived = WaitOutcome::Answer(Arc::new(answer), 0, Source::Upstream);
    machine::arrive(&bench.program, &mut bench.state, arrived);
    assert_eq!(bench.done().addresses(), [ip("192.0.2.9")]);
    assert_eq!(reply::least_ttl(&bench.out), Some(20));

    // The second is a hit, ten seconds old, and stops at the accept.
    bench.state = RunState::new(0);
    bench.out.clear();
    assert_eq!(bench.done().addresses(), [ip("192.0.2.9")]);
    assert!(matches!(bench.state.response(), RunResponse::Kept(_, 10)));
    assert_eq!(bench.state.source(), Source::Cache);
}

#[test]
fn a_stale_answer_goes_out_and_the_rest_is_run_again() {
    let mut bench = Bench::new(cached_forward());
    let message = bench.message.clone();
    let mut key = KeyBuffer::new();
    DnsQuery::parse(&message, &mut NameBuffer::new()).unwrap().key(&mut key);
    bench.world.cache.insert(key.as_bytes().into(), response(&message, "192.0.2.1"));
    bench.world.stale = true;
    assert_eq!(bench.done().state.source(), Source::Stale);
    bench.state = bench.world.renewals.pop().unwrap();
    bench.world.cache.clear();
    assert!(matches!(bench.run(), RunStep::Wait(RunWait::Forward { .. })));
    let answer = WireAnswer::from_response(&response(&message, "192.0.2.2")).unwrap();
    let arrived = WaitOutcome::Answer(Arc::new(answer), 0, Source::Upstream);
    machine::arrive(&bench.program, &mut bench.state, arrived);
    bench.done();
    assert_eq!(bench.world.cache.len(), 1, "the renewed answer is kept");
}

#[test]
fn a_failed_exchange_ends_everything_and_is_not_kept() {
    let mut bench = Bench::new(vec![CACHE, Op::Call(3), reject(2), FORWARD, Op::End]);
    assert!(matches!(bench.run(), RunStep::Wait(RunWait::Forward { .. })));
    machine::arrive(&bench.program, &mut bench.state, WaitOutcome::Failed(RunFailure::Upstream));
    assert_eq!(bench.done().state.failure(), Some(RunFailure::Upstream));
    assert!(bench.world.cache.is_empty());
}

#[test]
fn a_redirect_asks_for_another_name_and_answers_for_the_first() {
    let rules = Arc::new(RedirectTable::parse(&["full:www.test target.example"]).unwrap());
    let asked = Op::Print("asked".into());
    let mut bench = Bench::new(vec![Op::Redirect(rules), asked, hole("192.0.2.1"), ACCEPT]);
    assert_eq!(bench.done().addresses(), [ip("192.0.2.1")]);
    assert_eq!(bench.world.told, ["asked: target.example"]);
    let answer = WireAnswer::from_response(&bench.out).unwrap();
    assert!(answer.matches(&bench.message[12..]));
    assert_eq!(answer.aliases()[0].as_str(), "target.example");
}

#[test]
fn the_policy_answers_and_ends_the_run() {
    let ops = vec![Op::DoorAnswer(OwnAnswer::Policy), FORWARD];
    let mut bench = Bench::new(ops).asking("blocked.test", record_type::A);
    assert_eq!(bench.done().rcode(), Some(3));
    assert_eq!(bench.state.source(), Source::Policy);
}

#[test]
fn a_pointer_question_is_answered_from_memory() {
    let lookup = || Op::ReverseLookup { memory: 1, pointers: PtrAnswering::Answer(30) };
    let mut bench = Bench::new(vec![lookup(), hole("192.0.2.1")])
        .asking("1.2.0.192.in-addr.arpa", record_type::PTR);
    bench.world.remembered = Some("www.test");
    bench.done();
    assert!(reply::has_type(&bench.out, record_type::PTR));
    let mut bench = Bench::new(vec![lookup(), hole("192.0.2.1")]);
    assert_eq!(bench.done().world.told, ["learn 1: www.test"]);
}

#[test]
fn the_family_that_is_not_preferred_is_blank_where_the_other_is_known() {
    let prefer = FamilyPreference { wanted: record_type::A, patience: Duration::from_millis(500) };
    let bench = || Bench::new(vec![Op::Prefer(prefer.clone()), hole("192.0.2.1")]);
    assert_eq!(bench().done().world.told, ["preferred 1: www.test"]);
    let mut known = bench().asking("www.test", record_type::AAAA);
    known.world.preferred = true;
    assert_eq!((known.done().rcode(), known.addresses().len()), (Some(0), 0));
    let mut unknown = bench().asking("www.test", record_type::AAAA);
    assert!(matches!(unknown.run(), RunStep::Wait(RunWait::Prefer { rest: 1, .. })));
    machine::arrive(&unknown.program, &mut unknown.state, WaitOutcome::Blank);
    assert_eq!((unknown.done().rcode(), unknown.addresses().len()), (Some(0), 0));
}

#[test]
fn client_subnet_goes_to_upstreams() {
    let rule = |preset: Option<&str>, send| {
        let (forward, preset) = (PassOn::Pass, preset.map(ip));
        Op::Subnet(SubnetRule { forward, send, preset, mask4: 20, mask6: 48 })
    };
    let options = |op: Op, edns: &[u8]| {
        let mut bench = Bench::new(vec![op, FORWARD]);
        bench.message = question("www.test", record_type::A, edns);
        match bench.run() {
            RunStep::Wait(RunWait::Forward { options, .. }) => options.into_vec(),
            other => panic!("{other:?}"),
        }
    };
    let preset = options(rule(Some("198.51.100.7"), PassOn::Keep), &[]);
    assert_eq!(preset, [0, 8, 0, 7, 0, 1, 20, 0, 198, 51, 96]);
    let own = options(rule(None, PassOn::Pass), &[]);
    assert_eq!(own, [0, 8, 0, 7, 0, 1, 20, 0, 192, 0, 0]);
    assert!(options(rule(None, PassOn::Keep), &[]).is_empty());
    let subnet = [0, 8, 0, 7, 0, 1, 24, 0, 203, 0, 113];
    let edns = [&[0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 11][..], &subnet].concat();
    assert_eq!(options(rule(Some("198.51.100.7"), PassOn::Pass), &edns), subnet);
    assert_eq!(options(Op::PassOptions([8].into()), &edns), subnet);
    assert!(options(Op::PassOptions([10].into()), &edns).is_empty());
}

#[test]
fn too_deep_or_too_long_a_program_fails_instead_of_running_on() {
    for ops in [vec![Op::Jump(0)], vec![Op::Goto(0)], vec![Op::Summary("x".into()), Op::Goto(0)]] {
        assert_eq!(Bench::new(ops).done().state.failure(), Some(RunFailure::Program));
    }
}

#[test]
fn only_what_nothing_changes_is_kept_by_the_exchange() {
    let keeper = |ops: Vec<Op>, entries: &[Place]| {
        let mut program = Bench::new(ops).program;
        program.link(entries);
        let cache = program.ops.iter().find_map(|op| match op {
            Op::Cache { keeper, .. } => Some(*keeper),
            _ => None,
        });
        cache.unwrap()
    };
    assert_eq!(keeper(cached_forward(), &[0]), CacheKeeper::Exchange);
    let before = |op| {
        vec![op, CACHE, when(GuardMatcher::HasResponse, TestSense::Is, 4), ACCEPT, FORWARD, Op::End]
    };
    let skipped = |to| Op::When { tests: Box::new([]), otherwise: to };
    assert_eq!(keeper(before(skipped(1)), &[0]), CacheKeeper::Exchange, "to the cache");
    assert_eq!(keeper(before(skipped(4)), &[0]), CacheKeeper::Run, "past the cache");
    let changed = vec![CACHE, FORWARD, Op::Ttl(TtlRule::Fixed(1)), Op::End];
    assert_eq!(keeper(changed, &[0]), CacheKeeper::Run);
    let joined = vec![CACHE, FORWARD, Op::End, Op::Jump(0), reject(2)];
    assert_eq!(keeper(joined, &[0, 3]), CacheKeeper::Run);
}

#[test]
fn names_of_reverse_zones_stand_for_addresses() {
    let address = |text: &str| pointer_address(Name::from_lowercase(text).unwrap());
    assert_eq!(address("1.2.0.192.in-addr.arpa"), Some(ip("192.0.2.1")));
    assert_eq!(address("2.0.192.in-addr.arpa"), None);
    assert_eq!(address("x.2.0.192.in-addr.arpa"), None);
    let zeros = "0.".repeat(23);
    assert_eq!(address(&format!("1.{zeros}8.b.d.0.1.0.0.2.ip6.arpa")), Some(ip("2001:db8::1")));
    assert_eq!(address("1.ip6.arpa"), None);
}

/// Addresses for every name, the first of two.
fn both(then: AfterAnswer) -> Op {
    let addresses = [ip("192.0.2.1"), ip("192.0.2.2")].into();
    let answer = BlackHole::Addresses { addresses, ttl: 300, misfits: HoleMisfits::Pass };
    Op::BlackHole { answer, then }
}

#[test]
fn an_answer_waits_on_its_way_back_and_then_goes_on() {
    // The wait comes where a forward stands that would end everything: it must not be taken for it.
    let mut bench = Bench::new(vec![
        Op::Collect(7),
        Op::OrderAddresses(3),
        both(AfterAnswer::Stop),
        Op::Forward { group: 0, cache: None, then: AfterAnswer::Stop },
    ]);
    bench.world.unmeasured = vec![ip("192.0.2.1")];
    let step = bench.run();
    let RunStep::Wait(RunWait::Order { selector: 3, unknown }) = step else { panic!("{step:?}") };
    assert_eq!(*unknown, [ip("192.0.2.1")]);
    // Neither is it lost where too many wait.
    let overloaded = WaitOutcome::Failed(RunFailure::Overloaded);
    machine::arrive(&bench.program, &mut bench.state, overloaded);
    bench.done();
    assert_eq!(bench.addresses(), [ip("192.0.2.1"), ip("192.0.2.2")]);
    assert_eq!(bench.world.told, ["order 2 by 3: www.test", "collected 7: www.test"]);
}

#[test]
fn one_address_and_other_types_are_not_put_in_order() {
    let mut bench = Bench::new(vec![Op::OrderAddresses(3), hole("192.0.2.1")]);
    bench.done();
    let mut bench = Bench::new(vec![Op::OrderAddresses(3), both(AfterAnswer::Next)]);
    let mut other = bench.asking("www.test", 28);
    other.done();
    bench =
        Bench::new(vec![Op::Call(2), reject(3), Op::OrderAddresses(3), both(AfterAnswer::Next)]);
    bench.world.unmeasured = vec![ip("192.0.2.1")];
    assert!(other.world.told.is_empty());
    // In a sequence that was called, the run goes on behind the call.
    assert!(matches!(bench.run(), RunStep::Wait(RunWait::Order { .. })));
    machine::arrive(&bench.program, &mut bench.state, WaitOutcome::Nothing);
    assert_eq!(bench.done().rcode(), Some(3));
}

#[test]
fn a_question_passes_many_wrappers_and_comes_back_through_all() {
    let count = WRAPPERS_MAX as u16;
    let mut ops: Vec<Op> = (0..count).map(Op::Collect).collect();
    ops.push(hole("192.0.2.1"));
    let mut bench = Bench::new(ops);
    assert_eq!(bench.done().addresses(), [ip("192.0.2.1")]);
    let told: Vec<_> = (0..count).rev().map(|it| format!("collected {it}: www.test")).collect();
    assert_eq!(bench.world.told, told);
    // What was checked never has more; what was not fails.
    let mut bench = Bench::new((0..=count).map(Op::Collect).collect());
    bench.done();
    assert_eq!(bench.state.failure(), Some(RunFailure::Program));
}

fn learning(timing: EffectTiming, wait: Option<Duration>) -> Op {
    Op::LearnName(Arc::new(LearnRule {
        set: 4,
        kind: LearnedKind::Full,
        types: [1, 28].into(),
        timing,
        success: true,
        records: true,
        wait,
        on_error: OnError::Continue,
    }))
}

#[test]
fn names_are_learnt_before_the_rest_or_from_its_answer() {
    const KEPT: &str = "keep in 4: www.test";
    let told = |ops, qtype| Bench::new(ops).asking("www.test", qtype).done().world.told.clone();
    let now = || learning(EffectTiming::Now, None);
    let end = || learning(EffectTiming::End, None);
    assert_eq!(told(vec![now()], 1), [KEPT]);
    assert_eq!(told(vec![end(), hole("192.0.2.1")], 1), [KEPT]);
    let nothing: [&str; 0] = [];
    // Another type, no answer, an empty one, a failure.
    assert_eq!(told(vec![now(), end(), hole("192.0.2.1")], 16), nothing);
    assert_eq!(told(vec![end()], 1), nothing);
    assert_eq!(told(vec![end(), reject(0)], 1), nothing);
    assert_eq!(told(vec![end(), reject(3)], 1), nothing);
}

#[test]
fn a_name_that_must_be_kept_first_is_waited_for_on_either_way() {
    for timing in [EffectTiming::Now, EffectTiming::End] {
        let op = learning(timing, Some(Duration::from_secs(1)));
        let mut bench = Bench::new(vec![op, hole("192.0.2.1")]);
        let step = bench.run();
        let RunStep::Wait(RunWait::LearnName { rule, name }) = step else { panic!("{step:?}") };
        assert_eq!((rule.set, &*name), (4, "www.test"));
        machine::arrive(&bench.program, &mut bench.state, WaitOutcome::Nothing);
        assert_eq!(bench.done().addresses(), [ip("192.0.2.1")], "{timing:?}");
        let op = learning(timing, Some(Duration::from_secs(1)));
        let mut bench = Bench::new(vec![op, hole("192.0.2.1")]);
        bench.run();
        let failed = WaitOutcome::Failed(RunFailure::Effect);
        machine::arrive(&bench.program, &mut bench.state, failed);
        assert_eq!(bench.done().state.failure(), Some(RunFailure::Effect), "{timing:?}");
    }
}
