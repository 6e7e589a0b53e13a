//! A setting changed in a configuration's text: a text that is read as the old one with that
//! setting changed, or a refusal. What stands on other lines stays.
#![no_main]

use config::{SettingChange, SettingPath, WrittenValue, edit_text};
use libfuzzer_sys::fuzz_target;
use std::path::Path;

// A path, a value and a text, each on a line of its own; the text is all that follows.
fuzz_target!(|data: &[u8]| {
    let Ok(input) = std::str::from_utf8(data) else { return };
    let mut parts = input.splitn(3, '\n');
    let (Some(path), Some(value), Some(text)) = (parts.next(), parts.next(), parts.next()) else {
        return;
    };
    let Ok(path) = SettingPath::parse(path) else { return };
    // A path is what it says.
    assert_eq!(SettingPath::parse(&path.to_string()), Ok(path.clone()));
    let change = match WrittenValue::parse(value) {
        Ok(value) => SettingChange::Set(value),
        Err(_) => SettingChange::Unset,
    };
    let Ok(new) = edit_text(text, &path, &change) else { return };
    // What was written may be written again and taken away; what was taken away is gone.
    match &change {
        SettingChange::Set(_) => {
            let again = edit_text(&new, &path, &change).unwrap_or(new.clone());
            drop(edit_text(&again, &path, &SettingChange::Unset));
        }
        SettingChange::Unset => {
            let gone = edit_text(&new, &path, &change);
            // The next item of a list has moved up.
            assert!(gone.is_err() || path.to_string().contains(|it: char| it.is_ascii_digit()));
        }
    }
    // What it says in full, the program's own checks say.
    drop(config::parse(&new, Path::new("fuzz.yaml")));
});
