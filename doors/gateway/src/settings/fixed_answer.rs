//! What can be set about answers that a route gives by itself.
//!
//! Plain data. Read as part of a route.

use super::RouteSettings;
use crate::fields::FieldTemplate;
use bytes::Bytes;
use http::{HeaderValue, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vocab::Complaint;

/// What a fixed answer may say, in bytes: more belongs into a file.
const BODY_BYTES_MAX: usize = 64 << 10;
/// What a place may begin with.
const LOCATION_STARTS: [&str; 6] = ["http://", "https://", "{scheme}://", "/", "{path}", "{uri}"];

/// Another place for what was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RedirectSettings {
    /// The place: a URL of http or https, or a path. `{client}`, `{host}`, `{scheme}`, `{path}` and
    /// `{query}` are replaced by those of the request, `{uri}` by path and query with the question
    /// mark between them; `{{` and `}}` are braces. No default.
    pub to: String,
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
    Redirect {
        to: FieldTemplate,
        status: StatusCode,
    },
    Fixed {
        status: StatusCode,
        media: HeaderValue,
        body: Bytes,
    },
    /// An empty script to whoever wants a script, a transparent picture to whoever wants one.
    Null,
}

impl Default for RedirectSettings {
    fn default() -> Self {
        Self { to: String::new(), status: 302 }
    }
}

impl Default for FixedAnswerSettings {
    fn default() -> Self {
        Self { status: 200, body: String::new(), media: "text/plain; charset=utf-8".into() }
    }
}

impl RedirectSettings {
    /// The place and the status, or what is wrong with them.
    pub(crate) fn compile(&self) -> Result<(FieldTemplate, StatusCode), Complaint> {
        let wrong = |why: String| {
            Complaint::new("to", why).remedy("write to: \"https://{host}{uri}\", or a path")
        };
        if !LOCATION_STARTS.iter().any(|place| self.to.starts_with(place)) {
            return Err(wrong(format!("{:?} is no place to go to", self.to)));
        }
        let to = FieldTemplate::parse(&self.to).map_err(|why| wrong(why.to_string()))?;
        match self.status {
            301 | 302 | 303 | 307 | 308 => {}
            status => {
                return Err(Complaint::new("status", format!("{status} leads nowhere else"))
                    .remedy("write 301, 302, 303, 307 or 308"));
            }
        }
        let status = StatusCode::from_u16(self.status);
        Ok((to, status.map_err(|why| Complaint::new("status", why.to_string()))?))
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
            let (to, status) = redirect.compile().map_err(|why| why.under("redirect"))?;
            return Ok(Some(FixedAnswer::Redirect { to, status }));
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

    #[test]
    fn a_redirect_leads_somewhere() {
        let check = |to: &str, status: u16| {
            let settings = RedirectSettings { to: to.into(), status };
            settings.compile().err().map(|why| why.path)
        };
        for to in ["https://{host}{uri}", "/new{path}?{query}", "{scheme}://www.example{uri}"] {
            assert_eq!(check(to, 308), None, "{to}");
        }
        for to in ["", "javascript:alert(1)", "www.example", "/{who}", "/a{", "/a\r\nX: y"] {
            assert_eq!(check(to, 302).as_deref(), Some("to"), "{to:?}");
        }
        assert_eq!(check("/", 304).as_deref(), Some("status"));
        assert_eq!(check("/", 200).as_deref(), Some("status"));
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
