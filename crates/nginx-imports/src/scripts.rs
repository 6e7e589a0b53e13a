//! `fastcgi_pass`: servers that run scripts.

use super::NginxReader;
use super::rewrites::LocationKind;
use super::scope::NginxScope;
use super::tree::NginxDirective;
use super::variables::{VariableTexts, filled};
use import_routes::flow::{FlowStep, FolderEnd, RouteEnd};
use import_routes::names::is_address;
use import_routes::report::LineFate;
use serde_json::{Map, Value, json};
use std::time::Duration;

impl<'r> NginxReader<'r> {
    /// `fastcgi` for a folder of a server with a location for scripts, which an index or a fallback
    /// leads to.
    pub(super) fn scripts_of_server(
        &mut self,
        scope: &NginxScope<'r>,
        known: &VariableTexts,
        kind: &LocationKind,
    ) -> Option<Value> {
        let server = self.server_block.iter();
        let own = scope.everything().filter(|it| it.name == "location");
        let locations = own.chain(server.filter(|it| it.name == "location"));
        let is_php = |it: &&NginxDirective| {
            let text = it.args.last().map_or("", String::as_str);
            it.args.len() == 2 && it.arg(0).starts_with('~') && text.contains("php")
        };
        let found = locations
            .filter(is_php)
            .find(|it| it.inside().iter().any(|it| it.name == "fastcgi_pass"))?;
        let inner = self.server_scope.location(found.inside());
        // Whoever guards scripts guards them here too: the route that leads to them is another.
        let guards =
            ["allow", "deny", "auth_basic", "auth_request", "satisfy", "if", "limit_except"];
        if found.inside().iter().any(|it| guards.contains(&it.name.as_str()) && it.arg(0) != "off")
        {
            return None;
        }
        let pass = inner.own("fastcgi_pass")?;
        let server = self.script_server(pass, &inner, known, kind).ok()?;
        Some(json!({ "*.php": server }))
    }

    pub(super) fn scripts(
        &mut self,
        pass: &'r NginxDirective,
        scope: &NginxScope<'r>,
        known: &VariableTexts,
        kind: &LocationKind,
    ) -> Vec<FlowStep> {
        let mut server = match self.script_server(pass, scope, known, kind) {
            Ok(server) => server,
            Err(why) => return vec![Self::refused(pass.row, why)],
        };
        let (root, mount) = match self.root_of(scope, known, kind) {
            Ok(found) => found,
            Err(_) if server.get("root").is_some() => {
                (server["root"].as_str().unwrap_or_default().to_owned(), "/".to_owned())
            }
            Err(FlowStep::End(RouteEnd::Refused(row, why))) => {
                return vec![Self::refused(row, &why)];
            }
            Err(_) => return vec![Self::refused(pass.row, "no root says where its scripts are")],
        };
        let is_php = match kind {
            LocationKind::Matching(text) => text.contains("php"),
            _ => false,
        };
        let pattern = if is_php { "*.php" } else { "*" };
        if !is_php {
            server["split_path"] = json!("");
            server["root"] = json!(root);
            let why = "the whole path names the script";
            self.report.mark(pass.row, LineFate::Changed, why);
        }
        self.report.mark(pass.row, LineFate::Carried, "");
        let mut settings = Map::new();
        settings.insert("fastcgi".into(), json!({ pattern: server }));
        let has_scripts = true;
        let folder = FolderEnd { root, mount, fallback: None, settings, has_scripts };
        vec![FlowStep::End(RouteEnd::Folder(folder))]
    }

    pub(super) fn script_server(
        &mut self,
        pass: &'r NginxDirective,
        scope: &NginxScope<'r>,
        known: &VariableTexts,
        _: &LocationKind,
    ) -> Result<Value, &'static str> {
        let text = filled(pass.arg(0), known);
        let address = match self.upstreams.get(&text) {
            Some(upstream) => {
                let mut servers = upstream.inside().iter().filter(|it| it.name == "server");
                let first = servers.next().ok_or("its upstream has no server")?;
                if servers.next().is_some() {
                    let why = "of several servers the first is asked";
                    self.report.mark(pass.row, LineFate::Changed, why);
                }
                self.report.mark(upstream.row, LineFate::Carried, "");
                self.report.mark(first.row, LineFate::Carried, "");
                first.arg(0).to_owned()
            }
            None => text,
        };
        if !is_address(&address) {
            return Err("this is no address of a server");
        }
        let server = match address.strip_prefix("unix:") {
            Some(path) => format!("unix://{path}"),
            None if address.contains(':') => format!("tcp://{address}"),
            None => format!("tcp://{address}:9000"),
        };
        let mut made = json!({ "server": server });
        let mut params = Map::new();
        for param in scope.all(&["fastcgi_param"]) {
            self.param(param, known, &mut made, &mut params);
        }
        if !params.is_empty() {
            made["params"] = Value::Object(params);
        }
        if let Some(index) = scope.last("fastcgi_index")
            && !index.arg(0).contains(['$', '/'])
        {
            self.report.mark(index.row, LineFate::Carried, "");
            made["index"] = json!(index.arg(0));
        }
        let bounds = Duration::from_secs(1)..=Duration::from_hours(1);
        if let Some(time) = self.time_of(scope, "fastcgi_read_timeout", bounds) {
            made["timeout"] = json!(time);
        }
        for name in ["fastcgi_split_path_info", "try_files"] {
            if let Some(found) = scope.own(name) {
                self.report.mark(found.row, LineFate::Carried, "");
            }
        }
        if let Some(cache) = scope.last("fastcgi_cache").filter(|it| it.arg(0) != "off") {
            let why = "answers of scripts are not cached";
            self.report.mark(cache.row, LineFate::LeftOut, why);
        }
        Ok(made)
    }

    pub(super) fn param(
        &mut self,
        param: &NginxDirective,
        known: &VariableTexts,
        made: &mut Value,
        params: &mut Map<String, Value>,
    ) {
        let (name, value) = (param.arg(0), filled(param.arg(1), known));
        let fate = match name {
            "SCRIPT_FILENAME" => {
                let usual = [
                    "${document_root}${fastcgi_script_name}",
                    "${realpath_root}${fastcgi_script_name}",
                    "${document_root}/${fastcgi_script_name}",
                    "${request_filename}",
                ];
                match value.strip_suffix("${fastcgi_script_name}") {
                    _ if usual.contains(&value.as_str()) => (LineFate::Carried, ""),
                    Some(root) if root.starts_with('/') && !root.contains('$') => {
                        made["root"] = json!(root);
                        (LineFate::Carried, "")
                    }
                    _ => (LineFate::Changed, "the script is the one that the path names"),
                }
            }
            // They are told to scripts in any case.
            _ if ITS_OWN.split(' ').any(|it| it == name) => (LineFate::Carried, ""),
            _ if value.contains('$') => (LineFate::LeftOut, "a variable cannot stand in it"),
            _ if params.len() >= 200 => (LineFate::LeftOut, "there are too many"),
            _ => {
                params.insert(name.into(), json!(value));
                (LineFate::Carried, "")
            }
        };
        self.report.mark(param.row, fate.0, fate.1);
    }
}

/// Variables that the server is told in any case.
const ITS_OWN: &str = "QUERY_STRING REQUEST_METHOD CONTENT_TYPE CONTENT_LENGTH SCRIPT_NAME \
    REQUEST_URI DOCUMENT_URI DOCUMENT_ROOT SERVER_PROTOCOL REQUEST_SCHEME \
    HTTPS GATEWAY_INTERFACE SERVER_SOFTWARE REMOTE_ADDR REMOTE_PORT \
    REMOTE_USER SERVER_ADDR SERVER_PORT SERVER_NAME REDIRECT_STATUS \
    PATH_INFO PATH_TRANSLATED HTTP_PROXY HTTP_HOST";
