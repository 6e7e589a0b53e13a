//! Arguments of `string_exp`: which text, what it must be, and words.
//!
//! mosdns has two sources and variables of the environment; OxiDNS has more, and lets the operation
//! stand right behind the source. Called by [`super::matchers`].

use super::position::{ReadNotes, SourcePosition};
use pipeline::program::TextSource;

/// A test of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StringTest {
    /// Which text.
    pub source: StringSource,
    /// What it must be.
    pub operation: StringOperation,
    /// The words that it is compared with; one is enough.
    pub words: Vec<String>,
    /// Where it stands.
    pub position: SourcePosition,
}

/// Where a text comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StringSource {
    /// The request.
    Request(TextSource),
    /// A variable of the environment.
    Variable(String),
}

/// Tells what a text must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StringOperation {
    /// Empty.
    Empty,
    /// One of the words.
    Equal,
    /// Begin with one.
    Prefix,
    /// End with one.
    Suffix,
    /// Hold one.
    Contains,
    /// Match one, as an expression.
    Regexp,
}

const OPERATIONS: &[(&str, StringOperation)] = &[
    ("contains", StringOperation::Contains),
    ("prefix", StringOperation::Prefix),
    ("suffix", StringOperation::Suffix),
    ("regexp", StringOperation::Regexp),
    ("eq", StringOperation::Equal),
    ("zl", StringOperation::Empty),
];

/// Sources; those of mosdns come first.
pub(super) const SOURCES: &[(&str, TextSource)] = &[
    ("url_path", TextSource::UrlPath),
    ("server_name", TextSource::ServerName),
    ("qname", TextSource::Name),
    ("qtype", TextSource::Type),
    ("qclass", TextSource::Class),
    ("rcode", TextSource::Rcode),
    ("resp_ip", TextSource::ResponseAddress),
    ("mark", TextSource::Mark),
    ("client_ip", TextSource::Client),
];

/// How many of them mosdns has.
pub(super) const MOSDNS_SOURCES: usize = 2;

fn operation(word: &str) -> Option<StringOperation> {
    OPERATIONS.iter().find(|(name, _)| *name == word).map(|(_, operation)| *operation)
}

/// Source, operation and the rest of the words.
pub(super) fn parts(text: &str) -> Option<(&str, StringOperation, Vec<&str>)> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let first = *words.first()?;
    if let Some(operation) = words.get(1).and_then(|word| operation(word)) {
        return Some((first, operation, words[2..].to_vec()));
    }
    let compact = OPERATIONS.iter().find_map(|(name, operation)| {
        let source = first.strip_suffix(name).filter(|it| !it.is_empty())?;
        Some((source, *operation))
    });
    compact.map(|(source, operation)| (source, operation, words[1..].to_vec()))
}

pub(super) fn string_test(
    text: &str,
    place: &SourcePosition,
    notes: &ReadNotes,
) -> Option<StringTest> {
    let Some((source, operation, words)) = parts(text) else {
        let complaint = place.complaint(format!("{:?} is no test of a text", text.trim()));
        notes.complain(complaint.remedy("for example string_exp server_name prefix home."));
        return None;
    };
    let known = if notes.is_mosdns() { &SOURCES[..MOSDNS_SOURCES] } else { SOURCES };
    let source = match source.strip_prefix('$') {
        Some(variable) if !variable.is_empty() => StringSource::Variable(variable.into()),
        Some(_) | None => {
            let Some((_, source)) = known.iter().find(|(name, _)| *name == source) else {
                let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
                let complaint = place.complaint(format!("{source:?} is no text of a request"));
                let remedy = format!("{} or $VARIABLE", names.join(", "));
                return notes.refuse(complaint.remedy(remedy));
            };
            StringSource::Request(*source)
        }
    };
    let is_empty = operation == StringOperation::Empty;
    if is_empty != words.is_empty() && !(is_empty && notes.is_mosdns()) {
        let message =
            if is_empty { "zl takes no words" } else { "there is no word to compare with" };
        notes.complain(place.complaint(message));
    }
    let words = words.into_iter().map(str::to_owned).collect();
    Some(StringTest { source, operation, words, position: place.clone() })
}
