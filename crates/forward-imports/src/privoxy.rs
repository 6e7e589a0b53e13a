//! Privoxy: `config`, and the blocks of its action files.

mod actions;
mod patterns;

use crate::draft::{ImportDraft, socket};
use crate::words;
use import_report::{ImportFault, ImportSurroundings, ImportedConfig, NotePlace};
use serde_json::json;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// Privoxy's configuration, as one of ours. Action files may be named, too.
///
/// # Errors
/// Files that cannot be read.
pub fn from_privoxy(
    paths: &[PathBuf],
    around: &dyn ImportSurroundings,
) -> Result<ImportedConfig, Vec<ImportFault>> {
    let mut draft = ImportDraft::new(around);
    let mut reader = PrivoxyReader::default();
    for path in paths {
        let inside = path.join("config");
        let path = if around.list(path).is_ok() { &inside } else { path };
        let Some((file, text)) = draft.open(path) else { continue };
        if path.extension().is_some_and(|it| it == "action") {
            actions::read(&file, &text, &mut draft);
            continue;
        }
        reader.folder = path.parent().map(Path::to_owned).unwrap_or_default();
        for (index, line) in text.lines().enumerate() {
            let said = line.split('#').next().unwrap_or(line).trim();
            if let Some((key, value)) = said.split_once(char::is_whitespace) {
                let place = NotePlace::new(&file, index + 1);
                let line = PrivoxyLine { key, value: value.trim(), said, place };
                reader.directive(&line, &mut draft);
            }
        }
    }
    if !draft.sources.is_empty() {
        reader.finish(&mut draft);
    }
    draft.finish("Privoxy")
}

/// One directive.
struct PrivoxyLine<'l> {
    key: &'l str,
    value: &'l str,
    said: &'l str,
    place: NotePlace,
}

/// Directives so far.
#[derive(Default)]
struct PrivoxyReader {
    folder: PathBuf,
    listen: Vec<String>,
    permit: Vec<String>,
    parent: Option<String>,
    /// Hosts with their way, the last that fits first.
    parents: Vec<(String, String)>,
}

impl PrivoxyReader {
    fn directive(&mut self, line: &PrivoxyLine<'_>, draft: &mut ImportDraft<'_>) {
        match line.key {
            "listen-address" => self.listen(line, draft),
            "permit-access" | "deny-access" => self.access(line, draft),
            "forward" | "forward-socks4" | "forward-socks4a" | "forward-socks5"
            | "forward-socks5t" => self.forward(line, draft),
            "actionsfile" => {
                let name = if line.value.contains('.') {
                    line.value.to_owned()
                } else {
                    format!("{}.action", line.value)
                };
                let path = self.folder.join(name);
                if let Some((file, text)) = draft.open_named(&path, &line.place, line.said) {
                    draft.report.carried(&line.place, line.said, "policy.lists");
                    actions::read(&file, &text, draft);
                }
            }
            "confdir" => {
                self.folder = PathBuf::from(line.value);
                draft.report.carried(&line.place, line.said, "where its files are");
            }
            "accept-intercepted-requests" if line.value == "1" => {
                let why = "listen at redirect:// or tproxy:// too";
                draft.report.left_out(&line.place, line.said, why);
            }
            "max-client-connections" => {
                if let Ok(count) = line.value.parse::<u64>() {
                    draft.sections.set("proxy", "connections", count.clamp(1, 1_000_000));
                    draft.report.carried(&line.place, line.said, "proxy.connections");
                }
            }
            "socket-timeout" => {
                if let Ok(seconds) = line.value.parse::<u64>() {
                    let held = format!("{}s", seconds.clamp(1, 3600));
                    draft.sections.set("proxy", "response_timeout", held);
                    draft.report.carried(&line.place, line.said, "proxy.response_timeout");
                }
            }
            key if IDLE.contains(&key) => {
                draft.report.carried(&line.place, line.said, "always so, or needless");
            }
            key => draft.report.left_out(&line.place, line.said, reason(key)),
        }
    }

    fn listen(&mut self, line: &PrivoxyLine<'_>, draft: &mut ImportDraft<'_>) {
        let (host, port) = line.value.rsplit_once(':').unwrap_or((line.value, "8118"));
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let ip = match host {
            "" => Ok(IpAddr::from([0, 0, 0, 0])),
            "localhost" => Ok(IpAddr::from([127, 0, 0, 1])),
            host => host.parse::<IpAddr>(),
        };
        match (ip, port.parse::<u16>()) {
            (Ok(ip), Ok(port)) => {
                self.listen.push(format!("http://{}", socket(ip, port.into())));
                draft.report.carried(&line.place, line.said, "proxy.listen");
            }
            _ => draft.report.left_out(&line.place, line.said, "this is no address with a port"),
        }
    }

    fn access(&mut self, line: &PrivoxyLine<'_>, draft: &mut ImportDraft<'_>) {
        let mut parts = line.value.split_whitespace();
        let network = parts.next().and_then(words::network);
        let (Some(network), None) = (network, parts.next()) else {
            let why = "clients are networks, and their destinations are rules with $client";
            draft.report.left_out(&line.place, line.said, why);
            return;
        };
        if line.key == "permit-access" {
            self.permit.push(network);
            draft.report.carried(&line.place, line.said, "proxy.clients");
        } else {
            let name = format!("kept out {network}");
            let entry =
                json!({ "name": name, "match": [network], "lists": [], "otherwise": "block" });
            if !draft.clients.iter().any(|it| it["name"] == name) {
                draft.clients.push(entry);
            }
            draft.report.carried(&line.place, line.said, "policy.clients");
        }
    }

    /// `forward PATTERN PARENT`, `forward-socks5 PATTERN SOCKS PARENT`; a dot is none.
    fn forward(&mut self, line: &PrivoxyLine<'_>, draft: &mut ImportDraft<'_>) {
        let words: Vec<&str> = line.value.split_whitespace().collect();
        let (Some(pattern), Some(first)) = (words.first(), words.get(1)) else {
            draft.report.left_out(&line.place, line.said, "a pattern and a way are needed");
            return;
        };
        let chained = words.get(2).is_some_and(|it| *it != ".");
        let scheme = match line.key {
            "forward" => "http",
            "forward-socks5" | "forward-socks5t" => "socks5",
            "forward-socks4a" => "socks4a",
            _ => {
                draft.report.left_out(&line.place, line.said, "SOCKS is spoken in 4a and 5");
                return;
            }
        };
        let way = match (*first, line.key) {
            (".", "forward") => "direct".to_owned(),
            (host, "forward") if !host.contains(':') => format!("http://{host}:8000"),
            (host, _) => format!("{scheme}://{host}"),
        };
        if chained && line.key != "forward" {
            draft.report.left_out(&line.place, line.said, "one parent follows another by itself");
            return;
        }
        if *pattern == "/" {
            self.parent = Some(way);
            draft.report.carried(&line.place, line.said, "proxy.parent");
            return;
        }
        let host = pattern.trim_end_matches('/').trim_start_matches('.');
        let place_of = words::name(host).or_else(|| words::network(host)).or_else(|| masked(host));
        match place_of {
            Some(host) => {
                self.parents.push((host, way));
                draft.report.carried(&line.place, line.said, "proxy.parents");
            }
            None => {
                let why = "the way goes by hosts and networks";
                draft.report.left_out(&line.place, line.said, why);
            }
        }
    }

    fn finish(self, draft: &mut ImportDraft<'_>) {
        let usual = || vec!["http://127.0.0.1:8118".to_owned()];
        let listen = if self.listen.is_empty() { usual() } else { self.listen };
        let is_local = listen.iter().all(|it| it.contains("//127.") || it.contains("//[::1]"));
        draft.sections.set("proxy", "listen", json!(listen));
        if !self.permit.is_empty() {
            draft.sections.set("proxy", "clients", json!(self.permit));
        } else if !is_local {
            let place = NotePlace::new(&draft.first_source(), 0);
            let why = "everybody was let in: private networks are; write more if you mean it";
            draft.report.changed(&place, "no permit-access", "proxy.clients", why);
        }
        if let Some(parent) = self.parent.filter(|it| it != "direct") {
            draft.sections.set("proxy", "parent", parent);
        }
        // The last that fits counts there, the first here.
        let parents = self.parents.into_iter().rev();
        for (host, way) in parents {
            let entry = json!({ "domains": [host], "parent": way });
            draft.sections.push("proxy", "parents", entry);
        }
    }
}

/// A network of IPv4 as patterns write it: `192.168.*.*`, `10.`.
fn masked(host: &str) -> Option<String> {
    let parts: Vec<&str> = host.split('.').filter(|it| !it.is_empty()).collect();
    let numbers: Vec<u8> = parts.iter().map_while(|it| it.parse().ok()).collect();
    let rest_is_wild = parts[numbers.len()..].iter().all(|it| *it == "*");
    if numbers.is_empty() || numbers.len() > 3 || !rest_is_wild {
        return None;
    }
    let mut octets = [0; 4];
    octets[..numbers.len()].copy_from_slice(&numbers);
    Some(format!("{}/{}", std::net::Ipv4Addr::from(octets), numbers.len() * 8))
}

/// Directives that say nothing here.
const IDLE: [&str; 17] = [
    "admin-address",
    "buffer-limit",
    "connection-sharing",
    "debug",
    "default-server-timeout",
    "forwarded-connect-retries",
    "hostname",
    "keep-alive-timeout",
    "listen-backlog",
    "logdir",
    "logfile",
    "proxy-info-url",
    "single-threaded",
    "split-large-forms",
    "templdir",
    "tolerate-pipelining",
    "user-manual",
];

/// The reason for which a directive is left out.
fn reason(key: &str) -> &'static str {
    match key {
        "filterfile" => "bodies are not rewritten: proxy.script and filters in WebAssembly may",
        "trustfile" | "trust-info-url" => "write otherwise: block, and a list of kind allow",
        "toggle"
        | "enable-remote-toggle"
        | "enable-edit-actions"
        | "enable-remote-http-toggle"
        | "enforce-blocks"
        | "enable-proxy-authentication-forwarding" => {
            "the dashboard and tidegate ctl change things, with the token"
        }
        "ca-directory"
        | "ca-cert-file"
        | "ca-key-file"
        | "ca-password"
        | "certificate-directory"
        | "trusted-cas-file"
        | "cipher-list" => {
            "TLS is not opened: names are looked at in the first bytes (connect_sni)"
        }
        _ => "there is no such setting",
    }
}

#[cfg(test)]
mod tests;
