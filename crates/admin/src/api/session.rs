//! Logging in and out.

use super::{ApiRequest, ApiState};
use crate::gate::host_field;
use crate::model::{ApiProblem, LoginRequest};
use crate::refused::ApiRefusal;
use crate::sender::RequestOrigin;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, LOCATION, SET_COOKIE};
use http::{HeaderMap, StatusCode};
use percent_encoding::percent_decode_str;
use std::sync::Arc;

/// The sign-in page that says that a link's token is not this Tidegate's: the dashboard knows the
/// word.
const STALE_LINK: &str = "/#stale-link";

/// Begins a session: sets its cookie, which no script can read. Takes JSON (answered with 204) or
/// a form (answered by going to the dashboard).
#[utoipa::path(post, path = "/login", security(()), request_body(content(
    (LoginRequest = "application/json"), (LoginRequest = "application/x-www-form-urlencoded")
)), responses(
    (status = 204, description = "Logged in"), (status = 303, description = "Logged in by a form"),
    (status = 400, body = ApiProblem), (status = 401, body = ApiProblem), (status = 429, body = ApiProblem)
))]
pub(crate) async fn login(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, ApiRefusal> {
    let media_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let is_form =
        media_type.is_some_and(|text| text.starts_with("application/x-www-form-urlencoded"));
    let next = if is_form { return_page(&String::from_utf8_lossy(&body)) } else { None };
    let token = if is_form {
        form_token(&String::from_utf8_lossy(&body))
    } else {
        serde_json::from_slice(&body).ok().map(|LoginRequest { token }| token)
    };
    let token = token.ok_or_else(|| {
        ApiRefusal::new(StatusCode::BAD_REQUEST, "no token was sent", "send {\"token\": \"…\"}")
    })?;
    let sender = RequestOrigin::of(&headers, host_field(&headers));
    match (cookie(&app, token, asked, sender).await, next) {
        (Ok(cookie), Some(next)) => {
            Ok((StatusCode::SEE_OTHER, [(LOCATION, next), (SET_COOKIE, cookie)]).into_response())
        }
        (Ok(cookie), None) if is_form => Ok(to_dashboard(&cookie)),
        (Ok(cookie), None) => Ok(forget_or_keep(&cookie)),
        // People are shown the page again, which says so.
        (Err(refused), Some(next)) if refused.status == StatusCode::UNAUTHORIZED => {
            Ok((StatusCode::SEE_OTHER, [(LOCATION, format!("{next}&wrong=1"))]).into_response())
        }
        (Err(refused), _) => Err(refused),
    }
}

/// Ends the session.
#[utoipa::path(post, path = "/logout", security(()), responses(
    (status = 204, description = "Logged out"), (status = 403, body = ApiProblem)
))]
pub(crate) async fn logout(
    State(app): State<Arc<ApiState>>,
    headers: HeaderMap,
) -> Result<Response, ApiRefusal> {
    let cookie = app.ask(move |app| app.gate.end_session(&headers)).await?;
    Ok(forget_or_keep(&cookie))
}

/// `/?token=…`, the address that `tidegate run` prints: logs in and goes on to the dashboard
/// without the token in the address. A person whose link is stale is shown the sign-in page, which
/// says so.
pub(crate) async fn by_address(
    app: &Arc<ApiState>,
    query: &str,
    headers: &HeaderMap,
    asked: ApiRequest,
) -> Option<Response> {
    let token = form_token(query)?;
    let sender = RequestOrigin::of(headers, host_field(headers));
    Some(match cookie(app, token, asked, sender).await {
        Ok(cookie) => to_dashboard(&cookie),
        Err(_) if sender != RequestOrigin::Embedded && reads_pages(headers) => {
            (StatusCode::SEE_OTHER, [(LOCATION, STALE_LINK)]).into_response()
        }
        Err(refused) => refused.into_response(),
    })
}

/// True for a browser that would show a page to a person; programs want JSON.
fn reads_pages(headers: &HeaderMap) -> bool {
    let accept = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok());
    accept.is_some_and(|accept| accept.contains("text/html"))
}

async fn cookie(
    app: &Arc<ApiState>,
    token: String,
    asked: ApiRequest,
    sender: RequestOrigin,
) -> Result<String, ApiRefusal> {
    app.gate.check_token(token.trim(), asked.client, sender, asked.now)?;
    app.ask(move |app| app.gate.open_session(asked.now)).await?.map_err(|error| {
        let remedy = "look at the system's random number generator, then try again";
        ApiRefusal::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string(), remedy)
    })
}

fn to_dashboard(cookie: &str) -> Response {
    (StatusCode::SEE_OTHER, [(LOCATION, "/"), (SET_COOKIE, cookie)]).into_response()
}

fn forget_or_keep(cookie: &str) -> Response {
    (StatusCode::NO_CONTENT, [(SET_COOKIE, cookie)]).into_response()
}

/// The page to go on to after logging in by its form: one of ours, and no other site's.
fn return_page(words: &str) -> Option<String> {
    let word = words.split('&').find_map(|word| word.strip_prefix("next="))?;
    let page = percent_decode_str(word).decode_utf8().ok()?;
    let ours = page.starts_with("/allow?") && page.bytes().all(|byte| byte.is_ascii_graphic());
    ours.then(|| page.into_owned())
}

/// The word `token` of a form or a query. A token holds nothing that is written with escapes.
fn form_token(words: &str) -> Option<String> {
    words.split('&').find_map(|word| word.strip_prefix("token=")).map(str::to_owned)
}
