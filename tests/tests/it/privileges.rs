//! The rest of root's privileges once Tidegate runs, looked at from outside. Root starts it here.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::process::Command;
use tidegate_tests::Scratch;
use tidegate_tests::clients::{curl, openssl};
use tidegate_tests::tidegate::{Tidegate, binary};
use tidegate_tests::wait;

const NOTHING: &str = "0000000000000000";
/// `CAP_NET_BIND_SERVICE` alone.
const BIND_SERVICE: &str = "0000000000000400";

const DOORS: &str = r#"
policy: { lists: [{ name: mine, rules: ["||ads.example^"] }] }
pixel: { listen: ["http://127.0.0.1:0", "https://127.0.0.1:0"], addresses: [192.0.2.80] }
admin: { listen: "127.0.0.1:0" }
"#;

fn status_of(process: u32, field: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(&format!("{field}:"))).unwrap();
    line[field.len() + 1..].trim().to_owned()
}

/// A field of every thread.
fn of_threads(process: u32, field: &str) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let mut all: Vec<_> = tasks
        .map(|task| status_of(task.unwrap().file_name().to_str().unwrap().parse().unwrap(), field))
        .collect();
    all.dedup();
    all
}

fn line(edge: &Tidegate) -> &str {
    edge.greeting.iter().find(|line| line.starts_with("privileges: ")).unwrap()
}

fn reload(edge: &Tidegate) -> Result<String, String> {
    edge.signal("HUP");
    let mut told = Vec::new();
    wait::until("the reload", || {
        told.extend(edge.output.try_iter());
        told.iter().position(|it| it.starts_with("reloaded") || it.contains("nothing was changed"))
    });
    let text = told.join("\n");
    if text.contains("nothing was changed") { Err(text) } else { Ok(text) }
}

#[test]
fn no_thread_of_the_program_is_root_or_holds_a_capability() {
    let edge = Tidegate::start(DOORS);
    for (field, expected) in [
        ("CapEff", NOTHING),
        ("CapPrm", NOTHING),
        ("CapBnd", NOTHING),
        ("CapInh", NOTHING),
        ("CapAmb", NOTHING),
        ("NoNewPrivs", "1"),
        ("Seccomp", "2"),
    ] {
        assert_eq!(of_threads(edge.pid(), field), [expected], "{field}");
    }
    for field in ["Uid", "Gid"] {
        let all = of_threads(edge.pid(), field);
        assert!(all.len() == 1 && all[0].split('\t').all(|id| id != "0"), "{field}: {all:?}");
    }
    let groups = of_threads(edge.pid(), "Groups");
    assert!(groups.iter().all(|it| it.split(' ').all(|group| group != "0")), "{groups:?}");
    let said = line(&edge);
    assert!(said.ends_with(", no capabilities, no-new-privs, seccomp, landlock"), "{said}");
    let told = edge.api("/api/status")["privileges"].as_str().unwrap().to_owned();
    assert_eq!(format!("privileges: {told}"), said);
}

#[test]
fn the_key_of_the_authority_is_closed_to_the_program_that_uses_it() {
    let edge = Tidegate::start(DOORS);
    let fetched = |name: &str| {
        let ca = edge.state().join("ca/ca.pem");
        let to = format!("::{}", edge.address("pixel", "https"));
        let url = format!("https://{name}/x.js");
        curl(&["--cacert", ca.to_str().unwrap(), "--connect-to", &to, &url]).0
    };
    assert_eq!(fetched("ads.example"), 200);
    let uid = status_of(edge.pid(), "Uid").split('\t').next().unwrap().parse::<u32>().unwrap();
    let key = fs::metadata(edge.state().join("ca/ca.key")).unwrap();
    assert_eq!((key.uid(), key.permissions().mode() & 0o777), (0, 0o600));
    let folder = fs::metadata(edge.state().join("ca")).unwrap();
    assert_eq!((folder.uid(), folder.permissions().mode() & 0o777), (0, 0o755));
    // Everything else is the program's own.
    assert_eq!(fs::metadata(edge.state()).unwrap().uid(), uid);
    assert_eq!(fs::metadata(edge.state().join("ledger.db")).unwrap().uid(), uid);
    let read = Command::new("setpriv")
        .args(["--reuid", &uid.to_string(), "--regid", &uid.to_string(), "--clear-groups", "cat"])
        .arg(edge.state().join("ca/ca.key"))
        .output()
        .unwrap();
    assert!(!read.status.success() && read.stdout.is_empty(), "{read:?}");
    // A signer that comes after root was left still has the key.
    assert!(reload(&edge).is_ok());
    assert_eq!(fetched("x.ads.example"), 200);
}

#[test]
fn a_port_below_1024_costs_one_capability() {
    let yaml = DOORS.replace("http://127.0.0.1:0", "http://127.0.0.77:80");
    let edge = Tidegate::start(&yaml);
    assert_eq!(of_threads(edge.pid(), "CapEff"), [BIND_SERVICE]);
    assert_eq!(of_threads(edge.pid(), "CapBnd"), [BIND_SERVICE]);
    assert!(line(&edge).contains("CAP_NET_BIND_SERVICE"), "{}", line(&edge));
    // And it is there for another such port.
    fs::write(&edge.config, yaml.replace("127.0.0.77:80", "127.0.0.77:81")).unwrap();
    assert!(reload(&edge).is_ok());
    let (status, _) = curl(&["-H", "Host: ads.example", "http://127.0.0.77:81/x.js"]);
    assert_eq!(status, 200);
}

#[test]
fn a_reload_that_needs_what_was_given_up_changes_nothing_and_says_so() {
    let edge = Tidegate::start(DOORS);
    let refused = |yaml: String| {
        fs::write(&edge.config, yaml).unwrap();
        reload(&edge).unwrap_err()
    };
    let low = refused(DOORS.replace("http://127.0.0.1:0", "http://127.0.0.77:82"));
    assert!(low.contains("CAP_NET_BIND_SERVICE was given up"), "{low}");
    assert!(low.contains("restart Tidegate"), "{low}");
    let site = "web: [{ listen: ['http://127.0.0.1:0'], root: ., access_log: /srv/no/a.log }]\n";
    let outside = refused(format!("{DOORS}{site}"));
    assert!(outside.contains("/srv/no cannot be written: landlock holds"), "{outside}");
    fs::write(&edge.config, DOORS).unwrap();
    assert!(reload(&edge).is_ok());
}

#[test]
fn a_certificate_that_root_alone_may_read_is_served() {
    let scratch = Scratch::new();
    let (pem, key) = (scratch.path().join("keys/a.pem"), scratch.path().join("keys/a.key"));
    fs::DirBuilder::new().mode(0o700).create(scratch.path().join("keys")).unwrap();
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"])
        .args(["-days", "2", "-subj", "/CN=own.test", "-addext", "subjectAltName=DNS:own.test"])
        .args([PathBuf::from("-keyout"), key.clone(), "-out".into(), pem.clone()])
        .output()
        .unwrap();
    assert!(pem.is_file(), "{made:?}");
    let yaml = format!(
        "policy: {{ lists: [] }}\nadmin: {{ listen: '127.0.0.1:0' }}\nproxy:\n  listen: \
         ['https://127.0.0.1:0']\n  tls: {{ certificate: {}, key: {} }}\n",
        pem.display(),
        key.display()
    );
    let edge = Tidegate::start_in(scratch, &yaml);
    let note = edge.greeting.iter().find(|line| line.contains("can be read by root alone"));
    assert!(note.is_some_and(|note| note.contains("a.key")), "{:?}", edge.greeting);
    let to = edge.address("proxy", "https");
    let served = || openssl(to, "own.test", &[]).replace(" = ", "=").contains("CN=own.test");
    assert!(served());
    assert!(reload(&edge).is_ok());
    assert!(served());
}

#[test]
fn a_state_folder_of_an_earlier_start_changes_hands_and_links_in_it_do_not() {
    let scratch = Scratch::new();
    let foreign = scratch.write("foreign", "x");
    fs::create_dir_all(scratch.path().join("state/lists")).unwrap();
    fs::write(scratch.path().join("state/lists/old"), "x").unwrap();
    std::os::unix::fs::symlink(&foreign, scratch.path().join("state/link")).unwrap();
    let edge = Tidegate::start_in(scratch, &format!("user: '4711'\ngroup: '4712'\n{DOORS}"));
    let owner = |path: PathBuf| fs::metadata(path).map(|it| (it.uid(), it.gid())).unwrap();
    assert_eq!(owner(edge.state()), (4711, 4712));
    assert_eq!(owner(edge.state().join("lists/old")), (4711, 4712));
    assert_eq!(owner(edge.state().join("link")), (0, 0));
    assert!(line(&edge).starts_with("privileges: user 4711, "), "{}", line(&edge));
}

#[test]
fn an_unknown_user_root_and_a_folder_out_of_reach_are_complaints() {
    let scratch = Scratch::new();
    let ask = |what: &str, yaml: &str, state: &str| {
        let config = scratch.write("tidegate.yaml", yaml);
        let mut command = Command::new(binary());
        command.args([what, "--config"]).arg(&config).arg("--state");
        let output = command.arg(scratch.path().join(state)).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for what in ["check", "run"] {
        let (code, said) = ask(what, &format!("user: no-such-user\n{DOORS}"), "state");
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("tidegate.yaml:1:") && said.contains("useradd --system"), "{said}");
        let (code, said) = ask(what, &format!("user: root\n{DOORS}"), "state");
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("is root, whom Tidegate never stays"), "{said}");
    }
    fs::DirBuilder::new().mode(0o700).create(scratch.path().join("closed")).unwrap();
    let (code, said) = ask("run", DOORS, "closed/state");
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("cannot be reached by the user"), "{said}");
}

#[test]
fn check_tells_what_will_hold_and_what_a_reload_could_not_read() {
    let scratch = Scratch::new();
    let list = scratch.write("closed.txt", "||x.example^\n");
    fs::set_permissions(&list, fs::Permissions::from_mode(0o600)).unwrap();
    let yaml = DOORS.replace("rules: [\"||ads.example^\"]", "path: closed.txt");
    let config = scratch.write("tidegate.yaml", format!("user: '4711'\n{yaml}"));
    let mut command = Command::new(binary());
    command.args(["check", "--config"]).arg(&config).arg("--state");
    let output = command.arg(scratch.path().join("state")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("closed.txt: the user 4711 cannot read it"), "{said}");
    assert!(said.contains("privileges: user 4711, no capabilities, no-new-privs, "), "{said}");
}
