//! Looks of the page: every text from outside escaped, no script, nothing from elsewhere.
//!
//! It decides nothing. Called by [`super`] alone.

use super::AllowPage;
use crate::api::overrides::rule;
use crate::refused::ApiRefusal;
use admin_api::{OverrideInfo, WhyAnswer};
use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY};
use http::{StatusCode, Uri};
use http_engine::html::{FRAME, escape, fill};

const CHOOSE: &str = include_str!("choose.html");
const ALLOW_FORM_HTML: &str = include_str!("whom.html");
const ALREADY_ALLOWED_HTML: &str = include_str!("passing.html");
const RULE: &str = include_str!("rule.html");
const MESSAGE_HTML: &str = include_str!("told.html");
const LOGIN: &str = include_str!("login.html");
const CONTINUE_HTML: &str = include_str!("onward.html");

/// Powers of the page: our style sheet, its own pictures, and its form, which goes to us.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; \
                      base-uri 'none'; frame-ancestors 'none'";
const LINK: &str = "<link rel=\"stylesheet\" href=\"/allow.css\">";

/// Text about the token, and the fields.
const TOKEN_LEAD: &str = "Whoever runs this network may. The token is the text of \
                          <code>admin.token</code> in the state folder.";
const TOKEN_FIELDS: &str = include_str!("token_fields.html");
const PASSWORD_FIELDS: &str = include_str!("password_fields.html");

/// Credentials that the page asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LoginWay {
    /// The token, where there are no users.
    Token,
    /// A user's name and password, with a code if need be; or the token.
    Password,
}

/// Why the page asks for credentials.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LoginReason {
    /// There is no session.
    First,
    /// Wrong ones were sent.
    Wrong,
}

/// The name as it stands now: what lets it through, or what blocks it with the ways to let it.
pub(super) fn state(
    wish: &AllowPage,
    why: &WhyAnswer,
    passing: Option<&OverrideInfo>,
    once: &str,
) -> Response {
    if let Some(allow) = passing {
        return already_allowed_page(wish, allow, once);
    }
    if why.action == "pass" {
        let title = format!("{} is not blocked", wish.host);
        let text = format!("{}.", why.summary);
        return message_page(StatusCode::OK, "Not blocked", &title, &text, &return_link(wish));
    }
    let law = why.rule.as_ref().map_or_else(String::new, |rule| {
        format!(
            "<div class=\"law\"><code>{}</code><p>List <b>{}</b>, line <b>{}</b></p></div>",
            escape(&rule.text),
            escape(&rule.list),
            rule.line
        )
    });
    let client = shown(wish);
    let whom = match wish.client {
        Some(_) => fill(ALLOW_FORM_HTML, &[("client", &client)]),
        None => String::new(),
    };
    let content = fill(
        CHOOSE,
        &[
            ("host", &escape(wish.host.as_str())),
            ("law", &law),
            ("client", &client),
            ("back", &escape(wish.return_url.as_deref().unwrap_or_default())),
            ("once", once),
            ("whom", &whom),
            ("onward", ""),
        ],
    );
    page(StatusCode::OK, &format!("Let {} through?", wish.host), &content)
}

fn already_allowed_page(wish: &AllowPage, allow: &OverrideInfo, once: &str) -> Response {
    let client = shown(wish);
    let (who, whom) = match &allow.client {
        Some(client) => (escape(client), "client"),
        None => ("everybody".to_owned(), "all"),
    };
    let content = fill(
        ALREADY_ALLOWED_HTML,
        &[
            ("host", &escape(wish.host.as_str())),
            ("who", &who),
            ("whom", whom),
            ("end", &end(allow)),
            ("rule", &rule_for(wish, allow)),
            ("client", &client),
            ("back", &escape(wish.return_url.as_deref().unwrap_or_default())),
            ("once", once),
            ("onward", &return_link(wish)),
        ],
    );
    page(StatusCode::OK, &format!("{} passes", wish.host), &content)
}

/// For who is not logged in.
pub(super) fn login(wish: &AllowPage, why: LoginReason, way: LoginWay) -> Response {
    let (lead, fields, problem) = match way {
        LoginWay::Token => (TOKEN_LEAD, TOKEN_FIELDS, "That is not the token."),
        LoginWay::Password => (
            "Whoever runs this network may.",
            PASSWORD_FIELDS,
            "The name, the password or the code is wrong.",
        ),
    };
    let wrong = match why {
        LoginReason::First => String::new(),
        LoginReason::Wrong => format!("<p class=\"wrong\">{problem}</p>"),
    };
    let slots = [
        ("host", escape(wish.host.as_str())),
        ("next", escape(&wish.address())),
        ("lead", lead.to_owned()),
        ("fields", fields.to_owned()),
        ("wrong", wrong),
    ];
    let slots = slots.each_ref().map(|(name, text)| (*name, text.as_str()));
    page(StatusCode::UNAUTHORIZED, "Log in", &fill(LOGIN, &slots))
}

/// Goes to the page once more, now from a page of ours, so that the session's cookie comes along.
pub(super) fn redirect_to_self(wish: &AllowPage) -> Response {
    go_on(&wish.address())
}

/// Goes to an address of ours from a page of ours: a redirect would go on in the name of the page
/// that led here, without cookies that are for our own pages.
pub(crate) fn go_on(address: &str) -> Response {
    let address = escape(address);
    let style = format!("{LINK}<meta http-equiv=\"refresh\" content=\"0;url={address}\">");
    let content = format!("<div class=\"text\"><p><a href=\"{address}\">Go on</a></p></div>");
    framed(StatusCode::OK, "Tidegate", &style, &content)
}

/// Returns what was not done, and what to do about it.
pub(super) fn refused(why: &ApiRefusal) -> Response {
    let (error, remedy) = (&why.problem.error, &why.problem.remedy);
    message_page(why.status, "Not done", &sentence(error), &format!("{}.", sentence(remedy)), "")
}

fn message_page(
    status: StatusCode,
    label: &str,
    title: &str,
    text: &str,
    onward: &str,
) -> Response {
    let slots = [
        ("label", escape(label)),
        ("title", escape(title)),
        ("text", escape(text)),
        ("onward", onward.to_owned()),
    ];
    let slots = slots.each_ref().map(|(name, text)| (*name, text.as_str()));
    page(status, title, &fill(MESSAGE_HTML, &slots))
}

fn page(status: StatusCode, title: &str, content: &str) -> Response {
    framed(status, title, LINK, content)
}

fn framed(status: StatusCode, title: &str, style: &str, content: &str) -> Response {
    let slots =
        [("title", escape(title)), ("style", style.to_owned()), ("content", content.to_owned())];
    let slots = slots.each_ref().map(|(name, text)| (*name, text.as_str()));
    let fields = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, POLICY),
        // Under `no-referrer` a browser sends our form with `Origin: null`, which the gate refuses.
        (REFERRER_POLICY, "same-origin"),
    ];
    (status, fields, fill(FRAME, &slots)).into_response()
}

/// The way back, as a link.
fn return_link(wish: &AllowPage) -> String {
    let Some(url) = &wish.return_url else { return String::new() };
    // The host that the link leads to, which need not be the one that is let through.
    let uri = url.parse::<Uri>().ok();
    let host = uri.as_ref().and_then(Uri::host).unwrap_or_default();
    fill(CONTINUE_HTML, &[("url", &escape(url)), ("host", &escape(host))])
}

fn shown(wish: &AllowPage) -> String {
    wish.client.map(|it| it.to_string()).unwrap_or_default()
}

/// When it ends: `until 12:00 UTC: 5 minutes are left`.
fn end(allow: &OverrideInfo) -> String {
    match (&allow.until, allow.left_s) {
        (Some(until), Some(left_s)) => {
            // `2026-11-21T12:00:00.000Z`: the date is today's or tomorrow's.
            format!("until {} UTC: {}", until.get(11..16).unwrap_or(until), time_left(left_s))
        }
        (None, _) | (_, None) => "until it is blocked again".into(),
    }
}

/// Returns what passes always may as well stand in the configuration, where others see it.
fn rule_for(wish: &AllowPage, allow: &OverrideInfo) -> String {
    if allow.until.is_some() {
        return String::new();
    }
    let client = allow.client.as_ref().and_then(|client| client.parse().ok());
    fill(RULE, &[("rule", &escape(&rule(&wish.host, client)))])
}

fn time_left(seconds: u64) -> String {
    match seconds.div_ceil(60) {
        1 => "a minute is left".into(),
        minutes @ 0..=119 => format!("{minutes} minutes are left"),
        minutes => format!("{} hours are left", minutes / 60),
    }
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().collect::<String>() + letters.as_str()
    })
}
