//! The pipelines of mosdns v5 and OxiDNS 1.x, as typed values.
//!
//! The tree of a file goes in; out come its plugins with their arguments, defaults filled in, or
//! all complaints at once with their places. It opens nothing: files are read through
//! [`ForeignFiles`]. What is looked up by name (tags, files of rules) stays words until
//! [`crate::compile`]. Called by whoever reads a configuration.

mod answers;
mod caches;
mod detect;
mod environment;
mod executors;
mod frame;
mod include;
mod learning;
mod matchers;
mod network;
mod outbound;
mod outward;
mod packet_sets;
mod plugins;
mod position;
mod providers;
mod record_types;
mod router;
mod rules;
mod schedule;
mod selector;
mod servers;
mod spans;
mod strings;
mod tree;
mod upstream_address;
mod upstreams;
mod words;

pub use answers::{BlackHole, ListedRules};
pub use caches::{CachePlugin, FallbackPlugin, HandlePointers, NegativeCaching, ReverseLookup};
pub use detect::DialectEvidence;
pub use executors::Executor;
pub use frame::{ApiSettings, LogLevel, LogSettings, RuntimeSettings};
pub use include::{INCLUDE_DEPTH_MAX, INCLUDES_MAX};
pub use learning::{DynamicDomainSet, LearnDomainPlugin, LearnedAnswer};
pub use matchers::{MatcherSpec, RateLimit};
pub use outward::{
    DownloadFile, DownloadPlugin, ErrorMode, HttpRequest, OutwardEffect, PluginPhase, ScriptPlugin,
};
pub use packet_sets::{IpsetPlugin, NftTarget, NftsetPlugin};
pub use plugins::{PLUGINS_MAX, Plugin, PluginKind};
pub use position::{COMPLAINTS_MAX, PlacedWord, SourcePosition};
pub use providers::{DatArgs, Provider, SetArgs};
pub use router::{RosAddressList, RosPassword, RosRoute, RosTls};
pub use rules::{CalledMatcher, RULES_MAX, RuleAction, RuleTest, SequenceRule};
pub use schedule::{CronJob, CronPlugin, CronTime};
pub use selector::{AddressChoice, AddressProbe, IpSelectorPlugin, PrivateAddresses, SignedChoice};
pub use servers::{CertificateFiles, ServerEntry, ServerKind, ServerPlugin};
pub use strings::{StringOperation, StringSource, StringTest};
pub use upstreams::{
    AnswerChoice, ForwardPlugin, PipeliningMode, UPSTREAMS_MAX, UpstreamSpec, VerifyCertificate,
};
pub use words::SetWords;

pub(crate) use position::{ReadNotes, with_remedy};
pub(crate) use words::split;

use serde_json::Value;
use std::io;
use vocab::Complaint;

/// A reference to an executor that runs without a question.
pub(crate) enum LoneReference {
    /// The plugin with this tag.
    Tag(PlacedWord),
    /// A quick form.
    Quick(OutwardEffect),
    /// One that was refused with a complaint.
    Refused,
}

/// Returns what `item` refers to: `$tag`, `tag`, or a quick form (`reload`, `download URL FOLDER`).
pub(crate) fn alone(item: &PlacedWord, notes: &ReadNotes) -> LoneReference {
    if let Some((words::RuleHead::Type(name), words)) = words::head(&item.text, notes.dialect)
        && matches!(name, "reload" | "reload_provider" | "download")
    {
        let quick = outward::quick(name, words, &item.position, notes);
        return quick.map_or(LoneReference::Refused, LoneReference::Quick);
    }
    let tag = item.text.trim();
    LoneReference::Tag(PlacedWord::new(tag.strip_prefix('$').unwrap_or(tag).trim(), &item.position))
}

/// What a foreign file draws on besides itself. The environment is part of it: `env KEY VALUE`.
pub trait ForeignFiles {
    /// The bytes of a file of rules, named as the peers do: from the working directory. An error
    /// says why it cannot be read.
    fn read(&self, path: &str) -> io::Result<Vec<u8>>;

    /// True if there is no such file, where [`Self::read`] has failed.
    fn is_missing(&self, path: &str) -> bool;

    /// The tree of another configuration file. Of an error, the message and remedy are told.
    fn read_document(&self, path: &str, base: PathBase) -> Result<Value, Complaint>;

    /// A variable of the environment.
    fn variable(&self, name: &str) -> Option<String>;
}

/// From where a path is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathBase {
    /// From the working directory (mosdns).
    WorkingDirectory,
    /// From the folder of the main configuration file (OxiDNS).
    MainFile,
}

/// Tells whose language a file is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// mosdns v5.
    Mosdns,
    /// OxiDNS 1.x, once called ForgeDNS.
    Oxidns,
}

/// A foreign file, read.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignFile {
    /// Whose language it is.
    pub dialect: Dialect,
    /// What made it one of OxiDNS; nothing for mosdns.
    pub because: Option<DialectEvidence>,
    /// What is logged.
    pub log: LogSettings,
    /// Where the peer's own control API listened.
    pub api: Option<ApiSettings>,
    /// How the process runs.
    pub runtime: RuntimeSettings,
    /// The plugins, included ones first.
    pub plugins: Vec<Plugin>,
    /// What the user should know.
    pub warnings: Vec<Complaint>,
}

/// True if `document` is a foreign file at all: it has `plugins`, or `plugin` of an old mosdns,
/// which our own settings have not.
pub fn is_foreign(document: &Value) -> bool {
    let Some(map) = document.as_object() else { return false };
    let own = ["plugins", "plugin", "include"];
    map.keys().any(|key| own.iter().any(|own| key.eq_ignore_ascii_case(own)))
}

/// The foreign file that `document` is, or everything that is wrong with it.
pub fn read(document: &Value, files: &dyn ForeignFiles) -> Result<ForeignFile, Vec<Complaint>> {
    read_as(None, document, files)
}

/// The same for a file whose language is known; [`read`] tells it by what the file uses.
pub fn read_as(
    known: Option<Dialect>,
    document: &Value,
    files: &dyn ForeignFiles,
) -> Result<ForeignFile, Vec<Complaint>> {
    if let Some(complaint) = detect::older_version(document) {
        return Err(vec![complaint]);
    }
    let (dialect, because, documents) = match known {
        Some(known) => (known, None, include::gather(document, known, files)?),
        None => dialect(document, files)?,
    };
    let notes = ReadNotes::new(dialect);
    let mut own = frame::FileFrame::default();
    for document in &documents {
        // Of what is included only the plugins count; its other keys must be right all the same.
        let frame = frame::read(&document.value, &document.position, &notes);
        if document.position.file().is_none() {
            own = frame;
        }
    }
    let plugins = plugins::read(&documents, &notes);
    if plugins.is_empty() && notes.is_content() {
        notes.complain(Complaint::new("plugins", "there are no plugins"));
    }
    let warnings = notes.finish()?;
    let frame::FileFrame { log, api, runtime } = own;
    Ok(ForeignFile { dialect, because, log, api, runtime, plugins, warnings })
}

/// A plugin as it is written, before variables are put in.
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenPlugin {
    /// Where it stands; [`Plugin::position`] of what it was read as.
    pub position: SourcePosition,
    /// Its text.
    pub value: Value,
}

/// The plugins of a file as they are written, included ones first.
pub fn written_plugins(
    dialect: Dialect,
    document: &Value,
    files: &dyn ForeignFiles,
) -> Result<Vec<WrittenPlugin>, Vec<Complaint>> {
    let mut plugins = Vec::new();
    for document in include::gather(document, dialect, files)? {
        let place = document.position.below("plugins");
        match document.written_plugins(dialect) {
            Some(Value::Array(items)) => {
                plugins.extend(items.iter().enumerate().map(|(index, value)| WrittenPlugin {
                    position: place.below(index),
                    value: value.clone(),
                }));
            }
            Some(value) => plugins.push(WrittenPlugin { position: place, value: value.clone() }),
            None => {}
        }
    }
    Ok(plugins)
}

type Told<'v> = (Dialect, Option<DialectEvidence>, Vec<include::SourceDocument<'v>>);

/// The dialect, what told it, and all files. Where included files are looked for depends on the
/// dialect, and they may be what tells it.
fn dialect<'v>(document: &'v Value, files: &dyn ForeignFiles) -> Result<Told<'v>, Vec<Complaint>> {
    let own = detect::evidence(document, &SourcePosition::default());
    if own.is_none() {
        let documents = include::gather(document, Dialect::Mosdns, files);
        let found = documents
            .as_ref()
            .ok()
            .and_then(|all| all.iter().find_map(|it| detect::evidence(&it.value, &it.position)));
        match (documents, found) {
            (Ok(documents), None) => return Ok((Dialect::Mosdns, None, documents)),
            (Ok(_), Some(found)) => {
                let documents = include::gather(document, Dialect::Oxidns, files)?;
                return Ok((Dialect::Oxidns, Some(found), documents));
            }
            (Err(complaints), _) => {
                let documents =
                    include::gather(document, Dialect::Oxidns, files).map_err(|_| complaints)?;
                let what = "files included from this one's folder".to_owned();
                let place = SourcePosition::default().below("include");
                return Ok((
                    Dialect::Oxidns,
                    Some(DialectEvidence { position: place, what }),
                    documents,
                ));
            }
        }
    }
    let documents = include::gather(document, Dialect::Oxidns, files)?;
    Ok((Dialect::Oxidns, own, documents))
}
