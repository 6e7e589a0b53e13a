//! The configuration's files through the admin API: judged, applied together, gone back in, and
//! never half written.

use crate::made_settings::send;
use serde_json::{Value as Json, json};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use tidegate_tests::Scratch;
use tidegate_tests::clients::{curl, dig_short};
use tidegate_tests::tidegate::Tidegate;
use tidegate_tests::wait;

const MAIN: &str = "# The edge of example.net.\n\
                    include: [dns.yaml]\n\
                    admin: { listen: \"127.0.0.1:0\", config_edits: on }\n";
const DNS: &str = "dns: # names\n  listen: [\"udp://127.0.0.1:0\"] # here\n  upstreams: \
                   [\"udp://127.0.0.1:9\"]\n  timeout: 100ms\n  local:\n    - \"nas.lan A \
                   192.0.2.7\" # the shelf\n";

/// A Tidegate that may write its two files.
fn start(main: &str, dns: &str) -> Tidegate {
    let scratch = Scratch::new();
    let more = scratch.write("dns.yaml", dns);
    start_in(scratch, main, &more)
}

fn start_in(scratch: Scratch, main: &str, more: &Path) -> Tidegate {
    let edge = Tidegate::start_in(scratch, main);
    let owner = std::fs::metadata(format!("/proc/{}", edge.pid())).unwrap();
    for file in [&edge.config, more] {
        if file.metadata().unwrap().uid() != owner.uid() {
            chown(file, Some(owner.uid()), Some(owner.gid())).unwrap();
        }
    }
    edge
}

fn dns_file(edge: &Tidegate) -> PathBuf {
    edge.scratch.path().join("dns.yaml")
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// A file as it is listed.
fn listed(edge: &Tidegate, path: &Path) -> Json {
    let files = edge.api("/api/configuration/files");
    let name = path.display().to_string();
    let found = files["files"].as_array().unwrap().iter().find(|it| it["path"] == name.as_str());
    found.unwrap_or_else(|| panic!("{files}")).clone()
}

/// The file with another text, from the revision that it has now.
fn draft(edge: &Tidegate, path: &Path, text: &str) -> Json {
    let revision = listed(edge, path)["revision"].clone();
    json!({ "path": path.display().to_string(), "text": text, "revision": revision })
}

fn apply(edge: &Tidegate, files: &[Json], why: &str) -> (u16, Json) {
    let sent = json!({ "files": files, "why": why });
    send(edge, "POST", "/api/configuration/apply", &sent)
}

/// Where files are applied, and the field that lets somebody.
fn apply_url(edge: &Tidegate) -> (String, String) {
    let token = text(&edge.state().join("admin.token"));
    let url = format!("http://{}/api/configuration/apply", edge.address("admin", "http"));
    (url, format!("Authorization: Bearer {}", token.trim()))
}

fn look_up(edge: &Tidegate, name: &str) -> String {
    dig_short(edge.address("dns", "udp"), &[name]).trim().to_owned()
}

fn history(edge: &Tidegate) -> Vec<Json> {
    edge.api("/api/configuration/history")["changes"].as_array().unwrap().clone()
}

#[test]
fn files_are_judged_applied_and_gone_back_to_with_comments_and_rights_kept() {
    let edge = start(MAIN, DNS);
    let (main, dns) = (edge.config.clone(), dns_file(&edge));
    std::fs::set_permissions(&dns, std::fs::Permissions::from_mode(0o640)).unwrap();
    let owner = dns.metadata().unwrap().uid();
    assert_eq!(look_up(&edge, "nas.lan"), "192.0.2.7");
    let kinds: Vec<_> =
        [&main, &dns].map(|path| listed(&edge, path)["kind"].as_str().unwrap().to_owned()).into();
    assert_eq!(kinds, ["main", "included"]);

    let new = DNS.replace("192.0.2.7", "192.0.2.8");
    let file = draft(&edge, &dns, &new);
    let (status, told) =
        send(&edge, "POST", "/api/configuration/check", &json!({ "files": [file] }));
    assert_eq!((status, &told["complaints"]), (200, &json!([])), "{told}");
    assert_eq!(told["differences"][0]["path"], "dns.local", "{told}");
    assert_eq!(text(&dns), DNS, "a check touches nothing");

    let (status, told) = apply(&edge, &[draft(&edge, &dns, &new)], "the shelf has moved");
    assert_eq!((status, &told["number"]), (200, &json!(1)), "{told}");
    assert_eq!(look_up(&edge, "nas.lan"), "192.0.2.8");
    assert_eq!(text(&dns), new);
    let facts = dns.metadata().unwrap();
    assert_eq!((facts.mode() & 0o777, facts.uid()), (0o640, owner));
    let left: Vec<_> = std::fs::read_dir(edge.scratch.path()).unwrap().collect();
    assert_eq!(left.len(), 3, "two files and the state folder: {left:?}");

    let told = &history(&edge)[0];
    assert_eq!((&told["who"], &told["from"]), (&json!("admin.token"), &json!("127.0.0.1")));
    assert_eq!(told["why"], "the shelf has moved");
    let change = edge.api("/api/configuration/history/1");
    assert_eq!(change["texts"][0]["before"], DNS);
    assert_eq!(change["texts"][0]["after"], new.as_str());

    edge.told(&["ctl", "set", "ledger.keep", "7d"]);
    let told = &history(&edge)[0];
    assert_eq!(
        (&told["number"], &told["files"][0]),
        (&json!(2), &json!(main.display().to_string()))
    );
    let back = json!({ "why": "it is back" });
    let (status, told) = send(&edge, "POST", "/api/configuration/history/1/restore", &back);
    assert_eq!((status, &told["number"]), (200, &json!(3)), "{told}");
    assert_eq!((text(&dns).as_str(), text(&main).as_str()), (DNS, MAIN), "both changes");
    assert_eq!(look_up(&edge, "nas.lan"), "192.0.2.7");
}

#[test]
fn what_is_wrong_is_told_with_its_place_and_changes_nothing() {
    let edge = start(MAIN, DNS);
    let (main, dns) = (edge.config.clone(), dns_file(&edge));
    let wrong = DNS.replace("  timeout: 100ms", "  timeot: 100ms");
    let good = format!("{MAIN}ledger: {{ keep: 7d }}\n");
    let files = [draft(&edge, &main, &good), draft(&edge, &dns, &wrong)];
    for path in ["check", "apply", "replay"] {
        let sent = json!({ "files": files });
        let (status, told) = send(&edge, "POST", &format!("/api/configuration/{path}"), &sent);
        let places = if path == "check" { &told["complaints"] } else { &told["places"] };
        assert_eq!(status, if path == "check" { 200 } else { 422 }, "{told}");
        let place = &places[0];
        assert_eq!(place["file"], dns.display().to_string(), "{told}");
        assert_eq!((&place["line"], &place["column"]), (&json!(4), &json!(3)), "{told}");
        assert!(place["remedy"].as_str().unwrap().contains("timeout"), "{told}");
    }
    assert_eq!((text(&main).as_str(), text(&dns).as_str()), (MAIN, DNS));
    // It is right as a text, and only the reload finds that the address is taken.
    let taken = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let busy = DNS.replace("127.0.0.1:0", &taken.local_addr().unwrap().to_string());
    let (status, told) = apply(&edge, &[draft(&edge, &main, &good), draft(&edge, &dns, &busy)], "");
    assert_eq!(status, 422, "{told}");
    assert_eq!((text(&main).as_str(), text(&dns).as_str()), (MAIN, DNS), "both are put back");
    assert!(history(&edge).is_empty());
    assert_eq!(look_up(&edge, "nas.lan"), "192.0.2.7");
    let block = format!("{MAIN}policy: {{ default: {{ otherwise: block }} }}\n");
    let files = [draft(&edge, &main, &block)];
    let (status, told) = apply(&edge, &files, "");
    assert_eq!((status, told["asks"].as_array().map(Vec::len)), (409, Some(1)), "{told}");
    assert_eq!(text(&main), MAIN);
    let sent = json!({ "files": files, "confirm": true });
    let (status, told) = send(&edge, "POST", "/api/configuration/apply", &sent);
    assert_eq!(status, 200, "{told}");
}

#[test]
fn of_two_editors_one_is_told_what_the_other_has_written() {
    let edge = start(MAIN, DNS);
    let dns = dns_file(&edge);
    let (one, two) = (DNS.replace("192.0.2.7", "192.0.2.1"), DNS.replace("192.0.2.7", "192.0.2.2"));
    let drafts = [draft(&edge, &dns, &one), draft(&edge, &dns, &two)];
    let (url, bearer) = apply_url(&edge);
    let threads = drafts.map(|draft| {
        let (url, bearer) = (url.clone(), bearer.clone());
        let body = json!({ "files": [draft] }).to_string();
        let json = "Content-Type: application/json";
        std::thread::spawn(move || curl(&["-H", &bearer, "-H", json, "-d", &body, &url]))
    });
    let answers = threads.map(|thread| {
        let (status, text) = thread.join().unwrap();
        (status, serde_json::from_str::<Json>(&text).unwrap())
    });
    let won = answers.iter().position(|(status, _)| *status == 200).unwrap();
    let (status, told) = &answers[1 - won];
    assert_eq!(*status, 409, "{told}");
    let written = [one, two][won].clone();
    assert_eq!(told["changed"][0]["text"], written.as_str());
    assert_eq!(text(&dns), written);
    assert_eq!(history(&edge).len(), 1);
    // The same holds for an editor beside it.
    let file = draft(&edge, &dns, DNS);
    let mine = written.replace("# names", "# by hand");
    std::fs::write(&dns, &mine).unwrap();
    let (status, told) = apply(&edge, &[file], "");
    assert_eq!((status, &told["changed"][0]["text"]), (409, &json!(mine)), "{told}");
    edge.told(&["ctl", "reload"]);
    assert_eq!(history(&edge)[0]["who"], "outside");
}

#[test]
fn a_configuration_that_takes_no_changes_says_how_it_would() {
    let edge = start(&MAIN.replace("config_edits: on", "config_edits: off"), DNS);
    let files = edge.api("/api/configuration/files");
    assert!(files["remedy"].as_str().unwrap().contains("config_edits: on"), "{files}");
    let dns = dns_file(&edge);
    let file = listed(&edge, &dns);
    assert!(file["text"] == DNS && file["fixed"].is_string(), "shown all the same: {file}");
    let (status, told) = apply(&edge, &[draft(&edge, &dns, &DNS.replace("# names", "#"))], "");
    assert_eq!(status, 409, "{told}");
    assert_eq!(text(&dns), DNS);
    // What the dashboard has set is a file of the state folder, and may be written.
    let list = json!({ "name": "game", "rules": "||game.example^" });
    assert_eq!(send(&edge, "POST", "/api/lists", &list).0, 200);
    let made = edge.state().join("dashboard.yaml");
    let new = text(&made).replace("game.example", "play.example");
    let (status, told) = apply(&edge, &[draft(&edge, &made, &new)], "");
    assert_eq!(status, 200, "{told}");
    assert_eq!(text(&made), new);
    let (status, told) = send(&edge, "POST", "/api/configuration/history/1/restore", &json!({}));
    assert_eq!(status, 200, "{told}");
    assert!(!text(&made).contains("lists"), "as before the first change");
}

#[test]
fn only_files_of_the_configuration_are_shown_or_written() {
    let edge = start(MAIN, DNS);
    let dns = dns_file(&edge);
    let token = edge.state().join("admin.token").display().to_string();
    let around = format!("{}/../dns.yaml", edge.scratch.path().join("state").display());
    for stranger in [token.as_str(), "/etc/passwd", "dns.yaml", &around, ""] {
        let files = json!({ "files": [{ "path": stranger, "text": "a: 1\n" }] });
        for path in ["check", "edit", "apply"] {
            let (status, told) = send(&edge, "POST", &format!("/api/configuration/{path}"), &files);
            assert_eq!(status, 404, "{stranger}: {told}");
        }
    }
    let secret = edge.scratch.write("secret", "s3cret: here\n");
    let before = draft(&edge, &dns, "a: 1\n");
    std::fs::remove_file(&dns).unwrap();
    symlink(&secret, &dns).unwrap();
    let file = listed(&edge, &dns);
    assert!(file["text"].is_null() && file["fixed"].is_string(), "{file}");
    let (status, told) = apply(&edge, &[before], "");
    assert_eq!(status, 409, "{told}");
    assert!(!told.to_string().contains("s3cret"), "{told}");
    assert_eq!(text(&secret), "s3cret: here\n");
    // A bomb is refused by the reader's own caps.
    let deep = format!("a: {}\n", "[".repeat(5000));
    let bomb = "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n";
    for bad in [deep.as_str(), bomb] {
        let files =
            json!({ "files": [{ "path": edge.config.display().to_string(), "text": bad }] });
        let (status, told) = send(&edge, "POST", "/api/configuration/check", &files);
        assert_eq!(status, 200, "{told}");
        assert_ne!(told["complaints"], json!([]), "{told}");
    }
}

#[test]
fn a_kill_in_the_middle_of_a_change_leaves_the_files_as_they_were() {
    let rules: Vec<String> = (0..400_000).map(|at| format!("||ads{at}.example^")).collect();
    let scratch = Scratch::new();
    scratch.write("big.txt", rules.join("\n"));
    let more = scratch.write("dns.yaml", DNS);
    let main = format!("{MAIN}policy: {{ lists: [{{ name: big, path: big.txt }}] }}\n");
    let edge = start_in(scratch, &main, &more);
    let mark = edge.scratch.path().join(".tidegate.yaml.undo");
    let files = [
        draft(&edge, &edge.config.clone(), &main.replace("The edge", "An edge")),
        draft(&edge, &more, &DNS.replace("192.0.2.7", "192.0.2.8")),
    ];
    let sent = json!({ "files": files }).to_string();
    let (url, bearer) = apply_url(&edge);
    let mut curl = std::process::Command::new("curl")
        .args(["-s", "-H", "Content-Type: application/json", "-d", &sent, &url, "-H", &bearer])
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    wait::until("the files are written", || {
        (mark.exists() && text(&more).contains("192.0.2.8")).then_some(())
    });
    let (_, scratch) = edge.stop_by("KILL");
    curl.wait().unwrap();
    assert!(mark.exists(), "it was killed before the change was in force");
    assert!(text(&more).contains("192.0.2.8"));

    // It is begun with its files as they lie there.
    let config = scratch.path().join("tidegate.yaml");
    let found = text(&config);
    assert!(found.contains("An edge"), "{found}");
    let edge = Tidegate::start_in(scratch, &found);
    assert_eq!((text(&edge.config), text(&more)), (main, DNS.to_owned()));
    assert!(!mark.exists());
    assert_eq!(look_up(&edge, "nas.lan"), "192.0.2.7");
    assert!(edge.greets("was cut off"), "{:?}", edge.greeting);
}
