//! A PostgreSQL of the test's own: made, stopped, killed and started again.

use crate::{DEADLINE, ScratchFolder, until};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// User and group `nobody`: the server refuses to be root's.
const NOBODY: u32 = 65_534;
/// The one user, who may do everything, and the password.
const USER: &str = "tidegate";
const PASSWORD: &str = "harbour";

/// A PostgreSQL on a free port of loopback; it goes with the value.
#[derive(Debug)]
pub struct PostgresServer {
    folder: ScratchFolder,
    port: u16,
    running: Option<Child>,
}

impl PostgresServer {
    /// Makes a cluster and starts it.
    ///
    /// # Panics
    /// PostgreSQL is not installed, or does not start.
    #[allow(clippy::new_without_default, reason = "it starts a server, which no default does")]
    pub fn new() -> Self {
        let mut server = Self::stopped();
        server.start();
        server
    }

    /// Makes a cluster whose port nobody listens at yet.
    ///
    /// # Panics
    /// PostgreSQL is not installed.
    pub fn stopped() -> Self {
        let folder = ScratchFolder::new();
        let anybody = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(folder.path(), anybody).unwrap();
        folder.write("password", PASSWORD);
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let server = Self { folder, port, running: None };
        let mut initdb = server.command("initdb");
        initdb.args(["-U", USER, "-A", "scram-sha-256", "--no-sync", "--pwfile"]);
        let made = initdb.arg(server.path("password")).output().unwrap();
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        server
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A program of the server for its folder, by a user whom it accepts.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(programs().join(program));
        command.current_dir(self.folder.path()).arg("-D").arg(self.path("data"));
        let owner = std::fs::metadata(self.folder.path()).unwrap();
        if std::os::unix::fs::MetadataExt::uid(&owner) == 0 {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    /// Starts it and waits until it answers.
    ///
    /// # Panics
    /// It does not.
    pub fn start(&mut self) {
        let mut command = self.command("postgres");
        command.arg("-k").arg(self.folder.path()).args(["-h", "127.0.0.1", "-p"]);
        // Nothing here outlives the machine.
        command.arg(self.port.to_string()).args(["-c", "fsync=off"]);
        let log = std::fs::File::create(self.path("log")).unwrap();
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn();
        self.running = Some(child.unwrap());
        until("PostgreSQL answers", || self.try_query("SELECT 1").is_ok());
    }

    /// Switches TLS on with this certificate and its key, in PEM; holds from the next start on.
    ///
    /// # Panics
    /// The files cannot be written.
    pub fn use_certificate(&self, certificate: &str, key: &str) {
        for (name, text) in [("server.crt", certificate), ("server.key", key)] {
            let path = self.path("data").join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
            let owner = std::fs::metadata(self.path("data")).unwrap();
            let (uid, gid) = {
                use std::os::unix::fs::MetadataExt;
                (owner.uid(), owner.gid())
            };
            chown(&path, Some(uid), Some(gid)).unwrap();
        }
        let settings = self.path("data").join("postgresql.auto.conf");
        let text = std::fs::read_to_string(&settings).unwrap();
        std::fs::write(&settings, format!("{text}ssl = on\n")).unwrap();
    }

    /// Stops it as its administrator does: connections are ended.
    ///
    /// # Panics
    /// It does not stop.
    pub fn stop(&mut self) {
        self.end_by("INT");
    }

    /// Ends it at once, as a power cut would end its processes.
    ///
    /// # Panics
    /// It does not end.
    pub fn crash(&mut self) {
        self.end_by("QUIT");
    }

    /// Has it answer nobody until [`PostgresServer::thaw`].
    ///
    /// # Panics
    /// It is not running.
    pub fn freeze(&self) {
        self.signal_all("STOP");
    }

    /// Has it answer again.
    ///
    /// # Panics
    /// It is not running.
    pub fn thaw(&self) {
        self.signal_all("CONT");
    }

    fn signal_all(&self, signal: &str) {
        let leader = self.running.as_ref().unwrap().id();
        let script = format!("kill -{signal} {leader}; pkill -{signal} -P {leader}; true");
        assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success());
    }

    fn end_by(&mut self, signal: &str) {
        let Some(mut child) = self.running.take() else { return };
        let script = format!("kill -{signal} {}", child.id());
        assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success());
        until("PostgreSQL ends", || child.try_wait().unwrap().is_some());
    }

    /// Port that it listens at.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// URL of its database.
    pub fn url(&self) -> String {
        format!("postgresql://{USER}:{PASSWORD}@127.0.0.1:{}/postgres", self.port)
    }

    /// Rows of a question, one a line, columns with `|` between them.
    ///
    /// # Panics
    /// It cannot be asked.
    pub fn query(&self, sql: &str) -> String {
        self.try_query(sql).unwrap_or_else(|why| panic!("{sql}: {why}"))
    }

    /// The same, or what the server said.
    ///
    /// # Errors
    /// It cannot be asked.
    ///
    /// # Panics
    /// There is no `psql`.
    pub fn try_query(&self, sql: &str) -> std::io::Result<String> {
        let mut psql = Command::new(programs().join("psql"));
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", sql]).arg(self.url());
        psql.env("PGCONNECT_TIMEOUT", "5");
        let output = psql.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
        if output.status.success() {
            Ok(text(&output.stdout))
        } else {
            Err(std::io::Error::other(text(&output.stderr)))
        }
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        let Some(mut child) = self.running.take() else { return };
        let _ = Command::new("sh").args(["-c", &format!("kill -QUIT {}", child.id())]).status();
        let begun = std::time::Instant::now();
        while matches!(child.try_wait(), Ok(None)) && begun.elapsed() < DEADLINE {
            std::thread::park_timeout(std::time::Duration::from_millis(5));
        }
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// Folder of the newest PostgreSQL's programs.
fn programs() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql");
    let versions = versions.expect("PostgreSQL is not installed: make test-packages");
    let number = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    let newest = versions.map(|it| it.unwrap().path()).max_by_key(|path| number(path));
    newest.expect("PostgreSQL is not installed: make test-packages").join("bin")
}
