//! Health, for supervisors and load balancers: `/healthz` and `/readyz`.
//!
//! Both are open to whoever reaches the listener, and so tell no name of anything: the one that the
//! process answers, the other whether it does all that its configuration asks for. Mounted by
//! [`crate::Admin`] on both of its listeners.

use super::ApiState;
use crate::control::NotReady;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::CONTENT_TYPE;
use std::sync::Arc;

const TEXT: [(http::HeaderName, &str); 1] = [(CONTENT_TYPE, "text/plain; charset=utf-8")];

/// Life of the process: `200`, always.
#[utoipa::path(get, path = "/healthz", security(()), responses(
    (status = 200, body = String, content_type = "text/plain")
))]
pub(crate) async fn healthz() -> Response {
    (TEXT, "ok\n").into_response()
}

/// Readiness: `200` if everything that the configuration asks for is in force, else `503` with a
/// word a line: `draining`, `doors` (one has no listener), `lists` (one has nothing in force),
/// `busy`.
#[utoipa::path(get, path = "/readyz", security(()), responses(
    (status = 200, body = String, content_type = "text/plain"),
    (status = 503, body = String, content_type = "text/plain")
))]
pub(crate) async fn readyz(State(app): State<Arc<ApiState>>) -> Response {
    let reasons = app.ask(|app| app.control.not_ready()).await;
    match reasons.as_deref() {
        Ok([]) => (TEXT, "ready\n").into_response(),
        Ok(reasons) => {
            let words: Vec<&str> = reasons.iter().map(|it| it.as_str()).collect();
            let lines = words.join("\n") + "\n";
            (StatusCode::SERVICE_UNAVAILABLE, TEXT, lines).into_response()
        }
        Err(_) => (StatusCode::SERVICE_UNAVAILABLE, TEXT, "busy\n").into_response(),
    }
}

impl NotReady {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Draining => "draining",
            Self::Doors => "doors",
            Self::Lists => "lists",
        }
    }
}
