//! The page on which people let a blocked name through; block pages lead here.
//!
//! A GET changes nothing and a POST needs the session, our own origin and the one-time token of the
//! form. The way back is a link, never a redirect. It runs no script. Routed by [`crate::Admin`].

mod show;

pub(crate) use show::go_on;

use crate::api::audited::{AuditedDeed, DeedActor, record_deed};
use crate::api::overrides::{self, ended, ordered};
use crate::api::{ApiRequest, ApiState};
use crate::control::{OverrideKey, WhyQuestion};
use crate::gate::session_of;
use crate::refused::ApiRefusal;
use accounts::UserRole;
use admin_api::{OverrideInfo, OverrideMinutes, OverrideRequest, WhyAnswer};
use axum::Form;
use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION};
use http::{HeaderMap, StatusCode, Uri};
use http_engine::html::STYLE;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use policy::OverrideClients;
use serde::Deserialize;
use serde_json::json;
use std::net::IpAddr;
use std::sync::Arc;
use vocab::{Action, DomainName, Door, RequestKind};

/// Longest address of a page to go back to, in bytes.
const RETURN_URL_BYTES_MAX: usize = 2048;

/// Holds what the address of the page says.
#[derive(Debug, Deserialize)]
pub(crate) struct AllowPageQuery {
    host: String,
    #[serde(default)]
    client: String,
    #[serde(default)]
    back: String,
    /// Mark of a page that was gone to from ourselves.
    #[serde(default)]
    again: String,
    /// Mark of a wrong token that was just sent.
    #[serde(default)]
    wrong: String,
}

/// Holds what its form sends.
#[derive(Debug, Deserialize)]
pub(crate) struct AllowPageForm {
    host: String,
    client: String,
    back: String,
    once: String,
    /// `client` or `all`; for all if left out, as where no client is known.
    #[serde(default)]
    whom: String,
    /// `5`, `60`, `always` or `end`.
    act: String,
}

impl AllowPageForm {
    fn for_audit(&self) -> serde_json::Value {
        let (host, client) = (&self.host, &self.client);
        let (whom, act) = (&self.whom, &self.act);
        accounts::redacted(&json!({ "host": host, "client": client, "whom": whom, "act": act }))
    }
}

/// Holds what is wished for, checked.
pub(crate) struct AllowPage {
    host: DomainName,
    client: Option<IpAddr>,
    /// The page that was blocked: an `http` or `https` URL; none if it is another thing.
    return_url: Option<String>,
}

impl AllowPage {
    fn read(host: &str, client: &str, back: &str) -> Result<Self, ApiRefusal> {
        let (host, client) = (overrides::host(host)?, overrides::client(Some(client))?);
        Ok(Self { host, client, return_url: parse_return_url(back) })
    }

    /// The page's own address.
    fn address(&self) -> String {
        let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        format!(
            "/allow?host={}&client={}&back={}&again=1",
            encoded(self.host.as_str()),
            encoded(&self.client.map(|it| it.to_string()).unwrap_or_default()),
            encoded(self.return_url.as_deref().unwrap_or_default()),
        )
    }

    /// Returns what its token is for.
    fn purpose(&self) -> String {
        format!("{} {:?}", self.host, self.client)
    }
}

/// The page. Changes nothing.
pub(crate) async fn show(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
    headers: HeaderMap,
    words: Result<Query<AllowPageQuery>, QueryRejection>,
) -> Response {
    let read = words.map_err(ApiRefusal::from).and_then(|Query(words)| {
        AllowPage::read(&words.host, &words.client, &words.back).map(|wish| (wish, words))
    });
    let (wish, words) = match read {
        Ok(read) => read,
        Err(refused) => return show::refused(&refused),
    };
    if app.gate.check_pass(&headers, asked).is_err() {
        // A strict cookie does not come along from another site's page: go here once more from
        // here.
        return if words.again.is_empty() {
            show::redirect_to_self(&wish)
        } else {
            let why = if words.wrong.is_empty() {
                show::LoginReason::First
            } else {
                show::LoginReason::Wrong
            };
            show::login(&wish, why, login_way(&app))
        };
    }
    match state(&app, &wish, asked).await {
        Ok((why, passing)) => match app.once.issue(
            session_of(&headers, asked.scheme).unwrap_or_default(),
            &wish.purpose(),
            asked.now,
        ) {
            Ok(once) => show::state(&wish, &why, passing.as_ref(), &once),
            Err(why) => show::refused(&ApiRefusal::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                why.to_string(),
                "look at the system's random number generator, then try again",
            )),
        },
        Err(refused) => show::refused(&refused),
    }
}

/// Returns what its form asks for, done; then the page again.
pub(crate) async fn act(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
    headers: HeaderMap,
    sent: Result<Form<AllowPageForm>, FormRejection>,
) -> Response {
    let caller = match app.gate.check_pass(&headers, asked) {
        Ok(caller) => caller,
        Err(refused) => return show::refused(&refused),
    };
    let body = sent.as_ref().ok().map(|Form(sent)| sent.for_audit());
    let done = match caller.require(UserRole::Operator) {
        Ok(()) => handle_form(&app, asked, &headers, sent).await,
        Err(refused) => Err(refused),
    };
    let deed = AuditedDeed { action: "POST /allow".into(), who: DeedActor::Known(&caller), body };
    record_deed(&app, asked, deed, done.as_ref().map(drop)).await;
    match done {
        Ok(wish) => (StatusCode::SEE_OTHER, [(LOCATION, wish.address())]).into_response(),
        Err(refused) => show::refused(&refused),
    }
}

async fn handle_form(
    app: &Arc<ApiState>,
    asked: ApiRequest,
    headers: &HeaderMap,
    sent: Result<Form<AllowPageForm>, FormRejection>,
) -> Result<AllowPage, ApiRefusal> {
    let Form(sent) = sent.map_err(|why| {
        ApiRefusal::new(why.status(), why.body_text(), "send the form of the page as it is")
    })?;
    let wish = AllowPage::read(&sent.host, &sent.client, &sent.back)?;
    let session = session_of(headers, asked.scheme).unwrap_or_default();
    if !app.once.redeem(&sent.once, session, &wish.purpose(), asked.now) {
        return Err(ApiRefusal::new(
            StatusCode::FORBIDDEN,
            "this form was sent already, or stood open for too long",
            "open the page again from the block page",
        ));
    }
    let client = wish.client.filter(|_| sent.whom == "client");
    if sent.act == "end" {
        let clients = client.map_or(OverrideClients::Everyone, OverrideClients::Address);
        let key = OverrideKey { action: Action::Pass, host: Some(wish.host.clone()), clients };
        ended(app, key, asked.now).await?;
        return Ok(wish);
    }
    let minutes = sent
        .act
        .parse()
        .map_or_else(|_| OverrideMinutes::Word(sent.act.clone()), OverrideMinutes::Count);
    let client = client.map(|it| it.to_string());
    let host = wish.host.to_string();
    let request = OverrideRequest { host, minutes, client, profile: None };
    ordered(app, overrides::parse_order(Action::Pass, &request, asked.now)?, asked.now).await?;
    Ok(wish)
}

fn login_way(app: &ApiState) -> show::LoginWay {
    match app.gate.credentials.users.passwords() {
        Some(_) => show::LoginWay::Password,
        None => show::LoginWay::Token,
    }
}

/// The style sheet of the page.
pub(crate) async fn style() -> Response {
    let fields = [(CONTENT_TYPE, "text/css; charset=utf-8"), (CACHE_CONTROL, "no-cache")];
    (fields, [STYLE, include_str!("page/allow.css")].concat()).into_response()
}

/// Returns what the policy says of the name now, and the leave that lets it through, if one does:
/// the client's own before that for all.
async fn state(
    app: &Arc<ApiState>,
    wish: &AllowPage,
    asked: ApiRequest,
) -> Result<(WhyAnswer, Option<OverrideInfo>), ApiRefusal> {
    let question = WhyQuestion {
        host: wish.host.clone(),
        url: wish.return_url.clone(),
        client: wish.client.unwrap_or(asked.client),
        kind: RequestKind::Document,
        door: Door::Pixel,
        page: None,
    };
    let why = app.ask(move |app| app.control.why(&question, asked.now)).await?;
    let allows = overrides::held(app, Action::Pass, asked.now).await?;
    let own = wish.client.map(|client| client.to_string());
    let mut of_host =
        allows.into_iter().filter(|it| it.host == wish.host.as_str() && it.profile.is_none());
    let passing = of_host
        .clone()
        .find(|it| it.client.is_some() && it.client == own)
        .or_else(|| of_host.find(|it| it.client.is_none()));
    Ok((why, passing))
}

/// A page to go back to, if it is one of the web.
fn parse_return_url(text: &str) -> Option<String> {
    let uri: Uri = text.parse().ok().filter(|_| text.len() <= RETURN_URL_BYTES_MAX)?;
    let web = matches!(uri.scheme_str(), Some("http" | "https"));
    let host = uri.host().is_some_and(|host| !host.is_empty());
    // Whoever has a password in an address means to be taken for another.
    let plain = uri.authority().is_some_and(|it| !it.as_str().contains('@'));
    (web && host && plain).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_of_the_web_are_gone_back_to() {
        for good in ["http://shop.example/", "https://shop.example:8443/a?b=c%20d"] {
            assert_eq!(parse_return_url(good).as_deref(), Some(good));
        }
        let long = format!("http://shop.example/{}", "a".repeat(RETURN_URL_BYTES_MAX));
        for bad in [
            "",
            "/allow",
            "javascript:alert(1)",
            "data:text/html,x",
            "ftp://shop.example/",
            "https://user:word@shop.example/",
            "https:///x",
            &long,
        ] {
            assert_eq!(parse_return_url(bad), None, "{bad}");
        }
    }
}
