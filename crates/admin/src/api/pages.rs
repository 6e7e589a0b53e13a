//! Visits of a site by a client: what a page loaded, what was kept away, and what it tried to send.
//!
//! Behind the guard. [`page_visits`] finds visits among the ledger's rows; posted bodies are the
//! program's, and for administrators alone.

use super::counts::range;
use super::{ApiRequest, ApiState};
use crate::caller::ApiCaller;
use crate::query::CheckedQuery;
use crate::refused::ApiRefusal;
use accounts::UserRole;
use admin_api::{ApiProblem, InspectedInfo, PageDetails, PageTable, PagesQuery};
use axum::Json;
use axum::extract::State;
use ledger::LogRow;
use page_visits::{FoundVisit, GAP_MAX_MS, PageVisit, ROWS_MAX, VISITS_MAX, picked, visits};
use std::net::IpAddr;
use std::sync::Arc;
use vocab::iso;

/// Visits of a site by a client, one of them in full.
#[utoipa::path(get, path = "/api/pages", params(PagesQuery), responses(
    (status = 200, body = PageTable),
    (status = 400, body = ApiProblem), (status = 401, body = ApiProblem), (status = 503, body = ApiProblem)
))]
pub(crate) async fn pages(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
    caller: ApiCaller,
    CheckedQuery(query): CheckedQuery<PagesQuery>,
) -> Result<Json<PageTable>, ApiRefusal> {
    let range = range(query.range.as_deref())?;
    let client: IpAddr = query.client.trim().parse().map_err(|_| {
        ApiRefusal::unknown_word("client", &query.client, "the IP addresses, as in 192.168.1.7")
    })?;
    let client = client.to_canonical();
    let site = page_visits::site_named(&query.site)
        .ok_or_else(|| ApiRefusal::unknown_word("site", &query.site, "names as news.example"))?;
    let since_ms = asked.now.unix_ms.saturating_sub(range.minutes() * 60_000);
    let found = app.ask(move |app| {
        let rows = app.ledger.rows_of(client, since_ms..u64::MAX, ROWS_MAX)?;
        let found = visits(&rows, &site);
        let sent = || match caller.role {
            UserRole::Administrator => app.control.inspected(),
            UserRole::Viewer | UserRole::Operator => Vec::new(),
        };
        let details = picked(&found, query.at).map(|visit| details(&rows, visit, client, sent()));
        let newest = found.iter().rev().take(VISITS_MAX).map(|it| PageVisit::of(it, iso)).collect();
        Ok::<_, ledger::ReadError>(PageTable {
            client: client.to_string(),
            site,
            visits: newest,
            visit: details,
            by_referer: false,
        })
    });
    Ok(Json(found.await??))
}

fn details(
    rows: &[LogRow],
    visit: &FoundVisit,
    client: IpAddr,
    mut sent: Vec<InspectedInfo>,
) -> PageDetails {
    let rows = &rows[visit.rows.clone()];
    let shown = rows.len().min(ledger::LIMIT_MAX);
    // Moments are written so that their order is that of their texts.
    let (from, to) = (iso(visit.at_ms), iso(visit.until_ms + GAP_MAX_MS));
    let client = client.to_string();
    sent.retain(|body| body.client == client && (&from..=&to).contains(&&body.at));
    PageDetails {
        visit: PageVisit::of(visit, iso),
        bytes: rows.iter().map(|row| u64::from(row.bytes)).sum(),
        hosts: page_visits::visited_hosts(rows),
        rows: rows[..shown].iter().cloned().map(Into::into).collect(),
        more: rows.len() - shown,
        sent,
    }
}
