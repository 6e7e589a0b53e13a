//! A real Redis of the test's own, on a free port of loopback, ended with its value.

use crate::{Scratch, wait};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

/// A running server.
#[derive(Debug)]
pub struct RedisServer {
    port: u16,
    args: Vec<String>,
    folder: Scratch,
    process: Child,
}

impl RedisServer {
    /// A server that keeps nothing on disk, with these arguments beside.
    pub fn start(args: &[&str]) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let folder = Scratch::new();
        let args: Vec<String> = args.iter().map(ToString::to_string).collect();
        let process = Self::spawn(port, &folder, &args);
        Self { port, args, folder, process }
    }

    fn spawn(port: u16, folder: &Scratch, args: &[String]) -> Child {
        let process = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""])
            .args(args)
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("redis-server is installed (make test-packages)");
        wait::until("redis-server", || TcpStream::connect(("127.0.0.1", port)).ok());
        process
    }

    /// Port on loopback.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Runs a command of `redis-cli`; returns what it says.
    pub fn cli(&self, args: &[&str]) -> String {
        let port = self.port.to_string();
        let output = Command::new("redis-cli").args(["-p", &port]).args(args).output();
        String::from_utf8(output.unwrap().stdout).unwrap().trim().to_owned()
    }

    /// Sends it a signal: `STOP`, `CONT`.
    pub fn signal(&self, name: &str) {
        let pid = self.process.id().to_string();
        let sent = Command::new("kill").args([&format!("-{name}"), &pid]).status().unwrap();
        assert!(sent.success(), "kill -{name}");
    }

    /// Ends it by `kill -9`.
    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Starts it again on its port, with nothing of what it held.
    pub fn start_again(&mut self) {
        self.process = Self::spawn(self.port, &self.folder, &self.args);
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        // Neither can fail in a way that a test could mend.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
