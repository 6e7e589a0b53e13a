//! One rule about names as it is written: `full:`, `domain:`, `keyword:`, `regexp:` and the rest.
//!
//! The grammar is that of mosdns v5 and OxiDNS 1.x: what stands before the first colon is the kind,
//! a rule without one is of the kind that its place defaults to. Nothing is compiled here. Called
//! by the builders of [`super::DomainSet`] and [`super::DomainMap`], and by [`super::dat`].

use std::borrow::Cow;
use std::fmt;
use vocab::NAME_TEXT_BYTES_MAX;

/// Longest label (RFC 1035 §2.3.4); one with escapes may be four times as long.
const LABEL_BYTES_MAX: usize = 63;

/// Tells how a rule is held against a name. In a map the order here is the order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DomainKind {
    /// The whole name.
    Full,
    /// The name and everything below it; in a map the longest wins.
    Domain,
    /// A regular expression that matches somewhere in the name.
    Regexp,
    /// A text that occurs somewhere in the name.
    Keyword,
}

/// A rule: what is looked for, and how. Its text is lower-case and without the dots around it,
/// except for regular expressions, which stand as they were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainRule<'t> {
    /// How.
    pub kind: DomainKind,
    /// What. For [`DomainKind::Full`] and [`DomainKind::Domain`] the empty text is the root.
    pub text: Cow<'t, str>,
}

/// Why a text is no rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadRule {
    /// Nothing stands there, or nothing after the kind.
    Empty,
    /// What stands before the first colon is no kind.
    UnknownKind(String),
    /// Holds a blank: a name cannot, and a second field has no place here.
    Blank,
    /// Holds a character outside ASCII: names are looked up in punycode.
    NotAscii,
    /// Is no domain name, and would never match one.
    NoName,
    /// The expression cannot be read, or asks for what linear time cannot give.
    Regexp(String),
    /// The expression is longer than [`super::REGEXP_BYTES_MAX`].
    RegexpTooLong,
    /// Is one regular expression over [`super::REGEXPS_MAX`].
    TooManyRegexps,
    /// The keyword is longer than [`super::KEYWORD_BYTES_MAX`].
    KeywordTooLong,
    /// Is one keyword over [`super::KEYWORDS_MAX`].
    TooManyKeywords,
    /// Is one name over [`super::NAMES_MAX`].
    TooManyNames,
}

impl DomainKind {
    /// The kind with this name.
    pub fn named(word: &str) -> Option<Self> {
        Some(match word {
            "full" => Self::Full,
            "domain" => Self::Domain,
            "keyword" => Self::Keyword,
            "regexp" => Self::Regexp,
            _ => return None,
        })
    }

    /// Returns its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Domain => "domain",
            Self::Regexp => "regexp",
            Self::Keyword => "keyword",
        }
    }
}

impl<'t> DomainRule<'t> {
    /// Reads one rule; without a kind it is of the kind `bare`.
    ///
    /// ```
    /// use pipeline::sets::{BadRule, DomainKind, DomainRule};
    ///
    /// let rule = DomainRule::parse("full:WWW.Example.", DomainKind::Domain).unwrap();
    /// assert_eq!((rule.kind, &*rule.text), (DomainKind::Full, "www.example"));
    /// let rule = DomainRule::parse("example", DomainKind::Domain).unwrap();
    /// assert_eq!(rule.kind, DomainKind::Domain);
    /// assert!(matches!(
    ///     DomainRule::parse("regex:^a", DomainKind::Domain),
    ///     Err(BadRule::UnknownKind(_))
    /// ));
    /// ```
    pub fn parse(text: &'t str, bare: DomainKind) -> Result<Self, BadRule> {
        let text = text.trim();
        match text.split_once(':') {
            None => Self::new(bare, text),
            Some((kind, text)) => match DomainKind::named(kind) {
                Some(kind) => Self::new(kind, text),
                None => Err(BadRule::UnknownKind(excerpt(kind))),
            },
        }
    }

    /// A rule of a kind that is known otherwise.
    pub fn new(kind: DomainKind, text: &'t str) -> Result<Self, BadRule> {
        let text = match kind {
            DomainKind::Regexp => {
                return if text.is_empty() {
                    Err(BadRule::Empty)
                } else {
                    Ok(Self { kind, text: Cow::Borrowed(text) })
                };
            }
            // `.example` is how other programs write "example and everything below it".
            DomainKind::Domain if text.len() > 1 => text.strip_prefix('.').unwrap_or(text),
            DomainKind::Full | DomainKind::Domain | DomainKind::Keyword => text,
        };
        if text.is_empty() {
            return Err(BadRule::Empty);
        }
        let text = text.strip_suffix('.').unwrap_or(text);
        if let Some(bad) = text.chars().find(|c| !c.is_ascii_graphic()) {
            return Err(if bad.is_whitespace() { BadRule::Blank } else { BadRule::NotAscii });
        }
        match kind {
            DomainKind::Keyword if text.is_empty() => return Err(BadRule::Empty),
            DomainKind::Full | DomainKind::Domain if !is_name(text) => return Err(BadRule::NoName),
            DomainKind::Keyword | DomainKind::Full | DomainKind::Domain | DomainKind::Regexp => {}
        }
        let text = if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            Cow::Owned(text.to_ascii_lowercase())
        } else {
            Cow::Borrowed(text)
        };
        Ok(Self { kind, text })
    }
}

/// True if a name could have this text: labels that are not empty and not too long. The root is
/// one.
fn is_name(text: &str) -> bool {
    let label_max = if text.contains('\\') { LABEL_BYTES_MAX * 4 } else { LABEL_BYTES_MAX };
    text.is_empty()
        || text.len() <= NAME_TEXT_BYTES_MAX
            && text.split('.').all(|label| (1..=label_max).contains(&label.len()))
}

/// The beginning of a text that may be long or hostile, to be shown.
pub(crate) fn excerpt(text: &str) -> String {
    const CHARS_MAX: usize = 60;
    let mut shown: String = text.chars().take(CHARS_MAX).flat_map(char::escape_debug).collect();
    if text.chars().nth(CHARS_MAX).is_some() {
        shown.push('…');
    }
    shown
}

/// The rules of a text in which they stand in a row, apart by blanks or commas. A comma within a
/// regular expression (`regexp:a{1,3}`) is the expression's own.
pub fn split_rules(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace().flat_map(|word| {
        let mut rest = Some(word);
        std::iter::from_fn(move || {
            let word = rest?;
            if word.starts_with("regexp:") {
                rest = None;
                return Some(word);
            }
            let (first, others) = word.split_once(',').map_or((word, None), |(a, b)| (a, Some(b)));
            rest = others;
            Some(first)
        })
        .filter(|word| !word.is_empty())
    })
}

/// A line of a file of rules less its comment, which `#` begins, and less the blanks around it. In
/// a regular expression only a `#` after a blank begins one.
pub fn without_comment(line: &str) -> &str {
    let line = line.strip_prefix('\u{feff}').unwrap_or(line).trim();
    let mut marks = line.match_indices('#').map(|(at, _)| at);
    let end = if line.starts_with("regexp:") {
        marks.find(|at| line[..*at].ends_with(char::is_whitespace))
    } else {
        marks.next()
    };
    end.map_or(line, |end| line[..end].trim_end())
}

impl fmt::Display for DomainKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for BadRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the rule is empty: write a name, as in domain:example.com"),
            Self::UnknownKind(kind) => {
                write!(f, "{kind:?} is no kind of rule: full, domain, keyword and regexp are known")
            }
            Self::Blank => {
                f.write_str("the rule holds a blank: write one rule a line, without anything after")
            }
            Self::NotAscii => {
                f.write_str("the rule has characters outside ASCII: write names in punycode")
            }
            Self::NoName => f.write_str(
                "this is no domain name and would never match one: look for empty or long labels",
            ),
            Self::Regexp(why) => write!(f, "the regular expression cannot be used: {why}"),
            Self::RegexpTooLong => write!(
                f,
                "the regular expression is longer than {} bytes: write several",
                super::REGEXP_BYTES_MAX
            ),
            Self::TooManyRegexps => write!(
                f,
                "more than {} regular expressions: write names as domain: rules instead",
                super::REGEXPS_MAX
            ),
            Self::KeywordTooLong => {
                write!(f, "the keyword is longer than {} bytes", super::KEYWORD_BYTES_MAX)
            }
            Self::TooManyKeywords => write!(
                f,
                "more than {} keywords: write names as domain: rules instead",
                super::KEYWORDS_MAX
            ),
            Self::TooManyNames => {
                write!(f, "more than {} names: split the set", super::NAMES_MAX)
            }
        }
    }
}

impl std::error::Error for BadRule {}
