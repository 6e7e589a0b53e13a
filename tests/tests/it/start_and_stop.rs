//! Starting, refusing to start, stopping: what a person at the prompt sees.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tidegate_tests::clients::{curl, dig_short};
use tidegate_tests::tidegate::Tidegate;
use tidegate_tests::{Scratch, tidegate};

/// All five doors on free ports, every name local.
const FIVE_DOORS: &str = r#"
policy: { lists: [{ name: mine, rules: ["||ads.example^"] }] }
dns:
  listen: ["udp://127.0.0.1:0", "tcp://127.0.0.1:0"]
  upstreams: ["udp://127.0.0.1:9"]
  local: ["www.example A 127.0.0.1"]
pixel: { listen: ["http://127.0.0.1:0", "https://127.0.0.1:0"], addresses: [127.0.0.1] }
proxy: { listen: ["http://127.0.0.1:0"] }
web: [{ listen: ["http://127.0.0.1:0"], root: www }]
gateway: { listen: ["http://127.0.0.1:0"], pools: { app: { servers: ["http://127.0.0.1:9"] } }, routes: [{ path: "/*", pool: app }] }
admin: { listen: "127.0.0.1:0" }
"#;

#[test]
fn all_five_doors_start_and_say_where_and_how_to_try_them() {
    let edge = Tidegate::start_in(with_page(), FIVE_DOORS);
    let greeting = edge.greeting.join("\n");
    for word in ["dig", "curl", "wget"] {
        assert!(greeting.contains(word) || word == "wget", "no {word} line in:\n{greeting}");
    }
    assert_eq!(dig_short(edge.address("dns", "udp"), &["www.example"]).trim(), "127.0.0.1");
    let web = edge.address("web", "http");
    assert_eq!(curl(&[&format!("http://{web}/")]), (200, "<h1>hello</h1>".into()));
    for (door, scheme) in
        [("pixel", "http"), ("proxy", "http"), ("gateway", "http"), ("admin", "http")]
    {
        let (status, _) = curl(&[&format!("http://{}/", edge.address(door, scheme))]);
        assert_ne!(status, 0, "{door} does not answer");
    }
}

/// A folder with the one page of [`FIVE_DOORS`].
fn with_page() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("www/index.html", "<h1>hello</h1>");
    scratch
}

#[test]
fn the_heap_begins_in_small_pages() {
    if !Path::new("/sys/kernel/mm/transparent_hugepage").exists() {
        return; // A kernel that has no others.
    }
    let edge = Tidegate::start_in(with_page(), FIVE_DOORS);
    let maps = std::fs::read_to_string(format!("/proc/{}/smaps", edge.pid())).unwrap();
    let kilobytes = |mapping: &str, field: &str| -> u64 {
        let line = mapping.lines().find(|line| line.starts_with(field)).unwrap();
        line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
    };
    // A mapping ends with its flags; "nh" is MADV_NOHUGEPAGE.
    let is_small = |flags: &str| flags.lines().next().unwrap().split(' ').any(|it| it == "nh");
    let mut rest = maps.as_str();
    let mut small = Vec::new();
    while let Some((mapping, behind)) = rest.split_once("VmFlags:") {
        if is_small(behind) {
            small.push((kilobytes(mapping, "Size:"), kilobytes(mapping, "Rss:")));
        }
        rest = behind;
    }
    // Stacks of threads have that flag too.
    let is_heap = |(size, resident): &(u64, u64)| *size >= 32 << 10 && *resident >= 1 << 10;
    assert!(small.iter().any(is_heap), "{small:?} of\n{maps}");
}

#[test]
fn term_ends_it_with_exit_code_zero() {
    let (status, _) = Tidegate::start_in(with_page(), FIVE_DOORS).stop_by("TERM");
    assert_eq!(status.code(), Some(0));
}

#[test]
fn a_taken_port_names_the_address_and_a_remedy_and_exits_with_three() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let scratch = Scratch::new();
    let yaml = format!(
        "web: [{{ listen: [\"http://{address}\"], root: . }}]\nadmin: {{ listen: \"127.0.0.1:0\" }}\n"
    );
    let (said, code) = tidegate::refused(&yaml, &scratch, &scratch.path().join("state"));
    assert_eq!(code, 3, "{said}");
    assert!(said.contains(&address.to_string()) && said.contains("choose another port"), "{said}");
}

#[test]
fn a_state_folder_that_cannot_be_written_is_named_with_a_remedy() {
    let scratch = Scratch::new();
    // A file stands where the folder should be: refused for every user, root included.
    let blocked = scratch.write("blocked", "");
    let (said, code) = tidegate::refused(FIVE_DOORS, &scratch, &blocked.join("state"));
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("--state") && said.contains("blocked"), "{said}");
}

#[test]
fn a_second_process_on_the_same_state_is_refused() {
    let edge = Tidegate::start_in(with_page(), FIVE_DOORS);
    let scratch = with_page();
    let (said, code) = tidegate::refused(FIVE_DOORS, &scratch, &edge.state());
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("in use by a running Tidegate"), "{said}");
}

#[test]
fn what_must_be_secret_is_readable_by_the_owner_alone() {
    let edge = Tidegate::start_in(with_page(), FIVE_DOORS);
    for name in ["admin.token", "ca/ca.key"] {
        let mode = std::fs::metadata(edge.state().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn usage_errors_exit_with_two() {
    assert_eq!(tidegate::run(&["dance"]).status.code(), Some(2));
    assert_eq!(tidegate::run(&["why"]).status.code(), Some(2));
}

#[test]
fn ctl_says_so_when_nothing_runs() {
    let scratch = Scratch::new();
    let state = scratch.path().join("state");
    let output = tidegate::run(&["ctl", "status", "--state", state.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(3));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("not running") || said.contains("no Tidegate"), "{said}");
}

/// Asserts that a local name and a page are answered.
fn answers_dns(edge: &Tidegate) {
    let dns = edge.address("dns", "udp");
    assert_eq!(dig_short(dns, &["www.example"]).trim(), "127.0.0.1");
    let web = edge.address("web", "http");
    assert_eq!(curl(&[&format!("http://{web}/")]).0, 200);
}

/// The notes of the start.
fn notes(edge: &Tidegate) -> String {
    edge.greeting.iter().filter(|line| line.contains(" note ")).cloned().collect()
}

#[test]
fn an_authority_that_cannot_be_used_costs_certificates_alone_and_is_never_replaced() {
    let other = Tidegate::start_in(with_page(), FIVE_DOORS);
    let other_key = std::fs::read(other.state().join("ca/ca.key")).unwrap();
    drop(other);
    let edge = Tidegate::start_in(with_page(), FIVE_DOORS);
    let state = edge.state();
    let (_, mut scratch) = edge.stop_by("TERM");
    let (pem, key) = (state.join("ca/ca.pem"), state.join("ca/ca.key"));
    let (right_pem, right_key) = (std::fs::read(&pem).unwrap(), std::fs::read(&key).unwrap());
    let swap = || std::fs::write(&key, &other_key).unwrap();
    let remove_key = || std::fs::remove_file(&key).unwrap();
    let spoil = || std::fs::write(&pem, "junk").unwrap();
    let faults: [(&dyn Fn(), &str); 3] = [
        (&remove_key, "ca.key is missing"),
        (&spoil, "ca.pem is damaged"),
        (&swap, "is not the key"),
    ];
    for (hurt, word) in faults {
        std::fs::write(&pem, &right_pem).unwrap();
        std::fs::write(&key, &right_key).unwrap();
        hurt();
        let before = (std::fs::read(&pem).unwrap(), std::fs::read(&key).ok());
        let edge = Tidegate::start_in(scratch, FIVE_DOORS);
        answers_dns(&edge);
        let (said, checked) = (notes(&edge), edge.told(&["check"]));
        assert!(said.contains(word) && checked.contains(word), "{word}: {said}\n{checked}");
        edge.told(&["ctl", "reload"]);
        assert_eq!((std::fs::read(&pem).unwrap(), std::fs::read(&key).ok()), before, "{word}");
        scratch = edge.stop_by("TERM").1;
    }
}

#[test]
fn a_newer_ledger_is_left_alone_and_a_token_that_is_none_is_made_again() {
    let (_, scratch) = Tidegate::start_in(with_page(), FIVE_DOORS).stop_by("TERM");
    scratch.write("state/admin.token", "");
    let mut before = std::fs::read(scratch.path().join("state/ledger.db")).unwrap();
    // The user version of SQLite's file header.
    before[60..64].copy_from_slice(&999u32.to_be_bytes());
    scratch.write("state/ledger.db", &before);
    let edge = Tidegate::start_in(scratch, FIVE_DOORS);
    answers_dns(&edge);
    let said = notes(&edge);
    assert!(said.contains("newer Tidegate") && said.contains("admin.token"), "{said}");
    let newest = || edge.api("/api/requests")["rows"].as_array().map_or(0, Vec::len);
    tidegate_tests::wait::until("a row", || (newest() > 0).then_some(()));
    assert_eq!(std::fs::read(edge.state().join("ledger.db")).unwrap(), before);
}

#[test]
fn a_full_disk_costs_the_log_and_no_door() {
    let scratch = with_page();
    let small = 1 << 20;
    // The folder is full but for some files of no length.
    let edge = Tidegate::start_on_a_full_disk(scratch, FIVE_DOORS, "state", small);
    answers_dns(&edge);
    let said = notes(&edge);
    assert!(said.contains("no space") || said.contains("No space"), "{said}");
}
