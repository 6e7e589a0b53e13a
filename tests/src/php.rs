//! A php-fpm of our own: Debian's, with one pool in the test's folder.

use crate::{Scratch, wait};
use rustix::process::{Pid, Signal, getuid, kill_process};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// A running php-fpm.
#[derive(Debug)]
pub struct Php {
    child: Child,
    socket: PathBuf,
}

/// The program, under whichever version Debian has.
fn program() -> PathBuf {
    let is_it = |name: &str| name.starts_with("php-fpm");
    let mut installed = std::fs::read_dir("/usr/sbin").unwrap().flatten();
    let found = installed.find(|entry| entry.file_name().to_str().is_some_and(is_it));
    found.expect("php-fpm is installed: make test-packages").path()
}

impl Php {
    pub fn start(scratch: &Scratch) -> Self {
        let socket = scratch.path().join("php.sock");
        let user = if getuid().is_root() { "user = root\ngroup = root\n" } else { "" };
        let log = scratch.path().join("php.log");
        let settings = format!(
            "[global]\nerror_log = {}\ndaemonize = no\n[www]\n{user}listen = {}\nlisten.mode = 0666\npm = static\n\
             pm.max_children = 2\n",
            log.display(),
            socket.display()
        );
        let settings = scratch.write("php.conf", settings);
        let child = Command::new(program())
            .args(["-F", "-R", "-n", "-y"])
            .arg(settings)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait::until("php-fpm to listen", || UnixStream::connect(&socket).ok());
        Self { child, socket }
    }

    /// Its address, as settings write it.
    pub fn address(&self) -> String {
        format!("unix://{}", self.socket.display())
    }
}

impl Drop for Php {
    fn drop(&mut self) {
        // The master ends its children; killed, it would leave them.
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let _ = self.child.wait();
    }
}
