//! A configuration of Perlbal of any text: what comes of it is read by us, or each complaint names
//! a line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::io;
use std::path::Path;

/// Every file that it includes is itself.
struct OneText<'t>(&'t str);

impl config::PerlbalSurroundings for OneText<'_> {
    fn read(&self, _: &Path) -> io::Result<String> {
        Ok(self.0.to_owned())
    }

    fn list(&self, _: &Path) -> io::Result<Vec<String>> {
        Ok(vec!["a.conf".into()])
    }

    fn variable(&self, _: &str) -> Option<String> {
        Some(self.0.to_owned())
    }
}

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    // Brackets in quotes count for the reader's bound on nesting, and a text may include itself.
    let brackets = text.bytes().filter(|it| matches!(it, b'[' | b'{')).count();
    if brackets > 40 || text.to_ascii_lowercase().matches("include").count() > 1 {
        return;
    }
    match config::from_perlbal(text, Path::new("perlbal.conf"), &OneText(text)) {
        Err(complaints) => {
            assert!(!complaints.is_empty());
            assert!(complaints.iter().all(|complaint| complaint.line >= 1));
        }
        // Its values are ours to check; its form is not to be wrong.
        Ok(yaml) => {
            if let Err(complaints) = config::parse(&yaml, Path::new("made.yaml")) {
                assert!(complaints.iter().all(|it| !it.path.is_empty()), "{yaml}\n{complaints:?}");
            }
        }
    }
});
