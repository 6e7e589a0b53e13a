//! The answer of a location: who may ask, what is set for it, and its handler.

use super::NginxReader;
use super::rewrites::LocationKind;
use super::scope::NginxScope;
use super::tree::{NginxDirective, UNREAD};
use super::values::{size, time};
use super::variables::{VariableTexts, template};
use import_routes::flow::{FieldSide, FlowStep, TestConjunction};
use import_routes::names::is_field;
use import_routes::place::RequestTest;
use import_routes::report::LineFate;
use import_routes::written_values::{written_size, written_time};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::time::Duration;
use vocab::Network;

/// Directives that decide who is let in, and that have no counterpart.
const ACCESS: [&str; 20] = [
    UNREAD,
    "access_by_lua",
    "access_by_lua_block",
    "access_by_lua_file",
    "rewrite_by_lua",
    "rewrite_by_lua_block",
    "rewrite_by_lua_file",
    "auth_jwt",
    "auth_jwt_key_file",
    "auth_ldap",
    "auth_pam",
    "auth_digest",
    "auth_gss",
    "auth_request",
    "js_access",
    "modsecurity",
    "SecRulesEnabled",
    "secure_link_secret",
    "testcookie",
    "session_log",
];

impl<'r> NginxReader<'r> {
    pub(super) fn content_steps(
        &mut self,
        scope: &NginxScope<'r>,
        known: &VariableTexts,
        kind: &LocationKind,
    ) -> Vec<FlowStep> {
        if let Some(step) = self.unsaid_access(scope) {
            return vec![step];
        }
        if let Some(internal) = scope.own("internal")
            && *kind != LocationKind::Named
        {
            let why = "it is 404 for all: for X-Accel-Redirect write internal: true and reproxy";
            self.report.mark(internal.row, LineFate::Changed, why);
            return vec![FlowStep::answer(404)];
        }
        let mut steps = self.settings(scope, known);
        let end = self.handler(scope, known, kind);
        steps.extend(self.guarded(scope, end));
        steps
    }

    /// A step that closes, where an access rule has no counterpart.
    fn unsaid_access(&mut self, scope: &NginxScope<'r>) -> Option<FlowStep> {
        if self.is_closed {
            return Some(FlowStep::answer(403));
        }
        for name in ACCESS {
            let Some(found) = scope.last(name) else { continue };
            if found.arg(0) == "off" {
                self.report.mark(found.row, LineFate::Carried, "");
                continue;
            }
            let why = match name {
                UNREAD => "nobody knows which access rules it holds",
                "auth_request" => "write forward_auth at the route",
                _ => "this access rule has no counterpart",
            };
            return Some(Self::refused(found.row, why));
        }
        None
    }

    /// The steps that follow, for those whom `allow`, `deny` and a password let in.
    fn guarded(&mut self, scope: &NginxScope<'r>, end: Vec<FlowStep>) -> Vec<FlowStep> {
        let rules = scope.all(&["allow", "deny"]);
        let password = match self.password(scope) {
            Ok(password) => password,
            Err(step) => return vec![step],
        };
        let any = scope.last("satisfy").is_some_and(|it| it.arg(0) == "any");
        if let Some(satisfy) = scope.last("satisfy") {
            self.report.mark(satisfy.row, LineFate::Carried, "");
        }
        let with_password: Vec<FlowStep> = password
            .iter()
            .cloned()
            .map(|it| FlowStep::Set("auth", it))
            .chain(end.clone())
            .collect();
        let (allowed, denied, default) = match (any, &password) {
            // Whom no rule names is asked for a password.
            (true, Some(_)) => (end, with_password.clone(), with_password),
            (_, _) => (with_password.clone(), vec![FlowStep::answer(403)], with_password),
        };
        let steps = self.access_steps(&rules, &allowed, &denied, default);
        match scope.own("limit_except") {
            Some(except) => self.excepted(except, steps),
            None => steps,
        }
    }

    /// Rules in their order; the first that fits decides.
    fn access_steps(
        &mut self,
        rules: &[&NginxDirective],
        allowed: &[FlowStep],
        denied: &[FlowStep],
        default: Vec<FlowStep>,
    ) -> Vec<FlowStep> {
        let mut groups: Vec<(bool, Option<Vec<Network>>)> = Vec::new();
        for rule in rules {
            let allows = rule.name == "allow";
            self.report.mark(rule.row, LineFate::Carried, "");
            let networks = match rule.arg(0) {
                "all" => None,
                "unix:" => continue,
                text => {
                    if let Ok(network) = text.parse::<Network>() {
                        Some(vec![network])
                    } else {
                        let step = Self::refused(rule.row, "this is no network");
                        return vec![step];
                    }
                }
            };
            match (groups.last_mut(), networks) {
                (Some((last, Some(group))), Some(more)) if *last == allows => group.extend(more),
                (_, networks) => groups.push((allows, networks)),
            }
        }
        let mut steps = default;
        for (allows, networks) in groups.into_iter().rev() {
            let then = if allows { allowed.to_vec() } else { denied.to_vec() };
            steps = match networks {
                None => then,
                Some(networks) => vec![FlowStep::If {
                    when: TestConjunction::one(RequestTest::Clients(networks)),
                    then,
                    otherwise: steps,
                }],
            };
        }
        steps
    }

    fn excepted(&mut self, except: &'r NginxDirective, steps: Vec<FlowStep>) -> Vec<FlowStep> {
        self.report.mark(except.row, LineFate::Carried, "");
        let mut methods: BTreeSet<String> = except.args.iter().cloned().collect();
        if methods.contains("GET") {
            methods.insert("HEAD".into());
        }
        let inner = NginxScope::of(vec![except.inside()]);
        let rules = inner.all(&["allow", "deny"]);
        let others = if let Some(auth) = inner.last("auth_basic") {
            vec![Self::refused(auth.row, "a password for some methods is not read")]
        } else {
            let denied = [FlowStep::answer(403)];
            self.access_steps(&rules, &steps, &denied, steps.clone())
        };
        vec![FlowStep::If {
            when: TestConjunction::one(RequestTest::Methods(methods)),
            then: steps,
            otherwise: others,
        }]
    }

    /// `auth` of the routes, if a password is due.
    fn password(&mut self, scope: &NginxScope<'r>) -> Result<Option<Value>, FlowStep> {
        let Some(basic) = scope.last("auth_basic").filter(|it| it.arg(0) != "off") else {
            return Ok(None);
        };
        let Some(file) = scope.last("auth_basic_user_file") else {
            return Err(Self::refused(basic.row, "no file says who has a password"));
        };
        let is_text = |it: char| (' '..='~').contains(&it) && it != '"' && it != '\\';
        let realm: String = basic.arg(0).chars().filter(|it| is_text(*it)).collect();
        if file.arg(0).contains('$') {
            return Err(Self::refused(file.row, "the name of a file of passwords has a variable"));
        }
        let path = self.folder.join(file.arg(0));
        let mut auth = json!({ "realm": realm });
        match self.around.read(&path) {
            Err(why) => {
                auth["file"] = json!(path.to_string_lossy());
                let why = format!(
                    "it cannot be read here ({why}): hashes other than bcrypt, \
                                   Argon2 and SHA-crypt are refused"
                );
                self.report.mark(file.row, LineFate::Changed, &why);
            }
            Ok(text) => match import_routes::passwords::read(&text) {
                import_routes::passwords::UserFile::Kept => {
                    auth["file"] = json!(path.to_string_lossy());
                    self.report.mark(file.row, LineFate::Carried, "");
                }
                import_routes::passwords::UserFile::Some(users, lost) if !users.is_empty() => {
                    auth["users"] = json!(users);
                    let why = format!("users with hashes that are refused have no access: {lost}");
                    self.report.mark(file.row, LineFate::Changed, &why);
                }
                import_routes::passwords::UserFile::Some(_, lost) => {
                    let why = format!(
                        "hashes of {lost} are refused (MD5, SHA-1, DES, plain text): make new ones \
                         by htpasswd -B"
                    );
                    return Err(Self::refused(file.row, &why));
                }
            },
        }
        self.report.mark(basic.row, LineFate::Carried, "");
        Ok(Some(auth))
    }

    /// Settings of the routes of a location.
    fn settings(&mut self, scope: &NginxScope<'r>, known: &VariableTexts) -> Vec<FlowStep> {
        let mut steps = self.answer_fields(scope, known);
        if let Some(limit) = scope.last("client_max_body_size")
            && let Some(bytes) = size(limit.arg(0))
        {
            // 0 is any size.
            let bytes = if bytes == 0 { 1 << 50 } else { bytes.max(1 << 10) };
            self.report.mark(limit.row, LineFate::Carried, "");
            if bytes != self.body_max {
                steps.push(FlowStep::Set("body_max", json!(written_size(bytes))));
            }
        }
        steps.extend(self.compressed(scope));
        steps.extend(self.limits(scope));
        steps
    }

    fn compressed(&mut self, scope: &NginxScope<'r>) -> Option<FlowStep> {
        let gzip = scope.last("gzip")?;
        self.report.mark(gzip.row, LineFate::Carried, "");
        if !scope.is_on("gzip") {
            return None;
        }
        let mut compress = json!({ "codings": ["gzip"] });
        if let Some(level) = scope.last("gzip_comp_level")
            && let Ok(number) = level.arg(0).parse::<u8>()
            && (1..=9).contains(&number)
        {
            compress["level"] = json!(number);
            self.report.mark(level.row, LineFate::Carried, "");
        }
        if let Some(min) = scope.last("gzip_min_length")
            && let Some(bytes) = size(min.arg(0))
        {
            compress["min"] = json!(written_size(bytes));
            self.report.mark(min.row, LineFate::Carried, "");
        }
        for name in ["gzip_types", "gzip_vary", "gzip_proxied", "gzip_disable", "gzip_static"] {
            if let Some(found) = scope.last(name) {
                let why = "all text is compressed, Vary is always said, and coded files are made";
                self.report.mark(found.row, LineFate::Changed, why);
            }
        }
        Some(FlowStep::Set("compress", compress))
    }

    fn limits(&mut self, scope: &NginxScope<'r>) -> Vec<FlowStep> {
        let mut steps = Vec::new();
        for (index, limit) in scope.all(&["limit_req"]).into_iter().enumerate() {
            match self.rate(limit) {
                Ok(rate) if index == 0 => {
                    self.report.mark(limit.row, LineFate::Changed, "beyond it is 429, not 503");
                    steps.push(FlowStep::Set("limit", rate));
                }
                Ok(_) => {
                    let why = "a route has one limit: that of the first";
                    self.report.mark(limit.row, LineFate::LeftOut, why);
                }
                Err(why) => self.report.mark(limit.row, LineFate::LeftOut, why),
            }
        }
        for limit in scope.all(&["limit_conn"]) {
            let key = self.zones.get(limit.arg(0)).map(|it| it.key.as_str());
            let key = match key {
                Some("$binary_remote_addr" | "$remote_addr") => "client",
                Some("$server_name" | "$host") => "route",
                _ => {
                    let why = "requests are counted by client or route";
                    self.report.mark(limit.row, LineFate::LeftOut, why);
                    continue;
                }
            };
            match limit.arg(1).parse::<u32>() {
                Ok(max @ 1..=65_536) => {
                    self.report.mark(limit.row, LineFate::Carried, "");
                    steps.push(FlowStep::Set("requests", json!({ "max": max, "key": key })));
                }
                _ => self.report.mark(limit.row, LineFate::LeftOut, "this is no number"),
            }
        }
        steps
    }

    fn rate(&self, limit: &NginxDirective) -> Result<Value, &'static str> {
        let part = |key: &str| limit.args.iter().find_map(|it| it.strip_prefix(key));
        let zone =
            part("zone=").and_then(|it| self.zones.get(it)).ok_or("there is no such zone")?;
        let key = match zone.key.as_str() {
            "$binary_remote_addr" | "$remote_addr" => "client",
            "$server_name" | "$host" => "route",
            _ => return Err("requests are counted by client or route"),
        };
        let (count, unit) = zone.rate.split_once("r/").ok_or("the zone has no rate")?;
        let count: u32 = count.parse().map_err(|_| "the zone has no rate")?;
        if count == 0 || count > 1_000_000 || !matches!(unit, "s" | "m") {
            return Err("the rate is out of bounds");
        }
        let burst = part("burst=").and_then(|it| it.parse::<u32>().ok()).unwrap_or(0);
        let burst = burst.saturating_add(1).min(1_000_000);
        Ok(json!({ "rate": format!("{count}/{unit}"), "burst": burst, "key": key }))
    }

    /// Rules for fields of answers.
    pub(super) fn answer_fields(
        &mut self,
        scope: &NginxScope<'r>,
        known: &VariableTexts,
    ) -> Vec<FlowStep> {
        let mut steps = Vec::new();
        for field in scope.all(&["add_header"]) {
            let name = field.arg(0);
            if name.eq_ignore_ascii_case("connection") || name.eq_ignore_ascii_case("via") {
                self.report.mark(field.row, LineFate::LeftOut, "it frames messages");
                continue;
            }
            match template(field.arg(1), known) {
                Ok(value) if is_field(name, &value) => {
                    let why = "also on answers with other statuses";
                    let is_always = field.args.iter().any(|it| it == "always");
                    let fate = if is_always { LineFate::Carried } else { LineFate::Changed };
                    self.report.mark(field.row, fate, if is_always { "" } else { why });
                    let rule = json!({ "add": name, "value": value });
                    steps.push(FlowStep::Field(FieldSide::Response, rule));
                }
                Ok(_) => self.report.mark(field.row, LineFate::LeftOut, "this is no field"),
                Err(word) => {
                    self.report.mark(field.row, LineFate::LeftOut, &word.to_string());
                }
            }
        }
        if let Some(expires) = scope.last("expires") {
            let time_text = expires.args.last().map_or("", String::as_str);
            let value = match time_text {
                "off" => None,
                "max" => Some("max-age=315360000".to_owned()),
                "epoch" => Some("no-cache".to_owned()),
                text if text.starts_with('-') => Some("no-cache".to_owned()),
                text => time(text).map(|it| format!("max-age={}", it.as_secs())),
            };
            if let Some(value) = value {
                let rule = json!({ "set": "Cache-Control", "value": value });
                steps.push(FlowStep::Field(FieldSide::Response, rule));
                let why = "as Cache-Control alone, whatever the status";
                self.report.mark(expires.row, LineFate::Changed, why);
            }
        }
        for hidden in scope.all(&["proxy_hide_header", "fastcgi_hide_header"]) {
            if is_field(hidden.arg(0), "") {
                self.report.mark(hidden.row, LineFate::Carried, "");
                let rule = json!({ "remove": hidden.arg(0) });
                steps.push(FlowStep::Field(FieldSide::Response, rule));
            }
        }
        steps
    }

    /// Time of a directive, as a setting of a route or of a pool.
    pub(super) fn time_of(
        &mut self,
        scope: &NginxScope<'r>,
        name: &str,
        bounds: RangeInclusive<Duration>,
    ) -> Option<String> {
        let found = scope.last(name)?;
        let time = time(found.arg(0))?;
        let (least, most) = bounds.clone().into_inner();
        let is_within = bounds.contains(&time);
        let fate = if is_within { LineFate::Carried } else { LineFate::Changed };
        self.report.mark(found.row, fate, if is_within { "" } else { "within our bounds" });
        Some(written_time(time, least, most))
    }

    pub(super) fn route_of(settings: Map<String, Value>) -> FlowStep {
        FlowStep::End(import_routes::flow::RouteEnd::Settings(settings))
    }
}
