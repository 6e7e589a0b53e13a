//! What programs behind the doors complain about.

use super::{ApiRequest, ApiState};
use crate::refused::ApiRefusal;
use admin_api::{ApiProblem, NoteLine, NoteTable};
use axum::Json;
use axum::extract::State;
use std::sync::Arc;
use vocab::iso;

/// The last lines that scripts have written to their standard error, and why lists could not be
/// fetched; newest first.
#[utoipa::path(get, path = "/api/notes", responses(
    (status = 200, body = NoteTable), (status = 401, body = ApiProblem)
))]
pub(crate) async fn notes(
    State(app): State<Arc<ApiState>>,
    _asked: ApiRequest,
) -> Result<Json<NoteTable>, ApiRefusal> {
    let found = app.ask(|app| app.ledger.notes()).await?;
    let shape = |note: ledger::OperatorNote| NoteLine {
        at: iso(note.at_ms),
        door: note.door.map_or_else(String::new, |door| door.as_str().into()),
        from: note.from,
        text: note.text,
    };
    let notes = found.notes.into_iter().rev().map(shape).collect();
    Ok(Json(NoteTable { notes, seen: found.seen }))
}
