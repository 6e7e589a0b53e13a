//! Conditions of `if`.

use super::NginxReader;
use super::tree::NginxDirective;
use super::variables::TextPiece;
use super::variables::{ValueCases, ValueMatcher, VariableTexts, filled, only_variable, pieces};
use import_routes::flow::TestConjunction;
use import_routes::place::{RequestTest, ValueTest};
use import_routes::regex_words::{LetterCase, ReadExpression, read};
use regex::Regex;

/// A condition as routes can ask it.
#[derive(Clone, Debug)]
pub(super) enum IfVerdict {
    /// Always so.
    Known(bool),
    /// The first whose conditions hold says it.
    Cases(Vec<(Vec<TestConjunction>, bool)>, bool),
    /// About the whole URL or its query: patterns that refuse find at least as much.
    Url(String),
    /// About files.
    Files { is_missing: bool },
    /// No route can ask it.
    Unsayable(&'static str),
}

impl NginxReader<'_> {
    /// Reads the condition of an `if`.
    pub(super) fn condition(
        &self,
        directive: &NginxDirective,
        known: &VariableTexts,
        valid_referers: Option<&NginxDirective>,
        server_names: &[String],
    ) -> IfVerdict {
        let whole = directive.args.join(" ");
        let text = whole.trim();
        let text = text.strip_prefix('(').unwrap_or(text);
        let text = text.strip_suffix(')').unwrap_or(text).trim();
        let (left, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let rest = rest.trim_start();
        if let Some(kind) = left.trim_start_matches('!').strip_prefix('-') {
            let about = matches!(kind, "f" | "d" | "e" | "x");
            let request = ["$request_filename", "$document_root$uri"].contains(&rest);
            return if about && request {
                IfVerdict::Files { is_missing: left.starts_with('!') }
            } else {
                IfVerdict::Unsayable("routes do not look for files")
            };
        }
        let (operator, value) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let value = value.trim().trim_matches(['"', '\'']);
        let left = filled(left, known);
        if left == "${invalid_referer}" {
            return referers(valid_referers, server_names);
        }
        let value = filled(value, known);
        let (matcher, is_not) = match operator {
            "" => (None, false),
            "=" | "!=" => (Some(ValueMatcher::Exact(value)), operator == "!="),
            "~" | "!~" | "~*" | "!~*" => {
                let case =
                    if operator.ends_with('*') { LetterCase::Ignored } else { LetterCase::Counts };
                match read(&value, case) {
                    ReadExpression::Same(text) => {
                        (Some(ValueMatcher::Expression(text)), operator.starts_with('!'))
                    }
                    ReadExpression::Wider(_) | ReadExpression::Unreadable => {
                        return IfVerdict::Unsayable("the expression has no counterpart");
                    }
                }
            }
            _ => return IfVerdict::Unsayable("the condition cannot be read"),
        };
        self.verdict(&left, matcher.as_ref(), is_not)
    }

    fn verdict(&self, left: &str, matcher: Option<&ValueMatcher>, is_not: bool) -> IfVerdict {
        let parts = pieces(left);
        if parts.iter().all(|it| matches!(it, TextPiece::Literal(_))) {
            return IfVerdict::Known(holds(left, matcher) != is_not);
        }
        let name = only_variable(left).filter(|it| left == format!("${{{it}}}"));
        let Some(name) = name else {
            return IfVerdict::Unsayable("a condition about several variables has no counterpart");
        };
        match self.cases_of(&name) {
            Some(Ok(ValueCases { cases, default })) => {
                let is_constant = |it: &str| !it.contains('$');
                if !cases.iter().all(|(_, value)| is_constant(value)) || !is_constant(&default) {
                    return IfVerdict::Unsayable("the table's values are not constant");
                }
                let cases = cases.into_iter().map(|(when, value)| {
                    let verdict = holds(&value, matcher) != is_not;
                    (when, verdict)
                });
                return IfVerdict::Cases(cases.collect(), holds(&default, matcher) != is_not);
            }
            Some(Err(why)) => return IfVerdict::Unsayable(why),
            None => {}
        }
        let something = ValueMatcher::Expression("^(?:[^0].*|0.+)$".into());
        let matcher = matcher.unwrap_or(&something);
        if matches!(name.as_str(), "args" | "query_string" | "request_uri") && !is_not {
            return url_pattern(&name, matcher);
        }
        if *matcher == ValueMatcher::Exact(String::new()) {
            // There is no field, or an empty one.
            let some = self.variable_test(&name, &ValueMatcher::Expression(".".into()));
            return IfVerdict::Cases(vec![(TestConjunction::one(some), is_not)], !is_not);
        }
        let test = self.variable_test(&name, matcher);
        match test {
            RequestTest::Unsayable(why) => IfVerdict::Unsayable(why),
            test => IfVerdict::Cases(vec![(TestConjunction::one(test), !is_not)], is_not),
        }
    }
}

/// True if a text is what is asked for; without a question, if it is neither empty nor `0`.
fn holds(text: &str, matcher: Option<&ValueMatcher>) -> bool {
    match matcher {
        None => !text.is_empty() && text != "0",
        Some(ValueMatcher::Exact(own)) => own == text,
        Some(ValueMatcher::Expression(own)) => Regex::new(own).is_ok_and(|it| it.is_match(text)),
    }
}

/// A pattern that refuses at least the URLs that a condition holds for.
fn url_pattern(name: &str, matcher: &ValueMatcher) -> IfVerdict {
    let ValueMatcher::Expression(text) = matcher else {
        return IfVerdict::Unsayable("routes ask for names of the query one by one");
    };
    let (flags, text) = match text.strip_prefix("(?i)") {
        Some(text) => ("(?i)", text),
        None => ("(?-i)", text.as_str()),
    };
    let whole = match (name, text.strip_prefix('^')) {
        ("request_uri", _) => format!("{flags}{text}"),
        (_, Some(text)) if !text.contains('|') => format!(r"{flags}\?{text}"),
        (_, _) => format!(r"{flags}\?.*(?:{})", text.replace('^', "")),
    };
    match Regex::new(&whole) {
        Ok(_) => IfVerdict::Url(format!("~{whole}")),
        Err(_) => IfVerdict::Unsayable("the expression has no counterpart"),
    }
}

/// True cases are those of referers that are not wanted.
fn referers(valid: Option<&NginxDirective>, server_names: &[String]) -> IfVerdict {
    let Some(valid) = valid else {
        return IfVerdict::Unsayable("no valid_referers says which are wanted");
    };
    let field = |test| TestConjunction::one(RequestTest::Header("referer".into(), test));
    let (mut cases, mut is_none_valid, mut is_blocked_valid) = (Vec::new(), false, false);
    let mut names: Vec<String> = Vec::new();
    for arg in &valid.args {
        match arg.as_str() {
            "none" => is_none_valid = true,
            "blocked" => is_blocked_valid = true,
            "server_names" => names.extend(server_names.iter().cloned()),
            _ => names.push(arg.clone()),
        }
    }
    for name in names {
        let text = if let Some(text) = name.strip_prefix('~') {
            match read(text, LetterCase::Ignored) {
                ReadExpression::Same(text) => {
                    format!("(?i)^https?://.*?(?:{})", text.trim_start_matches("(?i)"))
                }
                ReadExpression::Wider(_) | ReadExpression::Unreadable => {
                    return IfVerdict::Unsayable("the expression has no counterpart");
                }
            }
        } else {
            let (host, path) = name.split_once('/').map_or((name.as_str(), ""), |it| it);
            let host = regex::escape(host).replace(r"\*", "[^/:]*");
            format!("(?i)^https?://{host}(?::[0-9]+)?(?:/{}|$)", regex::escape(path))
        };
        match ValueTest::matching(&text) {
            Some(test) => cases.push((field(test), false)),
            None => return IfVerdict::Unsayable("the expression has no counterpart"),
        }
    }
    if is_blocked_valid {
        // What a firewall has blanked names no scheme.
        cases.push((field(ValueTest::Matching("(?i)^https?://".into())), true));
    }
    cases.push((field(ValueTest::something()), !is_blocked_valid));
    IfVerdict::Cases(cases, !is_none_valid)
}
