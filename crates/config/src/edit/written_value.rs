//! A value as it is written into a configuration: one line of YAML, a scalar or what stands in
//! brackets.

use crate::yaml::{self, YamlNode, YamlValue};
use std::fmt;

/// Longest value, in bytes.
const VALUE_BYTES_MAX: usize = 64 << 10;

/// A value that can be written behind any key.
#[derive(Clone, Debug)]
pub struct WrittenValue {
    text: String,
    node: YamlNode,
}

/// Why a text is no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueError {
    /// Nothing, or a comment alone.
    Empty,
    /// Several lines, or a control character.
    SeveralLines,
    /// More than 64 KiB.
    TooLong,
    /// A section or list without brackets.
    NoBrackets,
    /// No YAML, and why not.
    NotYaml(String),
}

impl WrittenValue {
    /// Reads a value.
    pub fn parse(text: &str) -> Result<Self, ValueError> {
        let text = text.trim_matches([' ', '\t']);
        if text.len() > VALUE_BYTES_MAX {
            return Err(ValueError::TooLong);
        }
        if text.chars().any(|it| it.is_control() || matches!(it, '\u{2028}' | '\u{2029}')) {
            return Err(ValueError::SeveralLines);
        }
        if text.is_empty() || text.starts_with('#') {
            return Err(ValueError::Empty);
        }
        let node = yaml::read(text).map_err(|why| ValueError::NotYaml(why.message))?;
        let is_block = match &node.value {
            YamlValue::Section(_) => !text.starts_with('{'),
            YamlValue::List(_) => !text.starts_with('['),
            _ => text.starts_with(['|', '>']),
        };
        if is_block {
            return Err(ValueError::NoBrackets);
        }
        Ok(Self { text: text.into(), node })
    }

    /// A text, whatever stands in it.
    pub fn text(text: &str) -> Result<Self, ValueError> {
        Self::parse(&quoted(text))
    }

    /// The value itself.
    pub(crate) fn node(&self) -> &YamlNode {
        &self.node
    }

    /// A text in double quotes; none where the value is no text, or has quotes of its own.
    pub(super) fn in_quotes(&self) -> Option<String> {
        match &self.node.value {
            YamlValue::Text(text) if !self.text.starts_with(['"', '\'']) => Some(quoted(text)),
            _ => None,
        }
    }

    /// The value behind a key on a line of its own.
    pub(super) fn in_block(&self) -> String {
        let as_written = yaml::read(&format!("k: {}\n", self.text));
        let found = as_written.ok().and_then(|it| Some(it.entry("k")?.node.clone()));
        self.written(found.as_ref())
    }

    /// The value between brackets.
    pub(super) fn in_flow(&self) -> String {
        let as_written = yaml::read(&format!("[{}]\n", self.text)).map(|it| it.value);
        let found = match as_written {
            Ok(YamlValue::List(items)) if items.len() == 1 => items.into_iter().next(),
            _ => None,
        };
        self.written(found.as_ref())
    }

    /// The text as it came where it is read as the same, else in quotes.
    fn written(&self, found: Option<&YamlNode>) -> String {
        match (&self.node.value, found) {
            (YamlValue::Text(text), found) if !found.is_some_and(|it| it.is_same(&self.node)) => {
                quoted(text)
            }
            _ => self.text.clone(),
        }
    }
}

/// A text in double quotes. JSON's are YAML's.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the value is missing; `unset` takes a setting away"),
            Self::SeveralLines => f.write_str("a value is one line without control characters"),
            Self::TooLong => f.write_str("a value has at most 64 KiB"),
            Self::NoBrackets => {
                f.write_str("lists are written as [a, b], sections as {a: b}, texts in quotes")
            }
            Self::NotYaml(why) => write!(f, "{why}; put a text in quotes"),
        }
    }
}

impl std::error::Error for ValueError {}
