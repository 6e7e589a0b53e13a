//! Settings made in the dashboard: a file in the state folder that is part of every configuration
//! of ours, like one that it includes.
//!
//! The text is a configuration as people write them, and may be edited by hand. Lists, clients and
//! groups are known here by their names, and by nothing else.

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

/// Settings of the policy whose items the dashboard makes; each item has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MadeItems {
    /// `policy.lists`.
    Lists,
    /// `policy.clients`. The first that matches a client holds: those that name single devices
    /// alone are put before the others.
    Clients,
    /// `policy.groups`.
    Groups,
}

/// Change of what was set in the dashboard.
#[derive(Clone, Debug, PartialEq)]
pub enum MadeChange {
    /// One more item, with the keys that it has in the configuration.
    Add(MadeItems, Json),
    /// In the place of the item of this name, which must have been made here.
    Replace(MadeItems, String, Json),
    /// No longer the item of this name; it must have been made here.
    Remove(MadeItems, String),
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
            MadeChange::Add(of, item) => self.with_added(*of, item),
            MadeChange::Replace(of, name, item) => {
                let place = self.place(*of, name)?.ok_or_else(|| absent(name))?;
                let (key, item) = (of.key(), item.to_string());
                self.edited(&format!("policy.{key}[{place}]"), Some(&item))
            }
            MadeChange::Remove(of, name) => {
                let place = self.place(*of, name)?.ok_or_else(|| absent(name))?;
                self.edited(&format!("policy.{}[{place}]", of.key()), None)
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

    /// Names of the items that were made here; none of a file that cannot be read.
    pub fn names(&self, of: MadeItems) -> Vec<String> {
        let items = self.items(of);
        items.iter().filter_map(|item| item["name"].as_str().map(str::to_owned)).collect()
    }

    /// Items that were made here, as they stand there; none of a file that cannot be read.
    pub fn items(&self, of: MadeItems) -> Vec<Json> {
        let tree = self.tree().ok();
        let items = tree.as_ref().map_or(&[][..], |tree| items(tree, of.key()));
        items.iter().map(YamlNode::to_json).collect()
    }

    /// The text with one more item, put where it is not hidden by those that are there.
    fn with_added(&self, of: MadeItems, item: &Json) -> Result<String, MadeRefusal> {
        let tree = self.tree()?;
        let held = items(&tree, of.key());
        let end = held.len();
        let place = match of {
            MadeItems::Clients if !has_many(item) => {
                held.iter().position(|it| has_many(&it.to_json())).unwrap_or(end)
            }
            MadeItems::Clients | MadeItems::Lists | MadeItems::Groups => end,
        };
        let mut made = self.clone();
        // What stands behind it moves on by one, the last one first.
        for at in (place..end).rev() {
            let moved = held[at].to_json().to_string();
            made.text = made.edited(&format!("policy.{}[{}]", of.key(), at + 1), Some(&moved))?;
        }
        made.edited(&format!("policy.{}[{place}]", of.key()), Some(&item.to_string()))
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

    fn place(&self, of: MadeItems, name: &str) -> Result<Option<usize>, MadeRefusal> {
        let named = |item: &YamlNode| name_of(item).as_deref() == Some(name);
        Ok(items(&self.tree()?, of.key()).iter().position(named))
    }

    fn off_place(&self, name: &str) -> Result<Option<usize>, MadeRefusal> {
        Ok(items(&self.tree()?, "lists_off")
            .iter()
            .position(|item| text_of(item).as_deref() == Some(name)))
    }
}

impl MadeItems {
    /// Key of the setting below `policy`.
    const fn key(self) -> &'static str {
        match self {
            Self::Lists => "lists",
            Self::Clients => "clients",
            Self::Groups => "groups",
        }
    }
}

/// True for an entry of `policy.clients` that matches more than single devices: a network or an
/// interface.
fn has_many(client: &Json) -> bool {
    let matches = client["match"].as_array().map_or(&[][..], Vec::as_slice);
    matches
        .iter()
        .filter_map(Json::as_str)
        .any(|it| it.contains('/') || it.starts_with("interface:"))
}

fn name_of(item: &YamlNode) -> Option<String> {
    item.entry("name").and_then(|it| text_of(&it.node))
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
                write!(f, "{name:?} is nothing that the dashboard has set")
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
        let first = with(&blank, &MadeChange::Add(MadeItems::Lists, ads));
        assert!(
            first.text.starts_with("# Settings made") && first.names(MadeItems::Lists) == ["ads"],
            "{first:?}"
        );
        let rules = json!({ "name": "a: #b", "rules": ["||x.example^ # no", "@@||y.example^"] });
        let second = with(&first, &MadeChange::Add(MadeItems::Lists, rules));
        assert_eq!(second.names(MadeItems::Lists), ["ads", "a: #b"]);
        let off = with(&second, &MadeChange::SwitchOff("starter".into()));
        assert_eq!(with(&off, &MadeChange::SwitchOff("starter".into())), off, "once is enough");
        let on = with(&off, &MadeChange::SwitchOn("starter".into()));
        assert!(!on.text.contains("starter"), "{on:?}");
        let gone = with(&on, &MadeChange::Remove(MadeItems::Lists, "ads".into()));
        assert_eq!(gone.names(MadeItems::Lists), ["a: #b"]);
        for change in [
            MadeChange::Remove(MadeItems::Lists, "ads".into()),
            MadeChange::SwitchOn("starter".into()),
        ] {
            assert!(matches!(gone.changed(&change), Err(MadeRefusal::NotMadeHere(_))));
        }
    }

    #[test]
    fn single_devices_come_before_networks_and_are_replaced_where_they_stand() {
        let add = |to: &MadeSettings, name: &str, matched: &str| {
            let item = json!({ "name": name, "match": [matched] });
            with(to, &MadeChange::Add(MadeItems::Clients, item))
        };
        let mut settings = MadeSettings::blank(Path::new("/state"));
        for (name, matched) in [
            ("guests", "192.168.1.0/24"),
            ("phone", "192.168.1.7"),
            ("bridge", "interface:br-lan"),
            ("tablet", "aa:bb:cc:00:11:22"),
        ] {
            settings = add(&settings, name, matched);
        }
        let order = ["phone", "tablet", "guests", "bridge"];
        assert_eq!(settings.names(MadeItems::Clients), order, "{settings:?}");
        let item = json!({ "name": "call: it", "match": ["192.168.1.8"], "lists": ["a"] });
        let change = MadeChange::Replace(MadeItems::Clients, "tablet".into(), item);
        let replaced = with(&settings, &change);
        assert_eq!(replaced.names(MadeItems::Clients), ["phone", "call: it", "guests", "bridge"]);
        assert!(matches!(replaced.changed(&change), Err(MadeRefusal::NotMadeHere(_))), "once");
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
        let plan = crate::parse_with(main, path, Some(&more).into()).unwrap();
        let names: Vec<_> = plan.file.policy.lists.iter().map(|list| &*list.name).collect();
        assert_eq!((names, plan.text()), (vec!["mine", "ads"], main));
        let wrong = made("policy: { lists: [{ name: mine, rules: [b.example] }] }");
        let complaints = crate::parse_with(main, path, Some(&wrong).into()).unwrap_err();
        let told = complaints[0].to_string();
        assert!(told.starts_with("/state/dashboard.yaml:1:") && told.contains("taken"), "{told}");
    }
}
