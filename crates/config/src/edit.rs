//! A setting changed in the text of a configuration, with everything else byte for byte as it was.
//!
//! A path, a new value or none, and the text: a new text, with comments, order and style kept. It
//! refuses what would change anything else too (a value that an anchor lends to several places),
//! because each new text is read again and must be the old one but for that path. Settings are not
//! judged here: that is [`crate::parse`]'s. Called by the program when it changes its own file.

mod places;
mod setting_path;
mod splice;
mod written_value;

pub(crate) use places::PlacedText;
pub use setting_path::{PathError, SettingPath};
pub use written_value::{ValueError, WrittenValue};

use crate::yaml::{self, YamlEntry, YamlNode, YamlValue};
use setting_path::PathStep;
use std::fmt;

/// Change of a setting.
#[derive(Clone, Debug)]
pub enum SettingChange {
    /// This is the value, of a new setting too.
    Set(WrittenValue),
    /// No longer there.
    Unset,
}

/// Why a text is not changed. Each names the place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditRefusal {
    /// The text is no YAML.
    NotYaml {
        /// The line.
        line: usize,
        /// The fault.
        message: String,
    },
    /// Absent, and so cannot be taken away.
    NotThere(SettingPath),
    /// Something stands there that has no keys or items.
    NothingBelow {
        /// The place.
        at: SettingPath,
        /// The kind of value there.
        found: &'static str,
    },
    /// A list that has fewer items.
    NoSuchItem {
        /// The list.
        at: SettingPath,
        /// Number of items.
        items: usize,
    },
    /// Written in a way that cannot be changed without changing more.
    Entangled(SettingPath),
}

/// Changes one setting of a configuration's text.
pub fn edit_text(
    text: &str,
    path: &SettingPath,
    change: &SettingChange,
) -> Result<String, EditRefusal> {
    let tree = yaml::read(text)
        .map_err(|why| EditRefusal::NotYaml { line: why.position.line, message: why.message })?;
    let wanted = changed_tree(&tree, path, change)?;
    let entangled = || EditRefusal::Entangled(path.clone());
    let new = splice::spliced(text, &tree, path, change).ok_or_else(entangled)?;
    match yaml::read(&new) {
        Ok(read) if read.is_same(&wanted) => Ok(new),
        _ => Err(entangled()),
    }
}

/// The value that one step leads to.
fn child<'n>(node: &'n YamlNode, step: &PathStep) -> Option<&'n YamlNode> {
    match &node.value {
        YamlValue::List(items) => items.get(step.item()?),
        YamlValue::Section(_) => match step {
            PathStep::Key(key) => node.entry(key).map(|entry| &entry.node),
            PathStep::Item(_) => None,
        },
        _ => None,
    }
}

/// The tree as the new text has to be read.
fn changed_tree(
    tree: &YamlNode,
    path: &SettingPath,
    change: &SettingChange,
) -> Result<YamlNode, EditRefusal> {
    let mut wanted = tree.clone();
    change_node(&mut wanted, path, 0, change)?;
    Ok(wanted)
}

fn change_node(
    node: &mut YamlNode,
    path: &SettingPath,
    depth: usize,
    change: &SettingChange,
) -> Result<(), EditRefusal> {
    let Some(step) = path.steps().get(depth) else {
        if let SettingChange::Set(value) = change {
            *node = value.node().clone();
        }
        return Ok(());
    };
    let is_last = depth + 1 == path.steps().len();
    let unset = matches!(change, SettingChange::Unset);
    if matches!(node.value, YamlValue::Null) && !unset {
        // Nothing becomes whatever the step wants it to be.
        node.value = match step {
            PathStep::Key(_) => YamlValue::Section(Vec::new()),
            PathStep::Item(_) => YamlValue::List(Vec::new()),
        };
    }
    let (place, kind) = (node.position, node.kind());
    let blank = YamlNode { value: YamlValue::Null, position: place, end: place };
    let nothing_below = || EditRefusal::NothingBelow { at: path.begin(depth), found: kind };
    match (&mut node.value, step) {
        (YamlValue::Section(entries), PathStep::Key(key)) => {
            let found = entries.iter().position(|entry| entry.key == *key);
            match (found, unset) {
                (Some(at), true) if is_last => drop(entries.remove(at)),
                (Some(at), _) => change_node(&mut entries[at].node, path, depth + 1, change)?,
                (None, true) => return Err(EditRefusal::NotThere(path.clone())),
                (None, false) => {
                    let mut added = YamlEntry {
                        key: key.clone(),
                        position: place,
                        key_end: place,
                        node: blank,
                    };
                    change_node(&mut added.node, path, depth + 1, change)?;
                    entries.push(added);
                }
            }
            Ok(())
        }
        (YamlValue::List(items), step) => {
            let index = step.item().ok_or_else(nothing_below)?;
            let count = items.len();
            if index < count && unset && is_last {
                items.remove(index);
            } else if index < count {
                change_node(&mut items[index], path, depth + 1, change)?;
            } else if unset {
                return Err(EditRefusal::NotThere(path.clone()));
            } else if index > count {
                return Err(EditRefusal::NoSuchItem { at: path.begin(depth), items: count });
            } else {
                let mut added = blank;
                change_node(&mut added, path, depth + 1, change)?;
                items.push(added);
            }
            Ok(())
        }
        (YamlValue::Section(_), PathStep::Item(_)) => Err(nothing_below()),
        (_, _) if unset => Err(EditRefusal::NotThere(path.clone())),
        (_, _) => Err(nothing_below()),
    }
}

impl YamlNode {
    /// True if both are the same value, wherever they stand.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (&self.value, &other.value) {
            (YamlValue::Null, YamlValue::Null) => true,
            (YamlValue::Bool(one), YamlValue::Bool(two)) => one == two,
            (YamlValue::Integer(one), YamlValue::Integer(two)) => one == two,
            (YamlValue::Float(one), YamlValue::Float(two)) => one.to_bits() == two.to_bits(),
            (YamlValue::Text(one), YamlValue::Text(two)) => one == two,
            (YamlValue::List(one), YamlValue::List(two)) => {
                one.len() == two.len() && one.iter().zip(two).all(|(one, two)| one.is_same(two))
            }
            (YamlValue::Section(one), YamlValue::Section(two)) => {
                let same = |(one, two): (&YamlEntry, &YamlEntry)| {
                    one.key == two.key && one.node.is_same(&two.node)
                };
                one.len() == two.len() && one.iter().zip(two).all(same)
            }
            _ => false,
        }
    }
}

impl fmt::Display for EditRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotYaml { line, message } => write!(f, "line {line}: {message}"),
            Self::NotThere(path) => write!(f, "{path} is not in the file; nothing is taken away"),
            Self::NothingBelow { at, found } => {
                write!(f, "{at} is {found} in the file, and has nothing of that name below it")
            }
            Self::NoSuchItem { at, items } => {
                write!(f, "{at} has {items} items; the next to be added is [{items}]")
            }
            Self::Entangled(path) => write!(
                f,
                "{path} is written in a way that cannot be changed without changing more; change \
                 the file in an editor"
            ),
        }
    }
}

impl std::error::Error for EditRefusal {}

#[cfg(test)]
mod tests;
