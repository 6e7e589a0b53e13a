//! Variables of nginx: what a test of one asks of a request, and texts with some in them.

use super::NginxReader;
use super::tree::NginxDirective;
use import_routes::flow::TestConjunction;
use import_routes::path_test::PathTest;
use import_routes::place::{HostTest, RequestTest, ValueTest};
use import_routes::redirects::{self, GroupSubject, RedirectDraft};
use import_routes::regex_words::{LetterCase, ReadExpression, read};
use import_routes::unknown_word::UnknownWord;
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// Variables that `set` has given a text, with all texts in them put in.
pub(super) type VariableTexts = BTreeMap<String, String>;

/// A value that a variable is held against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ValueMatcher {
    Exact(String),
    /// In the words of the `regex` crate.
    Expression(String),
}

/// Ways to a value: the first whose conditions hold.
#[derive(Clone, Debug, Default)]
pub(super) struct ValueCases {
    pub(super) cases: Vec<(Vec<TestConjunction>, String)>,
    pub(super) default: String,
}

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TextPiece {
    Literal(String),
    Variable(String),
}

/// Methods of which an expression picks some: a route has sixteen.
const METHODS: [&str; 16] = [
    "GET",
    "HEAD",
    "POST",
    "PUT",
    "DELETE",
    "PATCH",
    "OPTIONS",
    "PROPFIND",
    "PROPPATCH",
    "MKCOL",
    "COPY",
    "MOVE",
    "LOCK",
    "UNLOCK",
    "REPORT",
    "TRACE",
];
/// Lines of one table that become conditions.
const CASES_MAX: usize = 400;

/// Cuts a text at its variables.
pub(super) fn pieces(text: &str) -> Vec<TextPiece> {
    let (mut found, mut literal, mut rest) = (Vec::new(), String::new(), text);
    while let Some(at) = rest.find('$') {
        literal.push_str(&rest[..at]);
        let behind = &rest[at + 1..];
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let is_group = behind.starts_with(|c: char| c.is_ascii_digit());
        let (name, after) = match behind.strip_prefix('{').and_then(|it| it.split_once('}')) {
            Some((name, after)) => (name, after),
            // Groups of expressions are `$1` to `$9`.
            None if is_group => behind.split_at(1),
            None => behind.split_at(behind.find(|c| !is_name(c)).unwrap_or(behind.len())),
        };
        if name.is_empty() {
            literal.push('$');
        } else {
            if !literal.is_empty() {
                found.push(TextPiece::Literal(std::mem::take(&mut literal)));
            }
            found.push(TextPiece::Variable(name.to_owned()));
        }
        rest = after;
    }
    literal.push_str(rest);
    if !literal.is_empty() {
        found.push(TextPiece::Literal(literal));
    }
    found
}

/// A text with the variables that are known put in.
pub(super) fn filled(text: &str, known: &VariableTexts) -> String {
    let piece = |it: TextPiece| match it {
        TextPiece::Literal(text) => text,
        TextPiece::Variable(name) => match known.get(&name) {
            Some(text) => text.clone(),
            None => format!("${{{name}}}"),
        },
    };
    pieces(text).into_iter().map(piece).collect()
}

/// The one variable that a text is, or has.
pub(super) fn only_variable(text: &str) -> Option<String> {
    let mut names = pieces(text).into_iter().filter_map(|it| match it {
        TextPiece::Variable(name) => Some(name),
        TextPiece::Literal(_) => None,
    });
    let name = names.next()?;
    names.next().is_none().then_some(name)
}

/// Variables under which the expressions are kept whose groups are known.
const PATH_FROM: &str = "(path)";
const HOST_FROM: &str = "(host)";

/// Makes the groups of an expression known, which has just been held against `subject`; those of
/// numbers are its own alone from now on.
pub(super) fn bind_groups(known: &mut VariableTexts, subject: GroupSubject, expression: &str) {
    forget_numbers(known);
    let (key, prefix) = match subject {
        GroupSubject::Path => (PATH_FROM, "${path."),
        GroupSubject::Host => (HOST_FROM, "${host."),
    };
    if known.get(key).is_some_and(|it| it != expression) {
        // A place has one expression for each.
        known.values_mut().filter(|it| it.contains(prefix)).for_each(|it| *it = "${lost}".into());
    }
    let Ok(regex) = Regex::new(expression) else { return };
    known.insert(key.into(), expression.into());
    for (number, name) in regex.capture_names().enumerate().skip(1) {
        let names = name.into_iter().map(str::to_owned).chain([number.to_string()]);
        for name in names {
            known.insert(name.clone(), format!("{prefix}{name}}}"));
        }
    }
}

/// Makes the groups known of an expression that a condition has held against path or host.
pub(super) fn bind_tested(known: &mut VariableTexts, when: &[TestConjunction]) {
    let [only] = when else {
        forget_numbers(known);
        return;
    };
    match only.all.as_slice() {
        [RequestTest::Path(PathTest::Matching(text))] => {
            bind_groups(known, GroupSubject::Path, text);
        }
        [RequestTest::Host(HostTest::Matching(text))] => {
            bind_groups(known, GroupSubject::Host, text);
        }
        _ => forget_numbers(known),
    }
}

/// The variables that are no groups of an expression.
pub(super) fn without_groups(known: &VariableTexts) -> VariableTexts {
    let is_group = |text: &str| text.contains("${path.") || text.contains("${host.");
    let kept = known.iter().filter(|(_, text)| !is_group(text));
    kept.map(|(name, text)| (name.clone(), text.clone())).collect()
}

/// Forgets the groups of numbers, which another expression has now.
pub(super) fn forget_numbers(known: &mut VariableTexts) {
    known.retain(|name, _| name.len() != 1 || !name.as_bytes()[0].is_ascii_digit());
}

/// A redirect to a text with variables, or the variable that we have no word for.
pub(super) fn redirect_to(
    text: &str,
    status: u16,
    known: &VariableTexts,
) -> Result<RedirectDraft, UnknownWord> {
    Ok(RedirectDraft {
        to: worded(text, known, redirects::literal, |name| {
            let group = |subject: GroupSubject, name: &str| Some(subject.group(name));
            match name.split_once('.') {
                Some(("path", name)) => group(GroupSubject::Path, name),
                Some(("host", name)) => group(GroupSubject::Host, name),
                _ => None,
            }
        })?,
        status,
        from: known.get(PATH_FROM).cloned(),
        from_host: known.get(HOST_FROM).cloned(),
    })
}

/// A text for a field, in our words; the variable that we have no word for.
pub(super) fn template(text: &str, known: &VariableTexts) -> Result<String, UnknownWord> {
    let literal = |text: &str| text.replace('{', "{{").replace('}', "}}");
    worded(text, known, literal, |_| None)
}

/// A text in our words: what stands in it as it is, and `group` for what an expression found.
fn worded(
    text: &str,
    known: &VariableTexts,
    literal: impl Fn(&str) -> String,
    group: impl Fn(&str) -> Option<String>,
) -> Result<String, UnknownWord> {
    let text = filled(text, known);
    let mut out = String::new();
    for piece in pieces(&text) {
        match piece {
            TextPiece::Literal(text) => out.push_str(&literal(&text)),
            TextPiece::Variable(name) => match name.as_str() {
                "host" | "http_host" => out.push_str("{host}"),
                "scheme" => out.push_str("{scheme}"),
                "request_uri" => out.push_str("{uri}"),
                "uri" | "document_uri" => out.push_str("{path}"),
                "args" | "query_string" => out.push_str("{query}"),
                "is_args" => out.push('\0'),
                "remote_addr" | "realip_remote_addr" | "proxy_add_x_forwarded_for" => {
                    out.push_str("{client}");
                }
                name => {
                    if let Some(word) = group(name) {
                        out.push_str(&word);
                    } else {
                        let name = name.trim_start_matches("path.").trim_start_matches("host.");
                        return Err(UnknownWord(format!("${name}")));
                    }
                }
            },
        }
    }
    let out = out.replace("{path}\0{query}", "{uri}").replace("\0{query}", "?{query}");
    if out.contains('\0') { Err(UnknownWord("$is_args".into())) } else { Ok(out) }
}

impl NginxReader<'_> {
    /// A test of a variable, as routes ask it.
    pub(super) fn variable_test(&self, name: &str, matcher: &ValueMatcher) -> RequestTest {
        use ValueMatcher::{Exact, Expression};
        match (name, matcher) {
            ("host" | "http_host", Exact(host)) => {
                let host = host.split(':').next().unwrap_or(host);
                RequestTest::Host(HostTest::Exact(host.to_ascii_lowercase()))
            }
            ("host", Expression(text)) => RequestTest::Host(HostTest::Matching(text.clone())),
            ("http_host", Expression(text)) if !text.contains(':') => {
                RequestTest::Host(HostTest::Matching(text.clone()))
            }
            ("uri" | "document_uri", Exact(path)) => {
                RequestTest::Path(PathTest::Exact(path.clone()))
            }
            ("uri" | "document_uri", Expression(text)) => {
                RequestTest::Path(PathTest::Matching(text.clone()))
            }
            ("request_uri", Exact(path)) if !path.contains('?') => {
                RequestTest::Unsayable("a route asks for the path without its query")
            }
            ("request_method", Exact(method)) => methods(|it| it == method),
            ("request_method", Expression(text)) => match Regex::new(text) {
                Ok(own) => methods(|it| own.is_match(it)),
                Err(_) => RequestTest::Never,
            },
            ("remote_addr", Exact(address)) => match address.parse::<IpAddr>() {
                Ok(_) => match address.parse() {
                    Ok(network) => RequestTest::Clients(vec![network]),
                    Err(_) => RequestTest::Never,
                },
                Err(_) => RequestTest::Never,
            },
            ("scheme" | "https" | "server_port", _) => self.listener_test(name, matcher),
            ("content_type", _) => RequestTest::Header("content-type".into(), value(matcher)),
            (name, _) => named_test(name, matcher),
        }
    }

    /// A test of how a request came in.
    fn listener_test(&self, name: &str, matcher: &ValueMatcher) -> RequestTest {
        let fits = |listener: &&String| {
            let (scheme, rest) = listener.split_once("://").unwrap_or_default();
            let port = rest.rsplit(':').next().unwrap_or_default();
            let text = match name {
                "scheme" => scheme,
                "https" if scheme == "https" => "on",
                "https" => "",
                _ => port,
            };
            match matcher {
                ValueMatcher::Exact(own) => own == text,
                ValueMatcher::Expression(own) => Regex::new(own).is_ok_and(|it| it.is_match(text)),
            }
        };
        let found: BTreeSet<String> = self.gateway.listen.iter().filter(fits).cloned().collect();
        if found.is_empty() { RequestTest::Never } else { RequestTest::Listen(found) }
    }

    /// The values that a variable of `map` or `geo` may have.
    pub(super) fn cases_of(&self, name: &str) -> Option<Result<ValueCases, &'static str>> {
        let table = self.tables.get(name)?;
        Some(match table.name.as_str() {
            "map" => self.map_cases(table),
            _ => geo_cases(table),
        })
    }

    fn map_cases(&self, table: &NginxDirective) -> Result<ValueCases, &'static str> {
        let source = only_variable(table.arg(0)).filter(|it| {
            let whole = table.arg(0).trim_start_matches('$').trim_matches(['{', '}']);
            whole == it
        });
        let Some(source) = source else {
            return Err("a table of several variables has no counterpart");
        };
        let (mut exact, mut masks, mut expressions) = (Vec::new(), Vec::new(), Vec::new());
        let (mut default, mut has_hosts, mut empty) = (String::new(), false, None);
        for line in table.inside() {
            let value = line.arg(0).to_owned();
            let key = line.name.as_str();
            match key {
                "default" if !line.args.is_empty() => default = value,
                "hostnames" if line.args.is_empty() => has_hosts = true,
                "volatile" if line.args.is_empty() => {}
                "include" => return Err("a table with files in it is not read"),
                _ if key.starts_with('~') => {
                    let case = if key.starts_with("~*") {
                        LetterCase::Ignored
                    } else {
                        LetterCase::Counts
                    };
                    let text = key.trim_start_matches('~');
                    let text = if case == LetterCase::Ignored { &text[1..] } else { text };
                    match read(text, case) {
                        ReadExpression::Same(text) => {
                            expressions.push((ValueMatcher::Expression(text), value));
                        }
                        ReadExpression::Wider(_) | ReadExpression::Unreadable => {
                            return Err("an expression of the table has no counterpart");
                        }
                    }
                }
                "" => empty = Some(value),
                _ if has_hosts && (key.starts_with(['.', '*']) || key.ends_with(".*")) => {
                    masks.push((host_mask(key), value));
                }
                _ if source == "host" || source == "http_host" => {
                    exact.push((ValueMatcher::Exact(key.trim_start_matches('\\').into()), value));
                }
                _ => {
                    let key = regex::escape(key.strip_prefix('\\').unwrap_or(key));
                    exact.push((ValueMatcher::Expression(format!("(?i)^{key}$")), value));
                }
            }
        }
        if exact.len() + masks.len() + expressions.len() > CASES_MAX {
            return Err("the table is too long to become routes");
        }
        masks.sort_by_key(|(mask, _)| std::cmp::Reverse(matcher_length(mask)));
        let mut found = ValueCases { cases: Vec::new(), default };
        if let Some(value) = empty {
            let some = ValueMatcher::Expression(".".into());
            found.cases.push((TestConjunction::not(self.variable_test(&source, &some)), value));
        }
        for (matcher, value) in exact.into_iter().chain(masks).chain(expressions) {
            let test = self.variable_test(&source, &matcher);
            found.cases.push((TestConjunction::one(test), value));
        }
        Ok(found)
    }
}

fn matcher_length(matcher: &ValueMatcher) -> usize {
    match matcher {
        ValueMatcher::Exact(text) | ValueMatcher::Expression(text) => text.len(),
    }
}

/// `*.example`, `.example` or `www.*` as an expression.
pub(super) fn host_mask(mask: &str) -> ValueMatcher {
    let text = if let Some(name) = mask.strip_prefix("*.") {
        format!(r"(?i)^.+\.{}$", regex::escape(name))
    } else if let Some(name) = mask.strip_prefix('.') {
        format!(r"(?i)^(?:.+\.)?{}$", regex::escape(name))
    } else {
        let name = mask.trim_end_matches(".*");
        format!(r"(?i)^{}\..+$", regex::escape(name))
    };
    ValueMatcher::Expression(text)
}

/// Networks, the narrowest first.
fn geo_cases(table: &NginxDirective) -> Result<ValueCases, &'static str> {
    if table.args.len() > 1 && table.arg(0) != "$remote_addr" {
        return Err("a table of addresses that are not the client's has no counterpart");
    }
    let (mut lines, mut default) = (Vec::new(), String::new());
    for line in table.inside() {
        match line.name.as_str() {
            "default" => default = line.arg(0).into(),
            "ranges" | "delete" | "proxy" | "proxy_recursive" | "include" => {
                return Err("ranges, proxies and files in a table of addresses are not read");
            }
            text => match text.parse::<vocab::Network>() {
                Ok(network) => lines.push((network, line.arg(0).to_owned())),
                Err(_) => return Err("a line of the table is no network"),
            },
        }
    }
    if lines.len() > CASES_MAX {
        return Err("the table is too long to become routes");
    }
    lines.sort_by_key(|(network, _)| std::cmp::Reverse(network.prefix()));
    // Lines of one value that follow each other are one condition.
    let mut cases: Vec<(Vec<vocab::Network>, String)> = Vec::new();
    for (network, value) in lines {
        match cases.last_mut() {
            Some((networks, last)) if *last == value => networks.push(network),
            _ => cases.push((vec![network], value)),
        }
    }
    let cases = cases
        .into_iter()
        .map(|(networks, value)| (TestConjunction::one(RequestTest::Clients(networks)), value));
    Ok(ValueCases { cases: cases.collect(), default })
}

fn methods(fits: impl Fn(&str) -> bool) -> RequestTest {
    let found: BTreeSet<String> =
        METHODS.iter().filter(|it| fits(it)).map(|it| (*it).to_owned()).collect();
    if found.is_empty() { RequestTest::Never } else { RequestTest::Methods(found) }
}

fn value(matcher: &ValueMatcher) -> ValueTest {
    match matcher {
        ValueMatcher::Exact(text) => ValueTest::Exact(text.clone()),
        ValueMatcher::Expression(text) => ValueTest::Matching(text.clone()),
    }
}

/// Fields, cookies and names of the query.
fn named_test(name: &str, matcher: &ValueMatcher) -> RequestTest {
    if let Some(name) = name.strip_prefix("http_") {
        return RequestTest::Header(name.replace('_', "-"), value(matcher));
    }
    if let Some(name) = name.strip_prefix("arg_") {
        return RequestTest::Query(name.into(), value(matcher));
    }
    let Some(name) = name.strip_prefix("cookie_") else {
        return RequestTest::Unsayable("a variable of the condition is nothing that a route asks");
    };
    let text = match matcher {
        ValueMatcher::Exact(text) => format!("{}(?:;|$)", regex::escape(text)),
        ValueMatcher::Expression(text) => {
            let (flags, text) = match text.strip_prefix("(?i)") {
                Some(text) => ("(?i)", text),
                None => ("", text.as_str()),
            };
            if text.contains('|') || text.contains("$)") {
                return RequestTest::Unsayable("an expression for a cookie has no counterpart");
            }
            let (begin, text) = match text.strip_prefix('^') {
                Some(text) => ("", text),
                None => ("[^;]*", text),
            };
            let (text, end) = match text.strip_suffix('$') {
                Some(text) => (text, "(?:;|$)"),
                None => (text, ""),
            };
            format!("{begin}{flags}{text}{end}")
        }
    };
    let name = regex::escape(name);
    match ValueTest::matching(&format!("(?:^|;\\s*){name}={text}")) {
        Some(test) => RequestTest::Header("cookie".into(), test),
        None => RequestTest::Unsayable("an expression for a cookie has no counterpart"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_at_their_variables() {
        let variable = |name: &str| TextPiece::Variable(name.into());
        let literal = |text: &str| TextPiece::Literal(text.into());
        assert_eq!(
            pieces("https://$host${1}x${uri}y"),
            [
                literal("https://"),
                variable("host"),
                variable("1"),
                literal("x"),
                variable("uri"),
                literal("y"),
            ]
        );
        assert_eq!(pieces("a$"), [literal("a$")]);
        let known = [("a".to_owned(), "b".to_owned())].into();
        assert_eq!(template("$a{$uri$is_args$args", &known), Ok("b{{{uri}".into()));
        assert_eq!(template("$unknown", &known), Err(UnknownWord("$unknown".into())));
    }
}
