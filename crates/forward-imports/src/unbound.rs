//! Unbound: what it forwards, answers itself and lets in, of `unbound.conf` and what it includes.

mod absent;
mod access;
mod options;
mod zones;

use crate::draft::{ConfigPart, ImportDraft, OpenedFiles};
use crate::hosts;
use import_report::{ImportFault, ImportSurroundings, ImportedConfig, NotePlace};
use std::path::{Path, PathBuf};

/// Files of a configuration, at most.
const FILES_MAX: usize = 500;

/// Unbound's configuration, as one of ours.
///
/// # Errors
/// Files that cannot be read.
pub fn from_unbound(
    paths: &[PathBuf],
    around: &dyn ImportSurroundings,
) -> Result<ImportedConfig, Vec<ImportFault>> {
    let mut draft = ImportDraft::new(around);
    let mut reader = UnboundReader::default();
    for path in paths {
        let inside = path.join("unbound.conf");
        let path = if around.list(path).is_ok() { &inside } else { path };
        reader.file(path, None, 0, &mut draft);
    }
    reader.finish(&mut draft);
    draft.finish("Unbound")
}

/// One option with its value.
pub(super) struct UnboundOption<'o> {
    pub(super) key: &'o str,
    pub(super) value: &'o str,
    /// The line as it is written.
    pub(super) said: &'o str,
    pub(super) place: NotePlace,
}

/// Options so far.
#[derive(Default)]
pub(super) struct UnboundReader {
    files: OpenedFiles,
    /// The clause that options belong to: `server`, `forward-zone`.
    clause: String,
    zone: zones::ForwardZone,
    local_zones: Vec<zones::LocalZone>,
    local_data: Vec<zones::LocalData>,
    options: options::ServerOptions,
    access: access::AccessRules,
}

impl UnboundReader {
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
        let blocked = text.lines().filter(|line| zones::is_block(line)).count();
        if hosts::is_list(blocked) {
            hosts::subscribe(&file, blocked, draft);
        }
        for (index, line) in text.lines().enumerate() {
            let said = without_remark(line);
            if said.is_empty() || (hosts::is_list(blocked) && zones::is_block(said)) {
                continue;
            }
            let place = NotePlace::new(&file, index + 1);
            let Some((key, value)) = said.split_once(':') else {
                draft.report.left_out(&place, said, "this is no option");
                continue;
            };
            let (key, value) = (key.trim(), unquoted(value.trim()));
            self.option(&UnboundOption { key, value, said, place }, depth, draft);
        }
    }

    fn option(&mut self, option: &UnboundOption<'_>, depth: usize, draft: &mut ImportDraft<'_>) {
        if matches!(option.key, "include" | "include-toplevel") {
            self.include(option, depth, draft);
        } else if option.value.is_empty() {
            self.end_zone(draft);
            option.key.clone_into(&mut self.clause);
            self.zone = zones::ForwardZone::default();
        } else {
            match self.clause.as_str() {
                "server" | "" => self.server_option(option, draft),
                "forward-zone" | "stub-zone" | "rpz" => self.zone.option(option, draft),
                clause => draft.report.left_out(&option.place, option.said, absent::clause(clause)),
            }
        }
    }

    /// Files of a pattern such as `/etc/unbound/unbound.conf.d/*.conf`.
    fn include(&mut self, option: &UnboundOption<'_>, depth: usize, draft: &mut ImportDraft<'_>) {
        let path = Path::new(option.value);
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let named = Some((&option.place, option.said));
        let Some((start, end)) = name.split_once('*') else {
            draft.report.carried(&option.place, option.said, "its lines");
            self.file(path, named, depth + 1, draft);
            return;
        };
        let folder = path.parent().unwrap_or(Path::new(""));
        match draft.around.list(folder) {
            Ok(names) => {
                draft.report.carried(&option.place, option.said, "lines of its files");
                for name in names.iter().filter(|it| it.starts_with(start) && it.ends_with(end)) {
                    self.file(&folder.join(name), named, depth + 1, draft);
                }
            }
            Err(why) => draft.report.left_out(&option.place, option.said, &why.to_string()),
        }
    }

    fn end_zone(&mut self, draft: &mut ImportDraft<'_>) {
        let zone = std::mem::take(&mut self.zone);
        let clause = std::mem::take(&mut self.clause);
        zone.finish(&clause, draft);
    }

    fn finish(&mut self, draft: &mut ImportDraft<'_>) {
        self.end_zone(draft);
        self.finish_local(draft);
        if draft.sources.is_empty() {
            return;
        }
        self.options.finish(draft);
        std::mem::take(&mut self.access).finish(draft);
        draft.ask_somebody("of the name servers of each zone itself, from the root on");
    }
}

/// A line without the remark behind it: a `#` outside quotes.
fn without_remark(line: &str) -> &str {
    let mut is_quoted = false;
    for (at, c) in line.char_indices() {
        match c {
            '"' => is_quoted = !is_quoted,
            // A name of TLS stands behind one without a blank: `1.1.1.1@853#one.one`.
            '#' if !is_quoted && (at == 0 || line[..at].ends_with([' ', '\t'])) => {
                return line[..at].trim();
            }
            _ => {}
        }
    }
    line.trim()
}

fn unquoted(value: &str) -> &str {
    let inside = |quote: char| value.strip_prefix(quote).and_then(|it| it.strip_suffix(quote));
    inside('"').or_else(|| inside('\'')).unwrap_or(value)
}

#[cfg(test)]
mod tests;
