//! A server that speaks as S3 does, with signatures verified by AWS' own signer (`tests/s3`): one
//! bucket, one key.

use crate::{Scratch, repository, wait};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

/// Name of the bucket, of the key, and its secret.
pub const BUCKET: &str = "bundles";
pub const KEY: &str = "AKIATESTFLEET";
pub const SECRET: &str = "s3cr3t/of+the=fleet";

#[derive(Debug)]
pub struct S3Server {
    pub address: String,
    server: Child,
    answers: Arc<Mutex<Vec<String>>>,
    scratch: Scratch,
}

impl Default for S3Server {
    fn default() -> Self {
        Self::start()
    }
}

impl S3Server {
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// One whose clock is two hours fast, by Debian's libfaketime.
    pub fn start_with_a_fast_clock() -> Self {
        let folders = std::fs::read_dir("/usr/lib").unwrap().flatten().map(|it| it.path());
        let mut all = folders.map(|it| it.join("faketime/libfaketimeMT.so.1"));
        let library = all.find(|it| it.is_file()).expect("the package faketime is installed");
        let library = library.display().to_string();
        Self::start_with(&[
            ("LD_PRELOAD", &library),
            ("FAKETIME", "+2h"),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
            ("NO_FAKE_STAT", "1"),
        ])
    }

    fn start_with(variables: &[(&str, &str)]) -> Self {
        let folder = repository().join("tests/s3");
        assert!(folder.join("node_modules").is_dir(), "make e2e installs the server: npm ci there");
        let scratch = Scratch::new();
        let mut node = Command::new("node");
        node.arg("server.mjs").arg(scratch.path()).args([BUCKET, KEY, SECRET]).current_dir(folder);
        node.envs(variables.iter().copied());
        let mut server = node.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
        let address = lines.next().unwrap().unwrap();
        let answers = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&answers);
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                kept.lock().unwrap().push(line);
            }
        });
        Self { address, server, answers, scratch }
    }

    /// Each answer so far: method, path without its query, status or code.
    pub fn answers(&self) -> Vec<String> {
        self.answers.lock().unwrap().clone()
    }

    /// Waits for an answer, from this one on.
    pub fn until_answered(&self, from: usize, answer: &str) {
        wait::until(answer, || self.answers()[from..].iter().any(|it| it == answer).then_some(()));
    }

    /// The folder in which it keeps objects.
    pub fn objects(&self) -> PathBuf {
        self.scratch.path().join(BUCKET)
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
