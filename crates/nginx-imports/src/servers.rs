//! Blocks of `http` and `server`: listeners, names, certificates, and which server takes a host.

use super::LimitZone;
use super::NginxReader;
use super::rewrites::FlowTail;
use super::scope::NginxScope;
use super::tree::{NginxDirective, UNREAD};
use super::values::{size, time};
use super::variables::{ValueMatcher, VariableTexts, bind_groups, host_mask};
use import_routes::flow::{FlowStep, RouteList};
use import_routes::names::is_host;
use import_routes::place::{HostTest, RequestPlace};
use import_routes::redirects::GroupSubject;
use import_routes::regex_words::{LetterCase, ReadExpression, read};
use import_routes::report::LineFate;
use import_routes::written_values::{written_size, written_time};
use serde_json::json;
use std::collections::BTreeSet;
use std::time::Duration;

/// A server, and how it is reached.
struct FoundServer<'r> {
    block: &'r NginxDirective,
    listeners: BTreeSet<String>,
    /// Listeners whose other hosts it takes.
    defaults: BTreeSet<String>,
    hosts: Vec<(HostRank, HostTest)>,
    is_closed: bool,
}

/// Order in which names are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum HostRank {
    Exact,
    /// `*.example`: the longest first.
    Begin(std::cmp::Reverse<usize>),
    /// `www.*`: the longest first.
    End(std::cmp::Reverse<usize>),
    Expression,
}

impl<'r> NginxReader<'r> {
    pub(super) fn read_http(&mut self, http: &'r [NginxDirective]) {
        let scope = NginxScope::of(vec![http]);
        for directive in http {
            self.top(directive);
        }
        if let Some(limit) = scope.last("client_max_body_size")
            && let Some(bytes) = size(limit.arg(0))
        {
            self.report.mark(limit.row, LineFate::Carried, "");
            self.body_max = if bytes == 0 { 1 << 50 } else { bytes.max(1 << 10) };
        }
        let body_max = written_size(self.body_max);
        self.gateway.settings.insert("body_max".into(), json!(body_max));
        let mut servers: Vec<FoundServer<'r>> = http
            .iter()
            .filter(|it| it.name == "server")
            .map(|it| self.server(it, &scope))
            .collect();
        self.choose_defaults(&mut servers);
        self.client_settings(&scope);
        self.clients_certificates(&scope, &mut servers);
        let mut made = Vec::new();
        for server in &servers {
            let steps = self.server_steps(server, http);
            made.push(steps);
        }
        self.emit(&servers, &made);
    }

    /// Directives beside servers.
    fn top(&mut self, directive: &'r NginxDirective) {
        let row = directive.row;
        match directive.name.as_str() {
            "upstream" => {
                self.upstreams.insert(directive.arg(0).into(), directive);
            }
            "map" | "geo" => {
                let name = directive.args.last().map_or("", String::as_str);
                self.tables.insert(name.trim_start_matches('$').into(), directive);
            }
            "limit_req_zone" | "limit_conn_zone" => {
                let part = |key: &str| directive.args.iter().find_map(|it| it.strip_prefix(key));
                let name = part("zone=").unwrap_or_default().split(':').next().unwrap_or_default();
                let rate = part("rate=").unwrap_or_default().to_owned();
                let zone = LimitZone { key: directive.arg(0).into(), rate };
                self.zones.insert(name.into(), zone);
                self.report.mark(row, LineFate::Carried, "");
            }
            "proxy_cache_path" => {
                let max = directive.args.iter().find_map(|it| it.strip_prefix("max_size="));
                let max = max.and_then(size).unwrap_or(10 << 30).clamp(16 << 20, 1 << 42);
                let disk = json!({ "path": "gateway-cache", "size": written_size(max) });
                self.gateway.settings.insert("cache".into(), json!({ "disk": disk }));
                let why = "one cache for all routes, in the state folder";
                self.report.mark(row, LineFate::Changed, why);
            }
            UNREAD => {
                let why = "servers and tables in it are missing here";
                self.report.mark(row, LineFate::LeftOut, why);
            }
            _ => {}
        }
    }

    fn server(&mut self, block: &'r NginxDirective, http: &NginxScope<'r>) -> FoundServer<'r> {
        self.report.mark(block.row, LineFate::Carried, "");
        let mut found = FoundServer {
            block,
            listeners: BTreeSet::new(),
            defaults: BTreeSet::new(),
            hosts: Vec::new(),
            is_closed: false,
        };
        let old_ssl = block.inside().iter().any(|it| it.name == "ssl" && it.arg(0) == "on");
        let mut has_listen = false;
        for listen in block.inside().iter().filter(|it| it.name == "listen") {
            has_listen = true;
            self.listen(listen, old_ssl, &mut found);
        }
        if !has_listen {
            found.listeners.insert("http://0.0.0.0:80".into());
            self.gateway.listen_at("http://0.0.0.0:80");
        }
        for names in block.inside().iter().filter(|it| it.name == "server_name") {
            self.report.mark(names.row, LineFate::Carried, "");
            for name in &names.args {
                self.host(names, name, &mut found);
            }
        }
        found.hosts.sort_by_key(|(rank, _)| *rank);
        found.hosts.dedup();
        if found.listeners.iter().any(|it| it.starts_with("https:")) {
            self.certificates(block, http);
        }
        found
    }

    fn listen(&mut self, listen: &NginxDirective, old_ssl: bool, found: &mut FoundServer<'r>) {
        let row = listen.row;
        let has = |word: &str| listen.args[1..].iter().any(|it| it == word);
        let address = listen.arg(0);
        if listen.args.is_empty() || address.starts_with("unix:") {
            self.report.mark(row, LineFate::LeftOut, "the gateway listens at addresses");
            return;
        }
        if has("quic") || has("http3") {
            self.report.mark(row, LineFate::LeftOut, "there is no HTTP/3 yet");
            return;
        }
        let scheme = if has("ssl") || old_ssl { "https" } else { "http" };
        let address = match address.parse::<u16>() {
            Ok(port) => format!("0.0.0.0:{port}"),
            Err(_) => match address.strip_prefix('*').unwrap_or(address) {
                port if port.starts_with(':') => format!("0.0.0.0{port}"),
                host if host.starts_with('[') && host.ends_with(']') => format!("{host}:80"),
                host if !host.contains(':') => format!("{host}:80"),
                whole => whole.to_owned(),
            },
        };
        let address = address.replace("localhost:", "127.0.0.1:");
        if address.parse::<std::net::SocketAddr>().is_err() {
            self.report.mark(row, LineFate::LeftOut, "this is no address and port");
            return;
        }
        let listener = format!("{scheme}://{address}");
        let other = format!("{}://{address}", if scheme == "http" { "https" } else { "http" });
        if self.gateway.listen.contains(&other) {
            // Of one socket all speak TLS, or none.
            self.report.mark(row, LineFate::LeftOut, "another server has it with TLS, or without");
            return;
        }
        self.gateway.listen_at(&listener);
        self.report.mark(row, LineFate::Carried, "");
        if has("proxy_protocol") {
            let why = "write proxy_protocol: [NETWORKS] with those of the proxies in front: until \
                       then no PROXY header is believed, and such connections fail";
            self.report.mark(row, LineFate::Changed, why);
        }
        if has("default_server") || has("default") {
            found.defaults.insert(listener.clone());
        }
        found.listeners.insert(listener);
    }

    fn host(&mut self, names: &NginxDirective, name: &str, found: &mut FoundServer<'r>) {
        let lower = name.to_ascii_lowercase();
        let lower = lower.trim_end_matches('.');
        if let Some(text) = name.strip_prefix('~') {
            match read(text, LetterCase::Ignored) {
                ReadExpression::Same(text) => {
                    found.hosts.push((HostRank::Expression, HostTest::Matching(text)));
                }
                ReadExpression::Wider(_) | ReadExpression::Unreadable => {
                    let why = "the expression has no counterpart: the server answers 403";
                    self.report.mark(names.row, LineFate::Refused, why);
                    // What such hosts asked for is unknown, and other servers must not answer it.
                    found.is_closed = true;
                }
            }
            return;
        }
        let long = |text: &str| std::cmp::Reverse(text.len());
        match lower {
            // These name no host.
            "" | "_" | "__" | "-" | "localhost_" | "!" | "*" => {}
            _ if lower.starts_with("*.") => {
                let name = lower[2..].to_owned();
                found.hosts.push((HostRank::Begin(long(&name)), HostTest::Below(name)));
            }
            _ if lower.starts_with('.') => {
                let name = lower[1..].to_owned();
                found.hosts.push((HostRank::Exact, HostTest::Exact(name.clone())));
                found.hosts.push((HostRank::Begin(long(&name)), HostTest::Below(name)));
            }
            _ if lower.ends_with(".*") => {
                if let ValueMatcher::Expression(text) = host_mask(lower) {
                    found.hosts.push((HostRank::End(long(lower)), HostTest::Matching(text)));
                }
            }
            _ if is_host(lower) => {
                found.hosts.push((HostRank::Exact, HostTest::Exact(lower.into())));
            }
            _ => self.report.mark(names.row, LineFate::LeftOut, "a name is no host's"),
        }
    }

    fn certificates(&mut self, block: &'r NginxDirective, http: &NginxScope<'r>) {
        let scope = http.location(block.inside());
        let certificates = scope.all(&["ssl_certificate"]);
        let keys = scope.all(&["ssl_certificate_key"]);
        for (certificate, key) in certificates.iter().zip(&keys) {
            let is_file =
                |it: &NginxDirective| !it.arg(0).contains('$') && !it.arg(0).contains(':');
            if is_file(certificate) && is_file(key) {
                let path = |it: &NginxDirective| {
                    self.folder.join(it.arg(0)).to_string_lossy().into_owned()
                };
                let (chain, own) = (path(certificate), path(key));
                self.gateway.certificate(&chain, &own);
                self.report.mark(certificate.row, LineFate::Carried, "");
                self.report.mark(key.row, LineFate::Carried, "");
            }
        }
        for name in [
            "ssl_protocols",
            "ssl_ciphers",
            "ssl_prefer_server_ciphers",
            "ssl_session_cache",
            "ssl_session_timeout",
            "ssl_session_tickets",
            "ssl_dhparam",
            "ssl_stapling",
            "ssl_stapling_verify",
            "ssl_ecdh_curve",
            "ssl_trusted_certificate",
            "ssl_buffer_size",
            "ssl_early_data",
            "ssl_conf_command",
            "resolver",
            "resolver_timeout",
        ] {
            if let Some(found) = scope.last(name) {
                let why = "TLS 1.2 and 1.3 with the ciphers that are safe today";
                self.report.mark(found.row, LineFate::Changed, why);
            }
        }
    }

    /// Certificates of clients, which are asked for at all listeners or at none.
    fn clients_certificates(&mut self, http: &NginxScope<'r>, servers: &mut [FoundServer<'r>]) {
        let of = |server: &FoundServer<'r>| {
            let scope = http.location(server.block.inside());
            let verify = scope.last("ssl_verify_client").filter(|it| it.arg(0) != "off");
            verify.map(|verify| (verify, scope.last("ssl_client_certificate")))
        };
        let asked: Vec<_> = servers.iter().map(of).collect();
        let first = asked.iter().flatten().next().copied();
        let Some((verify, authority)) = first else { return };
        let all_same =
            asked.iter().all(|it| it.is_some_and(|(own, _)| own.arg(0) == verify.arg(0)));
        let all_https = self.gateway.listen.iter().all(|it| it.starts_with("https:"));
        let authorities: BTreeSet<&str> =
            asked.iter().flatten().filter_map(|(_, it)| it.map(|it| it.arg(0))).collect();
        let word = match verify.arg(0) {
            "on" => "require",
            "optional" => "request",
            _ => "",
        };
        if all_same
            && all_https
            && authorities.len() == 1
            && !word.is_empty()
            && let Some(authority) = authority
        {
            let path = self.folder.join(authority.arg(0)).to_string_lossy().into_owned();
            self.gateway.tls.insert("client_ca".into(), json!(path));
            self.gateway.tls.insert("client_certificate".into(), json!(word));
            for (verify, authority) in asked.into_iter().flatten() {
                self.report.mark(verify.row, LineFate::Carried, "");
                if let Some(authority) = authority {
                    self.report.mark(authority.row, LineFate::Carried, "");
                }
            }
            return;
        }
        for (server, asked) in servers.iter_mut().zip(asked) {
            if let Some((verify, _)) = asked {
                server.is_closed = true;
                let why = "the gateway asks all clients for certificates, or none: the server \
                           answers 403";
                self.report.mark(verify.row, LineFate::Refused, why);
            }
        }
    }

    /// The first server of a listener takes what no name fits.
    fn choose_defaults(&mut self, servers: &mut [FoundServer<'r>]) {
        for listener in self.gateway.listen.clone() {
            if servers.iter().any(|it| it.defaults.contains(&listener)) {
                continue;
            }
            if let Some(first) = servers.iter_mut().find(|it| it.listeners.contains(&listener)) {
                first.defaults.insert(listener);
            }
        }
    }

    fn client_settings(&mut self, scope: &NginxScope<'r>) {
        let (least, most) = (Duration::from_secs(1), Duration::from_hours(1));
        let times = [
            ("client_header_timeout", "header_timeout", Duration::from_mins(5)),
            ("client_body_timeout", "body_timeout", most),
            ("keepalive_timeout", "idle_timeout", most),
        ];
        for (name, key, most) in times {
            if let Some(found) = scope.last(name)
                && let Some(time) = time(found.arg(0)).filter(|it| !it.is_zero())
            {
                self.report.mark(found.row, LineFate::Carried, "");
                let text = written_time(time, least, most);
                let client = self.gateway.settings.entry("client".into()).or_insert(json!({}));
                client[key] = json!(text);
            }
        }
        let networks: Vec<&NginxDirective> =
            scope.everything().filter(|it| it.name == "set_real_ip_from").collect();
        let header = scope.text("real_ip_header").unwrap_or("X-Real-IP");
        if networks.is_empty() {
            return;
        }
        if !header.eq_ignore_ascii_case("X-Forwarded-For") {
            for found in networks {
                let why = "clients behind proxies are told by X-Forwarded-For or PROXY headers \
                           alone: rules by address see the proxy";
                self.report.mark(found.row, LineFate::LeftOut, why);
            }
            return;
        }
        let mut trusted = Vec::new();
        for found in networks {
            if found.arg(0).parse::<vocab::Network>().is_ok() {
                self.report.mark(found.row, LineFate::Carried, "");
                trusted.push(found.arg(0));
            }
        }
        if !trusted.is_empty() {
            self.gateway.settings.insert("trusted".into(), json!(trusted));
        }
    }

    fn server_steps(
        &mut self,
        server: &FoundServer<'r>,
        http: &'r [NginxDirective],
    ) -> Vec<FlowStep> {
        let scope = NginxScope::of(vec![http, server.block.inside()]);
        self.server_names = server
            .hosts
            .iter()
            .filter_map(|(_, it)| match it {
                HostTest::Exact(name) => Some(name.clone()),
                HostTest::Below(name) => Some(format!("*.{name}")),
                HostTest::Matching(_) => None,
            })
            .collect();
        self.server_block = server.block.inside();
        self.server_scope = scope.clone();
        self.is_closed = server.is_closed;
        self.steps = 0;
        if server.is_closed {
            return vec![FlowStep::answer(403)];
        }
        if self.real_ip_within(server) {
            return vec![FlowStep::answer(403)];
        }
        let rest: Vec<&'r NginxDirective> = server.block.inside().iter().collect();
        let mut known = VariableTexts::new();
        if let [(_, HostTest::Matching(text))] = server.hosts.as_slice() {
            bind_groups(&mut known, GroupSubject::Host, text);
        }
        self.rewrite_steps(&rest, &scope, known, &FlowTail::Locations, 0)
    }

    /// True if the server bars clients by an address that only a field says.
    fn real_ip_within(&mut self, server: &FoundServer<'r>) -> bool {
        let scope = self.server_scope.clone();
        let is_told = scope.last("set_real_ip_from").is_some();
        let header = scope.text("real_ip_header").unwrap_or("X-Real-IP");
        let is_known = self.gateway.settings.contains_key("trusted")
            && header.eq_ignore_ascii_case("X-Forwarded-For");
        if !is_told || is_known {
            return false;
        }
        let Some(deny) = first_rule(server.block) else { return false };
        let why = "rules by address would see the proxy in front: write proxy_protocol or trusted";
        self.report.mark(deny, LineFate::Refused, why);
        true
    }

    /// The routes of all servers, in the order in which nginx chooses among them.
    fn emit(&mut self, servers: &[FoundServer<'r>], made: &[Vec<FlowStep>]) {
        let mut turns: Vec<(HostRank, usize, &HostTest)> = Vec::new();
        for (index, server) in servers.iter().enumerate() {
            turns.extend(server.hosts.iter().map(|(rank, host)| (*rank, index, host)));
        }
        turns.sort_by_key(|(rank, index, _)| (*rank, *index));
        let all: BTreeSet<String> = self.gateway.listen.iter().cloned().collect();
        let mut report = std::mem::take(&mut self.report);
        let around = self.around;
        let is_folder = |path: &str| around.list(std::path::Path::new(path)).is_ok();
        let mut list = RouteList::new(&mut report, &is_folder, self.first_row);
        for (_, index, host) in turns {
            let server = &servers[index];
            list.row = server.block.row;
            let sole = server.defaults == server.listeners
                && !servers.iter().enumerate().any(|(other, it)| {
                    other != index
                        && !it.listeners.is_disjoint(&server.listeners)
                        && it.hosts.iter().any(|(_, wide)| wide.covers(host) || may_cover(wide))
                });
            // The routes of the default server are for its names too.
            if sole {
                continue;
            }
            let listen = (server.listeners != all).then(|| server.listeners.clone());
            let place =
                RequestPlace { listen, host: Some(host.clone()), ..RequestPlace::default() };
            list.add(&place, &made[index]);
        }
        for (index, server) in servers.iter().enumerate() {
            if server.defaults.is_empty() {
                continue;
            }
            list.row = server.block.row;
            let listen = (server.defaults != all).then(|| server.defaults.clone());
            let place = RequestPlace { listen, ..RequestPlace::default() };
            list.add(&place, &made[index]);
        }
        let routes = std::mem::take(&mut list.routes);
        let is_overfull = list.is_overfull();
        self.report = report;
        self.gateway.routes = routes;
        if is_overfull {
            // Told as a fault by the caller.
            self.gateway.routes.resize(import_routes::flow::ROUTES_MAX + 1, json!({}));
        }
    }

    /// Marks the lines of a table whose cases became routes.
    pub(super) fn mark_table(&mut self, name: &str) {
        if let Some(table) = self.tables.get(name).copied() {
            self.report.mark(table.row, LineFate::Carried, "");
            for line in table.inside() {
                self.report.mark(line.row, LineFate::Carried, "");
            }
        }
    }
}

/// True for hosts that are compared by expressions: they may be anybody's.
fn may_cover(host: &HostTest) -> bool {
    matches!(host, HostTest::Matching(_))
}

/// A rule by address anywhere within.
fn first_rule(block: &NginxDirective) -> Option<import_routes::report::RowId> {
    block.inside().iter().find_map(|it| match it.name.as_str() {
        "deny" | "allow" => Some(it.row),
        _ => first_rule(it),
    })
}
