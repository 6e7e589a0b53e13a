//! `tidegate backup` and `restore`: the state in one file, while it runs.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use tidegate_tests::clients::{curl, dig_short};
use tidegate_tests::tidegate::{Tidegate, binary};
use tidegate_tests::{Scratch, wait};

const YAML: &str = "policy: { lists: [{ name: mine, path: lists/mine.txt }], default: { lists: [mine] } }\n\
    dns: { listen: [\"udp://127.0.0.1:0\"], upstreams: [\"udp://127.0.0.1:1\"], local: [\"near.example A 192.0.2.7\"] }\n\
    pixel: { listen: [\"https://127.0.0.1:0\"] }\n";

fn begin() -> Tidegate {
    let scratch = Scratch::new();
    scratch.write("lists/mine.txt", "||ads.example^\n");
    Tidegate::start_in(scratch, YAML)
}

fn run(args: &[&str], scratch: &Scratch) -> Output {
    Command::new(binary()).args(args).current_dir(scratch.path()).output().unwrap()
}

fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text)).concat()
}

#[test]
fn what_is_backed_up_under_load_and_broken_comes_back() {
    let edge = begin();
    let server = edge.address("dns", "udp");
    assert_eq!(dig_short(server, &["near.example"]).trim(), "192.0.2.7");
    wait::until("the ledger to have a row", || {
        edge.api("/api/requests")["rows"].as_array().filter(|rows| !rows.is_empty()).map(|_| ())
    });
    let fingerprint = edge.told(&["cert", "ca", "--pem"]);
    let token = fs::read_to_string(edge.state().join("admin.token")).unwrap();
    let archive = edge.scratch.path().join("kept.tar.zst");
    let archive = archive.to_str().unwrap();
    let load = std::thread::spawn(move || {
        for number in 0..200 {
            dig_short(server, &[&format!("n{number}.ads.example")]);
        }
    });
    let told = edge.told(&["backup", archive]);
    load.join().unwrap();
    assert!(told.contains("2 of the configuration"), "{told}");
    let refused = run(&["restore", archive], &edge.scratch);
    assert_eq!(refused.status.code(), Some(3), "{}", said(&refused));
    assert!(said(&refused).contains("stop it first"), "{}", said(&refused));
    let (_, scratch) = edge.stop_by("TERM");
    let state = scratch.path().join("state");
    fs::remove_dir_all(state.join("ca")).unwrap();
    fs::write(state.join("ledger.db"), "broken").unwrap();
    fs::write(scratch.path().join("lists/mine.txt"), "").unwrap();
    let restored = run(&["restore", archive], &scratch);
    assert!(restored.status.success(), "{}", said(&restored));
    let edge = Tidegate::start_in(scratch, YAML);
    assert_eq!(edge.told(&["cert", "ca", "--pem"]), fingerprint);
    assert_eq!(fs::read_to_string(edge.state().join("admin.token")).unwrap(), token);
    assert!(edge.told(&["why", "ads.example"]).contains("blocked"));
    let rows = edge.api("/api/requests")["rows"].as_array().unwrap().len();
    assert!(rows >= 1, "{rows}");
    assert_eq!(fs::read_to_string(edge.state().join("format")).unwrap(), "1\n");
}

#[test]
fn a_backup_goes_through_a_pipe_and_to_another_place() {
    let edge = begin();
    let piped = edge.command(&["backup", "-"]);
    assert!(piped.status.success() && !piped.stdout.is_empty(), "{}", said(&piped));
    let (_, scratch) = edge.stop_by("TERM");
    let other = scratch.path().join("other");
    let mut restore = Command::new(binary());
    restore.args(["restore", "-", "--state"]).arg(other.join("state"));
    restore.arg("--config").arg(other.join("edge.yaml")).stdin(Stdio::piped());
    let mut restore = restore.spawn().unwrap();
    std::io::Write::write_all(&mut restore.stdin.take().unwrap(), &piped.stdout).unwrap();
    assert!(restore.wait().unwrap().success());
    assert_eq!(fs::read_to_string(other.join("edge.yaml")).unwrap(), YAML);
    assert!(other.join("lists/mine.txt").exists() && other.join("state/ca/ca.key").exists());
}

#[test]
fn a_restore_that_is_killed_leaves_a_state_that_starts() {
    let edge = begin();
    let archive = edge.scratch.path().join("kept.tar.zst");
    edge.told(&["backup", archive.to_str().unwrap(), "--with-caches"]);
    let (_, scratch) = edge.stop_by("TERM");
    let state = scratch.path().join("state");
    let word = |path: &Path| fs::read_to_string(path.join("admin.token"));
    let token = word(&state).unwrap();
    for delay in 0..30_u64 {
        let mut restore = Command::new(binary());
        restore.arg("restore").arg(&archive).stdout(Stdio::null()).stderr(Stdio::null());
        let mut restore = restore.spawn().unwrap();
        // Any moment will do: whenever it is, the state must be whole.
        std::thread::sleep(Duration::from_micros(delay * 700));
        let _ = restore.kill();
        restore.wait().unwrap();
        assert_eq!(word(&state).unwrap(), token, "after {delay}");
        assert!(state.join("ca/ca.key").exists() && state.join("ledger.db").exists());
    }
    let again = run(&["restore", archive.to_str().unwrap()], &scratch);
    assert!(again.status.success(), "{}", said(&again));
    let edge = Tidegate::start_in(scratch, YAML);
    assert_eq!(word(&edge.state()).unwrap(), token);
}

#[test]
fn a_full_disk_ends_backup_and_restore_and_leaves_no_half_of_either() {
    let edge = begin();
    let archive = edge.scratch.path().join("kept.tar.zst");
    let archive = archive.to_str().unwrap();
    // Nothing makes this smaller.
    let mut noise = vec![0; 1 << 20];
    let mut random = fs::File::open("/dev/urandom").unwrap();
    std::io::Read::read_exact(&mut random, &mut noise).unwrap();
    fs::write(edge.state().join("noise"), noise).unwrap();
    edge.told(&["backup", archive]);
    let small = edge.scratch.path().join("small");
    fs::create_dir_all(&small).unwrap();
    let script = "mount -t tmpfs -o size=512k none \"$1\" && { \"$2\" backup \"$1/b\" --config \"$3\" \
                  --state \"$4\"; echo \"backup $?\"; ls -A \"$1\"; \"$2\" restore \"$5\" --state-only \
                  --state \"$1/state\"; echo \"restore $?\"; ls -A \"$1\"; }";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script, "sh"]).arg(&small).arg(binary());
    command.arg(&edge.config).arg(edge.state()).arg(archive);
    let output = command.output().unwrap();
    let told = said(&output);
    assert!(told.starts_with("backup 1\nrestore 3\n"), "{told}");
    assert!(told.contains("make room"), "{told}");
}

#[test]
fn a_state_of_a_newer_version_is_refused_with_a_remedy() {
    let (_, scratch) = begin().stop_by("TERM");
    let state = scratch.path().join("state");
    fs::write(state.join("format"), "7\n").unwrap();
    let (told, code) = tidegate_tests::tidegate::refused(YAML, &scratch, &state);
    assert_eq!(code, 3, "{told}");
    assert!(told.contains("format 7") && told.contains("tidegate restore"), "{told}");
}

#[test]
fn the_difference_to_what_runs_is_told_and_secrets_are_not() {
    let edge = begin();
    assert!(edge.told(&["check", "--diff"]).contains("nothing differs"));
    let changed = YAML.replace("192.0.2.7", "192.0.2.8")
        + "proxy: { listen: [\"http://127.0.0.1:0\"], parent: \"http://me:hunter2@127.0.0.1:1\" }\n\
           admin: { listen: \"127.0.0.1:0\", metrics_listen: \"127.0.0.1:0\" }\n";
    fs::write(&edge.config, changed).unwrap();
    let told = edge.told(&["check", "--diff"]);
    for line in ["dns.local: changes from", "proxy: is added", "(at the next start)", "anew: mine"]
    {
        assert!(told.contains(line), "no {line:?} in:\n{told}");
    }
    assert!(!told.contains("hunter2"), "{told}");
    let json: serde_json::Value =
        serde_json::from_str(&edge.told(&["check", "--diff", "--json"])).unwrap();
    assert!(json["differences"].as_array().unwrap().len() >= 3, "{json}");
    assert_eq!(curl(&[&format!("http://{}/", edge.address("admin", "http"))]).0, 200);
}
