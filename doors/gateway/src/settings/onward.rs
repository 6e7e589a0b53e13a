//! What can be set about the path and the `Host` that servers of a route are asked with.
//!
//! Plain data. Read as part of a route.

use crate::matching::MatchExpression;
use origins::{Origin, OriginScheme};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Another path for servers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RewriteSettings {
    /// A regular expression for the path in normal form, percent-encoded as in a URL, without its
    /// query. No default.
    pub from: String,
    /// What stands in place of what it finds, the first time: `$1`, `${1}` and `${name}` are what
    /// its groups hold, `$$` is a dollar. What follows a `?` is put before the query. No default.
    pub to: String,
}

/// The `Host` that servers read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HostSetting {
    Keep,
    Server,
    Text(String),
}

impl HostSetting {
    /// Reads `keep`, `server`, or a host.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        match text {
            "keep" => Ok(Self::Keep),
            "server" => Ok(Self::Server),
            host => match Origin::from_authority(OriginScheme::Http, host) {
                Ok(_) => Ok(Self::Text(host.to_owned())),
                Err(_) => Err(format!("{host:?} is no host")),
            },
        }
    }
}

impl RewriteSettings {
    /// The expression, if `to` names none but its groups.
    pub(crate) fn compile(&self) -> Result<MatchExpression, String> {
        let from = MatchExpression::new(&self.from)?;
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
                return Err(format!(
                    "{:?} has no group {name:?}: write ${{1}} where a letter follows, $$ for a dollar",
                    self.from
                ));
            }
            rest = behind;
        }
        Ok(from)
    }
}

/// The name of a group behind its dollar, as the `regex` crate reads it, and what follows.
fn group(text: &str) -> (&str, &str) {
    if let Some(inside) = text.strip_prefix('{') {
        return inside.split_once('}').unwrap_or((inside, ""));
    }
    let is_end = |letter: char| !letter.is_ascii_alphanumeric() && letter != '_';
    text.split_at(text.find(is_end).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn a_host_is_kept_the_servers_or_one() {
        assert_eq!(HostSetting::parse("keep"), Ok(HostSetting::Keep));
        assert_eq!(HostSetting::parse("server"), Ok(HostSetting::Server));
        let named = HostSetting::parse("inner.example:81");
        assert_eq!(named, Ok(HostSetting::Text("inner.example:81".into())));
        for wrong in ["", "a b", "a/b", "a\r\nb", "http://a"] {
            assert!(HostSetting::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
