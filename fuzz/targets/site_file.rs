//! A configuration of nginx, HAProxy or Caddy of any text: what comes of it is read by us, or each
//! fault names a file.
#![no_main]

use import_report::ImportSurroundings;
use libfuzzer_sys::fuzz_target;
use std::io;
use std::path::{Path, PathBuf};

/// Every file is this text, but for those that include it once more.
struct OneText<'t>(&'t str);

impl ImportSurroundings for OneText<'_> {
    fn read(&self, path: &Path) -> io::Result<String> {
        match path.ends_with("file") {
            true => Ok(self.0.to_owned()),
            false => Err(io::Error::other("not there")),
        }
    }

    fn list(&self, _: &Path) -> io::Result<Vec<String>> {
        Err(io::Error::other("no folder"))
    }

    fn variable(&self, _: &str) -> Option<String> {
        Some("x".into())
    }
}

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    // Brackets in quotes count for the reader's bound on nesting.
    if text.len() > 8_192 || text.bytes().filter(|it| matches!(it, b'[' | b'{')).count() > 40 {
        return;
    }
    let paths = [PathBuf::from("/site.conf/file")];
    let imports =
        [nginx_imports::from_nginx, haproxy_imports::from_haproxy, caddy_imports::from_caddy];
    for import in imports {
        match import(&paths, &OneText(text)) {
            Err(faults) => {
                assert!(!faults.is_empty());
                assert!(faults.iter().all(|it| !it.place.file.is_empty()));
            }
            // Its values are ours to check; its form is not to be wrong.
            Ok(made) => {
                let text = made.commented();
                if let Err(complaints) = config::parse(&text, Path::new("made.yaml")) {
                    assert!(complaints.iter().all(|it| !it.path.is_empty()), "{text}\n{complaints:?}");
                }
                let _ = made.table();
            }
        }
    }
});
