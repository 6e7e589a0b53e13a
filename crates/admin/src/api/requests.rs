//! Rows of the request log.

use super::request_export::{self, ROWS_MAX as FILE_ROWS_MAX};
use super::{ApiRequest, ApiState};
use crate::query::CheckedQuery;
use crate::refused::ApiRefusal;
use crate::table_export::read_format;
use admin_api::{ApiProblem, InspectedList, RequestPage, RequestRow};
use axum::Json;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use ledger::RowFilter;
use request_rows::{RowsPageQuery, RowsQuery, found_rows};
use std::sync::Arc;
use vocab::{Action, RequestNumber};

/// Rows of a page, if none are asked for.
const ROWS_DEFAULT: u32 = 50;

/// Rows of the request log, newest first.
#[utoipa::path(get, path = "/api/requests", params(RowsQuery, RowsPageQuery), responses(
    (status = 200, body = RequestPage, description = "With `format=csv` or `jsonl` a file of the rows"),
    (status = 400, body = ApiProblem), (status = 401, body = ApiProblem), (status = 503, body = ApiProblem)
))]
pub(crate) async fn requests(
    State(app): State<Arc<ApiState>>,
    _asked: ApiRequest,
    CheckedQuery(wanted): CheckedQuery<RowsQuery>,
    CheckedQuery(query): CheckedQuery<RowsPageQuery>,
) -> Result<Response, ApiRefusal> {
    let filter = RowFilter { before: query.before, ..wanted.filter()? };
    if let Some(format) = read_format(query.format.as_deref())? {
        let limit = query.limit.unwrap_or(FILE_ROWS_MAX).clamp(1, FILE_ROWS_MAX);
        return request_export::file(app, filter, limit, format).await;
    }
    let limit = query.limit.unwrap_or(ROWS_DEFAULT).clamp(1, ledger::LIMIT_MAX as u32) as usize;
    let page = app.ask(move |app| found_rows(&app.ledger, &filter, limit)).await??;
    let rows = page.rows.into_iter().map(RequestRow::from).collect();
    Ok(Json(RequestPage { rows, next_before: page.next }).into_response())
}

/// Bodies that pages posted to blocked hosts, of clients that `pixel.inspect` names.
#[utoipa::path(get, path = "/api/inspected", responses(
    (status = 200, body = InspectedList), (status = 401, body = ApiProblem)
))]
pub(crate) async fn inspected(
    State(app): State<Arc<ApiState>>,
    _asked: ApiRequest,
) -> Result<Json<InspectedList>, ApiRefusal> {
    Ok(Json(InspectedList { bodies: app.ask(|app| app.control.inspected()).await? }))
}

/// One row of the request log, by its `id` or by the number that a block page shows.
#[utoipa::path(get, path = "/api/requests/{id}",
    params((
        "id" = String, Path,
        description = "The row's `id`, or a request's number: `01A2-076A-9DE3`, with or without its hyphens"
    )),
    responses(
        (status = 200, body = RequestRow),
        (status = 401, body = ApiProblem), (status = 404, body = ApiProblem),
        (status = 503, body = ApiProblem)
    )
)]
pub(crate) async fn request(
    State(app): State<Arc<ApiState>>,
    _asked: ApiRequest,
    Path(id): Path<String>,
) -> Result<Json<RequestRow>, ApiRefusal> {
    let missing = || {
        let remedy = "it may be older than `ledger.keep`; /api/requests lists what is there";
        ApiRefusal::new(StatusCode::NOT_FOUND, "there is no such row", remedy)
    };
    let row = match RowSelector::read(&id).ok_or_else(missing)? {
        RowSelector::Row(id) => app.ask(move |app| app.ledger.row(id)).await??,
        RowSelector::Number(number) => {
            let rows = app.ask(move |app| app.ledger.rows_at(number.unix_ms())).await??;
            // Others may have asked within the same millisecond; the number stands on block pages.
            let blocked = rows.iter().find(|row| row.action == Action::Block);
            blocked.or(rows.first()).cloned()
        }
    };
    row.map(RequestRow::from).map(Json).ok_or_else(missing)
}

/// A row that is asked for.
enum RowSelector {
    Row(u64),
    Number(RequestNumber),
}

impl RowSelector {
    fn read(text: &str) -> Option<Self> {
        let number = text.parse().map(Self::Number).ok();
        // The number of a request begins with a zero, which no row's does.
        let id = text.parse().map(Self::Row).ok().filter(|_| !text.starts_with('0'));
        id.or(number)
    }
}
