//! `proxy_pass` and `grpc_pass`: pools, paths and fields for servers.

use super::NginxReader;
use super::rewrites::{LocationKind, REWRITE};
use super::scope::NginxScope;
use super::tree::NginxDirective;
use super::variables::{VariableTexts, filled, only_variable, template};
use import_routes::flow::{FieldSide, FlowStep};
use import_routes::names::{is_address, is_field};
use import_routes::report::LineFate;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// A server's URL cut into its parts.
pub(super) struct ProxyTarget {
    pub(super) scheme: &'static str,
    /// Name of an upstream, or host and port; the path of a socket.
    pub(super) authority: String,
    pub(super) is_socket: bool,
    uri: Option<String>,
}

impl<'r> NginxReader<'r> {
    /// Steps to the servers that a directive names.
    pub(super) fn proxied(
        &mut self,
        pass: &'r NginxDirective,
        scope: &NginxScope<'r>,
        known: &VariableTexts,
        kind: &LocationKind,
    ) -> Vec<FlowStep> {
        let text = filled(pass.arg(0), known);
        // What is asked for goes on as it is.
        let text = match text.strip_suffix("${request_uri}").or(text.strip_suffix("${uri}")) {
            Some(text) if text.contains("://") => text.to_owned(),
            _ => text,
        };
        let text = text.strip_suffix("${is_args}${args}").unwrap_or(&text).to_owned();
        if !text.contains("${") {
            return self.proxied_to(pass, &text, scope, known, kind);
        }
        let Some(name) = only_variable(&text) else {
            return vec![Self::refused(pass.row, "several variables choose its servers")];
        };
        let cases = match self.cases_of(&name) {
            Some(Ok(cases)) => cases,
            Some(Err(why)) => return vec![Self::refused(pass.row, why)],
            None => {
                let why = format!("${name} chooses its servers, which routes cannot read");
                return vec![Self::refused(pass.row, &why)];
            }
        };
        self.mark_table(&name);
        let of = |value: &str, reader: &mut Self| {
            let known_too = [(name.clone(), value.to_owned())].into();
            let text = filled(&text, &known_too);
            if text.ends_with("://") || text.contains('$') || text.is_empty() {
                return vec![Self::refused(pass.row, "for some requests it names no server")];
            }
            reader.proxied_to(pass, &text, scope, known, kind)
        };
        let mut steps = of(&cases.default, self);
        for (when, value) in cases.cases.iter().rev() {
            let then = of(value, self);
            steps = vec![FlowStep::If { when: when.clone(), then, otherwise: steps }];
        }
        steps
    }

    fn proxied_to(
        &mut self,
        pass: &'r NginxDirective,
        text: &str,
        scope: &NginxScope<'r>,
        known: &VariableTexts,
        kind: &LocationKind,
    ) -> Vec<FlowStep> {
        let is_grpc = pass.name == "grpc_pass";
        let Some(target) = target(text, is_grpc) else {
            return vec![Self::refused(pass.row, "this is no URL of a server")];
        };
        let Some(pool) = self.pool_of(&target, scope, pass) else {
            return vec![Self::refused(pass.row, "its servers cannot be named here")];
        };
        let mut route = Map::new();
        route.insert("pool".into(), json!(pool));
        if let Err(why) = Self::path_of(&target, known, kind, &mut route) {
            return vec![Self::refused(pass.row, why)];
        }
        self.report.mark(pass.row, LineFate::Carried, "");
        let host = match (target.is_socket, is_address(&target.authority)) {
            (true, _) => "localhost".to_owned(),
            (false, true) => target.authority.clone(),
            (false, false) => "server".to_owned(),
        };
        route.insert("set_host".into(), json!(host));
        let mut steps = self.sent_fields(scope, known, &mut route);
        let bounds = Duration::from_secs(1)..=Duration::from_hours(1);
        let prefix = if is_grpc { "grpc" } else { "proxy" };
        if let Some(time) = self.time_of(scope, &format!("{prefix}_read_timeout"), bounds) {
            route.insert("response_timeout".into(), json!(time));
        }
        self.cached(scope, &mut route);
        self.told(scope, &mut route);
        steps.push(Self::route_of(route));
        steps
    }

    /// Directives that are carried over by what is so anyway, or that are told of.
    fn told(&mut self, scope: &NginxScope<'r>, route: &mut Map<String, Value>) {
        for name in ["proxy_http_version", "proxy_pass_request_headers", "proxy_pass_request_body"]
        {
            if let Some(found) = scope.last(name) {
                let is_off = found.arg(0) == "off";
                let fate = if is_off { LineFate::LeftOut } else { LineFate::Carried };
                self.report.mark(found.row, fate, if is_off { "both go on" } else { "" });
            }
        }
        for redirect in scope.all(&["proxy_redirect"]) {
            let (fate, why) = match redirect.arg(0) {
                "off" => {
                    route.insert("rewrite_location".into(), json!(false));
                    (LineFate::Carried, "")
                }
                "default" => (LineFate::Carried, ""),
                _ => (LineFate::Changed, "a Location that leads to a server leads here"),
            };
            self.report.mark(redirect.row, fate, why);
        }
        if let Some(buffering) = scope.last("proxy_request_buffering") {
            self.report.mark(buffering.row, LineFate::Carried, "");
            if buffering.arg(0) == "off" {
                route.insert("uploads".into(), json!("stream"));
            }
        }
        let why = "answers stream at the client's pace, and are not buffered";
        for name in
            ["proxy_buffering", "proxy_buffers", "proxy_buffer_size", "proxy_busy_buffers_size"]
        {
            if let Some(found) = scope.last(name) {
                self.report.mark(found.row, LineFate::Changed, why);
            }
        }
        if let Some(found) = scope.last("proxy_intercept_errors") {
            let why = "pages for errors need a site of the web door";
            let fate = if found.arg(0) == "on" { LineFate::LeftOut } else { LineFate::Carried };
            self.report.mark(found.row, fate, if found.arg(0) == "on" { why } else { "" });
        }
    }

    /// Changes of the path.
    fn path_of(
        target: &ProxyTarget,
        known: &VariableTexts,
        kind: &LocationKind,
        route: &mut Map<String, Value>,
    ) -> Result<(), &'static str> {
        if let Some(pair) = known.get(REWRITE) {
            let pair = serde_json::from_str(pair).unwrap_or(Value::Null);
            if target.uri.is_some() {
                return Err("a rewrite and a path of proxy_pass are not carried over together");
            }
            route.insert("rewrite".into(), pair);
            return Ok(());
        }
        let Some(uri) = &target.uri else { return Ok(()) };
        let LocationKind::Prefix(prefix) = kind else {
            return match kind {
                LocationKind::Exact => {
                    let to = uri.replace('$', "$$");
                    route.insert("rewrite".into(), json!({ "from": "^.*$", "to": to }));
                    Ok(())
                }
                _ => Err("proxy_pass has a path here, which nginx refuses too"),
            };
        };
        if prefix == uri {
            return Ok(());
        }
        if uri == "/" && prefix.ends_with('/') && prefix.matches('/').count() > 1 {
            route.insert("strip_prefix".into(), json!(prefix.trim_end_matches('/')));
            return Ok(());
        }
        // Rewrites see the path as it is encoded in a URL.
        let encoded = import_routes::path_test::PathTest::Exact(prefix.clone()).pattern();
        let from = format!("^{}", regex::escape(&encoded));
        route.insert("rewrite".into(), json!({ "from": from, "to": uri.replace('$', "$$") }));
        Ok(())
    }

    /// Rules for fields that servers get.
    fn sent_fields(
        &mut self,
        scope: &NginxScope<'r>,
        known: &VariableTexts,
        route: &mut Map<String, Value>,
    ) -> Vec<FlowStep> {
        let mut steps = Vec::new();
        for field in scope.all(&["proxy_set_header", "grpc_set_header"]) {
            let (name, value) = (field.arg(0), filled(field.arg(1), known));
            let lower = name.to_ascii_lowercase();
            if self.usual_field(field, &lower, &value, route) {
                continue;
            }
            if !is_field(name, "") {
                self.report.mark(field.row, LineFate::LeftOut, "it frames messages");
                continue;
            }
            let rule = if value.is_empty() {
                self.report.mark(field.row, LineFate::Carried, "");
                json!({ "remove": name })
            } else {
                match template(&value, known) {
                    Ok(text) if is_field(name, &text) => {
                        self.report.mark(field.row, LineFate::Carried, "");
                        json!({ "set": name, "value": text })
                    }
                    Ok(_) => {
                        self.report.mark(field.row, LineFate::LeftOut, "this is no field");
                        json!({ "remove": name })
                    }
                    Err(word) if is_own_field(&word.0, name) => {
                        self.report.mark(field.row, LineFate::Carried, "");
                        json!({ "pass": name })
                    }
                    Err(word) => {
                        let why = format!("{word}: none is sent");
                        self.report.mark(field.row, LineFate::Changed, &why);
                        json!({ "remove": name })
                    }
                }
            };
            steps.push(FlowStep::Field(FieldSide::Request, rule));
        }
        steps
    }

    /// True for a field that goes on anyway, or that is a setting of the route.
    fn usual_field(
        &mut self,
        field: &NginxDirective,
        lower: &str,
        value: &str,
        route: &mut Map<String, Value>,
    ) -> bool {
        let said = match lower {
            "host" => self.sent_host(value, route),
            "connection" | "upgrade" | "keep-alive" => (LineFate::Carried, ""),
            "x-forwarded-for" | "x-forwarded-proto" | "x-forwarded-host" | "x-forwarded-port"
                if value.contains('$') =>
            {
                (
                    LineFate::Changed,
                    "always sent; what a client that is not trusted claims is left out",
                )
            }
            _ => return false,
        };
        self.report.mark(field.row, said.0, said.1);
        true
    }

    fn sent_host(&self, value: &str, route: &mut Map<String, Value>) -> (LineFate, &'static str) {
        match value {
            "${host}" | "${http_host}" | "${host}:${server_port}" => {
                route.remove("set_host");
                let mut listeners = self.gateway.listen.iter();
                let is_odd = listeners.any(|it| !it.ends_with(":80") && !it.ends_with(":443"));
                if value == "${host}" && is_odd {
                    (LineFate::Changed, "the port that the client wrote goes on too")
                } else {
                    (LineFate::Carried, "")
                }
            }
            "${proxy_host}" => (LineFate::Carried, ""),
            _ if is_address(value) => {
                route.insert("set_host".into(), json!(value));
                (LineFate::Carried, "")
            }
            _ => {
                route.remove("set_host");
                (LineFate::Changed, "no Host of variables: what the client asked for")
            }
        }
    }

    fn cached(&mut self, scope: &NginxScope<'r>, route: &mut Map<String, Value>) {
        let Some(cache) = scope.last("proxy_cache").filter(|it| it.arg(0) != "off") else { return };
        let key = scope.last("proxy_cache_key");
        let by_more = key.is_some_and(|it| {
            let words = [
                "$scheme",
                "$proxy_host",
                "$host",
                "$http_host",
                "$request_uri",
                "$uri",
                "$is_args",
                "$args",
                "$request_method",
                "$server_name",
            ];
            let mut rest = it.arg(0).replace(['{', '}'], "");
            let mut words = words.to_vec();
            words.sort_by_key(|it| std::cmp::Reverse(it.len()));
            for word in words {
                rest = rest.replace(word, "");
            }
            rest.contains('$')
        });
        let passes = ["proxy_cache_bypass", "proxy_no_cache"];
        let bypass = passes.iter().find_map(|it| scope.last(it));
        if by_more || bypass.is_some() {
            let why = "what is cached is found by its URL alone, so this is not cached";
            self.report.mark(cache.row, LineFate::LeftOut, why);
            for found in key.into_iter().chain(bypass) {
                self.report.mark(found.row, LineFate::LeftOut, why);
            }
            return;
        }
        if scope.last("auth_basic").is_some_and(|it| it.arg(0) != "off") {
            let why = "behind a password nothing is cached";
            self.report.mark(cache.row, LineFate::LeftOut, why);
            return;
        }
        route.insert("cache".into(), json!(true));
        self.report.mark(cache.row, LineFate::Carried, "");
        if let Some(found) = key {
            self.report.mark(found.row, LineFate::Carried, "");
        }
        let why = "servers say for how long, by Cache-Control or CDN-Cache-Control";
        for found in scope.all(&["proxy_cache_valid"]) {
            self.report.mark(found.row, LineFate::LeftOut, why);
        }
        for name in [
            "proxy_cache_use_stale",
            "proxy_cache_lock",
            "proxy_cache_revalidate",
            "proxy_cache_background_update",
            "proxy_cache_min_uses",
        ] {
            if let Some(found) = scope.last(name) {
                self.report.mark(found.row, LineFate::Changed, "see gateway.cache: it does so");
            }
        }
    }
}

/// True for `$http_x` in the field `X`: the client's own goes on.
fn is_own_field(variable: &str, name: &str) -> bool {
    variable
        .strip_prefix("$http_")
        .is_some_and(|it| it.replace('_', "-").eq_ignore_ascii_case(name))
}

/// Reads a URL of a server.
fn target(text: &str, is_grpc: bool) -> Option<ProxyTarget> {
    let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
    let scheme = match scheme {
        "http" if is_grpc => "h2c",
        "grpc" => "h2c",
        "http" => "http",
        "https" | "grpcs" => "https",
        _ => return None,
    };
    if let Some(socket) = rest.strip_prefix("unix:") {
        let (path, uri) = match socket.split_once(':') {
            Some((path, uri)) => (path, Some(uri.to_owned()).filter(|it| !it.is_empty())),
            None => (socket, None),
        };
        let is_fine = is_address(&format!("unix:{path}"));
        let authority = path.to_owned();
        return is_fine.then_some(ProxyTarget { scheme, authority, is_socket: true, uri });
    }
    let (authority, uri) = match rest.find(['/', '?']) {
        Some(at) => (&rest[..at], Some(rest[at..].to_owned())),
        None => (rest, None),
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let is_fine = is_address(authority) || !authority.is_empty() && authority.chars().all(is_name);
    is_fine.then(|| ProxyTarget { scheme, authority: authority.into(), is_socket: false, uri })
}
