//! The stores of what doors fetch over HTTP: how they stand, what is in them, and taking it back.
//!
//! It reads what was sent and has [`crate::ProgramControl`] do it. Behind the guard.

use super::{ApiRequest, ApiState};
use crate::control::{CacheIndexQuery, CacheIndexScope};
use crate::query::CheckedQuery;
use crate::refused::ApiRefusal;
use admin_api::{ApiProblem, CacheIndex, CacheQuery, StoreList, TakeBackRequest, TakenBack};
use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use http::StatusCode;
use std::sync::Arc;

/// The stores of what doors fetch over HTTP.
#[utoipa::path(get, path = "/api/stores", responses(
    (status = 200, body = StoreList), (status = 401, body = ApiProblem)
))]
pub(crate) async fn stores(
    State(app): State<Arc<ApiState>>,
    _asked: ApiRequest,
) -> Result<Json<StoreList>, ApiRefusal> {
    Ok(Json(StoreList { stores: app.ask(|app| app.control.stores()).await? }))
}

/// Sites or URLs of a page, if none are asked for, and at most.
const NAMES_DEFAULT: u32 = 100;
const NAMES_MAX: u32 = 1000;

/// Listing of what is stored, by site or by URL, a page at a time.
#[utoipa::path(get, path = "/api/cache", params(CacheQuery), responses(
    (status = 200, body = CacheIndex),
    (status = 400, body = ApiProblem), (status = 401, body = ApiProblem),
    (status = 409, body = ApiProblem, description = "No door has such a store, or it is being listed for somebody else")
))]
pub(crate) async fn cache_index(
    State(app): State<Arc<ApiState>>,
    _asked: ApiRequest,
    CheckedQuery(query): CheckedQuery<CacheQuery>,
) -> Result<Json<CacheIndex>, ApiRefusal> {
    let scope = match (query.site, query.prefix) {
        (None, None) => CacheIndexScope::Sites,
        (Some(site), None) => CacheIndexScope::Site(site),
        (None, Some(prefix)) => CacheIndexScope::Prefix(prefix),
        (Some(_), Some(_)) => {
            return Err(ApiRefusal::new(
                StatusCode::BAD_REQUEST,
                "prefix: `site` is there too",
                "send one of them",
            ));
        }
    };
    check_door(query.door.as_deref())?;
    let limit = query.limit.unwrap_or(NAMES_DEFAULT).clamp(1, NAMES_MAX) as usize;
    let wanted = CacheIndexQuery { scope, door: query.door, after: query.after, limit };
    let caches = app.ask(move |app| app.control.cache_index(&wanted)).await?.map_err(|why| {
        let remedy = "ask again in a moment, or give a door a cache";
        ApiRefusal::new(StatusCode::CONFLICT, why.to_string(), remedy)
    })?;
    Ok(Json(CacheIndex { caches }))
}

/// Takes stored responses back, so that the origin is asked for them.
#[utoipa::path(post, path = "/api/stores/purge", request_body = TakeBackRequest, responses(
    (status = 200, body = TakenBack),
    (status = 400, body = ApiProblem), (status = 401, body = ApiProblem), (status = 403, body = ApiProblem),
    (status = 409, body = ApiProblem, description = "No door has such a store, or it holds until the next start only")
))]
pub(crate) async fn purge_stores(
    State(app): State<Arc<ApiState>>,
    _asked: ApiRequest,
    sent: Result<Json<TakeBackRequest>, JsonRejection>,
) -> Result<Json<TakenBack>, ApiRefusal> {
    let Json(sent) = sent?;
    check(&sent)?;
    app.ask(move |app| app.control.purge_stores(&sent)).await?.map(Json).map_err(|why| {
        ApiRefusal::new(
            StatusCode::CONFLICT,
            why.to_string(),
            "give a door a cache, or repair its folder",
        )
    })
}

fn check(sent: &TakeBackRequest) -> Result<(), ApiRefusal> {
    let bad = |error: &str, remedy: &str| ApiRefusal::new(StatusCode::BAD_REQUEST, error, remedy);
    match (sent.what.as_str(), sent.value.as_deref()) {
        ("all", None) | ("url" | "prefix" | "host" | "tag", Some(_)) => {}
        // Whoever names something may not mean all.
        ("all", Some(_)) => {
            return Err(bad(
                "value: `all` takes none",
                "leave `value` out, or send another `what`",
            ));
        }
        ("url" | "prefix" | "host" | "tag", None) => {
            return Err(bad("value: it is missing", "send `value`: the URL, prefix, host or tag"));
        }
        (other, _) => {
            return Err(ApiRefusal::unknown_word("what", other, "url, prefix, host, tag, all"));
        }
    }
    check_door(sent.door.as_deref())
}

fn check_door(door: Option<&str>) -> Result<(), ApiRefusal> {
    match door {
        None | Some("proxy" | "gateway") => Ok(()),
        Some(other) => Err(ApiRefusal::unknown_word("door", other, "proxy, gateway")),
    }
}
