//! A configuration of Polipo of any text: what comes of it is read by us, or each complaint names a
//! line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    // Brackets in quotes count for the reader's bound on nesting, and a line may be a value and a
    // rule.
    if text.bytes().filter(|it| matches!(it, b'[' | b'{')).count() > 400 {
        return;
    }
    let forbidden = |_: &Path| Ok(text.to_owned());
    match config::from_polipo(text, Path::new("config"), &forbidden) {
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
