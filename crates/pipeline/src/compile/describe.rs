//! A compiled pipeline as text: for people who want to see what their file became, and for tests.
//!
//! Called by the command line's check.

use super::Compiled;
use crate::program::{
    BlackHole, Comparison, Fallback, Keeper, Matcher, Names, OnError, Op, Own, Passing, Phase,
    Pointers, Scope, Sense, Silence, Standby, SubnetRule, Test, TextTest, Then, TtlRule,
};
use std::fmt::Write as _;

/// The servers, then every operation with its place.
pub fn describe(compiled: &Compiled) -> String {
    let mut out = String::new();
    for server in &compiled.servers {
        let listen: Vec<String> = server.listen.iter().map(ToString::to_string).collect();
        for entry in &server.entries {
            let place = compiled.entries.get(usize::from(entry.entry)).map_or(0, |it| it.place);
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
        match compiled.program.silence {
            Silence::Refused => "else REFUSED",
            Silence::Empty => "else an empty answer",
        }
    );
    out
}

fn operation(op: &Op) -> String {
    match op {
        Op::When { tests, otherwise } => {
            format!("if not {} go to {otherwise}", all(tests, " and "))
        }
        Op::Accept(Scope::Called) => "accept".into(),
        Op::Accept(Scope::Everything) => "accept, end all".into(),
        Op::Return => "return".into(),
        Op::Leave => "return to the jump".into(),
        Op::End => "end".into(),
        Op::Reject { rcode, scope, .. } => match scope {
            Scope::Called => format!("reject {rcode}"),
            Scope::Everything => format!("reject {rcode}, end all"),
        },
        Op::Jump(to) => format!("jump {to}"),
        Op::Goto(to) => format!("go to {to}"),
        Op::Call(to) => format!("call {to}"),
        Op::Mark(marks) => format!("mark {marks:?}"),
        Op::Own(own) => own_name(*own).into(),
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
                Keeper::Run => "",
                Keeper::Exchange => ", kept by the exchange",
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
                Pointers::Answer(_) => ", answer PTR",
                Pointers::Pass => "",
            };
            format!("remember addresses in {memory}{pointers}")
        }
        Op::Collect(collector) => format!("collect {collector}"),
        Op::Summary(title) => format!("summary {title:?}"),
        Op::Print(line) => format!("print {line:?}"),
        Op::Effect { effect, phase: Phase::Now } => format!("effect {effect}"),
        Op::Effect { effect, phase: Phase::End } => format!("effect {effect} at the end"),
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

fn own_name(own: Own) -> &'static str {
    match own {
        Own::Admission => "own admission",
        Own::Records => "own records",
        Own::Special => "own special names",
        Own::Policy => "own policy",
        Own::Filter => "own filter",
        Own::Subnet => "own client subnet",
    }
}

fn after(then: Then) -> &'static str {
    match then {
        Then::Next => "",
        Then::Stop => ", end all",
    }
}

fn hole(answer: &BlackHole) -> String {
    match answer {
        BlackHole::Addresses { addresses, .. } => {
            addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        }
        BlackHole::NoSuchName => "no such name".into(),
        BlackHole::Empty => "nothing".into(),
        BlackHole::Null => "null addresses".into(),
        BlackHole::Refused => "refused".into(),
    }
}

fn subnet(rule: &SubnetRule) -> String {
    let mut text = String::from("subnet");
    if rule.forward == Passing::Pass {
        text.push_str(" of the client's option");
    }
    match rule.preset {
        Some(preset) => {
            let _ = write!(text, " {preset}");
        }
        None if rule.send == Passing::Pass => text.push_str(" of the client"),
        None => {}
    }
    let _ = write!(text, " /{} /{}", rule.mask4, rule.mask6);
    text
}

fn fallback(it: &Fallback) -> String {
    let standby = match it.standby {
        Standby::Always => " at once",
        Standby::WhenNeeded => "",
    };
    let Fallback { primary, secondary, threshold, then, .. } = it;
    format!("run {primary}, after {threshold:?} {secondary}{standby}{}", after(*then))
}

fn all(tests: &[Test], between: &str) -> String {
    tests.iter().map(test).collect::<Vec<_>>().join(between)
}

fn test(test: &Test) -> String {
    let matcher = matcher(&test.matcher);
    match test.sense {
        Sense::Is => matcher,
        Sense::IsNot => format!("!{matcher}"),
    }
}

fn names(names: &Names) -> String {
    let rules: usize = names.sets.iter().map(|it| it.len()).sum();
    let questions: usize = names.rules.iter().map(|it| it.len()).sum();
    if questions == 0 { format!("{rules} rules") } else { format!("{rules}+{questions} rules") }
}

fn addresses(addresses: &crate::program::Addresses) -> String {
    let ranges: usize = addresses.0.iter().map(|it| it.len()).sum();
    format!("{ranges} ranges")
}

fn matcher(matcher: &Matcher) -> String {
    match matcher {
        Matcher::Always => "_true".into(),
        Matcher::Never => "_false".into(),
        Matcher::Name(it) => format!("qname({})", names(it)),
        Matcher::Type(codes) => format!("qtype{codes:?}"),
        Matcher::Class(codes) => format!("qclass{codes:?}"),
        Matcher::Client(it) => format!("client_ip({})", addresses(it)),
        Matcher::ResponseAddress(it) => format!("resp_ip({})", addresses(it)),
        Matcher::PointerAddress(it) => format!("ptr_ip({})", addresses(it)),
        Matcher::Alias(it) => format!("cname({})", names(it)),
        Matcher::Rcode(codes) => format!("rcode{codes:?}"),
        Matcher::HasResponse => "has_resp".into(),
        Matcher::HasWantedAnswer => "has_wanted_ans".into(),
        Matcher::Mark(marks) => format!("mark{marks:?}"),
        Matcher::Random(bound) => format!("random({:.4})", *bound as f64 / 4_294_967_296.0),
        Matcher::RateLimit(_) => "rate_limiter".into(),
        Matcher::Text(it) => text(it),
        Matcher::Any(tests) => format!("({})", all(tests, " or ")),
    }
}

fn text(it: &TextTest) -> String {
    let source = format!("{:?}", it.source);
    match &it.comparison {
        Comparison::Empty => format!("{source} empty"),
        Comparison::Equal(words) => format!("{source} = {words:?}"),
        Comparison::Prefix(words) => format!("{source} begins {words:?}"),
        Comparison::Suffix(words) => format!("{source} ends {words:?}"),
        Comparison::Contains(words) => format!("{source} holds {words:?}"),
        Comparison::Regexp(set) => format!("{source} matches {:?}", set.patterns()),
    }
}
