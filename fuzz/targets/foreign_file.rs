//! Any tree as a pipeline of mosdns or OxiDNS, with any bytes as the files it names: a program, or
//! complaints that each say something.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mosdns_compat::compile::{compile, describe};
use mosdns_compat::language::{self, ForeignFiles, PathBase};
use serde_json::Value;
use std::io;
use vocab::Complaint;

/// Every file holds the same.
struct Same<'d>(&'d [u8]);

impl ForeignFiles for Same<'_> {
    fn read(&self, _: &str) -> io::Result<Vec<u8>> {
        Ok(self.0.to_vec())
    }

    fn is_missing(&self, _: &str) -> bool {
        false
    }

    fn read_document(&self, _: &str, _: PathBase) -> Result<Value, Complaint> {
        serde_json::from_slice(self.0).map_err(|why| Complaint::new("", why.to_string()))
    }

    fn variable(&self, name: &str) -> Option<String> {
        (name.len() > 2).then(|| name.to_owned())
    }
}

fuzz_target!(|data: &[u8]| {
    // The tree, and behind a line of its own what files hold.
    let cut = data.windows(2).position(|it| it == b"\n\n").unwrap_or(data.len());
    let Ok(document) = serde_json::from_slice::<Value>(&data[..cut]) else { return };
    let files = Same(data.get(cut + 2..).unwrap_or_default());
    let compiled =
        language::read(&document, &files).and_then(|foreign| compile(&foreign, 1, &files));
    match compiled {
        Ok(compiled) => {
            let ops = compiled.program.ops.len();
            assert!(compiled.entries.iter().all(|entry| (entry.start as usize) < ops));
            assert!(describe(&compiled).lines().count() > ops);
        }
        Err(complaints) => {
            assert!(!complaints.is_empty());
            assert!(complaints.iter().all(|it| !it.message.is_empty()));
        }
    }
});
