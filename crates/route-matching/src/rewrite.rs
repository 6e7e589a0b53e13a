//! Another path for the servers of a route: a prefix taken off, an expression replaced.
//!
//! The path that comes out is read like one that comes in, so nothing gets to a server that would
//! not have been let in. Made with a route from its settings; asked for every request that goes
//! on, and for what answers say of paths.

use crate::expression::{BadExpression, MatchExpression};
use crate::path::{BadPath, RequestPath, SlashRule};
use http::Uri;
use percent_encoding::percent_decode_str;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// Holds what is done to the path.
#[derive(Clone, Debug, Default)]
pub struct PathRewrite {
    strip: Option<PathPrefix>,
    rewrite: Option<(MatchExpression, String)>,
    /// The rule by which the result is read.
    slashes: SlashRule,
}

/// Another path for servers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RewriteSettings {
    /// A regular expression for the path in normal form, percent-encoded as in a URL, without its
    /// query. No default.
    pub from: String,
    /// Replacement for the first match: `$1`, `${1}` and `${name}` are its groups, `$$` is a
    /// dollar. Text after a `?` is put before the query. No default.
    pub to: String,
}

/// Why a path cannot be rewritten so.
#[derive(Clone, Debug, PartialEq)]
pub enum BadRewrite {
    /// `from` is no expression that can be used.
    From(BadExpression),
    /// `to` names a group that `from` has not.
    Group {
        /// The expression.
        from: String,
        /// The name or number of the group.
        group: String,
    },
}

/// Whole segments at the beginning of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPrefix {
    /// In normal form, without a slash at its end.
    sent: String,
    decoded: String,
    segments: usize,
}

impl PathPrefix {
    /// Reads `/app`; a slash at the end says nothing.
    pub fn parse(text: &str) -> Result<Self, BadPath> {
        let path = RequestPath::read(text)?;
        let trimmed = |text: &str| text.trim_end_matches('/').to_owned();
        let (sent, decoded) = (trimmed(path.as_url()), trimmed(path.decoded()));
        match sent.matches('/').count() {
            0 => Err(BadPath::NotAPath),
            segments => Ok(Self { sent, decoded, segments }),
        }
    }

    /// As a folder, from slash to slash, decoded.
    pub fn folder(&self) -> String {
        [&self.decoded, "/"].concat()
    }

    /// The rest of `path`, in normal form, if it begins so.
    fn rest<'p>(&self, path: &'p str) -> Option<&'p str> {
        let end = path.match_indices('/').nth(self.segments).map_or(path.len(), |(at, _)| at);
        let (begin, rest) = path.split_at(end);
        let begins_so = percent_decode_str(begin).decode_utf8_lossy() == self.decoded;
        begins_so.then_some(if rest.is_empty() { "/" } else { rest })
    }
}

impl PathRewrite {
    /// The rewriting of these settings; `slashes` is the rule of their route.
    pub fn new(
        strip: Option<PathPrefix>,
        rewrite: Option<&RewriteSettings>,
        slashes: SlashRule,
    ) -> Result<Self, BadRewrite> {
        let rewrite = rewrite.map(|it| it.compile().map(|from| (from, it.to.clone())));
        Ok(Self { strip, rewrite: rewrite.transpose()?, slashes })
    }

    /// Returns what servers are asked for, of path and query in normal form.
    pub fn target(&self, asked: &str) -> Result<Uri, BadPath> {
        let changed = self.changed(asked)?;
        // What was read as a path is one, and the query was that of a URL.
        changed.parse().map_err(|_| BadPath::NotAPath)
    }

    fn changed<'p>(&self, asked: &'p str) -> Result<Cow<'p, str>, BadPath> {
        let (path, query) = match asked.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (asked, None),
        };
        let stripped = self.strip.as_ref().and_then(|prefix| prefix.rest(path));
        let path = stripped.unwrap_or(path);
        let rewritten = match &self.rewrite {
            Some((from, to)) => from.regex().replace(path, to),
            None => Cow::Borrowed(path),
        };
        if stripped.is_none() && matches!(rewritten, Cow::Borrowed(_)) {
            return Ok(Cow::Borrowed(asked));
        }
        // A question mark can only be one of `to`.
        let (path, more) = match rewritten.split_once('?') {
            Some((path, more)) => (path, Some(more)),
            None => (&*rewritten, None),
        };
        let (mut target, _) = RequestPath::read_by(path, self.slashes)?.into_texts();
        for (part, sign) in [more, query].into_iter().flatten().zip(['?', '&']) {
            target.push(sign);
            target.push_str(part);
        }
        Ok(Cow::Owned(target))
    }

    /// A path of a server as clients have to ask for it.
    pub fn public(&self, path: String) -> String {
        match &self.strip {
            Some(prefix) => [&*prefix.sent, &path].concat(),
            None => path,
        }
    }

    /// The path of a server's cookie as clients have to read it; none where it may stay as it is. A
    /// server that knows of the prefix has said it itself.
    pub fn scope(&self, path: &str) -> Option<String> {
        let prefix = self.strip.as_ref()?;
        if !path.starts_with('/') || prefix.rest(path).is_some() {
            return None;
        }
        // Without a slash behind it: it is for the prefix itself, too (RFC 6265 §5.1.4).
        Some([&*prefix.sent, path.trim_end_matches('/')].concat())
    }
}

impl RewriteSettings {
    /// The expression, if `to` names none but its groups.
    pub fn compile(&self) -> Result<MatchExpression, BadRewrite> {
        let from = MatchExpression::new(&self.from).map_err(BadRewrite::From)?;
        let mut rest = self.to.as_str();
        while let Some((_, behind)) = rest.split_once('$') {
            if let Some(behind) = behind.strip_prefix('$') {
                rest = behind;
                continue;
            }
            let (name, behind) = group(behind);
            let regex = from.regex();
            let is_known = match name.parse::<usize>() {
                Ok(number) => number < regex.captures_len(),
                Err(_) => regex.capture_names().flatten().any(|it| it == name),
            };
            if !is_known {
                return Err(BadRewrite::Group { from: self.from.clone(), group: name.into() });
            }
            rest = behind;
        }
        Ok(from)
    }
}

impl fmt::Display for BadRewrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::From(why) => why.fmt(f),
            Self::Group { from, group } => write!(
                f,
                "{from:?} has no group {group:?}: write ${{1}} where a letter follows, $$ for a \
                 dollar"
            ),
        }
    }
}

impl std::error::Error for BadRewrite {}

/// The name of a group behind its dollar, as the `regex` crate reads it, and what follows.
fn group(text: &str) -> (&str, &str) {
    if let Some(inside) = text.strip_prefix('{') {
        return inside.split_once('}').unwrap_or((inside, ""));
    }
    let is_end = |letter: char| !letter.is_ascii_alphanumeric() && letter != '_';
    text.split_at(text.find(is_end).unwrap_or(text.len()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;

    fn rewriting(strip: Option<&str>, rewrite: Option<(&str, &str)>) -> PathRewrite {
        let rewrite =
            rewrite.map(|(from, to)| RewriteSettings { from: from.into(), to: to.into() });
        let strip = strip.map(|text| PathPrefix::parse(text).unwrap());
        PathRewrite::new(strip, rewrite.as_ref(), SlashRule::default()).unwrap()
    }

    #[test]
    fn a_prefix_is_whole_segments_in_any_spelling() {
        for (prefix, asked, expected) in [
            ("/api", "/api/x?a=b", "/x?a=b"),
            ("/api/", "/api", "/"),
            ("/api", "/api/", "/"),
            ("/api", "/apix/y", "/apix/y"),
            ("/api", "/x/api/y", "/x/api/y"),
            ("/a!b/c", "/a%21b/c/d", "/d"),
            ("/a%21b", "/a!b?q", "/?q"),
        ] {
            let target = rewriting(Some(prefix), None).target(asked).unwrap();
            assert_eq!(target.to_string(), expected, "{prefix} {asked}");
        }
    }

    #[test]
    fn an_expression_makes_another_path() {
        for (from, to, asked, expected) in [
            ("^/old/(.*)$", "/new/$1", "/old/a/b?q", "/new/a/b?q"),
            ("^/u/([0-9]+)$", "/user?id=${1}", "/u/7", "/user?id=7"),
            ("^/u/([0-9]+)$", "/user?id=${1}", "/u/7?x=y", "/user?id=7&x=y"),
            ("^/old/", "/new/", "/other", "/other"),
            ("^/a$", "/b c", "/a", "/b%20c"),
        ] {
            let target = rewriting(None, Some((from, to))).target(asked).unwrap();
            assert_eq!(target.to_string(), expected, "{from} {asked}");
        }
        let both = rewriting(Some("/app"), Some(("^/v1/", "/")));
        assert_eq!(both.target("/app/v1/x").unwrap().to_string(), "/x");
        assert_eq!(both.public("/login".into()), "/app/login");
    }

    #[test]
    fn a_cookie_is_for_what_clients_ask_for() {
        let scope = |path| rewriting(Some("/app"), None).scope(path);
        assert_eq!(scope("/").as_deref(), Some("/app"));
        assert_eq!(scope("/login/").as_deref(), Some("/app/login"));
        assert_eq!(scope("/apps").as_deref(), Some("/app/apps"));
        assert_eq!(
            [scope("/app"), scope("/app/x"), scope("x"), scope("")],
            [None, None, None, None]
        );
        assert_eq!(rewriting(None, None).scope("/"), None);
    }

    #[test]
    fn what_comes_out_is_read_like_what_comes_in() {
        let wrong = |from, to, asked| rewriting(None, Some((from, to))).target(asked).unwrap_err();
        assert_eq!(wrong("^/x(.*)$", "/$1", "/x../b"), BadPath::AboveRoot);
        assert_eq!(wrong("^/x", "", "/xy"), BadPath::NotAPath);
        assert_eq!(wrong("^/x", "/%2f", "/x"), BadPath::EncodedSlash);
    }

    #[test]
    fn a_rewrite_names_its_own_groups() {
        let is_right = |from: &str, to: &str| {
            RewriteSettings { from: from.into(), to: to.into() }.compile().is_ok()
        };
        assert!(is_right("^/a/(.*)$", "/b/$1") && is_right("^/(?<rest>.*)$", "/x${rest}y$$"));
        assert!(is_right("^/a/(.*)$", "/$0/${1}x"));
        assert!(!is_right("^/a/(.*)$", "/b/$2") && !is_right("^/a/(.*)$", "/$1x"));
        assert!(!is_right("(", "/") && !is_right("^/a", "/$"));
    }
}
