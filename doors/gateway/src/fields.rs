//! Rules for header fields: what is set, added or removed, in requests that go on and in answers.
//!
//! A rule is compiled once. What its text says of a request is put in piece by piece, and a value
//! that no field may have is left out, so no text can begin a field of its own. It reads no
//! request. Called by `settings` to check, by `passing` and `finish` to change.

use http::header::{HeaderMap, HeaderName, HeaderValue};
use http_engine::hop_by_hop::FRAMING_FIELDS;
use std::fmt;
use std::net::IpAddr;

/// Holds what texts may say of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TemplateFacts<'f> {
    pub(crate) client: IpAddr,
    pub(crate) host: &'f str,
    pub(crate) scheme: &'static str,
    /// Path and query.
    pub(crate) path: &'f str,
}

/// Rules in their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct FieldRules(Vec<FieldChange>);

/// Rules for requests that go on, and for answers.
#[derive(Clone, Debug, Default)]
pub(crate) struct FieldRuleSets {
    pub(crate) request: FieldRules,
    pub(crate) response: FieldRules,
}

/// One rule.
#[derive(Clone, Debug)]
pub(crate) enum FieldChange {
    /// Replaces the field.
    Set(HeaderName, FieldTemplate),
    /// Adds one more.
    Add(HeaderName, FieldTemplate),
    /// Sets the field where there is none.
    Default(HeaderName, FieldTemplate),
    Remove(HeaderName),
    /// Leaves the field in the message where it is taken out otherwise.
    Pass(HeaderName),
}

/// Tells what a message gets: the same rule with its value.
#[derive(Clone, Debug)]
pub(crate) enum ValueChange {
    Set(HeaderName, HeaderValue),
    Add(HeaderName, HeaderValue),
    Default(HeaderName, HeaderValue),
    Remove(HeaderName),
}

/// A value with places for facts: `{client}`, `{host}`, `{scheme}`, `{path}`, `{query}`, and
/// `{uri}` for path and query with what stands between them; `{{` and `}}` stand for braces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldTemplate(Vec<FieldPiece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum FieldPiece {
    Literal(String),
    Client,
    Host,
    Scheme,
    Path,
    Query,
    Uri,
}

/// Why a rule cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BadRule {
    /// Is no name of a field.
    Name(String),
    /// The field frames messages, or is for one connection alone.
    Framing(HeaderName),
    /// A field cannot hold these bytes.
    Value(String),
    /// A brace without its other half.
    Brace,
    /// Nothing is known by this name.
    Word(String),
}

/// Reads the name of a field that a rule may touch.
pub(crate) fn field_name(text: &str) -> Result<HeaderName, BadRule> {
    let name = HeaderName::try_from(text).map_err(|_| BadRule::Name(text.to_owned()))?;
    if FRAMING_FIELDS.contains(&name.as_str()) { Err(BadRule::Framing(name)) } else { Ok(name) }
}

impl FieldTemplate {
    /// Reads a text with places for facts.
    pub(crate) fn parse(text: &str) -> Result<Self, BadRule> {
        if HeaderValue::try_from(text).is_err() {
            return Err(BadRule::Value(text.to_owned()));
        }
        let (mut pieces, mut literal, mut rest) = (Vec::new(), String::new(), text);
        while let Some(at) = rest.find(['{', '}']) {
            literal.push_str(&rest[..at]);
            rest = &rest[at..];
            if let Some(behind) = rest.strip_prefix("{{").or_else(|| rest.strip_prefix("}}")) {
                literal.push_str(&rest[..1]);
                rest = behind;
                continue;
            }
            let inside = rest.strip_prefix('{').ok_or(BadRule::Brace)?;
            let (word, behind) = inside.split_once('}').ok_or(BadRule::Brace)?;
            if !literal.is_empty() {
                pieces.push(FieldPiece::Literal(std::mem::take(&mut literal)));
            }
            pieces.push(match word {
                "client" => FieldPiece::Client,
                "host" => FieldPiece::Host,
                "scheme" => FieldPiece::Scheme,
                "path" => FieldPiece::Path,
                "query" => FieldPiece::Query,
                "uri" => FieldPiece::Uri,
                _ => return Err(BadRule::Word(word.to_owned())),
            });
            rest = behind;
        }
        literal.push_str(rest);
        if !literal.is_empty() || pieces.is_empty() {
            pieces.push(FieldPiece::Literal(literal));
        }
        Ok(Self(pieces))
    }

    /// The value for a request; none where it would be none that a field may have.
    pub(crate) fn value(&self, facts: &TemplateFacts<'_>) -> Option<HeaderValue> {
        let mut value = String::new();
        let (path, query) = facts.path.split_once('?').unwrap_or((facts.path, ""));
        for piece in &self.0 {
            match piece {
                FieldPiece::Literal(literal) => value.push_str(literal),
                FieldPiece::Client => value.push_str(&facts.client.to_string()),
                FieldPiece::Host => value.push_str(facts.host),
                FieldPiece::Scheme => value.push_str(facts.scheme),
                FieldPiece::Path => value.push_str(path),
                FieldPiece::Query => value.push_str(query),
                FieldPiece::Uri => value.push_str(facts.path),
            }
        }
        HeaderValue::try_from(value).ok()
    }

    /// A text that says nothing of the request.
    pub(crate) fn from_literal(text: &str) -> Self {
        Self(vec![FieldPiece::Literal(text.to_owned())])
    }

    /// The whole text, where it says nothing of the request.
    fn literal(&self) -> Option<&str> {
        match self.0.as_slice() {
            [FieldPiece::Literal(literal)] => Some(literal),
            _ => None,
        }
    }
}

impl FieldRules {
    pub(crate) const fn new(rules: Vec<FieldChange>) -> Self {
        Self(rules)
    }

    /// The same with one rule before them.
    pub(crate) fn after(mut self, first: FieldChange) -> Self {
        self.0.insert(0, first);
        self
    }

    /// Returns what a message of this request gets.
    pub(crate) fn changes(&self, facts: &TemplateFacts<'_>) -> impl Iterator<Item = ValueChange> {
        self.0.iter().filter_map(|rule| {
            Some(match rule {
                FieldChange::Set(name, text) => ValueChange::Set(name.clone(), text.value(facts)?),
                FieldChange::Add(name, text) => ValueChange::Add(name.clone(), text.value(facts)?),
                FieldChange::Default(name, text) => {
                    ValueChange::Default(name.clone(), text.value(facts)?)
                }
                FieldChange::Remove(name) => ValueChange::Remove(name.clone()),
                // Done already, by not taking it out.
                FieldChange::Pass(_) => return None,
            })
        })
    }

    /// The values that every request gets in field `name`.
    pub(crate) fn literals(&self, name: &HeaderName) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(move |rule| match rule {
            FieldChange::Set(it, text) if it == name => text.literal(),
            FieldChange::Set(..)
            | FieldChange::Add(..)
            | FieldChange::Default(..)
            | FieldChange::Remove(_)
            | FieldChange::Pass(_) => None,
        })
    }

    /// Fields that are not taken out.
    pub(crate) fn allowed(&self) -> impl Iterator<Item = &HeaderName> {
        self.0.iter().filter_map(|rule| match rule {
            FieldChange::Pass(name) => Some(name),
            FieldChange::Set(..)
            | FieldChange::Add(..)
            | FieldChange::Default(..)
            | FieldChange::Remove(_) => None,
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Makes the changes, in their order.
pub(crate) fn apply(changes: &[ValueChange], headers: &mut HeaderMap) {
    for change in changes {
        match change {
            ValueChange::Set(name, value) => drop(headers.insert(name, value.clone())),
            ValueChange::Add(name, value) => drop(headers.append(name, value.clone())),
            ValueChange::Default(name, value) => {
                headers.entry(name).or_insert_with(|| value.clone());
            }
            ValueChange::Remove(name) => drop(headers.remove(name)),
        }
    }
}

impl fmt::Display for BadRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(text) => write!(f, "{text:?} is no name of a field"),
            Self::Framing(name) => write!(f, "HTTP itself sets {name}: leave it out"),
            Self::Value(text) => write!(f, "a field cannot hold {text:?}"),
            Self::Brace => f.write_str("a brace has no other half: write {{ or }} for one"),
            Self::Word(word) => {
                write!(f, "{{{word}}} is unknown: client, host, scheme, path, query, uri are known")
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;

    const FACTS: TemplateFacts<'_> = TemplateFacts {
        client: IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 7)),
        host: "app.example",
        scheme: "https",
        path: "/a?b=c",
    };

    #[test]
    fn a_text_says_what_is_known() {
        let check = |text: &str, expected: &str| {
            let value = FieldTemplate::parse(text).unwrap().value(&FACTS).unwrap();
            assert_eq!(value, expected, "{text}");
        };
        check(
            "{scheme}://{host}{path}?{query} for {client}",
            "https://app.example/a?b=c for 192.0.2.7",
        );
        check("https://new.example{uri}", "https://new.example/a?b=c");
        check("{{client}}", "{client}");
        check("", "");
        check("plain", "plain");
    }

    #[test]
    fn what_cannot_be_said_is_refused() {
        let why = |text: &str| FieldTemplate::parse(text).unwrap_err();
        assert_eq!(why("a\r\nSet-Cookie: b"), BadRule::Value("a\r\nSet-Cookie: b".into()));
        assert_eq!(why("{client"), BadRule::Brace);
        assert_eq!(why("client}"), BadRule::Brace);
        assert_eq!(why("{who}"), BadRule::Word("who".into()));
        assert!(matches!(field_name("Transfer-Encoding"), Err(BadRule::Framing(_))));
        assert!(matches!(field_name("a b"), Err(BadRule::Name(_))));
    }

    #[test]
    fn no_fact_can_begin_a_field() {
        let hostile = TemplateFacts { path: "/a\r\nX: y", ..FACTS };
        assert_eq!(FieldTemplate::parse("{path}").unwrap().value(&hostile), None);
    }

    #[test]
    fn rules_are_done_in_their_order() {
        let name = |text: &str| field_name(text).unwrap();
        let text = |text: &str| FieldTemplate::parse(text).unwrap();
        let rules = FieldRules::new(vec![
            FieldChange::Remove(name("Server")),
            FieldChange::Set(name("X-A"), text("{host}")),
            FieldChange::Add(name("X-A"), text("two")),
            FieldChange::Default(name("X-A"), text("three")),
            FieldChange::Default(name("X-B"), text("four")),
        ]);
        let mut headers = HeaderMap::new();
        headers.insert("server", HeaderValue::from_static("secret/1.0"));
        headers.insert("x-a", HeaderValue::from_static("zero"));
        apply(&rules.changes(&FACTS).collect::<Vec<_>>(), &mut headers);
        assert!(!headers.contains_key("server"));
        assert_eq!(headers.get_all("x-a").iter().collect::<Vec<_>>(), ["app.example", "two"]);
        assert_eq!(headers["x-b"], "four");
    }
}
