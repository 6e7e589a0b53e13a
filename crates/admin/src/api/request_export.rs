//! Rows of the request log as a file, streamed page by page.
//!
//! A page is asked for when the one before was taken, so that a slow reader holds one page and no
//! place among the questions. Called by the route of the log.

use super::ApiState;
use crate::refused::ApiRefusal;
use crate::table_export::attachment;
use admin_api::RequestRow;
use axum::body::Body;
use axum::response::Response;
use futures_util::stream;
use ledger::RowFilter;
use request_rows::found_rows;
use std::io;
use std::sync::Arc;
use table_files::{ExportCell, ExportFormat, TableExport};

/// Rows of a file, if none are asked for and at most.
pub(crate) const ROWS_MAX: u32 = 100_000;

/// Columns of a file.
const COLUMNS: &[&str] = &[
    "id",
    "number",
    "at",
    "door",
    "client",
    "subject",
    "kind",
    "action",
    "cause",
    "list",
    "line",
    "rule",
    "source",
    "cache",
    "not_stored",
    "status",
    "status_text",
    "bytes",
    "took_us",
];

/// Where a file is.
struct FileProgress {
    app: Arc<ApiState>,
    table: TableExport,
    filter: RowFilter,
    left: u32,
    next: NextPage,
}

/// Tells whether there are rows to come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NextPage {
    More,
    None,
}

/// The file of the rows that a filter finds, newest first, at most `limit`. The first page is read
/// before the answer begins, so that what fails then is told as such.
pub(super) async fn file(
    app: Arc<ApiState>,
    filter: RowFilter,
    limit: u32,
    format: ExportFormat,
) -> Result<Response, ApiRefusal> {
    let table = TableExport::new(format, COLUMNS);
    let mut file = FileProgress { app, table, filter, left: limit, next: NextPage::More };
    let first = file.piece().await?;
    let rest = stream::try_unfold(file, |mut file| async move {
        if file.next == NextPage::None {
            return Ok(None);
        }
        // The answer has begun: the connection is cut, and the file is seen to be incomplete.
        let piece = file.piece().await.map_err(|why| io::Error::other(why.problem.error))?;
        Ok(Some((piece, file)))
    });
    let first = stream::iter([Ok::<_, io::Error>(first)]);
    let body = Body::from_stream(futures_util::StreamExt::chain(first, rest));
    Ok(attachment(format, "tidegate-requests", body))
}

impl FileProgress {
    /// The next page as text.
    async fn piece(&mut self) -> Result<Vec<u8>, ApiRefusal> {
        let limit = (self.left as usize).min(ledger::LIMIT_MAX);
        let (filter, app) = (self.filter.clone(), &self.app);
        let found = app.ask(move |app| found_rows(&app.ledger, &filter, limit)).await??;
        self.left = self.left.saturating_sub(found.rows.len() as u32);
        self.filter.before = found.next;
        if found.next.is_none() || self.left == 0 {
            self.next = NextPage::None;
        }
        let rows = found.rows.into_iter().map(|row| cells(RequestRow::from(row)));
        self.table.rows(rows).map_err(|why| {
            let remedy = "ask for JSON, and report this";
            ApiRefusal::new(http::StatusCode::INTERNAL_SERVER_ERROR, why.to_string(), remedy)
        })
    }
}

fn cells(row: RequestRow) -> Vec<ExportCell<'static>> {
    let text = |it: String| ExportCell::text(it);
    let maybe = |it: Option<String>| it.map_or(ExportCell::Nothing, text);
    let number = |it: u64| ExportCell::Number(it);
    let (list, line, rule) = match row.rule {
        Some(rule) => (text(rule.list), number(rule.line.into()), text(rule.text)),
        None => (ExportCell::Nothing, ExportCell::Nothing, ExportCell::Nothing),
    };
    vec![
        number(row.id),
        text(row.number),
        text(row.at),
        text(row.door),
        text(row.client),
        text(row.subject),
        text(row.kind),
        text(row.action),
        text(row.cause),
        list,
        line,
        rule,
        text(row.source),
        maybe(row.cache),
        maybe(row.not_stored),
        number(row.status.into()),
        text(row.status_text),
        number(row.bytes.into()),
        number(row.took_us.into()),
    ]
}
