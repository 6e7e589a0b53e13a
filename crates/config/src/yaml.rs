//! YAML text to a tree that remembers where every value stands.
//!
//! The reader is saphyr (docs/adr/0007); this file turns its nodes into our own, so that nothing
//! else knows the library. It refuses what would cost memory or mislead: files over 4 MiB, deep
//! nesting, several documents, duplicate keys, keys that are no text.

use saphyr::{LoadableYamlNode, MarkedYaml, Scalar, YamlData};

/// Largest configuration file, in bytes.
pub(crate) const FILE_BYTES_MAX: usize = 4 << 20;
/// Deepest nesting of lists and sections.
const DEPTH_MAX: usize = 32;

/// A position in a file: line and column counted from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TextPosition {
    /// Number of the file: 0 for the one that was named, then those that it includes.
    pub file: u16,
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl TextPosition {
    /// The start of the file.
    pub(crate) const START: Self = Self::at(1, 1);

    /// A position in the file that was named.
    pub(crate) const fn at(line: usize, column: usize) -> Self {
        Self { file: 0, line, column }
    }
}

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct YamlNode {
    /// The value.
    pub value: YamlValue,
    /// Where it begins.
    pub position: TextPosition,
    /// Where a scalar, or what stands in brackets, ends; of other values the reader says no such
    /// thing.
    pub end: TextPosition,
}

/// Tells what a YAML value can be here.
#[derive(Clone, Debug)]
pub(crate) enum YamlValue {
    /// Nothing, `null` or `~`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A number with a fraction.
    Float(f64),
    /// Text.
    Text(String),
    /// A list.
    List(Vec<YamlNode>),
    /// A section: keys in the order of the file.
    Section(Vec<YamlEntry>),
}

/// One key of a section and its value.
#[derive(Clone, Debug)]
pub(crate) struct YamlEntry {
    /// The key.
    pub key: String,
    /// Where the key stands.
    pub position: TextPosition,
    /// Where the key ends.
    pub key_end: TextPosition,
    /// Value.
    pub node: YamlNode,
}

/// Why a text is no configuration, and where.
#[derive(Debug)]
pub(crate) struct YamlError {
    /// Where reading stopped.
    pub position: TextPosition,
    /// What is wrong.
    pub message: String,
}

/// A document of YAML of another program, read as configurations are.
#[derive(Debug)]
pub struct YamlDocument(YamlNode);

impl YamlDocument {
    /// Reads a text.
    ///
    /// # Errors
    /// The line, from 1, and what is wrong there.
    pub fn read(text: &str) -> Result<Self, (usize, String)> {
        read(text).map(Self).map_err(|wrong| (wrong.position.line, wrong.message))
    }

    /// The document as JSON.
    pub fn to_json(&self) -> serde_json::Value {
        self.0.to_json()
    }

    /// The line, from 1, of the value at a dotted path, or of the nearest thing above it.
    pub fn line(&self, path: &str) -> usize {
        self.0.locate(path).line
    }
}

impl YamlNode {
    /// Returns what it is, in a word for complaints.
    pub(crate) fn kind(&self) -> &'static str {
        match self.value {
            YamlValue::Null => "nothing",
            YamlValue::Bool(_) => "true or false",
            YamlValue::Integer(_) | YamlValue::Float(_) => "a number",
            YamlValue::Text(_) => "text",
            YamlValue::List(_) => "a list",
            YamlValue::Section(_) => "a section of keys",
        }
    }

    /// Calls `visit` with every text, and the last key that leads to it.
    pub(crate) fn visit_texts(&self, visit: &mut dyn FnMut(&str, &str)) {
        self.visit_below("", visit);
    }

    fn visit_below(&self, key: &str, visit: &mut dyn FnMut(&str, &str)) {
        match &self.value {
            YamlValue::Text(text) => visit(key, text),
            YamlValue::List(items) => {
                for item in items {
                    item.visit_below(key, visit);
                }
            }
            YamlValue::Section(entries) => {
                for entry in entries {
                    entry.node.visit_below(&entry.key, visit);
                }
            }
            YamlValue::Null | YamlValue::Bool(_) | YamlValue::Integer(_) | YamlValue::Float(_) => {}
        }
    }

    /// The entry of a section by its key.
    pub(crate) fn entry(&self, key: &str) -> Option<&YamlEntry> {
        match &self.value {
            YamlValue::Section(entries) => entries.iter().find(|entry| entry.key == key),
            YamlValue::Null
            | YamlValue::Bool(_)
            | YamlValue::Integer(_)
            | YamlValue::Float(_)
            | YamlValue::Text(_)
            | YamlValue::List(_) => None,
        }
    }

    /// Says of all that it holds that it is in the file of this number.
    pub(crate) fn set_file(&mut self, file: u16) {
        self.position.file = file;
        self.end.file = file;
        match &mut self.value {
            YamlValue::List(items) => items.iter_mut().for_each(|item| item.set_file(file)),
            YamlValue::Section(entries) => {
                for entry in entries {
                    entry.position.file = file;
                    entry.key_end.file = file;
                    entry.node.set_file(file);
                }
            }
            YamlValue::Null
            | YamlValue::Bool(_)
            | YamlValue::Integer(_)
            | YamlValue::Float(_)
            | YamlValue::Text(_) => {}
        }
    }

    /// The place of the value at a dotted path, or of the nearest thing above it that exists.
    pub(crate) fn locate(&self, path: &str) -> TextPosition {
        let mut node = self;
        let mut place = self.position;
        for step in path.split('.').filter(|step| !step.is_empty()) {
            let next = match &node.value {
                YamlValue::List(items) => step.parse::<usize>().ok().and_then(|i| items.get(i)),
                YamlValue::Section(_) => node.entry(step).map(|entry| &entry.node),
                YamlValue::Null
                | YamlValue::Bool(_)
                | YamlValue::Integer(_)
                | YamlValue::Float(_)
                | YamlValue::Text(_) => None,
            };
            match next {
                Some(found) => {
                    node = found;
                    place = found.position;
                }
                None => return place,
            }
        }
        place
    }

    /// The same tree as JSON, for serde.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match &self.value {
            YamlValue::Null => Json::Null,
            YamlValue::Bool(yes) => Json::Bool(*yes),
            YamlValue::Integer(number) => Json::from(*number),
            YamlValue::Float(number) => Json::from(*number),
            YamlValue::Text(text) => Json::String(text.clone()),
            YamlValue::List(items) => Json::Array(items.iter().map(Self::to_json).collect()),
            YamlValue::Section(entries) => Json::Object(
                entries.iter().map(|entry| (entry.key.clone(), entry.node.to_json())).collect(),
            ),
        }
    }
}

/// Reads one YAML document. An empty file is an empty section.
pub(crate) fn read(text: &str) -> Result<YamlNode, YamlError> {
    let start = |message: String| YamlError { position: TextPosition::START, message };
    if text.len() > FILE_BYTES_MAX {
        return Err(start(format!("the file is larger than {} MiB", FILE_BYTES_MAX >> 20)));
    }
    refuse_deep_nesting(text)?;
    let documents = MarkedYaml::load_from_str(text).map_err(|error| YamlError {
        position: TextPosition::at(error.marker().line(), error.marker().col() + 1),
        message: format!("this is no YAML: {}", error.info()),
    })?;
    match documents.as_slice() {
        [] => Ok(YamlNode {
            value: YamlValue::Section(Vec::new()),
            position: TextPosition::START,
            end: TextPosition::START,
        }),
        [document] => convert(document, 0),
        [_, second, ..] => Err(YamlError {
            position: position_of(second),
            message: "a second document begins here; a configuration is one".into(),
        }),
    }
}

/// The library reads nested values by recursion, so nesting is bounded before it sees them: by
/// open brackets, and by steps of indentation.
fn refuse_deep_nesting(text: &str) -> Result<(), YamlError> {
    let mut open = 0usize;
    for (index, line) in text.lines().enumerate() {
        let too_deep = |message: &str| YamlError {
            position: TextPosition::at(index + 1, 1),
            message: message.into(),
        };
        let indent = line.len() - line.trim_start_matches([' ', '-', '?']).len();
        if indent > DEPTH_MAX * 8 {
            return Err(too_deep("this line is indented too far"));
        }
        for byte in line.bytes() {
            match byte {
                b'[' | b'{' => open += 1,
                b']' | b'}' => open = open.saturating_sub(1),
                _ => {}
            }
            // Brackets inside quoted text count too; no sane file holds a thousand open ones.
            if open > DEPTH_MAX * 32 {
                return Err(too_deep("too many brackets are open here"));
            }
        }
    }
    Ok(())
}

fn position_of(node: &MarkedYaml<'_>) -> TextPosition {
    TextPosition::at(node.span.start.line(), node.span.start.col() + 1)
}

fn end_of(node: &MarkedYaml<'_>) -> TextPosition {
    TextPosition::at(node.span.end.line(), node.span.end.col() + 1)
}

fn convert(node: &MarkedYaml<'_>, depth: usize) -> Result<YamlNode, YamlError> {
    let place = position_of(node);
    let error = |message: &str| YamlError { position: place, message: message.into() };
    if depth > DEPTH_MAX {
        return Err(error("sections and lists are nested too deeply here"));
    }
    let value = match &node.data {
        YamlData::Value(scalar) => match scalar {
            Scalar::Null => YamlValue::Null,
            Scalar::Boolean(yes) => YamlValue::Bool(*yes),
            Scalar::Integer(number) => YamlValue::Integer(*number),
            Scalar::FloatingPoint(number) => YamlValue::Float(number.into_inner()),
            Scalar::String(text) => YamlValue::Text(text.to_string()),
        },
        YamlData::Representation(text, _, _) => YamlValue::Text(text.to_string()),
        YamlData::Sequence(items) => YamlValue::List(
            items.iter().map(|item| convert(item, depth + 1)).collect::<Result<_, _>>()?,
        ),
        YamlData::Mapping(mapping) => {
            let mut entries = Vec::with_capacity(mapping.len());
            for (key, item) in mapping {
                let (key_place, key_ends) = (position_of(key), end_of(key));
                let key = key_text(key).ok_or(YamlError {
                    position: key_place,
                    message: "a key has to be a word".into(),
                })?;
                entries.push(YamlEntry {
                    key,
                    position: key_place,
                    key_end: key_ends,
                    node: convert(item, depth + 1)?,
                });
            }
            YamlValue::Section(entries)
        }
        YamlData::Tagged(_, _) => return Err(error("tags (!something) are not used here")),
        YamlData::Alias(_) | YamlData::BadValue => return Err(error("this value cannot be read")),
    };
    Ok(YamlNode { value, position: place, end: end_of(node) })
}

fn key_text(key: &MarkedYaml<'_>) -> Option<String> {
    match &key.data {
        YamlData::Value(Scalar::String(text)) => Some(text.to_string()),
        YamlData::Value(Scalar::Integer(number)) => Some(number.to_string()),
        YamlData::Value(Scalar::Boolean(yes)) => Some(yes.to_string()),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn values_know_their_place() {
        let node =
            read("dns:\n  listen:\n    - udp://127.0.0.1:53\n  cache: { size: 64MiB }\n").unwrap();
        assert_eq!(node.locate("dns.listen.0"), TextPosition::at(3, 7));
        assert_eq!(node.locate("dns.cache.size"), TextPosition::at(4, 18));
        assert_eq!(node.locate("dns.nothing.here"), node.locate("dns"));
    }

    #[test]
    fn what_is_refused_says_where() {
        let refused = |text: &str| read(text).unwrap_err();
        assert_eq!(refused("a: 1\na: 2\n").position.line, 2);
        assert_eq!(refused("a: 1\n---\nb: 2\n").position.line, 3);
        assert!(refused("a: [1, 2\nb: 3\n").message.contains("no YAML"));
        assert!(refused(&"[".repeat(100_000)).message.contains("brackets"));
        assert!(refused(&"- ".repeat(100_000)).message.contains("indented"));
        assert!(refused("a: !thing b\n").message.contains("tags"));
    }

    #[test]
    fn an_empty_file_is_an_empty_section() {
        assert!(
            matches!(read("").unwrap().value, YamlValue::Section(entries) if entries.is_empty())
        );
        assert!(read("# nothing\n").is_ok());
    }
}
