//! A configuration of Polipo, said in our words.
//!
//! From text to text: what comes out is a configuration that [`crate::parse`] takes, under comments
//! that say what was not carried over, and why. Whom the proxy serves is never wider than it was:
//! what cannot be read is an error. What Polipo was not told stays our default. Called by `tidegate
//! import polipo`.

mod absent;
mod caching;
mod forbidden;
mod redirector;
mod values;

use self::forbidden::ForbiddenRules;
use self::values::{PolipoDegree, PolipoSetting};
use crate::FileComplaint;
use crate::yaml::TextPosition;
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;
use std::net::IpAddr;
use std::path::Path;
use vocab::{Complaint, Network, PortRange};
use yaml_text::literal;

/// Variables that are carried over.
const CARRIED: [&str; 37] = [
    "allowedClients",
    "allowedPorts",
    "alwaysAddNoTransform",
    "authCredentials",
    "authRealm",
    "cacheIsShared",
    "censorReferer",
    "censoredHeaders",
    "chunkHighMark",
    "disableVia",
    "dnsQueryIPv6",
    "diskCacheRoot",
    "dontCacheCookies",
    "dontCacheRedirects",
    "forbiddenFile",
    "forbiddenTunnelsFile",
    "forbiddenUrl",
    "maxAge",
    "maxAgeFraction",
    "maxExpiresAge",
    "maxNoModifiedAge",
    "parentAuthCredentials",
    "parentProxy",
    "proxyAddress",
    "proxyOffline",
    "proxyOutgoingAddress",
    "proxyPort",
    "redirector",
    "redirectorRedirectCode",
    "relaxTransparency",
    "serverMaxSlots",
    "serverTimeout",
    "socksAuthCredentials",
    "socksParentProxy",
    "socksProxyType",
    "tunnelAllowedPorts",
    "uncachableFile",
];
/// Where Polipo listens unless it is told otherwise.
const PORT: u16 = 8123;
/// Where Polipo looks for what is forbidden if no file is named.
const FORBIDDEN: [&str; 2] = ["~/.polipo-forbidden", "/etc/polipo/forbidden"];
/// The same of where no tunnel leads.
const FORBIDDEN_TUNNELS: [&str; 2] = ["~/.polipo-forbiddenTunnels", "/etc/polipo/forbiddenTunnels"];
/// The same of what is not to be cached.
const UNCACHABLE: [&str; 2] = ["~/.polipo-uncachable", "/etc/polipo/uncachable"];
/// Lines of a file that are named one by one where they are left out.
const LEFT_OUT_SHOWN: usize = 20;

/// Reads another file that the configuration names; an error says why it cannot be read.
pub type ReadFile<'f> = &'f dyn Fn(&Path) -> io::Result<String>;

/// Polipo's configuration `text`, of the file `source`, as a configuration of ours.
///
/// # Errors
/// Lines that Polipo would not take either, and values that say nothing to us.
pub fn from_polipo(
    text: &str,
    source: &Path,
    read_file: ReadFile<'_>,
) -> Result<String, Vec<FileComplaint>> {
    let placed =
        |(line, complaint)| FileComplaint::at(source, TextPosition::at(line, 1), complaint);
    let lines =
        values::read(text).map_err(|bad| bad.into_iter().map(placed).collect::<Vec<_>>())?;
    // As with Polipo, the last of two counts.
    let said = lines.into_iter().map(|it| (it.name.clone(), it)).collect();
    let mut import = PolipoImport { settings: said, ..PolipoImport::default() };
    import.import_file(read_file);
    if import.wrong.is_empty() {
        return Ok(import.written(source));
    }
    import.wrong.sort_by_key(|(line, _)| *line);
    Err(import.wrong.into_iter().map(placed).collect())
}

#[derive(Default)]
struct PolipoImport {
    /// What is not looked at yet, by name.
    settings: BTreeMap<String, PolipoSetting>,
    proxy: Vec<(&'static str, serde_json::Value)>,
    cache: Vec<(&'static str, serde_json::Value)>,
    /// Where people are sent whose request is forbidden.
    block_page: Option<String>,
    /// Rules, by the name of their list.
    lists: Vec<(&'static str, Vec<String>)>,
    notes: Vec<String>,
    wrong: Vec<(usize, Complaint)>,
}

impl PolipoImport {
    fn import_file(&mut self, read_file: ReadFile<'_>) {
        self.listen();
        self.clients();
        self.auth();
        self.ports();
        self.parent();
        self.outgoing();
        self.redirector();
        self.fields();
        self.store();
        self.uncachable(read_file);
        self.forbidden(read_file);
        for said in std::mem::take(&mut self.settings).into_values() {
            let reason = absent::reason(&said.name).unwrap_or("Polipo has no such variable");
            self.note(&said, reason);
        }
    }

    fn take_setting(&mut self, name: &str) -> Option<PolipoSetting> {
        debug_assert!(CARRIED.contains(&name), "{name} is carried over, and not in the table");
        self.settings.remove(name)
    }

    /// Returns what `read` makes of a variable, if it is set and makes sense.
    fn read<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&PolipoSetting) -> Result<T, Complaint>,
    ) -> Option<(PolipoSetting, T)> {
        let said = self.take_setting(name)?;
        match read(&said) {
            Ok(value) => Some((said, value)),
            Err(mut why) => {
                why.path = said.name;
                self.wrong.push((said.line, why));
                None
            }
        }
    }

    fn text(&mut self, name: &str) -> Option<(PolipoSetting, String)> {
        let read = |said: &PolipoSetting| said.one().map(str::to_owned);
        self.read(name, read).filter(|(_, text)| !text.is_empty())
    }

    fn note(&mut self, said: &PolipoSetting, why: &str) {
        self.notes.push(format!("line {}, {}: {why}", said.line, said.name));
    }

    fn listen(&mut self) {
        let address = |said: &PolipoSetting| {
            let text = said.one()?;
            text.parse::<IpAddr>().map_err(|_| {
                Complaint::new("", format!("{text:?} is no address")).remedy("write it in digits")
            })
        };
        let address = self.read("proxyAddress", address).map(|(_, address)| address);
        let port = |said: &PolipoSetting| {
            let number = said.number()?;
            u16::try_from(number)
                .map_err(|_| Complaint::new("", format!("there is no port {number}")))
        };
        let port = self.read("proxyPort", port).map_or(PORT, |(_, port)| port);
        let at = match address.unwrap_or(IpAddr::from([127, 0, 0, 1])) {
            IpAddr::V6(v6) => format!("http://[{v6}]:{port}"),
            IpAddr::V4(v4) => format!("http://{v4}:{port}"),
        };
        self.proxy.push(("listen", json!([at])));
    }

    fn clients(&mut self) {
        let networks = |said: &PolipoSetting| {
            said.values.iter().try_for_each(|text| {
                text.parse::<Network>().map(drop).map_err(|_| {
                    Complaint::new("", format!("{text:?} is no network"))
                        .remedy("write it as 192.168.0.0/16")
                })
            })
        };
        let local = || json!(["127.0.0.1", "::1"]);
        let clients = match self.read("allowedClients", networks) {
            Some((said, ())) if !said.values.is_empty() => json!(said.values),
            Some(_) | None => local(),
        };
        self.proxy.push(("clients", clients));
    }

    /// The password itself is not written down again: until the file is there, nothing starts.
    fn auth(&mut self) {
        let realm = self.text("authRealm");
        let credentials = self.text("authCredentials");
        if let (Some((said, _)), None) = (&realm, &credentials) {
            self.note(said, "no client is asked for a password");
        }
        if let Some((said, credentials)) = credentials {
            let user = credentials.split(':').next().unwrap_or_default();
            let is_plain = user.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
            let user = if is_plain && !user.is_empty() { user } else { "USER" };
            let how = format!("make the file first: htpasswd -cB polipo.htpasswd {user}");
            self.note(&said, &how);
            let mut auth = json!({ "file": "polipo.htpasswd" });
            if let Some((_, realm)) = realm {
                auth["realm"] = json!(realm);
            }
            self.proxy.push(("auth", auth));
        }
    }

    fn ports(&mut self) {
        for (name, setting) in
            [("tunnelAllowedPorts", "connect_ports"), ("allowedPorts", "fetch_ports")]
        {
            let Some((said, ports)) = self.read(name, ports) else { continue };
            if ports.is_empty() {
                self.note(&said, "no port is named");
            } else {
                let number = |text: &str| text.parse::<u16>().map(|port| json!(port)).ok();
                let texts = ports.iter().map(ToString::to_string);
                let ports: Vec<_> =
                    texts.map(|text| number(&text).unwrap_or_else(|| json!(text))).collect();
                self.proxy.push((setting, json!(ports)));
            }
        }
    }

    /// SOCKS in the version that is set, 5 where none is.
    fn socks_scheme(&mut self, login: Option<&(PolipoSetting, String)>) -> &'static str {
        let Some((said, kind)) = self.text("socksProxyType") else { return "socks5" };
        match kind.as_str() {
            "socks5" => "socks5",
            "socks4a" if login.is_none() => "socks4a",
            _ => {
                self.note(&said, "SOCKS is spoken in version 5, and 4a without a user");
                "socks5"
            }
        }
    }

    /// Addresses that connections leave from, and families that they go to.
    fn outgoing(&mut self) {
        if let Some((said, address)) = self.text("proxyOutgoingAddress") {
            if let Ok(address) = address.parse::<IpAddr>() {
                self.proxy.push(("source", json!([address])));
            } else {
                let why = Complaint::new(said.name, format!("{address:?} is no address"))
                    .remedy("write an IP address of this machine");
                self.wrong.push((said.line, why));
            }
        }
        if let Some((said, family)) = self.text("dnsQueryIPv6") {
            match family.as_str() {
                "false" | "no" => self.proxy.push(("family", json!("ipv4"))),
                "true" | "yes" => self.proxy.push(("family", json!("ipv6"))),
                _ => self.note(&said, "both families are connected to in a race"),
            }
        }
    }

    fn parent(&mut self) {
        let http = self.text("parentProxy");
        let http_login = self.text("parentAuthCredentials");
        let socks = self.text("socksParentProxy");
        let socks_login = self.text("socksAuthCredentials");
        let socks_scheme = self.socks_scheme(socks_login.as_ref());
        let (scheme, parent, login, unused) = match (http, socks) {
            (Some(http), None) => ("http", Some(http), http_login, [socks_login, None]),
            (None, Some(socks)) => (socks_scheme, Some(socks), socks_login, [http_login, None]),
            (Some(http), Some(socks)) => {
                ("http", Some(http), http_login, [Some(socks), socks_login])
            }
            (None, None) => ("http", None, None, [http_login, socks_login]),
        };
        for (said, _) in unused.into_iter().flatten() {
            self.note(&said, "there is no such parent, or it is behind another one");
        }
        let Some((said, address)) = parent else { return };
        let login = login.map_or_else(String::new, |(_, login)| {
            let parts: Vec<String> = login.splitn(2, ':').map(escaped).collect();
            format!("{}@", parts.join(":"))
        });
        let is_address = |c: char| c.is_ascii_alphanumeric() || ".-_:[]".contains(c);
        if address.chars().all(is_address) {
            self.proxy.push(("parent", json!(format!("{scheme}://{login}{address}"))));
        } else {
            let why = Complaint::new(said.name, format!("{address:?} is no address"))
                .remedy("write it as host:port");
            self.wrong.push((said.line, why));
        }
    }

    fn fields(&mut self) {
        if let Some(said) = self.take_setting("censoredHeaders")
            && !said.values.is_empty()
        {
            self.proxy.push(("censor", json!(said.values)));
        }
        if let Some((_, degree)) = self.read("censorReferer", PolipoSetting::degree) {
            let referer = match degree {
                PolipoDegree::No => "keep",
                PolipoDegree::Maybe => "same-site",
                PolipoDegree::Yes => "drop",
            };
            self.proxy.push(("referer", json!(referer)));
        }
        if let Some((_, degree)) = self.read("disableVia", PolipoSetting::degree) {
            let via = if degree == PolipoDegree::No { "on" } else { "off" };
            self.proxy.push(("via", json!(via)));
        }
        if let Some((_, PolipoDegree::Yes)) =
            self.read("alwaysAddNoTransform", PolipoSetting::degree)
        {
            self.proxy.push(("no_transform", json!("on")));
        }
        if let Some((said, seconds)) = self.read("serverTimeout", PolipoSetting::seconds) {
            if (1..=3600).contains(&seconds) {
                self.proxy.push(("response_timeout", json!(format!("{seconds}s"))));
            } else {
                self.note(&said, "an origin may be silent for a second to an hour");
            }
        }
        if let Some((said, most)) = self.read("serverMaxSlots", PolipoSetting::number) {
            if (1..=10_000).contains(&most) {
                self.proxy.push(("connections_per_origin", json!(most)));
            } else {
                self.note(&said, "an origin gets 1 to 10000 connections, or any number");
            }
        }
    }

    fn uncachable(&mut self, read_file: ReadFile<'_>) {
        let text = self.file_of("uncachableFile", &UNCACHABLE, read_file);
        let rules = self.rules_of(&text, "not to be cached", |rule| {
            door_proxy::check_urls("never", std::slice::from_ref(rule)).is_empty()
        });
        if !rules.is_empty() {
            self.cache.push(("never", json!(rules)));
        }
    }

    fn forbidden(&mut self, read_file: ReadFile<'_>) {
        if let Some((said, url)) = self.text("forbiddenUrl") {
            let is_web = ["http://", "https://"].iter().any(|it| url.starts_with(it));
            if is_web && url.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'{') {
                self.block_page = Some(url);
            } else if url != "null" {
                self.note(&said, "people are shown a page that says why");
            }
        }
        let text = self.file_of("forbiddenFile", &FORBIDDEN, read_file);
        let rules = self.rules_of(&text, "forbidden", |_| true);
        self.lists.push(("forbidden", rules));
        let text = self.file_of("forbiddenTunnelsFile", &FORBIDDEN_TUNNELS, read_file);
        // Polipo looks for an expression in host and port; of a tunnel we are asked about the host.
        let is_name = |rule: &String| rule.starts_with("||");
        let rules = self.rules_of(&text, "forbidden to tunnels", is_name);
        if !rules.is_empty() {
            let why = "what is forbidden to tunnels is forbidden to http: URLs too";
            self.notes.push(why.to_owned());
        }
        self.lists.push(("forbidden-tunnels", rules));
    }

    /// Returns what stands in the file that a variable names, or else where Polipo looks without
    /// it.
    fn file_of(&mut self, name: &str, usual: &[&str], read_file: ReadFile<'_>) -> String {
        if !self.settings.contains_key(name) {
            let found = usual.iter().find_map(|it| read_file(Path::new(it)).ok());
            return found.unwrap_or_default();
        }
        let Some((said, path)) = self.text(name) else { return String::new() };
        read_file(Path::new(&path)).unwrap_or_else(|why| {
            let why = Complaint::new(said.name, why.to_string())
                .remedy("make it readable, or take the line out");
            self.wrong.push((said.line, why));
            String::new()
        })
    }

    /// The rules of such a file that are taken; the lines of the others are named.
    fn rules_of(
        &mut self,
        text: &str,
        what: &str,
        is_taken: impl Fn(&String) -> bool,
    ) -> Vec<String> {
        let ForbiddenRules { rules, left_out } = forbidden::read(text, is_taken);
        if !left_out.is_empty() {
            let count = left_out.len();
            let shown: Vec<_> =
                left_out.iter().take(LEFT_OUT_SHOWN).map(ToString::to_string).collect();
            let more = if count > LEFT_OUT_SHOWN { ", ..." } else { "" };
            let shown = shown.join(", ");
            self.notes.push(format!("{count} lines of what is {what} are left out: {shown}{more}"));
        }
        rules
    }

    fn written(&self, source: &Path) -> String {
        // In quotes: the name of a file may hold a line end.
        let source = literal(&json!(source.to_string_lossy()));
        let mut out = format!("# What Polipo was told in {source}.\n");
        if !self.notes.is_empty() {
            out.push_str("# Not carried over, or to be looked at:\n");
        }
        for note in &self.notes {
            let _ = writeln!(out, "#   {note}");
        }
        out.push_str("proxy:\n");
        for (setting, value) in &self.proxy {
            let _ = writeln!(out, "  {setting}: {}", literal(value));
        }
        out.push_str("  cache:\n");
        for (setting, value) in &self.cache {
            let _ = writeln!(out, "    {setting}: {}", literal(value));
        }
        let lists: Vec<_> = self.lists.iter().filter(|(_, rules)| !rules.is_empty()).collect();
        if !lists.is_empty() || self.block_page.is_some() {
            out.push_str("policy:\n");
        }
        if let Some(page) = &self.block_page {
            let _ = writeln!(out, "  block_page: {}", literal(&json!(page)));
        }
        if !lists.is_empty() {
            out.push_str("  lists:\n");
        }
        for (name, rules) in lists {
            let _ = writeln!(out, "    - name: {name}\n      rules:");
            for rule in rules {
                let _ = writeln!(out, "        - {}", literal(&json!(rule)));
            }
        }
        out
    }
}

/// Single ports and ranges of them.
fn ports(said: &PolipoSetting) -> Result<Vec<PortRange>, Complaint> {
    let mut ports = Vec::new();
    for text in &said.values {
        // There "0-1023" is written for all below 1024.
        let last = text.strip_prefix("0-");
        let text = last.map_or_else(|| text.clone(), |last| format!("1-{last}"));
        ports.push(text.parse().map_err(|why| {
            Complaint::new("", format!("{text:?}: {why}")).remedy("write 80 or 80-100")
        })?);
    }
    Ok(ports)
}

/// A part of a URL's credentials (RFC 3986 section 3.2.1).
fn escaped(part: &str) -> String {
    let mut out = String::new();
    for byte in part.bytes() {
        if byte.is_ascii_alphanumeric() {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests;
