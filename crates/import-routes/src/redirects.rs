//! Redirects of routes, from the texts of other programs.
//!
//! Each program has words of its own for the request and for the groups of its expressions; here
//! they become the template of a route's `redirect`, which is read by the gateway's own parser, so
//! that none comes out that `check` would refuse. Called by the readers of each program.

use crate::flow::FlowStep;
use regex::Regex;
use route_matching::{
    BadExpression, BadLocation, GroupNames, LocationGroups, LocationTemplate, MatchExpression,
    RewriteSettings,
};
use serde_json::{Value, json};
use std::fmt::{self, Write};

/// A redirect in the making.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RedirectDraft {
    /// The place, as a route's `to`.
    pub to: String,
    /// Status of the answer.
    pub status: u16,
    /// The expression whose groups are `$1` and its like.
    pub from: Option<String>,
    /// The expression whose groups are `{host.1}` and its like.
    pub from_host: Option<String>,
}

/// The part of a request that an expression is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupSubject {
    /// The path.
    Path,
    /// The host.
    Host,
}

/// A text that an expression changes where it finds something: `regsub`, `replace`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextSubstitution {
    /// The expression for the whole text.
    pub from: String,
    /// The template of the new text.
    pub to: String,
    /// Texts in which the expression finds nothing.
    pub unfound: UnfoundText,
}

/// Fate of a text in which an expression finds nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnfoundText {
    /// Stays as it is.
    Unchanged,
    /// Has no new text: the whole expression does not fit it.
    Lost,
}

/// Why a redirect is none of a route.
#[derive(Clone, Debug, PartialEq)]
pub enum BadRedirect {
    /// Status of another kind of answer.
    Status,
    /// The expression cannot be used.
    Expression(BadExpression),
    /// A text that is no place to go to.
    Place(BadLocation),
}

impl fmt::Display for BadRedirect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status => f.write_str("this is no redirect of a route"),
            Self::Expression(why) => why.fmt(f),
            Self::Place(why) => why.fmt(f),
        }
    }
}

impl GroupSubject {
    /// The word of a group, by its number or name.
    pub fn group(self, name: &str) -> String {
        match self {
            Self::Path => format!("${{{name}}}"),
            Self::Host => format!("{{host.{name}}}"),
        }
    }
}

impl RedirectDraft {
    /// The step of the redirect, or why it is none.
    ///
    /// # Errors
    /// Places that a route cannot say.
    pub fn step(&self) -> Result<FlowStep, BadRedirect> {
        if !matches!(self.status, 301 | 302 | 303 | 307 | 308) {
            return Err(BadRedirect::Status);
        }
        let to = with_slash(&self.to);
        let names = |text: Option<&String>| match text {
            None => Ok(GroupNames::default()),
            Some(text) => MatchExpression::compile(text).map(|it| GroupNames::of_expression(&it)),
        };
        let (path, host) = (names(self.from.as_ref()), names(self.from_host.as_ref()));
        let path = path.map_err(BadRedirect::Expression)?;
        let host = host.map_err(BadRedirect::Expression)?;
        let read = |path: &GroupNames, host: &GroupNames| {
            let groups =
                LocationGroups { path: path.clone(), host: host.clone(), ..Default::default() };
            LocationTemplate::parse(&to, &groups)
        };
        read(&path, &host).map_err(BadRedirect::Place)?;
        let mut redirect = json!({ "to": to, "status": self.status });
        // Expressions of which no group is said are those of the route alone.
        let none = GroupNames::default();
        if let Some(from) = &self.from
            && read(&none, &host).is_err()
        {
            redirect["from"] = json!(from);
        }
        if let Some(from) = &self.from_host
            && read(&path, &none).is_err()
        {
            redirect["from_host"] = json!(from);
        }
        Ok(FlowStep::settings(json!({ "redirect": redirect })))
    }
}

/// A place whose path begins with a slash, where a group would begin it: what is found in a path
/// is never a part of the host.
fn with_slash(to: &str) -> String {
    if to.starts_with("{host") {
        // Of the scheme that was asked.
        return with_slash(&format!("//{to}"));
    }
    let begin =
        to.find("//").filter(|at| ["", "http:", "https:", "{scheme}:"].contains(&&to[..*at]));
    let host = begin.map_or(0, |at| at + 2);
    let end = to[host..].find(['/', '?', '#', '$']).map_or(to.len(), |at| host + at);
    if to[end..].starts_with("${") {
        format!("{}/{}", &to[..end], &to[end..])
    } else {
        to.to_owned()
    }
}

/// The setting `rewrite` of a route, if it is one: `to` has the groups of `from`.
pub fn rewrite(from: &str, to: &str) -> Option<Value> {
    let settings = RewriteSettings { from: from.into(), to: to.into() };
    settings.compile().ok()?;
    Some(json!({ "from": from, "to": to }))
}

/// A text as it stands, for a place: its signs doubled, and what no URL holds percent-encoded.
pub fn literal(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'{' | b'}' | b'$' => out.push_str(&char::from(byte).to_string().repeat(2)),
            it if it.is_ascii_graphic() && !b"\"<>\\^`|".contains(&it) => out.push(char::from(it)),
            it => {
                let _ = write!(out, "%{it:02X}");
            }
        }
    }
    out
}

/// The text that an expression's first match makes of another: `replacement` has groups as `\1` or
/// `$1`, by `sign`. None for an expression that is none, or a replacement with groups of its own
/// kind that there are not.
pub fn substitution(
    expression: &str,
    replacement: &str,
    sign: char,
    subject: GroupSubject,
) -> Option<TextSubstitution> {
    let (flags, bare) = match expression.strip_prefix("(?i)") {
        Some(bare) => ("(?i)", bare),
        None => ("", expression),
    };
    // Alternatives are one part of the whole.
    let own = if bare.contains('|') { format!("(?:{bare})") } else { bare.to_owned() };
    let is_begun = bare.starts_with('^') && !bare.contains('|');
    let (before, shift) = if is_begun { ("", 0) } else { ("^(.*?)", 1) };
    let is_ended = !bare.contains('|') && bare.ends_with('$') && !bare.ends_with("\\$");
    let groups = Regex::new(expression).ok()?.captures_len();
    let after = if is_ended { "" } else { "(.*)$" };
    let from = format!("{flags}{before}{own}{after}");
    Regex::new(&from).ok()?;
    let mut to = String::new();
    if shift == 1 {
        to.push_str(&subject.group("1"));
    }
    let mut rest = replacement;
    while let Some(at) = rest.find(sign) {
        to.push_str(&literal(&rest[..at]));
        let behind = &rest[at + sign.len_utf8()..];
        let digit = behind.chars().next().and_then(|it| it.to_digit(10));
        let number = digit.filter(|it| (*it as usize) < groups && *it > 0)?;
        to.push_str(&subject.group(&(number + shift).to_string()));
        rest = &behind[1..];
    }
    to.push_str(&literal(rest));
    if !is_ended {
        to.push_str(&subject.group(&(groups as u32 + shift).to_string()));
    }
    let is_plain = replacement.split(sign).enumerate().any(|(index, it)| {
        let skipped = usize::from(index > 0).min(it.len());
        !it[skipped..].is_empty()
    });
    if is_plain {
        return Some(TextSubstitution { from, to, unfound: UnfoundText::Lost });
    }
    // Groups that took no part are empty, so one that is all of another text does not disturb.
    let bare = from.strip_prefix("(?i)").unwrap_or(&from);
    let from = format!("{flags}^(?:{bare}|(.*))$");
    let last = Regex::new(&from).ok()?.captures_len() - 1;
    to.push_str(&subject.group(&last.to_string()));
    Some(TextSubstitution { from, to, unfound: UnfoundText::Unchanged })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;

    fn draft(to: &str) -> RedirectDraft {
        RedirectDraft {
            to: to.into(),
            status: 301,
            from: Some("^/a/(.*)$".into()),
            from_host: Some(r"^www\.(?<rest>.+)$".into()),
        }
    }

    #[test]
    fn expressions_stand_where_their_groups_are_said() {
        let written = |to: &str| format!("{:?}", draft(to).step().unwrap());
        assert!(!written("https://{host}{uri}").contains("from"));
        let path = written("/b/$1");
        assert!(path.contains("\"from\"") && !path.contains("from_host"), "{path}");
        let host = written("https://{host.rest}{uri}");
        assert!(host.contains("from_host") && !host.contains("\"from\""), "{host}");
        assert!(written("{host}{uri}").contains("//{host}{uri}"));
        assert!(written("https://a.example${1}").contains("https://a.example/${1}"));
        assert!(written("${1}").contains("\"/${1}"));
        for wrong in ["https://a.example$1", "/$2", "x", "mailto:a", "/{who}", "https://{host.2}/"]
        {
            assert!(draft(wrong).step().is_err(), "{wrong}");
        }
        assert!(RedirectDraft { status: 200, ..draft("/") }.step().is_err());
    }

    #[test]
    fn a_text_as_it_stands_says_nothing_of_the_request() {
        assert_eq!(literal("/a{b}$c d\u{e9}"), "/a{{b}}$$c%20d%C3%A9");
    }

    #[test]
    fn a_substitution_is_an_expression_for_the_whole() {
        let made = |text: &str, to: &str| substitution(text, to, '\\', GroupSubject::Path).unwrap();
        for (expression, to, text, expected) in [
            ("^/old", "/new", "/old/x", "/new/x"),
            ("^/(a|b)/", r"/\1-", "/a/x", "/a-x"),
            ("/x/", "/y/", "/a/x/b/x/", "/a/y/b/x/"),
            (r"\.html$", "", "/a.html", "/a"),
            ("(?i)^/OLD/(.*)$", r"/n/\1", "/old/q", "/n/q"),
            ("b|c", "d", "/abc", "/adc"),
        ] {
            let TextSubstitution { from, to, .. } = made(expression, to);
            let found = Regex::new(&from).unwrap().replace(text, to.as_str()).into_owned();
            assert_eq!(found, expected, "{expression} {from} {to}");
        }
        assert_eq!(made("^/old", "/new").unfound, UnfoundText::Lost);
        assert_eq!(substitution("^/a", r"/\1", '\\', GroupSubject::Path), None);
        assert_eq!(substitution("(", "", '\\', GroupSubject::Path), None);
        let host = substitution(r"^www\.", "", '\\', GroupSubject::Host).unwrap();
        assert_eq!(host.from, r"^(?:^www\.(.*)$|(.*))$");
        assert_eq!((host.to.as_str(), host.unfound), ("{host.1}{host.2}", UnfoundText::Unchanged));
        let TextSubstitution { from, to, .. } = made("^/(a)/(b)", r"\2\1");
        let found = |text| Regex::new(&from).unwrap().replace(text, to.as_str()).into_owned();
        assert_eq!([found("/a/b/c"), found("/x/y")], ["ba/c", "/x/y"]);
    }
}
