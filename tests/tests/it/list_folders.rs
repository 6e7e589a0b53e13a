//! A list that is a folder: which files count, what explanations name, and when it is read again.

use std::net::Ipv4Addr;
use std::path::Path;
use tidegate_tests::clients::dig_short;
use tidegate_tests::resolver::{Reply, Resolver};
use tidegate_tests::tidegate::Tidegate;
use tidegate_tests::{Scratch, tidegate};

const CONFIG: &str = "policy: { lists: [{ name: house, path: lists.d }] }\n";

/// What a command that needs no running Tidegate prints, and complains of.
fn said(scratch: &Scratch, config: &Path, args: &[&str]) -> (bool, String) {
    let state = scratch.path().join("state");
    let place = ["--config", config.to_str().unwrap(), "--state", state.to_str().unwrap()];
    let output = tidegate::run(&[args, &place[..]].concat());
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

#[test]
fn why_names_the_file_of_a_folder_and_the_line_in_it() {
    let scratch = Scratch::new();
    let config = scratch.write("t.yaml", CONFIG);
    scratch.write("lists.d/10-ads.txt", "! ours\n||ads.example^");
    scratch.write("lists.d/20-more.hosts", "0.0.0.0 more.example\n");
    scratch.write("lists.d/.hidden.txt", "||hidden.example^\n");
    scratch.write("lists.d/notes.md", "||notes.example^\n");
    scratch.write("lists.d/below/deep.txt", "||deep.example^\n");
    scratch.write("lists.d/folder.txt/deep.txt", "||deep.example^\n");
    let why = |name: &str| said(&scratch, &config, &["why", name]).1;
    for (name, place) in [
        ("x.ads.example", "line 2 of list \"house/10-ads.txt\""),
        ("more.example", "line 1 of list \"house/20-more.hosts\""),
    ] {
        assert!(why(name).contains(place), "{}", why(name));
    }
    for name in ["hidden.example", "notes.example", "deep.example"] {
        assert!(why(name).contains("passes: no rule"), "{}", why(name));
    }
    // What was compiled before is not taken for what is there now, though the text is the same.
    let folder = scratch.path().join("lists.d");
    std::fs::rename(folder.join("20-more.hosts"), folder.join("30-more.hosts")).unwrap();
    assert!(why("more.example").contains("house/30-more.hosts"), "{}", why("more.example"));
    scratch.write("lists.d/20-new.list", "new.example\n");
    assert!(why("new.example").contains("house/20-new.list"), "{}", why("new.example"));
    std::fs::remove_file(folder.join("30-more.hosts")).unwrap();
    assert!(why("more.example").contains("passes: no rule"), "{}", why("more.example"));
}

#[test]
fn check_says_that_a_folder_is_empty_or_too_full_and_names_a_file_that_is_no_list() {
    let scratch = Scratch::new();
    let config = scratch.write("t.yaml", CONFIG);
    scratch.write("lists.d/notes.md", "||notes.example^\n");
    let (is_right, told) = said(&scratch, &config, &["check"]);
    assert!(is_right && told.contains("list house: the folder"), "{told}");
    assert!(told.contains("has no file whose name ends in .txt, .list or .hosts"), "{told}");
    scratch.write("lists.d/a.txt", "||a.example^\n");
    let (is_right, told) = said(&scratch, &config, &["check"]);
    assert!(is_right && !told.contains("list house"), "{told}");
    scratch.write("lists.d/b.txt", "<!doctype html><html><body>moved</body></html>");
    let (is_right, told) = said(&scratch, &config, &["check"]);
    assert!(!is_right && told.contains("b.txt: it is a web page"), "{told}");
    assert!(told.contains("policy.lists.0.path:"), "{told}");
    scratch.write("lists.d/b.txt", "||b.example^\n");
    for number in 0..998 {
        scratch.write(&format!("lists.d/{number}.list"), "");
    }
    let (is_right, told) = said(&scratch, &config, &["check"]);
    assert!(is_right, "a thousand are allowed: {told}");
    scratch.write("lists.d/one-more.list", "");
    let (is_right, told) = said(&scratch, &config, &["check"]);
    assert!(!is_right && told.contains("more than the 1000 lists"), "{told}");
}

#[test]
fn an_update_reads_the_folder_again() {
    let reply = Reply::Address(Ipv4Addr::new(192, 0, 2, 10));
    let upstream = Resolver::start(&[("new.example", reply)]);
    let scratch = Scratch::new();
    scratch.write("lists.d/a.txt", "||a.example^\n");
    let yaml = format!(
        "{CONFIG}dns: {{ listen: [\"udp://127.0.0.1:0\"], upstreams: [\"udp://{}\"] }}\n\
         admin: {{ listen: \"127.0.0.1:0\" }}\n",
        upstream.address
    );
    let edge = Tidegate::start_in(scratch, &yaml);
    let dns = edge.address("dns", "udp");
    assert_eq!(dig_short(dns, &["new.example"]).trim(), "192.0.2.10");
    assert_eq!(edge.told(&["lists", "update"]).trim(), "house: same");
    let folder = edge.config.parent().unwrap().join("lists.d");
    std::fs::write(folder.join("b.list"), "new.example\n").unwrap();
    assert_eq!(edge.told(&["lists", "update", "house"]).trim(), "house: changed");
    assert_eq!(dig_short(dns, &["new.example"]).trim(), "");
    std::fs::write(folder.join("c.list"), "<!doctype html><html></html>").unwrap();
    let refused = edge.command(&["lists", "update"]);
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && why.contains("c.list: it is a web page"), "{why}");
    assert_eq!(dig_short(dns, &["new.example"]).trim(), "", "the rules of before");
}
