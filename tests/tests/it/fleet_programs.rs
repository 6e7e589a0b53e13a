//! Programs that a fleet gives its machines: taken over without a gap, in waves, and given up where
//! they do not come up.

use crate::fleet::{Fleet, blocking, free, in_force, is_blocked, record, until_in_force};
use std::io::Write;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::thread::JoinHandle;
use tidegate_tests::Scratch;
use tidegate_tests::tidegate::{Tidegate, binary};
use tidegate_tests::wait;

/// A question for the address of one.example.
const QUESTION: &[u8] =
    b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x03one\x07example\x00\x00\x01\x00\x01";

/// A copy of a program that says that it is this version of Tidegate.
fn program(fleet: &Fleet, of: &Path, version: &str) -> String {
    let path = fleet.scratch.path().join(format!("tidegate-{version}"));
    std::fs::copy(of, &path).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    write!(file, "tidegate-program version={version};").unwrap();
    path.display().to_string()
}

/// Clients that ask without a pause.
struct Askers {
    stop: Arc<AtomicBool>,
    asked: Arc<AtomicU32>,
    failed: Arc<AtomicU32>,
    thread: JoinHandle<()>,
}

impl Askers {
    fn start(dns: SocketAddr) -> Self {
        let (stop, asked) = (Arc::<AtomicBool>::default(), Arc::<AtomicU32>::default());
        let failed = Arc::<AtomicU32>::default();
        let (ends, counts, fails) = (Arc::clone(&stop), Arc::clone(&asked), Arc::clone(&failed));
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(std::time::Duration::from_secs(5))).unwrap();
        socket.connect(dns).unwrap();
        let thread = std::thread::spawn(move || {
            while !ends.load(SeqCst) {
                socket.send(QUESTION).unwrap();
                match socket.recv(&mut [0; 512]) {
                    Ok(_) => drop(counts.fetch_add(1, SeqCst)),
                    Err(_) => drop(fails.fetch_add(1, SeqCst)),
                }
            }
        });
        Self { stop, asked, failed, thread }
    }

    /// Questions that were answered, and those that were not.
    fn finish(self) -> (u32, u32) {
        self.stop.store(true, SeqCst);
        self.thread.join().unwrap();
        (self.asked.load(SeqCst), self.failed.load(SeqCst))
    }
}

/// The process that answers commands, ended with the test.
struct Successor(u64);

impl Successor {
    fn of(edge: &Tidegate) -> Self {
        Self(edge.api("/api/status")["pid"].as_u64().unwrap())
    }

    fn program(&self) -> PathBuf {
        std::fs::read_link(format!("/proc/{}/exe", self.0)).unwrap()
    }
}

impl Drop for Successor {
    fn drop(&mut self) {
        let _ = std::process::Command::new("kill").args(["-9", &self.0.to_string()]).output();
    }
}

/// An address below the ports that the system gives to clients: one of ours that connects must not
/// take it while one process ends and another begins.
pub(crate) fn kept_address() -> SocketAddr {
    static NEXT: AtomicU32 = AtomicU32::new(24_000);
    let mut places = std::iter::repeat_with(|| NEXT.fetch_add(1, SeqCst) as u16)
        .map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
    let is_free = |at: &SocketAddr| TcpListener::bind(at).is_ok();
    places.find(is_free).unwrap()
}

/// The machine's own file, with programs from the fleet, and commands at a port that it keeps.
fn own_file(fleet: &Fleet, admin: SocketAddr) -> String {
    fleet.own_file("a", "  programs: true\n").replace("127.0.0.1:0", &admin.to_string())
}

#[test]
fn a_machine_runs_the_program_of_its_fleet_without_a_gap_and_after_a_restart() {
    let (fleet, dns, admin) = (Fleet::new(), free(), kept_address());
    fleet.write("lists/ads.txt", "||ads.example^\n");
    fleet.write("tidegate.yaml", &blocking("one.example", dns));
    fleet.publish(&[]);
    let edge = Tidegate::start_as_itself(Scratch::new(), &own_file(&fleet, admin));
    wait::until("the door of the bundle", || is_blocked(dns, "one.example"));
    until_in_force(&edge, 1);
    let askers = Askers::start(dns);
    let newer = program(&fleet, &binary(), "9.9.1");
    fleet.write("lists/ads.txt", "||more.example^\n");
    assert!(fleet.publish(&["--program", &newer]).contains("revision 2: "));
    until_in_force(&edge, 2);
    // The former is gone when what it had open is over.
    let state = edge.state().canonicalize().unwrap();
    wait::until("the former's end", || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", edge.pid())).unwrap();
        stat.contains(") Z ").then_some(())
    });
    let successor = Successor::of(&edge);
    assert!(
        successor.program().starts_with(state.join("fleet/programs")),
        "{}",
        successor.program().display()
    );
    assert!(is_blocked(dns, "more.example").is_some());
    // The next revision keeps the program, and is taken over by a reload.
    fleet.write("lists/ads.txt", "||third.example^\n");
    fleet.publish(&[]);
    until_in_force(&edge, 3);
    wait::until("the third revision", || is_blocked(dns, "third.example"));
    assert_eq!(edge.api("/api/status")["pid"], successor.0);
    let (asked, failed) = askers.finish();
    assert!(asked > 100 && failed == 0, "{asked} answered, {failed} not");
    wait::until("the program in the machine's word", || {
        let told = edge.api("/api/fleet/revisions");
        let program = &told["edges"][0]["program"];
        let is_fleets = program["runs"].is_string() && program["runs"] == program["in_force"];
        (is_fleets && program["failed"].is_null()).then_some(())
    });
    // What is installed starts, and goes on as the fleet's.
    let digest = record(&edge)["in_force"]["program"].as_str().unwrap().to_owned();
    drop(successor);
    let (_, scratch) = edge.stop_by("KILL");
    let edge = Tidegate::start_as_itself(scratch, &own_file(&fleet, admin));
    let link = std::fs::read_link(format!("/proc/{}/exe", edge.pid())).unwrap();
    assert!(link.ends_with(format!("{digest}/tidegate")), "{}", link.display());
    assert!(is_blocked(dns, "third.example").is_some());
    // A file that somebody has changed is not started.
    let (_, scratch) = edge.stop_by("TERM");
    let spoilt = scratch.path().join("state/fleet/programs").join(digest).join("tidegate");
    std::fs::write(&spoilt, "#!/bin/sh\n").unwrap();
    let (said, code) = tidegate_tests::tidegate::refused(
        &own_file(&fleet, admin),
        &scratch,
        &scratch.path().join("state"),
    );
    assert!(code != 0 && said.contains("the fleet's program"), "{said}");
}

#[test]
fn a_program_that_does_not_come_up_is_refused_and_halts_the_waves() {
    let (fleet, dns, admin) = (Fleet::new(), free(), kept_address());
    fleet.write("lists/ads.txt", "||ads.example^\n");
    fleet.write("tidegate.yaml", &blocking("one.example", dns));
    let token = Fleet::tell(&["invite", &fleet.folder(), "--edge", "a", "--label", "ring=first"]);
    fleet.publish(&[]);
    let edge = Tidegate::start_as_itself(Scratch::new(), &own_file(&fleet, admin));
    let token = token.lines().last().unwrap().trim();
    edge.told(&["fleet", "join", token]);
    fleet.signed("admit", &[]);
    wait::until("the machine's entry", || in_force(&edge).filter(|it| *it >= 2));
    for (text, why) in
        [("no program at all", "no program for Linux"), ("\u{7f}ELF", "no program for Linux")]
    {
        let file = fleet.scratch.write("other", text);
        let words = [
            "publish",
            &fleet.folder(),
            "--key",
            &fleet.key,
            "--program",
            &file.display().to_string(),
        ];
        let (said, is_fine) = Fleet::try_tell(&words);
        assert!(!is_fine && said.contains(why), "{said}");
    }
    let broken = program(&fleet, Path::new("/bin/false"), "9.9.2");
    fleet.write("lists/ads.txt", "||more.example^\n");
    let folder = fleet.folder();
    let words = ["publish", &folder, "--key", &fleet.key, "--program", &broken];
    let waves = ["--canary", "ring=first", "--waves", "50%", "--watch", "30s"];
    let (said, is_fine) = Fleet::try_tell(&[&words[..], &waves[..]].concat());
    assert!(
        !is_fine && said.contains("halted: a refused it: the revision's program did not come up"),
        "{said}"
    );
    assert_eq!(in_force(&edge), Some(2));
    let program = wait::until("the fault in the machine's word", || {
        let told = edge.api("/api/fleet/revisions");
        let program = told["edges"][0]["program"].clone();
        program["failed"]["fault"].as_str()?.contains("did not come up").then_some(program)
    });
    assert!(program["in_force"].is_null() && program["failed"]["digest"] != program["runs"]);
    assert!(is_blocked(dns, "ads.example").is_some());
    assert_eq!(edge.api("/api/status")["pid"], edge.pid());
    // Without it the same files are fine.
    let words = ["publish", &folder, "--key", &fleet.key, "--without-program"];
    let waves = ["--canary", "ring=first", "--waves", "50%", "--watch", "4s"];
    let said = Fleet::tell(&[&words[..], &waves[..]].concat());
    assert!(said.contains("for 50%, ring=first:") && said.contains("for all edges:"), "{said}");
    wait::until("the files", || is_blocked(dns, "more.example"));
}
