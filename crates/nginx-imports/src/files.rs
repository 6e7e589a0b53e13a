//! Handlers of locations: folders, `try_files`, and those that are not carried over.

use super::NginxReader;
use super::rewrites::{FALLBACK, LocationKind};
use super::scope::NginxScope;
use super::tree::NginxDirective;
use super::variables::{VariableTexts, filled, without_groups};
use import_routes::flow::{FlowStep, FolderEnd, RouteEnd};
use import_routes::path_test::PathTest;
use import_routes::place::RequestTest;
use import_routes::report::LineFate;
use serde_json::{Map, json};

/// Handlers without a counterpart.
const FOREIGN: [&str; 16] = [
    "uwsgi_pass",
    "scgi_pass",
    "memcached_pass",
    "content_by_lua",
    "content_by_lua_block",
    "content_by_lua_file",
    "js_content",
    "perl",
    "stub_status",
    "echo",
    "dav_methods",
    "drizzle_pass",
    "redis_pass",
    "proxy_pass_lua",
    "vod",
    "rtmp_stat",
];

impl<'r> NginxReader<'r> {
    /// The end of a location.
    pub(super) fn handler(
        &mut self,
        scope: &NginxScope<'r>,
        known: &VariableTexts,
        kind: &LocationKind,
    ) -> Vec<FlowStep> {
        for name in FOREIGN {
            if let Some(found) = scope.own(name) {
                let why = match name {
                    "stub_status" => "the metrics page has these figures",
                    "dav_methods" => "files are written at a site of the web door: webdav",
                    _ => "the gateway does not speak to it",
                };
                return vec![Self::refused(found.row, why)];
            }
        }
        if let Some(gif) = scope.own("empty_gif") {
            self.report.mark(gif.row, LineFate::Carried, "");
            return vec![FlowStep::settings(json!({ "null_answer": true }))];
        }
        if let Some(pass) = scope.own("try_files") {
            return self.try_files(pass, scope, known, kind);
        }
        if let Some(pass) = scope.own("proxy_pass").or(scope.own("grpc_pass")) {
            return self.proxied(pass, scope, known, kind);
        }
        if let Some(pass) = scope.own("fastcgi_pass") {
            return self.scripts(pass, scope, known, kind);
        }
        let fallback = known.get(FALLBACK).cloned().or_else(|| self.error_page(scope));
        if let Some(name) = fallback.as_deref().filter(|it| it.starts_with('@')) {
            return self.named(name, scope, known);
        }
        self.folder(scope, known, kind, fallback)
    }

    /// The page of `error_page 404`, where it is an answer like others.
    fn error_page(&mut self, scope: &NginxScope<'r>) -> Option<String> {
        let mut found = None;
        for page in scope.all(&["error_page"]) {
            let target = page.args.last().map_or("", String::as_str);
            let answers = page.args.iter().any(|it| it == "=" || it == "=200");
            if page.arg(0) == "404" && (answers || target.starts_with('@')) && !target.contains('$')
            {
                self.report.mark(page.row, LineFate::Carried, "");
                found = Some(target.to_owned());
            } else {
                let why = "pages for errors need a site of the web door (errors)";
                self.report.mark(page.row, LineFate::LeftOut, why);
            }
        }
        found
    }

    /// The steps of a location with a name.
    fn named(
        &mut self,
        name: &str,
        scope: &NginxScope<'r>,
        known: &VariableTexts,
    ) -> Vec<FlowStep> {
        let row = self.first_row;
        self.named_depth += 1;
        let blocks = scope.everything().chain(self.server_block);
        let found = blocks.into_iter().find(|it| it.name == "location" && it.arg(0) == name);
        let steps = match found {
            Some(found) if self.named_depth < 8 => {
                self.report.mark(found.row, LineFate::Carried, "");
                let inner = self.server_scope.location(found.inside());
                let rest: Vec<&'r NginxDirective> = found.inside().iter().collect();
                let mut known = known.clone();
                known.remove(FALLBACK);
                let tail = super::rewrites::FlowTail::Content(LocationKind::Named);
                self.rewrite_steps(&rest, &inner, known, &tail, 0)
            }
            _ => vec![Self::refused(row, "there is no location of this name")],
        };
        self.named_depth -= 1;
        steps
    }

    fn try_files(
        &mut self,
        tries: &'r NginxDirective,
        scope: &NginxScope<'r>,
        known: &VariableTexts,
        kind: &LocationKind,
    ) -> Vec<FlowStep> {
        let Some((last, files)) = tries.args.split_last() else {
            return vec![Self::refused(tries.row, "it names nothing")];
        };
        let is_usual = |it: &String| {
            let it = it.trim_start_matches("$document_root");
            matches!(
                it,
                "$uri"
                    | "$uri/"
                    | "$fastcgi_script_name"
                    | "$document_uri"
                    | "$request_uri"
                    | "${uri}"
            )
        };
        let is_last_usual = is_usual(last);
        self.report.mark(tries.row, LineFate::Carried, "");
        if !files.iter().all(is_usual) {
            let why = "of the files the path itself is sought, and no other name";
            self.report.mark(tries.row, LineFate::Changed, why);
        }
        let handler =
            ["proxy_pass", "grpc_pass", "fastcgi_pass"].iter().find_map(|it| scope.own(it));
        if let Some(pass) = handler {
            // Found files are the handler's.
            return if pass.name.as_str() == "fastcgi_pass" {
                self.scripts(pass, scope, known, kind)
            } else {
                let why = "every request goes on to the servers: files are not sought first";
                self.report.mark(tries.row, LineFate::Changed, why);
                self.proxied(pass, scope, known, kind)
            };
        }
        if last.starts_with('@') {
            let steps = self.named(last, scope, known);
            let is_folder = steps.iter().any(|it| matches!(it, FlowStep::End(RouteEnd::Folder(_))));
            if !files.is_empty() && !is_folder {
                let why = "every request goes on to the servers: files are not sought first";
                self.report.mark(tries.row, LineFate::Changed, why);
            }
            return steps;
        }
        if let Some(status) = last.strip_prefix('=') {
            if status != "404" {
                self.report.mark(tries.row, LineFate::Changed, "where nothing is found: 404");
            }
            return self.folder(scope, known, kind, None);
        }
        if is_last_usual {
            return self.folder(scope, known, kind, None);
        }
        self.last_try(tries, scope, known, kind)
    }

    /// A path that answers where no file is.
    fn last_try(
        &mut self,
        tries: &'r NginxDirective,
        scope: &NginxScope<'r>,
        known: &VariableTexts,
        kind: &LocationKind,
    ) -> Vec<FlowStep> {
        let last = tries.args.last().map_or("", String::as_str);
        let path = last.split(['?', '$']).next().unwrap_or_default();
        if !path.starts_with('/') || path.len() < 2 {
            return vec![Self::refused(tries.row, "its last name is no path")];
        }
        if last.contains('?') && !last.ends_with("?$args") && !last.ends_with("?$query_string") {
            let why = "the fallback gets the query that was asked for";
            self.report.mark(tries.row, LineFate::Changed, why);
        }
        if tries.args.len() < 2 {
            let why = "files that are there are sent, where all was the last name's";
            return vec![Self::refused(tries.row, why)];
        }
        self.folder(scope, known, kind, Some(path.trim_end_matches('/').to_owned()))
    }

    /// The root of a location, and the folder of the URL that it stands for.
    pub(super) fn root_of(
        &mut self,
        scope: &NginxScope<'r>,
        known: &VariableTexts,
        kind: &LocationKind,
    ) -> Result<(String, String), FlowStep> {
        if let Some(alias) = scope.own("alias") {
            let text = filled(alias.arg(0), &without_groups(known));
            self.report.mark(alias.row, LineFate::Carried, "");
            let (prefix, text) = match kind {
                LocationKind::Prefix(prefix) => (prefix.clone(), text),
                LocationKind::Matching(expression) => {
                    if let Some(found) = aliased(expression, &text) {
                        found
                    } else {
                        let why = "an alias within an expression has no counterpart";
                        return Err(Self::refused(alias.row, why));
                    }
                }
                _ => return Err(Self::refused(alias.row, "an alias needs a prefix")),
            };
            if text.contains('$') {
                return Err(Self::refused(alias.row, "a folder's name has a variable"));
            }
            return Ok((text, prefix));
        }
        let Some(root) = scope.last("root") else {
            return Err(FlowStep::answer(404));
        };
        let text = filled(root.arg(0), known);
        if text.contains('$') {
            return Err(Self::refused(root.row, "a folder's name has a variable"));
        }
        self.report.mark(root.row, LineFate::Carried, "");
        let root = self.folder.join(&text);
        Ok((root.to_string_lossy().into_owned(), "/".into()))
    }

    fn folder(
        &mut self,
        scope: &NginxScope<'r>,
        known: &VariableTexts,
        kind: &LocationKind,
        fallback: Option<String>,
    ) -> Vec<FlowStep> {
        let (root, mount) = match self.root_of(scope, known, kind) {
            Ok(found) => found,
            Err(step) => return vec![step],
        };
        let mut settings = Map::new();
        let scripts = self.scripts_of_server(scope, known, kind);
        if let Some(index) = scope.last("index") {
            self.report.mark(index.row, LineFate::Carried, "");
            let names: Vec<&str> = index
                .args
                .iter()
                .map(String::as_str)
                .filter(|it| !it.contains(['$', '/']) && !is_script(it))
                .take(16)
                .collect();
            if !names.is_empty() {
                settings.insert("index".into(), json!(names));
            }
        }
        if scope.is_on("autoindex") {
            settings.insert("listing".into(), json!(true));
        }
        if let Some(list) = scope.last("autoindex") {
            self.report.mark(list.row, LineFate::Carried, "");
        }
        let fallback = match fallback {
            Some(path) if is_script(&path) && scripts.is_none() => {
                let why = "nothing runs the script that answers where no file is";
                self.report.mark(self.first_row, LineFate::LeftOut, why);
                None
            }
            it => it,
        };
        let has_scripts = scripts.is_some();
        if let Some(scripts) = scripts {
            settings.insert("fastcgi".into(), scripts);
        }
        let folder = FolderEnd { root, mount: mount.clone(), fallback, settings, has_scripts };
        if mount.ends_with('/') {
            return vec![FlowStep::End(RouteEnd::Folder(folder))];
        }
        // A prefix without a slash: nginx puts any text behind it, which leads out of the folder.
        let below = format!("{mount}/");
        let folder = FolderEnd { mount: below.clone(), ..folder };
        vec![
            FlowStep::when(
                RequestTest::Path(PathTest::Prefix(below.clone())),
                vec![FlowStep::End(RouteEnd::Folder(folder))],
            ),
            FlowStep::when(
                RequestTest::Path(PathTest::Exact(mount)),
                vec![FlowStep::settings(json!({ "redirect": { "to": below, "status": 301 } }))],
            ),
            FlowStep::answer(404),
        ]
    }
}

fn is_script(name: &str) -> bool {
    name.strip_suffix(".php").is_some()
}

/// The prefix and the folder of an alias whose expression only takes what follows: `^/x/(.*)$`.
fn aliased(expression: &str, text: &str) -> Option<(String, String)> {
    let folder = text.strip_suffix("${1}")?;
    let prefix = expression.strip_prefix('^')?;
    let prefix = prefix.strip_suffix("(.*)$").or(prefix.strip_suffix("(.+)$"))?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/_-".contains(c);
    let is_fine = prefix.chars().all(is_plain) && prefix.ends_with('/');
    (is_fine && folder.ends_with('/')).then(|| (prefix.to_owned(), folder.to_owned()))
}
