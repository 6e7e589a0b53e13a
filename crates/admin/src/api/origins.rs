//! The origins that the proxy has connections to.
//!
//! It reads alone. Behind the guard.

use super::{App, Asked};
use crate::model::{Origins, Problem};
use crate::refused::Refused;
use axum::Json;
use axum::extract::State;
use std::sync::Arc;

/// What the proxy's connections have taught of origins, those used last first.
#[utoipa::path(get, path = "/api/origins", responses(
    (status = 200, body = Origins), (status = 401, body = Problem)
))]
pub(crate) async fn origins(
    State(app): State<Arc<App>>,
    _asked: Asked,
) -> Result<Json<Origins>, Refused> {
    Ok(Json(Origins { origins: app.ask(|app| app.control.origins()).await? }))
}
