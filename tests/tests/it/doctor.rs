//! `tidegate doctor`: what of this machine stands in the way.

use serde_json::Value;
use std::net::{TcpListener, UdpSocket};
use std::process::{Command, Output};
use std::time::{Duration, Instant};
use tidegate_tests::Scratch;
use tidegate_tests::tidegate::{self, Tidegate, binary};

/// Nobody is asked: these tests have no network.
const QUIET: &str =
    "dns: { listen: [\"udp://127.0.0.1:0\"], upstreams: [\"udp://127.0.0.1:1\"] }\n";

fn read(output: &Output) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    let all: Value = serde_json::from_str(&text).unwrap_or_else(|why| panic!("{why}: {text}"));
    all.as_array().unwrap().clone()
}

/// The findings about a configuration, and the exit code.
fn examined(yaml: &str) -> (Vec<Value>, Option<i32>) {
    let scratch = Scratch::new();
    let config = scratch.write("edge.yaml", yaml);
    let state = scratch.path().join("state");
    let [config, state] = [config, state].map(|it| it.to_str().unwrap().to_owned());
    let output = tidegate::run(&["doctor", "--json", "--config", &config, "--state", &state]);
    (read(&output), output.status.code())
}

fn find<'f>(found: &'f [Value], word: &str) -> &'f Value {
    let is_it = |it: &&Value| it["what"].as_str().unwrap().contains(word);
    found.iter().find(is_it).unwrap_or_else(|| panic!("no {word:?} in {found:#?}"))
}

#[test]
fn a_port_that_somebody_holds_is_told_with_the_process_and_a_remedy() {
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = holder.local_addr().unwrap();
    let yaml = format!("{QUIET}web: [{{ listen: [\"http://{place}\"], root: . }}]\n");
    let (found, code) = examined(&yaml);
    let told = find(&found, &place.to_string());
    assert_eq!(told["severity"], "obstacle", "{told}");
    assert!(told["what"].as_str().unwrap().contains(&format!("process {}", std::process::id())));
    assert!(told["remedy"].as_str().unwrap().contains("another address or port"));
    assert_eq!(code, Some(1));
}

#[test]
fn the_ports_of_the_tidegate_that_runs_are_fine() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let yaml = format!("{QUIET}web: [{{ listen: [\"http://127.0.0.1:{port}\"], root: . }}]\n");
    let edge = Tidegate::start(&yaml);
    let found = read(&edge.command(&["doctor", "--json"]));
    let told = find(&found, &format!("127.0.0.1:{port}"));
    assert_eq!(told["severity"], "fine", "{told}");
    assert!(told["what"].as_str().unwrap().contains("the running Tidegate"), "{told}");
    find(&found, &format!("it runs (process {})", edge.pid()));
}

#[test]
fn an_upstream_that_is_dead_is_told_and_one_that_is_silent_takes_three_seconds_at_most() {
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let silent = silent.local_addr().unwrap();
    let pool = "gateway: { listen: [\"http://127.0.0.1:0\"], pools: { app: { servers: \
                [\"http://127.0.0.1:1\"] } }, routes: [{ pool: app }] }\n";
    let yaml = format!(
        "dns: {{ listen: [\"udp://127.0.0.1:0\"], upstreams: [\"udp://{silent}\", \"tcp://127.0.0.1:1\"] }}\n{pool}"
    );
    let begun = Instant::now();
    let (found, code) = examined(&yaml);
    // Each check has three seconds, all beside each other; the machine may be busy.
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    for address in [format!("udp://{silent}"), "tcp://127.0.0.1:1".into()] {
        let told = find(&found, &format!("{address}: "));
        assert_eq!(told["severity"], "obstacle", "{told}");
        assert!(told["remedy"].is_string(), "{told}");
    }
    assert_eq!(find(&found, "pool app")["severity"], "warning");
    assert_eq!(code, Some(1));
}

#[test]
fn few_open_files_and_a_full_disk_are_told_to_people() {
    let scratch = Scratch::new();
    let config = scratch.write("edge.yaml", QUIET);
    let state = scratch.path().join("state");
    std::fs::create_dir_all(&state).unwrap();
    let script = "mount -t tmpfs -o size=1m none \"$1\" && ulimit -n 100 && exec \"$2\" doctor \
                  --config \"$3\" --state \"$1\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script, "sh"]).arg(&state).arg(binary()).arg(&config);
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    for line in ["obstacle  the state folder", "may open 100 files", "LimitNOFILE=", "make room"] {
        assert!(told.contains(line), "no {line:?} in:\n{told}");
    }
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("in the way"));
    assert!(!state.join("lock").exists());
}
