//! The four lists from text, and back from a snapshot.

use crate::{clock, counting, median, read};
use policy::{ListKind, ListSource, RuleSet};
use std::path::Path;

const ROUNDS: usize = 7;

pub fn run(dir: &Path) {
    let files = ["adservers.hosts", "easylist.txt", "easyprivacy.txt", "malwaredomains.txt"];
    let texts: Vec<String> = files.iter().map(|name| read(dir, name)).collect();
    let lists: Vec<ListSource<'_>> = files
        .iter()
        .zip(&texts)
        .map(|(name, text)| ListSource {
            name,
            kind: ListKind::Block,
            text: text.as_bytes(),
            files: &[],
        })
        .collect();
    let rules = policy::compile(&lists, 7);
    for report in rules.lists() {
        println!(
            "{}: {} lines of {}, {} rules of names, {} of URLs, skipped {:?}",
            report.name,
            report.lines,
            report.syntax,
            report.rules_names,
            report.rules_urls,
            report.skipped_by_reason
        );
        for line in report.skipped.iter().filter(|line| {
            !matches!(line.reason, policy::SkipReason::Cosmetic | policy::SkipReason::NeedsBrowser)
        }) {
            println!("    {} {:?} {}", line.line, line.reason, line.text);
        }
    }
    println!("{}", rules.memory());
    let bytes = rules.to_snapshot([0; 32]);
    let timed = |work: &dyn Fn()| median((0..ROUNDS).map(|_| clock::took(work) * 1e3).collect());
    println!("compile: {:.1} ms", timed(&|| drop(policy::compile(&lists, 7))));
    println!(
        "write a snapshot of {} bytes: {:.1} ms",
        bytes.len(),
        timed(&|| drop(rules.to_snapshot([0; 32])))
    );
    let load = || RuleSet::from_snapshot(&bytes, [0; 32]).expect("written just now");
    println!("read it: {:.1} ms", timed(&|| drop(load())));
    drop(rules);
    let before = counting::held();
    let loaded = load();
    println!("held once read: {:.2} MiB", (counting::held() - before) as f64 / 1_048_576.0);
    drop(loaded);
}
