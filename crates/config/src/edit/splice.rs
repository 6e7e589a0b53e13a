//! The change of one setting as a splice of text: which bytes go, and what comes in their place.
//!
//! It is right in the styles that people write, and need not be in all: the caller reads the
//! result again, and drops it where it says anything else.

use super::places::PlacedText;
use super::setting_path::{PathStep, SettingPath};
use super::written_value::quoted;
use super::{SettingChange, WrittenValue, child};
use crate::yaml::{YamlEntry, YamlNode, YamlValue};
use std::ops::Range;

/// The text with the change; none where the place cannot be told.
pub(super) fn spliced(
    text: &str,
    tree: &YamlNode,
    path: &SettingPath,
    change: &SettingChange,
) -> Option<String> {
    let place = PlacedText::new(text);
    let steps = path.steps();
    let mut nodes = vec![tree];
    for step in steps {
        match child(nodes.last()?, step) {
            Some(node) => nodes.push(node),
            None => break,
        }
    }
    let missing = &steps[nodes.len() - 1..];
    let way = SettingWay { place, nodes, steps };
    match change {
        SettingChange::Unset => way.without(),
        SettingChange::Set(value) if missing.is_empty() => way.replaced(value),
        SettingChange::Set(value) => way.with_added(missing, value),
    }
}

/// The way from the top to a place, as far as it exists.
struct SettingWay<'t> {
    place: PlacedText<'t>,
    nodes: Vec<&'t YamlNode>,
    steps: &'t [PathStep],
}

impl SettingWay<'_> {
    /// True if the value that so many steps lead to stands between brackets of one above it.
    fn is_within_flow(&self, depth: usize) -> bool {
        self.nodes[..depth].iter().any(|node| self.place.is_flow(node))
    }

    /// The entry whose value so many steps lead to, if it is an entry's.
    fn entry(&self, depth: usize) -> Option<&YamlEntry> {
        match self.steps.get(depth.checked_sub(1)?)? {
            PathStep::Key(key) => self.nodes[depth - 1].entry(key),
            PathStep::Item(_) => None,
        }
    }

    fn written(&self, depth: usize, value: &WrittenValue) -> String {
        if self.is_within_flow(depth) { value.in_flow() } else { value.in_block() }
    }

    /// The value of the last node is this one.
    fn replaced(&self, value: &WrittenValue) -> Option<String> {
        let depth = self.nodes.len() - 1;
        let node = self.nodes[depth];
        // Who has put a text in quotes gets the new one in quotes.
        let is_quoted = matches!(node.value, YamlValue::Text(_))
            && self.place.text[self.place.start(node)..].starts_with('"');
        let new = value.in_quotes().filter(|_| is_quoted);
        self.replaced_by(depth, &new.unwrap_or_else(|| self.written(depth, value)))
    }

    fn replaced_by(&self, depth: usize, new: &str) -> Option<String> {
        let (place, node) = (&self.place, self.nodes[depth]);
        let (start, end) = (place.start(node), place.end(node));
        let Some(entry) = self.entry(depth) else {
            let lead = if place.before(start).ends_with('-') { " " } else { "" };
            return Some(place.with(start..end, &format!("{lead}{new}")));
        };
        let colon = place.after_colon(entry);
        if place.is_unwritten(node) {
            let sign = if place.text[..colon].ends_with(':') { " " } else { ": " };
            return Some(place.with(colon..colon, &format!("{sign}{new}")));
        }
        if start < colon {
            return None; // An alias: the value stands elsewhere.
        }
        let between = &place.text[colon..start];
        let is_block = matches!(node.value, YamlValue::Section(_) | YamlValue::List(_))
            && !place.is_flow(node);
        if between.trim_start().starts_with(['|', '>']) {
            return Some(place.with(colon..end, &format!(" {new}")));
        }
        if !is_block || !between.contains('\n') {
            return Some(place.with(start..end, new));
        }
        // The lines of the block go, with the line end before them; a comment behind the key stays.
        let lines = place.line_start(start) - 1..place.line_end(end);
        let lines = if place.text[..lines.start].ends_with('\r') {
            lines.start - 1..lines.end - usize::from(place.text[..lines.end].ends_with('\r'))
        } else {
            lines
        };
        let without = place.with(lines, "");
        Some([&without[..colon], " ", new, &without[colon..]].concat())
    }

    /// The missing steps are added below the last node.
    fn with_added(&self, missing: &[PathStep], value: &WrittenValue) -> Option<String> {
        let place = &self.place;
        let depth = self.nodes.len() - 1;
        let node = self.nodes[depth];
        let in_flow = self.is_within_flow(depth + 1);
        let (first, rest) = missing.split_first()?;
        match &node.value {
            YamlValue::Null if depth == 0 => Some(self.at_the_end(missing, value)),
            YamlValue::Section(entries) if entries.is_empty() && depth == 0 && !in_flow => {
                Some(self.at_the_end(missing, value))
            }
            YamlValue::Null => self.replaced_by(depth, &flow(missing, value)),
            YamlValue::Section(entries) => {
                let PathStep::Key(key) = first else { return None };
                let Some(last) = entries.last() else {
                    return self.replaced_by(depth, &flow(missing, value));
                };
                if in_flow {
                    let at = place.entry_end(last);
                    let new = format!(", {}", pair(key, rest, value));
                    return Some(place.with(at..at, &new));
                }
                let lines = block_lines(missing, value, self.indent(entries)?);
                Some(place.with_lines_below(place.entry_end(last), &lines))
            }
            YamlValue::List(items) => {
                let Some(last) = items.last() else {
                    return self.replaced_by(depth, &flow(missing, value));
                };
                let at = place.end(last);
                if in_flow {
                    return Some(place.with(at..at, &format!(", {}", flow(rest, value))));
                }
                let before = place.before(place.start(items.first()?)).trim_end();
                let indent = before.strip_suffix('-')?.chars().count();
                let new = if rest.is_empty() { value.in_block() } else { flow(rest, value) };
                let line = format!("{}- {new}", " ".repeat(indent));
                Some(place.with_lines_below(at, &[line]))
            }
            _ => None,
        }
    }

    /// Columns before the keys of a section without brackets.
    fn indent(&self, entries: &[YamlEntry]) -> Option<usize> {
        let first = self.place.key_start(entries.first()?);
        Some(self.place.before(first).chars().count())
    }

    /// A file without a setting gets its first.
    fn at_the_end(&self, missing: &[PathStep], value: &WrittenValue) -> String {
        let text = self.place.text;
        let lead = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        format!("{text}{lead}{}\n", block_lines(missing, value, 0).join("\n"))
    }

    /// The last node is gone.
    fn without(&self) -> Option<String> {
        let depth = self.nodes.len().checked_sub(2)?;
        let (place, parent) = (&self.place, self.nodes[depth]);
        let step = self.steps.get(depth)?;
        let (at, ranges): (usize, Vec<Range<usize>>) = match (&parent.value, step) {
            (YamlValue::Section(entries), PathStep::Key(key)) => (
                entries.iter().position(|entry| entry.key == *key)?,
                entries.iter().map(|it| place.key_start(it)..place.entry_end(it)).collect(),
            ),
            (YamlValue::List(items), step) => {
                (step.item()?, items.iter().map(|it| place.start(it)..place.end(it)).collect())
            }
            _ => return None,
        };
        let is_list = matches!(parent.value, YamlValue::List(_));
        let this = ranges.get(at)?.clone();
        if this.start > this.end {
            return None;
        }
        if ranges.len() == 1 && depth > 0 {
            return self.replaced_by(depth, if is_list { "[]" } else { "{}" });
        }
        let next = ranges.get(at + 1);
        if self.is_within_flow(depth + 1) {
            return Some(match (next, at.checked_sub(1).and_then(|it| ranges.get(it))) {
                (Some(next), _) => place.with(this.start..next.start, ""),
                (None, Some(last)) => place.with(last.end..this.end, ""),
                (None, None) => place.with(this, ""),
            });
        }
        let lead = place.before(this.start).trim_start();
        let stands_alone = if is_list { lead.trim_end() == "-" } else { lead.is_empty() };
        if stands_alone {
            return Some(place.with(place.whole_lines(&this), ""));
        }
        // It shares its line with the dash of what it is in: the next one comes up.
        next.map(|next| place.with(this.start..next.start, ""))
    }
}

/// A key and what is behind it, on one line.
fn pair(key: &str, rest: &[PathStep], value: &WrittenValue) -> String {
    format!("{}: {}", key_text(key), flow(rest, value))
}

/// The steps and the value in brackets.
fn flow(steps: &[PathStep], value: &WrittenValue) -> String {
    match steps.split_first() {
        None => value.in_flow(),
        Some((PathStep::Key(key), rest)) => format!("{{ {} }}", pair(key, rest, value)),
        Some((PathStep::Item(_), rest)) => format!("[{}]", flow(rest, value)),
    }
}

/// The steps and the value as lines, one a key.
fn block_lines(steps: &[PathStep], value: &WrittenValue, indent: usize) -> Vec<String> {
    let lead = " ".repeat(indent);
    let Some((PathStep::Key(key), rest)) = steps.split_first() else { return Vec::new() };
    let key = key_text(key);
    match rest.first() {
        None => vec![format!("{lead}{key}: {}", value.in_block())],
        Some(PathStep::Item(_)) => vec![format!("{lead}{key}: {}", flow(rest, value))],
        Some(PathStep::Key(_)) => {
            let below = block_lines(rest, value, indent + 2);
            std::iter::once(format!("{lead}{key}:")).chain(below).collect()
        }
    }
}

/// A key as it is written: in quotes where it could be read as something else.
fn key_text(key: &str) -> String {
    let is_plain = key.starts_with(|it: char| it.is_ascii_alphabetic())
        && key.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'_' | b'-'))
        && !["true", "false", "null"].contains(&key.to_ascii_lowercase().as_str());
    if is_plain { key.into() } else { quoted(key) }
}
