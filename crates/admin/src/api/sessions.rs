//! Sessions of browsers: listed and ended. Administrators see all, others their own.

use super::{ApiRequest, ApiState};
use crate::caller::{ApiCaller, CallerCredential};
use crate::refused::ApiRefusal;
use accounts::{SessionEnd, StoredSession, UserRole};
use admin_api::{ApiProblem, SessionInfo, SessionRemoval, SessionTable};
use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use http::StatusCode;
use std::sync::Arc;
use vocab::iso;

/// Open sessions.
#[utoipa::path(get, path = "/api/sessions", responses(
    (status = 200, body = SessionTable), (status = 401, body = ApiProblem)
))]
pub(crate) async fn sessions(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
    caller: ApiCaller,
) -> Result<Json<SessionTable>, ApiRefusal> {
    let credentials = &app.gate.credentials;
    let all = credentials.sessions.list(asked.now).into_iter();
    let info = |session: StoredSession| {
        let role = match session.user.as_deref() {
            None => UserRole::Administrator,
            Some(user) => credentials.users.get(user)?.role,
        };
        Some(SessionInfo {
            id: session.id().into(),
            role: role.to_string(),
            began: iso(session.began_ms),
            seen: iso(session.seen_ms),
            until: iso(session.until_ms),
            own: caller.credential == CallerCredential::Session(session.id().into()),
            user: session.user,
            client: session.client,
            agent: session.agent,
        })
    };
    let sessions = all.filter(|it| caller.may_see(it.user.as_deref())).filter_map(info).collect();
    Ok(Json(SessionTable { sessions }))
}

/// Ends a session, or those of a user but the one that asks.
#[utoipa::path(post, path = "/api/sessions/end", request_body = SessionRemoval, responses(
    (status = 204, description = "Ended"), (status = 400, body = ApiProblem), (status = 401, body = ApiProblem),
    (status = 403, body = ApiProblem), (status = 404, body = ApiProblem)
))]
pub(crate) async fn end_session(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
    caller: ApiCaller,
    sent: Result<Json<SessionRemoval>, JsonRejection>,
) -> Result<StatusCode, ApiRefusal> {
    let Json(removal) = sent?;
    let unknown = || {
        let remedy = "GET /api/sessions has those that are open";
        ApiRefusal::new(StatusCode::NOT_FOUND, "there is no such session", remedy)
    };
    let sessions = &app.gate.credentials.sessions;
    match (removal.id, removal.user) {
        (Some(id), None) => {
            let all = sessions.list(asked.now);
            if !all.iter().any(|it| it.id() == id && caller.may_see(it.user.as_deref())) {
                return Err(unknown());
            }
            app.ask(move |app| app.gate.credentials.sessions.end_some(SessionEnd::Id(&id))).await?;
        }
        (None, Some(user)) => {
            if caller.user.as_deref() != Some(&*user) {
                caller.require(UserRole::Administrator)?;
            }
            app.ask(move |app| super::users::end_sessions_but(app, &user, &caller)).await?;
        }
        (Some(_), Some(_)) | (None, None) => {
            let remedy = "send either `id` or `user`";
            return Err(ApiRefusal::new(StatusCode::BAD_REQUEST, "which session?", remedy));
        }
    }
    Ok(StatusCode::NO_CONTENT)
}
