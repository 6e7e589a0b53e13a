//! The gateway's pools: how they do, and their servers added, drained, weighed, removed and
//! replaced.
//!
//! Changes last as long as the process; the file is not touched. Behind the guard.

use super::{ApiRequest, ApiState};
use crate::control::{ControlRefusal, PoolChange, PoolServerChange};
use crate::refused::ApiRefusal;
use admin_api::{ApiProblem, NewServer, PoolChangeRequest, PoolList, PoolServersRequest};
use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use http::StatusCode;
use std::sync::Arc;

/// The gateway's pools and their servers.
#[utoipa::path(get, path = "/api/pools", responses(
    (status = 200, body = PoolList), (status = 401, body = ApiProblem)
))]
pub(crate) async fn pools(
    State(app): State<Arc<ApiState>>,
    _asked: ApiRequest,
) -> Result<Json<PoolList>, ApiRefusal> {
    Ok(Json(PoolList { pools: app.ask(|app| app.control.pools()).await? }))
}

/// Adds, removes, drains or weighs a server of a pool, until Tidegate ends or a reload brings other
/// settings for the pool. Answers with the pools as they are then.
#[utoipa::path(post, path = "/api/pools", request_body = PoolChangeRequest, responses(
    (status = 200, body = PoolList),
    (status = 400, body = ApiProblem), (status = 401, body = ApiProblem), (status = 403, body = ApiProblem),
    (status = 409, body = ApiProblem, description = "No such pool or server, or it cannot be so")
))]
pub(crate) async fn change_pool(
    State(app): State<Arc<ApiState>>,
    _asked: ApiRequest,
    sent: Result<Json<PoolChangeRequest>, JsonRejection>,
) -> Result<Json<PoolList>, ApiRefusal> {
    let Json(sent) = sent?;
    change(&app, change_of(sent)?).await
}

/// Puts these servers in place of all that a pool has, at once: blue and green. What is known of
/// those that stay, stays known; what the others work on, they may finish. Lasts as other changes
/// do.
#[utoipa::path(put, path = "/api/pools", request_body = PoolServersRequest, responses(
    (status = 200, body = PoolList),
    (status = 400, body = ApiProblem), (status = 401, body = ApiProblem), (status = 403, body = ApiProblem),
    (status = 409, body = ApiProblem, description = "No such pool, or its servers cannot be these")
))]
pub(crate) async fn replace_servers(
    State(app): State<Arc<ApiState>>,
    _asked: ApiRequest,
    sent: Result<Json<PoolServersRequest>, JsonRejection>,
) -> Result<Json<PoolList>, ApiRefusal> {
    let Json(PoolServersRequest { pool, servers }) = sent?;
    let servers = servers.into_iter().map(NewServer::from).collect();
    change(&app, PoolChange { pool, change: PoolServerChange::Replace(servers) }).await
}

async fn change(app: &Arc<ApiState>, change: PoolChange) -> Result<Json<PoolList>, ApiRefusal> {
    let changed = app.ask(move |app| {
        app.control.change_pool(&change)?;
        Ok(app.control.pools())
    });
    changed.await?.map(|pools| Json(PoolList { pools })).map_err(|why: ControlRefusal| {
        let remedy = "GET /api/pools names every pool and its servers";
        ApiRefusal::new(StatusCode::CONFLICT, why.to_string(), remedy)
    })
}

fn change_of(sent: PoolChangeRequest) -> Result<PoolChange, ApiRefusal> {
    let url = sent.server;
    let change = match sent.action.as_str() {
        "add" => PoolServerChange::Add(NewServer {
            url,
            weight: sent.weight.unwrap_or(1),
            backup: sent.backup,
            max_requests: sent.max_requests,
            drain: false,
            resolve: sent.resolve,
        }),
        "remove" => PoolServerChange::Remove(url),
        "drain" => PoolServerChange::Drain(url),
        "undrain" => PoolServerChange::Undrain(url),
        "weigh" => {
            let weight = sent.weight.ok_or_else(|| {
                let remedy = "send `weight`, a number from 1 to 100";
                ApiRefusal::new(StatusCode::BAD_REQUEST, "weight: it is missing", remedy)
            })?;
            PoolServerChange::SetWeight(url, weight)
        }
        other => {
            return Err(ApiRefusal::unknown_word(
                "action",
                other,
                "add, remove, drain, undrain, weigh",
            ));
        }
    };
    Ok(PoolChange { pool: sent.pool, change })
}
