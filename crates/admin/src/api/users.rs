//! Users, made and changed by administrators.

use super::{ApiRequest, ApiState};
use crate::caller::{ApiCaller, CallerCredential};
use crate::refused::ApiRefusal;
use accounts::{AccountRefusal, SessionEnd, TotpChange, UserChange, UserRole};
use admin_api::{ApiProblem, NewUser, UserEdit, UserLine, UserName, UserTable};
use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use http::StatusCode;
use std::sync::Arc;
use vocab::iso;

impl From<AccountRefusal> for ApiRefusal {
    fn from(refused: AccountRefusal) -> Self {
        use AccountRefusal as R;
        let (status, remedy) = match &refused {
            R::NameTaken => (StatusCode::CONFLICT, "choose another name"),
            R::UnknownUser => (StatusCode::NOT_FOUND, "GET /api/users has the names"),
            R::UnknownToken => (StatusCode::NOT_FOUND, "GET /api/tokens has the identifiers"),
            R::BadName | R::BadPassword | R::BadTokenName => {
                (StatusCode::BAD_REQUEST, "send another one")
            }
            R::TooMany | R::TooManyTokens => {
                (StatusCode::CONFLICT, "remove one that is used no more")
            }
            R::LastAdministrator => {
                (StatusCode::CONFLICT, "make another user an administrator first")
            }
            R::NoOffer => (StatusCode::CONFLICT, "begin with POST /api/me/totp"),
            R::WrongCode => (
                StatusCode::FORBIDDEN,
                "wait for the next code; if none is right, the clock of one of the two is wrong",
            ),
            R::Failed(_) => (
                StatusCode::SERVICE_UNAVAILABLE,
                "look at the disk that holds the state folder, then try again",
            ),
        };
        Self::new(status, refused.to_string(), remedy)
    }
}

/// All users.
#[utoipa::path(get, path = "/api/users", responses(
    (status = 200, body = UserTable), (status = 401, body = ApiProblem), (status = 403, body = ApiProblem)
))]
pub(crate) async fn users(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
) -> Result<Json<UserTable>, ApiRefusal> {
    let credentials = &app.gate.credentials;
    let sessions = credentials.sessions.list(asked.now);
    let line = |user: accounts::UserInfo| {
        let of_user = || sessions.iter().filter(|it| it.user.as_deref() == Some(&*user.name));
        UserLine {
            role: user.role.to_string(),
            totp: user.has_totp,
            created: iso(user.created_ms),
            last_seen: of_user().map(|it| it.seen_ms).max().max(user.signed_in_ms).map(iso),
            sessions: of_user().count(),
            single_sign_on: user.has_subject,
            name: user.name,
        }
    };
    Ok(Json(UserTable { users: credentials.users.list().into_iter().map(line).collect() }))
}

/// Makes a user.
#[utoipa::path(post, path = "/api/users", request_body = NewUser, responses(
    (status = 204, description = "Made"), (status = 400, body = ApiProblem), (status = 401, body = ApiProblem),
    (status = 403, body = ApiProblem), (status = 409, body = ApiProblem, description = "The name is taken")
))]
pub(crate) async fn add_user(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
    sent: Result<Json<NewUser>, JsonRejection>,
) -> Result<StatusCode, ApiRefusal> {
    let Json(NewUser { name, role, password }) = sent?;
    let role = read_role(&role)?;
    app.ask(move |app| app.gate.credentials.users.add(&name, role, &password, asked.now)).await??;
    Ok(StatusCode::NO_CONTENT)
}

/// Changes a user. A new password or role ends the user's sessions, but for the one that asks.
#[utoipa::path(post, path = "/api/users/change", request_body = UserEdit, responses(
    (status = 204, description = "Changed"), (status = 400, body = ApiProblem), (status = 401, body = ApiProblem),
    (status = 403, body = ApiProblem), (status = 404, body = ApiProblem),
    (status = 409, body = ApiProblem, description = "It would leave users and no administrator among them")
))]
pub(crate) async fn change_user(
    State(app): State<Arc<ApiState>>,
    caller: ApiCaller,
    sent: Result<Json<UserEdit>, JsonRejection>,
) -> Result<StatusCode, ApiRefusal> {
    let Json(UserEdit { name, role, password, totp }) = sent?;
    let role = role.as_deref().map(read_role).transpose()?;
    let totp = match totp.as_deref() {
        None => None,
        Some("off") => Some(TotpChange::Off),
        Some(word) => return Err(ApiRefusal::unknown_word("totp", word, "off")),
    };
    let ends_sessions = role.is_some() || password.is_some();
    let change = UserChange { role, password, totp };
    app.ask(move |app| {
        app.gate.credentials.users.update(&name, &change)?;
        if ends_sessions {
            end_sessions_but(app, &name, &caller);
        }
        Ok::<_, AccountRefusal>(())
    })
    .await??;
    Ok(StatusCode::NO_CONTENT)
}

/// Removes a user, with sessions and tokens.
#[utoipa::path(post, path = "/api/users/remove", request_body = UserName, responses(
    (status = 204, description = "Removed"), (status = 401, body = ApiProblem),
    (status = 403, body = ApiProblem), (status = 404, body = ApiProblem),
    (status = 409, body = ApiProblem, description = "It would leave users and no administrator among them")
))]
pub(crate) async fn remove_user(
    State(app): State<Arc<ApiState>>,
    sent: Result<Json<UserName>, JsonRejection>,
) -> Result<StatusCode, ApiRefusal> {
    let Json(UserName { name }) = sent?;
    app.ask(move |app| {
        let credentials = &app.gate.credentials;
        let user = credentials.users.get(&name).ok_or(AccountRefusal::UnknownUser)?.name;
        // The user first: whatever fails then opens nothing any more.
        credentials.users.remove(&user)?;
        credentials.sessions.end_some(SessionEnd::OfUser { user: &user, but: None });
        credentials.tokens.remove_of(&user)
    })
    .await??;
    Ok(StatusCode::NO_CONTENT)
}

/// Ends the sessions of a user, but for the one that asks.
pub(super) fn end_sessions_but(app: &ApiState, user: &str, caller: &ApiCaller) {
    let but = match &caller.credential {
        CallerCredential::Session(id) => Some(id.as_str()),
        CallerCredential::ApiToken | CallerCredential::MasterToken => None,
    };
    let user = user.to_ascii_lowercase();
    app.gate.credentials.sessions.end_some(SessionEnd::OfUser { user: &user, but });
}

fn read_role(word: &str) -> Result<UserRole, ApiRefusal> {
    let expected = "viewer, operator or administrator";
    word.parse().map_err(|_| ApiRefusal::unknown_word("role", word, expected))
}
