//! What can be changed while it runs: reload, pause, resume, purge, lists fetched anew.
//!
//! It changes nothing itself: it reads what was sent and has [`crate::ProgramControl`] do it.
//! Behind the guard, which wants the token and our own origin of every change.

use super::{ApiRequest, ApiState};
use crate::control::DnsCachePurge;
use crate::refused::ApiRefusal;
use admin_api::{
    ApiProblem, ListUpdateOutcome, PauseRequest, PauseState, PurgeOutcome, PurgeRequest,
    ReloadOutcome, UpdateRequest,
};
use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use http::StatusCode;
use ledger::RowsCleared;
use std::sync::Arc;
use vocab::DomainName;
use vocab::iso;

/// Longest pause: a day. Who forgets one should not stand unprotected for ever.
const PAUSE_SECONDS_MAX: u64 = 86_400;

/// Reads the configuration and all lists anew and swaps them in. A wrong one changes nothing.
#[utoipa::path(post, path = "/api/reload", responses(
    (status = 200, body = ReloadOutcome),
    (status = 401, body = ApiProblem), (status = 403, body = ApiProblem),
    (status = 422, body = ApiProblem, description = "With every complaint")
))]
pub(crate) async fn reload(
    State(app): State<Arc<ApiState>>,
    _asked: ApiRequest,
) -> Result<Json<ReloadOutcome>, ApiRefusal> {
    app.ask(|app| app.control.reload()).await?.map(Json).map_err(|complaints| {
        let mut refused = ApiRefusal::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "the configuration was not taken; what ran before goes on",
            "correct what the complaints say (`tidegate check` shows the same), then reload",
        );
        refused.problem.complaints = complaints;
        refused
    })
}

/// Fetches lists that have a URL, unless they are as they were, and swaps them in. A list that
/// cannot be fetched, or that is no list, stays what it was.
#[utoipa::path(post, path = "/api/lists/update", request_body = UpdateRequest, responses(
    (status = 200, body = ListUpdateOutcome),
    (status = 400, body = ApiProblem), (status = 401, body = ApiProblem), (status = 403, body = ApiProblem),
    (status = 409, body = ApiProblem, description = "No such list, or too many ask for it")
))]
pub(crate) async fn update_lists(
    State(app): State<Arc<ApiState>>,
    _asked: ApiRequest,
    sent: Result<Json<UpdateRequest>, JsonRejection>,
) -> Result<Json<ListUpdateOutcome>, ApiRefusal> {
    let Json(which) = sent?;
    app.ask(move |app| app.control.update_lists(&which)).await?.map(Json).map_err(|why| {
        let remedy = "send `list`, the name of a list that has a url, or leave it out";
        ApiRefusal::new(StatusCode::CONFLICT, why.to_string(), remedy)
    })
}

/// Lets everything pass for some time.
#[utoipa::path(post, path = "/api/pause", request_body = PauseRequest, responses(
    (status = 200, body = PauseState),
    (status = 400, body = ApiProblem), (status = 401, body = ApiProblem), (status = 403, body = ApiProblem)
))]
pub(crate) async fn pause(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
    sent: Result<Json<PauseRequest>, JsonRejection>,
) -> Result<Json<PauseState>, ApiRefusal> {
    let Json(PauseRequest { seconds }) = sent?;
    if !(1..=PAUSE_SECONDS_MAX).contains(&seconds) {
        return Err(ApiRefusal::new(
            StatusCode::BAD_REQUEST,
            format!("{seconds} s is no length of a pause"),
            format!("send 1 to {PAUSE_SECONDS_MAX} seconds"),
        ));
    }
    set_pause(&app, asked, asked.now.unix_ms + seconds * 1000).await
}

/// Ends a pause.
#[utoipa::path(post, path = "/api/resume", responses(
    (status = 200, body = PauseState),
    (status = 401, body = ApiProblem), (status = 403, body = ApiProblem)
))]
pub(crate) async fn resume(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
) -> Result<Json<PauseState>, ApiRefusal> {
    set_pause(&app, asked, 0).await
}

/// Forgets answers to DNS questions, in every cache: the next such question goes to an upstream.
#[utoipa::path(post, path = "/api/purge", request_body = PurgeRequest, responses(
    (status = 200, body = PurgeOutcome),
    (status = 400, body = ApiProblem), (status = 401, body = ApiProblem), (status = 403, body = ApiProblem)
))]
pub(crate) async fn purge(
    State(app): State<Arc<ApiState>>,
    _asked: ApiRequest,
    sent: Result<Json<PurgeRequest>, JsonRejection>,
) -> Result<Json<PurgeOutcome>, ApiRefusal> {
    let Json(sent) = sent?;
    let what = purge_of(&sent)?;
    Ok(Json(PurgeOutcome { answers: app.ask(move |app| app.control.purge(&what)).await? }))
}

/// Deletes every row of the request log; sums and statistics stay.
#[utoipa::path(post, path = "/api/requests/clear", responses(
    (status = 204), (status = 401, body = ApiProblem), (status = 403, body = ApiProblem),
    (status = 503, body = ApiProblem, description = "The ledger is not open, or is being converted")
))]
pub(crate) async fn clear_requests(
    State(app): State<Arc<ApiState>>,
    _asked: ApiRequest,
) -> Result<StatusCode, ApiRefusal> {
    match app.ask(|app| app.ledger.clear()).await? {
        RowsCleared::All => Ok(StatusCode::NO_CONTENT),
        RowsCleared::NotNow => Err(ApiRefusal::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "the rows cannot be deleted now: the ledger is not open, another process has it, or it is being converted",
            "look at the warnings of /api/status, then ask again",
        )),
    }
}

fn purge_of(sent: &PurgeRequest) -> Result<DnsCachePurge, ApiRefusal> {
    let bad = |error: String, remedy: &str| ApiRefusal::new(StatusCode::BAD_REQUEST, error, remedy);
    let named = |what: fn(DomainName) -> DnsCachePurge| {
        let name = sent.name.as_deref().unwrap_or_default();
        let parsed = DomainName::parse(name);
        parsed.map(what).map_err(|why| bad(format!("name: {why}"), "send `name`, a domain name"))
    };
    match (sent.what.as_str(), &sent.name) {
        ("all", None) => Ok(DnsCachePurge::All),
        // Whoever names a name may not mean all.
        ("all", Some(_)) => Err(bad(
            "name: `all` takes none".into(),
            "leave `name` out, or send `what`: `name` or `suffix`",
        )),
        ("name", _) => named(DnsCachePurge::Name),
        ("suffix", _) => named(DnsCachePurge::Suffix),
        (other, _) => Err(ApiRefusal::unknown_word("what", other, "name, suffix, all")),
    }
}

async fn set_pause(
    app: &Arc<ApiState>,
    asked: ApiRequest,
    until: u64,
) -> Result<Json<PauseState>, ApiRefusal> {
    let until = app.ask(move |app| {
        app.control.pause_until(until);
        app.control.paused_until()
    });
    let until = until.await?;
    Ok(Json(PauseState { paused_until: (until > asked.now.unix_ms).then(|| iso(until)) }))
}
