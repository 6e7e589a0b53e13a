//! Pi-hole: `/etc/pihole` or a teleporter archive, of versions 5 and 6.
//!
//! Archives and `gravity.db` are handed in as folders: of a database each table is a file of JSON.

mod gravity;
mod old_settings;
mod settings;
mod toml_lines;

use crate::dnsmasq::DnsmasqReader;
use crate::draft::ImportDraft;
use crate::hosts;
use import_report::{ImportFault, ImportSurroundings, ImportedConfig, NotePlace};
use std::path::{Path, PathBuf};

/// Pi-hole's configuration, as one of ours: its folder, its archive, or its files one by one.
///
/// # Errors
/// Files that cannot be read, and folders without any of Pi-hole's.
pub fn from_pihole(
    paths: &[PathBuf],
    around: &dyn ImportSurroundings,
) -> Result<ImportedConfig, Vec<ImportFault>> {
    let mut draft = ImportDraft::new(around);
    let mut reader = PiholeReader::default();
    for path in paths {
        let before = draft.sources.len();
        if around.list(path).is_ok() {
            reader.folder(path, &mut draft);
        } else {
            reader.file(path, &mut draft);
        }
        if draft.sources.len() == before && draft.faults.is_empty() {
            let place = NotePlace::new(&path.to_string_lossy().into(), 0);
            let why = "it is no folder, file or archive of Pi-hole's";
            draft.faults.push(
                ImportFault::new(&place, why).remedy("name /etc/pihole or a teleporter archive"),
            );
        }
    }
    reader.finish(&mut draft);
    draft.finish("Pi-hole")
}

/// Settings so far.
#[derive(Default)]
struct PiholeReader {
    /// Settings of version 6 outrank those of 5, which it leaves lying about.
    is_new: bool,
    domain: Option<String>,
    port: Option<u64>,
    blocks_nothing: Option<NotePlace>,
    gravity: gravity::GravityTables,
    dnsmasq: DnsmasqReader,
}

impl PiholeReader {
    /// A folder, and the places in an archive where the same files are.
    fn folder(&mut self, folder: &Path, draft: &mut ImportDraft<'_>) {
        let places = [folder.to_owned(), folder.join("etc/pihole"), folder.join("etc")];
        for place in &places {
            self.try_file(&place.join("pihole.toml"), draft);
        }
        for place in &places {
            if !self.is_new {
                self.try_file(&place.join("setupVars.conf"), draft);
                self.try_file(&place.join("pihole-FTL.conf"), draft);
            }
            self.gravity.folder(place, draft);
            self.gravity.folder(&place.join("gravity.db"), draft);
            if !self.is_new {
                self.try_file(&place.join("custom.list"), draft);
                self.try_file(&place.join("local.list"), draft);
            }
        }
        let cnames =
            ["dnsmasq.d/05-pihole-custom-cname.conf", "../dnsmasq.d/05-pihole-custom-cname.conf"];
        if !self.is_new {
            cnames.iter().for_each(|name| self.try_file(&folder.join(name), draft));
        }
    }

    /// A file that may not be there.
    fn try_file(&mut self, path: &Path, draft: &mut ImportDraft<'_>) {
        if draft.around.read(path).is_ok() {
            self.file(path, draft);
        }
    }

    fn file(&mut self, path: &Path, draft: &mut ImportDraft<'_>) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some((file, text)) = draft.open(path) else { return };
        match name.as_str() {
            "pihole.toml" => self.settings(&file, &text, draft),
            "setupVars.conf" => self.setup_vars(&file, &text, draft),
            "pihole-FTL.conf" => self.ftl_conf(&file, &text, draft),
            "custom.list" | "local.list" | "hosts" => hosts::read(&file, &text, None, draft),
            name if name.ends_with(".json") => self.gravity.table(&file, name, &text, draft),
            name if name.ends_with(".toml") => self.settings(&file, &text, draft),
            _ => self.dnsmasq.text(&file, &text, 0, draft),
        }
    }

    fn finish(&mut self, draft: &mut ImportDraft<'_>) {
        let gravity = std::mem::take(&mut self.gravity);
        gravity.finish(draft);
        if let Some(place) = &self.blocks_nothing {
            let why = "blocking was off, so no list holds: take policy.default.lists out";
            draft.report.changed(place, "blocking is off", "policy.default.lists", why);
            draft.default_lists = Some(Vec::new());
        }
        let port = self.port.unwrap_or(53);
        for ip in ["0.0.0.0", "::"] {
            draft.listen_plain(ip.parse().expect("it is an address"), port);
        }
        if !draft.sources.is_empty() {
            draft.ask_somebody("of nobody by its address");
        }
    }
}

#[cfg(test)]
mod tests;
