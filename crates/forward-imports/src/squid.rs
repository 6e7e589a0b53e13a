//! Squid: `squid.conf` with what it includes, and the files that its ACLs name.

mod absent;
mod access;
mod acls;
mod bandwidth;
mod caching;
mod listeners;
mod parents;
mod rules;
mod sources;

use self::access::AccessLine;
use self::acls::AclTable;
use crate::draft::{ConfigPart, ImportDraft, OpenedFiles};
use import_report::{ImportFault, ImportSurroundings, ImportedConfig, NotePlace};
use std::path::{Path, PathBuf};

/// Files of a configuration, at most.
const FILES_MAX: usize = 200;

/// Squid's configuration, as one of ours.
///
/// # Errors
/// Files that cannot be read.
pub fn from_squid(
    paths: &[PathBuf],
    around: &dyn ImportSurroundings,
) -> Result<ImportedConfig, Vec<ImportFault>> {
    let mut draft = ImportDraft::new(around);
    let mut reader = SquidReader::default();
    for path in paths {
        let inside = path.join("squid.conf");
        let path = if around.list(path).is_ok() { &inside } else { path };
        reader.file(path, None, 0, &mut draft);
    }
    if !draft.sources.is_empty() {
        reader.finish(&mut draft);
    }
    draft.finish("Squid")
}

/// One directive.
pub(super) struct SquidLine<'l> {
    pub(super) key: &'l str,
    /// Words behind it; those in quotes are one.
    pub(super) words: Vec<String>,
    /// The line as it is written.
    pub(super) said: &'l str,
    pub(super) place: NotePlace,
}

impl SquidLine<'_> {
    pub(super) fn word(&self, at: usize) -> &str {
        self.words.get(at).map_or("", String::as_str)
    }

    /// A number.
    pub(super) fn number(&self, at: usize) -> Option<u64> {
        self.word(at).parse().ok()
    }
}

/// Directives so far.
#[derive(Default)]
pub(super) struct SquidReader {
    files: OpenedFiles,
    acls: AclTable,
    access: Vec<AccessLine>,
    /// Lines that go by ACLs and are looked at when all are known.
    later: Vec<LaterLine>,
    listeners: listeners::SquidListeners,
    parents: parents::SquidParents,
    bandwidth: bandwidth::DelayPools,
    caching: caching::SquidCaching,
    password_file: Option<(String, NotePlace)>,
    realm: Option<String>,
}

/// A line that goes by ACLs.
pub(super) struct LaterLine {
    pub(super) key: String,
    pub(super) words: Vec<String>,
    pub(super) said: String,
    pub(super) place: NotePlace,
}

impl SquidReader {
    fn file(
        &mut self,
        path: &Path,
        named: Option<(&NotePlace, &str)>,
        depth: usize,
        draft: &mut ImportDraft<'_>,
    ) {
        let part = ConfigPart { path, named, depth, files_max: FILES_MAX };
        let opened = draft.open_part(&mut self.files, &part);
        let Some((file, text)) = opened else { return };
        let mut lines = text.lines().enumerate();
        while let Some((index, line)) = lines.next() {
            let mut whole = line.trim_end().to_owned();
            // A line that ends in a backslash goes on in the next one.
            while whole.ends_with('\\') && !whole.trim_start().starts_with('#') {
                whole.pop();
                let Some((_, more)) = lines.next() else { break };
                whole.push_str(more.trim_end());
            }
            let place = NotePlace::new(&file, index + 1);
            let mut words = words_of(&whole);
            if words.is_empty() {
                continue;
            }
            let key = words.remove(0);
            let said = whole.trim();
            self.directive(&SquidLine { key: &key, words, said, place }, depth, draft);
        }
    }

    fn directive(&mut self, line: &SquidLine<'_>, depth: usize, draft: &mut ImportDraft<'_>) {
        match line.key {
            "include" => self.include(line, depth, draft),
            "acl" => self.acls.add(line, draft),
            "http_access" => self.access.push(AccessLine::of(line)),
            "http_port" | "https_port" => self.listeners.add(line, draft),
            "cache_peer" => self.parents.add(line, draft),
            "cache_peer_access"
            | "cache_peer_domain"
            | "always_direct"
            | "never_direct"
            | "delay_access"
            | "cache"
            | "no_cache"
            | "request_header_access"
            | "reply_header_access"
            | "header_access"
            | "tcp_outgoing_address" => {
                self.later.push(LaterLine {
                    key: line.key.to_owned(),
                    words: line.words.clone(),
                    said: line.said.to_owned(),
                    place: line.place.clone(),
                });
            }
            "delay_pools" | "delay_class" | "delay_parameters" | "delay_initial_bucket_level" => {
                self.bandwidth.add(line, draft);
            }
            "cache_mem"
            | "cache_dir"
            | "maximum_object_size"
            | "maximum_object_size_in_memory"
            | "minimum_object_size"
            | "refresh_pattern"
            | "offline_mode" => {
                self.caching.add(line, draft);
            }
            "auth_param" => self.auth(line, draft),
            _ => self.simple(line, draft),
        }
    }

    fn include(&mut self, line: &SquidLine<'_>, depth: usize, draft: &mut ImportDraft<'_>) {
        for word in &line.words {
            let path = Path::new(word);
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let named = Some((&line.place, line.said));
            let Some((start, end)) = name.split_once('*') else {
                draft.report.carried(&line.place, line.said, "its lines");
                self.file(path, named, depth + 1, draft);
                continue;
            };
            let folder = path.parent().unwrap_or(Path::new(""));
            match draft.around.list(folder) {
                Ok(names) => {
                    draft.report.carried(&line.place, line.said, "lines of its files");
                    for name in names.iter().filter(|it| it.starts_with(start) && it.ends_with(end))
                    {
                        self.file(&folder.join(name), named, depth + 1, draft);
                    }
                }
                Err(why) => draft.report.left_out(&line.place, line.said, &why.to_string()),
            }
        }
    }

    /// Passwords of a file; other ways to tell users apart are left out.
    fn auth(&mut self, line: &SquidLine<'_>, draft: &mut ImportDraft<'_>) {
        let is_basic = line.word(0) == "basic";
        match (is_basic, line.word(1)) {
            (true, "program") if line.word(2).contains("ncsa_auth") => {
                self.password_file = Some((line.word(3).to_owned(), line.place.clone()));
                let why = "hashes of bcrypt, SHA-crypt and Argon2 count: make others anew";
                draft.report.changed(&line.place, line.said, "proxy.auth.file", why);
            }
            (true, "realm") => {
                self.realm = Some(line.words[2..].join(" "));
                draft.report.carried(&line.place, line.said, "proxy.auth.realm");
            }
            (true, "children" | "credentialsttl" | "casesensitive") => {
                draft.report.carried(&line.place, line.said, "needless: no program is asked");
            }
            _ => {
                let why = "users are told apart by passwords of a file, or by tokens";
                draft.report.left_out(&line.place, line.said, why);
            }
        }
    }

    fn finish(&mut self, draft: &mut ImportDraft<'_>) {
        std::mem::take(&mut self.listeners).finish(draft);
        self.finish_access(draft);
        self.finish_parents(draft);
        self.finish_bandwidth(draft);
        self.finish_caching(draft);
    }
}

/// Words of a line; a `#` at the start of one begins a remark.
fn words_of(line: &str) -> Vec<String> {
    let (mut words, mut word, mut is_quoted, mut is_open) =
        (Vec::new(), String::new(), false, false);
    for c in line.chars() {
        match c {
            '"' => {
                is_quoted = !is_quoted;
                is_open = true;
                word.push(c);
            }
            '#' if !is_quoted && !is_open => break,
            c if c.is_whitespace() && !is_quoted => {
                if is_open {
                    words.push(std::mem::take(&mut word));
                }
                is_open = false;
            }
            c => {
                is_open = true;
                word.push(c);
            }
        }
    }
    if is_open {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests;
