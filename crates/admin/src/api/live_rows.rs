//! Live rows of the request log, as server-sent events.
//!
//! A stream ends with its connection, and when what its reader has shown opens nothing any more.

use super::{ApiRequest, ApiState};
use crate::guard::ConnectionEnd;
use crate::query::CheckedQuery;
use crate::refused::ApiRefusal;
use admin_api::{ApiProblem, RequestRow};
use axum::Extension;
use axum::extract::State;
use axum::response::sse::Sse;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderName, HeaderValue};
use ledger::{NewRows, RowFilter};
use request_rows::{LiveSource, LiveWish, RowsQuery, live_rows};
use std::sync::Arc;

/// Number of the last event that a browser has seen, sent when it comes back (HTML, server-sent
/// events).
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// Asks an nginx before us not to hold the stream back.
const NO_BUFFER: (HeaderName, &str) = (HeaderName::from_static("x-accel-buffering"), "no");

/// A reader of live rows, with what it has shown to be let in.
struct LiveReader {
    app: Arc<ApiState>,
    asked: ApiRequest,
    fields: HeaderMap,
}

impl LiveSource for LiveReader {
    async fn new_rows(&self, filter: RowFilter, limit: usize) -> Option<NewRows> {
        let asked = self.app.ask(move |app| app.ledger.new_rows(&filter, limit)).await;
        asked.ok().and_then(Result::ok)
    }

    fn may_read(&self) -> bool {
        let asked = ApiRequest { now: (self.app.clock)(), ..self.asked };
        self.app.gate.check_pass(&self.fields, asked).is_ok()
    }
}

/// Rows of the request log as they are written.
///
/// Each is an event `row` with the row's `id` and, as JSON, the row of `/api/requests`. At most 100
/// a second are sent; an event `missed` counts those that were left out: `{"count":7}`. A comment
/// line comes every 15 seconds. With `Last-Event-ID` or `after`, newer rows come first, at most
/// 1,000. The stream ends with the session or token that opened it.
#[utoipa::path(get, path = "/api/requests/live", params(
    RowsQuery,
    ("Last-Event-ID" = Option<u64>, Header, description = "`id` of the last row that was seen")
), responses(
    (status = 200, body = RequestRow, content_type = "text/event-stream"),
    (status = 400, body = ApiProblem), (status = 401, body = ApiProblem),
    (status = 503, body = ApiProblem, description = "16 streams are open, or 4 of this client")
))]
pub(crate) async fn live(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
    connection: Option<Extension<ConnectionEnd>>,
    fields: HeaderMap,
    CheckedQuery(query): CheckedQuery<RowsQuery>,
) -> Result<Response, ApiRefusal> {
    let mut filter = query.filter()?;
    let last = fields.get(LAST_EVENT_ID).and_then(|last| last.to_str().ok()?.trim().parse().ok());
    filter.after = last.or(filter.after);
    let place = app.live.take(asked.client)?;
    let ended = connection.map(|Extension(ConnectionEnd(ended))| ended);
    let wish = LiveWish { filter, newest: app.ledger.newest_row(), ended, place };
    let mut response = Sse::new(live_rows(LiveReader { app, asked, fields }, wish)).into_response();
    let (name, value) = NO_BUFFER;
    response.headers_mut().insert(name, HeaderValue::from_static(value));
    Ok(response)
}
