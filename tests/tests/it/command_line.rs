//! What every command owes to people and programs: help, colour, JSON, an end without waiting.

use serde_json::Value;
use std::fs;
use std::net::TcpListener;
use std::process::{Command, Output};
use std::time::{Duration, Instant};
use tidegate_tests::Scratch;
use tidegate_tests::tidegate::{Tidegate, binary};

fn run(scratch: &Scratch, args: &[&str]) -> Output {
    let mut command = Command::new(binary());
    command.current_dir(scratch.path()).env_remove("STATE_DIRECTORY").env_remove("http_proxy");
    command.args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn alone_it_prints_its_help_where_nothing_is_there_to_run() {
    let scratch = Scratch::new();
    let output = run(&scratch, &[]);
    let told = text(&output.stdout);
    assert!(output.status.success() && told.contains("Usage: tidegate"), "{told}");
    assert!(told.trim_end().ends_with("tidegate run"), "{told}");
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0, "something was made");
    // A configuration in this folder is run, as ever: a wrong one is told.
    scratch.write("tidegate.yaml", "wrong: true\n");
    let output = run(&scratch, &[]);
    assert!(text(&output.stderr).contains("wrong: this key is not known"));
}

#[test]
fn get_waits_for_nothing_that_will_not_come() {
    let scratch = Scratch::new();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for url in [format!("http://{free}/a"), "http://no-such-name.invalid/a".into()] {
        let begun = Instant::now();
        let output = run(&scratch, &["get", &url]);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{told}");
        let is_temporary = told.contains("Temporary failure");
        assert!(is_temporary || !told.contains("again in"), "{told}");
        assert!(is_temporary || begun.elapsed() < Duration::from_secs(10));
    }
}

#[test]
fn serve_speaks_of_the_folder_and_of_where_it_is_seen() {
    let scratch = Scratch::new();
    scratch.write("site/a.txt", "a\n");
    let edge = Tidegate::serve(scratch, &["site", "--port", "0", "--bind", "0.0.0.0"]);
    let told = edge.greeting.join("\n");
    for word in ["lists", "rules", "token", "admin", "privileges"] {
        assert!(!told.contains(word), "{word} in:\n{told}");
    }
    let port = edge.address("web", "http").port();
    assert!(told.starts_with("serves ") && told.contains("/site"), "{told}");
    assert!(told.contains(&format!("at       http://127.0.0.1:{port}/")), "{told}");
}

#[test]
fn colour_is_for_terminals_and_whoever_asks_for_it() {
    let scratch = Scratch::new();
    scratch.write("tidegate.yaml", "wrong: true\n");
    let plain = text(&run(&scratch, &["check"]).stderr);
    assert!(!plain.contains('\x1b') && plain.starts_with("tidegate.yaml:1:1:"), "{plain:?}");
    let coloured = text(&run(&scratch, &["check", "--color", "always"]).stderr);
    assert!(coloured.starts_with("\x1b[1mtidegate.yaml:1:1:\x1b[0m"), "{coloured:?}");
}

#[test]
fn lists_certificate_and_check_are_told_to_programs() {
    let edge = Tidegate::start(
        "policy: { lists: [{ name: mine, rules: [\"||ads.example^\"] }], default: { lists: [mine] } }\n\
         pixel: { listen: [\"https://127.0.0.1:0\"] }\nadmin: { listen: \"127.0.0.1:0\" }\n",
    );
    let json = |args: &[&str]| -> Value { serde_json::from_str(&edge.told(args)).unwrap() };
    for args in [&["lists", "--json"][..], &["lists", "stats", "--offline", "--json"]] {
        let told = json(args);
        assert_eq!(told["lists"][0]["name"], "mine", "{told}");
        assert!(told["answered_from"]["text"].is_string());
    }
    let told = json(&["cert", "ca", "--json"]);
    assert!(told["pem"].as_str().unwrap().starts_with("-----BEGIN CERTIFICATE"), "{told}");
    assert_eq!(json(&["check", "--json"])["fine"], true);
    edge.scratch.write("tidegate.yaml", "wrong: true\n");
    let output = edge.command(&["check", "--json"]);
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), told["fine"].as_bool()), (Some(1), Some(false)));
    assert!(told["complaints"][0].as_str().unwrap().contains("this key is not known"), "{told}");
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn whoever_goes_away_before_the_end_of_a_text_hears_no_complaint() {
    let scratch = Scratch::new();
    for args in ["schema", "man", "completions bash", "lists stats", "doctor --json", "--help", ""]
    {
        let script = format!("{{ \"$0\" {args}; echo \"$?\" >&2; }} | head -c 1 >/dev/null");
        let mut command = Command::new("sh");
        command.args(["-c", &script]).arg(binary()).current_dir(scratch.path());
        let output = command.output().unwrap();
        let told = text(&output.stderr);
        // 141 is SIGPIPE, as shells show it; what is short is written before anybody goes away.
        let is_quiet = ["0\n", "141\n"].contains(&&*told) || args.starts_with("doctor");
        assert!(is_quiet && !told.contains("panic"), "{args}: {told}");
    }
}
