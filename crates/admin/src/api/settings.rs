//! The configuration: its text, one setting as it is in force, and settings changed in the file.
//!
//! Behind the guard. What may be changed, and how, is the program's to say.

use super::{ApiRequest, ApiState};
use crate::author::RequestAuthor;
use crate::query::CheckedQuery;
use crate::refused::{ApiRefusal, SEE};
use admin_api::{
    ApiProblem, ConfigText, ReloadOutcome, SettingQuery, SettingValue, SettingsRequest,
};
use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use http::StatusCode;
use std::sync::Arc;

/// Changes in one request.
const CHANGES_MAX: usize = 64;

/// The configuration that runs, with passwords and tokens hidden.
#[utoipa::path(get, path = "/api/config", responses(
    (status = 200, body = ConfigText), (status = 401, body = ApiProblem)
))]
pub(crate) async fn config(
    State(app): State<Arc<ApiState>>,
    _asked: ApiRequest,
) -> Result<Json<ConfigText>, ApiRefusal> {
    Ok(Json(app.ask(|app| app.control.config()).await?))
}

/// One setting, or a section, as it is in force, with passwords and tokens hidden.
#[utoipa::path(get, path = "/api/config/value", params(SettingQuery), responses(
    (status = 200, body = SettingValue),
    (status = 400, body = ApiProblem), (status = 401, body = ApiProblem),
    (status = 404, body = ApiProblem, description = "No such setting")
))]
pub(crate) async fn setting(
    State(app): State<Arc<ApiState>>,
    _asked: ApiRequest,
    CheckedQuery(SettingQuery { path }): CheckedQuery<SettingQuery>,
) -> Result<Json<SettingValue>, ApiRefusal> {
    let asked = path.clone();
    let value = app
        .ask(move |app| app.control.setting(&asked))
        .await?
        .map_err(|why| ApiRefusal::new(StatusCode::NOT_FOUND, why.to_string(), SEE))?;
    Ok(Json(SettingValue { path, value }))
}

/// Changes settings in the configuration's file, comments and order kept, and takes the file over
/// as a reload does. What a reload would refuse changes nothing.
#[utoipa::path(post, path = "/api/config", request_body = SettingsRequest, responses(
    (status = 200, body = ReloadOutcome),
    (status = 400, body = ApiProblem), (status = 401, body = ApiProblem), (status = 403, body = ApiProblem),
    (status = 409, body = ApiProblem, description = "The file cannot be changed, or was changed meanwhile"),
    (status = 422, body = ApiProblem, description = "With every complaint")
))]
pub(crate) async fn change_settings(
    State(app): State<Arc<ApiState>>,
    RequestAuthor(author): RequestAuthor,
    sent: Result<Json<SettingsRequest>, JsonRejection>,
) -> Result<Json<ReloadOutcome>, ApiRefusal> {
    let Json(SettingsRequest { changes }) = sent?;
    if !(1..=CHANGES_MAX).contains(&changes.len()) {
        return Err(ApiRefusal::new(
            StatusCode::BAD_REQUEST,
            format!("changes: {} of them", changes.len()),
            format!("send 1 to {CHANGES_MAX}"),
        ));
    }
    Ok(Json(app.ask(move |app| app.control.change_settings(&changes, &author)).await??))
}
