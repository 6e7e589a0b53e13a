//! Frontends: where they listen, and the steps that their rules are.

use super::conditions::AccessLists;
use super::rules::RuleSteps;
use super::{HaproxyLine, HaproxyProxy, HaproxyReader};
use import_routes::flow::{FlowStep, RouteList};
use import_routes::place::RequestPlace;
use import_routes::report::LineFate;
use import_routes::written_values::written_time;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

impl HaproxyReader<'_> {
    /// The routes of all frontends; none where there are too many.
    pub(super) fn frontends(&mut self, frontends: &[HaproxyProxy]) -> Option<Vec<Value>> {
        let mut open = Vec::new();
        for frontend in frontends {
            if !frontend.is_http() {
                let why = "the gateway speaks HTTP alone";
                self.report.mark(frontend.row, LineFate::LeftOut, why);
                continue;
            }
            let serves = frontend.lines.iter().any(|it| {
                matches!(it.word(0), "use_backend" | "default_backend" | "server" | "redirect")
                    || it.word(0) == "server-template"
                    || it.begins(&["http-request", "redirect"])
                    || it.begins(&["http-request", "return"])
            });
            if !serves {
                let why = "nothing but statistics: the metrics page and the dashboard have them";
                self.report.mark(frontend.row, LineFate::LeftOut, why);
                continue;
            }
            let listeners = self.listeners(frontend);
            if !listeners.is_empty() {
                open.push((frontend, listeners));
            }
        }
        let mut made = Vec::new();
        for (frontend, listeners) in &open {
            self.client_settings(frontend);
            made.push((frontend.row, listeners.clone(), self.steps(frontend)));
        }
        let all: BTreeSet<String> = self.gateway.listen.iter().cloned().collect();
        let mut report = std::mem::take(&mut self.report);
        let around = self.around;
        let is_folder = |path: &str| around.list(Path::new(path)).is_ok();
        let mut list = RouteList::new(&mut report, &is_folder, self.first_row);
        for (row, listeners, steps) in made {
            list.row = row;
            let listen = (listeners != all).then_some(listeners);
            list.add(&RequestPlace { listen, ..RequestPlace::default() }, &steps);
        }
        let routes = std::mem::take(&mut list.routes);
        let is_overfull = list.is_overfull();
        self.report = report;
        (!is_overfull).then_some(routes)
    }

    fn listeners(&mut self, frontend: &HaproxyProxy) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for bind in frontend.lines.iter().filter(|it| it.word(0) == "bind") {
            for address in bind.word(1).split(',') {
                if let Some(listener) = self.listener(bind, address) {
                    self.gateway.listen_at(&listener);
                    found.insert(listener);
                }
            }
        }
        found
    }

    fn listener(&mut self, bind: &HaproxyLine, address: &str) -> Option<String> {
        let address = address.trim_start_matches("ipv4@").trim_start_matches("ipv6@");
        let (host, port) = address.rsplit_once(':')?;
        let (host, note) = match host {
            "" | "*" | "0.0.0.0" => ("0.0.0.0".to_owned(), ""),
            "::" | "[::]" => ("[::]".to_owned(), "IPv6 alone: add 0.0.0.0 for IPv4"),
            "localhost" => ("127.0.0.1".to_owned(), ""),
            host if host.contains(':') && !host.starts_with('[') => (format!("[{host}]"), ""),
            host => (host.to_owned(), ""),
        };
        let is_tls = bind.words.iter().any(|it| it == "ssl");
        let scheme = if is_tls { "https" } else { "http" };
        let text = format!("{host}:{port}");
        if text.parse::<std::net::SocketAddr>().is_err() {
            self.report.mark(bind.row, LineFate::LeftOut, "this is no address and port");
            return None;
        }
        let fate = if note.is_empty() { LineFate::Carried } else { LineFate::Changed };
        self.report.mark(bind.row, fate, note);
        let after = |word: &str| {
            let mut at = bind.words.iter().enumerate().filter(|(_, it)| *it == word);
            at.next().map(|(at, _)| bind.word(at + 1).to_owned())
        };
        if is_tls {
            let crts = bind.words.windows(2).filter(|it| it[0] == "crt").map(|it| it[1].clone());
            for crt in crts.collect::<Vec<_>>() {
                self.certificates(&crt);
            }
            if bind.words.iter().any(|it| it == "crt-list") {
                let why = "crt-list is not read: write tls.certificates";
                self.report.mark(bind.row, LineFate::Changed, why);
            }
            match (after("verify").as_deref(), after("ca-file")) {
                (Some(word @ ("required" | "optional")), Some(ca)) => {
                    let word = if word == "required" { "require" } else { "request" };
                    let path = self.folder.join(ca).to_string_lossy().into_owned();
                    self.gateway.tls.insert("client_ca".into(), json!(path));
                    self.gateway.tls.insert("client_certificate".into(), json!(word));
                    let why = "for all listeners, which must all be https: check says so";
                    self.report.mark(bind.row, LineFate::Changed, why);
                }
                (Some("required" | "optional"), None) => {
                    self.report.mark(bind.row, LineFate::LeftOut, "no ca-file says whose");
                    return None;
                }
                (_, _) => {}
            }
        }
        if bind.words.iter().any(|it| it == "accept-proxy") {
            let why = "write proxy_protocol: [NETWORKS] with those of the proxies in front";
            self.report.mark(bind.row, LineFate::Changed, why);
        }
        Some(format!("{scheme}://{text}"))
    }

    /// Chain and key stand in one file.
    fn certificates(&mut self, crt: &str) {
        let path = self.folder.join(crt);
        let files = match self.around.list(&path) {
            Ok(names) => names
                .into_iter()
                .filter(|it| it.strip_suffix(".pem").is_some())
                .map(|it| path.join(it))
                .collect(),
            Err(_) => vec![path],
        };
        for file in files {
            let chain = file.to_string_lossy().into_owned();
            let mut beside = file.clone().into_os_string();
            beside.push(".key");
            let key = match self.around.read(Path::new(&beside)) {
                Ok(_) => beside.to_string_lossy().into_owned(),
                Err(_) => chain.clone(),
            };
            self.gateway.certificate(&chain, &key);
        }
    }

    /// Timeouts and bounds of clients, which hold for the whole gateway.
    fn client_settings(&mut self, frontend: &HaproxyProxy) {
        let (least, hour) = (Duration::from_secs(1), Duration::from_hours(1));
        for (name, keys, most) in [
            ("client", ["idle_timeout", "body_timeout"].as_slice(), hour),
            ("http-request", &["header_timeout"], Duration::from_mins(5)),
            ("http-keep-alive", &["idle_timeout"], hour),
        ] {
            let Some(line) = frontend.last(&["timeout", name]) else { continue };
            let Some(time) = time(line.word(2)) else { continue };
            self.report.mark(line.row, LineFate::Carried, "");
            let client = self.gateway.settings.entry("client".into()).or_insert(json!({}));
            for key in keys {
                client[*key] = json!(written_time(time, least, most));
            }
        }
        if let Some(line) = frontend.last(&["maxconn"])
            && let Ok(count @ 1..=1_000_000) = line.word(1).parse::<u32>()
        {
            self.report.mark(line.row, LineFate::Carried, "");
            let known = self.gateway.settings.get("connections").and_then(Value::as_u64);
            let count = u64::from(count).max(known.unwrap_or(0));
            self.gateway.settings.insert("connections".into(), json!(count));
            if count < 1_024 {
                self.gateway.settings.insert("connections_per_client".into(), json!(count));
            }
        }
    }

    fn steps(&mut self, frontend: &HaproxyProxy) -> Vec<FlowStep> {
        let listen = self.gateway.listen.clone();
        let around = self.around;
        let lists = AccessLists::of(&frontend.lines, &listen, around);
        for line in frontend.lines.iter().filter(|it| it.word(0) == "acl") {
            self.report.mark(line.row, LineFate::Carried, "");
        }
        let mut steps = Vec::new();
        if let Some(line) = frontend.last(&["monitor-uri"]) {
            self.report.mark(line.row, LineFate::Carried, "");
            let test = import_routes::path_test::PathTest::Exact(line.word(1).into());
            let test = import_routes::place::RequestTest::Path(test);
            steps.push(FlowStep::when(test, vec![FlowStep::answer(200)]));
        }
        if frontend.last(&["compression", "algo"]).is_some() {
            steps.push(FlowStep::Set("compress", json!({ "codings": ["gzip"] })));
            for line in frontend.lines.iter().filter(|it| it.word(0) == "compression") {
                self.report.mark(line.row, LineFate::Carried, "");
            }
        }
        if !frontend.has_option("forwardfor") {
            let why = "servers are told of the client by X-Forwarded-For and its like: forwarded: \
                       off takes that away";
            self.report.mark(frontend.row, LineFate::Changed, why);
        }
        let lines: Vec<&HaproxyLine> = frontend.lines.iter().collect();
        let mut rules = RuleSteps { reader: self, proxy: frontend, lists: &lists, budget: 4_000 };
        steps.extend(rules.frontend(&lines));
        steps
    }
}

/// A time of HAProxy: milliseconds without a unit.
pub(super) fn time(text: &str) -> Option<Duration> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let count: u64 = text[..end].parse().ok()?;
    let factor = match &text[end..] {
        "us" => return Some(Duration::from_micros(count)),
        "" | "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000_u64,
        _ => return None,
    };
    Some(Duration::from_millis(count.checked_mul(factor)?))
}
