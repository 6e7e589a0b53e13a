//! What a name costs, in memory and in time, at three sizes.

use crate::dice::Dice;
use crate::{clock, counting, median, read};
use policy::{Ask, ClientProfiles, ListKind, ListSource, Policy};
use std::hint::black_box;
use std::path::Path;
use vocab::{Action, Name, Now};

const NOW: Now = Now { unix_ms: 1, mono_ms: 1 };
const LOOKUPS: usize = 200_000;
const ROUNDS: usize = 7;

pub fn run(dir: &Path) {
    let files = ["adservers.hosts", "easylist.txt", "easyprivacy.txt", "malwaredomains.txt"];
    let texts: Vec<String> = files.iter().map(|name| read(dir, name)).collect();
    let listed: Vec<String> = texts
        .iter()
        .flat_map(|text| text.lines())
        .filter_map(|line| {
            let name = line.strip_prefix("0.0.0.0 ").unwrap_or(line);
            let name =
                name.strip_prefix("||").and_then(|rest| rest.strip_suffix('^')).unwrap_or(name);
            Name::from_lowercase(name).is_ok().then(|| name.to_owned())
        })
        .collect();
    let lists: Vec<&str> = texts.iter().map(String::as_str).collect();
    measure("the four lists", &lists, &listed);
    expressions(dir);
    for count in [1_000_000, 5_000_000] {
        let mut dice = Dice(0x5eed);
        let names: Vec<String> = (0..count).map(|_| name(&mut dice)).collect();
        let text: String = names.iter().map(|name| format!("||{name}^\n")).collect();
        measure(&format!("{count} names"), &[&text], &names);
    }
}

/// The names and regular expressions of the DNS comparison's rule sets, which lie beside the lists.
fn expressions(dir: &Path) {
    let dir = dir.join("../dns-compare/data");
    let sets = [read(&dir, "geosite_cn.txt"), read(&dir, "geosite_geolocation-!cn.txt")];
    let (mut rules, mut listed) = (String::new(), Vec::new());
    for line in sets.iter().flat_map(|text| text.lines()) {
        if let Some(expression) = line.strip_prefix("regexp:") {
            rules += &format!("/{expression}/\n");
            continue;
        }
        let name = line.rsplit(':').next().unwrap_or_default();
        if Name::from_lowercase(name).is_ok() {
            rules += &format!("||{name}^\n");
            listed.push(name.to_owned());
        }
    }
    measure("a set of names and 163 expressions", &[&rules], &listed);
}

/// A name such as lists are full of: two or three labels under a few suffixes.
pub fn name(dice: &mut Dice) -> String {
    const SUFFIXES: &[&str] = &["com", "net", "org", "co.uk", "ru", "xyz", "de", "info"];
    let length = 6 + dice.roll(10);
    let label = dice.word(length);
    let suffix = dice.pick(SUFFIXES);
    match dice.roll(3) {
        0 => format!("{label}.{suffix}"),
        1 => format!("ads.{label}.{suffix}"),
        _ => {
            let length = 3 + dice.roll(6);
            format!("{}.{label}.{suffix}", dice.word(length))
        }
    }
}

fn measure(what: &str, texts: &[&str], listed: &[String]) {
    let before = counting::held();
    let start = clock::cpu_seconds();
    let lists: Vec<ListSource<'_>> = texts
        .iter()
        .map(|text| ListSource {
            name: what,
            kind: ListKind::Block,
            text: text.as_bytes(),
            files: &[],
        })
        .collect();
    let policy = Policy::new(policy::compile(&lists, 7).into(), ClientProfiles::everyone());
    let took = clock::cpu_seconds() - start;
    let held = (counting::held() - before) as f64 / 1_048_576.0;
    let memory = policy.rules().memory();
    println!("{what}: compiled in {:.0} ms, {held:.1} MiB held, {memory}", took * 1e3);
    let mut dice = Dice(0xd1ce);
    let hits: Vec<String> = (0..LOOKUPS).map(|_| dice.pick(listed).clone()).collect();
    let misses: Vec<String> = (0..LOOKUPS).map(|_| format!("www.{}", name(&mut dice))).collect();
    for (kind, hosts) in [("listed", &hits), ("unlisted", &misses)] {
        let names: Vec<Name<'_>> =
            hosts.iter().map(|host| Name::from_lowercase(host).expect("made of names")).collect();
        let calls = counting::calls();
        let means = (0..ROUNDS).map(|_| {
            let mut blocked = 0;
            let seconds = clock::took(|| {
                for host in &names {
                    let verdict = policy.decide(&Ask::lookup(*host, 1, [127, 0, 0, 1].into()), NOW);
                    blocked += usize::from(black_box(verdict).action == Action::Block);
                }
            });
            (seconds * 1e9 / names.len() as f64, blocked)
        });
        let means: Vec<(f64, usize)> = means.collect();
        let blocked = means[0].1;
        let allocated = counting::calls() - calls;
        let means: Vec<f64> = means.into_iter().map(|(mean, _)| mean).collect();
        let least = means.iter().copied().fold(f64::MAX, f64::min);
        let mean = median(means);
        println!(
            "  {kind}: {mean:.0} ns a decision (least {least:.0}), {blocked} of {} blocked, {allocated} allocations",
            names.len()
        );
    }
}
