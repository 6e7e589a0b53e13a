//! The binary under test, started with a configuration and a state folder of its own.

use crate::{Scratch, wait};
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc;

/// Where cargo puts the binary; `TIDEGATE_BIN` names another.
pub fn binary() -> PathBuf {
    if let Some(named) = std::env::var_os("TIDEGATE_BIN") {
        return named.into();
    }
    // target/<profile>/deps/<test> → target/<profile>/tidegate
    let test = std::env::current_exe().unwrap();
    let path = test.parent().unwrap().parent().unwrap().join("tidegate");
    assert!(path.is_file(), "build the binary first: cargo build -p tidegate ({})", path.display());
    path
}

/// Runs a command of the binary to its end.
pub fn run(args: &[&str]) -> Output {
    Command::new(binary()).args(args).output().unwrap()
}

/// A running Tidegate.
#[derive(Debug)]
pub struct Tidegate {
    child: Child,
    pub scratch: Scratch,
    pub config: PathBuf,
    /// What it printed up to `ready`.
    pub greeting: Vec<String>,
    /// What it prints after that.
    pub output: mpsc::Receiver<String>,
}

impl Tidegate {
    /// Starts it with this configuration and waits for `ready`.
    pub fn start(yaml: &str) -> Self {
        Self::start_in(Scratch::new(), yaml)
    }

    /// The same in a folder that already holds files.
    pub fn start_in(scratch: Scratch, yaml: &str) -> Self {
        Self::start_with(scratch, yaml, &[])
    }

    /// The same with variables in its environment.
    pub fn start_with(scratch: Scratch, yaml: &str, variables: &[(&str, &str)]) -> Self {
        let config = scratch.write("tidegate.yaml", yaml);
        let mut command = Command::new(binary());
        command.args(["run", "--config"]).arg(&config);
        command.arg("--state").arg(scratch.path().join("state"));
        command.envs(variables.iter().copied());
        Self::begin(scratch, config, command)
    }

    /// The same as a user who has no other to become: root of a namespace that nobody else is in.
    pub fn start_as_itself(scratch: Scratch, yaml: &str) -> Self {
        let config = scratch.write("tidegate.yaml", yaml);
        let mut command = Command::new("unshare");
        command
            .args(["--map-root-user", "--"])
            .arg(binary())
            .args(["run", "--config"])
            .arg(&config);
        command.arg("--state").arg(scratch.path().join("state"));
        Self::begin(scratch, config, command)
    }

    /// The same in the folder of its configuration, without a word about its state folder.
    pub fn start_at_home(scratch: Scratch, yaml: &str) -> Self {
        let config = scratch.write("tidegate.yaml", yaml);
        let mut command = Command::new(binary());
        command.current_dir(scratch.path()).env_remove("STATE_DIRECTORY");
        Self::begin(scratch, config, command)
    }

    /// Starts it where the folder `name` of `scratch` has a file system of its own with room for
    /// `bytes`. Needs root.
    pub fn start_on_a_small_disk(scratch: Scratch, yaml: &str, name: &str, bytes: u64) -> Self {
        Self::start_on_a_disk(scratch, yaml, (name, bytes), "")
    }

    fn start_on_a_disk(
        scratch: Scratch,
        yaml: &str,
        (name, bytes): (&str, u64),
        prepare: &str,
    ) -> Self {
        let config = scratch.write("tidegate.yaml", yaml);
        let folder = scratch.path().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let script =
            format!("mount -t tmpfs -o size=$1 none \"$2\" && {prepare} shift 2 && exec \"$@\"");
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", &script, "sh", &bytes.to_string()]).arg(folder);
        command.arg(binary()).args(["run", "--config"]).arg(&config);
        command.arg("--state").arg(scratch.path().join("state"));
        Self::begin(scratch, config, command)
    }

    /// The same with no room left on that file system; files without content can be made.
    pub fn start_on_a_full_disk(scratch: Scratch, yaml: &str, name: &str, bytes: u64) -> Self {
        let fill = "dd if=/dev/zero of=\"$2/filled\" bs=4096 2>/dev/null";
        Self::start_on_a_disk(scratch, yaml, (name, bytes), &format!("{{ {fill}; true; }} &&"))
    }

    /// `tidegate serve` with these arguments, in the folder `scratch`; temporary folders are made
    /// in its `tmp`.
    pub fn serve(scratch: Scratch, args: &[&str]) -> Self {
        Self::start_by(scratch, &[&["serve"], args].concat())
    }

    /// The same by a command line that names no configuration.
    pub fn start_by(scratch: Scratch, args: &[&str]) -> Self {
        let temporary = scratch.path().join("tmp");
        std::fs::create_dir_all(&temporary).unwrap();
        let as_ever = std::os::unix::fs::PermissionsExt::from_mode(0o1777);
        std::fs::set_permissions(&temporary, as_ever).unwrap();
        let mut command = Command::new(binary());
        command.current_dir(scratch.path()).env("TMPDIR", temporary).args(args);
        Self::begin(scratch, PathBuf::new(), command)
    }

    fn begin(scratch: Scratch, config: PathBuf, mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (lines, output) = mpsc::channel();
        for pipe in [
            Box::new(child.stdout.take().unwrap()) as Box<dyn Read + Send>,
            Box::new(child.stderr.take().unwrap()),
        ] {
            let lines = lines.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                    if lines.send(line).is_err() {
                        return;
                    }
                }
            });
        }
        drop(lines);
        let mut greeting = Vec::new();
        loop {
            match output.recv_timeout(wait::DEADLINE) {
                Ok(line) if line == "ready" => break,
                Ok(line) => greeting.push(line),
                Err(why) => panic!("no `ready` ({why}); it said:\n{}", greeting.join("\n")),
            }
        }
        Self { child, scratch, config, greeting, output }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn state(&self) -> PathBuf {
        self.scratch.path().join("state")
    }

    /// True if a line that it printed at its start has these words.
    pub fn greets(&self, what: &str) -> bool {
        self.greeting.iter().any(|line| line.contains(what))
    }

    /// The address that the start-up lines print for this scheme and door, such as `dns udp`.
    pub fn address(&self, door: &str, scheme: &str) -> SocketAddr {
        let mark = format!("{scheme}://");
        self.greeting
            .iter()
            .filter(|line| line.trim_start().starts_with(door))
            .find_map(|line| {
                let rest = &line[line.find(&mark)? + mark.len()..];
                rest.split([' ', '/']).next()?.parse().ok()
            })
            .unwrap_or_else(|| panic!("no {door} {scheme} among:\n{}", self.greeting.join("\n")))
    }

    /// Runs a command against this instance's configuration and state.
    pub fn command(&self, args: &[&str]) -> Output {
        Command::new(binary())
            .args(args)
            .arg("--config")
            .arg(&self.config)
            .arg("--state")
            .arg(self.state())
            .output()
            .unwrap()
    }

    /// The text of a successful command.
    pub fn told(&self, args: &[&str]) -> String {
        let output = self.command(args);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success(),
            "{args:?} failed: {text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        text
    }

    pub fn signal(&self, name: &str) {
        let status = Command::new("kill")
            .args([format!("-{name}"), self.pid().to_string()])
            .status()
            .unwrap();
        assert!(status.success());
    }

    /// Sends a signal and waits for the end.
    pub fn stop_by(mut self, signal: &str) -> (ExitStatus, Scratch) {
        self.signal(signal);
        let status = wait::until("tidegate to end", || self.child.try_wait().unwrap());
        let scratch = std::mem::take(&mut self.scratch);
        (status, scratch)
    }

    /// Resident memory now, in bytes.
    pub fn resident_bytes(&self) -> u64 {
        self.memory("VmRSS:")
    }

    /// Resident memory now that no file has, in bytes: what counts against a limit.
    pub fn anonymous_bytes(&self) -> u64 {
        self.memory("RssAnon:")
    }

    fn memory(&self, kind: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find(|line| line.starts_with(kind)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
    }

    /// Asks the admin API and reads its JSON.
    pub fn api(&self, path: &str) -> serde_json::Value {
        let body = self.asked(path);
        serde_json::from_str(&body).unwrap_or_else(|error| panic!("{path}: {error}: {body}"))
    }

    /// The metrics page.
    pub fn figures(&self) -> String {
        self.asked("/metrics")
    }

    fn asked(&self, path: &str) -> String {
        let token = std::fs::read_to_string(self.state().join("admin.token")).unwrap();
        let address = self.address("admin", "http");
        let (status, body) = crate::clients::curl(&[
            "-H",
            &format!("Authorization: Bearer {}", token.trim()),
            &format!("http://{address}{path}"),
        ]);
        assert_eq!(status, 200, "{path}: {body}");
        body
    }
}

impl Drop for Tidegate {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("tidegate said:\n{}", self.greeting.join("\n"));
            while let Ok(line) = self.output.try_recv() {
                eprintln!("{line}");
            }
        }
    }
}

/// The binary started where it is expected to fail: what it said, and its exit code.
pub fn refused(yaml: &str, scratch: &Scratch, state: &Path) -> (String, i32) {
    let config = scratch.write("tidegate.yaml", yaml);
    let output = Command::new(binary())
        .arg("run")
        .arg("--config")
        .arg(&config)
        .arg("--state")
        .arg(state)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (said, output.status.code().unwrap_or(-1))
}
