//! Why something is blocked or not.

use super::{App, Asked};
use crate::control::Question;
use crate::model::{Problem, Why, WhyQuery};
use crate::query::Query;
use crate::question::{self, UnreadableQuestion};
use crate::refused::Refused;
use axum::Json;
use axum::extract::State;
use http::StatusCode;
use std::sync::Arc;

/// The verdict about a name or URL, with every rule that matched and what the door would do.
#[utoipa::path(get, path = "/api/why", params(WhyQuery), responses(
    (status = 200, body = Why), (status = 400, body = Problem), (status = 401, body = Problem)
))]
pub(crate) async fn why(
    State(app): State<Arc<App>>,
    asked: Asked,
    Query(query): Query<WhyQuery>,
) -> Result<Json<Why>, Refused> {
    let question = question(&query)?;
    Ok(Json(app.ask(move |app| app.control.why(&question, asked.now)).await?))
}

/// Reads a question; what is left out is guessed from the target.
pub(crate) fn question(query: &WhyQuery) -> Result<Question, Refused> {
    question::read(query).map_err(|UnreadableQuestion { error, remedy }| {
        Refused::new(StatusCode::BAD_REQUEST, error, remedy)
    })
}
