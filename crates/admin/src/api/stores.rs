//! The stores of what doors fetch over HTTP: how they stand, and taking back what is in them.
//!
//! It reads what was sent and has [`crate::ProgramControl`] do it. Behind the guard.

use super::{ApiRequest, ApiState};
use crate::model::{ApiProblem, StoreList, TakeBackRequest, TakenBack};
use crate::refused::ApiRefusal;
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
    match sent.door.as_deref() {
        None | Some("proxy" | "gateway") => Ok(()),
        Some(other) => Err(ApiRefusal::unknown_word("door", other, "proxy, gateway")),
    }
}
