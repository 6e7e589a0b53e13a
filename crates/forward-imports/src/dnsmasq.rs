//! dnsmasq: `dnsmasq.conf`, the files and folders that it names, and lines of it elsewhere.

mod absent;
mod directives;
mod names;
mod servers;

pub(crate) use self::servers::{reverse_zones, server};
use crate::draft::{ConfigPart, ImportDraft, OpenedFiles};
use crate::hosts::{self, ShortNames};
use import_report::{ImportFault, ImportSurroundings, ImportedConfig, NotePlace};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files of a configuration, at most.
const FILES_MAX: usize = 500;

/// dnsmasq's configuration, as one of ours. Of several paths each is a configuration, a folder of
/// them, or a hosts file.
///
/// # Errors
/// Files that cannot be read.
pub fn from_dnsmasq(
    paths: &[PathBuf],
    around: &dyn ImportSurroundings,
) -> Result<ImportedConfig, Vec<ImportFault>> {
    let mut draft = ImportDraft::new(around);
    let mut reader = DnsmasqReader::default();
    for path in paths {
        let is_hosts = path.file_name().is_some_and(|it| it.to_string_lossy().contains("hosts"));
        match around.list(path) {
            Ok(names) => {
                for name in names.iter().filter(|name| is_taken(name, &[])) {
                    reader.config_file(&path.join(name), None, 0, &mut draft);
                }
            }
            Err(_) if is_hosts => reader.hosts_files.push((path.clone(), None)),
            Err(_) => reader.config_file(path, None, 0, &mut draft),
        }
    }
    reader.finish(&mut draft);
    draft.finish("dnsmasq")
}

/// True if a file of a folder is read: no hidden files, copies of editors, and of patterns one.
fn is_taken(name: &str, patterns: &[&str]) -> bool {
    let is_copy = name.ends_with('~') || name.starts_with('.') || name.starts_with('#');
    let fits = |pattern: &&str| match pattern.strip_prefix('*') {
        Some(end) => name.ends_with(end),
        None => !name.ends_with(*pattern),
    };
    let (takes, leaves): (Vec<&str>, Vec<&str>) =
        patterns.iter().partition(|pattern| pattern.starts_with('*'));
    !is_copy && (takes.is_empty() || takes.iter().any(fits)) && leaves.iter().all(fits)
}

/// Directives so far that belong together.
#[derive(Default)]
pub(crate) struct DnsmasqReader {
    files: OpenedFiles,
    listen: Vec<IpAddr>,
    port: Option<u64>,
    /// Where it listens is said by interfaces, whose addresses are not known here.
    has_interfaces: bool,
    no_resolv: bool,
    resolv_files: Vec<(PathBuf, NotePlace)>,
    hosts_files: Vec<(PathBuf, Option<(NotePlace, String)>)>,
    domain: Option<String>,
    short_names: ShortNames,
    /// Rebinding as it was: no protection unless it was asked for.
    stops_rebinding: bool,
    rebind_allowed: Vec<String>,
}

/// One directive.
pub(crate) struct DnsmasqLine<'l> {
    pub(crate) key: &'l str,
    pub(crate) value: &'l str,
    /// The line as it is written.
    pub(crate) said: &'l str,
    pub(crate) place: NotePlace,
}

impl DnsmasqReader {
    fn config_file(
        &mut self,
        path: &Path,
        named: Option<(&NotePlace, &str)>,
        depth: usize,
        draft: &mut ImportDraft<'_>,
    ) {
        let part = ConfigPart { path, named, depth, files_max: FILES_MAX };
        let opened = draft.open_part(&mut self.files, &part);
        if let Some((file, text)) = opened {
            self.text(&file, &text, depth, draft);
        }
    }

    /// Lines of a file, or of another configuration that holds some.
    pub(crate) fn text(
        &mut self,
        file: &Arc<str>,
        text: &str,
        depth: usize,
        draft: &mut ImportDraft<'_>,
    ) {
        let blocked = text.lines().filter(|line| names::is_block(line)).count();
        if hosts::is_list(blocked) {
            hosts::subscribe(file, blocked, draft);
        }
        for (index, line) in text.lines().enumerate() {
            let said = without_remark(line);
            if said.is_empty() || (hosts::is_list(blocked) && names::is_block(said)) {
                continue;
            }
            let place = NotePlace::new(file, index + 1);
            let (key, value) = said.split_once('=').unwrap_or((said, ""));
            let (key, value) = (key.trim(), unquoted(value.trim()));
            let line = DnsmasqLine { key, value, said, place };
            self.directive(&line, depth, draft);
        }
    }

    /// Files that `conf-file` and `conf-dir` name.
    fn include(&mut self, line: &DnsmasqLine<'_>, depth: usize, draft: &mut ImportDraft<'_>) {
        let mut parts = line.value.split(',').map(str::trim);
        let path = PathBuf::from(parts.next().unwrap_or_default());
        if line.key != "conf-dir" {
            draft.report.carried(&line.place, line.said, "its lines");
            self.config_file(&path, Some((&line.place, line.said)), depth + 1, draft);
            return;
        }
        let patterns: Vec<&str> = parts.filter(|it| !it.is_empty()).collect();
        match draft.around.list(&path) {
            Ok(names) => {
                draft.report.carried(&line.place, line.said, "lines of its files");
                for name in names.iter().filter(|name| is_taken(name, &patterns)) {
                    let file = path.join(name);
                    self.config_file(&file, Some((&line.place, line.said)), depth + 1, draft);
                }
            }
            Err(why) => draft.report.left_out(&line.place, line.said, &why.to_string()),
        }
    }

    /// Writes what the directives together come to.
    pub(crate) fn finish(&mut self, draft: &mut ImportDraft<'_>) {
        let port = self.port.unwrap_or(53);
        let everywhere = [IpAddr::from([0_u8; 4]), IpAddr::from([0_u16; 8])];
        let ips = if self.listen.is_empty() { everywhere.to_vec() } else { self.listen.clone() };
        ips.iter().for_each(|ip| draft.listen_plain(*ip, port));
        if self.has_interfaces && self.listen.is_empty() {
            draft.only_private();
        }
        self.resolv(draft);
        for (path, named) in std::mem::take(&mut self.hosts_files) {
            self.hosts_path(&path, named.as_ref(), draft);
        }
        draft.ask_somebody("of servers that DHCP or /etc/resolv.conf told");
        if !self.stops_rebinding {
            let place = NotePlace::new(&draft.first_source(), 0);
            let why = "names of upstreams that lead inside are not answered unless \
                       dns.rebinding.allow has them: it was not asked for, and is the default";
            draft.report.changed(&place, "no stop-dns-rebind", "dns.rebinding", why);
        }
        if !self.rebind_allowed.is_empty() {
            draft.sections.set_below("dns", "rebinding", "allow", self.rebind_allowed.clone());
        }
    }

    /// A hosts file, or a folder of them.
    fn hosts_path(
        &self,
        path: &Path,
        named: Option<&(NotePlace, String)>,
        draft: &mut ImportDraft<'_>,
    ) {
        let names = draft.around.list(path);
        let files: Vec<PathBuf> = match names {
            Ok(names) => {
                names.iter().filter(|name| is_taken(name, &[])).map(|it| path.join(it)).collect()
            }
            Err(_) => vec![path.to_owned()],
        };
        for path in files.into_iter().take(FILES_MAX) {
            let opened = match named {
                Some((place, said)) => draft.open_named(&path, place, said),
                None => draft.open(&path),
            };
            if let Some((file, text)) = opened {
                let domain = self.domain.clone();
                let domain = domain.as_deref().map(|it| (it, self.short_names));
                hosts::read(&file, &text, domain, draft);
            }
        }
    }
}

/// A line without the remark behind it: a `#` at its start or behind a blank, outside quotes.
fn without_remark(line: &str) -> &str {
    let mut is_quoted = false;
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        match c {
            '"' => is_quoted = !is_quoted,
            '#' if !is_quoted && before.is_whitespace() => return line[..at].trim(),
            _ => {}
        }
        before = c;
    }
    line.trim()
}

fn unquoted(value: &str) -> &str {
    value.strip_prefix('"').and_then(|it| it.strip_suffix('"')).unwrap_or(value)
}

#[cfg(test)]
mod tests;
