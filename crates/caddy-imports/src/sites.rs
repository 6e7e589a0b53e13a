//! Sites: their addresses, certificates, and the order in which they take hosts.

use super::CaddyReader;
use super::handlers::SiteState;
use super::matchers::{PRIVATE, SiteMatchers, host};
use super::tree::{CaddyDirective, CaddyFile, CaddySite};
use import_routes::flow::{FlowStep, RouteList};
use import_routes::place::{HostTest, RequestPlace};
use import_routes::report::LineFate;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;

/// Global options that count.
struct GlobalOptions {
    http_port: u16,
    https_port: u16,
    is_https_off: bool,
    has_redirects: bool,
    bind: String,
}

/// One address of a site.
struct SiteAddress {
    listener: String,
    host: Option<HostTest>,
    /// Clients without TLS are sent on to it.
    is_redirected: bool,
}

/// Steps of a site, and where it is reached.
struct MadeSite {
    row: import_routes::report::RowId,
    addresses: Vec<SiteAddress>,
    steps: Vec<FlowStep>,
}

/// Steps of one site.
const STEPS_MAX: usize = 4_000;

impl CaddyReader<'_> {
    /// The routes of all sites; none where there are too many.
    pub(super) fn sites(&mut self, file: &CaddyFile) -> Option<Vec<Value>> {
        let options = self.options(&file.options);
        let mut made = Vec::new();
        for site in &file.sites {
            let addresses = self.addresses(site, &options);
            made.push((site, addresses));
        }
        // Caddy bounds no body.
        self.gateway.settings.insert("body_max".into(), json!("1TiB"));
        let mut sites = Vec::new();
        for (site, addresses) in made {
            self.report.mark(site.row, LineFate::Carried, "");
            self.certificates(site, &addresses);
            let mut directives = site.directives.clone();
            self.matchers = SiteMatchers {
                listen: self.gateway.listen.clone(),
                folds_case: directives.iter().any(guards),
                ..SiteMatchers::default()
            };
            directives.retain(|it| {
                let is_matcher = it.name.starts_with('@');
                if is_matcher {
                    self.report.mark(it.row, LineFate::Carried, "");
                    self.mark_all(&it.block);
                    self.matchers.named.insert(it.name.clone(), it.clone());
                }
                !is_matcher
            });
            self.budget = STEPS_MAX;
            let steps = self.handled(&directives, &SiteState::default());
            sites.push(MadeSite { row: site.row, addresses, steps });
        }
        self.emit(&sites)
    }

    pub(super) fn mark_all(&mut self, directives: &[CaddyDirective]) {
        for directive in directives {
            self.report.mark(directive.row, LineFate::Carried, "");
            self.mark_all(&directive.block);
        }
    }

    fn options(&mut self, options: &[CaddyDirective]) -> GlobalOptions {
        let mut found = GlobalOptions {
            http_port: 80,
            https_port: 443,
            is_https_off: false,
            has_redirects: true,
            bind: "0.0.0.0".into(),
        };
        for option in options {
            let mut said = (LineFate::Carried, "");
            match option.name.as_str() {
                "http_port" => found.http_port = option.arg(0).parse().unwrap_or(80),
                "https_port" => found.https_port = option.arg(0).parse().unwrap_or(443),
                "default_bind" => {
                    if option.arg(0).parse::<std::net::IpAddr>().is_ok() {
                        found.bind = option.arg(0).into();
                    }
                }
                "auto_https" => match option.arg(0) {
                    "off" => {
                        found.is_https_off = true;
                        found.has_redirects = false;
                    }
                    "disable_redirects" => found.has_redirects = false,
                    _ => {}
                },
                "servers" => {
                    self.servers(option);
                }
                "email" | "acme_ca" | "acme_eab" | "acme_ca_root" | "acme_dns" | "local_certs"
                | "key_type" | "cert_issuer" | "on_demand_tls" | "ocsp_stapling" => {
                    said = (LineFate::LeftOut, "certificates are files, or our own authority's");
                }
                "order" => said = (LineFate::LeftOut, "directives of plug-ins are not known"),
                _ => said = (LineFate::LeftOut, "it has no counterpart"),
            }
            self.report.mark(option.row, said.0, said.1);
        }
        found
    }

    fn servers(&mut self, option: &CaddyDirective) {
        for line in &option.block {
            if line.name != "trusted_proxies" || line.arg(0) != "static" {
                self.report.mark(line.row, LineFate::LeftOut, "it has no counterpart");
                continue;
            }
            let mut networks: Vec<String> = Vec::new();
            for text in &line.args[1..] {
                match text.as_str() {
                    "private_ranges" => networks.extend(PRIVATE.iter().map(|it| (*it).to_owned())),
                    text if text.parse::<vocab::Network>().is_ok() => networks.push(text.into()),
                    _ => {}
                }
            }
            self.report.mark(line.row, LineFate::Carried, "");
            if !networks.is_empty() {
                self.gateway.settings.insert("trusted".into(), json!(networks));
            }
        }
    }

    fn addresses(&mut self, site: &CaddySite, options: &GlobalOptions) -> Vec<SiteAddress> {
        let bind = site.directives.iter().find(|it| it.name == "bind");
        let mut ip = options.bind.clone();
        if let Some(bind) = bind {
            let is_one = bind.arg(0).parse::<std::net::IpAddr>().is_ok();
            let fate = if is_one { LineFate::Carried } else { LineFate::LeftOut };
            self.report.mark(bind.row, fate, if is_one { "" } else { "write addresses" });
            if is_one {
                ip = bind.arg(0).into();
            }
        }
        let ip = if ip.contains(':') { format!("[{ip}]") } else { ip };
        let tls = site.directives.iter().any(|it| it.name == "tls");
        let mut found = Vec::new();
        for address in &site.addresses {
            let (scheme, rest) = match address.split_once("://") {
                Some((scheme, rest)) => (Some(scheme), rest),
                None => (None, address.as_str()),
            };
            if rest.contains('/') && !rest.ends_with('/') || rest.contains('{') {
                self.report.mark(site.row, LineFate::LeftOut, "an address is a host and a port");
                continue;
            }
            let rest = rest.trim_end_matches('/');
            let (name, port) = match rest.rsplit_once(':') {
                Some((name, port)) if !port.contains(']') => (name, port.parse::<u16>().ok()),
                _ => (rest, None),
            };
            let is_address = name.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok();
            let is_host = name.is_empty() || import_routes::names::is_host(&name.replace('*', "a"));
            if !is_address && !is_host {
                self.report.mark(site.row, LineFate::LeftOut, "an address is a host and a port");
                continue;
            }
            let is_https = match (scheme, port) {
                (Some(scheme), _) => scheme == "https",
                (None, Some(port)) if port == options.http_port => false,
                (None, Some(port)) if port == options.https_port => true,
                (None, Some(_)) => tls || !name.is_empty() && !options.is_https_off,
                (None, None) => !options.is_https_off || tls,
            };
            let own_port = if is_https { options.https_port } else { options.http_port };
            let listener = format!(
                "{}://{ip}:{}",
                if is_https { "https" } else { "http" },
                port.unwrap_or(own_port)
            );
            let other = if is_https {
                listener.replacen("https", "http", 1)
            } else {
                listener.replacen("http", "https", 1)
            };
            if self.gateway.listen.contains(&other) {
                self.report.mark(site.row, LineFate::LeftOut, "a listener speaks TLS or does not");
                continue;
            }
            self.gateway.listen_at(&listener);
            let host = match name {
                "" | "*" => None,
                name => Some(host(name)),
            };
            let is_redirected =
                is_https && options.has_redirects && port.is_none_or(|it| it == options.https_port);
            if is_redirected {
                self.gateway.listen_at(&format!("http://{ip}:{}", options.http_port));
            }
            found.push(SiteAddress { listener, host, is_redirected });
        }
        found
    }

    fn certificates(&mut self, site: &CaddySite, addresses: &[SiteAddress]) {
        if !addresses.iter().any(|it| it.listener.starts_with("https:")) {
            return;
        }
        let tls = site.directives.iter().find(|it| it.name == "tls");
        let files = tls.filter(|it| it.args.len() == 2);
        if let (Some(tls), Some(_)) = (tls, files) {
            let path = |index| self.folder.join(tls.arg(index)).to_string_lossy().into_owned();
            let (chain, key) = (path(0), path(1));
            self.gateway.certificate(&chain, &key);
            self.report.mark(tls.row, LineFate::Carried, "");
        } else {
            let names: Vec<String> = addresses
                .iter()
                .filter_map(|it| match &it.host {
                    Some(HostTest::Exact(name))
                        if name.parse::<std::net::IpAddr>().is_err()
                            && (name.contains('.') || name == "localhost")
                            && import_routes::names::is_host(name) =>
                    {
                        Some(name.clone())
                    }
                    _ => None,
                })
                .collect();
            let known = self.gateway.tls.entry("names").or_insert(json!([]));
            if let Some(known) = known.as_array_mut() {
                for name in names {
                    if !known.contains(&json!(name)) && known.len() < 64 {
                        known.push(json!(name));
                    }
                }
            }
            let why = "no certificate is fetched (ACME): Tidegate's own authority signs one, until \
                       you write files under tls.certificates";
            self.report.mark(site.row, LineFate::Changed, why);
            if let Some(tls) = tls {
                self.report.mark(tls.row, LineFate::Changed, why);
            }
        }
    }

    fn emit(&mut self, sites: &[MadeSite]) -> Option<Vec<Value>> {
        let mut turns: Vec<(u8, usize, &MadeSite, &SiteAddress)> = Vec::new();
        for site in sites {
            for address in &site.addresses {
                let rank = match &address.host {
                    Some(HostTest::Exact(_)) => (0, 0),
                    Some(HostTest::Below(name) | HostTest::Matching(name)) => {
                        (1, usize::MAX - name.len())
                    }
                    None => (2, 0),
                };
                turns.push((rank.0, rank.1, site, address));
            }
        }
        turns.sort_by_key(|(rank, length, _, _)| (*rank, *length));
        let count = self.gateway.listen.len();
        let mut report = std::mem::take(&mut self.report);
        let around = self.around;
        let is_folder = |path: &str| around.list(Path::new(path)).is_ok();
        let mut list = RouteList::new(&mut report, &is_folder, self.first_row);
        let redirect = json!({ "redirect": { "to": "https://{host}{uri}", "status": 308 } });
        let redirect = [FlowStep::settings(redirect)];
        let http: Vec<String> =
            self.gateway.listen.iter().filter(|it| it.starts_with("http:")).cloned().collect();
        for (_, _, site, address) in turns {
            list.row = site.row;
            let listen: BTreeSet<String> = [address.listener.clone()].into();
            let listen = (count > 1).then_some(listen);
            let place =
                RequestPlace { listen, host: address.host.clone(), ..RequestPlace::default() };
            list.add(&place, &site.steps);
            if address.is_redirected {
                let ports = http.iter().filter(|it| same_ip(it, &address.listener)).cloned();
                let listen: BTreeSet<String> = ports.take(1).collect();
                let host = address.host.clone();
                let place = RequestPlace { listen: Some(listen), host, ..RequestPlace::default() };
                list.add(&place, &redirect);
            }
        }
        let routes = std::mem::take(&mut list.routes);
        let is_overfull = list.is_overfull();
        self.report = report;
        (!is_overfull).then_some(routes)
    }
}

fn same_ip(one: &str, two: &str) -> bool {
    let ip = |text: &str| {
        let rest = text.split_once("://").map_or("", |it| it.1);
        rest.rsplit_once(':').map_or(String::new(), |it| it.0.to_owned())
    };
    ip(one) == ip(two)
}

/// True for a directive that keeps somebody out, or one with such a one in it.
fn guards(directive: &CaddyDirective) -> bool {
    let names = ["basic_auth", "basicauth", "forward_auth", "abort", "error", "authorize"];
    let refuses = directive.name == "respond"
        && directive.args.iter().any(|it| it.parse::<u16>().is_ok_and(|it| it >= 400));
    let by_client = directive.name.starts_with('@')
        && (directive.args.iter().any(|it| it == "remote_ip" || it == "client_ip")
            || directive.block.iter().any(|it| it.name == "remote_ip" || it.name == "client_ip"));
    names.contains(&directive.name.as_str())
        || refuses
        || by_client
        || directive.block.iter().any(guards)
}
