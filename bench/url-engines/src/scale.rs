//! The whole policy at the size of the goals: five million names and 200,000 rules about URLs, made
//! from the shapes of the real lists, in the memory of a process that does nothing else.

use crate::dice::Dice;
use crate::{clock, counting, median, names, read, requests, urls};
use policy::{Ask, ClientProfiles, ListKind, ListSource, Policy, RuleSet};
use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;
use vocab::{Action, Name, Now};

const NAMES: usize = 5_000_000;
const URL_RULES: usize = 200_000;
/// Each name is asked for once: no cache helps.
const LOOKUPS: usize = 1_000_000;
/// And these over and over: all that they need is in the caches.
const WARM: usize = 1_000;
const REQUESTS: usize = 30_000;
const ROUNDS: usize = 5;
const NOW: Now = Now { unix_ms: 1, mono_ms: 1 };
const KEY: [u8; 32] = [0; 32];

pub fn run(dir: &Path) {
    let mut dice = Dice(0x5eed);
    let text = names_text(&mut dice);
    let real = format!("{}\n{}", read(dir, "easylist.txt"), read(dir, "easyprivacy.txt"));
    let rules = rules_about_urls(&real, &mut dice);
    let list = |name, text: &'static str| ListSource {
        name,
        kind: ListKind::Block,
        text: text.as_bytes(),
        files: &[],
    };
    // Leaked, so that the texts are known to be no part of what is measured: they count before.
    let (text, about_urls): (&'static str, &'static str) = (text.leak(), rules.leak());
    let lists = [list("names", text), list("urls", about_urls)];
    let before = resident();
    let (rules, seconds) = clocked(|| policy::compile(&lists, 7));
    println!("compiled in {:.0} ms, {}", seconds * 1e3, rules.memory());
    println!("resident: {:.0} MiB more than before", resident() - before);
    for report in rules.lists() {
        println!("  {}: {} names, {} URLs", report.name, report.rules_names, report.rules_urls);
    }
    again(&rules, &lists, about_urls);
    beside(&rules, &lists, text);
    let rules = snapshot(rules);
    let policy = Policy::new(rules.into(), ClientProfiles::everyone());
    ask_names(&policy, text, &mut dice);
    ask_urls(&policy, &real);
}

/// What it takes to compile when one list of the two has changed.
fn again(rules: &RuleSet, lists: &[ListSource<'_>; 2], urls: &str) {
    let longer = format!("{urls}||one-more.example^$script\n");
    let changed = [lists[0], ListSource { text: longer.as_bytes(), ..lists[1] }];
    let (new, seconds) = clocked(|| policy::recompile(rules, &changed));
    println!("compiled anew with the list of URLs changed: {:.0} ms", seconds * 1e3);
    assert_eq!(new.lists()[1].rules_urls, rules.lists()[1].rules_urls + 1);
}

/// How much memory a refresh takes while the rules of before are still in force: the longer list
/// has changed, and is in memory as it came.
fn beside(rules: &RuleSet, lists: &[ListSource<'_>; 2], names: &str) {
    let base = resident();
    // The highest mark from now on (proc_pid_clear_refs(5)).
    std::fs::write("/proc/self/clear_refs", "5").expect("every Linux has it");
    let longer = format!("{names}||one-more.example^\n");
    let changed = [ListSource { text: longer.as_bytes(), ..lists[0] }, lists[1]];
    let (new, seconds) = clocked(|| policy::recompile(rules, &changed));
    println!(
        "compiled anew with the list of names changed: {:.0} ms, at its highest {:.0} MiB more than \
         before, {:.0} MiB of them the list's text",
        seconds * 1e3,
        status("VmHWM:") - base,
        longer.len() as f64 / f64::from(1 << 20)
    );
    assert_eq!(new.lists()[0].rules_names, rules.lists()[0].rules_names + 1);
}

fn snapshot(rules: RuleSet) -> RuleSet {
    let path = std::env::temp_dir().join("tidegate-bench.snapshot");
    std::fs::write(&path, rules.to_snapshot(KEY)).expect("there is room for a snapshot");
    drop(rules);
    let before = resident();
    let mut loaded: Option<RuleSet> = None;
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        drop(loaded.take());
        let start = Instant::now();
        let cpu = clock::cpu_seconds();
        let bytes = std::fs::read(&path).expect("it was just written");
        loaded = Some(RuleSet::from_snapshot(&bytes, KEY).expect("it was just written"));
        times.push(((clock::cpu_seconds() - cpu) * 1e3, start.elapsed().as_secs_f64() * 1e3));
    }
    times.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (cpu, wall) = times[times.len() / 2];
    println!(
        "snapshot read from its file: {cpu:.0} ms of processor time, {wall:.0} ms by the clock"
    );
    println!(
        "resident once read: {:.0} MiB more than before, {:.0} MiB in all",
        resident() - before,
        resident()
    );
    let _ = std::fs::remove_file(&path);
    loaded.expect("there is at least one round")
}

fn ask_names(policy: &Policy, text: &str, dice: &mut Dice) {
    let listed: Vec<&str> = text.lines().collect();
    let listed: Vec<String> =
        (0..LOOKUPS).map(|_| dice.pick(&listed).trim_matches(['|', '^']).to_owned()).collect();
    let below: Vec<String> =
        listed.iter().take(LOOKUPS / 2).map(|name| format!("cdn.{name}")).collect();
    let misses: Vec<String> = (0..LOOKUPS).map(|_| format!("www.{}", names::name(dice))).collect();
    for (kind, hosts) in
        [("listed", &listed), ("below a listed one", &below), ("unlisted", &misses)]
    {
        ask_each(policy, kind, hosts);
        ask_each(policy, &format!("{kind}, warm"), &hosts[..WARM]);
    }
}

fn ask_each(policy: &Policy, kind: &str, hosts: &[String]) {
    // Close together, so that the reading of the questions costs little beside the answers.
    let text: String = hosts.concat();
    let mut rest = text.as_str();
    let mut names = Vec::new();
    for host in hosts {
        let (name, after) = rest.split_at(host.len());
        names.push(Name::from_lowercase(name).expect("made of names"));
        rest = after;
    }
    let turns = LOOKUPS / names.len();
    let calls = counting::calls();
    let mut blocked = 0;
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        blocked = 0;
        let seconds = clock::took(|| {
            for name in (0..turns).flat_map(|_| &names) {
                let verdict = policy.decide(&Ask::lookup(*name, 1, [127, 0, 0, 1].into()), NOW);
                blocked += usize::from(black_box(verdict).action == Action::Block);
            }
        });
        times.push(seconds * 1e9 / (turns * names.len()) as f64);
    }
    let least = times.iter().copied().fold(f64::MAX, f64::min);
    println!(
        "{kind}: {:.0} ns a name (least of {ROUNDS} rounds {least:.0}), {blocked} of {} blocked, {} allocations",
        median(times),
        turns * names.len(),
        counting::calls() - calls
    );
}

fn ask_urls(policy: &Policy, real: &str) {
    let cases = requests::make(&[real], REQUESTS);
    let mut each = vec![f64::MAX; cases.len()];
    let mut means = Vec::new();
    for _ in 0..ROUNDS {
        let start = clock::cpu_seconds();
        for (case, best) in cases.iter().zip(&mut each) {
            let ask = urls::ask(case);
            let at = Instant::now();
            black_box(policy.decide(&ask, NOW));
            *best = best.min(at.elapsed().as_secs_f64() * 1e6);
        }
        means.push((clock::cpu_seconds() - start) * 1e6 / cases.len() as f64);
    }
    each.sort_by(f64::total_cmp);
    println!(
        "{} URLs: median {:.2} µs, 99th of 100 {:.2} µs, mean of all {:.2} µs",
        cases.len(),
        each[each.len() / 2],
        each[each.len() * 99 / 100],
        median(means)
    );
}

fn names_text(dice: &mut Dice) -> String {
    let mut text = String::new();
    for number in 0..NAMES {
        // A number makes each distinct; the rest has the lengths of real ones.
        let name = names::name(dice);
        let (first, rest) = name.split_once('.').expect("a name of two labels at least");
        let _ = writeln!(text, "||{first}{number:x}.{rest}^");
    }
    text
}

/// RuleSet in the shapes of the real ones: each is one of them with its words changed.
fn rules_about_urls(real: &str, dice: &mut Dice) -> String {
    let shapes: Vec<&str> = real
        .lines()
        .filter(|line| !line.contains('#') && !line.starts_with(['!', '[', '@']))
        .filter(|line| !line.starts_with('/') || !line.contains("/$"))
        .filter(|line| !(line.starts_with("||") && line.ends_with('^')))
        .filter(|line| line.len() > 8 && !line.starts_with('$'))
        .collect();
    let mut text = String::from("[Adblock Plus 2.0]\n");
    for number in 0..URL_RULES {
        let shape = dice.pick(&shapes);
        let (pattern, options) =
            shape.split_once('$').map_or((*shape, None), |(a, b)| (a, Some(b)));
        // The first word of five letters or more gets another ending.
        let word = pattern
            .split(|c: char| !c.is_ascii_alphanumeric())
            .find(|word| word.len() > 4)
            .unwrap_or_default();
        let changed = if word.is_empty() {
            format!("{pattern}{}", dice.word(4))
        } else {
            pattern.replacen(word, &format!("{}{}{number:x}", &word[..3], dice.word(2)), 1)
        };
        let _ = match options {
            Some(options) => writeln!(text, "{changed}${options}"),
            None => writeln!(text, "{changed}"),
        };
    }
    text
}

/// What some work made, and the seconds of processor time it took.
fn clocked<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = clock::cpu_seconds();
    let made = work();
    (made, clock::cpu_seconds() - start)
}

/// MiB of memory that the kernel says are this process's own.
fn resident() -> f64 {
    status("VmRSS:")
}

/// A line of the process's status, in MiB.
fn status(key: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("every Linux has it");
    let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse().unwrap_or(0.0) / 1024.0
}
