//! The smaller words of a site's settings: switches and rules.
//!
//! Plain data; `check` and `rules` say what is wrong with it. Read by `config` as part of
//! [`crate::SiteSettings`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Tells what a folder without an index page shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ListingMode {
    /// Nothing: 404.
    #[default]
    Off,
    /// What is in it, as a page, or as JSON for `?format=json` and for those that prefer
    /// `application/json`.
    On,
    /// The words that there is no listing, with 200, as Perlbal answers; a request with a query
    /// asks for something else, and gets 404.
    Notice,
}

/// Tells whether a site does something that most do not, as its setting has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "bool", into = "bool")]
#[schemars(with = "bool")]
pub enum SiteSwitch {
    /// Not done.
    #[default]
    Off,
    /// Done.
    On,
}

impl From<bool> for SiteSwitch {
    fn from(is_on: bool) -> Self {
        if is_on { Self::On } else { Self::Off }
    }
}

impl From<SiteSwitch> for bool {
    fn from(mode: SiteSwitch) -> Self {
        mode == SiteSwitch::On
    }
}

/// Treatment of names that begin with a dot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HiddenFiles {
    /// They are not there, but for `/.well-known/` (RFC 8615).
    #[default]
    Refuse,
    /// They are files like any other.
    Serve,
}

/// Treatment of symbolic links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SymlinkMode {
    /// Followed as long as they stay inside the root; absolute ones do not.
    #[default]
    Inside,
    /// They are not there.
    Refuse,
    /// Followed wherever they lead. Anyone who can create a link in the root chooses what is
    /// served.
    Follow,
}

/// Header fields of the answers to some paths.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HeaderRule {
    /// The paths: `/assets/*` for whole paths, `*.html` for names. Default all (`*`).
    #[serde(rename = "match")]
    pub pattern: String,
    /// Fields to set, in place of what they were. Default none.
    pub set: BTreeMap<String, String>,
    /// Fields to leave out. Default none.
    pub remove: Vec<String>,
}

/// The `Cache-Control` of some files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CacheRule {
    /// The paths: `/assets/*` for whole paths, `*.html` for names. Default all (`*`).
    #[serde(rename = "match")]
    pub pattern: String,
    /// The field's value, such as `public, max-age=31536000, immutable`. No default.
    pub value: String,
}

/// Another address for some paths.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SiteRedirectSettings {
    /// The paths, percent-decoded: from the slash with stars, `/old/*`, or a regular expression
    /// after `~`. No default.
    pub from: String,
    /// New place: a path, or a URL of http or https. `$1`, `${1}` and `${name}` are what stars and
    /// groups matched; `{client}`, `{host}`, `{scheme}`, `{path}` and `{query}` are replaced by
    /// those of the request, `{uri}` by path and query. `{{`, `}}` and `$$` are the signs
    /// themselves. The query is kept unless this has one. No default.
    pub to: String,
    /// 301, 302, 303, 307 or 308. Default 302: a permanent one is remembered by browsers for years.
    pub status: u16,
}

impl Default for SiteRedirectSettings {
    fn default() -> Self {
        Self { from: String::new(), to: String::new(), status: 302 }
    }
}
