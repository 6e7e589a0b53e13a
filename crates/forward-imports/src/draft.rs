//! A configuration of ours in the making, as every reader here fills it.

use crate::lists::{DraftLists, RuleOrigin};
use crate::upstreams::{self, UpstreamTable};
use import_report::{
    EmittedSections, ImportFault, ImportReport, ImportSurroundings, ImportedConfig, NotePlace,
};
use policy::ListKind;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use vocab::NEAR_NETWORKS;

/// Records of this door, at most; those beyond are told of.
const LOCAL_MAX: usize = 50_000;

/// Includes within includes, at most.
const INCLUDES_DEEP_MAX: usize = 8;

/// Name of the list that holds rules of the configuration itself.
pub(crate) const OWN_RULES: &str = "own rules";

/// A configuration in the making.
pub(crate) struct ImportDraft<'a> {
    pub(crate) around: &'a dyn ImportSurroundings,
    pub(crate) sections: EmittedSections,
    pub(crate) report: ImportReport,
    pub(crate) faults: Vec<ImportFault>,
    pub(crate) sources: Vec<String>,
    pub(crate) upstreams: UpstreamTable,
    pub(crate) lists: DraftLists,
    /// Names of the lists that hold for everybody; none for all.
    pub(crate) default_lists: Option<Vec<String>>,
    pub(crate) clients: Vec<Value>,
    local: BTreeSet<String>,
}

/// Files of a configuration that were opened so far.
#[derive(Debug, Default)]
pub(crate) struct OpenedFiles {
    opened: usize,
}

/// A file of a configuration.
pub(crate) struct ConfigPart<'p> {
    pub(crate) path: &'p Path,
    /// The line that names it; none where the command does.
    pub(crate) named: Option<(&'p NotePlace, &'p str)>,
    /// Files that lead to it.
    pub(crate) depth: usize,
    /// Files that a configuration of this program may have.
    pub(crate) files_max: usize,
}

impl<'a> ImportDraft<'a> {
    pub(crate) fn new(around: &'a dyn ImportSurroundings) -> Self {
        Self {
            around,
            sections: EmittedSections::default(),
            report: ImportReport::default(),
            faults: Vec::new(),
            sources: Vec::new(),
            upstreams: UpstreamTable::default(),
            lists: DraftLists::default(),
            default_lists: None,
            clients: Vec::new(),
            local: BTreeSet::new(),
        }
    }

    /// Reads a file that is a part of the configuration; a fault where it cannot be read.
    pub(crate) fn open(&mut self, path: &Path) -> Option<(Arc<str>, String)> {
        let file: Arc<str> = path.to_string_lossy().into();
        match self.around.read(path) {
            Ok(text) => {
                self.sources.push(file.to_string());
                Some((file, text))
            }
            Err(why) => {
                let fault = ImportFault::new(&NotePlace::new(&file, 0), why.to_string());
                self.faults.push(fault);
                None
            }
        }
    }

    /// Reads a file that the configuration names; a note where it cannot be read.
    pub(crate) fn open_named(
        &mut self,
        path: &Path,
        place: &NotePlace,
        said: &str,
    ) -> Option<(Arc<str>, String)> {
        match self.around.read(path) {
            Ok(text) => {
                let file: Arc<str> = path.to_string_lossy().into();
                self.sources.push(file.to_string());
                Some((file, text))
            }
            Err(why) => {
                self.report.left_out(place, said, &format!("{}: {why}", path.display()));
                None
            }
        }
    }

    /// Opens a file that may be included by others: a fault where the command names it and it
    /// cannot be read, else a note.
    pub(crate) fn open_part(
        &mut self,
        files: &mut OpenedFiles,
        part: &ConfigPart<'_>,
    ) -> Option<(Arc<str>, String)> {
        files.opened += 1;
        if files.opened > part.files_max || part.depth > INCLUDES_DEEP_MAX {
            let place = NotePlace::new(&part.path.to_string_lossy().into(), 0);
            self.report.left_out(&place, "", "too many files are included");
            return None;
        }
        match part.named {
            Some((place, said)) => self.open_named(part.path, place, said),
            None => self.open(part.path),
        }
    }

    /// A record that is answered from here.
    pub(crate) fn local(&mut self, record: String, place: &NotePlace, said: &str) {
        self.local_with(record, place, said, None);
    }

    /// The same, with a difference.
    #[allow(clippy::needless_pass_by_value, reason = "records are made for it")]
    pub(crate) fn local_with(
        &mut self,
        record: String,
        place: &NotePlace,
        said: &str,
        difference: Option<&str>,
    ) {
        if self.local.len() >= LOCAL_MAX {
            self.report.left_out(place, said, "there are too many records");
            return;
        }
        if self.local.insert(record.clone()) {
            self.sections.push("dns", "local", json!(record));
        }
        match difference {
            Some(why) => self.report.changed(place, said, "dns.local", why),
            None => self.report.carried(place, said, "dns.local"),
        }
    }

    /// A listener of the DNS door over UDP and TCP.
    pub(crate) fn listen_plain(&mut self, ip: IpAddr, port: u64) {
        let at = socket(ip, port);
        for scheme in ["udp", "tcp"] {
            self.listen(format!("{scheme}://{at}"));
        }
    }

    /// A listener of the DNS door, once.
    pub(crate) fn listen(&mut self, listener: String) {
        let known = self.sections.get("dns", "listen").and_then(Value::as_array);
        if known.is_none_or(|known| !known.contains(&json!(listener))) {
            self.sections.push("dns", "listen", listener);
        }
    }

    /// Lets private networks ask, and nobody else: for those that listened at some interfaces.
    pub(crate) fn only_private(&mut self) {
        self.sections.set_below("dns", "access", "allow", json!(NEAR_NETWORKS));
    }

    /// Adds our default upstreams where there are some for names and none for the rest.
    pub(crate) fn ask_somebody(&mut self, before: &str) {
        if self.upstreams.has_general() {
            return;
        }
        let place = NotePlace::new(&self.first_source(), 0);
        let why = format!("it was asked {before}: now our default upstreams are");
        self.report.changed(&place, "no server for all names", "dns.upstreams", &why);
        for address in ["https://dns.quad9.net/dns-query", "tls://1.1.1.1"] {
            self.upstreams.add(&upstreams::read(address).expect("it is one of ours"));
        }
    }

    /// The file that was read first.
    pub(crate) fn first_source(&self) -> Arc<str> {
        self.sources.first().map_or("", String::as_str).into()
    }

    /// A whole configuration; faults where there are any.
    pub(crate) fn finish(mut self, program: &str) -> Result<ImportedConfig, Vec<ImportFault>> {
        if !self.faults.is_empty() {
            return Err(self.faults);
        }
        let has_dns = self.sections.has("dns") || !self.upstreams.is_empty();
        if has_dns && self.sections.get("dns", "listen").is_none() {
            self.listen("udp://0.0.0.0:53".into());
            self.listen("tcp://0.0.0.0:53".into());
        }
        if !self.upstreams.is_empty() {
            self.sections.set("dns", "upstreams", self.upstreams.value());
        }
        if let Some(names) = &mut self.default_lists {
            // Rules for which no list of their own had room.
            let known = self.lists.names();
            names.extend(known.into_iter().filter(|it| it.ends_with("(no room)")));
            names.dedup();
        }
        let (lists, gone) = self.lists.finish(&mut self.report);
        let mut sections = self.sections;
        if !lists.is_empty() {
            sections.set("policy", "lists", lists);
        }
        let kept = |names: &mut Vec<Value>| {
            names.retain(|name| name.as_str().is_none_or(|name| !gone.contains(name)));
        };
        for client in &mut self.clients {
            if let Some(names) = client.get_mut("lists").and_then(Value::as_array_mut) {
                kept(names);
            }
        }
        if !self.clients.is_empty() {
            sections.set("policy", "clients", self.clients);
        }
        if let Some(names) = self.default_lists {
            let mut names: Vec<Value> = names.into_iter().map(Value::from).collect();
            kept(&mut names);
            sections.set_below("policy", "default", "lists", names);
        }
        Ok(ImportedConfig::new(program, self.sources, &sections, self.report))
    }

    /// A rule of the configuration itself.
    pub(crate) fn own_rule(&mut self, rule: impl Into<String>, place: &NotePlace, said: &str) {
        self.lists.rule(OWN_RULES, ListKind::Block, rule, RuleOrigin::new(place, said));
    }
}

/// An address with a port, as listeners have it.
pub(crate) fn socket(ip: IpAddr, port: u64) -> String {
    match ip {
        IpAddr::V4(ip) => format!("{ip}:{port}"),
        IpAddr::V6(ip) => format!("[{ip}]:{port}"),
    }
}
