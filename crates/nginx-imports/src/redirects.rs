//! `return` and `rewrite`: answers, other places, other paths.

use super::NginxReader;
use super::rewrites::{FlowTail, LocationKind, REWRITE};
use super::scope::NginxScope;
use super::tree::NginxDirective;
use super::variables::{
    TextPiece, VariableTexts, bind_groups, bind_tested, filled, pieces, redirect_to, without_groups,
};
use import_routes::flow::{FlowStep, TestConjunction};
use import_routes::path_test::PathTest;
use import_routes::place::RequestTest;
use import_routes::redirects::GroupSubject;
use import_routes::regex_words::{LetterCase, ReadExpression, read};
use import_routes::report::{LineFate, RowId};
use serde_json::json;

impl<'r> NginxReader<'r> {
    pub(super) fn returned(
        &mut self,
        directive: &'r NginxDirective,
        known: &VariableTexts,
        scope: &NginxScope<'r>,
    ) -> Vec<FlowStep> {
        let (status, text) = match directive.args.as_slice() {
            [one] => match one.parse::<u16>() {
                Ok(status) => (status, None),
                Err(_) => (302, Some(one.as_str())),
            },
            [status, text] => (status.parse().unwrap_or(0), Some(text.as_str())),
            _ => (0, None),
        };
        let fields = self.answer_fields(scope, known);
        let row = directive.row;
        let mut steps = fields;
        steps.extend(match (status, text) {
            (444, _) => {
                self.report.mark(row, LineFate::Carried, "");
                FlowStep::silence("close")
            }
            (301 | 302 | 303 | 307 | 308, Some(to)) => {
                self.redirected(row, status, to, known, &RedirectArgs::None)
            }
            (200..=599, text) => self.answered(directive, status, text, known, scope),
            _ => vec![Self::refused(row, "an answer cannot have this status")],
        });
        steps
    }

    pub(super) fn answered(
        &mut self,
        directive: &NginxDirective,
        status: u16,
        text: Option<&str>,
        known: &VariableTexts,
        scope: &NginxScope<'r>,
    ) -> Vec<FlowStep> {
        let mut answer = json!({ "status": status });
        let row = directive.row;
        self.report.mark(row, LineFate::Carried, "");
        if let Some(text) = text.filter(|_| !matches!(status, 204 | 205 | 304)) {
            let text = filled(text, known);
            if text.contains('$') {
                let why =
                    "an answer's text is always the same: its variables are sent as they stand";
                self.report.mark(row, LineFate::Changed, why);
            }
            if text.len() > 60_000 {
                return vec![Self::refused(row, "the text is over 64 KiB")];
            }
            if !text.is_empty() {
                answer["body"] = json!(text);
                let media = scope.last("default_type").map_or("text/plain", |it| it.arg(0));
                answer["type"] = json!(media);
            }
        }
        vec![FlowStep::settings(json!({ "answer": answer }))]
    }

    /// A redirect, by the cases of a table where its place has one.
    pub(super) fn redirected(
        &mut self,
        row: RowId,
        status: u16,
        to: &str,
        known: &VariableTexts,
        args: &RedirectArgs,
    ) -> Vec<FlowStep> {
        let mut known = known.clone();
        if let [name] = self.server_names.as_slice() {
            known.insert("server_name".into(), name.clone());
        } else if let Some(name) = self.server_names.first() {
            known.insert("server_name".into(), name.clone());
        }
        let to = filled(to, &known);
        if let Some(name) = only_unknown(&to)
            && let Some(cases) = self.cases_of(&name)
        {
            let cases = match cases {
                Ok(cases) => cases,
                Err(why) => return vec![Self::refused(row, why)],
            };
            self.mark_table(&name);
            let with = |value: &str, when: &[TestConjunction], reader: &mut Self| {
                let mut known = known.clone();
                bind_tested(&mut known, when);
                known.insert(name.clone(), filled(value, &known));
                reader.redirected(row, status, &to, &known, args)
            };
            let mut steps = with(&cases.default, &[], self);
            for (when, value) in cases.cases.iter().rev() {
                let then = with(value, when, self);
                steps = vec![FlowStep::If { when: when.clone(), then, otherwise: steps }];
            }
            return steps;
        }
        let mut draft = match redirect_to(&to, status, &known) {
            Ok(draft) => draft,
            Err(word) => return vec![Self::refused(row, &word.to_string())],
        };
        match args {
            RedirectArgs::Kept if !draft.to.contains("{uri}") && !draft.to.contains("{query}") => {
                match draft.to.strip_suffix("{path}") {
                    Some(before) => draft.to = format!("{before}{{uri}}"),
                    None if draft.to.contains('?') => draft.to.push_str("&{query}"),
                    None => draft.to.push_str("?{query}"),
                }
            }
            RedirectArgs::Kept | RedirectArgs::None => {}
        }
        match draft.step() {
            Ok(step) => {
                self.report.mark(row, LineFate::Carried, "");
                vec![step]
            }
            Err(why) => vec![Self::refused(row, &why.to_string())],
        }
    }

    pub(super) fn rewrite(
        &mut self,
        directive: &'r NginxDirective,
        known: &VariableTexts,
        tail: &FlowTail,
        scope: &NginxScope<'r>,
    ) -> RewriteFate {
        let (from, to, flag) = (directive.arg(0), directive.arg(1), directive.arg(2));
        let row = directive.row;
        let expression = match read(from, LetterCase::Counts) {
            ReadExpression::Same(text) => text,
            ReadExpression::Wider(text) => {
                let test = RequestTest::Path(PathTest::Matching(text));
                let step = Self::refused(row, "the expression looks around, which routes cannot");
                return RewriteFate::Steps(FlowStep::when(test, vec![step]));
            }
            ReadExpression::Unreadable => {
                return RewriteFate::Steps(Self::refused(row, "the expression cannot be read"));
            }
        };
        let test = RequestTest::Path(PathTest::Matching(expression.clone()));
        let goes_away = matches!(flag, "redirect" | "permanent")
            || ["http://", "https://", "$scheme"].iter().any(|it| to.starts_with(it));
        if goes_away {
            let status = if flag == "permanent" { 301 } else { 302 };
            let whole = ["^(.*)$", "(.*)", "^(.*)", "^(.+)$", "(.*)$"].contains(&from);
            let below = ["^/(.*)$", "^/(.*)", "^/(.+)$", "/(.*)", "^/?(.*)$"].contains(&from);
            let to = match (whole, below) {
                (true, _) => to.replace("$1", "$uri"),
                (_, true) => to.replace("/$1", "$uri"),
                (false, false) => to.to_owned(),
            };
            let (to, args) = match to.strip_suffix('?') {
                Some(to) => (to.to_owned(), RedirectArgs::None),
                None => (to, RedirectArgs::Kept),
            };
            let mut then = self.answer_fields(scope, known);
            let mut known = known.clone();
            bind_groups(&mut known, GroupSubject::Path, &expression);
            then.extend(self.redirected(row, status, &to, &known, &args));
            return RewriteFate::Steps(FlowStep::when(test, then));
        }
        let in_location = matches!(tail, FlowTail::Content(kind) if *kind != LocationKind::Server);
        let proxied = ["proxy_pass", "grpc_pass"].iter().any(|it| scope.own(it).is_some());
        if in_location && proxied && flag == "break" && !known.contains_key(REWRITE) {
            // The path is held in its encoded form there.
            self.report.mark(row, LineFate::Carried, "");
            let to = filled(to, &without_groups(known));
            let Some(to) = numbered(&to) else {
                return RewriteFate::Steps(FlowStep::when(
                    test,
                    vec![Self::refused(row, "a variable of the new path has no counterpart")],
                ));
            };
            let is_prefix = expression.starts_with('^');
            let from = if is_prefix { expression } else { format!("^.*?(?:{expression})") };
            let pair = json!({ "from": whole_match(&from), "to": to });
            return RewriteFate::Known(vec![(REWRITE.into(), pair.to_string())]);
        }
        if to.contains("index.php") && !to.starts_with("/index.php$") && flag != "redirect" {
            let why = "a script that answers every path is not set by a rewrite: write fallback";
            return RewriteFate::Steps(FlowStep::when(test, vec![Self::refused(row, why)]));
        }
        if expression == "^" && to == "/" && flag == "break" {
            return RewriteFate::Nothing;
        }
        let why = "routes have no rewrite that chooses another location";
        RewriteFate::Steps(FlowStep::when(test, vec![Self::refused(row, why)]))
    }
}

/// Tells whether a redirect keeps the query.
pub(super) enum RedirectArgs {
    None,
    Kept,
}

pub(super) enum RewriteFate {
    Steps(FlowStep),
    Known(Vec<(String, String)>),
    Nothing,
}

/// The variable of a text that is no word of ours, where it is one.
fn only_unknown(text: &str) -> Option<String> {
    let known = [
        "host",
        "http_host",
        "scheme",
        "request_uri",
        "uri",
        "document_uri",
        "args",
        "query_string",
        "is_args",
        "remote_addr",
    ];
    let mut names = pieces(text).into_iter().filter_map(|it| match it {
        TextPiece::Variable(name) if !known.contains(&name.as_str()) && !name.contains('.') => {
            Some(name)
        }
        TextPiece::Variable(_) | TextPiece::Literal(_) => None,
    });
    let name = names.next()?;
    names.all(|it| it == name).then_some(name)
}

/// The whole path is replaced, not what was found of it.
fn whole_match(from: &str) -> String {
    if from.ends_with('$') || from.ends_with("(.*)") { from.into() } else { format!("{from}.*$") }
}

/// Groups in braces, so that what follows does not lengthen their names; none for other variables.
fn numbered(to: &str) -> Option<String> {
    let piece = |it: TextPiece| match it {
        TextPiece::Literal(text) => Some(text.replace('$', "$$")),
        TextPiece::Variable(name) if name.len() == 1 && name.as_bytes()[0].is_ascii_digit() => {
            Some(format!("${{{name}}}"))
        }
        TextPiece::Variable(_) => None,
    };
    pieces(to).into_iter().map(piece).collect()
}
