//! Actions of HAProxy's rules: passwords, limits, redirects, answers, fields, paths.

use super::HaproxyLine;
use super::conditions::FoundCondition;
use super::frontends::time;
use super::rules::RuleSteps;
use import_routes::flow::{FieldSide, FlowStep, RouteEnd};
use import_routes::names::is_field;
use import_routes::regex_words::{LetterCase, ReadExpression, read};
use import_routes::report::LineFate;
use import_routes::unknown_word::UnknownWord;
use serde_json::{Map, Value, json};

impl RuleSteps<'_, '_> {
    /// A password for what follows.
    pub(super) fn password(
        &mut self,
        line: &HaproxyLine,
        when: Option<FoundCondition>,
    ) -> FlowStep {
        let refused = |why: &str| FlowStep::End(RouteEnd::Refused(line.row, why.into()));
        let (list, groups, when) = match when {
            Some(FoundCondition::Password { list, groups, is_not: true, when }) => {
                (list, groups, when)
            }
            Some(FoundCondition::Unsayable(why)) => return refused(why),
            _ => return refused("who is let in is not said by http_auth alone"),
        };
        let Some(users) = self.reader.users.get(&list) else {
            return refused("there is no such userlist");
        };
        let in_groups = |name: &String| {
            groups.is_empty()
                || groups.iter().any(|group| {
                    users.groups.get(group).is_some_and(|members| members.contains(name))
                })
        };
        let found: Map<String, Value> = users
            .users
            .iter()
            .filter(|(name, _)| in_groups(name))
            .map(|(name, hash)| (name.clone(), json!(hash)))
            .collect();
        if found.is_empty() {
            return refused("no user of the list has a hash that is taken here");
        }
        let realm = line.words.iter().position(|it| it == "realm").map(|at| line.word(at + 1));
        let is_text = |it: char| (' '..='~').contains(&it) && it != '"' && it != '\\';
        let realm: String = realm.unwrap_or(&list).chars().filter(|it| is_text(*it)).collect();
        self.reader.report.mark(line.row, LineFate::Carried, "");
        let set = FlowStep::Set("auth", json!({ "users": found, "realm": realm }));
        FlowStep::If { when, then: vec![set], otherwise: Vec::new() }
    }

    /// A limit of requests, where the table of the proxy says in which time they are counted.
    pub(super) fn limit(&mut self, line: &HaproxyLine, count: u64) -> Vec<FlowStep> {
        let table = self
            .proxy
            .lines
            .iter()
            .chain(self.reader.backends.values().flat_map(|it| it.lines.iter()));
        let mut found = None;
        for table in table.filter(|it| it.word(0) == "stick-table") {
            let stored = table
                .words
                .iter()
                .find_map(|it| it.split(',').find_map(|it| it.strip_prefix("http_req_rate(")));
            if let Some(period) = stored.and_then(|it| time(it.trim_end_matches(')'))) {
                found = Some((table.row, period));
            }
        }
        let Some((row, period)) = found.filter(|(_, it)| it.as_millis() > 0) else {
            let why = "counters of stick-tables are not asked for: see limit of routes";
            self.reader.report.mark(line.row, LineFate::LeftOut, why);
            return Vec::new();
        };
        let per_hour = u128::from(count.max(1)) * 3_600_000 / period.as_millis();
        let (rate, unit) = match per_hour {
            it if it >= 3_600 * 10 => (it / 3_600, "s"),
            it if it >= 600 => (it / 60, "m"),
            it => (it.max(1), "h"),
        };
        let rate = rate.clamp(1, 1_000_000);
        let burst = count.clamp(1, 1_000_000);
        let why = "as limit of the routes: a bucket, and 429 beyond it";
        self.reader.report.mark(line.row, LineFate::Changed, why);
        self.reader.report.mark(row, LineFate::Changed, why);
        let limit = json!({ "rate": format!("{rate}/{unit}"), "burst": burst, "key": "client" });
        vec![FlowStep::Set("limit", limit)]
    }

    pub(super) fn returned(&mut self, line: &HaproxyLine, words: &[String]) -> Vec<FlowStep> {
        let after = |name: &str| {
            let at = words.iter().position(|it| it == name)?;
            words.get(at + 1).map(String::as_str)
        };
        let status: u16 = after("status").and_then(|it| it.parse().ok()).unwrap_or(200);
        let status = if (200..600).contains(&status) { status } else { 200 };
        let mut answer = json!({ "status": status });
        let text = match (after("string").or(after("lf-string")), after("file")) {
            (Some(text), _) => Some(text.to_owned()),
            (None, Some(file)) => self.reader.around.read(&self.reader.folder.join(file)).ok(),
            (None, None) => None,
        };
        let body = text.filter(|it| it.len() < 60_000 && !matches!(status, 204 | 205 | 304));
        if let Some(body) = body {
            answer["body"] = json!(body);
            answer["type"] = json!(after("content-type").unwrap_or("text/plain"));
        }
        self.reader.report.mark(line.row, LineFate::Carried, "");
        vec![FlowStep::settings(json!({ "answer": answer }))]
    }

    /// A rule for a field.
    pub(super) fn field(
        &mut self,
        line: &HaproxyLine,
        words: &[String],
        side: FieldSide,
    ) -> Option<FlowStep> {
        let word = |index: usize| words.get(index).map_or("", String::as_str);
        let name = word(1);
        let report = &mut self.reader.report;
        if !is_field(name, "") || word(2) == "-m" {
            report.mark(line.row, LineFate::LeftOut, "no rule may touch such fields");
            return None;
        }
        let forwarded = name.to_ascii_lowercase().starts_with("x-forwarded-");
        if side == FieldSide::Request && forwarded && word(0) != "del-header" {
            let why = "always sent, and what a client that is not trusted claims is left out";
            report.mark(line.row, LineFate::Changed, why);
            return None;
        }
        let rule = match (word(0), format_text(word(2))) {
            ("del-header", _) => {
                report.mark(line.row, LineFate::Carried, "");
                json!({ "remove": name })
            }
            (verb, Ok(value)) if is_field(name, &value) => {
                report.mark(line.row, LineFate::Carried, "");
                let verb = if verb == "set-header" { "set" } else { "add" };
                json!({ verb: name, "value": value })
            }
            (_, Ok(_)) => {
                report.mark(line.row, LineFate::LeftOut, "this is no field");
                return None;
            }
            (_, Err(why)) => {
                report.mark(line.row, LineFate::LeftOut, &why.to_string());
                // What clients claim must not pass for it.
                (side == FieldSide::Request && word(0) == "set-header")
                    .then(|| json!({ "remove": name }))?
            }
        };
        Some(FlowStep::Field(side, rule))
    }

    pub(super) fn path(&mut self, line: &HaproxyLine, words: &[String]) -> Vec<FlowStep> {
        let word = |index: usize| words.get(index).map_or("", String::as_str);
        let refused = |why: &str| vec![FlowStep::End(RouteEnd::Refused(line.row, why.into()))];
        let (from, to) = match word(0) {
            "set-path" => match word(1).strip_suffix("%[path]") {
                Some(prefix) if !prefix.contains('%') => {
                    ("^".to_owned(), prefix.replace('$', "$$"))
                }
                _ if !word(1).contains('%') => ("^.*$".to_owned(), word(1).replace('$', "$$")),
                _ => return refused("the new path has no counterpart"),
            },
            "replace-path" => {
                let ReadExpression::Same(text) = read(word(1), LetterCase::Counts) else {
                    return refused("the expression has no counterpart");
                };
                let mut to = word(2).replace('$', "$$");
                for digit in 0..10 {
                    to = to.replace(&format!("\\{digit}"), &format!("${{{digit}}}"));
                }
                if to.contains("%[") {
                    return refused("the new path has no counterpart");
                }
                (text, to)
            }
            _ => return refused("the query is not changed by routes"),
        };
        let pair = json!({ "from": from, "to": to });
        self.reader.report.mark(line.row, LineFate::Carried, "");
        vec![FlowStep::Set("rewrite", pair)]
    }
}

/// A text with log format in our words, or why that cannot be.
pub(super) fn format_text(text: &str) -> Result<String, UnknownWord> {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(['%', '{', '}']) {
        out.push_str(&rest[..at]);
        let behind = &rest[at + 1..];
        if rest[at..].starts_with('{') || rest[at..].starts_with('}') {
            out.push_str(&rest[at..=at].repeat(2));
            rest = behind;
            continue;
        }
        if let Some(after) = behind.strip_prefix('%') {
            out.push('%');
            rest = after;
            continue;
        }
        if let Some(after) = behind.strip_prefix("ci") {
            out.push_str("{client}");
            rest = after;
            continue;
        }
        let Some((inside, after)) = behind.strip_prefix('[').and_then(|it| it.split_once(']'))
        else {
            return Err(UnknownWord("a piece of the text".into()));
        };
        out.push_str(match inside.trim_start_matches("req.") {
            "src" => "{client}",
            "hdr(host)" | "hdr(Host)" | "base,host" => "{host}",
            "path" | "capture.uri,path" => "{path}",
            "url" | "pathq" | "capture.uri" | "capture.req.uri" => "{uri}",
            "query" => "{query}",
            "ssl_fc,iif(https,http)" => "{scheme}",
            _ => return Err(UnknownWord(format!("%[{inside}]"))),
        });
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}
