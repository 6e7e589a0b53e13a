//! The place of a setting among several files: which of them has it, on which line, as what.
//!
//! The file that has the most of the way to it is the one where a new setting belongs, too. It
//! judges nothing. Called for forms, which change settings where they are written.

use crate::edit::{EditRefusal, SettingPath};
use crate::yaml::{self, YamlNode, YamlValue};
use serde_json::Value as Json;

/// A setting as the files have it.
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenSetting {
    /// The file, by its number among the texts; where nothing is set, the one where it belongs.
    pub file: usize,
    /// The line, from 1, of the setting or of the nearest thing above it.
    pub line: usize,
    /// The value as it is written; none where it is not set.
    pub value: Option<Json>,
}

/// Looks for a setting in texts, the first of which is the configuration itself. With the number
/// of a text that is no YAML, why it is none.
pub fn find_setting(
    texts: &[&str],
    path: &SettingPath,
) -> Result<WrittenSetting, (usize, EditRefusal)> {
    let mut best: Option<(usize, WrittenSetting)> = None;
    for (file, text) in texts.iter().enumerate() {
        let tree = yaml::read(text).map_err(|why| {
            let line = why.position.line;
            (file, EditRefusal::NotYaml { line, message: why.message })
        })?;
        let (steps, line, value) = walk(&tree, path);
        if best.as_ref().is_none_or(|(most, _)| steps > *most) {
            best = Some((steps, WrittenSetting { file, line, value }));
        }
    }
    Ok(best.map_or(WrittenSetting { file: 0, line: 1, value: None }, |(_, found)| found))
}

/// Number of steps that lead somewhere, the line of the last of them, and the value at the end.
fn walk(tree: &YamlNode, path: &SettingPath) -> (usize, usize, Option<Json>) {
    let (mut node, mut line) = (tree, tree.position.line);
    for (taken, step) in path.steps().iter().enumerate() {
        let next = match (&node.value, step.key(), step.item()) {
            (YamlValue::Section(_), Some(key), _) => {
                node.entry(key).map(|entry| (entry.position.line, &entry.node))
            }
            (YamlValue::List(items), _, Some(at)) => {
                items.get(at).map(|item| (item.position.line, item))
            }
            _ => None,
        };
        let Some((below, child)) = next else { return (taken, line, None) };
        (line, node) = (below, child);
    }
    (path.steps().len(), line, Some(node.to_json()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn found(texts: &[&str], path: &str) -> (usize, usize, Option<Json>) {
        let found = find_setting(texts, &SettingPath::parse(path).unwrap()).unwrap();
        (found.file, found.line, found.value)
    }

    #[test]
    fn a_setting_is_found_where_it_is_written_and_a_new_one_where_its_section_is() {
        let main = "admin: {}\nproxy:\n  listen: []\n";
        let dns = "# names\ndns:\n  upstreams:\n    - a\n    - b\n";
        let texts = [main, dns];
        assert_eq!(found(&texts, "dns.upstreams"), (1, 3, Some(serde_json::json!(["a", "b"]))));
        assert_eq!(found(&texts, "dns.upstreams[1]"), (1, 5, Some("b".into())));
        assert_eq!(found(&texts, "dns.blocked"), (1, 2, None), "beside its like");
        assert_eq!(found(&texts, "ledger.keep"), (0, 1, None), "else in the first file");
        let wrong = find_setting(&[main, "a: [1\nb: 2\n"], &SettingPath::parse("a").unwrap());
        assert!(matches!(wrong, Err((1, EditRefusal::NotYaml { line: 2, .. }))), "{wrong:?}");
    }
}
