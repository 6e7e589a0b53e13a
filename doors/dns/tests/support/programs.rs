//! Other people's programs as clients: `kdig`, `curl` and `openssl`, each to its end.
#![allow(clippy::unwrap_used)] // A test that cannot set itself up has failed.
#![allow(dead_code)] // Each test file uses its part of it.

use super::Bench;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use vocab::Scheme;

/// What a program said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) out: Vec<u8>,
    pub(crate) text: String,
    pub(crate) errors: String,
}

/// Runs a program that ends by itself, with `input` to read.
pub(crate) fn run(program: &str, words: &[&str], input: &[u8]) -> Said {
    let mut child = Command::new("timeout")
        .args(["20", program])
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|why| panic!("{program} is needed: {why}"));
    // It may end before it has read all.
    let _ = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    Said {
        text: String::from_utf8_lossy(&output.stdout).into_owned(),
        errors: String::from_utf8_lossy(&output.stderr).into_owned(),
        out: output.stdout,
    }
}

impl Bench {
    /// The file with the certificate of the door's authority.
    pub(crate) fn ca(&self) -> PathBuf {
        self.folder.join("ca/ca.pem")
    }

    /// `kdig` at the door's listener of this scheme; `words` are divided by blanks.
    pub(crate) fn kdig(&self, scheme: Scheme, words: &str) -> Said {
        let port = self.address(scheme).port().to_string();
        let ca = format!("+tls-ca={}", self.ca().display());
        let mut all = vec!["@127.0.0.1", "-p", &port];
        if scheme != Scheme::Http {
            all.push(&ca);
        }
        all.extend(words.split(' '));
        run("kdig", &all, b"")
    }

    /// The door's URL of this scheme, up to the path.
    pub(crate) fn url(&self, scheme: Scheme) -> String {
        format!("{}://{}", scheme.as_str(), self.address(scheme))
    }

    /// `curl` at the door's listener of this scheme, with `words` besides.
    pub(crate) fn curl(&self, scheme: Scheme, path: &str, words: &[&str], input: &[u8]) -> Said {
        let url = format!("{}{path}", self.url(scheme));
        let ca = self.ca();
        let mut all = vec!["-sS", "--cacert", ca.to_str().unwrap()];
        all.extend(words);
        all.push(&url);
        run("curl", &all, input)
    }

    /// `openssl s_client` at the door's listener of this scheme, without input.
    pub(crate) fn s_client(&self, scheme: Scheme, words: &[&str]) -> String {
        let address = self.address(scheme).to_string();
        let ca = self.ca();
        let mut all = vec!["s_client", "-connect", &address, "-CAfile", ca.to_str().unwrap()];
        all.extend(words);
        let said = run("openssl", &all, b"");
        said.text + &said.errors
    }

    /// A self-signed certificate for `name`, in `NAME.pem` and `NAME.key` of the door's folder.
    pub(crate) fn make_certificate(&self, name: &str) -> door_dns::CertificateSettings {
        let path = |ending: &str| self.folder.join(format!("{name}.{ending}"));
        let (cert, key) = (path("pem"), path("key"));
        let (subject, also) = (format!("/CN={name}"), format!("subjectAltName=DNS:{name}"));
        let words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"];
        let files = ["-nodes", "-days", "7", "-keyout", key.to_str().unwrap()];
        let rest = ["-out", cert.to_str().unwrap(), "-subj", &subject, "-addext", &also];
        let said = run("openssl", &[&words[..], &files, &rest].concat(), b"");
        assert!(cert.exists(), "{}", said.errors);
        // Relative, as people write them.
        let relative = |ending: &str| PathBuf::from(format!("{name}.{ending}"));
        door_dns::CertificateSettings { cert: relative("pem"), key: relative("key") }
    }
}
