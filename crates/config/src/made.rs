//! Settings made in the dashboard: a file in the state folder that is part of every configuration
//! of ours, like one that it includes.
//!
//! The text is a configuration as people write them, and may be edited by hand. No setting but the
//! lists is known here.

use crate::FileComplaint;
use crate::edit::{EditRefusal, SettingChange, SettingPath, WrittenValue, edit_text};
use crate::yaml::{self, FILE_BYTES_MAX, YamlNode, YamlValue};
use serde_json::Value as Json;
use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Name of the file in the state folder.
pub const MADE_FILE: &str = "dashboard.yaml";

/// The file with its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MadeSettings {
    /// Place of the file.
    pub path: PathBuf,
    /// Text of it.
    pub text: String,
}

impl MadeSettings {
    /// Reads the file of a state folder; none where there is none, or no folder.
    ///
    /// # Errors
    /// Cannot be read, is larger than a configuration may be, or no UTF-8.
    pub fn read(state_dir: &Path) -> Result<Option<Self>, FileComplaint> {
        let path = state_dir.join(MADE_FILE);
        let text = File::open(&path).and_then(|file| {
            let mut text = String::new();
            // One more than is taken: what is too large is told as such when it is parsed.
            file.take(FILE_BYTES_MAX as u64 + 1).read_to_string(&mut text)?;
            Ok(text)
        });
        match text {
            Ok(text) => Ok(Some(Self { path, text })),
            Err(why) if is_absent(&why) => Ok(None),
            Err(why) => Err(crate::whole_file(
                &path,
                format!("what was set in the dashboard cannot be read: {why}"),
                "make it readable for the user that Tidegate runs as, or move it away",
            )),
        }
    }
}

/// Change of what was set in the dashboard.
#[derive(Clone, Debug, PartialEq)]
pub enum MadeChange {
    /// One more list, with the keys of `policy.lists`.
    AddList(Json),
    /// No longer this list; it must have been added here.
    RemoveList(String),
    /// Holds for nobody, wherever it is set.
    SwitchOff(String),
    /// Holds again.
    SwitchOn(String),
}

/// Refusal of such a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MadeRefusal {
    /// Set elsewhere, or nowhere.
    NotMadeHere(String),
    /// The file's text stands against it.
    Edit(EditRefusal),
    /// A value that cannot be written on a line.
    Value(String),
}

impl MadeSettings {
    /// An empty file of this state folder.
    pub fn blank(state_dir: &Path) -> Self {
        let text = "# Settings made in the dashboard. They may be changed here too: then reload.\n";
        Self { path: state_dir.join(MADE_FILE), text: text.into() }
    }

    /// The text with this change, comments and order kept.
    ///
    /// # Errors
    /// Names the list or the place that stands against it.
    pub fn changed(&self, change: &MadeChange) -> Result<String, MadeRefusal> {
        let absent = |name: &str| MadeRefusal::NotMadeHere(name.to_owned());
        match change {
            MadeChange::AddList(list) => {
                let place = items(&self.tree()?, "lists").len();
                self.edited(&format!("policy.lists[{place}]"), Some(&list.to_string()))
            }
            MadeChange::RemoveList(name) => {
                let place = self.list_place(name)?.ok_or_else(|| absent(name))?;
                self.edited(&format!("policy.lists[{place}]"), None)
            }
            MadeChange::SwitchOff(name) if self.off_place(name)?.is_some() => Ok(self.text.clone()),
            MadeChange::SwitchOff(name) => {
                let place = items(&self.tree()?, "lists_off").len();
                let value = Json::from(name.as_str()).to_string();
                self.edited(&format!("policy.lists_off[{place}]"), Some(&value))
            }
            MadeChange::SwitchOn(name) => {
                let place = self.off_place(name)?.ok_or_else(|| absent(name))?;
                self.edited(&format!("policy.lists_off[{place}]"), None)
            }
        }
    }

    /// Names of the lists that were added here; none of a file that cannot be read.
    pub fn list_names(&self) -> Vec<String> {
        let tree = self.tree().ok();
        let lists = tree.as_ref().map_or(&[][..], |tree| items(tree, "lists"));
        let name = |list: &YamlNode| list.entry("name").and_then(|it| text_of(&it.node));
        lists.iter().filter_map(name).collect()
    }

    fn edited(&self, path: &str, value: Option<&str>) -> Result<String, MadeRefusal> {
        let wrong = |why: &dyn fmt::Display| MadeRefusal::Value(why.to_string());
        let path = SettingPath::parse(path).map_err(|why| wrong(&why))?;
        let change = match value {
            Some(value) => {
                SettingChange::Set(WrittenValue::parse(value).map_err(|why| wrong(&why))?)
            }
            None => SettingChange::Unset,
        };
        edit_text(&self.text, &path, &change).map_err(MadeRefusal::Edit)
    }

    fn tree(&self) -> Result<YamlNode, MadeRefusal> {
        yaml::read(&self.text).map_err(|why| {
            let line = why.position.line;
            MadeRefusal::Edit(EditRefusal::NotYaml { line, message: why.message })
        })
    }

    fn list_place(&self, name: &str) -> Result<Option<usize>, MadeRefusal> {
        let named = |item: &YamlNode| {
            item.entry("name").and_then(|it| text_of(&it.node)).as_deref() == Some(name)
        };
        Ok(items(&self.tree()?, "lists").iter().position(named))
    }

    fn off_place(&self, name: &str) -> Result<Option<usize>, MadeRefusal> {
        Ok(items(&self.tree()?, "lists_off")
            .iter()
            .position(|item| text_of(item).as_deref() == Some(name)))
    }
}

/// Items of a list of the policy.
fn items<'t>(tree: &'t YamlNode, key: &str) -> &'t [YamlNode] {
    let policy = tree.entry("policy").map(|entry| &entry.node);
    let found = policy.and_then(|policy| policy.entry(key)).map(|entry| &entry.node.value);
    if let Some(YamlValue::List(items)) = found { items } else { &[] }
}

fn text_of(node: &YamlNode) -> Option<String> {
    if let YamlValue::Text(text) = &node.value { Some(text.clone()) } else { None }
}

impl fmt::Display for MadeRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotMadeHere(name) => {
                write!(f, "the list {name:?} is not one that the dashboard has set")
            }
            Self::Edit(why) => why.fmt(f),
            Self::Value(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for MadeRefusal {}

/// True for a file that is not there, also where its folder is another user's: a command that is
/// run by somebody else checks the configuration alone.
fn is_absent(why: &io::Error) -> bool {
    matches!(
        why.kind(),
        ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::PermissionDenied
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;
    use serde_json::json;

    fn made(text: &str) -> MadeSettings {
        MadeSettings { path: "/state/dashboard.yaml".into(), text: text.into() }
    }

    fn with(settings: &MadeSettings, change: &MadeChange) -> MadeSettings {
        MadeSettings { text: settings.changed(change).unwrap(), ..settings.clone() }
    }

    #[test]
    fn lists_come_go_and_are_switched_with_comments_kept() {
        let ads = json!({ "name": "ads", "url": "https://lists.example/ads.txt" });
        let blank = MadeSettings::blank(Path::new("/state"));
        let first = with(&blank, &MadeChange::AddList(ads));
        assert!(
            first.text.starts_with("# Settings made") && first.list_names() == ["ads"],
            "{first:?}"
        );
        let rules = json!({ "name": "a: #b", "rules": ["||x.example^ # no", "@@||y.example^"] });
        let second = with(&first, &MadeChange::AddList(rules));
        assert_eq!(second.list_names(), ["ads", "a: #b"]);
        let off = with(&second, &MadeChange::SwitchOff("starter".into()));
        assert_eq!(with(&off, &MadeChange::SwitchOff("starter".into())), off, "once is enough");
        let on = with(&off, &MadeChange::SwitchOn("starter".into()));
        assert!(!on.text.contains("starter"), "{on:?}");
        let gone = with(&on, &MadeChange::RemoveList("ads".into()));
        assert_eq!(gone.list_names(), ["a: #b"]);
        for change in [MadeChange::RemoveList("ads".into()), MadeChange::SwitchOn("starter".into())]
        {
            assert!(matches!(gone.changed(&change), Err(MadeRefusal::NotMadeHere(_))));
        }
    }

    #[test]
    fn a_broken_file_is_told_by_its_line() {
        let refused = made("policy:\n\t- x\n").changed(&MadeChange::SwitchOff("a".into()));
        assert!(matches!(refused, Err(MadeRefusal::Edit(EditRefusal::NotYaml { line: 2, .. }))));
    }

    #[test]
    fn what_the_dashboard_has_set_is_part_of_the_configuration() {
        let main = "policy: { lists: [{ name: mine, rules: [a.example] }] }\n\
                    dns: { listen: [\"udp://127.0.0.1:0\"], upstreams: [\"udp://127.0.0.1:9\"] }\n";
        let path = Path::new("/etc/tidegate/tidegate.yaml");
        let more =
            made("policy: { lists: [{ name: ads, rules: [b.example] }], lists_off: [mine] }");
        let plan = crate::parse_with(main, path, Some(&more)).unwrap();
        let names: Vec<_> = plan.file.policy.lists.iter().map(|list| &*list.name).collect();
        assert_eq!((names, plan.text()), (vec!["mine", "ads"], main));
        let wrong = made("policy: { lists: [{ name: mine, rules: [b.example] }] }");
        let complaints = crate::parse_with(main, path, Some(&wrong)).unwrap_err();
        let told = complaints[0].to_string();
        assert!(told.starts_with("/state/dashboard.yaml:1:") && told.contains("taken"), "{told}");
    }
}
