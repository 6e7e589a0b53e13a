//! A php-fpm of our own: Debian's, with a pool in a folder that goes when the test ends.

use crate::support::{DEADLINE, Folder};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A running php-fpm.
pub(crate) struct Php {
    child: Child,
    pub(crate) socket: PathBuf,
}

/// The program, under whichever version Debian has.
fn program() -> PathBuf {
    let found = std::fs::read_dir("/usr/sbin")
        .unwrap()
        .filter_map(Result::ok)
        .find(|entry| entry.file_name().to_str().is_some_and(|name| name.starts_with("php-fpm")));
    found.expect("php-fpm is installed: make test-packages").path()
}

impl Php {
    pub(crate) fn start(base: &Folder, children: u32) -> Self {
        let socket = base.path().join("php.sock");
        let at = |name: &str| base.path().join(name).display().to_string();
        let user =
            if rustix::process::getuid().is_root() { "user = root\ngroup = root\n" } else { "" };
        let text = format!(
            "[global]\nerror_log = {}\ndaemonize = no\n[www]\n{user}listen = {}\npm = static\n\
             pm.max_children = {children}\ncatch_workers_output = no\n\
             php_admin_value[post_max_size] = 32M\nphp_admin_value[memory_limit] = 128M\n\
             php_admin_value[upload_tmp_dir] = {}\nphp_admin_flag[log_errors] = on\n\
             php_admin_flag[display_errors] = off\n",
            at("php.log"),
            socket.display(),
            base.path().display()
        );
        base.write("php.conf", text);
        let child = Command::new(program())
            .args(["-F", "-R", "-n", "-y", &at("php.conf")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let begun = Instant::now();
        while UnixStream::connect(&socket).is_err() {
            let log = std::fs::read_to_string(at("php.log")).unwrap_or_default();
            assert!(begun.elapsed() < DEADLINE, "php-fpm does not listen: {log}");
            std::thread::park_timeout(Duration::from_millis(5));
        }
        Self { child, socket }
    }

    pub(crate) fn address(&self) -> String {
        format!("unix://{}", self.socket.display())
    }
}

impl Drop for Php {
    fn drop(&mut self) {
        // The master ends its children; killed, it would leave them.
        let pid = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let _ = self.child.wait();
    }
}
