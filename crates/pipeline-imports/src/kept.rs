//! A pipeline that stays one: its plugins under `dns.pipeline`, which begins at `main`.

use crate::PipelineDraft;
use crate::book::PluginBook;
use crate::kept_reason::PlacedReason;
use import_report::{ImportFault, NotePlace};
use mosdns_compat::language::{
    self, Dialect, ForeignFiles, PathBase, SourcePosition, WrittenPlugin,
};
use serde_json::{Value, json};
use std::io;
use vocab::Complaint;

/// The tag at which questions enter a pipeline of ours.
const MAIN: &str = "main";

/// Writes the plugins of `book` as they are, with the reasons why no settings stand there.
pub(crate) fn pipeline(
    reasons: &[PlacedReason],
    book: &PluginBook<'_>,
    draft: &mut PipelineDraft,
) -> Result<(), Vec<ImportFault>> {
    refuse_profiles(book)?;
    let files = book.files;
    let mut plugins = Vec::new();
    for written in book.written {
        if is_server(book, &written.position) {
            continue;
        }
        let (place, said) = (files.place(&written.position), files.said(&written.position));
        draft.report.carried(&place, &said, "dns.pipeline");
        plugins.push(written.value.clone());
    }
    let entry = book.entry().unwrap_or_default();
    begin_at_main(entry, book, &mut plugins)?;
    if let Some(word) = language_word(&plugins, book.foreign.dialect) {
        draft.sections.set("dns", "pipeline_language", word);
    }
    draft.sections.set("dns", "pipeline", plugins);
    for PlacedReason { position, reason } in reasons {
        let place = files.place(position);
        let said = files.said(position);
        let why = format!("the plugins stay a pipeline, because {reason}");
        draft.report.changed(&place, &said, "dns.pipeline", &why);
    }
    if has_relative_path(book) {
        let why = "relative paths start in the working directory, or else where this file stands: \
                   keep it beside them";
        draft.report.changed(&files.whole(), "files", "dns.pipeline", why);
    }
    Ok(())
}

fn is_server(book: &PluginBook<'_>, position: &SourcePosition) -> bool {
    book.servers().any(|(plugin, _)| plugin.position == *position)
}

/// Profiles stand beside the plugins, where ours have no place for them. Without its proxy an
/// upstream would be asked in the open.
fn refuse_profiles(book: &PluginBook<'_>) -> Result<(), Vec<ImportFault>> {
    if book.files.said_at_top(&["network", "outbound"]).is_none_or(Value::is_null) {
        return Ok(());
    }
    let place = book.files.at("network.outbound");
    let fault = ImportFault::new(&place, "a pipeline of ours has no outbound profiles");
    let remedy = "write socks5 and bootstrap at each upstream, or run the file as it is";
    Err(vec![fault.remedy(remedy)])
}

/// Has questions enter at `main`: the entry takes that tag where nothing else names it, else a
/// sequence leads to it.
fn begin_at_main(
    entry: &str,
    book: &PluginBook<'_>,
    plugins: &mut Vec<Value>,
) -> Result<(), Vec<ImportFault>> {
    let tag_of = |plugin: &Value| plugin.get("tag").and_then(Value::as_str).map(str::to_owned);
    let is_sequence = book.sequence(entry).is_some();
    if entry == MAIN && is_sequence {
        return Ok(());
    }
    let is_taken = |plugin: &WrittenPlugin| tag_of(&plugin.value).as_deref() == Some(MAIN);
    if let Some(other) = book.written.iter().find(|it| is_taken(it)) {
        let place: NotePlace = book.files.place(&other.position);
        let message = "questions of a pipeline of ours enter at \"main\", and this is another one";
        return Err(vec![ImportFault::new(&place, message).remedy("give it another tag")]);
    }
    let own = plugins.iter().position(|plugin| tag_of(plugin).as_deref() == Some(entry));
    let names_it =
        |plugin: &Value| tag_of(plugin).as_deref() != Some(entry) && mentions(plugin, entry);
    match own {
        Some(at) if is_sequence && !plugins.iter().any(names_it) => {
            plugins[at]["tag"] = MAIN.into();
        }
        _ if is_sequence => plugins.push(json!({
            "tag": MAIN, "type": "sequence", "args": [{ "exec": format!("goto {entry}") }],
        })),
        _ => plugins.push(json!({
            "tag": MAIN, "type": "sequence", "args": [{ "exec": format!("${entry}") }],
        })),
    }
    Ok(())
}

/// True if a text of `value` has `tag` as one of its words.
fn mentions(value: &Value, tag: &str) -> bool {
    match value {
        Value::String(text) => {
            let is_word = |word: &str| word.trim_start_matches(['!', '$']) == tag;
            text.trim() == tag || text.split([' ', '\t', ',', '\n']).any(is_word)
        }
        Value::Array(items) => items.iter().any(|it| mentions(it, tag)),
        Value::Object(map) => map.values().any(|it| mentions(it, tag)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The word for the language, where the plugins alone do not tell it.
fn language_word(plugins: &[Value], dialect: Dialect) -> Option<&'static str> {
    let mut all = plugins.to_vec();
    let args = json!({ "entry": MAIN, "listen": "127.0.0.1:53" });
    all.push(json!({ "tag": "dns.listen", "type": "udp_server", "args": args }));
    let told = language::read(&json!({ "plugins": all }), &NoFiles);
    if told.is_ok_and(|told| told.dialect == dialect) {
        return None;
    }
    Some(match dialect {
        Dialect::Mosdns => "mosdns",
        Dialect::Oxidns => "oxidns",
    })
}

/// True if a plugin names a file by a relative path.
fn has_relative_path(book: &PluginBook<'_>) -> bool {
    book.written.iter().any(|plugin| has_relative_text(&plugin.value, TextUse::Any))
}

/// Use of a text in a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TextUse {
    /// A path.
    Path,
    /// Anything: a path shows by its first letters.
    Any,
}

fn has_relative_text(value: &Value, of: TextUse) -> bool {
    match (value, of) {
        (Value::String(text), TextUse::Path) => !text.starts_with('/'),
        (Value::String(text), TextUse::Any) => text.split_whitespace().any(|word| {
            let path = word.trim_start_matches('&');
            path.starts_with("./") || path.starts_with("../")
        }),
        (Value::Array(items), _) => items.iter().any(|it| has_relative_text(it, of)),
        (Value::Object(map), _) => map.iter().any(|(key, value)| {
            let of = match key.as_str() {
                "files" | "file" | "dump_file" | "cert" | "key" => TextUse::Path,
                _ => TextUse::Any,
            };
            has_relative_text(value, of)
        }),
        (Value::Null | Value::Bool(_) | Value::Number(_), _) => false,
    }
}

/// No files: the language of plugins shows in themselves.
struct NoFiles;

impl ForeignFiles for NoFiles {
    fn read(&self, _: &str) -> io::Result<Vec<u8>> {
        Ok(Vec::new())
    }

    fn is_missing(&self, _: &str) -> bool {
        false
    }

    fn read_document(&self, _: &str, _: PathBase) -> Result<Value, Complaint> {
        Ok(Value::Null)
    }

    fn variable(&self, name: &str) -> Option<String> {
        Some(name.to_owned())
    }
}
