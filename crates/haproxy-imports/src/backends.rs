//! Backends as pools, and what they do to requests.

use super::conditions::AccessLists;
use super::frontends::time;
use super::rules::RuleSteps;
use super::{HaproxyLine, HaproxyProxy, HaproxyReader};
use import_routes::flow::{FlowStep, RouteEnd};
use import_routes::names::{is_address, is_cookie};
use import_routes::report::LineFate;
use import_routes::written_values::written_time;
use serde_json::{Map, Value, json};
use std::time::Duration;

impl HaproxyReader<'_> {
    /// The steps of a backend to its servers.
    pub(super) fn backend_steps(&mut self, name: &str, budget: &mut usize) -> Vec<FlowStep> {
        let refused = |reader: &Self, why: &str| {
            vec![FlowStep::End(RouteEnd::Refused(reader.first_row, why.into()))]
        };
        let Some(backend) = self.backends.get(name).cloned() else {
            return refused(self, &format!("there is no backend {name:?}"));
        };
        if *budget == 0 {
            return refused(self, "backends are led to too often");
        }
        *budget -= 1;
        let Some(pool) = self.pool(&backend) else {
            return vec![FlowStep::End(RouteEnd::Refused(
                backend.row,
                "its servers cannot be named here".into(),
            ))];
        };
        let mut route = Map::new();
        route.insert("pool".into(), json!(pool));
        let end = FlowStep::End(RouteEnd::Settings(route));
        let listen = self.gateway.listen.clone();
        let around = self.around;
        let lists = AccessLists::of(&backend.lines, &listen, around);
        if backend.kind == "listen" {
            // Its rules are those of the frontend that it is.
            return vec![end];
        }
        for line in backend.lines.iter().filter(|it| it.word(0) == "acl") {
            self.report.mark(line.row, LineFate::Carried, "");
        }
        let lines: Vec<&HaproxyLine> = backend.lines.iter().collect();
        let mut rules = RuleSteps { reader: self, proxy: &backend, lists: &lists, budget: 0 };
        let mut steps = rules.responses(&lines);
        steps.extend(rules.requests(&lines, &[end]));
        steps
    }

    fn pool(&mut self, backend: &HaproxyProxy) -> Option<String> {
        let mut pool = json!({ "balance": "round_robin" });
        let mut servers = Vec::new();
        let mut defaults: Vec<String> = Vec::new();
        for line in &backend.lines {
            match line.word(0) {
                "default-server" => {
                    self.report.mark(line.row, LineFate::Carried, "");
                    defaults.extend(line.from(1).iter().cloned());
                }
                "server" => {
                    let options = [defaults.as_slice(), line.from(3)].concat();
                    servers.extend(self.server(line, line.word(2), &options, &mut pool));
                }
                "server-template" => {
                    let options = [defaults.as_slice(), line.from(4)].concat();
                    if let Some(mut server) = self.server(line, line.word(3), &options, &mut pool) {
                        if let Some(url) = server.as_str() {
                            server = json!({ "url": url });
                        }
                        server["resolve"] = json!("addresses");
                        servers.push(server);
                    }
                }
                _ => self.setting(line, &mut pool),
            }
        }
        self.health(backend, &mut pool);
        if servers.is_empty() {
            pool["starts_empty"] = json!(true);
        }
        pool["servers"] = json!(servers);
        self.gateway.pool(&backend.name, &pool)
    }

    fn setting(&mut self, line: &HaproxyLine, pool: &mut Value) {
        let row = line.row;
        let mut said = (LineFate::Carried, "");
        match line.word(0) {
            "balance" => said = balance(line, pool),
            "cookie" if is_cookie(line.word(1)) => {
                pool["sticky"] = json!({ "cookie": line.word(1) });
                if !line.words.iter().any(|it| it == "insert") {
                    said = (LineFate::Changed, "the gateway sets the cookie itself");
                }
            }
            "retries" => {
                let attempts =
                    line.word(1).parse::<u8>().unwrap_or(3).saturating_add(1).clamp(1, 8);
                pool["retry"]["attempts"] = json!(attempts);
            }
            "fullconn" => said = (LineFate::LeftOut, "see max_requests of servers"),
            "timeout" => {
                let (key, least, most) = match line.word(1) {
                    "connect" => ("connect", Duration::from_millis(10), Duration::from_mins(1)),
                    "server" => ("first_byte", Duration::from_millis(10), Duration::from_hours(1)),
                    "queue" => {
                        let Some(time) = time(line.word(2)) else { return };
                        let (least, most) = (Duration::from_secs(1), Duration::from_mins(5));
                        pool["queue"]["deadline"] = json!(written_time(time, least, most));
                        self.report.mark(row, LineFate::Carried, "");
                        return;
                    }
                    "tunnel" => {
                        let Some(time) = time(line.word(2)) else { return };
                        let (least, most) = (Duration::from_secs(10), Duration::from_hours(24));
                        let text = written_time(time, least, most);
                        self.gateway.settings.insert("upgrade_idle".into(), json!(text));
                        self.report.mark(row, LineFate::Changed, "for the whole gateway");
                        return;
                    }
                    _ => return,
                };
                let Some(time) = time(line.word(2)) else { return };
                pool["timeouts"][key] = json!(written_time(time, least, most));
                if key == "first_byte" {
                    let text = pool["timeouts"][key].clone();
                    pool["timeouts"]["between_bytes"] = text;
                }
            }
            "http-reuse" | "no" => {}
            _ => return,
        }
        self.report.mark(row, said.0, said.1);
    }

    fn health(&mut self, backend: &HaproxyProxy, pool: &mut Value) {
        let Some(check) = backend.last(&["option", "httpchk"]) else { return };
        let words = check.from(2);
        let mut path = words.iter().find(|it| it.starts_with('/')).cloned();
        let mut fate = LineFate::Carried;
        if words.first().is_some_and(|it| it.as_str() != "GET" && !it.starts_with('/')) {
            fate = LineFate::Changed;
        }
        for line in backend.lines.iter().filter(|it| it.word(0) == "http-check") {
            let uri = line.words.iter().position(|it| it == "uri").map(|at| line.word(at + 1));
            if let Some(uri) = uri {
                path = Some(uri.to_owned());
                self.report.mark(line.row, LineFate::Carried, "");
            }
            if line.word(1) == "expect"
                && line.word(2) == "status"
                && let Ok(status @ 100..=599) = line.word(3).parse::<u16>()
            {
                pool["health"]["status"] = json!([status]);
                self.report.mark(line.row, LineFate::Carried, "");
            }
        }
        let why = if fate == LineFate::Changed { "by GET" } else { "" };
        self.report.mark(check.row, fate, why);
        pool["health"]["path"] = json!(path.unwrap_or_else(|| "/".into()));
    }

    /// One server; its options may say something of all.
    fn server(
        &mut self,
        line: &HaproxyLine,
        address: &str,
        options: &[String],
        pool: &mut Value,
    ) -> Option<Value> {
        self.report.mark(line.row, LineFate::Carried, "");
        let has = |word: &str| options.iter().any(|it| it == word);
        let after = |word: &str| {
            options.iter().rposition(|it| it == word).and_then(|at| options.get(at + 1))
        };
        let is_tls = has("ssl");
        let is_h2 = after("proto").is_some_and(|it| it == "h2");
        let scheme = match (is_tls, is_h2) {
            (true, _) => "https",
            (false, true) => "h2c",
            (false, false) => "http",
        };
        let Some(url) = server_url(address, scheme) else {
            self.report.mark(line.row, LineFate::LeftOut, "this is no address");
            return None;
        };
        if has("disabled") {
            let why = "it is disabled: tidegate ctl server add brings it back";
            self.report.mark(line.row, LineFate::Changed, why);
            return None;
        }
        let mut server = json!({ "url": url });
        if let Some(weight) = after("weight").and_then(|it| it.parse::<u32>().ok()) {
            server["weight"] = json!(weight.clamp(1, 100));
            if !(1..=100).contains(&weight) {
                self.report.mark(line.row, LineFate::Changed, "weights are from 1 to 100");
            }
        }
        if has("backup") {
            server["backup"] = json!(true);
        }
        if let Some(count @ 1..=1_000_000) = after("maxconn").and_then(|it| it.parse::<u32>().ok())
        {
            server["max_requests"] = json!(count);
        }
        if has("check") && pool.get("health").is_none() {
            pool["health"] = json!({ "kind": "tcp" });
        }
        for (word, key) in [("fall", "unhealthy"), ("rise", "healthy")] {
            if has("check")
                && let Some(count @ 1..=10) = after(word).and_then(|it| it.parse::<u8>().ok())
            {
                pool["health"][key] = json!(count);
            }
        }
        if let Some(inter) = after("inter").filter(|_| has("check")).and_then(|it| time(it)) {
            let (least, most) = (Duration::from_secs(1), Duration::from_hours(1));
            pool["health"]["interval"] = json!(written_time(inter, least, most));
        }
        if has("send-proxy") || has("send-proxy-v2") {
            pool["proxy_protocol"] = json!(if has("send-proxy-v2") { "v2" } else { "v1" });
        }
        if is_tls {
            self.server_tls(line, options, pool);
        }
        match server.as_object() {
            Some(only) if only.len() == 1 => Some(json!(url)),
            _ => Some(server),
        }
    }

    /// TLS with the servers of a pool.
    fn server_tls(&mut self, line: &HaproxyLine, options: &[String], pool: &mut Value) {
        let after = |word: &str| {
            options.iter().rposition(|it| it == word).and_then(|at| options.get(at + 1))
        };
        let mut tls = json!({});
        if after("verify").is_some_and(|it| it == "none") {
            tls["verify"] = json!("none");
            let why = "the server's certificate is not verified, as before";
            self.report.mark(line.row, LineFate::Changed, why);
        }
        if let Some(ca) = after("ca-file").filter(|it| !it.starts_with('@')) {
            tls["ca"] = json!(self.folder.join(ca).to_string_lossy());
        }
        if let Some(name) = after("sni").and_then(|it| it.strip_prefix("str(")) {
            tls["name"] = json!(name.trim_end_matches(')'));
        }
        if let Some(crt) = after("crt") {
            let path = self.folder.join(crt).to_string_lossy().into_owned();
            tls["certificate"] = json!(path);
            tls["key"] = json!(path);
        }
        pool["tls"] = tls;
        if after("alpn").is_none() {
            pool["http"] = json!("h1");
        }
    }
}

fn balance(line: &HaproxyLine, pool: &mut Value) -> (LineFate, &'static str) {
    let word = line.word(1);
    let (name, argument) = word.split_once('(').unwrap_or((word, ""));
    let mut hash = |key: String| {
        pool["balance"] = json!("consistent_hash");
        pool["hash"] = json!(key);
        (LineFate::Changed, "consistently: one server's keys move where it goes, and no others")
    };
    match name {
        "roundrobin" | "static-rr" => (LineFate::Carried, ""),
        "leastconn" => {
            pool["balance"] = json!("least_connections");
            (LineFate::Carried, "")
        }
        "source" => {
            pool["balance"] = json!("client_hash");
            (LineFate::Carried, "")
        }
        "uri" => hash("uri".into()),
        "hdr" => hash(format!("header:{}", argument.trim_end_matches(')').to_ascii_lowercase())),
        "random" => {
            pool["balance"] = json!("p2c");
            (LineFate::Carried, "")
        }
        "first" => (LineFate::Changed, "in turn"),
        _ => (LineFate::Changed, "in turn: hash knows uri, client, a field or a cookie"),
    }
}

/// The URL of a server, if it has an address.
fn server_url(address: &str, scheme: &str) -> Option<String> {
    let address = address.trim_start_matches("ipv4@").trim_start_matches("ipv6@");
    if let Some(path) = address.strip_prefix("unix@").or(address.strip_prefix('/')) {
        let begin = if scheme == "h2c" { "h2c+" } else { "" };
        return Some(format!("{begin}unix:/{}", path.trim_start_matches('/')));
    }
    let port = if scheme == "https" { 443 } else { 80 };
    let whole =
        if address.contains(':') { address.to_owned() } else { format!("{address}:{port}") };
    is_address(&whole).then(|| format!("{scheme}://{whole}"))
}
