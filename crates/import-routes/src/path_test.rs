//! Paths that a piece of a configuration is for, and what two of them have in common.
//!
//! Paths are compared percent-decoded, as routes compare them. An expression within a prefix is cut
//! by its derivative (Brzozowski), so that nothing is lost where both overlap.

use crate::expression_rest::{RestError, rest_after};
use regex::Regex;
use std::fmt::Write;

/// The longest expression that is written, in bytes: a route's pattern has 2,048.
const EXPRESSION_BYTES_MAX: usize = 2_000;

/// Expressions that find something in every path.
const EVERYTHING: [&str; 9] =
    ["^", "^/", "/", "^.*", "^.*$", "(.*)", "^(.*)$", "^/(.*)$", "^/(.*)"];

/// Paths, decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathTest {
    /// This one.
    Exact(String),
    /// All that begin so, `/` for all there are.
    Prefix(String),
    /// All that the expression finds something in.
    Matching(String),
}

/// What two tests have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meeting<T> {
    /// This.
    Both(T),
    /// Nothing: no request passes both.
    Nothing,
    /// It cannot be said by one route.
    Unsayable(&'static str),
}

impl Default for PathTest {
    fn default() -> Self {
        Self::Prefix("/".into())
    }
}

impl PathTest {
    /// An expression in the words of the `regex` crate, if it is one of a bearable size.
    pub fn matching(expression: &str) -> Option<Self> {
        is_expression(expression).then(|| Self::Matching(expression.into()))
    }

    /// True if it is for all paths.
    pub fn is_any(&self) -> bool {
        *self == Self::default()
    }

    /// Paths that both are for.
    pub fn meet(&self, other: &Self) -> Meeting<Self> {
        match (self, other) {
            (Self::Matching(text), it) | (it, Self::Matching(text))
                if EVERYTHING.contains(&text.as_str()) =>
            {
                Meeting::Both(it.clone())
            }
            (Self::Exact(path), it) | (it, Self::Exact(path)) => {
                if it.is_for(path) {
                    Meeting::Both(Self::Exact(path.clone()))
                } else {
                    Meeting::Nothing
                }
            }
            (Self::Prefix(one), Self::Prefix(two)) => {
                let (short, long) = if one.len() < two.len() { (one, two) } else { (two, one) };
                if long.starts_with(short.as_str()) {
                    Meeting::Both(Self::Prefix(long.clone()))
                } else {
                    Meeting::Nothing
                }
            }
            (Self::Prefix(prefix), Self::Matching(expression))
            | (Self::Matching(expression), Self::Prefix(prefix)) => within(prefix, expression),
            (Self::Matching(one), Self::Matching(two)) if one == two => Meeting::Both(self.clone()),
            (Self::Matching(one), Self::Matching(two)) => both_expressions(one, two),
        }
    }

    /// True if it is certain that it is for all paths that `other` is for.
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (_, Self::Exact(path)) => self.is_for(path),
            (Self::Prefix(one), Self::Prefix(two)) => two.starts_with(one.as_str()),
            (Self::Prefix(_), Self::Matching(_)) => self.is_any(),
            (Self::Matching(one), Self::Matching(two)) => one == two,
            (Self::Exact(_) | Self::Matching(_), _) => false,
        }
    }

    /// True if `path` is one of them.
    pub fn is_for(&self, path: &str) -> bool {
        match self {
            Self::Exact(own) => own == path,
            Self::Prefix(prefix) => path.starts_with(prefix.as_str()),
            Self::Matching(expression) => Regex::new(expression).is_ok_and(|it| it.is_match(path)),
        }
    }

    /// The folder whose content a route's `root` is: that of a prefix, else `/`.
    pub fn folder(&self) -> &str {
        match self {
            Self::Prefix(prefix) => &prefix[..=prefix.rfind('/').unwrap_or(0)],
            Self::Exact(_) | Self::Matching(_) => "/",
        }
    }

    /// The same as an expression, which a root of whole paths needs.
    #[must_use]
    pub fn as_expression(&self) -> Self {
        match self {
            Self::Prefix(prefix) if !self.is_any() => {
                Self::Matching(format!("^{}", regex::escape(prefix)))
            }
            Self::Prefix(_) | Self::Exact(_) | Self::Matching(_) => self.clone(),
        }
    }

    /// The pattern of a route.
    pub fn pattern(&self) -> String {
        match self {
            Self::Exact(path) => encoded(path),
            Self::Prefix(prefix) => format!("{}*", encoded(prefix)),
            Self::Matching(expression) => format!("~{expression}"),
        }
    }
}

/// True for an expression that a route takes.
pub fn is_expression(text: &str) -> bool {
    text.len() <= EXPRESSION_BYTES_MAX
        && regex::RegexBuilder::new(text).size_limit(200 << 10).build().is_ok()
}

/// Paths that begin with `prefix`, and that the expression finds something in.
fn within(prefix: &str, expression: &str) -> Meeting<PathTest> {
    if prefix == "/" {
        // Every path begins so.
        return Meeting::Both(PathTest::Matching(expression.into()));
    }
    let rest = match rest_after(prefix, expression) {
        Ok(Some(rest)) => rest,
        Ok(None) => return Meeting::Nothing,
        Err(RestError::TooMuch | RestError::Unreadable) => {
            return Meeting::Unsayable("the expression cannot be cut to a prefix");
        }
    };
    let whole = format!("^{}{rest}", regex::escape(prefix));
    match PathTest::matching(&whole) {
        Some(test) => Meeting::Both(test),
        None => Meeting::Unsayable("the expression gets too long"),
    }
}

/// What an expression says that is a text at the beginning, and no more.
struct BeginningText {
    text: String,
    folds_case: bool,
    /// True if nothing follows the text.
    is_whole: bool,
}

impl BeginningText {
    fn of(expression: &str) -> Option<Self> {
        let (folds_case, rest) = match expression.strip_prefix("(?i)") {
            Some(rest) => (true, rest),
            None => (false, expression),
        };
        let rest = rest.strip_prefix('^')?;
        let (is_whole, rest) = match rest.strip_suffix('$') {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        let mut text = String::new();
        let mut letters = rest.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '\\' => text.push(letters.next().filter(|it| !it.is_ascii_alphanumeric())?),
                it if "^$.|?*+()[]{}".contains(it) => return None,
                it => text.push(it),
            }
        }
        Some(Self { text, folds_case, is_whole })
    }
}

/// Paths that two expressions find something in: those of the narrower, where both are texts.
fn both_expressions(one: &str, two: &str) -> Meeting<PathTest> {
    const WHY: &str = "a route has one expression for its path";
    let (Some(first), Some(second)) = (BeginningText::of(one), BeginningText::of(two)) else {
        return Meeting::Unsayable(WHY);
    };
    let swap = second.text.len() < first.text.len();
    let (short, long, narrow) = if swap { (&second, &first, one) } else { (&first, &second, two) };
    let folds = short.folds_case || long.folds_case;
    let lower = |text: &str| if folds { text.to_lowercase() } else { text.to_owned() };
    let (begin, whole) = (lower(&short.text), lower(&long.text));
    if !whole.starts_with(&begin) || short.is_whole && begin.len() < whole.len() {
        return Meeting::Nothing;
    }
    let is_narrower = (short.folds_case || !long.folds_case) && (long.is_whole || !short.is_whole);
    if is_narrower {
        Meeting::Both(PathTest::Matching(narrow.into()))
    } else {
        Meeting::Unsayable(WHY)
    }
}

/// A path as a route's pattern has it: stars and what is no path stand percent-encoded.
fn encoded(path: &str) -> String {
    let mut out = String::new();
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~!$&'()+,;=:@".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;

    fn matching(text: &str) -> PathTest {
        PathTest::matching(text).unwrap()
    }

    #[test]
    fn what_two_tests_share_is_neither_more_nor_less() {
        let paths = [
            "/",
            "/a",
            "/a/",
            "/a/x.php",
            "/a/b/x.php",
            "/x.php",
            "/a.php",
            "/a/x.php5",
            "/b/a/",
            "/a/.php",
            "/admin/x",
            "/A/x.php",
            "/a/b.php/c",
            "/.php",
        ];
        let tests = [
            PathTest::Prefix("/a/".into()),
            PathTest::Prefix("/a".into()),
            PathTest::Prefix("/.php".into()),
            PathTest::Exact("/a/x.php".into()),
            PathTest::Exact("/".into()),
            matching(r"\.php$"),
            matching(r"(?i)\.(php|html)$"),
            matching("^/a/b"),
            matching("^/(.+)/x"),
            matching(r"/[a-z]+\.php(/|$)"),
            matching("^/b|x"),
            matching("^$"),
            matching("^/(.*)$"),
            matching("a{2,}|(?i)^/A"),
            matching("(?i)^/a/"),
            matching("(?i)^/A/B/"),
            matching("^/a/b/x"),
            matching(r"(?i)^/a\.php$"),
            matching(r"^/a$"),
        ];
        for one in &tests {
            for two in &tests {
                let both = match one.meet(two) {
                    Meeting::Both(both) => both,
                    Meeting::Nothing => PathTest::Exact("none".into()),
                    Meeting::Unsayable(_) => continue,
                };
                for path in paths {
                    let due = one.is_for(path) && two.is_for(path);
                    assert_eq!(both.is_for(path), due, "{one:?} {two:?} {both:?} {path}");
                }
            }
        }
    }

    #[test]
    fn what_no_path_has_both_of_is_told() {
        let meet = |one: &PathTest, two: &str| one.meet(&matching(two));
        assert_eq!(meet(&PathTest::Prefix("/a/".into()), "^/b"), Meeting::Nothing);
        assert!(matches!(meet(&matching("x"), "y"), Meeting::Unsayable(_)));
        let words = matching(r"\bx");
        assert!(matches!(PathTest::Prefix("/a".into()).meet(&words), Meeting::Unsayable(_)));
    }

    #[test]
    fn patterns_are_written_as_routes_read_them() {
        assert_eq!(PathTest::Prefix("/a b*".into()).pattern(), "/a%20b%2A*");
        assert_eq!(PathTest::Exact("/\u{e9}".into()).pattern(), "/%C3%A9");
        assert_eq!(PathTest::default().pattern(), "/*");
        assert_eq!(PathTest::Prefix("/a/b".into()).folder(), "/a/");
    }
}
