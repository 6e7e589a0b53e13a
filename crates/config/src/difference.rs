//! The difference between two configurations, setting by setting, as a person is told it.
//!
//! Both are values with defaults filled in and secrets hidden, so that what is written in another
//! way and means the same is no difference. Items of lists that have a name are matched by it.
//! Called by `check --diff`.

use serde::Serialize;
use serde_json::Value as Json;
use std::fmt;

/// Differences that are told, at most.
pub const DIFFERENCES_MAX: usize = 1000;
/// Bytes of a value that is shown.
const SHOWN_BYTES_MAX: usize = 200;
/// Sections and settings that hold from the start to the end of a process.
const FROM_THE_START: [&str; 6] = ["admin", "user", "group", "landlock", "state_dir", "fleet"];

/// Settings of those that a reload takes all the same.
const TAKEN_BY_RELOAD: [&str; 4] = ["admin.listen", "admin.hosts", "fleet.live", "fleet.rows"];

/// One setting that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SettingDifference {
    /// The setting: keys joined by dots, items of lists by name or number.
    pub path: String,
    /// Value in force; none where the setting is added.
    pub before: Option<Json>,
    /// Value in the file; none where it is removed.
    pub after: Option<Json>,
    /// When it takes effect.
    pub takes: EffectTime,
}

/// Time at which a difference takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectTime {
    /// At a reload.
    Reload,
    /// At a restart alone.
    Restart,
}

/// Every difference, in the order of the settings.
pub fn differences(before: &Json, after: &Json) -> Vec<SettingDifference> {
    let mut found = Vec::new();
    compare("", Some(before), Some(after), &mut found);
    found.truncate(DIFFERENCES_MAX);
    found
}

fn compare(
    path: &str,
    before: Option<&Json>,
    after: Option<&Json>,
    found: &mut Vec<SettingDifference>,
) {
    if found.len() > DIFFERENCES_MAX {
        return;
    }
    let is_set = |value: &&Json| !is_empty(value);
    match (before.filter(is_set), after.filter(is_set)) {
        (None, None) => {}
        (Some(before), Some(after)) if before == after => {}
        (Some(Json::Object(one)), Some(Json::Object(other))) => {
            let more = other.keys().filter(|key| !one.contains_key(*key));
            for key in one.keys().chain(more) {
                let below = join(path, key);
                compare(&below, one.get(key), other.get(key), found);
            }
        }
        (Some(Json::Array(one)), Some(Json::Array(other)))
            if has_names(one) && has_names(other) =>
        {
            let of = |items: &[Json], name: &str| {
                items.iter().find(|item| name_of(item) == Some(name)).cloned()
            };
            let names = one.iter().chain(other).filter_map(name_of);
            let mut told: Vec<&str> = Vec::new();
            for name in names {
                if !told.contains(&name) {
                    told.push(name);
                    let (one, other) = (of(one, name), of(other, name));
                    compare(&format!("{path}[{name}]"), one.as_ref(), other.as_ref(), found);
                }
            }
        }
        (Some(Json::Array(one)), Some(Json::Array(other)))
            if one.iter().chain(other).any(Json::is_object) =>
        {
            for index in 0..one.len().max(other.len()) {
                let below = format!("{path}[{index}]");
                compare(&below, one.get(index), other.get(index), found);
            }
        }
        (before, after) => {
            let is_within = |part: &str| {
                path.strip_prefix(part).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            let is_early = TAKEN_BY_RELOAD.into_iter().any(is_within);
            let takes = if FROM_THE_START.into_iter().any(is_within) && !is_early {
                EffectTime::Restart
            } else {
                EffectTime::Reload
            };
            let (before, after) = (before.cloned(), after.cloned());
            found.push(SettingDifference { path: path.into(), before, after, takes });
        }
    }
}

/// A section or list that says nothing is as good as none.
fn is_empty(value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::Array(items) => items.is_empty(),
        Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Object(_) => false,
    }
}

fn has_names(items: &[Json]) -> bool {
    items.iter().all(|item| name_of(item).is_some())
}

fn name_of(item: &Json) -> Option<&str> {
    item.get("name")?.as_str().filter(|name| !name.is_empty())
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// A value in few words: of one with defaults that are null, what is set.
fn shown(value: &Json) -> String {
    fn set(value: &Json) -> Json {
        match value {
            Json::Object(entries) => {
                let set_ones = entries.iter().filter(|(_, it)| !is_empty(it));
                Json::Object(set_ones.map(|(key, it)| (key.clone(), set(it))).collect())
            }
            Json::Array(items) => items.iter().map(set).collect(),
            other => other.clone(),
        }
    }
    let mut text = match value {
        Json::String(text) => text.clone(),
        other => set(other).to_string(),
    };
    if text.len() > SHOWN_BYTES_MAX {
        let end = (0..=SHOWN_BYTES_MAX).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    text
}

impl fmt::Display for SettingDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.path;
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => {
                write!(f, "{path}: changes from {} to {}", shown(before), shown(after))?;
            }
            (None, Some(after)) => write!(f, "{path}: is added: {}", shown(after))?,
            (Some(before), None) => write!(f, "{path}: is removed, was {}", shown(before))?,
            (None, None) => write!(f, "{path}: stays")?,
        }
        match self.takes {
            EffectTime::Reload => Ok(()),
            EffectTime::Restart => f.write_str(" (at the next start)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn settings_are_told_that_change_that_come_and_that_go() {
        let before = json!({
            "user": "a", "dns": { "blocked": "auto", "local": [] },
            "policy": { "lists": [{ "name": "ads", "path": "a.txt" }, { "name": "old" }] },
            "web": [{ "root": "a" }, { "root": "b" }], "gateway": null,
            "proxy": { "listen": ["http://127.0.0.1:1"] },
        });
        let after = json!({
            "user": "b", "dns": { "blocked": "nodata" },
            "policy": { "lists": [{ "name": "new" }, { "name": "ads", "path": "b.txt" }] },
            "web": [{ "root": "a" }], "gateway": { "listen": ["http://127.0.0.1:2"], "routes": null },
            "proxy": { "listen": ["http://127.0.0.1:1", "http://127.0.0.1:3"] },
        });
        let mut told: Vec<String> =
            differences(&before, &after).iter().map(ToString::to_string).collect();
        told.sort();
        let expected = [
            "dns.blocked: changes from auto to nodata",
            "gateway: is added: {\"listen\":[\"http://127.0.0.1:2\"]}",
            "policy.lists[ads].path: changes from a.txt to b.txt",
            "policy.lists[new]: is added: {\"name\":\"new\"}",
            "policy.lists[old]: is removed, was {\"name\":\"old\"}",
            "proxy.listen: changes from [\"http://127.0.0.1:1\"] to \
             [\"http://127.0.0.1:1\",\"http://127.0.0.1:3\"]",
            "user: changes from a to b (at the next start)",
            "web[1]: is removed, was {\"root\":\"b\"}",
        ];
        assert_eq!(told, expected);
        assert!(differences(&before, &before).is_empty());
    }
}
