//! The owner's block page: its slots, and the answer with them filled in.
//!
//! Values are escaped for where they stand: in HTML, or in a URL. The page may have styles and
//! pictures of its own inside it, and no script: it is shown under the blocked name. Called by
//! `page`; [`check`] by whoever reads the settings.

use http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, HeaderValue, LOCATION};
use http::{Response, StatusCode};
use http_engine::authority::host_of_url;
use http_engine::html::{self, fill};
use http_engine::{Body, reply};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use policy::BlockPage;
use vocab::{Complaint, DomainName};

/// Longest text in braces that is taken for a slot's name, in bytes: more than any has.
const NAME_BYTES_MAX: usize = 16;
const CONTENT_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

/// The values of the slots, as they are.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SlotValues<'v> {
    pub(crate) host: &'v str,
    pub(crate) url: &'v str,
    pub(crate) rule: &'v str,
    pub(crate) list: &'v str,
    pub(crate) line: &'v str,
    pub(crate) reason: &'v str,
    pub(crate) client: &'v str,
    pub(crate) profile: &'v str,
    pub(crate) door: &'v str,
    pub(crate) id: &'v str,
    pub(crate) time: &'v str,
}

impl<'v> SlotValues<'v> {
    /// Each value with its slot, which stands in two braces in a page, and in one in a URL.
    const fn named(&self) -> [(&'static str, &'v str); 11] {
        [
            ("host", self.host),
            ("url", self.url),
            ("rule", self.rule),
            ("list", self.list),
            ("line", self.line),
            ("reason", self.reason),
            ("client", self.client),
            ("profile", self.profile),
            ("door", self.door),
            ("id", self.id),
            ("time", self.time),
        ]
    }
}

/// The answer in place of a blocked page of `host`. None for a redirect that would lead back here.
pub(crate) fn answer(
    page: &BlockPage,
    host: &DomainName,
    values: &SlotValues<'_>,
) -> Option<Response<Body>> {
    match page {
        BlockPage::Html(template) => {
            let safe = values.named().map(|(slot, text)| (slot, html::escape(text)));
            let slots: Vec<_> = safe.iter().map(|(slot, text)| (*slot, text.as_str())).collect();
            let content = fill(template, &slots);
            let mut response = html::page(StatusCode::FORBIDDEN, "", "");
            let fields = response.headers_mut();
            fields.insert(CONTENT_LENGTH, HeaderValue::from(content.len()));
            fields.insert(CONTENT_SECURITY_POLICY, CONTENT_POLICY);
            *response.body_mut() = Body::from(content);
            Some(response)
        }
        BlockPage::Redirect(url) => {
            let target = host_of_url(url).and_then(|target| DomainName::parse(target).ok());
            if target.is_some_and(|target| host.as_name().is_at_or_below(target.as_name())) {
                return None;
            }
            let location = HeaderValue::try_from(filled_url(url, values)).ok()?;
            let mut response = reply::empty(StatusCode::FOUND);
            response.headers_mut().insert(LOCATION, location);
            response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
            Some(response)
        }
    }
}

/// The URL with the values in its slots, percent-encoded.
fn filled_url(url: &str, values: &SlotValues<'_>) -> String {
    let mut filled = url.to_owned();
    for (slot, text) in values.named() {
        let marker = format!("{{{slot}}}");
        if filled.contains(&marker) {
            let text = utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
            filled = filled.replace(&marker, &text);
        }
    }
    filled
}

/// Everything that is wrong with the owner's page: slots that do not exist, a URL that leads
/// nowhere. Paths are relative to the setting.
pub fn check(page: &BlockPage) -> Vec<Complaint> {
    let (text, open, close) = match page {
        BlockPage::Html(text) => (text, "{{", "}}"),
        BlockPage::Redirect(text) => (text, "{", "}"),
    };
    let slots = SlotValues::default().named().map(|(slot, _)| slot);
    let mut complaints = Vec::new();
    for part in text.split(open).skip(1) {
        // What is no name between braces is a style sheet's, or the page's own.
        let name = part.split_once(close).map(|(name, _)| name).filter(|name| {
            name.len() <= NAME_BYTES_MAX && name.bytes().all(|it| it.is_ascii_lowercase())
        });
        if let Some(name) = name.filter(|name| !slots.contains(name)) {
            complaints.push(
                Complaint::new("", format!("{open}{name}{close} is no slot of a block page"))
                    .remedy(format!("write one of {}", slots.join(", "))),
            );
        }
    }
    if let BlockPage::Redirect(url) = page {
        let is_whole = host_of_url(url).is_some_and(|host| !host.contains('{'))
            && url.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_whole {
            let complaint = Complaint::new("", format!("{url:?} leads nowhere"));
            complaints
                .push(complaint.remedy("write it as https://intranet.example/blocked?{host}"));
        }
    }
    complaints
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use http::header::CONTENT_TYPE;

    fn values<'v>(host: &'v str, url: &'v str) -> SlotValues<'v> {
        SlotValues { host, url, rule: "<b>", ..SlotValues::default() }
    }

    fn host(text: &str) -> DomainName {
        DomainName::parse(text).unwrap()
    }

    #[test]
    fn values_are_escaped_in_html_and_in_urls() {
        let page = BlockPage::Html("<h1>{{host}}</h1><p>{{rule}}".into());
        let answer = answer(&page, &host("a.test"), &values("a.test", "x")).unwrap();
        assert_eq!(answer.status(), 403);
        assert_eq!(answer.headers()[CONTENT_TYPE], "text/html; charset=utf-8");
        let length: usize = answer.headers()[CONTENT_LENGTH].to_str().unwrap().parse().unwrap();
        assert_eq!(length, "<h1>a.test</h1><p>&lt;b&gt;".len());
        let redirect = BlockPage::Redirect("https://in.test/?h={host}&u={url}".into());
        let url = "http://a.test/?x=1&y";
        let answer = super::answer(&redirect, &host("a.test"), &values("a.test", url)).unwrap();
        assert_eq!(answer.status(), 302);
        assert_eq!(
            answer.headers()[LOCATION],
            "https://in.test/?h=a%2Etest&u=http%3A%2F%2Fa%2Etest%2F%3Fx%3D1%26y"
        );
    }

    #[test]
    fn a_redirect_never_leads_back_to_a_blocked_name() {
        let redirect = BlockPage::Redirect("https://in.test/?h={host}".into());
        for name in ["in.test", "www.in.test"] {
            assert!(answer(&redirect, &host(name), &values(name, "x")).is_none());
        }
    }

    #[test]
    fn slots_that_do_not_exist_are_told_and_styles_are_not() {
        let html = |text: &str| check(&BlockPage::Html(text.into()));
        assert_eq!(html("<style>p{color:red}</style>{{host}} {{ x }}"), []);
        assert!(html("{{hots}}")[0].message.starts_with("{{hots}} is no slot"));
        let url = |text: &str| check(&BlockPage::Redirect(text.into()));
        assert_eq!(url("https://in.test/b?{host}"), []);
        for wrong in ["https://", "https://{host}/", "https://in.test/{wrong}", "http://a b/"] {
            assert_eq!(url(wrong).len(), 1, "{wrong}");
        }
    }
}
