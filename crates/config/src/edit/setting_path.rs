//! The name of a place in a configuration: `gateway.routes[0].pool`.
//!
//! Keys are joined by dots; one that has dots or brackets of its own stands in double quotes; an
//! item of a list is its number from 0, in brackets or, as complaints write it, between dots.

use serde_json::Value as Json;
use std::fmt;

/// Longest path, in bytes.
const PATH_BYTES_MAX: usize = 1024;
/// Most steps of one: as deep as a configuration may be nested.
const STEPS_MAX: usize = 32;

/// One step down the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PathStep {
    /// To the value of a key; in a list, a number is an item.
    Key(String),
    /// To an item of a list, from 0.
    Item(usize),
}

/// A place in a configuration; never the whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingPath {
    steps: Vec<PathStep>,
}

/// Why a text names no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathError {
    /// Nothing stands there, or nothing between two dots.
    EmptyStep,
    /// Brackets without a number, or without an end.
    BadItem,
    /// Quotes without an end, or with text behind it.
    BadQuotes,
    /// A control character or a line end.
    BadCharacter,
    /// More than 1024 bytes or 32 steps.
    TooLong,
}

impl SettingPath {
    /// Reads a path.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        if text.len() > PATH_BYTES_MAX {
            return Err(PathError::TooLong);
        }
        if text.chars().any(char::is_control) {
            return Err(PathError::BadCharacter);
        }
        let mut steps = Vec::new();
        let mut rest = text;
        loop {
            let (key, after) = key_of(rest)?;
            // A list has no key before its brackets where a dot stands before them.
            if !key.is_empty() || !after.starts_with('[') || steps.is_empty() {
                if key.is_empty() {
                    return Err(PathError::EmptyStep);
                }
                steps.push(PathStep::Key(key));
            }
            rest = after;
            while let Some(inner) = rest.strip_prefix('[') {
                let (number, after) = inner.split_once(']').ok_or(PathError::BadItem)?;
                let is_number = !number.is_empty() && number.bytes().all(|it| it.is_ascii_digit());
                let index = number.parse().ok().filter(|_| is_number);
                steps.push(PathStep::Item(index.ok_or(PathError::BadItem)?));
                rest = after;
            }
            if steps.len() > STEPS_MAX {
                return Err(PathError::TooLong);
            }
            if rest.is_empty() {
                return Ok(Self { steps });
            }
            rest = rest.strip_prefix('.').ok_or(PathError::BadItem)?;
        }
    }

    /// The place of a key below this one.
    #[must_use]
    pub fn key(mut self, key: &str) -> Self {
        self.steps.push(PathStep::Key(key.into()));
        self
    }

    /// The keys on the way, items left out.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().filter_map(|step| match step {
            PathStep::Key(key) => Some(key.as_str()),
            PathStep::Item(_) => None,
        })
    }

    /// The part of a value that stands there.
    pub(crate) fn json_in<'v>(&self, whole: &'v Json) -> Option<&'v Json> {
        self.steps.iter().try_fold(whole, |value, step| match (value, step) {
            (Json::Array(items), step) => items.get(step.item()?),
            (Json::Object(entries), PathStep::Key(key)) => entries.get(key),
            _ => None,
        })
    }

    /// The steps, from the top.
    pub(crate) fn steps(&self) -> &[PathStep] {
        &self.steps
    }

    /// The place that the first steps lead to.
    pub(crate) fn begin(&self, steps: usize) -> Self {
        Self { steps: self.steps[..steps.min(self.steps.len())].to_vec() }
    }
}

/// A key and what follows it.
fn key_of(text: &str) -> Result<(String, &str), PathError> {
    if let Some(inner) = text.strip_prefix('"') {
        let (key, after) = inner.split_once('"').ok_or(PathError::BadQuotes)?;
        let ends = after.is_empty() || after.starts_with(['.', '[']);
        return if ends { Ok((key.into(), after)) } else { Err(PathError::BadQuotes) };
    }
    let end = text.find(['.', '[']).unwrap_or(text.len());
    let (key, after) = text.split_at(end);
    if key.contains(['"', ']']) {
        return Err(PathError::BadQuotes);
    }
    Ok((key.into(), after))
}

impl PathStep {
    /// The key that it means in a section.
    pub(crate) fn key(&self) -> Option<&str> {
        match self {
            Self::Key(key) => Some(key),
            Self::Item(_) => None,
        }
    }

    /// The item of a list that it means there.
    pub(crate) fn item(&self) -> Option<usize> {
        match self {
            Self::Item(index) => Some(*index),
            Self::Key(key) if !key.is_empty() && key.bytes().all(|it| it.is_ascii_digit()) => {
                key.parse().ok()
            }
            Self::Key(_) => None,
        }
    }
}

impl fmt::Display for SettingPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.steps.is_empty() {
            return f.write_str("the configuration");
        }
        for (index, step) in self.steps.iter().enumerate() {
            match step {
                PathStep::Item(item) => write!(f, "[{item}]")?,
                PathStep::Key(key) => {
                    let dot = if index > 0 { "." } else { "" };
                    let quote = if key.contains(['.', '[', ']']) { "\"" } else { "" };
                    write!(f, "{dot}{quote}{key}{quote}")?;
                }
            }
        }
        Ok(())
    }
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EmptyStep => "a key is missing",
            Self::BadItem => "brackets hold the number of an item, from 0",
            Self::BadQuotes => "quotes stand around a whole key",
            Self::BadCharacter => "it has a control character",
            Self::TooLong => "it is longer than 1024 bytes or 32 steps",
        })?;
        f.write_str("; a setting is named as in gateway.routes[0].pool")
    }
}

impl std::error::Error for PathError {}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_written_as_it_was_read() {
        for path in [
            "user",
            "gateway.pools.app.max_connections",
            "gateway.routes[0].pool",
            "web[2].locations[0][1]",
            "web[0].headers.\"a.b\".c",
        ] {
            assert_eq!(SettingPath::parse(path).unwrap().to_string(), path);
        }
        let dotted = SettingPath::parse("gateway.routes.0.pool").unwrap();
        assert_eq!(dotted.steps()[2].item(), Some(0));
    }

    #[test]
    fn a_path_that_names_no_place_is_refused() {
        let refused = |text: &str| SettingPath::parse(text).unwrap_err();
        for text in ["", ".", "a.", ".a", "a..b", "[0]"] {
            assert_eq!(refused(text), PathError::EmptyStep, "{text}");
        }
        for text in ["a[", "a[]", "a[x]", "a[-1]", "a[+1]", "a[99999999999999999999]", "a[0]b"] {
            assert_eq!(refused(text), PathError::BadItem, "{text}");
        }
        for text in ["\"a", "\"a\"b", "a\"b", "a]"] {
            assert_eq!(refused(text), PathError::BadQuotes, "{text}");
        }
        assert_eq!(refused("a\nb"), PathError::BadCharacter);
        assert_eq!(refused(&"a".repeat(1025)), PathError::TooLong);
        assert_eq!(refused(&vec!["a"; 33].join(".")), PathError::TooLong);
    }
}
