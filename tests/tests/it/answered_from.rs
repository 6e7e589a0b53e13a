//! Commands that answer questions: whom they ask, what they say of it, what they leave alone, and
//! how they end when nobody reads on.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use tidegate_tests::Scratch;
use tidegate_tests::clients::{curl, dig_short};
use tidegate_tests::resolver::{Reply, Resolver};
use tidegate_tests::tidegate::{Tidegate, binary};

const YAML: &str = r#"
policy: { lists: [{ name: mine, rules: ["||shop.example^", "||ads.example^"] }] }
dns: { listen: ["udp://127.0.0.1:0"], upstreams: ["udp://UPSTREAM"], blocked: pixel }
pixel: { listen: ["http://127.0.0.1:0"], addresses: [192.0.2.1] }
proxy: { listen: ["http://127.0.0.1:0"] }
admin: { listen: "127.0.0.1:0" }
"#;

fn edge() -> (Resolver, Tidegate) {
    let at = Reply::Address(Ipv4Addr::new(192, 0, 2, 10));
    let upstream = Resolver::start(&[("www.shop.example", at)]);
    let edge = Tidegate::start(&YAML.replace("UPSTREAM", &upstream.address.to_string()));
    (upstream, edge)
}

/// A command in a folder.
fn run_in(folder: &Path, args: &[&str]) -> Output {
    Command::new(binary()).current_dir(folder).args(args).output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_stranger_at_the_port_of_one_that_was_killed_gets_no_token() {
    let (_upstream, edge) = edge();
    let address = edge.address("admin", "http");
    let config = edge.config.to_str().unwrap().to_owned();
    let state = edge.state().to_str().unwrap().to_owned();
    let (_, scratch) = edge.stop_by("KILL");
    assert!(scratch.path().exists() && Path::new(&state).join("admin.address").exists());
    let stranger = TcpListener::bind(address).unwrap();
    stranger.set_nonblocking(true).unwrap();
    let status = run_in(scratch.path(), &["ctl", "status", "--state", &state]);
    assert!(err(&status).contains("no Tidegate is running on the state folder"), "{status:?}");
    assert_eq!(status.status.code(), Some(3), "{status:?}");
    let args = ["why", "ads.example", "--config", &config, "--state", &state];
    let why = out(&run_in(scratch.path(), &args));
    assert!(why.contains("nothing is running here"), "{why}");
    let came = stranger.accept().map_err(|why| why.kind());
    assert_eq!(came.err(), Some(std::io::ErrorKind::WouldBlock), "nobody has come");
}

#[test]
fn why_sees_what_is_let_through_and_paused_from_any_folder() {
    let (_upstream, edge) = edge();
    let elsewhere = Scratch::new();
    let state = edge.state();
    let why = |name: &str, more: &[&str]| {
        let args = [&["why", name, "--state", state.to_str().unwrap()], more].concat();
        out(&run_in(elsewhere.path(), &args))
    };
    let pid = format!("process {}", edge.pid());
    let said = why("www.shop.example", &[]);
    assert!(said.starts_with("blocked: ||shop.example^") && said.contains(&pid), "{said}");
    assert!(said.contains(edge.config.to_str().unwrap()), "{said}");
    edge.told(&["ctl", "allow", "shop.example"]);
    assert_eq!(dig_short(edge.address("dns", "udp"), &["www.shop.example"]).trim(), "192.0.2.10");
    assert!(why("www.shop.example", &[]).starts_with("passes: shop.example is let through"));
    edge.told(&["ctl", "pause", "1"]);
    assert!(why("ads.example", &[]).starts_with("passes: protection is paused"));
    let config = edge.config.to_str().unwrap();
    let offline = why("ads.example", &["--offline", "--config", config]);
    assert!(offline.starts_with("blocked: ||ads.example^"), "{offline}");
    assert!(offline.contains(&format!("asked    {config} (as --offline says)")), "{offline}");
    // Another configuration than the running one's is asked by itself.
    let other = elsewhere.write("other.yaml", "policy: { lists: [] }\n");
    let said = why("ads.example", &["--config", other.to_str().unwrap()]);
    assert!(said.starts_with("passes: no rule") && said.contains("follows"), "{said}");
    let json: serde_json::Value = serde_json::from_str(&why("ads.example", &["--json"])).unwrap();
    assert_eq!(json["answered_from"]["pid"], edge.pid(), "{json}");
    let lists = run_in(elsewhere.path(), &["lists", "--state", state.to_str().unwrap()]);
    assert!(out(&lists).contains("mine: 2 lines") && out(&lists).contains(&pid), "{lists:?}");
    let said = edge.told(&["cert", "ca"]);
    assert!(said.contains(&*edge.state().join("ca/ca.pem").to_string_lossy()), "{said}");
}

#[test]
fn where_nothing_runs_it_is_said_and_nothing_is_made() {
    let empty = Scratch::new();
    for args in [&["why", "doubleclick.net"][..], &["lists"], &["check"]] {
        let output = run_in(empty.path(), args);
        assert!(output.status.success() && err(&output).is_empty(), "{args:?}: {output:?}");
        let built_in = out(&output).contains("built-in");
        assert!(built_in || args[0] == "check", "{args:?}: {}", out(&output));
    }
    let ca = run_in(empty.path(), &["cert", "ca"]);
    assert_eq!(ca.status.code(), Some(1), "{ca:?}");
    assert!(
        err(&ca).contains("no certificate authority") && err(&ca).contains("--state"),
        "{ca:?}"
    );
    let status = run_in(empty.path(), &["ctl", "status"]);
    assert_eq!(status.status.code(), Some(3));
    assert!(
        err(&status).contains("--state DIR") && !err(&status).contains("os error"),
        "{status:?}"
    );
    let made: Vec<_> = std::fs::read_dir(empty.path()).unwrap().collect();
    assert!(made.is_empty(), "{made:?}");
}

#[test]
fn what_is_told_of_doors_is_what_they_do() {
    let (_upstream, edge) = edge();
    let outcome = |args: &[&str]| {
        let said = edge.told(&[&["why"], args].concat());
        let line = said.lines().find(|line| line.starts_with("  door ")).unwrap().to_owned();
        line.split_once(": ").unwrap().1.to_owned()
    };
    let script = "http://ads.example/x.js";
    assert_eq!(outcome(&[script]), "200, an empty script (0 bytes)");
    let proxy = format!("http://{}", edge.address("proxy", "http"));
    assert_eq!(curl(&["-x", &proxy, script]), (200, String::new()));
    assert_eq!(outcome(&["ads.example", "--kind", "AAAA"]), "NODATA with SOA and EDE 15");
    assert_eq!(outcome(&["ads.example"]), "192.0.2.1, for 10 s with EDE 15");
    assert_eq!(outcome(&["ads.example", "--door", "pixel"]), "403 with a page that says why");
    let offline = ["ads.example", "--kind", "AAAA", "--offline"];
    assert_eq!(outcome(&offline), "NODATA with SOA and EDE 15");
    let said = edge.told(&["why", "bücher.example"]);
    assert!(said.contains("target   xn--bcher-kva.example (A)"), "{said}");
    let nothing = edge.command(&["why", ""]);
    assert_eq!(nothing.status.code(), Some(1));
    assert!(err(&nothing).starts_with("tidegate: no name or URL was given"), "{nothing:?}");
    let revoked = edge.command(&["ctl", "revoke", "foo.example"]);
    assert_eq!(revoked.status.code(), Some(1));
    let expected =
        "tidegate: foo.example is not let through for everybody; tidegate ctl allows shows";
    assert!(err(&revoked).starts_with(expected), "{revoked:?}");
}

#[test]
fn names_from_standard_input_are_answered_a_line_each() {
    let (_upstream, edge) = edge();
    for offline in [&[][..], &["--offline"]] {
        let mut child = Command::new(binary())
            .args(["why", "--json", "--config"])
            .arg(&edge.config)
            .arg("--state")
            .arg(edge.state())
            .args(offline)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        let long = "a".repeat(20_000);
        let text =
            format!("ads.example\r\n\nhttps://www.shop.example/x.js\na b\n{long}\nfine.example");
        input.write_all(text.as_bytes()).unwrap();
        drop(input);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1), "some lines were wrong: {output:?}");
        let lines: Vec<serde_json::Value> =
            out(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let actions: Vec<_> = lines.iter().map(|line| line["action"].as_str()).collect();
        assert_eq!(actions, [Some("block"), Some("block"), None, None, Some("pass")], "{lines:?}");
        assert_eq!((&lines[2]["line"], &lines[3]["line"]), (&4.into(), &5.into()), "{lines:?}");
        assert!(err(&output).contains("2 lines of the input could not be read"), "{output:?}");
    }
}

#[test]
fn a_reader_that_leaves_ends_a_command_quietly() {
    let (_upstream, edge) = edge();
    for args in [
        &["schema"][..],
        &["man"],
        &["completions", "bash"],
        &["cert", "ca"],
        &["lists"],
        &["why", "ads.example"],
        &["ctl", "status"],
        &["check"],
    ] {
        let mut child = Command::new(binary())
            .args(args)
            .arg("--config")
            .arg(&edge.config)
            .arg("--state")
            .arg(edge.state())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        // What was written before the reader had gone is fine as well.
        let ended = (output.status.signal(), output.status.code());
        assert!([(Some(13), None), (None, Some(0))].contains(&ended), "{args:?}: {output:?}");
        assert_eq!(err(&output), "", "{args:?}");
    }
}

#[test]
fn a_server_goes_on_when_nobody_reads_what_it_prints() {
    let scratch = Scratch::new();
    let config = scratch
        .write("tidegate.yaml", "policy: { lists: [] }\nadmin: { listen: \"127.0.0.1:0\" }\n");
    let state = scratch.path().join("state");
    let place = ["--config", config.to_str().unwrap(), "--state", state.to_str().unwrap()];
    let mut child = Command::new(binary())
        .arg("run")
        .args(place)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == "ready"));
    drop(child.stderr.take());
    let ctl = |what: &str| {
        Command::new(binary()).args(["ctl", what]).args(place).output().unwrap().status.code()
    };
    // A reload by signal prints, and so does one that fails.
    let hup = || {
        Command::new("kill").args(["-HUP", &child.id().to_string()]).status().unwrap();
    };
    hup();
    assert_eq!(ctl("reload"), Some(0));
    scratch.write("tidegate.yaml", "dsn: {}\n");
    hup();
    let status = run_in(scratch.path(), &["ctl", "status", "--state", state.to_str().unwrap()]);
    assert_eq!(status.status.code(), Some(0), "{status:?}");
    Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "and ends as it should");
}
