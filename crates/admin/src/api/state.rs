//! What is: status, lists, upstreams, the CA certificate, metrics, the API's own description.

use super::{ApiRequest, ApiState};
use crate::refused::ApiRefusal;
use admin_api::{
    ApiProblem, ClientsTrust, DnsCacheList, DoorLatency, LedgerHealth, ListOverlaps, ListsInfo,
    ProgramStatus, UpstreamList,
};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use bytes::Bytes;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use http::{HeaderMap, StatusCode};
use ledger::{ReadError, StatisticDimension, StatisticRange, StatisticSeries, StatisticsQuery};
use std::collections::HashMap;
use std::sync::Arc;
use vocab::Now;

/// How the running Tidegate does.
#[utoipa::path(get, path = "/api/status", responses(
    (status = 200, body = ProgramStatus), (status = 401, body = ApiProblem)
))]
pub(crate) async fn status(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
) -> Result<Json<ProgramStatus>, ApiRefusal> {
    let status = app.ask(move |app| {
        let mut running = app.control.running(asked.now);
        let health = app.ledger.health();
        running.warnings.extend(health.warnings);
        let latency = app.ledger.latencies().into_iter().map(|latency| DoorLatency {
            door: latency.door.as_str().into(),
            count: latency.count,
            median_us: latency.median_us,
            p99_us: latency.p99_us,
        });
        ProgramStatus {
            running,
            ledger: LedgerHealth {
                stored: health.stored,
                dropped_queue: health.dropped_queue,
                dropped_store: health.dropped_store,
            },
            latency: latency.collect(),
        }
    });
    Ok(Json(status.await?))
}

/// The lists in force.
#[utoipa::path(get, path = "/api/lists", responses(
    (status = 200, body = ListsInfo), (status = 401, body = ApiProblem)
))]
pub(crate) async fn lists(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
) -> Result<Json<ListsInfo>, ApiRefusal> {
    let lists = app.ask(move |app| {
        let mut lists = app.control.lists();
        // Without the statistics there are lists all the same.
        if let Ok(blocked) = blocked_by_list(app, asked.now) {
            for list in &mut lists {
                list.blocked_7d = Some(blocked.get(&list.name).copied().unwrap_or(0));
            }
        }
        lists
    });
    Ok(Json(ListsInfo { lists: lists.await? }))
}

/// Requests of the last 7 days that each list has blocked.
fn blocked_by_list(app: &ApiState, now: Now) -> Result<HashMap<String, u64>, ReadError> {
    let query = StatisticsQuery {
        range: StatisticRange::Week,
        step: None,
        series: StatisticSeries::All,
        rankings: vec![StatisticDimension::List],
        limit: ledger::LIMIT_MAX,
    };
    let rankings = app.ledger.statistics(&query, now)?.rankings;
    let lines = rankings.into_iter().flat_map(|ranking| ranking.lines);
    Ok(lines.map(|line| (line.key, line.counts.blocked)).collect())
}

/// Overlaps of the lists: names of each that others hold too.
#[utoipa::path(get, path = "/api/lists/overlaps", responses(
    (status = 200, body = ListOverlaps), (status = 401, body = ApiProblem)
))]
pub(crate) async fn overlaps(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
) -> Result<Json<ListOverlaps>, ApiRefusal> {
    Ok(Json(app.ask(move |app| app.control.overlaps(asked.now)).await?))
}

/// The upstream resolvers.
#[utoipa::path(get, path = "/api/upstreams", responses(
    (status = 200, body = UpstreamList), (status = 401, body = ApiProblem)
))]
pub(crate) async fn upstreams(
    State(app): State<Arc<ApiState>>,
    _asked: ApiRequest,
) -> Result<Json<UpstreamList>, ApiRefusal> {
    Ok(Json(UpstreamList { upstreams: app.ask(|app| app.control.upstreams()).await? }))
}

/// The caches of answers to DNS questions.
#[utoipa::path(get, path = "/api/caches", responses(
    (status = 200, body = DnsCacheList), (status = 401, body = ApiProblem)
))]
pub(crate) async fn caches(
    State(app): State<Arc<ApiState>>,
    _asked: ApiRequest,
) -> Result<Json<DnsCacheList>, ApiRefusal> {
    Ok(Json(DnsCacheList { caches: app.ask(|app| app.control.caches()).await? }))
}

/// Clients that trust the certificate authority, as far as handshakes at the pixel door taught.
#[utoipa::path(get, path = "/api/trust", responses(
    (status = 200, body = ClientsTrust), (status = 401, body = ApiProblem)
))]
pub(crate) async fn trust(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
) -> Result<Json<ClientsTrust>, ApiRefusal> {
    let clients = app.ask(move |app| app.control.trust(asked.now)).await?;
    Ok(Json(ClientsTrust { clients }))
}

/// The certificate of the CA, to install on devices. It is public: no token is needed.
#[utoipa::path(get, path = "/api/ca.pem", security(()), responses(
    (status = 200, body = String, content_type = "application/x-pem-file"),
    (status = 404, body = ApiProblem)
))]
pub(crate) async fn ca_pem(State(app): State<Arc<ApiState>>) -> Result<Response, ApiRefusal> {
    let pem = app.ask(|app| app.control.ca_pem()).await?.ok_or_else(|| {
        let remedy = "give the pixel door an https listener";
        ApiRefusal::new(StatusCode::NOT_FOUND, "no door mints certificates", remedy)
    })?;
    let fields = [
        (CONTENT_TYPE, "application/x-pem-file"),
        (CONTENT_DISPOSITION, "attachment; filename=\"tidegate-ca.pem\""),
    ];
    Ok((fields, pem).into_response())
}

/// Counters and histograms, in the text format that Prometheus reads. A scraper sends the token of
/// `admin.metrics-token` in the state folder, which opens this page alone, or the admin's, as
/// `Authorization: Bearer`.
#[utoipa::path(get, path = "/metrics", responses(
    (status = 200, body = String, content_type = "application/openmetrics-text"),
    (status = 401, body = ApiProblem)
))]
pub(crate) async fn metrics(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
    headers: HeaderMap,
) -> Result<Response, ApiRefusal> {
    app.gate.check_metrics_pass(&headers, asked)?;
    page(&app).await
}

/// The page itself, for whoever may read it.
pub(crate) async fn page(app: &Arc<ApiState>) -> Result<Response, ApiRefusal> {
    let page = app.ask(|app| app.ledger.metrics_text(&app.control.metrics())).await?;
    let fields = [(CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")];
    Ok((fields, page).into_response())
}

/// The API's description, as JSON, made once at the start.
#[derive(Clone)]
pub(crate) struct ApiText(pub(crate) Bytes);

/// This description.
#[utoipa::path(get, path = "/api/openapi.json", responses(
    (status = 200, body = Object, content_type = "application/json"),
    (status = 401, body = ApiProblem)
))]
pub(crate) async fn openapi(
    Extension(ApiText(text)): Extension<ApiText>,
    _asked: ApiRequest,
) -> Response {
    ([(CONTENT_TYPE, "application/json")], text).into_response()
}
