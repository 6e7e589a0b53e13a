//! blocky: `config.yml`, or a folder of such files, of versions before and after 0.24.

mod blocking;
mod resolving;

use crate::draft::ImportDraft;
use crate::placed_yaml::{self, PlacedNode};
use import_report::{ImportFault, ImportSurroundings, ImportedConfig, NotePlace};
use std::path::PathBuf;
use std::sync::Arc;

/// blocky's configuration, as one of ours.
///
/// # Errors
/// Files that cannot be read or are no YAML.
pub fn from_blocky(
    paths: &[PathBuf],
    around: &dyn ImportSurroundings,
) -> Result<ImportedConfig, Vec<ImportFault>> {
    let mut draft = ImportDraft::new(around);
    let mut files = Vec::new();
    for path in paths {
        match around.list(path) {
            Ok(names) => {
                let is_yaml = |name: &&String| name.ends_with(".yml") || name.ends_with(".yaml");
                files.extend(names.iter().filter(is_yaml).map(|name| path.join(name)));
            }
            Err(_) => files.push(path.clone()),
        }
    }
    for path in files {
        let Some((file, text)) = draft.open(&path) else { continue };
        let root = placed_yaml::read(&text, &file)?;
        let known = ["upstreams", "upstream", "blocking", "customDNS", "conditional", "ports"];
        if !known.iter().any(|key| root.get(key).is_some()) {
            let why = "none of blocky's sections is in it";
            draft.faults.push(ImportFault::new(&NotePlace::new(&file, 1), why));
            continue;
        }
        BlockyFile { root: &root, file: &file }.read(&mut draft);
    }
    if !draft.sources.is_empty() {
        draft.ask_somebody("of nobody");
    }
    draft.finish("blocky")
}

/// One file.
pub(super) struct BlockyFile<'f> {
    root: &'f PlacedNode,
    file: &'f Arc<str>,
}

impl<'f> BlockyFile<'f> {
    fn read(&self, draft: &mut ImportDraft<'_>) {
        self.ports(draft);
        self.upstreams(draft);
        self.custom(draft);
        self.conditional(draft);
        self.blocking(draft);
        self.cache(draft);
        self.log(draft);
        self.root.note_unseen("", self.file, &mut draft.report, &absent);
    }

    /// The value at one of some dotted paths: names changed between versions.
    fn any(&self, paths: &[&str]) -> Option<&'f PlacedNode> {
        paths.iter().find_map(|path| path.split('.').try_fold(self.root, |node, key| node.get(key)))
    }

    fn place(&self, node: &PlacedNode) -> NotePlace {
        NotePlace::new(self.file, node.line)
    }
}

/// The reason for which a setting is left out.
fn absent(path: &str) -> Option<&'static str> {
    const REASONS: [(&str, &str); 16] = [
        ("prometheus", "metrics are at /metrics of the admin listener"),
        ("redis", "the cache is not shared between machines"),
        ("log", "the log goes to standard error, and to the journal"),
        ("logLevel", "the log goes to standard error, and to the journal"),
        ("clientLookup", "names of clients are not looked up: clients are known by addresses"),
        ("ede", "the extended error is always sent"),
        ("fqdnOnly", "names without a dot are not asked of upstreams"),
        ("specialUseDomains", "names of RFC 6761 and RFC 6303 are always answered here"),
        ("connectIPVersion", "write family at an upstream"),
        ("minTlsServeVersion", "TLS 1.2 and 1.3 are spoken"),
        ("minTlsVersion", "TLS 1.2 and 1.3 are spoken"),
        ("dohUserAgent", "upstreams are told no program's name"),
        ("startVerifyUpstream", "Tidegate starts whether upstreams answer or not"),
        ("dnssec", "signatures are not checked here: the AD flag is passed on as trust_ad says"),
        ("rateLimit", "write dns.rate_limit"),
        ("queryLog", "the request log is the ledger"),
    ];
    let is_below = |prefix: &str| {
        path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    REASONS.iter().find(|(prefix, _)| is_below(prefix)).map(|(_, why)| *why)
}

#[cfg(test)]
mod tests;
