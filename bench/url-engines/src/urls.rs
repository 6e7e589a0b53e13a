//! The two engines side by side: loading, memory, time for a request, and where they disagree.

use crate::requests::{self, Case};
use crate::{clock, counting, median};
use adblock::lists::{FilterSet, ParseOptions, RuleTypes};
use adblock::request::Request;
use policy::{Ask, ClientProfiles, ListKind, ListSource, Policy};
use std::hint::black_box;
use std::time::Instant;
use vocab::{Action, Door, Name, Now};

const REQUESTS: usize = 9_000;
const ROUNDS: usize = 7;
const NOW: Now = Now { unix_ms: 1, mono_ms: 1 };

pub fn run(easylist: &str, easyprivacy: &str) {
    let cases = requests::make(&[easylist, easyprivacy], REQUESTS);
    let before = counting::held();
    let start = clock::cpu_seconds();
    let ours = ours(easylist, easyprivacy);
    let took = clock::cpu_seconds() - start;
    println!("load ours:    {:7.1} ms, {:6.2} MiB held", took * 1e3, mib(before));
    println!("              {}", ours.rules().memory());
    let before = counting::held();
    let start = clock::cpu_seconds();
    let brave = brave(easylist, easyprivacy);
    let took = clock::cpu_seconds() - start;
    println!("load adblock: {:7.1} ms, {:6.2} MiB held", took * 1e3, mib(before));

    let our_verdicts: Vec<bool> = cases.iter().map(|case| ask_ours(&ours, case)).collect();
    let their_verdicts: Vec<bool> = cases.iter().map(|case| ask_brave(&brave, case)).collect();
    let blocked = our_verdicts.iter().filter(|blocked| **blocked).count();
    println!(
        "{} requests, {blocked} blocked by ours, {} by adblock",
        cases.len(),
        their_verdicts.iter().filter(|blocked| **blocked).count()
    );

    let calls = counting::calls();
    cases.iter().for_each(|case| {
        black_box(ask_ours(&ours, case));
    });
    println!("allocations in {} decisions of ours: {}", cases.len(), counting::calls() - calls);
    let ready: Vec<Request> = cases.iter().map(request).collect();
    let mut times: [Vec<f64>; 3] = Default::default();
    for _ in 0..ROUNDS {
        times[0].push(time(cases.len(), |at| ask_ours(&ours, &cases[at])));
        times[1].push(time(cases.len(), |at| ask_brave(&brave, &cases[at])));
        times[2]
            .push(time(cases.len(), |at| brave.check_network_request(&ready[at]).should_block()));
    }
    let [ours_mean, brave_mean, brave_ready] = times.map(median);
    println!("mean for a request, median of {ROUNDS} rounds:");
    println!(
        "  ours {ours_mean:.2} µs · adblock {brave_mean:.2} µs · adblock with requests made beforehand {brave_ready:.2} µs"
    );
    let ours_each = each(&cases, |case| ask_ours(&ours, case));
    let brave_each = each(&cases, |case| ask_brave(&brave, case));
    println!("a request at a time, median / 99th of 100:");
    println!(
        "  ours {:.2} / {:.2} µs · adblock {:.2} / {:.2} µs",
        ours_each.0, ours_each.1, brave_each.0, brave_each.1
    );
    println!(
        "held after that: ours and adblock together {:.2} MiB",
        counting::held() as f64 / 1048576.0
    );
    disagreements(&ours, &cases, &our_verdicts, &their_verdicts);
}

fn ours(easylist: &str, easyprivacy: &str) -> Policy {
    let source = |name, text| ListSource { name, kind: ListKind::Block, text, files: &[] };
    let lists =
        [source("easylist", easylist.as_bytes()), source("easyprivacy", easyprivacy.as_bytes())];
    Policy::new(policy::compile(&lists, 7).into(), ClientProfiles::everyone())
}

fn brave(easylist: &str, easyprivacy: &str) -> adblock::Engine {
    let mut set = FilterSet::new(false);
    for text in [easylist, easyprivacy] {
        let options =
            ParseOptions { rule_types: RuleTypes::NetworkOnly, ..ParseOptions::default() };
        let _ = set.add_filter_list(text.to_owned(), options);
    }
    adblock::Engine::new_with_filter_set(set)
}

pub fn ask<'c>(case: &'c Case) -> Ask<'c> {
    let name = |text| Name::from_lowercase(text).expect("checked when the case was made");
    Ask {
        door: Door::Proxy,
        client: [127, 0, 0, 1].into(),
        identity: None,
        host: name(&case.host),
        kind: case.kind,
        url: Some(&case.url),
        page: Some(name(&case.page)),
    }
}

fn ask_ours(policy: &Policy, case: &Case) -> bool {
    policy.decide(&ask(case), NOW).action == Action::Block
}

fn request(case: &Case) -> Request {
    let source = format!("https://{}/", case.page);
    Request::new(&case.url, &source, case.word, "GET").expect("the cases are URLs")
}

fn ask_brave(engine: &adblock::Engine, case: &Case) -> bool {
    engine.check_network_request(&request(case)).should_block()
}

fn time(count: usize, mut ask: impl FnMut(usize) -> bool) -> f64 {
    let seconds = clock::took(|| {
        for at in 0..count {
            black_box(ask(at));
        }
    });
    seconds * 1e6 / count as f64
}

/// Median and 99th of 100 of the time of single requests, each the best of five.
fn each(cases: &[Case], mut ask: impl FnMut(&Case) -> bool) -> (f64, f64) {
    let mut times: Vec<f64> = cases
        .iter()
        .map(|case| (0..5).map(|_| wall(|| ask(case))).fold(f64::MAX, f64::min))
        .collect();
    times.sort_by(f64::total_cmp);
    (times[times.len() / 2], times[times.len() * 99 / 100])
}

/// One request by the wall clock, whose reading costs less than a request does.
fn wall(ask: impl FnOnce() -> bool) -> f64 {
    let start = Instant::now();
    black_box(ask());
    start.elapsed().as_secs_f64() * 1e6
}

fn disagreements(ours: &Policy, cases: &[Case], our: &[bool], their: &[bool]) {
    let mut shown = [0, 0];
    for ((case, our), their) in cases.iter().zip(our).zip(their) {
        if our == their {
            continue;
        }
        let side = &mut shown[usize::from(*our)];
        *side += 1;
        if *side > 25 {
            continue;
        }
        let explanation = ours.explain(&ask(case), NOW);
        println!(
            "{} blocks {} {} of {}",
            if *our { "only ours" } else { "only adblock" },
            case.word,
            case.url,
            case.page
        );
        for found in explanation.considered.iter().take(4) {
            println!("    {} ({})", found.rule.text, found.outcome);
        }
    }
    println!("disagreements: {} only adblock blocks, {} only ours", shown[0], shown[1]);
}

fn mib(before: usize) -> f64 {
    (counting::held() as f64 - before as f64) / 1_048_576.0
}
