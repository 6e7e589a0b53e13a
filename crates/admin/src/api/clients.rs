//! Clients that were seen, and what one of them asked for.
//!
//! Behind the guard. The ledger tells what was asked, [`crate::ProgramControl`] whose device it is.

use super::counts::{range, time_point, top_line};
use super::{ApiRequest, ApiState};
use crate::query::CheckedQuery;
use crate::refused::ApiRefusal;
use admin_api::{
    ActivityQuery, ApiProblem, ClientActivity, ClientHold, ClientInfo, ClientTable, DeviceInfo,
    EVERY_NAME, OverrideInfo, RangeQuery,
};
use axum::Json;
use axum::extract::State;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use vocab::iso;
use vocab::{Action, Now};

/// Clients of one answer at most.
const CLIENTS_MAX: usize = 1000;
/// Names of each kind that a client's activity has.
const NAMES_MAX: usize = 10;

/// Clients that were seen, with what is known of them.
#[utoipa::path(get, path = "/api/clients", params(RangeQuery), responses(
    (status = 200, body = ClientTable),
    (status = 400, body = ApiProblem), (status = 401, body = ApiProblem), (status = 503, body = ApiProblem)
))]
pub(crate) async fn clients(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
    CheckedQuery(query): CheckedQuery<RangeQuery>,
) -> Result<Json<ClientTable>, ApiRefusal> {
    let range = range(query.range.as_deref())?;
    let found = app
        .ask(move |app| {
            let page = app.ledger.clients(range, CLIENTS_MAX, asked.now)?;
            Ok::<_, ledger::ReadError>(shape(app, &page, asked.now))
        })
        .await??;
    Ok(Json(found))
}

/// Requests of one client, over time and by name.
#[utoipa::path(get, path = "/api/clients/activity", params(ActivityQuery), responses(
    (status = 200, body = ClientActivity),
    (status = 400, body = ApiProblem), (status = 401, body = ApiProblem), (status = 503, body = ApiProblem)
))]
pub(crate) async fn activity(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
    CheckedQuery(query): CheckedQuery<ActivityQuery>,
) -> Result<Json<ClientActivity>, ApiRefusal> {
    let range = range(query.range.as_deref())?;
    let client: IpAddr = query.client.trim().parse().map_err(|_| {
        ApiRefusal::unknown_word("client", &query.client, "the IP addresses, as in 192.168.1.7")
    })?;
    let client = client.to_canonical();
    let found =
        app.ask(move |app| app.ledger.activity(client, range, NAMES_MAX, asked.now)).await??;
    Ok(Json(ClientActivity {
        client: client.to_string(),
        step_s: found.step_s,
        points: found.points.into_iter().map(time_point).collect(),
        names: found.names.into_iter().map(top_line).collect(),
        blocked: found.blocked.into_iter().map(top_line).collect(),
    }))
}

/// The clients with what the program knows of each.
fn shape(app: &ApiState, page: &ledger::ClientPage, now: Now) -> ClientTable {
    let trust = app.control.trust(now).into_iter().map(|it| (it.client, it.trust));
    let trust: HashMap<String, String> = trust.collect();
    let held = |action: Action| {
        let all = app.control.overrides(action, now).into_iter();
        let all = all.map(move |it| OverrideInfo::of(&it, now)).filter(|it| it.host == EVERY_NAME);
        all.filter_map(move |it| Some((it.client.clone()?, ClientHold::of(&it, action))))
    };
    let held: HashMap<String, ClientHold> = held(Action::Pass).chain(held(Action::Block)).collect();
    let addresses: Vec<IpAddr> = page.lines.iter().map(|line| line.client).collect();
    let devices = app.control.devices(&addresses, now);
    let info = |(line, device): (&ledger::ClientLine, DeviceInfo)| {
        let client = line.client.to_string();
        let trust = trust.get(&client).map_or("unknown", String::as_str).to_owned();
        ClientInfo {
            device,
            requests: line.passed + line.blocked,
            blocked: line.blocked,
            first_at: iso(line.first_ms),
            last_at: iso(line.last_ms),
            trust,
            held: held.get(&client).cloned(),
            client,
        }
    };
    ClientTable { clients: page.lines.iter().zip(devices).map(info).collect(), more: page.more }
}
