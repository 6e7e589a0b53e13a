//! Signs that devices go around the filter.
//!
//! Behind the guard. The ledger's rows are counted by [`bypass_radar`]; names of devices, and
//! whether their link is up, come from [`crate::ProgramControl`].

use super::counts::range;
use super::{ApiRequest, ApiState};
use crate::query::CheckedQuery;
use crate::refused::ApiRefusal;
use admin_api::{ApiProblem, BypassQuery, BypassTable};
use axum::Json;
use axum::extract::State;
use bypass_radar::{ROWS_MAX, RadarSpan, RadarSweep, known_name};
use ledger::{GlimpseSpan, ReadError, ReportRange};
use std::net::IpAddr;
use std::sync::Arc;
use vocab::{Now, iso};

/// Devices of one answer.
const DEVICES_MAX: usize = 200;

/// Devices that showed a sign of going around the filter: names of resolvers, relays and VPNs that
/// were asked for, requests without questions, silence.
#[utoipa::path(get, path = "/api/bypass", params(BypassQuery), responses(
    (status = 200, body = BypassTable),
    (status = 400, body = ApiProblem), (status = 401, body = ApiProblem), (status = 503, body = ApiProblem)
))]
pub(crate) async fn bypass(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
    CheckedQuery(query): CheckedQuery<BypassQuery>,
) -> Result<Json<BypassTable>, ApiRefusal> {
    let range = range(query.range.as_deref())?;
    Ok(Json(app.ask(move |app| look(app, range, asked.now)).await??))
}

fn look(app: &ApiState, range: ReportRange, now: Now) -> Result<BypassTable, ReadError> {
    let since_ms = now.unix_ms.saturating_sub(range.minutes() * 60_000);
    let span = RadarSpan { since_ms, now_ms: now.unix_ms };
    let rows = GlimpseSpan { since_ms: bypass_radar::look_back(span), rows_max: ROWS_MAX };
    let mut sweep = RadarSweep::new(span);
    let wants = |name: &str| known_name(name).is_some();
    let end = app.ledger.glimpses(rows, wants, |row| sweep.add(&row))?;
    let report = sweep.report(DEVICES_MAX, |clients| {
        let devices = app.control.devices(clients, now).into_iter();
        devices.map(|device| device.mac.is_some()).collect()
    });
    let clients: Vec<IpAddr> = report.devices.iter().map(|device| device.client).collect();
    let names = app.control.devices(&clients, now).into_iter().map(|device| device.name);
    let table = BypassTable::of(report, names.collect(), iso);
    let since = iso(since_ms.max(end.since_ms));
    Ok(BypassTable { range: range.as_str().into(), since, ..table })
}
