//! The origins that the proxy has connections to.
//!
//! It reads alone. Behind the guard.

use super::{ApiRequest, ApiState};
use crate::refused::ApiRefusal;
use admin_api::{ApiProblem, OriginList};
use axum::Json;
use axum::extract::State;
use std::sync::Arc;

/// What the proxy's connections have taught of origins, those used last first.
#[utoipa::path(get, path = "/api/origins", responses(
    (status = 200, body = OriginList), (status = 401, body = ApiProblem)
))]
pub(crate) async fn origins(
    State(app): State<Arc<ApiState>>,
    _asked: ApiRequest,
) -> Result<Json<OriginList>, ApiRefusal> {
    Ok(Json(OriginList { origins: app.ask(|app| app.control.origins()).await? }))
}
