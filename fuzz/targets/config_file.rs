//! A configuration of any text: a plan, or complaints that each name a place in it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    // Not the files of this machine.
    if text.contains("include") || text.contains("${file:") {
        return;
    }
    if let Err(complaints) = config::parse(text, Path::new("fuzz.yaml")) {
        assert!(!complaints.is_empty());
        assert!(complaints.iter().all(|complaint| complaint.line >= 1 && complaint.column >= 1));
    }
});
