//! Letting a name through, for a while or until that is taken back.
//!
//! Never a whole top-level domain. Behind the guard; the page for people asks here too.

use super::{ApiRequest, ApiState};
use crate::control::NameAllow;
use crate::model::{AllowInfo, AllowList, AllowMinutes, AllowRequest, ApiProblem, RevokeRequest};
use crate::refused::ApiRefusal;
use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use http::StatusCode;
use std::net::IpAddr;
use std::sync::Arc;
use vocab::{DomainName, Now};

/// Longest leave that ends by itself, in minutes: a day, as with a pause.
const MINUTES_MAX: u32 = 1440;

/// Lets a name and all below it through, for all clients or for one, for a while or until that is
/// revoked.
#[utoipa::path(post, path = "/api/allow", request_body = AllowRequest, responses(
    (status = 200, body = AllowInfo),
    (status = 400, body = ApiProblem), (status = 401, body = ApiProblem), (status = 403, body = ApiProblem),
    (status = 409, body = ApiProblem, description = "As many are let through as may be")
))]
pub(crate) async fn allow(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
    sent: Result<Json<AllowRequest>, JsonRejection>,
) -> Result<Json<AllowInfo>, ApiRefusal> {
    let Json(sent) = sent?;
    let grant = parse_allow(&sent, asked.now)?;
    allowed(&app, grant, asked.now).await.map(Json)
}

/// What is let through, and until when.
#[utoipa::path(get, path = "/api/allows", responses(
    (status = 200, body = AllowList), (status = 401, body = ApiProblem)
))]
pub(crate) async fn allows(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
) -> Result<Json<AllowList>, ApiRefusal> {
    Ok(Json(AllowList { allows: app.ask(move |app| app.control.allows(asked.now)).await? }))
}

/// Ends it now.
#[utoipa::path(post, path = "/api/revoke", request_body = RevokeRequest, responses(
    (status = 200, body = AllowList, description = "With what is still let through"),
    (status = 400, body = ApiProblem), (status = 401, body = ApiProblem), (status = 403, body = ApiProblem),
    (status = 404, body = ApiProblem)
))]
pub(crate) async fn revoke(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
    sent: Result<Json<RevokeRequest>, JsonRejection>,
) -> Result<Json<AllowList>, ApiRefusal> {
    let Json(sent) = sent?;
    let (host, client) = (host(&sent.host)?, client(sent.client.as_deref())?);
    revoked(&app, host, client, asked.now).await?;
    Ok(Json(AllowList { allows: app.ask(move |app| app.control.allows(asked.now)).await? }))
}

/// Has the program let it through.
pub(crate) async fn allowed(
    app: &Arc<ApiState>,
    grant: NameAllow,
    now: Now,
) -> Result<AllowInfo, ApiRefusal> {
    let allow = AllowInfo {
        client: grant.client.map(|client| client.to_string()),
        ..AllowInfo::of(grant.host.to_string(), grant.until_unix_ms, now.unix_ms)
    };
    let done = app.ask(move |app| app.control.allow(&grant, now)).await?;
    done.map_err(|why| {
        ApiRefusal::new(
            StatusCode::CONFLICT,
            why.to_string(),
            "`tidegate ctl allows` shows them all",
        )
    })?;
    Ok(allow)
}

/// Has the program end it.
pub(crate) async fn revoked(
    app: &Arc<ApiState>,
    host: DomainName,
    client: Option<IpAddr>,
    now: Now,
) -> Result<(), ApiRefusal> {
    let error = format!("{host} is not let through for {}", clients_name(client));
    if app.ask(move |app| app.control.revoke(&host, client, now)).await? {
        return Ok(());
    }
    let remedy = "ask /api/allows what is; a leave for one client is ended with its address";
    Err(ApiRefusal::new(StatusCode::NOT_FOUND, error, remedy))
}

/// Reads what was asked for.
pub(crate) fn parse_allow(sent: &AllowRequest, now: Now) -> Result<NameAllow, ApiRefusal> {
    let (host, client) = (host(&sent.host)?, client(sent.client.as_deref())?);
    let until_unix_ms = match &sent.minutes {
        AllowMinutes::Count(minutes @ 1..=MINUTES_MAX) => {
            Some(now.unix_ms + u64::from(*minutes) * 60_000)
        }
        AllowMinutes::Count(minutes) => {
            return Err(ApiRefusal::new(
                StatusCode::BAD_REQUEST,
                format!("{minutes} minutes is no length of a leave"),
                format!("send 1 to {MINUTES_MAX} minutes, or \"always\""),
            ));
        }
        AllowMinutes::Word(word) if word == "always" => None,
        AllowMinutes::Word(word) => {
            return Err(ApiRefusal::unknown_word(
                "minutes",
                word,
                "a number of minutes, \"always\"",
            ));
        }
    };
    Ok(NameAllow { host, client, until_unix_ms })
}

/// The rule that lets a name through as well, for who keeps such things in the configuration.
pub(crate) fn rule(host: &DomainName, client: Option<IpAddr>) -> String {
    match client {
        None => format!("@@||{host}^"),
        Some(client) => format!("@@||{host}^$client={client}"),
    }
}

/// A name that may be let through.
pub(crate) fn host(text: &str) -> Result<DomainName, ApiRefusal> {
    let shown: String = text.chars().take(128).collect();
    let name = DomainName::parse(text.trim()).map_err(|why| {
        let error = format!("host: {shown:?} is no name: {why}");
        ApiRefusal::new(StatusCode::BAD_REQUEST, error, "send a name as in shop.example")
    })?;
    if name.as_str().contains('.') {
        return Ok(name);
    }
    // All below it would pass: half of the world, for a click.
    Err(ApiRefusal::new(
        StatusCode::BAD_REQUEST,
        format!("host: {shown:?} is a top-level domain"),
        "name a host below it; `tidegate ctl pause` lets everything pass",
    ))
}

/// The client it is for; for all if there is none.
pub(crate) fn client(text: Option<&str>) -> Result<Option<IpAddr>, ApiRefusal> {
    let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else { return Ok(None) };
    let parsed = text.parse().map(|client: IpAddr| Some(client.to_canonical()));
    parsed.map_err(|_| {
        ApiRefusal::unknown_word("client", text, "the IP addresses, as in 192.168.1.7")
    })
}

fn clients_name(client: Option<IpAddr>) -> String {
    client.map_or_else(|| "all clients".into(), |client| client.to_string())
}
