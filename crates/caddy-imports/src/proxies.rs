//! `reverse_proxy`, `php_fastcgi` and `forward_auth`: servers behind a site.

use super::CaddyReader;
use super::answers::text_of;
use super::handlers::SiteState;
use super::tree::CaddyDirective;
use import_routes::flow::{FieldSide, FlowStep, FolderEnd, RouteEnd};
use import_routes::names::{is_address, is_cookie, is_field};
use import_routes::report::LineFate;
use import_routes::written_values::written_time;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// Servers of a range of ports.
const RANGE_MAX: u16 = 64;

impl CaddyReader<'_> {
    pub(super) fn proxied(
        &mut self,
        first: &CaddyDirective,
        args: &[String],
        state: &SiteState,
    ) -> Vec<FlowStep> {
        let mut texts: Vec<String> = args.to_vec();
        for line in first.block.iter().filter(|it| it.name == "to") {
            self.report.mark(line.row, LineFate::Carried, "");
            texts.extend(line.args.iter().cloned());
        }
        let transport = first.block.iter().find(|it| it.name == "transport");
        let has =
            |name: &str| transport.is_some_and(|it| it.block.iter().any(|it| it.name == name));
        let is_tls = has("tls") || has("tls_insecure_skip_verify");
        let is_h2c = transport.is_some_and(|it| {
            it.block.iter().any(|it| it.name == "versions" && it.args.iter().any(|it| it == "h2c"))
        });
        if transport.is_some_and(|it| it.arg(0) != "http") {
            return Self::refused(first, "the gateway speaks HTTP to servers");
        }
        let mut servers: Vec<String> = Vec::new();
        for text in &texts {
            match servers_of(text, is_tls, is_h2c) {
                Some(more) => servers.extend(more),
                None => return Self::refused(first, "a server cannot be named here"),
            }
        }
        if servers.is_empty() {
            return Self::refused(first, "its servers are found by what has no counterpart");
        }
        let mut pool = json!({ "servers": servers, "balance": "random" });
        if servers.iter().any(|it| it.starts_with("https:")) && has("tls_insecure_skip_verify") {
            pool["tls"] = json!({ "verify": "none" });
            let why = "the server's certificate is not verified, as before";
            self.report.mark(first.row, LineFate::Changed, why);
        }
        if let Some(transport) = transport {
            self.transport(transport, &mut pool);
        }
        let mut route = Map::new();
        let mut steps = Vec::new();
        if let Some(step) = self.proxy_options(first, &mut pool, &mut route, &mut steps) {
            return vec![step];
        }
        let name = texts.first().map_or("servers", String::as_str);
        let name = name.split("://").last().unwrap_or(name).to_owned();
        let Some(pool) = self.gateway.pool(&name, &pool) else {
            return Self::refused(first, "there are too many pools");
        };
        route.insert("pool".into(), json!(pool));
        if !state.base.is_empty() {
            route.insert("strip_prefix".into(), json!(state.base));
        }
        if let Some(pair) = &state.rewrite {
            route.insert("rewrite".into(), pair.clone());
        }
        if state.fallback.is_some() {
            return Self::refused(first, "files are not sought before servers are asked");
        }
        steps.push(FlowStep::End(RouteEnd::Settings(route)));
        steps
    }

    /// Options of `reverse_proxy`; a step where one closes all.
    fn proxy_options(
        &mut self,
        first: &CaddyDirective,
        pool: &mut Value,
        route: &mut Map<String, Value>,
        steps: &mut Vec<FlowStep>,
    ) -> Option<FlowStep> {
        for line in &first.block {
            let mut said = (LineFate::Carried, "");
            match line.name.as_str() {
                "to" | "transport" | "flush_interval" | "stream_timeout" | "stream_close_delay" => {
                }
                "lb_policy" => said = policy(line, pool),
                "lb_retries" => {
                    let retries = line.arg(0).parse::<u8>().unwrap_or(0);
                    pool["retry"] = json!({ "attempts": retries.saturating_add(1).clamp(1, 8) });
                }
                "health_uri" => pool["health"]["path"] = json!(line.arg(0)),
                "health_interval" => {
                    if let Some(time) = time(line.arg(0)) {
                        let text =
                            written_time(time, Duration::from_secs(1), Duration::from_hours(1));
                        pool["health"]["interval"] = json!(text);
                    }
                }
                "health_status" if line.arg(0).parse::<u16>().is_ok() => {
                    pool["health"]["status"] = json!([line.arg(0).parse::<u16>().unwrap_or(200)]);
                }
                "unhealthy_request_count" => said = (LineFate::LeftOut, "see max_requests"),
                "header_up" | "header_down" => self.field(line, route, steps),
                "lb_try_duration" | "lb_try_interval" | "fail_duration" | "max_fails"
                | "unhealthy_status" | "unhealthy_latency" | "health_timeout" | "health_body"
                | "health_headers" | "health_port" | "health_status" | "health_fails"
                | "health_passes" => {
                    said = (LineFate::Changed, "as retry, passive and health of the pool say");
                }
                "trusted_proxies" => said = (LineFate::LeftOut, "write gateway.trusted"),
                "request_buffers" | "response_buffers" | "buffer_requests" => {
                    said = (LineFate::LeftOut, "see uploads");
                }
                "handle_response" | "replace_status" | "copy_response" => {
                    said =
                        (LineFate::LeftOut, "answers are not looked at: see scripts and reproxy");
                }
                _ if line.name.starts_with('@') => {}
                "rewrite" | "method" | "dynamic" => {
                    let why = "its servers are asked for what has no counterpart".to_owned();
                    return Some(FlowStep::End(RouteEnd::Refused(line.row, why)));
                }
                _ => said = (LineFate::LeftOut, "it has no counterpart"),
            }
            self.report.mark(line.row, said.0, said.1);
        }
        if pool.get("health").is_some_and(|it| it.get("path").is_none()) {
            pool["health"]["path"] = json!("/");
        }
        None
    }

    fn field(
        &mut self,
        line: &CaddyDirective,
        route: &mut Map<String, Value>,
        steps: &mut Vec<FlowStep>,
    ) {
        let side = if line.name == "header_up" { FieldSide::Request } else { FieldSide::Response };
        let name = line.arg(0);
        let is_up = side == FieldSide::Request;
        if is_up && name.eq_ignore_ascii_case("host") {
            let server = [
                "{upstream_hostport}",
                "{http.reverse_proxy.upstream.hostport}",
                "{http.reverse_proxy.upstream.host}",
            ];
            match line.arg(1) {
                text if server.contains(&text) => {
                    route.insert("set_host".into(), json!("server"));
                }
                "{host}" | "{http.request.host}" | "{hostport}" => {}
                text if is_address(text) => {
                    route.insert("set_host".into(), json!(text));
                }
                _ => self.report.mark(line.row, LineFate::Changed, "what the client asked for"),
            }
            return;
        }
        let (verb, plain) = match name.chars().next() {
            Some('-') => ("remove", &name[1..]),
            Some('+') => ("add", &name[1..]),
            Some('>') => ("set", &name[1..]),
            _ => ("set", name),
        };
        let forwarded = plain.to_ascii_lowercase().starts_with("x-forwarded-");
        if is_up && forwarded && verb != "remove" {
            let why = "always sent, and what a client that is not trusted claims is left out";
            self.report.mark(line.row, LineFate::Changed, why);
            return;
        }
        if !is_field(plain, "") || line.args.len() > 2 {
            if !plain.eq_ignore_ascii_case("connection") && !plain.eq_ignore_ascii_case("upgrade") {
                self.report.mark(line.row, LineFate::LeftOut, "this is no rule for one field");
            }
            return;
        }
        let rule = match (verb, text_of(line.arg(1))) {
            ("remove", _) => json!({ "remove": plain }),
            (verb, Ok(text)) if is_field(plain, &text) => json!({ verb: plain, "value": text }),
            (_, _) => {
                let why = "its value has no counterpart: none is sent";
                self.report.mark(line.row, LineFate::Changed, why);
                json!({ "remove": plain })
            }
        };
        steps.push(FlowStep::Field(side, rule));
    }

    fn transport(&mut self, transport: &CaddyDirective, pool: &mut Value) {
        for line in &transport.block {
            let mut said = (LineFate::Carried, "");
            let (least, most) = (Duration::from_millis(10), Duration::from_mins(1));
            match line.name.as_str() {
                "tls" | "tls_insecure_skip_verify" | "versions" => {}
                "tls_server_name" => pool["tls"]["name"] = json!(line.arg(0)),
                "tls_trusted_ca_certs" => pool["tls"]["ca"] = json!(line.arg(0)),
                "tls_client_auth" if line.args.len() == 2 => {
                    pool["tls"]["certificate"] = json!(line.arg(0));
                    pool["tls"]["key"] = json!(line.arg(1));
                }
                "dial_timeout" => {
                    if let Some(time) = time(line.arg(0)) {
                        pool["timeouts"]["connect"] = json!(written_time(time, least, most));
                    }
                }
                "response_header_timeout" | "read_timeout" => {
                    if let Some(time) = time(line.arg(0)) {
                        let text = written_time(time, least, Duration::from_hours(1));
                        let key = if line.name == "read_timeout" {
                            "between_bytes"
                        } else {
                            "first_byte"
                        };
                        pool["timeouts"][key] = json!(text);
                    }
                }
                "keepalive" if line.arg(0) == "off" => {
                    pool["keep_alive"]["connections"] = json!(0);
                }
                _ => said = (LineFate::LeftOut, "it has no counterpart"),
            }
            self.report.mark(line.row, said.0, said.1);
        }
    }

    /// `forward_auth` of routes.
    pub(super) fn authority(&mut self, first: &CaddyDirective, args: &[String]) -> Option<Value> {
        let base = args.first()?;
        let server = servers_of(base, false, false)?.into_iter().next()?;
        let line = |name: &str| first.block.iter().find(|it| it.name == name);
        let uri = line("uri")?;
        if server.starts_with("unix") || server.starts_with("h2c") {
            return None;
        }
        let known = ["uri", "copy_headers"];
        if first.block.iter().any(|it| !known.contains(&it.name.as_str())) {
            let why = "its other options are left out";
            self.report.mark(first.row, LineFate::Changed, why);
        }
        self.report.mark(uri.row, LineFate::Carried, "");
        let mut made = json!({ "url": format!("{server}{}", uri.arg(0)) });
        if let Some(copied) = line("copy_headers") {
            self.report.mark(copied.row, LineFate::Carried, "");
            let names = copied.args.iter().chain(copied.block.iter().map(|it| &it.name));
            let names: Vec<&String> = names.collect();
            if names.iter().any(|it| it.contains(['>', '_']) || !is_field(it, ""))
                || names.len() > 32
            {
                return None;
            }
            if copied.block.iter().any(|it| !it.args.is_empty()) {
                return None;
            }
            made["copy_headers"] = json!(names);
        }
        Some(made)
    }

    pub(super) fn scripts(
        &mut self,
        first: &CaddyDirective,
        args: &[String],
        state: &SiteState,
        mut settings: Map<String, Value>,
    ) -> Vec<FlowStep> {
        let Some(root) = state.root.clone() else {
            return Self::refused(first, "no root says where its scripts are");
        };
        let address = args.first().map_or("", String::as_str);
        let server = match address.strip_prefix("unix/") {
            Some(path) => format!("unix://{path}"),
            None if is_address(address) && address.contains(':') => format!("tcp://{address}"),
            None => return Self::refused(first, "its server cannot be named here"),
        };
        if args.len() > 1 {
            self.report.mark(first.row, LineFate::Changed, "of several servers the first is asked");
        }
        let mut script = json!({ "server": server });
        let (mut params, mut fallback) = (Map::new(), Some("/index.php".to_owned()));
        for line in &first.block {
            let mut said = (LineFate::Carried, "");
            match line.name.as_str() {
                "root" => script["root"] = json!(line.arg(0)),
                "split" => script["split_path"] = json!(line.arg(0)),
                "index" if line.arg(0) == "off" => fallback = None,
                "index" => script["index"] = json!(line.arg(0)),
                "env" if !line.arg(1).contains('{') => {
                    params.insert(line.arg(0).into(), json!(line.arg(1)));
                }
                "read_timeout" => {
                    if let Some(time) = time(line.arg(0)) {
                        let (least, most) = (Duration::from_secs(1), Duration::from_hours(1));
                        script["timeout"] = json!(written_time(time, least, most));
                    }
                }
                "try_files" => {
                    fallback = line.args.iter().rev().find(|it| it.starts_with('/')).cloned();
                }
                _ => said = (LineFate::LeftOut, "it has no counterpart"),
            }
            self.report.mark(line.row, said.0, said.1);
        }
        if !params.is_empty() {
            script["params"] = Value::Object(params);
        }
        settings.insert("fastcgi".into(), json!({ "*.php": script }));
        let mount = if state.base.is_empty() { "/".into() } else { format!("{}/", state.base) };
        let fallback = fallback.map(|it| format!("{}{it}", state.base));
        let folder = FolderEnd { root, mount, fallback, settings, has_scripts: true };
        vec![FlowStep::End(RouteEnd::Folder(folder))]
    }
}

fn policy(line: &CaddyDirective, pool: &mut Value) -> (LineFate, &'static str) {
    let name = match line.arg(0) {
        "random" => "random",
        "random_choose" => "p2c",
        "least_conn" => "least_connections",
        "round_robin" | "weighted_round_robin" => "round_robin",
        "ip_hash" | "client_ip_hash" => "client_hash",
        "uri_hash" => {
            pool["hash"] = json!("uri");
            "consistent_hash"
        }
        "header" if is_field(line.arg(1), "") => {
            pool["hash"] = json!(format!("header:{}", line.arg(1)));
            "consistent_hash"
        }
        "cookie" => {
            let name = if is_cookie(line.arg(1)) { line.arg(1) } else { "lb" };
            pool["sticky"] = json!({ "cookie": name });
            "random"
        }
        _ => {
            pool["balance"] = json!("round_robin");
            return (LineFate::Changed, "in turn");
        }
    };
    pool["balance"] = json!(name);
    (LineFate::Carried, "")
}

/// Servers that one address names.
fn servers_of(text: &str, is_tls: bool, is_h2c: bool) -> Option<Vec<String>> {
    if text.contains(['{', '?']) {
        return None;
    }
    let (scheme, rest) = match text.split_once("://") {
        Some(("http", rest)) => ("http", rest),
        Some(("https", rest)) => ("https", rest),
        Some(("h2c", rest)) => ("h2c", rest),
        Some(_) => return None,
        None => ("", text),
    };
    if let Some(path) = rest.strip_prefix("unix/") {
        return is_address(&format!("unix:{path}"))
            .then(|| vec![format!("{}unix:{path}", if is_h2c { "h2c+" } else { "" })]);
    }
    let rest = rest.trim_end_matches('/');
    if rest.contains('/') {
        return None;
    }
    let scheme = match (scheme, is_tls, is_h2c) {
        ("", true, _) => "https",
        ("", false, true) => "h2c",
        ("", false, false) => "http",
        (scheme, _, _) => scheme,
    };
    let (host, ports) = match rest.rsplit_once(':') {
        Some((host, ports)) if !ports.contains(']') => (host, ports.to_owned()),
        _ => (rest, if scheme == "https" { "443".to_owned() } else { "80".to_owned() }),
    };
    let host = if host.is_empty() { "127.0.0.1" } else { host };
    let (begin, end) = if let Some((begin, end)) = ports.split_once('-') {
        (begin.parse::<u16>().ok()?, end.parse::<u16>().ok()?)
    } else {
        let port = ports.parse::<u16>().ok()?;
        (port, port)
    };
    if end < begin || end - begin >= RANGE_MAX || !is_address(&format!("{host}:{begin}")) {
        return None;
    }
    Some((begin..=end).map(|port| format!("{scheme}://{host}:{port}")).collect())
}

/// A time of Go's: `5s`, `1m30s`, `500ms`.
fn time(text: &str) -> Option<Duration> {
    let mut total = Duration::ZERO;
    let mut rest = text;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let end = rest.find(|c: char| c.is_ascii_alphabetic())?;
        let count: f64 = rest[..end].parse().ok()?;
        let behind = &rest[end..];
        let unit_end = behind.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(behind.len());
        let factor = match &behind[..unit_end] {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3_600.0,
            "d" => 86_400.0,
            _ => return None,
        };
        let seconds = count * factor;
        if !(0.0..1e9).contains(&seconds) {
            return None;
        }
        total += Duration::from_secs_f64(seconds);
        rest = &behind[unit_end..];
    }
    Some(total)
}
