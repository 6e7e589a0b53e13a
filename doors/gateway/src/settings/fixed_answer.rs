//! What can be set about answers that a route gives by itself.
//!
//! Plain data. Read as part of a route.

use super::RouteSettings;
use bytes::Bytes;
use http::{HeaderValue, StatusCode};
use route_matching::{
    EncodedSlash, HostPattern, LocationGroups, LocationTemplate, MatchExpression, PathPattern,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vocab::Complaint;

/// What a fixed answer may say, in bytes: more belongs into a file.
const BODY_BYTES_MAX: usize = 64 << 10;
/// Another place for what was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RedirectSettings {
    /// The place: a URL of http or https, or a path. `{client}`, `{host}`, `{scheme}`, `{path}` and
    /// `{query}` are replaced by those of the request, `{uri}` by path and query with the question
    /// mark between them; `$1`, `${1}` and `${name}` by the groups of the path, `{host.1}` and
    /// `{host.name}` by those of the host: what a star of the route's pattern stands for is a group
    /// too. `{{`, `}}` and `$$` are the signs themselves. No default.
    pub to: String,
    /// A regular expression for the path, percent-decoded, whose groups are meant in place of those
    /// of the route's `path`. Where it finds nothing, the answer is 404. Default none.
    pub from: Option<String>,
    /// The same for the host, in lower case and without a port, in place of the route's `host`.
    /// Default none.
    pub from_host: Option<String>,
    /// 301, 302, 303, 307 or 308. Default 302: a permanent one is remembered by browsers for years.
    pub status: u16,
}

/// An answer that is always the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FixedAnswerSettings {
    /// From 200 to 599. Default 200.
    pub status: u16,
    /// The body, up to 64 KiB. Default empty. It must be empty with 204, 205 and 304.
    pub body: String,
    /// `Content-Type`. Default `text/plain; charset=utf-8`.
    #[serde(rename = "type")]
    pub media: String,
}

/// Tells what a route answers.
#[derive(Clone, Debug)]
pub(crate) enum FixedAnswer {
    /// Is elsewhere.
    Redirect(RedirectTarget),
    Fixed {
        status: StatusCode,
        media: HeaderValue,
        body: Bytes,
    },
    /// An empty script to whoever wants a script, a transparent picture to whoever wants one.
    Null,
}

/// Another place, and the patterns whose groups it names.
#[derive(Clone, Debug)]
pub(crate) struct RedirectTarget {
    pub(crate) to: LocationTemplate,
    pub(crate) path: PathPattern,
    /// None where the route is for any host.
    pub(crate) host: Option<HostPattern>,
    pub(crate) status: StatusCode,
}

impl Default for RedirectSettings {
    fn default() -> Self {
        Self { to: String::new(), from: None, from_host: None, status: 302 }
    }
}

impl Default for FixedAnswerSettings {
    fn default() -> Self {
        Self { status: 200, body: String::new(), media: "text/plain; charset=utf-8".into() }
    }
}

impl RedirectSettings {
    /// The place and the status, or what is wrong with them, on a route with these patterns.
    pub(crate) fn compile(
        &self,
        route_path: PathPattern,
        route_host: Option<HostPattern>,
        slashes: EncodedSlash,
    ) -> Result<RedirectTarget, Complaint> {
        let expression = |key: &str, text: &str| {
            MatchExpression::compile(text).map_err(|why| {
                Complaint::new(key, why.to_string())
                    .remedy("write a regular expression, as ^/(.*)$")
            })
        };
        let path = match &self.from {
            Some(text) => PathPattern::Matching(expression("from", text)?),
            None => route_path,
        };
        let host = match &self.from_host {
            Some(text) => Some(HostPattern::Matching(expression("from_host", text)?)),
            None => route_host,
        };
        let groups = LocationGroups {
            path: path.group_names(),
            host: host.as_ref().map(HostPattern::group_names).unwrap_or_default(),
            slashes,
        };
        let to = LocationTemplate::parse(&self.to, &groups)
            .map_err(|why| Complaint::new("to", why.to_string()).remedy(why.remedy()))?;
        match self.status {
            301 | 302 | 303 | 307 | 308 => {}
            status => {
                return Err(Complaint::new("status", format!("{status} leads nowhere else"))
                    .remedy("write 301, 302, 303, 307 or 308"));
            }
        }
        let status = StatusCode::from_u16(self.status);
        let status = status.map_err(|why| Complaint::new("status", why.to_string()))?;
        Ok(RedirectTarget { to, path, host, status })
    }
}

impl FixedAnswerSettings {
    /// The status and the type, or what is wrong with them.
    pub(crate) fn compile(&self) -> Result<(StatusCode, HeaderValue), Complaint> {
        let status = StatusCode::from_u16(self.status).ok();
        let status = status.filter(|status| (200..600).contains(&status.as_u16()));
        let Some(status) = status else {
            let complaint = Complaint::new("status", format!("{} ends no request", self.status));
            return Err(complaint.remedy("write a status from 200 to 599"));
        };
        let is_bodiless = matches!(self.status, 204 | 205 | 304);
        if is_bodiless && !self.body.is_empty() {
            let complaint = Complaint::new("body", format!("a {} says nothing", self.status));
            return Err(complaint.remedy("leave body out, or write another status"));
        }
        if self.body.len() > BODY_BYTES_MAX {
            let complaint = Complaint::new("body", "the answer is over 64 KiB");
            return Err(complaint.remedy("write root: and serve it as a file"));
        }
        let media = HeaderValue::try_from(&self.media)
            .map_err(|_| Complaint::new("type", format!("a field cannot hold {:?}", self.media)))?;
        Ok((status, media))
    }
}

impl RouteSettings {
    /// Returns what the route answers, if it answers by itself. Complaints have
    /// paths relative to the route.
    pub(crate) fn fixed_answer(&self) -> Result<Option<FixedAnswer>, Complaint> {
        if let Some(redirect) = &self.redirect {
            // What is wrong with the patterns is said of the route.
            let path = PathPattern::parse(&self.path, self.slashes()).ok();
            let path = path.unwrap_or_else(|| PathPattern::Exact("/".into()));
            let host = self.host.as_deref().and_then(|it| HostPattern::parse(it).ok());
            let target = redirect.compile(path, host, self.encoded_slash);
            return target
                .map(|it| Some(FixedAnswer::Redirect(it)))
                .map_err(|why| why.under("redirect"));
        }
        if let Some(answer) = &self.answer {
            let (status, media) = answer.compile().map_err(|why| why.under("answer"))?;
            let body = Bytes::copy_from_slice(answer.body.as_bytes());
            return Ok(Some(FixedAnswer::Fixed { status, media, body }));
        }
        Ok(self.null_answer.then_some(FixedAnswer::Null))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The path of the complaint about a redirect of a route for `path` of `*.site.example`.
    fn complaint(redirect: RedirectSettings, path: &str) -> Option<String> {
        let route = RouteSettings {
            path: path.into(),
            host: Some("*.site.example".into()),
            redirect: Some(redirect),
            ..RouteSettings::default()
        };
        route.fixed_answer().err().map(|why| why.path)
    }

    #[test]
    fn a_redirect_leads_somewhere() {
        let check = |to: &str, status: u16| {
            complaint(RedirectSettings { to: to.into(), status, ..Default::default() }, "/*")
        };
        for to in ["https://{host}{uri}", "/new{path}?{query}", "{scheme}://www.example{uri}"] {
            assert_eq!(check(to, 308), None, "{to}");
        }
        for to in ["", "javascript:alert(1)", "www.example", "/{who}", "/a{", "/a\r\nX: y"] {
            assert_eq!(check(to, 302).as_deref(), Some("redirect.to"), "{to:?}");
        }
        assert_eq!(check("/", 304).as_deref(), Some("redirect.status"));
        assert_eq!(check("/", 200).as_deref(), Some("redirect.status"));
    }

    #[test]
    fn a_redirect_names_groups_that_there_are() {
        let check = |from: Option<&str>, to: &str, path: &str| {
            let from = from.map(str::to_owned);
            complaint(RedirectSettings { from, to: to.into(), ..Default::default() }, path)
        };
        assert_eq!(check(None, "/new/$1", "/old/*"), None);
        assert_eq!(check(None, "/new/$2-$1", "/*/old/*"), None);
        assert_eq!(check(None, "https://{host.1}.example/${rest}", "~^/(?<rest>.*)$"), None);
        assert_eq!(check(Some("^/(.)/(.)"), "/$2/$1", "/*"), None);
        let to = Some("redirect.to".to_owned());
        assert_eq!(check(None, "/new/$2", "/old/*"), to);
        assert_eq!(check(None, "/new/$1", "/old"), to);
        assert_eq!(check(None, "https://{host.2}/", "/*"), to);
        assert_eq!(check(None, "https://new.example$1", "~^(.*)$"), to);
        assert_eq!(check(Some("("), "/", "/*").as_deref(), Some("redirect.from"));
    }

    #[test]
    fn a_fixed_answer_is_one() {
        let check = |status: u16, body: &str, media: &str| {
            let settings = FixedAnswerSettings { status, body: body.into(), media: media.into() };
            settings.compile().err().map(|why| why.path)
        };
        assert_eq!(check(503, "later", "text/plain"), None);
        assert_eq!(check(204, "", "text/plain"), None);
        assert_eq!(check(204, "x", "text/plain").as_deref(), Some("body"));
        assert_eq!(check(200, &"x".repeat(BODY_BYTES_MAX + 1), "a/b").as_deref(), Some("body"));
        assert_eq!(check(101, "", "a/b").as_deref(), Some("status"));
        assert_eq!(check(600, "", "a/b").as_deref(), Some("status"));
        assert_eq!(check(200, "x", "a\r\nb").as_deref(), Some("type"));
    }
}
