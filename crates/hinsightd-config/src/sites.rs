//! Settings of the vhosts that a configuration added: sites of the web door, or routes of the
//! gateway where requests are sent on to other servers.

use crate::{HinsightdDisk, HinsightdFailure};
use serde_json::{Map, Value as Json, json};

/// Listeners where a vhost names none, as hinsightd's own configuration has it.
const LISTEN: &str = "http://127.0.0.1:8080";

/// Seconds that lists of browsers want of a site at least: a year.
const PRELOAD_MIN_SECS: u64 = 31_536_000;

/// Way in which requests that are over are logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestLogs {
    /// An access log is set, which is all that they wrote.
    BySetting,
    /// They are called.
    ByFunction,
}

/// Settings of all vhosts.
pub(crate) struct ServedSites {
    pub(crate) sections: Vec<(&'static str, Json)>,
    pub(crate) logs: RequestLogs,
}

/// A vhost as it is served.
struct ServedVhost<'v> {
    told: &'v Json,
    hosts: Vec<&'v str>,
    listen: Vec<String>,
    root: String,
    /// The first vhost answers for the hosts that none names.
    is_first: bool,
}

/// Settings of what `survey.luau` tells; `script` is the name of the script that does the rest.
pub(crate) fn served(
    told: &Json,
    disk: &dyn HinsightdDisk,
    script: &str,
    notes: &mut Vec<String>,
) -> Result<ServedSites, HinsightdFailure> {
    let sites = told["sites"].as_array().ok_or(HinsightdFailure::NoVhost)?;
    let vhosts: Result<Vec<_>, _> = sites
        .iter()
        .enumerate()
        .map(|(index, told)| ServedVhost::read(told, disk, index == 0))
        .collect();
    let vhosts = vhosts?;
    let is_proxy = vhosts.iter().any(|vhost| vhost.proxied().next().is_some());
    let logs = if !is_proxy && sites.iter().all(|it| it["log"].is_string()) {
        RequestLogs::BySetting
    } else {
        RequestLogs::ByFunction
    };
    for vhost in &vhosts {
        vhost.note(notes);
    }
    let section = if is_proxy {
        notes.push("the gateway writes no access log: the ledger has every request".to_owned());
        ("gateway", gateway(&vhosts, disk, script))
    } else {
        let sites: Vec<Json> = vhosts.iter().map(|vhost| vhost.site(disk, script)).collect();
        ("web", Json::Array(sites))
    };
    Ok(ServedSites { sections: vec![section], logs })
}

impl<'v> ServedVhost<'v> {
    fn read(
        told: &'v Json,
        disk: &dyn HinsightdDisk,
        is_first: bool,
    ) -> Result<Self, HinsightdFailure> {
        let sockets = list(&told["sockets"]).map(address);
        let mut listen = sockets.collect::<Result<Vec<_>, _>>()?;
        if listen.is_empty() {
            listen.push(LISTEN.to_owned());
        }
        let hosts = list(&told["hosts"]).filter_map(Json::as_str).collect();
        let root = disk.place(told["root"].as_str().unwrap_or("htdocs"));
        Ok(Self { told, hosts, listen, root, is_first })
    }

    fn proxied(&self) -> impl Iterator<Item = &'v Json> {
        list(&self.told["proxied"])
    }

    fn is_https(&self) -> bool {
        self.listen.iter().any(|it| it.starts_with("https:"))
    }

    /// Names for which the web door asks at this vhost.
    fn own_hosts(&self) -> Vec<&'v str> {
        if self.is_first { Vec::new() } else { self.hosts.clone() }
    }

    fn certificate(&self, disk: &dyn HinsightdDisk) -> Option<(String, String)> {
        let file = |name: &str| self.told["certificate"][name].as_str().map(|it| disk.place(it));
        file("certificate").zip(file("key")).filter(|_| self.is_https())
    }

    fn note(&self, notes: &mut Vec<String>) {
        let name = self.hosts.first().copied().unwrap_or("the vhost");
        if self.told["timeout"].is_number() {
            notes.push(format!("{name}: timeout; see client.idle_timeout of the gateway"));
        }
        for it in self.proxied() {
            let (pattern, servers) = (text(it, "pattern"), list(&it["servers"]).count());
            notes.push(format!(
                "{name}: {pattern} goes to {servers} server(s), as its function did when it was \
                 asked for {}; a function that chooses by something else wants a look",
                text(it, "path")
            ));
        }
    }

    /// Settings of its folder, at either door.
    fn folder(&self) -> Map<String, Json> {
        let mut folder = Map::new();
        folder.insert("root".into(), json!(self.root));
        let index: Vec<&str> = list(&self.told["index"]).filter_map(Json::as_str).collect();
        if !index.is_empty() {
            folder.insert("index".into(), json!(index));
        }
        folder.insert("compress".into(), json!(true));
        let runs = self.told["fastcgi"].as_object().into_iter().flatten();
        let runs = runs.map(|(extension, server)| (format!("*.{extension}"), server.clone()));
        let runs: Map<String, Json> = runs.collect();
        if !runs.is_empty() {
            folder.insert("fastcgi".into(), Json::Object(runs));
        }
        let forbidden = list(&self.told["forbidden"]).filter_map(Json::as_str);
        let forbidden: Vec<String> = forbidden.map(|it| format!("*.{it}")).collect();
        if !forbidden.is_empty() {
            folder.insert("forbidden_files".into(), json!(forbidden));
        }
        folder
    }

    fn site(&self, disk: &dyn HinsightdDisk, script: &str) -> Json {
        let mut site = self.folder();
        site.insert("listen".into(), json!(self.listen));
        if !self.own_hosts().is_empty() {
            site.insert("hosts".into(), json!(self.own_hosts()));
        }
        if self.told["listing"] == true {
            site.insert("listing".into(), json!("on"));
        }
        if let Some((certificate, key)) = self.certificate(disk) {
            site.insert("tls".into(), json!({ "certificate": certificate, "key": key }));
        }
        if let Some(log) = self.told["log"].as_str() {
            site.insert("access_log".into(), json!(log));
        }
        self.add_hsts(&mut site);
        site.insert("script".into(), json!(script));
        Json::Object(site)
    }
}

impl ServedVhost<'_> {
    /// A route for a host, and for the sockets of this vhost where others have others.
    fn placed(&self, mut route: Json, host: Option<&str>, all: &[&String]) -> Json {
        if let Some(host) = host {
            route["host"] = json!(host);
        }
        if !all.iter().all(|it| self.listen.contains(it)) {
            route["listen"] = json!(self.listen);
        }
        route
    }

    fn add_hsts(&self, site: &mut Map<String, Json>) {
        let flags = self.told["hsts_flags"].as_str().unwrap_or_default();
        let Some(age) = self.told["hsts"].as_u64().filter(|_| self.is_https()) else { return };
        if !flags.contains("no_header") {
            let subdomains = flags.contains("subdomains");
            let preload = subdomains && flags.contains("preload") && age >= PRELOAD_MIN_SECS;
            let age = format!("{age}s");
            let hsts = json!({ "max_age": age, "subdomains": subdomains, "preload": preload });
            site.insert("hsts".into(), hsts);
        }
        if !flags.contains("no_redirect") && self.listen.iter().any(|it| it.starts_with("http:")) {
            site.insert("redirect_https".into(), json!(true));
        }
    }
}

/// The gateway of vhosts that send requests on.
fn gateway(vhosts: &[ServedVhost<'_>], disk: &dyn HinsightdDisk, script: &str) -> Json {
    let mut listen: Vec<&String> = vhosts.iter().flat_map(|it| &it.listen).collect();
    listen.sort();
    listen.dedup();
    let (mut pools, mut routes) = (Map::new(), Vec::new());
    // Vhosts with names are asked first; the first one gets what is left.
    let named = vhosts.iter().filter(|it| !it.is_first);
    for vhost in named.chain(vhosts.iter().filter(|it| it.is_first)) {
        let hosts = match vhost.own_hosts() {
            none if none.is_empty() => vec![None],
            some => some.into_iter().map(Some).collect(),
        };
        for host in hosts {
            for it in vhost.proxied() {
                let pool = json!({ "servers": it["servers"], "balance": "round_robin" });
                let known = pools.iter().find(|(_, known)| **known == pool).map(|(name, _)| name);
                let name = known.cloned().unwrap_or_else(|| format!("servers{}", pools.len() + 1));
                let route = json!({ "path": text(it, "pattern"), "pool": name, "script": script });
                pools.insert(name, pool);
                routes.push(vhost.placed(route, host, &listen));
            }
            let mut folder = vhost.folder();
            if vhost.told["listing"] == true {
                folder.insert("listing".into(), json!(true));
            }
            folder.insert("script".into(), json!(script));
            routes.push(vhost.placed(Json::Object(folder), host, &listen));
        }
    }
    let certificates = vhosts.iter().filter_map(|it| it.certificate(disk));
    let mut certificates: Vec<Json> = certificates
        .map(|(certificate, key)| json!({ "certificate": certificate, "key": key }))
        .collect();
    certificates.dedup();
    let mut section = json!({ "listen": listen, "pools": pools, "routes": routes });
    if !certificates.is_empty() {
        section["tls"] = json!({ "certificates": certificates });
    }
    section
}

/// The listener of a socket, as `https://127.0.0.1:443`.
fn address(socket: &Json) -> Result<String, HinsightdFailure> {
    let scheme = if socket["ssl"] == true { "https" } else { "http" };
    let is_v6 = socket["sock_type"] == "ipv6";
    let host = match (socket["bind"].as_str(), is_v6) {
        (None, false) => "0.0.0.0".to_owned(),
        (None, true) => "[::]".to_owned(),
        (Some("localhost"), false) => "127.0.0.1".to_owned(),
        (Some("localhost"), true) => "[::1]".to_owned(),
        (Some(bind), _) => match bind.parse::<std::net::IpAddr>() {
            Ok(std::net::IpAddr::V6(address)) => format!("[{address}]"),
            Ok(std::net::IpAddr::V4(address)) => address.to_string(),
            Err(_) => return Err(HinsightdFailure::Socket(bind.to_owned())),
        },
    };
    let port = match &socket["port"] {
        Json::String(port) => port.parse::<u16>().ok(),
        port => port.as_u64().and_then(|port| u16::try_from(port).ok()),
    };
    let port =
        port.ok_or_else(|| HinsightdFailure::Socket(format!("{host}, port {}", socket["port"])))?;
    Ok(format!("{scheme}://{host}:{port}"))
}

fn list(value: &Json) -> impl Iterator<Item = &Json> {
    value.as_array().into_iter().flatten()
}

fn text<'j>(value: &'j Json, name: &str) -> &'j str {
    value[name].as_str().unwrap_or_default()
}
