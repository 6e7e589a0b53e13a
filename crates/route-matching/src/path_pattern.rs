//! The paths that a route is for: one, all that begin so, a pattern with stars, or an expression.
//!
//! Patterns are held against the path percent-decoded, so that no spelling is a way around; what
//! settings write is read by the same reader, so `/a b` and `/a%20b` are one. Called by
//! `route_match`.

use crate::expression::{BadExpression, MatchExpression, REGEX_SIGN};
use crate::path::{BadPath, RequestPath, SlashRule, decoded, depends_on_slashes};
use std::fmt;

/// Longest pattern, in bytes.
const PATTERN_BYTES_MAX: usize = 2_048;
/// Stars of one pattern: each is one more search through the path.
const STARS_MAX: usize = 16;

/// The paths that a route is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathPattern {
    /// This path alone.
    Exact(Box<str>),
    /// Every path that begins so.
    Prefix(Box<str>),
    /// Every path with these pieces in their order: the first begins it, the last ends it.
    Glob(Box<[Box<str>]>),
    /// Paths that the expression finds something in.
    Matching(MatchExpression),
}

/// Why a text is no pattern of paths.
#[derive(Clone, Debug, PartialEq)]
pub enum BadPathPattern {
    /// This is no path.
    Path(BadPath),
    /// Too many bytes.
    TooLong,
    /// Too many stars.
    TooManyStars,
    /// This is no expression.
    Expression(BadExpression),
}

impl PathPattern {
    /// Reads `/exact`, `/prefix/*`, `/a/*/b` (a star stands for anything, slashes too) or
    /// `~expression`.
    ///
    /// `rule` is how the route reads slashes: where it keeps encoded ones, `%2F` in a pattern is
    /// one.
    pub fn parse(text: &str, rule: SlashRule) -> Result<Self, BadPathPattern> {
        if text.len() > PATTERN_BYTES_MAX {
            return Err(BadPathPattern::TooLong);
        }
        if let Some(expression) = text.strip_prefix(REGEX_SIGN) {
            return MatchExpression::new(expression)
                .map(Self::Matching)
                .map_err(BadPathPattern::Expression);
        }
        let path = RequestPath::read_by(text, rule).map_err(BadPathPattern::Path)?;
        let decoded = |piece: &str| decoded(piece).into();
        // Cut before it is decoded: `%2A` is a star that stands for itself.
        let pieces: Vec<Box<str>> = path.as_url().split('*').map(decoded).collect();
        match pieces.as_slice() {
            [exact] => Ok(Self::Exact(exact.clone())),
            [prefix, rest] if rest.is_empty() => Ok(Self::Prefix(prefix.clone())),
            pieces if pieces.len() > STARS_MAX + 1 => Err(BadPathPattern::TooManyStars),
            pieces => Ok(Self::Glob(pieces.into())),
        }
    }

    /// True if the route is for `path`, decoded.
    pub fn matches(&self, path: &str) -> bool {
        match self {
            Self::Exact(exact) => **exact == *path,
            Self::Prefix(prefix) => path.starts_with(&**prefix),
            Self::Glob(pieces) => glob_fits(pieces, path),
            Self::Matching(expression) => expression.is_match(path),
        }
    }

    /// True if it is about the parameters of segments itself.
    pub(crate) fn mentions_parameters(&self) -> bool {
        self.mentions(|text| text.contains(';'))
    }

    /// True for a pattern that is about encoded slashes or empty segments itself.
    pub(crate) fn mentions_slashes(&self) -> bool {
        self.mentions(depends_on_slashes)
    }

    fn mentions(&self, what: impl Fn(&str) -> bool) -> bool {
        match self {
            Self::Exact(text) | Self::Prefix(text) => what(text),
            Self::Glob(pieces) => pieces.iter().any(|piece| what(piece)),
            Self::Matching(expression) => what(expression.regex().as_str()),
        }
    }

    /// The folder of the paths that it fits, from slash to slash, where they have one.
    pub fn folder(&self) -> &str {
        match self {
            Self::Prefix(prefix) => &prefix[..=prefix.rfind('/').unwrap_or(0)],
            Self::Exact(_) | Self::Glob(_) | Self::Matching(_) => "/",
        }
    }

    /// True if it is certain that it fits all paths that `other` fits.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Prefix(prefix), _) if **prefix == *"/" => true,
            (_, Self::Exact(path)) => self.matches(path),
            (Self::Prefix(prefix), Self::Prefix(other)) => other.starts_with(&**prefix),
            (Self::Prefix(prefix), Self::Glob(pieces)) => pieces[0].starts_with(&**prefix),
            (Self::Glob(_), Self::Glob(_)) | (Self::Matching(_), Self::Matching(_)) => {
                self == other
            }
            (_, _) => false,
        }
    }
}

/// Each piece between the first and the last is taken where it stands first, which is right because
/// only stars stand between pieces.
fn glob_fits(pieces: &[Box<str>], path: &str) -> bool {
    let [first, between @ .., last] = pieces else { return false };
    let Some(mut rest) = path.strip_prefix(&**first) else { return false };
    for piece in between {
        let Some((_, behind)) = rest.split_once(&**piece) else { return false };
        rest = behind;
    }
    rest.ends_with(&**last)
}

impl fmt::Display for BadPathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(why) => why.fmt(f),
            Self::TooLong => write!(f, "the pattern is over {PATTERN_BYTES_MAX} bytes"),
            Self::TooManyStars => write!(f, "the pattern has more than {STARS_MAX} stars"),
            Self::Expression(why) => why.fmt(f),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;
    use crate::path::{EmptySegments, EncodedSlash};

    fn parse(text: &str) -> Result<PathPattern, BadPathPattern> {
        PathPattern::parse(text, SlashRule::default())
    }

    #[test]
    fn each_form_fits_its_paths() {
        for (pattern, yes, no) in [
            ("/*", ["/", "/a", "/a/b"].as_slice(), ["*"].as_slice()),
            ("/health", &["/health"], &["/health/", "/health/x", "/healthx", "/Health"]),
            ("/static/*", &["/static/", "/static/a/b.css"], &["/static", "/staticx"]),
            ("/static*", &["/static", "/staticx", "/static/a"], &["/stat"]),
            ("/a/*/b", &["/a/x/b", "/a/x/y/b", "/a//b"], &["/a/b", "/a/x/b/", "/a/x/bc"]),
            ("/*.php", &["/a.php", "/x/.php"], &["/a.php5", "/a.php/x"]),
            ("/a*b*c", &["/abc", "/a-b-b-c"], &["/acb", "/ab"]),
            ("/a%20b", &["/a b"], &["/a%20b"]),
            ("/a%2Ab", &["/a*b"], &["/axb"]),
            ("~^/v[12]/", &["/v1/", "/v2/x"], &["/v3/", "/x/v1/"]),
            (r"~\.(css|js)$", &["/a.css", "/b/c.js"], &["/a.css/x"]),
        ] {
            let parsed = parse(pattern).unwrap();
            for path in yes {
                assert!(parsed.matches(path), "{pattern} {path}");
            }
            for path in no {
                assert!(!parsed.matches(path), "{pattern} {path}");
            }
        }
    }

    #[test]
    fn what_is_no_pattern_says_why() {
        let why = |text: &str| parse(text).unwrap_err();
        assert_eq!(why("a"), BadPathPattern::Path(BadPath::NotAPath));
        assert_eq!(why("/a%2fb"), BadPathPattern::Path(BadPath::EncodedSlash));
        assert_eq!(why(&format!("/{}", "*".repeat(18))), BadPathPattern::TooManyStars);
        assert_eq!(why(&format!("/{}", "a".repeat(2_048))), BadPathPattern::TooLong);
        assert!(matches!(why("~("), BadPathPattern::Expression(_)));
    }

    #[test]
    fn a_route_that_keeps_slashes_may_be_about_them() {
        let rule = SlashRule { encoded: EncodedSlash::Keep, empty: EmptySegments::Keep };
        let parse = |text: &str| PathPattern::parse(text, rule).unwrap();
        let pattern = parse("/a%2fb%20c/*");
        assert!(pattern.matches("/a%2Fb c/x") && !pattern.matches("/a/b c/x"));
        for text in ["/a%2fb", "/a//b", "/a%5C*", "~^/[^/]+%2F"] {
            assert!(parse(text).mentions_slashes(), "{text}");
        }
        for text in ["/a/*", "/a%20b", "~^/[^/]+/x"] {
            assert!(!parse(text).mentions_slashes(), "{text}");
        }
    }

    #[test]
    fn one_covers_another_only_where_that_is_certain() {
        let covers = |one: &str, other: &str| parse(one).unwrap().covers(&parse(other).unwrap());
        assert!(covers("/*", "~.") && covers("/a/*", "/a/b") && covers("/a/*", "/a/b/*"));
        assert!(covers("/a/*", "/a/*/c") && covers("/*/c", "/*/c") && covers("~^/a", "/ab"));
        assert!(!covers("/a/*", "/a") && !covers("/a", "/a/*") && !covers("/*/c", "/a/*/c"));
        assert!(!covers("~^/", "/*"));
    }

    #[test]
    fn the_folder_of_a_prefix_is_what_a_root_stands_for() {
        let folder = |text: &str| parse(text).unwrap().folder().to_owned();
        assert_eq!(folder("/static/*"), "/static/");
        assert_eq!(folder("/static/img*"), "/static/");
        assert_eq!(
            (folder("/*"), folder("/a/b"), folder("~^/a/")),
            ("/".into(), "/".into(), "/".into())
        );
    }
}
