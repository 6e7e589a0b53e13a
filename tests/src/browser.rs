//! Chromium without a screen, in a network namespace, with a home of its own.

use crate::namespace::Namespace;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

/// A running Chromium.
#[derive(Debug)]
pub struct Browser {
    child: Child,
    said: Arc<Mutex<Vec<String>>>,
}

impl Browser {
    /// Opens a page, with this home, whose certificate authorities it trusts.
    pub fn open(namespace: &Namespace, home: &Path, url: &str) -> Self {
        Self::open_with(namespace, home, &[], url)
    }

    /// The same, with more on its command line.
    pub fn open_with(namespace: &Namespace, home: &Path, flags: &[&str], url: &str) -> Self {
        let mut child = namespace
            .command("chromium")
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--disable-features=HttpsUpgrades,HttpsFirstBalancedModeAutoEnable,OptimizationHints,MediaRouter",
                "--enable-logging=stderr",
                "--remote-debugging-port=0",
            ])
            .args(flags)
            .arg(format!("--user-data-dir={}", home.join("profile").display()))
            .arg(url)
            .env("HOME", home)
            .env("TMPDIR", home)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let said = Arc::new(Mutex::new(Vec::new()));
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let kept = Arc::clone(&said);
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                kept.lock().unwrap().push(line);
            }
        });
        Self { child, said }
    }

    /// What pages said on their console.
    pub fn console(&self) -> Vec<String> {
        let said = self.said.lock().unwrap();
        // The browser's own pages complain of a busy machine.
        let is_of_pages =
            |line: &&String| line.contains("CONSOLE") && !line.contains("source: chrome://");
        said.iter().filter(is_of_pages).cloned().collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Has the browser of this home trust these authorities.
pub fn trust(home: &Path, authorities: &[&Path]) {
    let database = home.join(".pki/nssdb");
    std::fs::create_dir_all(&database).unwrap();
    let database = format!("sql:{}", database.display());
    let certutil = |args: &[&str]| {
        let status = Command::new("certutil").args(args).args(["-d", &database]).status().unwrap();
        assert!(status.success(), "certutil of libnss3-tools");
    };
    certutil(&["-N", "--empty-password"]);
    for authority in authorities {
        let path = authority.to_str().unwrap();
        certutil(&["-A", "-n", path, "-t", "C,,", "-i", path]);
    }
}
