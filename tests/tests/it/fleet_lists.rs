//! Lists of a fleet, compiled where they are published.

use super::fleet::{Fleet, blocking, free, is_blocked, until_in_force};
use std::path::PathBuf;
use tidegate_tests::tidegate::Tidegate;
use tidegate_tests::wait;

/// A fleet that compiles its lists.
fn compiling() -> Fleet {
    let fleet = Fleet::new();
    let file = fleet.scratch.path().join("home/fleet.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    fleet.write("fleet.yaml", &format!("{text}compiled_lists: true\n"));
    fleet.write("lists/ads.txt", "||ads.example^\n||tracker.example^\n");
    fleet
}

fn compiled_file(edge: &Tidegate, revision: u64) -> PathBuf {
    let revision = edge.state().join(format!("fleet/revisions/{revision}/.compiled"));
    let mut files = std::fs::read_dir(revision).unwrap();
    let first = files.next().unwrap().unwrap().path();
    assert!(files.next().is_none());
    first
}

#[test]
fn lists_are_compiled_once_and_machines_take_them_over() {
    let (fleet, dns) = (compiling(), free());
    fleet.write("tidegate.yaml", &blocking("first.example", dns));
    assert!(fleet.publish(&[]).contains("revision 1: "));
    let edge = Tidegate::start(&fleet.own_file("a", ""));
    until_in_force(&edge, 1);
    wait::until("the lists", || is_blocked(dns, "tracker.example"));
    let (_, scratch) = edge.stop_by("KILL");
    let edge = Tidegate::start_in(scratch, &fleet.own_file("a", ""));
    assert!(edge.greets("2 lists with 3 rules, from the bundle"), "{:?}", edge.greeting);
    assert!(is_blocked(dns, "first.example").is_some());
    assert!(is_blocked(dns, "other.example").is_none());
    // The folder is what was published, though the bundle has a file more.
    let said = Fleet::tell(&["diff", &fleet.folder()]);
    assert!(said.contains("the folder is revision 1"), "{said}");

    // Half a file is none.
    let file = compiled_file(&edge, 1);
    let bytes = std::fs::read(&file).unwrap();
    let (_, scratch) = edge.stop_by("TERM");
    std::fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    let edge = Tidegate::start_in(scratch, &fleet.own_file("a", ""));
    assert!(edge.greets("2 lists with 3 rules, compiled"), "{:?}", edge.greeting);
    assert!(is_blocked(dns, "tracker.example").is_some());
}

#[test]
fn a_machine_with_a_list_of_its_own_compiles_as_ever() {
    let (fleet, dns) = (compiling(), free());
    fleet.write("tidegate.yaml", &blocking("first.example", dns));
    fleet.publish(&[]);
    let own = "policy: { lists: [{ name: mine, rules: [\"||mine.example^\"] }] }\n";
    let edge = Tidegate::start(&fleet.own_file("a", own));
    until_in_force(&edge, 1);
    wait::until("its own list", || is_blocked(dns, "mine.example"));
    let (_, scratch) = edge.stop_by("TERM");
    std::fs::remove_file(scratch.path().join("state/policy.snapshot")).unwrap();
    let edge = Tidegate::start_in(scratch, &fleet.own_file("a", own));
    assert!(edge.greets("rules, compiled"), "{:?}", edge.greeting);
}

#[test]
fn what_each_machine_fetches_is_not_compiled_for_it() {
    let (fleet, dns) = (compiling(), free());
    let lists = "policy: { lists: [{ name: far, url: \"http://127.0.0.1:9/far.txt\" }] }\n";
    fleet.write("tidegate.yaml", &format!("{lists}dns: {{ listen: [\"udp://{dns}\"] }}\n"));
    let said = fleet.publish(&[]);
    assert!(said.contains("each edge fetches the list \"far\" by itself"), "{said}");
    let manifest = std::fs::read_to_string(format!("{}/latest.json", fleet.place)).unwrap();
    assert!(!manifest.contains(".compiled"));
}
