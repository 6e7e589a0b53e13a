//! The pipelines of mosdns v5 and OxiDNS 1.x, as typed values.
//!
//! The tree of a file goes in; out come its plugins with their arguments, defaults filled in, or all
//! complaints at once with their places. It opens nothing: files are read through [`Files`]. What is
//! looked up by name (tags, files of rules) stays words until [`crate::compile`]. Called by whoever
//! reads a configuration.

mod answers;
mod caches;
mod detect;
mod executors;
mod frame;
mod include;
mod matchers;
mod outward;
mod packet_sets;
mod place;
mod plugins;
mod providers;
mod rules;
mod schedule;
mod servers;
mod strings;
mod tree;
mod upstreams;
mod words;

pub use answers::{BlackHole, Listed};
pub use caches::{Cache, Fallback, HandlePointers, Negative, ReverseLookup};
pub use detect::Evidence;
pub use executors::Executor;
pub use frame::{Api, Level, Log, Runtime};
pub use include::{INCLUDE_DEPTH_MAX, INCLUDES_MAX};
pub use matchers::{Matcher, RateLimit};
pub use outward::{Download, DownloadFile, ErrorMode, HttpRequest, Outward, Phase, Script};
pub use packet_sets::{Ipset, NftTarget, Nftset};
pub use place::{COMPLAINTS_MAX, Item, Place};
pub use plugins::{PLUGINS_MAX, Plugin, PluginKind};
pub use providers::{DatArgs, Provider, SetArgs};
pub use rules::{Called, Exec, RULES_MAX, Rule, Test};
pub use schedule::{Cron, Job, When};
pub use servers::{Certificate, Entry, Server, ServerKind};
pub use strings::{Operation, StringSource, StringTest};
pub use upstreams::{Forward, Pipelining, UPSTREAMS_MAX, Upstream, Verify};
pub use words::Words;

pub(crate) use place::{Notes, with_remedy};
pub(crate) use words::split;

use serde_json::Value;
use vocab::Complaint;

/// A reference to an executor that runs without a question.
pub(crate) enum Alone {
    /// The plugin with this tag.
    Tag(Item),
    /// A quick form.
    Quick(Outward),
    /// One that was refused with a complaint.
    Refused,
}

/// What `item` refers to: `$tag`, `tag`, or a quick form (`reload`, `download URL FOLDER`).
pub(crate) fn alone(item: &Item, notes: &Notes) -> Alone {
    if let Some((words::Head::Type(name), words)) = words::head(&item.text, notes.dialect)
        && matches!(name, "reload" | "reload_provider" | "download")
    {
        let quick = outward::quick(name, words, &item.place, notes);
        return quick.map_or(Alone::Refused, Alone::Quick);
    }
    let tag = item.text.trim();
    Alone::Tag(Item::new(tag.strip_prefix('$').unwrap_or(tag).trim(), &item.place))
}

/// What a foreign file draws on besides itself. The environment is part of it: `env KEY VALUE`.
pub trait Files {
    /// The bytes of a file of rules, named as the peers do: from the working directory. An error
    /// says why it cannot be read.
    fn read(&self, path: &str) -> Result<Vec<u8>, String>;

    /// Whether there is no such file, where [`Self::read`] has failed.
    fn is_missing(&self, path: &str) -> bool;

    /// The tree of another configuration file. Of an error, the message and remedy are told.
    fn read_document(&self, path: &str, base: Base) -> Result<Value, Complaint>;

    /// A variable of the environment.
    fn variable(&self, name: &str) -> Option<String>;
}

/// From where a path is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// From the working directory (mosdns).
    WorkingDirectory,
    /// From the folder of the main configuration file (OxiDNS).
    MainFile,
}

/// Whose language a file is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// mosdns v5.
    Mosdns,
    /// OxiDNS 1.x, once called ForgeDNS.
    Oxidns,
}

/// A foreign file, read.
#[derive(Clone, Debug, PartialEq)]
pub struct Foreign {
    /// Whose language it is.
    pub dialect: Dialect,
    /// What made it one of OxiDNS; nothing for mosdns.
    pub because: Option<Evidence>,
    /// What is logged.
    pub log: Log,
    /// Where the peer's own control API listened.
    pub api: Option<Api>,
    /// How the process runs.
    pub runtime: Runtime,
    /// The plugins, included ones first.
    pub plugins: Vec<Plugin>,
    /// What the user should know.
    pub warnings: Vec<Complaint>,
}

/// Whether `document` is a foreign file at all: it has `plugins`, which our own settings have not.
pub fn is_foreign(document: &Value) -> bool {
    let Some(map) = document.as_object() else { return false };
    map.keys().any(|key| key.eq_ignore_ascii_case("plugins"))
        || map.keys().any(|key| key.eq_ignore_ascii_case("include"))
}

/// The foreign file that `document` is, or everything that is wrong with it.
pub fn read(document: &Value, files: &dyn Files) -> Result<Foreign, Vec<Complaint>> {
    let (dialect, because, documents) = dialect(document, files)?;
    let notes = Notes::new(dialect);
    let mut own = frame::Frame::default();
    for document in &documents {
        // Of what is included only the plugins count; its other keys must be right all the same.
        let frame = frame::read(&document.value, &document.place, &notes);
        if document.place.file().is_none() {
            own = frame;
        }
    }
    let plugins = plugins::read(&documents, &notes);
    if plugins.is_empty() && notes.is_content() {
        notes.complain(Complaint::new("plugins", "there are no plugins"));
    }
    let warnings = notes.finish()?;
    let frame::Frame { log, api, runtime } = own;
    Ok(Foreign { dialect, because, log, api, runtime, plugins, warnings })
}

type Told<'v> = (Dialect, Option<Evidence>, Vec<include::Document<'v>>);

/// The dialect, what told it, and all files. Where included files are looked for depends on the
/// dialect, and they may be what tells it.
fn dialect<'v>(document: &'v Value, files: &dyn Files) -> Result<Told<'v>, Vec<Complaint>> {
    let own = detect::evidence(document, &Place::default());
    if own.is_none() {
        let documents = include::gather(document, Dialect::Mosdns, files);
        let found = documents
            .as_ref()
            .ok()
            .and_then(|all| all.iter().find_map(|it| detect::evidence(&it.value, &it.place)));
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
                let place = Place::default().below("include");
                return Ok((Dialect::Oxidns, Some(Evidence { place, what }), documents));
            }
        }
    }
    let documents = include::gather(document, Dialect::Oxidns, files)?;
    Ok((Dialect::Oxidns, own, documents))
}
