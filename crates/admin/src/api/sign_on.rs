//! Single sign-on: to the provider, and back with a session.
//!
//! A browser that comes back has come from another site, and the session's cookie does not go along
//! with what that site led to: a page of ours goes on to the dashboard. Who fails is led to the
//! sign-in page, which says so; why stands in the audit log.

use super::audited::{AuditedDeed, DeedActor, record_deed};
use super::session::begin_session;
use super::{ApiRequest, ApiState};
use crate::admin_scheme::AdminScheme;
use crate::caller::MASTER_NAME;
use crate::gate::{AuthGate, cookie_of, host_of};
use crate::page;
use crate::refused::ApiRefusal;
use crate::sign_on_desk::{SIGN_ON_PATH, SignOnDesk};
use accounts::{AccountRefusal, SIGN_ON_SESSION_SECONDS, SessionEnd, UserInfo};
use admin_api::ApiProblem;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::{LOCATION, SET_COOKIE};
use http::{HeaderMap, HeaderValue, StatusCode, Uri};
use single_sign_on::{CallbackQuery, SIGN_ON_SECONDS, SignedOnPerson};
use std::sync::Arc;

/// The sign-in page that says that single sign-on failed: the dashboard knows the word.
const FAILED: &str = "/#sign-on-failed";
/// Mark of a browser that was sent to the public address already: whatever stands in front may name
/// us by another host, or speak TLS for us.
const AGAIN: &str = "again=1";

/// Names of the two deeds in the audit log.
const BEGIN: &str = "GET /login/oidc";
const FINISH: &str = "GET /login/oidc/callback";

/// Goes to the provider of single sign-on.
#[utoipa::path(get, path = "/login/oidc", security(()), responses(
    (status = 303, description = "To the provider, or to the sign-in page where it cannot be asked"),
    (status = 404, body = ApiProblem, description = "There is no single sign-on")
))]
pub(crate) async fn begin(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiRefusal> {
    let desk = desk(&app)?;
    if uri.query() != Some(AGAIN) && !is_public(desk, host_of(&uri, &headers), asked.scheme) {
        // The cookie has to be one of the host that the provider leads back to.
        let location = format!("{}{SIGN_ON_PATH}?{AGAIN}", desk.public_origin);
        return Ok((StatusCode::SEE_OTHER, [(LOCATION, location)]).into_response());
    }
    Ok(match desk.begin(asked.client, asked.now).await {
        Ok(start) => {
            let cookie = sign_on_cookie(&start.browser, SIGN_ON_SECONDS, asked);
            let fields = [(LOCATION, start.location), (SET_COOKIE, cookie)];
            (StatusCode::SEE_OTHER, fields).into_response()
        }
        Err(refused) => failed(&app, asked, tried(BEGIN, ""), &refused).await,
    })
}

/// Comes back from the provider: begins a session and goes on to the dashboard.
#[utoipa::path(get, path = "/login/oidc/callback", security(()), responses(
    (status = 200, description = "Signed in; a page that goes on to the dashboard"),
    (status = 303, description = "Not signed in: to the sign-in page"),
    (status = 404, body = ApiProblem, description = "There is no single sign-on")
))]
pub(crate) async fn finish(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiRefusal> {
    let desk = desk(&app)?;
    let query = CallbackQuery::read(uri.query().unwrap_or_default());
    let browser = cookie_of(&headers, asked.scheme.sign_on_cookie_name()).map(str::to_owned);
    let person = match desk.finish(query, browser, asked.now).await {
        Ok(person) => person,
        Err(refused) => return Ok(failed(&app, asked, tried(FINISH, ""), &refused).await),
    };
    let name = person.names.first().cloned().unwrap_or_default();
    let id = match signed_on(&app, desk, person, asked, &headers).await {
        Ok(id) => id,
        Err(refused) => return Ok(failed(&app, asked, tried(FINISH, &name), &refused).await),
    };
    if let Some(caller) = app.gate.credentials.session(&id, asked.now) {
        let deed =
            AuditedDeed { action: FINISH.into(), who: DeedActor::Known(&caller), body: None };
        record_deed(&app, asked, deed, Ok(())).await;
    }
    let cookie = AuthGate::cookie(&id, SIGN_ON_SESSION_SECONDS, asked.scheme);
    let mut response = page::go_on("/");
    for cookie in [cookie, sign_on_cookie("", 0, asked)] {
        // Both are ASCII by how they are made.
        if let Ok(value) = HeaderValue::try_from(cookie) {
            response.headers_mut().append(SET_COOKIE, value);
        }
    }
    Ok(response)
}

fn desk(app: &ApiState) -> Result<&SignOnDesk, ApiRefusal> {
    app.sign_on.as_ref().ok_or_else(|| {
        let remedy = "set admin.single_sign_on, and restart";
        ApiRefusal::new(StatusCode::NOT_FOUND, "there is no single sign-on here", remedy)
    })
}

/// True for a request to the origin that the provider leads back to.
fn is_public(desk: &SignOnDesk, host: Option<&str>, scheme: AdminScheme) -> bool {
    let Some(public) = desk.public_origin.strip_prefix(scheme.prefix()) else { return false };
    // Some clients name the port that goes without saying.
    let default_port = match scheme {
        AdminScheme::Http => ":80",
        AdminScheme::Https => ":443",
    };
    let host = host.map(|host| host.strip_suffix(default_port).unwrap_or(host));
    host.is_some_and(|host| host.eq_ignore_ascii_case(public))
}

/// A session for a person; its identifier.
async fn signed_on(
    app: &Arc<ApiState>,
    desk: &SignOnDesk,
    person: SignedOnPerson,
    asked: ApiRequest,
    headers: &HeaderMap,
) -> Result<String, ApiRefusal> {
    let role = desk.role_of(&person);
    let user = app
        .ask(move |app| {
            let Some(role) = role else {
                return Err(not_let_in(app, &person, asked));
            };
            enrol(app, &person, role, asked).map_err(|refused| match refused {
                AccountRefusal::NameTaken => ApiRefusal::new(
                    StatusCode::CONFLICT,
                    "there is another user of this name",
                    "rename one of the two, or set `name_claim` of admin.single_sign_on",
                ),
                refused => refused.into(),
            })
        })
        .await??;
    begin_session(app, Some(user.name), SIGN_ON_SESSION_SECONDS, asked, headers).await
}

/// The user of a person, found or made under the first name that is one.
fn enrol(
    app: &ApiState,
    person: &SignedOnPerson,
    role: accounts::UserRole,
    asked: ApiRequest,
) -> Result<UserInfo, AccountRefusal> {
    let users = &app.gate.credentials.users;
    // Nobody is called as the token of the state folder is.
    for name in person.names.iter().filter(|it| !it.eq_ignore_ascii_case(MASTER_NAME)) {
        match users.enrol(&person.subject, name, role, asked.now) {
            Err(AccountRefusal::BadName) => {}
            enrolled => return enrolled,
        }
    }
    Err(AccountRefusal::BadName)
}

/// Ends what somebody still has who is let in no more.
fn not_let_in(app: &ApiState, person: &SignedOnPerson, asked: ApiRequest) -> ApiRefusal {
    let credentials = &app.gate.credentials;
    if let Some(user) = credentials.users.of_subject(&person.subject) {
        credentials.sessions.end_some(SessionEnd::OfUser { user: &user.name, but: None });
        if let Err(why) = credentials.tokens.remove_of(&user.name) {
            let text = format!("API tokens of {} stay, who is let in no more: {why}", user.name);
            app.ledger.note(asked.now, None, "admin", &text);
        }
    }
    ApiRefusal::new(
        StatusCode::FORBIDDEN,
        "the provider says who it is, and no role is for them",
        "put the person into a group of `roles` of admin.single_sign_on, or set `role`",
    )
}

/// A sign-in of nobody who was let in.
fn tried<'d>(action: &'static str, who: &'d str) -> AuditedDeed<'d> {
    AuditedDeed { action: action.into(), who: DeedActor::Tried(who), body: None }
}

/// Leads to the sign-in page, and writes down why.
async fn failed(
    app: &Arc<ApiState>,
    asked: ApiRequest,
    deed: AuditedDeed<'_>,
    refused: &ApiRefusal,
) -> Response {
    record_deed(app, asked, deed, Err(refused)).await;
    let forget = sign_on_cookie("", 0, asked);
    (StatusCode::SEE_OTHER, [(LOCATION, FAILED.to_owned()), (SET_COOKIE, forget)]).into_response()
}

/// The cookie of a browser that is at the provider. It comes along when the provider leads back.
fn sign_on_cookie(value: &str, life_s: u64, asked: ApiRequest) -> String {
    let (name, secure) = (asked.scheme.sign_on_cookie_name(), asked.scheme.cookie_mark());
    format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={life_s}{secure}")
}
