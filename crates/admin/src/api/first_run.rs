//! The first run: what a machine offers, what is chosen, and the confirmation that keeps it.
//!
//! Behind the guard, for administrators. [`crate::FirstRunDesk`] knows machine and configuration;
//! users and the questions of a device are added here.

use super::configuration::FilesAnswer;
use super::{ApiRequest, ApiState};
use crate::author::RequestAuthor;
use crate::change_author::ChangeAuthor;
use crate::query::CheckedQuery;
use crate::refused::ApiRefusal;
use admin_api::{
    ApiProblem, FilesProblem, FirstRunInfo, FirstRunOutcome, FirstRunQuery, FirstRunRequest,
};
use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use http::StatusCode;
use ledger::{ReadError, RowFilter};
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use vocab::{Door, iso};

/// A device that has asked within this time asks us, in milliseconds.
const ASKS_MS: u64 = 10 * 60_000;
/// Time within which the last question of a device is looked for.
const DAY_MS: u64 = 86_400_000;

/// Routes of the first run.
pub(crate) fn routes() -> OpenApiRouter<Arc<ApiState>> {
    OpenApiRouter::new().routes(routes!(look, begin)).routes(routes!(confirm))
}

/// This machine and configuration, as a first run finds them.
#[utoipa::path(get, path = "/api/first-run", params(FirstRunQuery), responses(
    (status = 200, body = FirstRunInfo), (status = 400, body = ApiProblem),
    (status = 401, body = ApiProblem), (status = 403, body = ApiProblem), (status = 503, body = ApiProblem)
))]
pub(crate) async fn look(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
    CheckedQuery(query): CheckedQuery<FirstRunQuery>,
) -> Result<Json<FirstRunInfo>, ApiRefusal> {
    let found = app.ask(move |app| {
        let client = asked.client.to_canonical();
        let mut info = app.first_run.look(&query, client, asked.now);
        info.people = app.gate.credentials.users.list().len();
        info.needed &= info.people == 0;
        let questions = RowFilter {
            client: Some(client),
            door: Some(Door::Dns),
            from_ms: Some(asked.now.unix_ms.saturating_sub(DAY_MS)),
            ..RowFilter::default()
        };
        let last = app.ledger.rows(&questions, 1)?.rows.first().map(|row| row.at_ms);
        info.this_device.asks_dns =
            last.is_some_and(|at_ms| asked.now.unix_ms.saturating_sub(at_ms) < ASKS_MS);
        info.this_device.asked_at = last.map(iso);
        Ok::<_, ReadError>(info)
    });
    Ok(Json(found.await??))
}

/// Writes what was chosen into the configuration, comments kept, and takes it over. It is taken
/// back unless `POST /api/first-run/confirm` comes in time.
#[utoipa::path(post, path = "/api/first-run", request_body = FirstRunRequest, responses(
    (status = 200, body = FirstRunOutcome),
    (status = 400, body = ApiProblem), (status = 401, body = ApiProblem), (status = 403, body = ApiProblem),
    (status = 409, body = FilesProblem, description = "The file cannot be changed, or another change waits"),
    (status = 422, body = FilesProblem, description = "With every complaint")
))]
pub(crate) async fn begin(
    State(app): State<Arc<ApiState>>,
    RequestAuthor(author): RequestAuthor,
    sent: Result<Json<FirstRunRequest>, JsonRejection>,
) -> Result<Json<FirstRunOutcome>, FilesAnswer> {
    let Json(sent) = sent.map_err(ApiRefusal::from)?;
    let author = ChangeAuthor { why: "first run".into(), ..author };
    Ok(Json(app.ask(move |app| app.first_run.begin(&sent, &author)).await??))
}

/// Keeps the change that waits for confirmation: of a first run, or of where the dashboard is.
#[utoipa::path(post, path = "/api/first-run/confirm", responses(
    (status = 204, description = "Kept"), (status = 401, body = ApiProblem), (status = 403, body = ApiProblem),
    (status = 409, body = ApiProblem, description = "None waits, it is too late, or it came to an address that the change closes")
))]
pub(crate) async fn confirm(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
) -> Result<StatusCode, ApiRefusal> {
    app.ask(move |app| app.first_run.confirm(asked.listener)).await??;
    Ok(StatusCode::NO_CONTENT)
}
