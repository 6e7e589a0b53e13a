//! Why something is blocked or not.

use super::{ApiRequest, ApiState};
use crate::control::WhyQuestion;
use crate::query::CheckedQuery;
use crate::question::{self, UnreadableQuestion};
use crate::refused::ApiRefusal;
use admin_api::{ApiProblem, WhyAnswer, WhyQuery};
use axum::Json;
use axum::extract::State;
use http::StatusCode;
use std::sync::Arc;

/// The verdict about a name or URL, with every rule that matched and what the door would do.
#[utoipa::path(get, path = "/api/why", params(WhyQuery), responses(
    (status = 200, body = WhyAnswer), (status = 400, body = ApiProblem), (status = 401, body = ApiProblem)
))]
pub(crate) async fn why(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
    CheckedQuery(query): CheckedQuery<WhyQuery>,
) -> Result<Json<WhyAnswer>, ApiRefusal> {
    let question = question(&query)?;
    Ok(Json(app.ask(move |app| app.control.why(&question, asked.now)).await?))
}

/// Reads a question; what is left out is guessed from the target.
pub(crate) fn question(query: &WhyQuery) -> Result<WhyQuestion, ApiRefusal> {
    question::read(query).map_err(|UnreadableQuestion { error, remedy }| {
        ApiRefusal::new(StatusCode::BAD_REQUEST, error, remedy)
    })
}
