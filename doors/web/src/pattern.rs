//! Patterns of paths: `/assets/*`, `*.html`.
//!
//! A star stands for any run of characters, slashes included. A pattern that begins with a slash is
//! held against the whole path, any other against the last segment. Pure; matching takes one pass
//! and never goes back further than a star. Called by `rules`, `auth` and `fastcgi`.

use std::fmt;

/// Longest pattern, in bytes: a path is not longer on any system we serve (`PATH_MAX`).
pub(crate) const PATTERN_BYTES_MAX: usize = 4096;
/// Stars of one pattern: as many as `$1` to `$9` can name.
pub(crate) const STARS_MAX: usize = 9;

/// A pattern, cut at its stars.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathPattern {
    scope: PatternScope,
    /// What must stand before, between and behind the stars.
    literals: Vec<Box<str>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PatternScope {
    Path,
    Name,
}

/// Why a text is no pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadPattern {
    Empty,
    TooLong,
    TooManyStars,
}

impl PathPattern {
    /// Reads a pattern.
    pub(crate) fn parse(text: &str) -> Result<Self, BadPattern> {
        let scope = if text.starts_with('/') { PatternScope::Path } else { PatternScope::Name };
        Self::of(text, scope)
    }

    /// Reads a pattern that is held against the whole path however it begins: what guards a path
    /// must not be slipped by a slash.
    pub(crate) fn whole(text: &str) -> Result<Self, BadPattern> {
        Self::of(text, PatternScope::Path)
    }

    fn of(text: &str, scope: PatternScope) -> Result<Self, BadPattern> {
        if text.is_empty() {
            return Err(BadPattern::Empty);
        }
        if text.len() > PATTERN_BYTES_MAX {
            return Err(BadPattern::TooLong);
        }
        let literals: Vec<Box<str>> = text.split('*').map(Into::into).collect();
        if literals.len() > STARS_MAX + 1 {
            return Err(BadPattern::TooManyStars);
        }
        Ok(Self { scope, literals })
    }

    /// Returns how much it says, in bytes: the longer of two says more.
    pub(crate) fn len(&self) -> usize {
        self.literals.iter().map(|it| it.len()).sum::<usize>() + self.stars()
    }

    /// Returns how many stars it has.
    pub(crate) fn stars(&self) -> usize {
        self.literals.len() - 1
    }

    /// True if a whole path is meant.
    pub(crate) fn is_of_paths(&self) -> bool {
        self.scope == PatternScope::Path
    }

    /// True if `path`, decoded and with its leading slash, matches.
    pub(crate) fn matches(&self, path: &str) -> bool {
        self.captures(path).is_some()
    }

    /// Returns what the stars stand for, if `path` matches. Each but the last takes as little as it
    /// can.
    pub(crate) fn captures<'p>(&self, path: &'p str) -> Option<Vec<&'p str>> {
        let text = match self.scope {
            PatternScope::Path => path,
            PatternScope::Name => path.rsplit_once('/').map_or(path, |(_, name)| name),
        };
        let (first, more) = self.literals.split_first().expect("split gives one part at least");
        let mut rest = text.strip_prefix(&**first)?;
        let Some((last, between)) = more.split_last() else {
            return rest.is_empty().then(Vec::new);
        };
        let mut stars = Vec::with_capacity(more.len());
        for literal in between {
            let (star, behind) = rest.split_once(&**literal)?;
            stars.push(star);
            rest = behind;
        }
        stars.push(rest.strip_suffix(&**last)?);
        Some(stars)
    }
}

impl fmt::Display for BadPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("a pattern cannot be empty"),
            Self::TooLong => write!(f, "a pattern has at most {PATTERN_BYTES_MAX} bytes"),
            Self::TooManyStars => write!(f, "a pattern has at most {STARS_MAX} stars"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, path: &str, expected: Option<&[&str]>) {
        let pattern = PathPattern::parse(pattern).unwrap();
        assert_eq!(pattern.captures(path).as_deref(), expected, "{pattern:?} {path}");
    }

    #[test]
    fn a_pattern_with_a_slash_is_of_the_whole_path() {
        check("/assets/*", "/assets/a/b.js", Some(&["a/b.js"]));
        check("/assets/*", "/assets/", Some(&[""]));
        check("/assets/*", "/assets", None);
        check("/assets/*", "/x/assets/a", None);
        check("/a", "/a", Some(&[]));
        check("/a", "/a/", None);
        check("/*", "/", Some(&[""]));
    }

    #[test]
    fn a_pattern_without_is_of_the_name() {
        check("*.html", "/a/b.html", Some(&["b"]));
        check("*.html", "/a.html/b", None);
        check("robots.txt", "/any/robots.txt", Some(&[]));
        check("*", "/any/thing", Some(&["thing"]));
    }

    #[test]
    fn a_pattern_that_guards_sees_the_whole_path() {
        let check = |pattern: &str, path: &str, expected: bool| {
            assert_eq!(
                PathPattern::whole(pattern).unwrap().matches(path),
                expected,
                "{pattern} {path}"
            );
        };
        check("*.php", "/a/b.php", true);
        check("*.php", "/a/b.php5", false);
        check("*/in/*", "/a/in/b", true);
        check("/app/*", "/apple", false);
        check("/a*b*c", "/a-b-b-c", true);
    }

    #[test]
    fn stars_take_little_but_the_last() {
        check("/*/old/*", "/a/old/b/old/c", Some(&["a", "b/old/c"]));
        check("/*-*.js", "/app-1-2.js", Some(&["app", "1-2"]));
        check("/a*a", "/a", None);
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        assert_eq!(PathPattern::parse(""), Err(BadPattern::Empty));
        assert_eq!(PathPattern::parse(&"*".repeat(10)), Err(BadPattern::TooManyStars));
        assert_eq!(PathPattern::parse(&"a".repeat(5000)), Err(BadPattern::TooLong));
    }
}
