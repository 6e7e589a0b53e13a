//! Logging in and out.

use super::audited::{AuditedDeed, DeedActor, record_deed};
use super::{ApiRequest, ApiState};
use crate::caller::MASTER_NAME;
use crate::gate::AuthGate;
use crate::refused::ApiRefusal;
use crate::sender::RequestOrigin;
use crate::sign_on_desk::SignOnDesk;
use accounts::{CodeVerdict, SESSION_SECONDS, SessionStart};
use admin_api::{ApiProblem, LoginRequest, SignInOffer};
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, LOCATION, SET_COOKIE, USER_AGENT};
use http::{HeaderMap, StatusCode};
use passwords::BasicCredentials;
use percent_encoding::percent_decode_str;
use std::sync::Arc;
use url::form_urlencoded;

/// The sign-in page that says that a link's token is not this Tidegate's: the dashboard knows the
/// word.
const STALE_LINK: &str = "/#stale-link";

/// Credentials that somebody signs in with.
enum SignIn {
    Token(String),
    Password { shown: BasicCredentials, code: Option<String> },
}

/// Ways to sign in that there are.
#[utoipa::path(get, path = "/api/sign-in", security(()), responses((status = 200, body = SignInOffer)))]
pub(crate) async fn sign_in_offer(State(app): State<Arc<ApiState>>) -> Json<SignInOffer> {
    let users = app.gate.credentials.users.passwords().is_some();
    let single_sign_on = app.sign_on.as_ref().map(SignOnDesk::offer);
    Json(SignInOffer { users, single_sign_on })
}

/// Begins a session: sets its cookie, which no script can read. Takes JSON (answered with 204) or
/// a form (answered by going to the dashboard).
#[utoipa::path(post, path = "/login", security(()), request_body(content(
    (LoginRequest = "application/json"), (LoginRequest = "application/x-www-form-urlencoded")
)), responses(
    (status = 204, description = "Logged in"), (status = 303, description = "Logged in by a form"),
    (status = 400, body = ApiProblem),
    (status = 401, body = ApiProblem, description = "With `needs` where a code is missing or wrong"),
    (status = 429, body = ApiProblem)
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
    let sent = if is_form {
        Some(read_form(&body))
    } else {
        serde_json::from_slice::<LoginRequest>(&body).ok()
    };
    let sign_in = sent.and_then(sign_in_of).ok_or_else(|| {
        let remedy = r#"send {"user": "…", "password": "…"} or {"token": "…"}"#;
        ApiRefusal::new(StatusCode::BAD_REQUEST, "no token and no password was sent", remedy)
    })?;
    match (signed_in(&app, sign_in, asked, &headers).await, next) {
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
    asked: ApiRequest,
    headers: HeaderMap,
) -> Result<Response, ApiRefusal> {
    if let Ok(caller) = app.gate.check_pass(&headers, asked) {
        let who = DeedActor::Known(&caller);
        let deed = AuditedDeed { action: "POST /logout".into(), who, body: None };
        record_deed(&app, asked, deed, Ok(())).await;
    }
    let cookie = app.ask(move |app| app.gate.end_session(&headers, asked.scheme)).await?;
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
    Some(match signed_in(app, SignIn::Token(token), asked, headers).await {
        Ok(cookie) => to_dashboard(&cookie),
        Err(_) if asked.sender != RequestOrigin::Embedded && reads_pages(headers) => {
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

/// Begins a session and gives its cookie. Whatever comes of it is written down.
async fn signed_in(
    app: &Arc<ApiState>,
    sign_in: SignIn,
    asked: ApiRequest,
    headers: &HeaderMap,
) -> Result<String, ApiRefusal> {
    let who = match &sign_in {
        SignIn::Token(_) => MASTER_NAME.into(),
        SignIn::Password { shown, .. } => shown.user.clone(),
    };
    let user = match checked(app, sign_in, asked).await {
        Ok(user) => user,
        Err(refused) => {
            let who = DeedActor::Tried(&who);
            record_deed(app, asked, login_of(who), Err(&refused)).await;
            return Err(refused);
        }
    };
    let id = begin_session(app, user, SESSION_SECONDS, asked, headers).await?;
    if let Some(caller) = app.gate.credentials.session(&id, asked.now) {
        record_deed(app, asked, login_of(DeedActor::Known(&caller)), Ok(())).await;
    }
    Ok(AuthGate::cookie(&id, SESSION_SECONDS, asked.scheme))
}

/// Begins a session of a user, or of the token, and gives its identifier. Writes files.
pub(super) async fn begin_session(
    app: &Arc<ApiState>,
    user: Option<String>,
    life_s: u64,
    asked: ApiRequest,
    headers: &HeaderMap,
) -> Result<String, ApiRefusal> {
    let agent = headers.get(USER_AGENT).map(|agent| String::from_utf8_lossy(agent.as_bytes()));
    let start = SessionStart {
        user,
        client: asked.client.to_string(),
        agent: agent.unwrap_or_default().into_owned(),
        life_s,
    };
    let begin = move |app: &ApiState| {
        if let Some(user) = &start.user {
            // On a full disk nobody is kept from signing in.
            let _ = app.gate.credentials.users.note_sign_in(user, asked.now);
        }
        app.gate.credentials.sessions.start(start, asked.now)
    };
    app.ask(begin).await?.map_err(|error| {
        let remedy = "look at the system's random number generator, then try again";
        ApiRefusal::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string(), remedy)
    })
}

fn login_of(who: DeedActor<'_>) -> AuditedDeed<'_> {
    AuditedDeed { action: "POST /login".into(), who, body: None }
}

/// The user who signs in; none for who has the token.
async fn checked(
    app: &Arc<ApiState>,
    sign_in: SignIn,
    asked: ApiRequest,
) -> Result<Option<String>, ApiRefusal> {
    let credentials = &app.gate.credentials;
    match sign_in {
        SignIn::Token(token) => {
            credentials.check_token(token.trim(), asked)?;
            Ok(None)
        }
        SignIn::Password { shown, code } => {
            let user = credentials.check_password(shown, asked).await?;
            let name = user.name.clone();
            let judge = move |app: &ApiState| {
                app.gate.credentials.users.check_code(&name, code.as_deref(), asked.now)
            };
            match app.ask(judge).await?? {
                CodeVerdict::NotNeeded | CodeVerdict::Accepted => Ok(Some(user.name)),
                CodeVerdict::Missing => {
                    Err(code_wanted("the code of the authenticator is missing"))
                }
                CodeVerdict::TooMany => {
                    let remedy = "wait a minute; or sign in with the text of admin.token in the \
                                  state folder";
                    let status = StatusCode::TOO_MANY_REQUESTS;
                    Err(ApiRefusal::new(status, "too many wrong codes", remedy))
                }
                CodeVerdict::Wrong => {
                    credentials.note_wrong_code(asked);
                    Err(code_wanted("this code is wrong, or was used already"))
                }
            }
        }
    }
}

fn code_wanted(error: &str) -> ApiRefusal {
    let remedy = "send `code` too: six digits of the authenticator, or a recovery code";
    let mut refused = ApiRefusal::new(StatusCode::UNAUTHORIZED, error, remedy);
    refused.problem.needs = Some("code".into());
    refused
}

/// Credentials that a login sends, if they are enough.
fn sign_in_of(sent: LoginRequest) -> Option<SignIn> {
    let filled = |text: Option<String>| text.filter(|it| !it.is_empty());
    match (filled(sent.user), filled(sent.password), filled(sent.token)) {
        (Some(user), Some(password), _) => {
            let shown = BasicCredentials { user, password: password.into_bytes() };
            Some(SignIn::Password { shown, code: filled(sent.code) })
        }
        (_, _, Some(token)) => Some(SignIn::Token(token)),
        _ => None,
    }
}

fn read_form(body: &[u8]) -> LoginRequest {
    let mut sent = LoginRequest::default();
    for (name, value) in form_urlencoded::parse(body) {
        let field = match &*name {
            "token" => &mut sent.token,
            "user" => &mut sent.user,
            "password" => &mut sent.password,
            "code" => &mut sent.code,
            _ => continue,
        };
        *field = Some(value.into_owned());
    }
    sent
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

/// The word `token` of a query. A token holds nothing that is written with escapes.
fn form_token(words: &str) -> Option<String> {
    words.split('&').find_map(|word| word.strip_prefix("token=")).map(str::to_owned)
}
