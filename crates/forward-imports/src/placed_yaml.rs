//! YAML to a tree in which each value knows its line and whether anybody looked at it.
//!
//! Keys that nobody looked at are told of at the end. It refuses what would cost memory: large
//! files, deep nesting, values that repeat others many times.

use import_report::{ImportFault, ImportReport, NotePlace};
use saphyr::{LoadableYamlNode, MarkedYaml, Scalar, YamlData};
use std::cell::Cell;
use std::sync::Arc;

/// Bytes of a file, at most.
const FILE_BYTES_MAX: usize = 4 << 20;
/// Bytes of a file in which values are repeated by name, at most.
const REPEATING_BYTES_MAX: usize = 256 << 10;
/// Values that are repeated by name, at most: each may hold others.
const REPEATS_MAX: usize = 16;
/// Deepest nesting.
const DEPTH_MAX: usize = 32;

/// A value of a file.
#[derive(Debug)]
pub(crate) struct PlacedNode {
    value: PlacedValue,
    /// From 1.
    pub(crate) line: usize,
    is_seen: Cell<bool>,
}

#[derive(Debug)]
enum PlacedValue {
    Nothing,
    Scalar(String),
    List(Vec<PlacedNode>),
    Section(Vec<(String, PlacedNode)>),
}

impl PlacedNode {
    /// The value of a key; counts as looked at.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        let PlacedValue::Section(entries) = &self.value else { return None };
        self.is_seen.set(true);
        let found = entries.iter().find(|(name, _)| name == key).map(|(_, node)| node)?;
        found.is_seen.set(true);
        (!matches!(found.value, PlacedValue::Nothing)).then_some(found)
    }

    /// A word, a number, a truth value, as it is written.
    pub(crate) fn text(&self) -> Option<&str> {
        self.is_seen.set(true);
        match &self.value {
            PlacedValue::Scalar(text) => Some(text),
            PlacedValue::Nothing | PlacedValue::List(_) | PlacedValue::Section(_) => None,
        }
    }

    /// Items of a list; a single value is a list of one, where it is not empty.
    pub(crate) fn items(&self) -> &[Self] {
        self.is_seen.set(true);
        match &self.value {
            PlacedValue::List(items) => items,
            PlacedValue::Scalar(text) if !text.is_empty() => std::slice::from_ref(self),
            PlacedValue::Nothing | PlacedValue::Scalar(_) | PlacedValue::Section(_) => &[],
        }
    }

    /// Entries of a section.
    pub(crate) fn entries(&self) -> &[(String, Self)] {
        self.is_seen.set(true);
        match &self.value {
            PlacedValue::Section(entries) => entries,
            PlacedValue::Nothing | PlacedValue::Scalar(_) | PlacedValue::List(_) => &[],
        }
    }

    /// True if it is a section of keys.
    pub(crate) fn is_section(&self) -> bool {
        matches!(self.value, PlacedValue::Section(_))
    }

    /// True if it says `true`; none where it says neither.
    pub(crate) fn truth(&self) -> Option<bool> {
        match self.text()? {
            "true" | "yes" | "on" => Some(true),
            "false" | "no" | "off" => Some(false),
            _ => None,
        }
    }

    /// The number that it is.
    pub(crate) fn number(&self) -> Option<u64> {
        self.text()?.parse().ok()
    }

    /// Counts it, and all that it holds, as looked at.
    pub(crate) fn see_all(&self) {
        self.is_seen.set(true);
        match &self.value {
            PlacedValue::List(items) => items.iter().for_each(Self::see_all),
            PlacedValue::Section(entries) => entries.iter().for_each(|(_, it)| it.see_all()),
            PlacedValue::Nothing | PlacedValue::Scalar(_) => {}
        }
    }

    /// True if it says nothing: empty, off, zero, or all that it holds says nothing.
    fn is_idle(&self) -> bool {
        match &self.value {
            PlacedValue::Nothing => true,
            PlacedValue::Scalar(text) => {
                matches!(text.as_str(), "" | "0" | "false" | "no" | "off" | "0s")
            }
            PlacedValue::List(items) => items.iter().all(Self::is_idle),
            PlacedValue::Section(entries) => entries.iter().all(|(_, it)| it.is_idle()),
        }
    }

    /// Notes each key that says something and that nobody looked at; `reason` knows why.
    pub(crate) fn note_unseen(
        &self,
        path: &str,
        file: &Arc<str>,
        report: &mut ImportReport,
        reason: &dyn Fn(&str) -> Option<&'static str>,
    ) {
        let PlacedValue::Section(entries) = &self.value else { return };
        for (key, node) in entries {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            if node.is_seen.get() {
                node.note_unseen(&path, file, report, reason);
            } else if !node.is_idle() {
                let said = match &node.value {
                    PlacedValue::Scalar(text) => format!("{path}: {text}"),
                    PlacedValue::Nothing | PlacedValue::List(_) | PlacedValue::Section(_) => {
                        path.clone()
                    }
                };
                let why = reason(&path).unwrap_or("there is no such setting");
                report.left_out(&NotePlace::new(file, node.line), &said, why);
            }
        }
    }
}

/// Reads one document of a file.
pub(crate) fn read(text: &str, file: &Arc<str>) -> Result<PlacedNode, Vec<ImportFault>> {
    let fault = |line: usize, why: String| vec![ImportFault::new(&NotePlace::new(file, line), why)];
    if text.len() > FILE_BYTES_MAX {
        return Err(fault(1, format!("the file is larger than {} MiB", FILE_BYTES_MAX >> 20)));
    }
    if let Some(line) = too_deep(text) {
        return Err(fault(line, "this is nested too deeply".into()));
    }
    if let Some(line) = too_often(text) {
        return Err(fault(line, "too many values are repeated by name".into()));
    }
    let documents = MarkedYaml::load_from_str(text).map_err(|error| {
        fault(error.marker().line().max(1), format!("this is no YAML: {}", error.info()))
    })?;
    match documents.as_slice() {
        [document, ..] => convert(document, 0)
            .ok_or_else(|| fault(1, "sections and lists are nested too deeply".into())),
        [] => Err(fault(1, "the file is empty".into())),
    }
}

/// Line at which too much is open: the library reads nested values by recursion.
fn too_deep(text: &str) -> Option<usize> {
    let mut open = 0_usize;
    for (index, line) in text.lines().enumerate() {
        let indent = line.len() - line.trim_start_matches([' ', '-', '?']).len();
        for byte in line.bytes() {
            match byte {
                b'[' | b'{' => open += 1,
                b']' | b'}' => open = open.saturating_sub(1),
                _ => {}
            }
        }
        // Rules hold brackets in quotes; none holds a thousand open ones.
        if indent > DEPTH_MAX * 8 || open > DEPTH_MAX * 32 {
            return Some(index + 1);
        }
    }
    None
}

/// Line at which values were repeated by name (`*name`) too often: each may hold others.
fn too_often(text: &str) -> Option<usize> {
    let is_word = |line: &str, mark: char| {
        let mut words = line.split([' ', '\t', ',', '[', '{', '-', ':']);
        words.any(|word| {
            word.strip_prefix(mark).is_some_and(|rest| {
                rest.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'))
            })
        })
    };
    if !text.lines().any(|line| is_word(line, '&')) {
        return None;
    }
    let mut repeats = 0;
    for (index, line) in text.lines().enumerate() {
        // A line may hold several.
        repeats += if is_word(line, '*') { line.matches('*').count() } else { 0 };
        if repeats > REPEATS_MAX || (repeats > 0 && text.len() > REPEATING_BYTES_MAX) {
            return Some(index + 1);
        }
    }
    None
}

fn convert(node: &MarkedYaml<'_>, depth: usize) -> Option<PlacedNode> {
    if depth > DEPTH_MAX {
        return None;
    }
    let value = match &node.data {
        YamlData::Value(scalar) => match scalar {
            Scalar::Null => PlacedValue::Nothing,
            Scalar::Boolean(yes) => PlacedValue::Scalar(yes.to_string()),
            Scalar::Integer(number) => PlacedValue::Scalar(number.to_string()),
            Scalar::FloatingPoint(number) => PlacedValue::Scalar(number.to_string()),
            Scalar::String(text) => PlacedValue::Scalar(text.to_string()),
        },
        YamlData::Representation(text, _, _) => PlacedValue::Scalar(text.to_string()),
        YamlData::Sequence(items) => PlacedValue::List(
            items.iter().map(|item| convert(item, depth + 1)).collect::<Option<_>>()?,
        ),
        YamlData::Mapping(mapping) => {
            let mut entries = Vec::with_capacity(mapping.len());
            for (key, item) in mapping {
                let key = match &key.data {
                    YamlData::Value(Scalar::String(text)) => text.to_string(),
                    YamlData::Value(Scalar::Integer(number)) => number.to_string(),
                    YamlData::Value(Scalar::Boolean(yes)) => yes.to_string(),
                    _ => continue,
                };
                entries.push((key, convert(item, depth + 1)?));
            }
            PlacedValue::Section(entries)
        }
        YamlData::Tagged(_, inner) => return convert(inner, depth + 1),
        YamlData::Alias(_) | YamlData::BadValue => PlacedValue::Nothing,
    };
    let line = node.span.start.line().max(1);
    Some(PlacedNode { value, line, is_seen: Cell::new(false) })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;

    #[test]
    fn keys_that_nobody_looked_at_are_told_of_with_their_lines() {
        let file = Arc::from("f");
        let node = read("a:\n  b: 1\n  c: [x]\nd: false\ne: { f: 2 }\n", &file).unwrap();
        assert_eq!(node.get("a").unwrap().get("b").unwrap().number(), Some(1));
        let mut report = ImportReport::default();
        node.note_unseen("", &file, &mut report, &|_| None);
        let told: Vec<String> = report.notes().iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            ["f:3: a.c: there is no such setting", "f:5: e: there is no such setting"]
        );
    }

    #[test]
    fn what_would_grow_is_refused() {
        let refused = |text: &str| read(text, &Arc::from("f")).unwrap_err()[0].place.line;
        let bomb =
            "a: &a [x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n";
        assert_eq!(refused(bomb), 3);
        assert_eq!(refused(&"[".repeat(10_000)), 1);
        assert_eq!(refused("a: [1\nb: 2\n"), 2);
        assert_eq!(refused(""), 1);
    }
}
