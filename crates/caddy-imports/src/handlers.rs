//! Directives of a site as steps, in Caddy's own order.

use super::CaddyReader;
use super::answers::encoded;
use super::tree::{CaddyDirective, UNREAD};
use import_routes::flow::{FieldSide, FlowStep, RouteEnd, TestConjunction};
use import_routes::redirects::rewrite;
use import_routes::regex_words::{LetterCase, ReadExpression, read};
use import_routes::report::LineFate;
use serde_json::{Map, Value, json};

/// Settings that the directives before have made.
#[derive(Clone, Debug, Default)]
pub(super) struct SiteState {
    pub(super) root: Option<String>,
    /// Prefix that `handle_path` takes off: `/api`.
    pub(super) base: String,
    pub(super) fallback: Option<String>,
    /// `rewrite` of routes with a pool.
    pub(super) rewrite: Option<Value>,
    pub(super) has_password: bool,
    /// True within a block whose order counts.
    pub(super) keeps_order: bool,
}

/// Directives that follow one, and the state before it.
struct HandlerRest<'d> {
    behind: &'d [&'d CaddyDirective],
    state: SiteState,
}

/// Caddy's order of directives.
const ORDER: &str = "tracing map vars fs root log_append log_skip log_name header \
    copy_response_headers request_body redir method rewrite uri try_files basic_auth forward_auth \
    request_header encode push intercept templates invoke handle route abort \
    error copy_response respond metrics reverse_proxy php_fastcgi file_server";

impl CaddyReader<'_> {
    /// The steps of a block.
    pub(super) fn handled(
        &mut self,
        directives: &[CaddyDirective],
        state: &SiteState,
    ) -> Vec<FlowStep> {
        let mut sorted: Vec<CaddyDirective> = directives.to_vec();
        for directive in &mut sorted {
            if directive.name == "basicauth" {
                directive.name = "basic_auth".into();
            }
        }
        if !state.keeps_order {
            sorted.sort_by_key(|it| {
                let name = if it.name == "handle_path" { "handle" } else { it.name.as_str() };
                let turn = ORDER.split(' ').position(|known| known == name).unwrap_or(0);
                (turn, self.matchers.rank(it))
            });
        }
        let steps: Vec<&CaddyDirective> = sorted.iter().collect();
        self.sequence(&steps, state)
    }

    fn sequence(&mut self, rest: &[&CaddyDirective], state: &SiteState) -> Vec<FlowStep> {
        let Some((first, behind)) = rest.split_first() else { return vec![FlowStep::answer(404)] };
        let row = first.row;
        if self.budget == 0 {
            return vec![FlowStep::End(RouteEnd::Refused(
                row,
                "conditions double too often".into(),
            ))];
        }
        self.budget -= 1;
        if let Some(why) = left_out(&first.name) {
            self.report.mark(row, LineFate::LeftOut, why);
            return self.sequence(behind, state);
        }
        if matches!(first.name.as_str(), "tls" | "bind" | "handle_errors")
            || first.name.starts_with('@')
        {
            if first.name == "tls" {
                return self.client_certificates(first, behind, state);
            }
            return self.sequence(behind, state);
        }
        let (matcher, args) = self.matchers.of(&first.args, &state.base);
        let args = args.to_vec();
        let matcher = match (matcher, &state.rewrite) {
            (None, _) => None,
            (Some(_), Some(_)) => {
                let why = "a matcher behind a rewrite sees another path".to_owned();
                return vec![FlowStep::End(RouteEnd::Refused(row, why))];
            }
            (Some(Ok(when)), None) => Some(when),
            (Some(Err(why)), None) => {
                let why = format!("its matcher: {why}");
                if matches!(first.name.as_str(), "header" | "request_header" | "encode") {
                    self.report.mark(row, LineFate::LeftOut, &why);
                    return self.sequence(behind, state);
                }
                return vec![FlowStep::End(RouteEnd::Refused(row, why))];
            }
        };
        self.report.mark(row, LineFate::Carried, "");
        let state = state.clone();
        let rest = HandlerRest { behind, state };
        self.directive(first, &args, matcher, &rest)
    }

    /// One directive, and the steps that follow it.
    fn directive(
        &mut self,
        first: &CaddyDirective,
        args: &[String],
        matcher: Option<Vec<TestConjunction>>,
        rest: &HandlerRest<'_>,
    ) -> Vec<FlowStep> {
        let HandlerRest { behind, state } = rest;
        let inner: Vec<FlowStep> = match first.name.as_str() {
            "root" | "try_files" | "rewrite" | "uri" => {
                return match self.state_after(first, args, state) {
                    Ok(after) => {
                        let then = self.sequence(behind, &after);
                        self.chosen(matcher, then, behind, state)
                    }
                    Err(why) => {
                        let then = Self::refused(first, why);
                        self.when(matcher, then, behind, state)
                    }
                };
            }
            "basic_auth" | "forward_auth" => return self.guarded(first, args, matcher, rest),
            "handle" | "handle_path" | "route" => return self.block(first, matcher, rest),
            "header" => self.fields(first, args, FieldSide::Response),
            "request_header" => self.fields(first, args, FieldSide::Request),
            "request_body" => {
                self.mark_all(&first.block);
                let max = first.block.iter().find(|it| it.name == "max_size");
                let bytes = max.and_then(|it| size(it.arg(0)));
                let text =
                    bytes.map(|it| import_routes::written_values::written_size(it.max(1 << 10)));
                text.map(|it| FlowStep::Set("body_max", json!(it))).into_iter().collect()
            }
            "encode" => vec![encoded(first, args)],
            "redir" => self.redirected(first, args, state),
            "respond" | "error" => self.answered(first, args),
            "abort" => FlowStep::silence("close"),
            "reverse_proxy" => self.proxied(first, args, state),
            "php_fastcgi" => {
                let mut settings = Map::new();
                // Files that Caddy would not send are not sent.
                if !behind.iter().any(|it| it.name == "file_server") {
                    settings.insert("forbidden_files".into(), json!(["*"]));
                }
                self.scripts(first, args, state, settings)
            }
            "file_server" => self.files(first, args, state),
            UNREAD => Self::refused(first, "nobody knows which rules it holds"),
            _ => Self::refused(first, "nobody knows whom this directive lets in"),
        };
        self.when(matcher, inner, behind, state)
    }

    /// The state behind a directive that only sets something.
    fn state_after(
        &mut self,
        first: &CaddyDirective,
        args: &[String],
        state: &SiteState,
    ) -> Result<SiteState, &'static str> {
        let mut after = state.clone();
        let arg = |index: usize| args.get(index).map_or("", String::as_str);
        match first.name.as_str() {
            "root" => {
                let root = self.folder.join(arg(0)).to_string_lossy().into_owned();
                if root.contains('{') {
                    return Err("a folder's name has a variable");
                }
                after.root = Some(root);
            }
            "try_files" => {
                let last = args.last().map_or("", String::as_str);
                let path = last.split(['?', '{']).next().unwrap_or_default().to_owned();
                let is_usual = args[..args.len().saturating_sub(1)]
                    .iter()
                    .all(|it| matches!(it.as_str(), "{path}" | "{path}/" | "{uri}"));
                if !is_usual {
                    let why = "of the files the path itself is sought, and no other name";
                    self.report.mark(first.row, LineFate::Changed, why);
                }
                after.fallback = Some(path).filter(|it| it.len() > 1);
            }
            _ => {
                if state.rewrite.is_some() {
                    return Err("two rewrites of one path");
                }
                let pair = rewritten(&first.name, args).ok_or("the new path has no counterpart")?;
                if matches!(arg(0), "replace" | "path_regexp") {
                    let why = "in the path alone, and where it is found first";
                    self.report.mark(first.row, LineFate::Changed, why);
                }
                after.rewrite = Some(pair);
            }
        }
        Ok(after)
    }

    /// A password, or an authority that is asked, before the steps that follow.
    fn guarded(
        &mut self,
        first: &CaddyDirective,
        args: &[String],
        matcher: Option<Vec<TestConjunction>>,
        rest: &HandlerRest<'_>,
    ) -> Vec<FlowStep> {
        let HandlerRest { behind, state } = rest;
        if state.has_password {
            return Self::refused(first, "two passwords or authorities for one path");
        }
        let (key, guard) = match first.name.as_str() {
            "basic_auth" => ("auth", self.password(first, args)),
            _ => ("forward_auth", self.authority(first, args)),
        };
        let Some(guard) = guard else {
            let why = "no user has a hash that is taken, or the authority cannot be named here";
            let then = Self::refused(first, why);
            return self.when(matcher, then, behind, state);
        };
        let after = SiteState { has_password: true, ..state.clone() };
        let mut then = vec![FlowStep::Set(key, guard)];
        then.extend(self.sequence(behind, &after));
        self.chosen(matcher, then, behind, state)
    }

    pub(super) fn refused(directive: &CaddyDirective, why: &str) -> Vec<FlowStep> {
        vec![FlowStep::End(RouteEnd::Refused(directive.row, why.into()))]
    }

    /// Steps that are done where a matcher fits, before what follows.
    fn when(
        &mut self,
        matcher: Option<Vec<TestConjunction>>,
        then: Vec<FlowStep>,
        behind: &[&CaddyDirective],
        state: &SiteState,
    ) -> Vec<FlowStep> {
        let ends = matches!(then.last(), Some(FlowStep::End(_)));
        let mut steps = match matcher {
            None if ends => return then,
            None => then,
            Some(when) => vec![FlowStep::If { when, then, otherwise: Vec::new() }],
        };
        steps.extend(self.sequence(behind, state));
        steps
    }

    fn chosen(
        &mut self,
        matcher: Option<Vec<TestConjunction>>,
        then: Vec<FlowStep>,
        behind: &[&CaddyDirective],
        without: &SiteState,
    ) -> Vec<FlowStep> {
        match matcher {
            None => then,
            Some(when) => {
                let otherwise = self.sequence(behind, without);
                vec![FlowStep::If { when, then, otherwise }]
            }
        }
    }

    /// A block: of those that are called `handle` one is taken.
    fn block(
        &mut self,
        first: &CaddyDirective,
        matcher: Option<Vec<TestConjunction>>,
        rest: &HandlerRest<'_>,
    ) -> Vec<FlowStep> {
        let HandlerRest { behind, state } = rest;
        for matcher in first.block.iter().filter(|it| it.name.starts_with('@')) {
            self.report.mark(matcher.row, LineFate::Carried, "");
            self.mark_all(&matcher.block);
            self.matchers.named.insert(matcher.name.clone(), matcher.clone());
        }
        let mut inside = state.clone();
        inside.keeps_order = first.name == "route";
        if first.name == "handle_path" {
            let prefix = first.arg(0).trim_end_matches('*').trim_end_matches('/');
            if !first.arg(0).starts_with('/') || prefix.contains('*') || prefix.is_empty() {
                return Self::refused(first, "its path is no prefix");
            }
            inside.base = format!("{}{prefix}", state.base);
        }
        let rest: Vec<&CaddyDirective> = match first.name.as_str() {
            "route" => behind.to_vec(),
            _ => behind.iter().copied().filter(|it| !it.name.starts_with("handle")).collect(),
        };
        // What does not end within goes on behind it.
        let mut own: Vec<CaddyDirective> = first.block.clone();
        own.retain(|it| !it.name.starts_with('@'));
        let ends = own.iter().any(|it| is_end(&it.name) && !has_matcher(it));
        if !ends && !rest.is_empty() {
            if first.name == "handle_path" {
                return Self::refused(first, "what follows it sees another path");
            }
            inside.keeps_order = true;
            if first.name == "handle" {
                own.sort_by_key(|it| {
                    let name = if it.name == "handle_path" { "handle" } else { it.name.as_str() };
                    let turn = ORDER.split(' ').position(|known| known == name).unwrap_or(0);
                    (turn, self.matchers.rank(it))
                });
            }
            own.extend(rest.into_iter().cloned());
        }
        let then = self.handled(&own, &inside);
        self.chosen(matcher, then, behind, state)
    }

    fn client_certificates(
        &mut self,
        tls: &CaddyDirective,
        behind: &[&CaddyDirective],
        state: &SiteState,
    ) -> Vec<FlowStep> {
        if let Some(auth) = tls.block.iter().find(|it| it.name == "client_auth") {
            let why = "clients are asked for certificates at all listeners or none: write \
                       tls.client_ca";
            return Self::refused(auth, why);
        }
        self.sequence(behind, state)
    }
}

/// Why a directive without which all is the same is left out.
fn left_out(name: &str) -> Option<&'static str> {
    Some(match name {
        "log" | "log_skip" | "skip_log" | "log_append" | "log_name" | "tracing" => {
            "the ledger has every request"
        }
        "push" => "browsers have given push up",
        "vars" | "map" => "variables have no counterpart",
        "rate_limit" => "write limit at the routes",
        "cache" => "write cache: true at the routes",
        "handle_errors" => "pages for errors need a site of the web door (errors)",
        "metrics" => "the metrics page has them",
        _ => return None,
    })
}

/// True for a directive that answers.
fn is_end(name: &str) -> bool {
    matches!(
        name,
        "reverse_proxy" | "php_fastcgi" | "file_server" | "respond" | "redir" | "abort" | "error"
    )
}

fn has_matcher(directive: &CaddyDirective) -> bool {
    directive.arg(0).starts_with(['/', '@'])
}

/// Another path for servers: `{ from, to }`.
fn rewritten(name: &str, args: &[String]) -> Option<Value> {
    let arg = |index: usize| args.get(index).map_or("", String::as_str);
    if name == "uri" {
        return match arg(0) {
            "strip_prefix" if arg(1).starts_with('/') => {
                let prefix = regex::escape(arg(1).trim_end_matches('/'));
                Some(json!({ "from": format!("^{prefix}(?:/|$)"), "to": "/" }))
            }
            "strip_suffix" if !arg(1).is_empty() => {
                rewrite(&format!("{}$", regex::escape(arg(1))), "")
            }
            "replace" if !arg(1).is_empty() && !arg(2).contains('{') => {
                rewrite(&regex::escape(arg(1)), &arg(2).replace('$', "$$"))
            }
            "path_regexp" if !arg(2).contains('{') => match read(arg(1), LetterCase::Counts) {
                ReadExpression::Same(from) => rewrite(&from, arg(2)),
                ReadExpression::Wider(_) | ReadExpression::Unreadable => None,
            },
            _ => None,
        };
    }
    let to = arg(0);
    if let Some(prefix) = to.strip_suffix("{uri}").or(to.strip_suffix("{path}")) {
        let is_plain = !prefix.contains(['{', '$']) && prefix.starts_with('/');
        return is_plain.then(|| json!({ "from": "^", "to": prefix }));
    }
    let is_plain = !to.contains(['{', '$']) && to.starts_with('/');
    is_plain.then(|| json!({ "from": "^.*$", "to": to }))
}

/// A size: `10MB`, `1GiB`.
fn size(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let count: u64 = text[..end].parse().ok()?;
    let factor: u64 = match text[end..].trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kb" => 1_000,
        "kib" | "k" => 1 << 10,
        "mb" => 1_000_000,
        "mib" | "m" => 1 << 20,
        "gb" => 1_000_000_000,
        "gib" | "g" => 1 << 30,
        _ => return None,
    };
    count.checked_mul(factor)
}
