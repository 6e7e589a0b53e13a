//! The hosts of a site: exact, every name below a domain, or a regular expression.
//!
//! It parses and compares, no more: which site wins is `table`'s. Called by `settings` and `table`.

use regex::{Regex, RegexBuilder};
use std::fmt;
use vocab::{DomainName, NameError};

/// What a compiled expression may take, in bytes: a host name needs little.
const REGEX_BYTES_MAX: usize = 256 << 10;

/// One entry of `hosts`.
#[derive(Clone, Debug)]
pub(crate) enum HostPattern {
    /// This name.
    Exact(DomainName),
    /// `*.example`: every name below this one, at any depth, and not the name itself.
    Subdomains(DomainName),
    /// `~expression`, held against the name in lower case, without port and trailing dot.
    Matching(Regex),
}

/// Why a text is no host pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BadHost {
    Name(NameError),
    /// A star that is not the whole first label.
    Star,
    Expression(String),
}

impl HostPattern {
    /// Reads one entry.
    pub(crate) fn parse(text: &str) -> Result<Self, BadHost> {
        if let Some(expression) = text.strip_prefix('~') {
            let regex = RegexBuilder::new(expression).size_limit(REGEX_BYTES_MAX).build();
            return regex.map(Self::Matching).map_err(|why| BadHost::Expression(why.to_string()));
        }
        if let Some(parent) = text.strip_prefix("*.") {
            if parent.is_empty() || parent.contains('*') {
                return Err(BadHost::Star);
            }
            return DomainName::parse(parent).map(Self::Subdomains).map_err(BadHost::Name);
        }
        if text.contains('*') {
            return Err(BadHost::Star);
        }
        DomainName::parse(text).map(Self::Exact).map_err(BadHost::Name)
    }

    /// True for a host, in lower case without port and trailing dot, that this entry names.
    pub(crate) fn names(&self, host: &str) -> bool {
        match self {
            Self::Exact(name) => name.as_str() == host,
            Self::Subdomains(name) => {
                host.strip_suffix(name.as_str()).is_some_and(|above| above.ends_with('.'))
            }
            Self::Matching(regex) => regex.is_match(host),
        }
    }
}

impl fmt::Display for BadHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(why) => write!(f, "not a host name: {why}"),
            Self::Star => f.write_str("a star is for whole labels at the front only"),
            Self::Expression(why) => write!(f, "not a regular expression: {why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_forms_are_told_apart() {
        assert!(matches!(HostPattern::parse("WWW.example."), Ok(HostPattern::Exact(_))));
        assert!(matches!(HostPattern::parse("*.example"), Ok(HostPattern::Subdomains(_))));
        assert!(matches!(HostPattern::parse(r"~^w\d+\."), Ok(HostPattern::Matching(_))));
    }

    #[test]
    fn an_entry_names_its_hosts() {
        for (entry, host, expected) in [
            ("www.example", "www.example", true),
            ("www.example", "a.www.example", false),
            ("*.example", "a.b.example", true),
            ("*.example", "example", false),
            ("*.example", "badexample", false),
            ("~^w[0-9]$", "w1", true),
            ("~^w[0-9]$", "w1.evil", false),
        ] {
            assert_eq!(HostPattern::parse(entry).unwrap().names(host), expected, "{entry} {host}");
        }
    }

    #[test]
    fn what_is_none_of_them_says_why() {
        for (text, why) in [
            ("a..b", "not a host name"),
            ("w*.example", "a star"),
            ("*.*.example", "a star"),
            ("*", "a star"),
            ("*.", "a star"),
            ("~(", "not a regular expression"),
        ] {
            let found = HostPattern::parse(text).unwrap_err().to_string();
            assert!(found.starts_with(why), "{text}: {found}");
        }
    }
}
