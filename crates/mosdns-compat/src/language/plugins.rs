//! The plugins of a file and of those it includes, one after the other.
//!
//! Called by [`super`].

use super::executors::{self, Executor};
use super::include::SourceDocument;
use super::matchers::{self, MatcherSpec};
use super::position::{PlacedWord, ReadNotes, SourcePosition, with_remedy};
use super::providers::{self, Provider};
use super::rules::SequenceRule;
use super::servers::{self, ServerPlugin};
use super::tree::{ConfigSection, UnknownKeys, sections_of};
use serde_json::Value;
use settings::suggest;
use std::collections::HashMap;
use std::time::Duration;

/// Plugins of one file and those it includes, at most.
pub const PLUGINS_MAX: usize = 4096;

/// Tag of the one executor that every file of mosdns has without naming it.
const PRESET_SLEEP: &str = "_sleep_500ms";

/// One plugin.
#[derive(Clone, Debug, PartialEq)]
pub struct Plugin {
    /// What it is called. In mosdns one without a tag gets one that nobody can write.
    pub tag: String,
    /// Where it stands.
    pub position: SourcePosition,
    /// What it is.
    pub kind: PluginKind,
}

/// Tells what a plugin is.
#[derive(Clone, Debug, PartialEq)]
pub enum PluginKind {
    /// Questions come in there.
    Server(ServerPlugin),
    /// Does something.
    Executor(Executor),
    /// Says yes or no.
    Matcher(MatcherSpec),
    /// Is a set that others share.
    Provider(Provider),
}

impl PluginKind {
    /// The rules of a sequence.
    pub fn rules(&self) -> Option<&[SequenceRule]> {
        match self {
            Self::Executor(Executor::Sequence(rules)) => Some(rules),
            Self::Server(_) | Self::Executor(_) | Self::Matcher(_) | Self::Provider(_) => None,
        }
    }

    /// Returns what it is, in a word.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Server(_) => "server",
            Self::Executor(_) => "executor",
            Self::Matcher(_) => "matcher",
            Self::Provider(_) => "provider",
        }
    }
}

static NOTHING: Value = Value::Null;

/// The plugins of all documents, in their order.
pub(super) fn read(documents: &[SourceDocument<'_>], notes: &ReadNotes) -> Vec<Plugin> {
    let mut plugins: Vec<Plugin> = Vec::new();
    let mut tags: HashMap<String, SourcePosition> = HashMap::new();
    for document in documents {
        let place = document.position.below("plugins");
        let Some(value) = document.plugins(notes) else { continue };
        for section in sections_of(value, &place, notes) {
            if plugins.len() >= PLUGINS_MAX {
                let message = format!("there are more than {PLUGINS_MAX} plugins");
                notes.complain(section.position.complaint(message));
                return plugins;
            }
            let place = section.position.clone();
            let (tag, kind) = plugin(section);
            if let Some(tag) = &tag
                && let Some(other) = tags.insert(tag.text.clone(), tag.position.clone())
            {
                let message = format!("the tag {:?} is taken", tag.text);
                let complaint = tag.position.complaint(message);
                notes.complain(complaint.remedy(format!("the other one is at {other}")));
            }
            let tag = tag.map_or_else(|| format!(" {}", plugins.len()), |it| it.text);
            plugins.extend(kind.map(|kind| Plugin { tag, position: place, kind }));
        }
    }
    if notes.is_mosdns() && !plugins.is_empty() && !tags.contains_key(PRESET_SLEEP) {
        plugins.push(preset_sleep());
    }
    plugins
}

/// The plugin that mosdns registers by itself (plugin/executable/sleep): `exec: $_sleep_500ms`.
fn preset_sleep() -> Plugin {
    let position = SourcePosition::default().below("plugins");
    let kind = PluginKind::Executor(Executor::Sleep(Duration::from_millis(500)));
    Plugin { tag: PRESET_SLEEP.to_owned(), position, kind }
}

fn plugin(mut section: ConfigSection<'_>) -> (Option<PlacedWord>, Option<PluginKind>) {
    let notes = section.notes;
    let tag = if notes.is_mosdns() { section.text("tag") } else { section.needed("tag") };
    let kind = section.needed("type");
    let nothing = (&NOTHING, section.position.below("args"));
    let (args, place) = section.value("args").unwrap_or(nothing);
    section.finish(UnknownKeys::AsUsual);
    let Some(name) = kind else { return (tag, None) };
    if !types(notes).any(|it| it == name.text) {
        complain_of_type(&name, notes);
        return (tag, None);
    }
    let it = name.text.as_str();
    let kind = if servers::TYPES.contains(&it) {
        servers::read(it, args, &place, notes).map(PluginKind::Server)
    } else if providers::TYPES.contains(&it) {
        providers::read(it, args, &place, notes).map(PluginKind::Provider)
    } else if matchers::TYPES.contains(&it) {
        matchers::read(it, args, &place, notes).map(PluginKind::Matcher)
    } else {
        executors::read(it, args, &place, notes).map(PluginKind::Executor)
    };
    (tag, kind)
}

/// The types that a plugin can have in this dialect.
fn types(notes: &ReadNotes) -> impl Iterator<Item = &'static str> {
    let own: [&'static [&'static str]; 2] = if notes.is_mosdns() {
        [executors::MOSDNS_PLUGINS, &["rate_limiter", "domain_set", "ip_set"]]
    } else {
        [executors::TYPES, matchers::TYPES]
    };
    let sets: &[&str] = if notes.is_mosdns() { &[] } else { providers::TYPES };
    own.into_iter().flatten().chain(sets).chain(servers::TYPES).copied()
}

fn complain_of_type(name: &PlacedWord, notes: &ReadNotes) {
    let complaint = name.position.complaint(format!("{:?} is no type of plugins", name.text));
    let remedy = if executors::QUICK.contains(&name.text.as_str()) {
        Some(format!("write it in a rule: exec: {} ...", name.text))
    } else {
        suggest(&name.text, types(notes))
    };
    notes.complain(with_remedy(complaint, remedy));
}
