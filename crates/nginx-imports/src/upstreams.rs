//! Pools for servers that `proxy_pass` names, and for blocks `upstream`.

use super::NginxReader;
use super::proxy::ProxyTarget;
use super::scope::NginxScope;
use super::tree::NginxDirective;
use super::values::time;
use super::variables::only_variable;
use import_routes::names::{is_address, is_cookie};
use import_routes::report::LineFate;
use import_routes::written_values::written_time;
use serde_json::{Value, json};
use std::time::Duration;

impl<'r> NginxReader<'r> {
    /// The pool of a target.
    pub(super) fn pool_of(
        &mut self,
        target: &ProxyTarget,
        scope: &NginxScope<'r>,
        pass: &NginxDirective,
    ) -> Option<String> {
        let upstream = self.upstreams.get(&target.authority).copied();
        let scheme = target.scheme;
        let mut pool = match upstream.filter(|_| !target.is_socket) {
            Some(upstream) => self.upstream_pool(upstream, scheme),
            None if target.is_socket => {
                let scheme = if scheme == "h2c" { "h2c+unix" } else { "unix" };
                json!({ "servers": [format!("{scheme}:{}", target.authority)] })
            }
            None => json!({ "servers": [format!("{scheme}://{}", target.authority)] }),
        };
        if scheme == "https" {
            let mut tls = json!({});
            if !scope.is_on("proxy_ssl_verify") {
                tls["verify"] = json!("none");
                let why = "the server's certificate is not verified, as before: write tls.verify: \
                           full at the pool";
                self.report.mark(pass.row, LineFate::Changed, why);
            }
            let of = [
                ("proxy_ssl_trusted_certificate", "ca"),
                ("proxy_ssl_certificate", "certificate"),
                ("proxy_ssl_certificate_key", "key"),
                ("proxy_ssl_name", "name"),
            ];
            for (name, key) in of {
                if let Some(found) = scope.last(name).filter(|it| !it.arg(0).contains('$')) {
                    self.report.mark(found.row, LineFate::Carried, "");
                    tls[key] = json!(found.arg(0));
                }
            }
            for name in ["proxy_ssl_verify", "proxy_ssl_server_name"] {
                if let Some(found) = scope.last(name) {
                    self.report.mark(found.row, LineFate::Carried, "");
                }
            }
            pool["tls"] = tls;
            // nginx speaks HTTP/1.1 with them.
            pool["http"] = json!("h1");
        }
        let bounds = Duration::from_millis(10)..=Duration::from_mins(1);
        let name = if scheme == "h2c" { "grpc_connect_timeout" } else { "proxy_connect_timeout" };
        if let Some(time) = self.time_of(scope, name, bounds) {
            pool["timeouts"] = json!({ "connect": time });
        }
        if let Some(retry) = self.retry(scope) {
            pool["retry"] = retry;
        }
        let name = if target.is_socket {
            target.authority.rsplit('/').next().unwrap_or("socket").to_owned()
        } else {
            target.authority.clone()
        };
        self.gateway.pool(&name, &pool)
    }

    pub(super) fn retry(&mut self, scope: &NginxScope<'r>) -> Option<Value> {
        let next = scope.last("proxy_next_upstream")?;
        let mut on = Vec::new();
        for word in &next.args {
            on.push(match word.as_str() {
                "off" => {
                    return Some(json!({ "attempts": 1 })).inspect(|_| {
                        self.report.mark(next.row, LineFate::Carried, "");
                    });
                }
                "error" => json!("closed"),
                "timeout" => json!("timeout"),
                "invalid_header" => json!("garbage"),
                "http_500" => json!(500),
                "http_502" => json!(502),
                "http_503" => json!(503),
                "http_504" => json!(504),
                "http_429" => json!(429),
                _ => {
                    self.report.mark(next.row, LineFate::Changed, "not after 403, 404 or a POST");
                    continue;
                }
            });
        }
        self.report.mark(next.row, LineFate::Carried, "");
        let mut retry = json!({ "on": on });
        if let Some(tries) = scope.last("proxy_next_upstream_tries")
            && let Ok(count @ 1..=8) = tries.arg(0).parse::<u8>()
        {
            self.report.mark(tries.row, LineFate::Carried, "");
            retry["attempts"] = json!(count);
        }
        (!on_is_empty(&retry)).then_some(retry)
    }

    /// The settings of a pool for a block `upstream`.
    pub(super) fn upstream_pool(&mut self, upstream: &'r NginxDirective, scheme: &str) -> Value {
        let mut pool = json!({ "balance": "round_robin" });
        let mut servers = Vec::new();
        self.report.mark(upstream.row, LineFate::Carried, "");
        for line in upstream.inside() {
            let row = line.row;
            self.report.mark(row, LineFate::Carried, "");
            match line.name.as_str() {
                "server" => servers.extend(self.upstream_server(line, scheme)),
                "ip_hash" => pool["balance"] = json!("client_hash"),
                "least_conn" => pool["balance"] = json!("least_connections"),
                "random" => {
                    let is_two = line.args.iter().any(|it| it == "two");
                    pool["balance"] = json!(if is_two { "p2c" } else { "random" });
                }
                "hash" => {
                    if let Some(key) = hash_key(line.arg(0)) {
                        pool["balance"] = json!("consistent_hash");
                        pool["hash"] = json!(key);
                        let why = "one server's keys move where it goes, and no others";
                        self.report.mark(row, LineFate::Changed, why);
                    } else {
                        let why = "servers are chosen in turn: hash knows uri, client, a field or \
                               a cookie";
                        self.report.mark(row, LineFate::Changed, why);
                    }
                }
                "keepalive" => {
                    let kept = line.arg(0).parse::<u32>().unwrap_or(32).min(1_024);
                    pool["keep_alive"]["connections"] = json!(kept);
                    self.report.mark(row, LineFate::Changed, "for each server and core");
                }
                "keepalive_timeout" => {
                    if let Some(idle) = time(line.arg(0)) {
                        let (least, most) = (Duration::from_secs(1), Duration::from_hours(1));
                        pool["keep_alive"]["idle"] = json!(written_time(idle, least, most));
                    }
                }
                "keepalive_requests" => {
                    if let Ok(count @ 1..=1_000_000) = line.arg(0).parse::<u32>() {
                        pool["keep_alive"]["requests"] = json!(count);
                    }
                }
                "sticky" if line.arg(0) == "cookie" && is_cookie(line.arg(1)) => {
                    pool["sticky"] = json!({ "cookie": line.arg(1) });
                    self.report.mark(row, LineFate::Changed, "for the browser's session");
                }
                "zone" | "state" | "resolver" => {}
                _ => self.report.mark(row, LineFate::LeftOut, "pools have nothing like it"),
            }
        }
        if servers.is_empty() {
            pool["starts_empty"] = json!(true);
        }
        pool["servers"] = json!(servers);
        pool
    }

    pub(super) fn upstream_server(&mut self, line: &NginxDirective, scheme: &str) -> Option<Value> {
        let address = line.arg(0);
        let url = match address.strip_prefix("unix:") {
            Some(path) if scheme == "h2c" => format!("h2c+unix:{path}"),
            Some(path) => format!("unix:{path}"),
            None => format!("{scheme}://{address}"),
        };
        if !is_address(address) {
            self.report.mark(line.row, LineFate::LeftOut, "this is no address");
            return None;
        }
        let mut server = json!({ "url": url });
        for option in &line.args[1..] {
            let (key, value) = option.split_once('=').unwrap_or((option, ""));
            match key {
                "down" => {
                    let why = "it is down: tidegate ctl server add brings it back";
                    self.report.mark(line.row, LineFate::Changed, why);
                    return None;
                }
                "backup" => server["backup"] = json!(true),
                "weight" => {
                    let weight = value.parse::<u32>().unwrap_or(1).clamp(1, 100);
                    server["weight"] = json!(weight);
                }
                "max_conns" => {
                    if let Ok(max @ 1..=1_000_000) = value.parse::<u32>() {
                        server["max_requests"] = json!(max);
                    }
                }
                "resolve" if !address.starts_with("unix:") => {
                    server["resolve"] = json!("addresses");
                }
                "max_fails" | "fail_timeout" => {
                    let why = "a server that fails rests as passive of the pool says";
                    self.report.mark(line.row, LineFate::Changed, why);
                }
                _ => {
                    let why = format!("{key} is left out");
                    self.report.mark(line.row, LineFate::Changed, &why);
                }
            }
        }
        match server.as_object() {
            Some(only) if only.len() == 1 => Some(json!(url)),
            _ => Some(server),
        }
    }
}

/// A key of `consistent_hash`.
fn hash_key(text: &str) -> Option<String> {
    let name = only_variable(text)?;
    Some(match name.as_str() {
        "request_uri" | "uri" => "uri".into(),
        "remote_addr" | "binary_remote_addr" => "client".into(),
        _ => {
            if let Some(field) = name.strip_prefix("http_") {
                format!("header:{}", field.replace('_', "-"))
            } else {
                format!("cookie:{}", name.strip_prefix("cookie_")?)
            }
        }
    })
}

fn on_is_empty(retry: &Value) -> bool {
    retry["on"].as_array().is_none_or(Vec::is_empty)
}
