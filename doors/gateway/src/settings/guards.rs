//! What can be set for the guards of a route: what is blocked, who is let in, how often.
//!
//! Plain data. Read as part of the `gateway` section.

use super::RouteSettings;
use super::limits::{LimitSettings, RequestsSettings};
use http::header::{
    CONNECTION, CONTENT_LENGTH, HOST, InvalidHeaderName, InvalidHeaderValue, TRANSFER_ENCODING,
    UPGRADE, VIA,
};
use http::status::InvalidStatusCode;
use http::uri::InvalidUri;
use http::{HeaderName, HeaderValue, StatusCode, Uri};
use origins::{Origin, OriginError};
use passwords::UserTable;
use route_matching::check_pattern_line;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;
use vocab::{Complaint, TimeSpan};

/// Lists of one block.
const LISTS_MAX: usize = 16;
/// Fields that an answer of an authority may bring.
const COPIED_MAX: usize = 32;
const TIMEOUT_MAX: Duration = Duration::from_mins(1);

/// URLs to refuse.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BlockSettings {
    /// A file with one pattern a line (`#` or `!` begin a comment), or the patterns themselves. A
    /// pattern is a piece of path and query, in any case of letters: `/.env` is refused anywhere.
    /// `*` matches anything, `|` at its start or end the start or end of the URL's path and query;
    /// after `~` comes a regular expression. They are compared with the URL as sent and as
    /// percent-decoded. At most 20000 expressions, 64 of them without a text of three bytes that
    /// every match holds.
    pub patterns: PatternSource,
    /// Files of rules about whole URLs, in any syntax that lists of the policy have: EasyList,
    /// hosts, Squid `url_regex`. At most 16; relative paths start from the configuration's folder.
    pub lists: Vec<String>,
    /// The answer: 403, 404, 410, `close` (not a byte, as nginx's 444; a stream of HTTP/2 is
    /// reset), `tarpit` (nothing, slowly: a byte in 5 s for a minute; beyond 128 at once, as
    /// `close`), or `{ redirect: URL }`. Default 403.
    pub answer: AnswerSettings,
    /// Record what would be blocked, and let it pass. Default false.
    pub log_only: bool,
}

/// Where patterns stand.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum PatternSource {
    /// In a file, at most 64 MiB; a relative path starts from the configuration's folder.
    File(String),
    /// Here.
    Inline(Vec<String>),
}

/// Tells what is answered to a URL that is blocked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum AnswerSettings {
    /// A status: 403, 404 or 410.
    Status(u16),
    /// No answer.
    Silence(SilentClose),
    /// Another URL.
    Elsewhere(BlockRedirect),
}

/// Tells how no answer is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SilentClose {
    /// The connection is closed.
    Close,
    /// A byte now and then, for a minute.
    Tarpit,
}

/// Where a blocked request is sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BlockRedirect {
    /// The URL of a 302.
    pub redirect: String,
}

/// Tells what is answered to a URL that is blocked, as it was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CheckedAnswer {
    Page(StatusCode),
    Redirect(HeaderValue),
    Close,
    Tarpit,
}

/// A name and a password (RFC 7617) before anything is answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AuthSettings {
    /// A file as `htpasswd -B` writes it; a relative path starts from the configuration's folder.
    /// It is read at start and on reload. Default none.
    pub file: Option<String>,
    /// Users and their hashed passwords: bcrypt, Argon2 or SHA-crypt. Default none.
    pub users: BTreeMap<String, String>,
    /// The name of the area, which browsers show. Default `Restricted`.
    pub realm: String,
}

/// An authority that is asked about every request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForwardAuthSettings {
    /// URL that is asked, by `GET` with the request's own fields and `X-Forwarded-Method`, `-Uri`,
    /// `-Host`, `-Proto` and `-For`. 2xx lets the request through; 3xx, 401 and 403 are passed on
    /// to the client; anything else, or no answer, is a 503.
    pub url: String,
    /// Fields of its answer that go on with the request. A client's own are dropped. At most 32.
    #[serde(default)]
    pub copy_headers: Vec<String>,
    /// Time that it may take. Default 5s, from 100ms to 1m.
    #[serde(default = "five_seconds")]
    pub timeout: Text<TimeSpan>,
}

/// Why an answer to what is blocked cannot be given.
#[derive(Debug)]
pub(crate) enum BadAnswer {
    /// The number is no status.
    Status(InvalidStatusCode),
    /// The status is none to give here.
    Unsuitable(u16),
    /// The redirect is no URL.
    Url(InvalidUri),
    /// The redirect is neither a path nor of HTTP.
    NowhereToGo(String),
    /// The redirect is no value of a field.
    Field(InvalidHeaderValue),
}

/// Why a URL leads to no authority.
#[derive(Debug)]
pub(crate) enum BadVerifyUrl {
    /// This is no URL.
    Unreadable(String, InvalidUri),
    /// Scheme, host or path is missing.
    NotWhole(String),
    /// There is no such origin.
    Origin(String, OriginError),
}

/// Why an authority may not bring a field.
#[derive(Debug)]
pub(crate) enum BadCopiedField {
    /// The name is none of a field.
    Name(String, InvalidHeaderName),
    /// The field frames or routes the request.
    Ours(String),
    /// Servers may take an underscore for a hyphen.
    Underscore(String),
}

fn five_seconds() -> Text<TimeSpan> {
    Text(TimeSpan(Duration::from_secs(5)))
}

impl Default for PatternSource {
    fn default() -> Self {
        Self::Inline(Vec::new())
    }
}

impl Default for AnswerSettings {
    fn default() -> Self {
        Self::Status(403)
    }
}

impl Default for AuthSettings {
    fn default() -> Self {
        Self { file: None, users: BTreeMap::new(), realm: "Restricted".into() }
    }
}

impl AnswerSettings {
    /// The answer, or why it cannot be given.
    pub(crate) fn compile(&self) -> Result<CheckedAnswer, BadAnswer> {
        match self {
            Self::Status(status @ (403 | 404 | 410)) => {
                StatusCode::from_u16(*status).map(CheckedAnswer::Page).map_err(BadAnswer::Status)
            }
            Self::Status(status) => Err(BadAnswer::Unsuitable(*status)),
            Self::Silence(SilentClose::Close) => Ok(CheckedAnswer::Close),
            Self::Silence(SilentClose::Tarpit) => Ok(CheckedAnswer::Tarpit),
            Self::Elsewhere(BlockRedirect { redirect }) => {
                let uri = redirect.parse::<Uri>().map_err(BadAnswer::Url)?;
                let whole = matches!(uri.scheme_str(), Some("http" | "https"));
                if !whole && !redirect.starts_with('/') {
                    return Err(BadAnswer::NowhereToGo(redirect.clone()));
                }
                HeaderValue::from_str(redirect)
                    .map(CheckedAnswer::Redirect)
                    .map_err(BadAnswer::Field)
            }
        }
    }
}

impl BlockSettings {
    /// Everything that is wrong but for what stands in files.
    pub(super) fn check(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        match &self.patterns {
            PatternSource::Inline(lines) if lines.is_empty() && self.lists.is_empty() => complaints
                .push(
                    Complaint::new("", "nothing is blocked here")
                        .remedy("write patterns: [\"/.env\"], or lists: [FILE]"),
                ),
            PatternSource::Inline(lines) => {
                for (index, line) in lines.iter().enumerate() {
                    if let Err(why) = check_pattern_line(line) {
                        complaints
                            .push(Complaint::new(format!("patterns.{index}"), why.to_string()));
                    }
                }
            }
            PatternSource::File(_) => {}
        }
        if self.lists.len() > LISTS_MAX {
            complaints.push(Complaint::new("lists", format!("at most {LISTS_MAX} lists")));
        }
        if let Err(why) = self.answer.compile() {
            complaints.push(
                Complaint::new("answer", why.to_string())
                    .remedy("write 403, 404, 410, close, tarpit, or { redirect: URL }"),
            );
        }
        complaints
    }
}

impl RouteSettings {
    /// Everything that is wrong with its guards but for what stands in files.
    pub(super) fn check_guards(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        let mut add = |path: &str, found: Vec<Complaint>| {
            complaints.extend(found.into_iter().map(|it| it.under(path)));
        };
        add("block", self.block.as_ref().map_or_else(Vec::new, BlockSettings::check));
        add("limit", self.limit.as_ref().map_or_else(Vec::new, LimitSettings::check));
        add("requests", self.requests.as_ref().map_or_else(Vec::new, RequestsSettings::check));
        add("auth", self.auth.as_ref().map_or_else(Vec::new, AuthSettings::check));
        let forward = self.forward_auth.as_ref();
        add("forward_auth", forward.map_or_else(Vec::new, ForwardAuthSettings::check));
        if forward.is_some() && self.auth.is_some() {
            let message = "the route asks for passwords already";
            complaints.push(Complaint::new("forward_auth", message).remedy("keep one of the two"));
        }
        if forward.is_some() && self.cache {
            let message = "what one user gets would be kept for others";
            let complaint = Complaint::new("forward_auth", message);
            complaints.push(complaint.remedy("leave cache out of this route"));
        }
        let reroutes = self.reproxy.as_ref().is_some_and(|it| it.reroute);
        if forward.is_some() && reroutes {
            let message = "a route that a server leads to would not know the user";
            let complaint = Complaint::new("forward_auth", message);
            complaints.push(complaint.remedy("leave reproxy.reroute out of this route"));
        }
        complaints
    }
}

impl AuthSettings {
    fn check(&self) -> Vec<Complaint> {
        let mut complaints = UserTable::check(&self.users);
        let is_text = |it: char| (' '..='~').contains(&it) && it != '"' && it != '\\';
        if !self.realm.chars().all(is_text) {
            let message = "a realm is printable ASCII without quotes and backslashes";
            complaints.push(Complaint::new("realm", message));
        }
        if self.file.is_none() && self.users.is_empty() {
            let complaint = Complaint::new("", "no user has a password here");
            complaints
                .push(complaint.remedy("write file: users.htpasswd, or users: { NAME: HASH }"));
        }
        complaints
    }
}

impl ForwardAuthSettings {
    /// The authority, and what is asked of it.
    pub(crate) fn target(&self) -> Result<(Origin, Uri), BadVerifyUrl> {
        let url = || self.url.clone();
        let uri: Uri = self.url.parse().map_err(|why| BadVerifyUrl::Unreadable(url(), why))?;
        let parts = (uri.scheme_str(), uri.authority(), uri.path_and_query());
        let (Some(scheme), Some(authority), Some(path)) = parts else {
            return Err(BadVerifyUrl::NotWhole(url()));
        };
        let origin = format!("{scheme}://{authority}");
        let origin = origin.parse().map_err(|why| BadVerifyUrl::Origin(url(), why))?;
        Ok((origin, Uri::from(path.clone())))
    }

    fn check(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        if let Err(why) = self.target() {
            complaints.push(
                Complaint::new("url", why.to_string())
                    .remedy("write url: \"http://127.0.0.1:9091/verify\""),
            );
        }
        if self.copy_headers.len() > COPIED_MAX {
            complaints.push(Complaint::new("copy_headers", format!("at most {COPIED_MAX} fields")));
        }
        for (index, name) in self.copy_headers.iter().enumerate() {
            if let Err(why) = check_copied(name) {
                let path = format!("copy_headers.{index}");
                complaints.push(Complaint::new(path, why.to_string()));
            }
        }
        let timeout = self.timeout.0.0;
        if timeout < Duration::from_millis(100) || timeout > TIMEOUT_MAX {
            let complaint = Complaint::new("timeout", format!("{} is out of bounds", self.timeout));
            complaints.push(complaint.remedy("write a span from 100ms to 1m"));
        }
        complaints
    }
}

/// Returns whether the authority may bring this field: none that frames or routes the request.
pub(crate) fn check_copied(name: &str) -> Result<HeaderName, BadCopiedField> {
    let field = HeaderName::try_from(name).map_err(|why| BadCopiedField::Name(name.into(), why))?;
    let ours = [HOST, CONTENT_LENGTH, CONNECTION, TRANSFER_ENCODING, UPGRADE, VIA];
    if ours.contains(&field) || field.as_str().starts_with("x-forwarded-") {
        return Err(BadCopiedField::Ours(name.into()));
    }
    if field.as_str().contains('_') {
        return Err(BadCopiedField::Underscore(name.into()));
    }
    Ok(field)
}

impl fmt::Display for BadAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(why) => why.fmt(f),
            Self::Unsuitable(status) => write!(f, "{status} is no answer to give here"),
            Self::Url(why) => why.fmt(f),
            Self::NowhereToGo(redirect) => write!(f, "{redirect:?} is no URL to go to"),
            Self::Field(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for BadAnswer {}

impl fmt::Display for BadVerifyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(url, why) => write!(f, "{url:?}: {why}"),
            Self::NotWhole(url) => write!(f, "{url:?} is no whole URL"),
            Self::Origin(url, why) => write!(f, "{url:?}: {why}"),
        }
    }
}

impl std::error::Error for BadVerifyUrl {}

impl fmt::Display for BadCopiedField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name, why) => write!(f, "{name:?} is no field: {why}"),
            Self::Ours(name) => write!(f, "{name:?} is ours to write"),
            Self::Underscore(name) => {
                write!(f, "{name:?}: fields with an underscore go no further")
            }
        }
    }
}

impl std::error::Error for BadCopiedField {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_answers_that_can_be_given_are_taken() {
        let to = |url: &str| AnswerSettings::Elsewhere(BlockRedirect { redirect: url.into() });
        for right in [to("https://www.example/gone"), to("/"), AnswerSettings::Status(410)] {
            assert!(right.compile().is_ok(), "{right:?}");
        }
        for wrong in [to(""), to("javascript:x"), to("a b"), AnswerSettings::Status(200)] {
            assert!(wrong.compile().is_err(), "{wrong:?}");
        }
    }
}
