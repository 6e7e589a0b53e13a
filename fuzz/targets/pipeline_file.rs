//! A pipeline of mosdns or OxiDNS of any text; the first byte says whose. What comes of it is read
//! by us, or each fault says something.
#![no_main]

use import_report::ImportSurroundings;
use libfuzzer_sys::fuzz_target;
use pipeline_imports::{Dialect, DocumentFault, PlacedDocument, from_pipeline};
use std::io;
use std::path::Path;

/// The file, and what every other one holds.
struct TwoTexts<'t>(&'t str, &'t str);

impl ImportSurroundings for TwoTexts<'_> {
    fn read(&self, path: &Path) -> io::Result<String> {
        let text = if path == Path::new("main.yaml") { self.0 } else { self.1 };
        Ok(text.to_owned())
    }

    fn list(&self, _: &Path) -> io::Result<Vec<String>> {
        Err(io::Error::other("no folder"))
    }

    fn variable(&self, name: &str) -> Option<String> {
        (name.len() > 2).then(|| name.to_owned())
    }
}

fn document(text: &str) -> Result<PlacedDocument, DocumentFault> {
    let read = config::YamlDocument::read(text);
    let document = read.map_err(|(line, message)| DocumentFault { line, message })?;
    Ok(PlacedDocument { value: document.to_json(), line: Box::new(move |keys| document.line(keys)) })
}

fuzz_target!(|data: &[u8]| {
    let Some((which, rest)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(rest) else { return };
    // Brackets in quotes count for the reader's bound on nesting.
    if text.bytes().filter(|it| matches!(it, b'[' | b'{')).count() > 200 {
        return;
    }
    let (main, beside) = text.split_once("\n\n").unwrap_or((text, ""));
    let dialect = if which % 2 == 0 { Dialect::Mosdns } else { Dialect::Oxidns };
    match from_pipeline(dialect, &["main.yaml".into()], &TwoTexts(main, beside), &document) {
        Err(faults) => assert!(faults.iter().all(|it| !it.message.is_empty())),
        // Its values are ours to check; its form is not to be wrong.
        Ok(made) => {
            let yaml = made.commented();
            if let Err(complaints) = config::parse(&yaml, Path::new("made.yaml")) {
                assert!(complaints.iter().all(|it| !it.path.is_empty()), "{yaml}\n{complaints:?}");
            }
        }
    }
});
