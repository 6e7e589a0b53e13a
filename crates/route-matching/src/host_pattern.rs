//! The hosts that a route is for: one name, all names below one, or those of an expression.
//!
//! It parses and compares one host. Called by `route_match` and `host_table`.

use crate::expression::{BadExpression, MatchExpression, REGEX_SIGN};
use std::fmt;
use vocab::{DomainName, Name, NameError};

/// The hosts that a route is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostPattern {
    /// This name alone.
    Exact(DomainName),
    /// Everything below this name, not the name itself.
    Subdomains(DomainName),
    /// Names, in lower case and without a port, that the expression finds something in.
    Matching(MatchExpression),
}

/// Why a text is no pattern of hosts.
#[derive(Clone, Debug, PartialEq)]
pub enum BadHost {
    /// This is no name.
    Name(NameError),
    /// This is no expression.
    Expression(BadExpression),
}

impl HostPattern {
    /// Reads `www.example`, `*.example` or `~^www[0-9]+\.example$`.
    pub fn parse(text: &str) -> Result<Self, BadHost> {
        if let Some(expression) = text.strip_prefix(REGEX_SIGN) {
            return MatchExpression::new(expression)
                .map(Self::Matching)
                .map_err(BadHost::Expression);
        }
        let (name, pattern) = match text.strip_prefix("*.") {
            Some(rest) => (rest, Self::Subdomains as fn(DomainName) -> Self),
            None => (text, Self::Exact as fn(DomainName) -> Self),
        };
        DomainName::parse(name).map(pattern).map_err(BadHost::Name)
    }

    /// True if the route is for `host`.
    pub fn matches(&self, host: Name<'_>) -> bool {
        match self {
            Self::Exact(name) => name.as_name() == host,
            Self::Subdomains(name) => is_below(host, name.as_name()),
            Self::Matching(expression) => expression.is_match(host.as_str()),
        }
    }

    /// True if it is certain that it fits all hosts that `other` fits.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (_, Self::Exact(name)) => self.matches(name.as_name()),
            (Self::Subdomains(name), Self::Subdomains(other)) => {
                other.as_name().is_at_or_below(name.as_name())
            }
            (Self::Matching(_), Self::Matching(_)) => self == other,
            (_, _) => false,
        }
    }
}

/// True if `host` has more labels before those of `name`.
pub(crate) fn is_below(host: Name<'_>, name: Name<'_>) -> bool {
    name != host && host.is_at_or_below(name)
}

impl fmt::Display for BadHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(why) => write!(f, "this is no host: {why}"),
            Self::Expression(why) => why.fmt(f),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;

    #[test]
    fn hosts_fit_whole_labels_or_an_expression() {
        let fits = |pattern: &str, host: &str| {
            HostPattern::parse(pattern).unwrap().matches(Name::from_lowercase(host).unwrap())
        };
        assert!(fits("App.example", "app.example"));
        assert!(!fits("app.example", "www.app.example"));
        assert!(fits("*.example", "a.b.example"));
        assert!(!fits("*.example", "example"));
        assert!(!fits("*.example", "badexample"));
        assert!(fits(r"~^w\d+\.example$", "w12.example"));
        assert!(!fits(r"~^w\d+\.example$", "w12.example.net"));
        assert!(HostPattern::parse("a*.example").is_err() && HostPattern::parse("~(").is_err());
    }

    #[test]
    fn one_covers_another_only_where_that_is_certain() {
        let covers = |one: &str, other: &str| {
            HostPattern::parse(one).unwrap().covers(&HostPattern::parse(other).unwrap())
        };
        assert!(covers("a.example", "A.example") && covers("*.example", "a.example"));
        assert!(covers("*.example", "*.a.example") && covers("*.example", "*.example"));
        assert!(covers("~^a", "a.example") && covers("~^a", "~^a"));
        assert!(!covers("*.a.example", "*.example") && !covers("a.example", "*.example"));
        assert!(!covers("*.example", "example") && !covers("~^a", "~^ab"));
        assert!(!covers("~example$", "*.example"));
    }
}
