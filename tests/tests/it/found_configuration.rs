//! The configuration that is found where none is named: here, then the service's.
//!
//! Each command runs where `/etc` and `/var/lib` are folders of the test; that needs root.

use std::process::{Command, Output};
use tidegate_tests::Scratch;
use tidegate_tests::tidegate::binary;

const YAML: &str = "policy: { lists: [{ name: mine, rules: ['||ads.example^'] }] }\n";
const OTHER: &str = "policy: { lists: [{ name: other, rules: ['||else.example^'] }] }\n";
const WITH_FOLDERS: &str = "mount --bind etc /etc && mount --bind lib /var/lib && cd here && \
                            exec \"$@\"";

/// A machine with this configuration of the service, if one.
fn machine(service: Option<&str>) -> Scratch {
    let scratch = Scratch::new();
    for folder in ["etc/tidegate", "lib/tidegate", "here"] {
        std::fs::create_dir_all(scratch.path().join(folder)).unwrap();
    }
    for file in ["passwd", "group"] {
        std::fs::copy(format!("/etc/{file}"), scratch.path().join("etc").join(file)).unwrap();
    }
    if let Some(yaml) = service {
        scratch.write("etc/tidegate/tidegate.yaml", yaml);
    }
    scratch
}

fn command(scratch: &Scratch, before: &[&str], args: &[&str]) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", WITH_FOLDERS, "sh"]).args(before).arg(binary()).args(args);
    command.current_dir(scratch.path()).env_remove("STATE_DIRECTORY");
    command
}

fn ask(scratch: &Scratch, args: &[&str]) -> Output {
    command(scratch, &[], args).output().unwrap()
}

fn said(output: &Output) -> String {
    let texts = [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it).into_owned());
    texts.concat()
}

#[test]
fn the_services_configuration_is_taken_where_none_is_here() {
    let machine = machine(Some(YAML));
    let checked = said(&ask(&machine, &["check"]));
    assert!(checked.ends_with("/etc/tidegate/tidegate.yaml: fine\n"), "{checked}");
    let why = said(&ask(&machine, &["why", "ads.example"]));
    assert!(why.contains("mine") && why.contains("/etc/tidegate/tidegate.yaml ("), "{why}");
    let doctor = said(&ask(&machine, &["doctor"]));
    assert!(doctor.contains("configuration /etc/tidegate/tidegate.yaml\n"), "{doctor}");
    let ctl = ask(&machine, &["ctl", "status"]);
    assert_eq!(ctl.status.code(), Some(3));
    assert!(said(&ctl).contains("/var/lib/tidegate"), "{}", said(&ctl));
    let bare = said(&ask(&machine, &[]));
    assert!(bare.contains("The configuration of this machine is /etc/tidegate"), "{bare}");
}

#[test]
fn one_that_is_here_or_named_outranks_it() {
    let machine = machine(Some(YAML));
    machine.write("here/tidegate.yaml", OTHER);
    let checked = said(&ask(&machine, &["check"]));
    assert!(checked.ends_with("\ntidegate.yaml: fine\n"), "{checked}");
    let named = said(&ask(&machine, &["check", "--config", "/etc/tidegate/tidegate.yaml"]));
    assert!(named.ends_with("/etc/tidegate/tidegate.yaml: fine\n"), "{named}");
    let nothing = self::machine(None);
    let checked = said(&ask(&nothing, &["check"]));
    assert!(checked.ends_with("built-in: fine\n"), "{checked}");
}

#[test]
fn one_that_may_not_be_read_is_not_taken_for_the_built_in_one() {
    let machine = machine(Some(YAML));
    let closed = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(machine.path().join("etc/tidegate"), closed).unwrap();
    let stranger = ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups"];
    let checked = command(&machine, &stranger, &["check"]).output().unwrap();
    assert_eq!(checked.status.code(), Some(1));
    let checked = said(&checked);
    assert!(
        checked.contains("/etc/tidegate/tidegate.yaml") && checked.contains("sudo"),
        "{checked}"
    );
}

#[test]
fn the_running_service_is_found_by_it_though_it_is_wrong_by_now() {
    let doors = "admin: { listen: '127.0.0.1:0' }\n";
    let machine = machine(Some(&format!("{YAML}{doors}")));
    let mut running = command(&machine, &[], &["run"]);
    let mut running = running.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let stdout = running.stdout.take().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(stdout)).map_while(Result::ok);
    let greeting: Vec<_> = lines.by_ref().take_while(|line| line != "ready").collect();
    assert!(greeting[0].contains("configuration /etc/tidegate/tidegate.yaml"), "{greeting:?}");
    assert!(greeting[0].contains("state /var/lib/tidegate"), "{greeting:?}");
    let status = said(&ask(&machine, &["ctl", "status"]));
    assert!(status.contains("/etc/tidegate/tidegate.yaml"), "{status}");
    machine.write("etc/tidegate/tidegate.yaml", "nonsense: true\n");
    let status = said(&ask(&machine, &["ctl", "status"]));
    assert!(status.contains("/etc/tidegate/tidegate.yaml"), "{status}");
    running.kill().unwrap();
    running.wait().unwrap();
}
