//! The groups of a pattern that a request took, for texts that say them again.
//!
//! Stars of a pattern are groups as those of an expression are: the first is 1, and 0 is all that
//! was matched. Used by `location_template`; asked by the doors for each redirect.

use crate::expression::{BadExpression, MatchExpression};
use crate::host_pattern::HostPattern;
use crate::path_pattern::PathPattern;
use vocab::Name;

/// Numbers and names that a text may say of a pattern.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupNames(Vec<Option<String>>);

impl GroupNames {
    /// The groups of a pattern with so many stars.
    pub fn of_stars(stars: usize) -> Self {
        Self(vec![None; stars + 1])
    }

    /// The groups of an expression.
    pub fn of_expression(expression: &MatchExpression) -> Self {
        Self(expression.regex().capture_names().map(|it| it.map(str::to_owned)).collect())
    }

    /// The number of the group that a text calls so.
    pub(crate) fn number(&self, name: &str) -> Option<usize> {
        match name.parse::<usize>() {
            Ok(number) => (number < self.0.len()).then_some(number),
            Err(_) => self.0.iter().position(|it| it.as_deref() == Some(name)),
        }
    }

    /// The largest number.
    pub(crate) fn last(&self) -> usize {
        self.0.len().saturating_sub(1)
    }
}

impl MatchExpression {
    /// Compiles a text that settings give.
    pub fn compile(text: &str) -> Result<Self, BadExpression> {
        Self::new(text)
    }

    /// The groups of its first match; one that took no part is empty.
    pub fn groups<'t>(&self, text: &'t str) -> Option<Vec<&'t str>> {
        let found = self.regex().captures(text)?;
        Some(found.iter().map(|it| it.map_or("", |it| it.as_str())).collect())
    }
}

impl PathPattern {
    /// Names of its groups.
    pub fn group_names(&self) -> GroupNames {
        match self {
            Self::Exact(_) => GroupNames::of_stars(0),
            Self::Prefix(_) => GroupNames::of_stars(1),
            Self::Glob(pieces) => GroupNames::of_stars(pieces.len() - 1),
            Self::Matching(expression) => GroupNames::of_expression(expression),
        }
    }

    /// The groups of `path`, decoded; none where the pattern does not fit.
    pub fn groups<'p>(&self, path: &'p str) -> Option<Vec<&'p str>> {
        match self {
            Self::Exact(exact) => (**exact == *path).then(|| vec![path]),
            Self::Prefix(prefix) => path.strip_prefix(&**prefix).map(|rest| vec![path, rest]),
            Self::Glob(pieces) => glob_groups(pieces, path),
            Self::Matching(expression) => expression.groups(path),
        }
    }
}

/// Stars of a path, in the way in which the pattern fits: each but the last takes as little as it
/// can.
fn glob_groups<'p>(pieces: &[Box<str>], path: &'p str) -> Option<Vec<&'p str>> {
    let [first, between @ .., last] = pieces else { return None };
    let mut rest = path.strip_prefix(&**first)?;
    let mut groups = vec![path];
    for piece in between {
        let (star, behind) = rest.split_once(&**piece)?;
        groups.push(star);
        rest = behind;
    }
    groups.push(rest.strip_suffix(&**last)?);
    Some(groups)
}

impl HostPattern {
    /// Names of its groups.
    pub fn group_names(&self) -> GroupNames {
        match self {
            Self::Exact(_) => GroupNames::of_stars(0),
            Self::Subdomains(_) => GroupNames::of_stars(1),
            Self::Matching(expression) => GroupNames::of_expression(expression),
        }
    }

    /// The groups of a host; none where the pattern does not fit.
    pub fn groups<'h>(&self, host: Name<'h>) -> Option<Vec<&'h str>> {
        let text = host.as_str();
        match self {
            Self::Exact(_) => self.matches(host).then(|| vec![text]),
            Self::Subdomains(name) => {
                let star = text.strip_suffix(name.as_str())?.strip_suffix('.')?;
                Some(vec![text, star])
            }
            Self::Matching(expression) => expression.groups(text),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;
    use crate::path::SlashRule;

    #[test]
    fn stars_and_groups_are_numbered_alike() {
        let groups = |pattern: &str, path: &'static str| {
            PathPattern::parse(pattern, SlashRule::default()).unwrap().groups(path)
        };
        assert_eq!(groups("/a", "/a"), Some(vec!["/a"]));
        assert_eq!(groups("/a/*", "/a/b/c"), Some(vec!["/a/b/c", "b/c"]));
        assert_eq!(groups("/*/x/*.js", "/a/x/b.js"), Some(vec!["/a/x/b.js", "a", "b"]));
        assert_eq!(groups("~^/(a)|(b)", "/a"), Some(vec!["/a", "a", ""]));
        assert_eq!(groups("/a/*", "/b"), None);
    }

    #[test]
    fn the_star_of_a_host_is_what_stands_before_it() {
        let host = Name::from_lowercase("a.b.example").unwrap();
        let groups = |pattern: &str| HostPattern::parse(pattern).unwrap().groups(host);
        assert_eq!(groups("*.example"), Some(vec!["a.b.example", "a.b"]));
        assert_eq!(groups(r"~^(\w)\."), Some(vec!["a.", "a"]));
        assert_eq!(groups("*.b"), None);
    }
}
