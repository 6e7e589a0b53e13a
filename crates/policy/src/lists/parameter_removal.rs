//! The value of `$removeparam=`: which parameters of a query are taken off a URL.
//!
//! It names parameters and cuts them out of a text; what it leaves stands as it stood, byte for
//! byte. Read by `compile`, asked by `Policy::remove_parameters`.

use crate::report::SkipReason;
use filter_patterns::CaseMatching;
use filter_patterns::regexes::LazyRegex;

/// Which parameters go.
#[derive(Debug)]
pub(crate) enum ParameterTrim {
    /// All of them.
    All,
    /// Those of this name.
    Named(Box<str>),
    /// All but those of this name.
    AllBut(Box<str>),
    /// Those whose `name=value` an expression matches.
    Matching { expression: Box<str>, case: CaseMatching, regex: LazyRegex },
}

impl ParameterTrim {
    /// Reads a value.
    pub(crate) fn read(value: &str) -> Result<Self, SkipReason> {
        if value.is_empty() {
            return Ok(Self::All);
        }
        if let Some((expression, case)) = Self::expression(value) {
            let expression = expression.into_boxed_str();
            return Ok(Self::Matching { expression, case, regex: LazyRegex::default() });
        }
        match value.strip_prefix('~') {
            // An expression with other flags, or a negated one.
            None if value.starts_with('/') && value[1..].contains('/') => {
                Err(SkipReason::BadModifier)
            }
            Some(value) if value.starts_with('/') || value.is_empty() => {
                Err(SkipReason::BadModifier)
            }
            Some(name) => Ok(Self::AllBut(name.into())),
            None => Ok(Self::Named(value.into())),
        }
    }

    /// The expression that a value consists of, if it is one; whether it can be used is not looked
    /// at.
    pub(crate) fn expression(value: &str) -> Option<(String, CaseMatching)> {
        let (expression, flags) = value.strip_prefix('/')?.rsplit_once('/')?;
        let case = match flags {
            "" => CaseMatching::Differs,
            "i" => CaseMatching::Same,
            _ => return None,
        };
        // In modifiers a comma is escaped, and a `|` or `$` may be.
        Some((expression.replace("\\,", ","), case))
    }

    /// True if a parameter, as `name=value`, goes.
    pub(crate) fn removes(&self, parameter: &str) -> bool {
        let name = parameter.split('=').next().unwrap_or_default();
        match self {
            Self::All => true,
            Self::Named(wanted) => name == &**wanted,
            Self::AllBut(kept) => name != &**kept,
            Self::Matching { expression, case, regex } => {
                regex.is_match(expression, *case, parameter.as_bytes())
            }
        }
    }

    /// True if it says the same as another: an exception takes back what it repeats.
    pub(crate) fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::All, Self::All) => true,
            (Self::Named(a), Self::Named(b)) | (Self::AllBut(a), Self::AllBut(b)) => a == b,
            (
                Self::Matching { expression: a, case: in_a, .. },
                Self::Matching { expression: b, case: in_b, .. },
            ) => a == b && in_a == in_b,
            (Self::All | Self::Named(_) | Self::AllBut(_) | Self::Matching { .. }, _) => false,
        }
    }
}

/// The parameters of a URL, and what stands around them.
pub(crate) struct UrlQuery<'u> {
    before: &'u str,
    parameters: &'u str,
    fragment: &'u str,
}

impl<'u> UrlQuery<'u> {
    /// Takes a URL apart; none if it has no parameters.
    pub(crate) fn of(url: &'u str) -> Option<Self> {
        let end = memchr::memchr(b'#', url.as_bytes()).unwrap_or(url.len());
        let mark = memchr::memchr(b'?', &url.as_bytes()[..end])?;
        let (before, parameters) = (&url[..mark], &url[mark + 1..end]);
        (!parameters.is_empty()).then_some(Self { before, parameters, fragment: &url[end..] })
    }

    /// Returns its parameters, as `name=value`.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = &'u str> {
        self.parameters.split('&')
    }

    /// The URL with those parameters that stay.
    pub(crate) fn with(&self, stays: impl Fn(&str) -> bool) -> String {
        let kept: Vec<&str> = self.parameters().filter(|parameter| stays(parameter)).collect();
        // What is left may be nothing but separators.
        let (mark, kept) = if kept.iter().all(|parameter| parameter.is_empty()) {
            ("", String::new())
        } else {
            ("?", kept.join("&"))
        };
        format!("{}{mark}{kept}{}", self.before, self.fragment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: &str, url: &str, expected: &str) {
        let trim = ParameterTrim::read(value).unwrap();
        let query = UrlQuery::of(url).unwrap();
        assert_eq!(query.with(|parameter| !trim.removes(parameter)), expected, "{value}");
    }

    #[test]
    fn parameters_go_and_the_rest_stands_as_it_stood() {
        check(
            "utm_source",
            "https://a.example/?x=%20&utm_source=b#c",
            "https://a.example/?x=%20#c",
        );
        check("utm_source", "https://a.example/?utm_source=b&utm_source", "https://a.example/");
        check("", "https://a.example/?a=1&b=2", "https://a.example/");
        check("fbclid", "https://a.example/?fbclid=1&", "https://a.example/");
        check("fbclid", "https://a.example/?fbclid=1&&x=2", "https://a.example/?&x=2");
        check("~a", "https://a.example/?a=1&b=2", "https://a.example/?a=1");
        check("/^utm_/", "https://a.example/?utm_x=1&UTM_y=2", "https://a.example/?UTM_y=2");
        check("/^utm_/i", "https://a.example/?utm_x=1&UTM_y=2", "https://a.example/");
        check(r"/^a{1\,2}=/", "https://a.example/?aa=1&aaa=2", "https://a.example/?aaa=2");
        assert!(UrlQuery::of("https://a.example/#?a=1").is_none());
        assert!(UrlQuery::of("https://a.example/?").is_none());
        assert!(ParameterTrim::read("/a/x").is_err());
    }
}
