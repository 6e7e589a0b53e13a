//! A compiled pipeline as text: for people who want to see what their file became, and for tests.
//!
//! Called by the command line's check.

use super::CompiledPipeline;
use pipeline::program::{
    AfterAnswer, BlackHole, CacheKeeper, EffectTiming, EndScope, FallbackOp, GuardMatcher,
    GuardTest, NameSets, OnError, Op, OwnAnswer, PassOn, PtrAnswering, SilentAnswer, StandbyMode,
    SubnetRule, TestSense, TextComparison, TextTest, TtlRule,
};
use std::fmt::Write as _;

/// The servers, then every operation with its place.
pub fn describe(compiled: &CompiledPipeline) -> String {
    let mut out = String::new();
    for server in &compiled.servers {
        let listen: Vec<String> = server.listen.iter().map(ToString::to_string).collect();
        for entry in &server.entries {
            let place = compiled.entries.get(usize::from(entry.entry)).map_or(0, |it| it.start);
            // Writing to a String cannot fail.
            let _ = writeln!(
                out,
                "{:?} {}{} -> {place}",
                server.protocol,
                listen.join(" "),
                entry.path
            );
        }
    }
    for (place, op) in compiled.program.ops.iter().enumerate() {
        let _ = writeln!(out, "{place:4}  {}", operation(op));
    }
    let _ = writeln!(
        out,
        "{}",
        match compiled.program.default_answer {
            SilentAnswer::Refused => "else REFUSED",
            SilentAnswer::Empty => "else an empty answer",
        }
    );
    out
}

fn operation(op: &Op) -> String {
    match op {
        Op::When { tests, otherwise } => {
            format!("if not {} go to {otherwise}", all(tests, " and "))
        }
        Op::Accept(EndScope::Called) => "accept".into(),
        Op::Accept(EndScope::Everything) => "accept, end all".into(),
        Op::Return => "return".into(),
        Op::Leave => "return to the jump".into(),
        Op::End => "end".into(),
        Op::Reject { rcode, scope, .. } => match scope {
            EndScope::Called => format!("reject {rcode}"),
            EndScope::Everything => format!("reject {rcode}, end all"),
        },
        Op::Jump(to) => format!("jump {to}"),
        Op::Goto(to) => format!("go to {to}"),
        Op::Call(to) => format!("call {to}"),
        Op::Mark(marks) => format!("mark {marks:?}"),
        Op::DoorAnswer(own) => own_name(*own).into(),
        Op::Hosts { hosts, then } => format!("hosts of {} rules{}", hosts.len(), after(*then)),
        Op::Records { zone, then } => format!("{} records{}", zone.len(), after(*then)),
        Op::BlackHole { answer, then } => format!("answer {}{}", hole(answer), after(*then)),
        Op::DropResponse => "drop the answer".into(),
        Op::Ttl(TtlRule::Fixed(ttl)) => format!("ttl {ttl}"),
        Op::Ttl(TtlRule::Within(least, most)) => format!("ttl {least}-{most}"),
        Op::Redirect(rules) => format!("redirect by {} rules", rules.len()),
        Op::Subnet(rule) => subnet(rule),
        Op::PassOptions(codes) => format!("pass options {codes:?}"),
        Op::Cache { cache, keeper, then } => {
            let keeper = match keeper {
                CacheKeeper::Run => "",
                CacheKeeper::Exchange => ", kept by the exchange",
            };
            format!("cache {cache}{keeper}{}", after(*then))
        }
        Op::Forward { group, cache, then } => {
            let cache = cache.map(|it| format!(" into cache {it}")).unwrap_or_default();
            format!("forward to group {group}{cache}{}", after(*then))
        }
        Op::Fallback(it) => fallback(it),
        Op::Prefer(it) => format!("prefer type {}", it.wanted),
        Op::Sleep(long) => format!("sleep {long:?}"),
        Op::ReverseLookup { memory, pointers } => {
            let pointers = match pointers {
                PtrAnswering::Answer(_) => ", answer PTR",
                PtrAnswering::Pass => "",
            };
            format!("remember addresses in {memory}{pointers}")
        }
        Op::LearnName(rule) => format!("keep {} names in {}", rule.kind.as_str(), rule.set),
        Op::OrderAddresses(selector) => format!("order addresses by {selector}"),
        Op::Collect(collector) => format!("collect {collector}"),
        Op::Summary(title) => format!("summary {title:?}"),
        Op::Print(line) => format!("print {line:?}"),
        Op::Effect { effect, phase: EffectTiming::Now } => format!("effect {effect}"),
        Op::Effect { effect, phase: EffectTiming::End } => format!("effect {effect} at the end"),
        Op::Await { effect, on_error } => {
            let or = match on_error {
                OnError::Continue => "",
                OnError::Stop => ", or stop",
                OnError::Fail => ", or fail",
            };
            format!("wait for effect {effect}{or}")
        }
    }
}

fn own_name(own: OwnAnswer) -> &'static str {
    match own {
        OwnAnswer::Admission => "own admission",
        OwnAnswer::Records => "own records",
        OwnAnswer::Special => "own special names",
        OwnAnswer::Script => "own script",
        OwnAnswer::Policy => "own policy",
        OwnAnswer::Filter => "own filter",
        OwnAnswer::Subnet => "own client subnet",
    }
}

fn after(then: AfterAnswer) -> &'static str {
    match then {
        AfterAnswer::Next => "",
        AfterAnswer::Stop => ", end all",
    }
}

fn hole(answer: &BlackHole) -> String {
    match answer {
        BlackHole::Addresses { addresses, .. } => {
            addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        }
        BlackHole::NxDomain => "no such name".into(),
        BlackHole::Empty => "nothing".into(),
        BlackHole::Null => "null addresses".into(),
        BlackHole::Refused => "refused".into(),
    }
}

fn subnet(rule: &SubnetRule) -> String {
    let mut text = String::from("subnet");
    if rule.forward == PassOn::Pass {
        text.push_str(" of the client's option");
    }
    match rule.preset {
        Some(preset) => {
            let _ = write!(text, " {preset}");
        }
        None if rule.send == PassOn::Pass => text.push_str(" of the client"),
        None => {}
    }
    let _ = write!(text, " /{} /{}", rule.mask4, rule.mask6);
    text
}

fn fallback(it: &FallbackOp) -> String {
    let standby = match it.standby {
        StandbyMode::Always => " at once",
        StandbyMode::WhenNeeded => "",
    };
    let FallbackOp { primary, secondary, threshold, then, .. } = it;
    format!("run {primary}, after {threshold:?} {secondary}{standby}{}", after(*then))
}

fn all(tests: &[GuardTest], between: &str) -> String {
    tests.iter().map(test).collect::<Vec<_>>().join(between)
}

fn test(test: &GuardTest) -> String {
    let matcher = matcher(&test.matcher);
    match test.sense {
        TestSense::Is => matcher,
        TestSense::IsNot => format!("!{matcher}"),
    }
}

fn names(names: &NameSets) -> String {
    let rules: usize = names.sets.iter().map(|it| it.len()).sum();
    let questions: usize = names.rules.iter().map(|it| it.len()).sum();
    if questions == 0 { format!("{rules} rules") } else { format!("{rules}+{questions} rules") }
}

fn addresses(addresses: &pipeline::program::AddressSets) -> String {
    let ranges: usize = addresses.0.iter().map(|it| it.len()).sum();
    format!("{ranges} ranges")
}

fn matcher(matcher: &GuardMatcher) -> String {
    match matcher {
        GuardMatcher::Always => "_true".into(),
        GuardMatcher::Never => "_false".into(),
        GuardMatcher::Name(it) => format!("qname({})", names(it)),
        GuardMatcher::Type(codes) => format!("qtype{codes:?}"),
        GuardMatcher::Class(codes) => format!("qclass{codes:?}"),
        GuardMatcher::Client(it) => format!("client_ip({})", addresses(it)),
        GuardMatcher::ResponseAddress(it) => format!("resp_ip({})", addresses(it)),
        GuardMatcher::PointerAddress(it) => format!("ptr_ip({})", addresses(it)),
        GuardMatcher::Alias(it) => format!("cname({})", names(it)),
        GuardMatcher::Rcode(codes) => format!("rcode{codes:?}"),
        GuardMatcher::HasResponse => "has_resp".into(),
        GuardMatcher::HasWantedAnswer => "has_wanted_ans".into(),
        GuardMatcher::Mark(marks) => format!("mark{marks:?}"),
        GuardMatcher::Random(bound) => format!("random({:.4})", *bound as f64 / 4_294_967_296.0),
        GuardMatcher::RateLimit(_) => "rate_limiter".into(),
        GuardMatcher::Text(it) => text(it),
        GuardMatcher::Any(tests) => format!("({})", all(tests, " or ")),
    }
}

fn text(it: &TextTest) -> String {
    let source = format!("{:?}", it.source);
    match &it.comparison {
        TextComparison::Empty => format!("{source} empty"),
        TextComparison::Equal(words) => format!("{source} = {words:?}"),
        TextComparison::Prefix(words) => format!("{source} begins {words:?}"),
        TextComparison::Suffix(words) => format!("{source} ends {words:?}"),
        TextComparison::Contains(words) => format!("{source} holds {words:?}"),
        TextComparison::Regexp(set) => format!("{source} matches {:?}", set.patterns()),
    }
}
