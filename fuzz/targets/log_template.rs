//! A template of an access log: whatever is accepted writes one line, however hostile the request.
#![no_main]

use access_log::{AccessLogChoice, AccessLogSettings, LineTemplate};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let template = Some(text.to_owned());
    let settings = AccessLogSettings { file: "a".into(), template, ..Default::default() };
    let is_right = AccessLogChoice::Detailed(settings).check().is_empty();
    match LineTemplate::parse(text) {
        Ok(template) => {
            assert!(is_right);
            for hostile in [&b"x\"\r\n\x1b[2J\xff\\"[..], b"", text.as_bytes()] {
                for line in template.example(hostile) {
                    let (end, inner) = line.split_last().expect("a line ends");
                    assert_eq!(*end, b'\n');
                    assert!(!inner.iter().any(|it| *it < b' ' && *it != b'\t'), "{line:?}");
                }
            }
        }
        Err(why) => {
            assert!(!is_right);
            assert!(!why.to_string().is_empty() && !why.remedy().is_empty());
        }
    }
});
