//! The audit log, for administrators.

use super::{ApiRequest, ApiState};
use crate::refused::ApiRefusal;
use accounts::{AuditEntry, AuditQuery};
use admin_api::{ApiProblem, AuditLine, AuditTable, AuditWords};
use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use std::sync::Arc;
use vocab::iso;

/// Entries of a page, where nobody says how many.
const LIMIT_DEFAULT: usize = 60;

/// Changes that were asked for and sign-ins, the newest first.
#[utoipa::path(get, path = "/api/audit", params(AuditWords), responses(
    (status = 200, body = AuditTable), (status = 400, body = ApiProblem),
    (status = 401, body = ApiProblem), (status = 403, body = ApiProblem)
))]
pub(crate) async fn audit(
    State(app): State<Arc<ApiState>>,
    _asked: ApiRequest,
    words: Result<Query<AuditWords>, QueryRejection>,
) -> Result<Json<AuditTable>, ApiRefusal> {
    let Query(words) = words?;
    let query = AuditQuery {
        before: words.before,
        limit: words.limit.unwrap_or(LIMIT_DEFAULT).clamp(1, ledger::LIMIT_MAX),
        filter: words.filter.unwrap_or_default(),
    };
    let page = app.ask(move |app| app.gate.credentials.audit.page(&query)).await?;
    let entries = page.entries.into_iter().map(line).collect();
    Ok(Json(AuditTable { entries, older: page.older, lost: page.lost }))
}

fn line(AuditEntry { n, record }: AuditEntry) -> AuditLine {
    AuditLine {
        n,
        at: iso(record.at_ms),
        who: record.who,
        kind: record.kind.as_str().into(),
        role: record.role.map(|role| role.to_string()),
        client: record.client,
        action: record.action,
        body: record.body,
        status: record.status,
        error: record.error,
    }
}
