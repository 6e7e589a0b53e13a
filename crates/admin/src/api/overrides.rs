//! Names that are allowed or blocked by hand, for a while or until that is taken back.
//!
//! Never a whole top-level domain. Behind the guard; the page for people asks here too.

use super::{ApiRequest, ApiState};
use crate::control::OverrideKey;
use crate::refused::ApiRefusal;
use admin_api::{
    AllowList, ApiProblem, BlockList, EVERY_NAME, EndOverrideRequest, OverrideInfo,
    OverrideMinutes, OverrideRequest,
};
use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use http::StatusCode;
use policy::{NameOverride, OverrideClients, OverrideEnd};
use std::net::IpAddr;
use std::sync::Arc;
use vocab::{Action, DomainName, Now};

/// Longest override that ends by itself, in minutes: a day, as with a pause.
const MINUTES_MAX: u32 = 1440;
/// Longest name of a profile that is taken, in bytes.
const PROFILE_BYTES_MAX: usize = 256;

/// Lets a name and all below it through, for all clients, a profile or one client, for a while or
/// until that is revoked.
#[utoipa::path(post, path = "/api/allow", request_body = OverrideRequest, responses(
    (status = 200, body = OverrideInfo),
    (status = 400, body = ApiProblem), (status = 401, body = ApiProblem), (status = 403, body = ApiProblem),
    (status = 409, body = ApiProblem, description = "As many as may be, or no such profile")
))]
pub(crate) async fn allow(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
    sent: Result<Json<OverrideRequest>, JsonRejection>,
) -> Result<Json<OverrideInfo>, ApiRefusal> {
    let Json(sent) = sent?;
    let order = parse_order(Action::Pass, &sent, asked.now)?;
    ordered(&app, order, asked.now).await.map(Json)
}

/// Names that are let through, and until when.
#[utoipa::path(get, path = "/api/allows", responses(
    (status = 200, body = AllowList), (status = 401, body = ApiProblem)
))]
pub(crate) async fn allows(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
) -> Result<Json<AllowList>, ApiRefusal> {
    Ok(Json(AllowList { allows: held(&app, Action::Pass, asked.now).await? }))
}

/// Ends what was let through.
#[utoipa::path(post, path = "/api/revoke", request_body = EndOverrideRequest, responses(
    (status = 200, body = AllowList, description = "With what is still let through"),
    (status = 400, body = ApiProblem), (status = 401, body = ApiProblem), (status = 403, body = ApiProblem),
    (status = 404, body = ApiProblem)
))]
pub(crate) async fn revoke(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
    sent: Result<Json<EndOverrideRequest>, JsonRejection>,
) -> Result<Json<AllowList>, ApiRefusal> {
    let Json(sent) = sent?;
    ended(&app, key(Action::Pass, &sent)?, asked.now).await?;
    Ok(Json(AllowList { allows: held(&app, Action::Pass, asked.now).await? }))
}

/// Blocks a name and all below it, for all clients, a profile or one client, for a while or until
/// that is taken back.
#[utoipa::path(post, path = "/api/block", request_body = OverrideRequest, responses(
    (status = 200, body = OverrideInfo),
    (status = 400, body = ApiProblem), (status = 401, body = ApiProblem), (status = 403, body = ApiProblem),
    (status = 409, body = ApiProblem, description = "As many as may be, or no such profile")
))]
pub(crate) async fn block(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
    sent: Result<Json<OverrideRequest>, JsonRejection>,
) -> Result<Json<OverrideInfo>, ApiRefusal> {
    let Json(sent) = sent?;
    let order = parse_order(Action::Block, &sent, asked.now)?;
    ordered(&app, order, asked.now).await.map(Json)
}

/// Names that are blocked by hand, and until when.
#[utoipa::path(get, path = "/api/blocks", responses(
    (status = 200, body = BlockList), (status = 401, body = ApiProblem)
))]
pub(crate) async fn blocks(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
) -> Result<Json<BlockList>, ApiRefusal> {
    Ok(Json(BlockList { blocks: held(&app, Action::Block, asked.now).await? }))
}

/// Ends what was blocked by hand.
#[utoipa::path(post, path = "/api/unblock", request_body = EndOverrideRequest, responses(
    (status = 200, body = BlockList, description = "With what is still blocked"),
    (status = 400, body = ApiProblem), (status = 401, body = ApiProblem), (status = 403, body = ApiProblem),
    (status = 404, body = ApiProblem)
))]
pub(crate) async fn unblock(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
    sent: Result<Json<EndOverrideRequest>, JsonRejection>,
) -> Result<Json<BlockList>, ApiRefusal> {
    let Json(sent) = sent?;
    ended(&app, key(Action::Block, &sent)?, asked.now).await?;
    Ok(Json(BlockList { blocks: held(&app, Action::Block, asked.now).await? }))
}

/// Overrides with this outcome, as they are shown.
pub(crate) async fn held(
    app: &Arc<ApiState>,
    action: Action,
    now: Now,
) -> Result<Vec<OverrideInfo>, ApiRefusal> {
    let held = app.ask(move |app| app.control.overrides(action, now)).await?;
    Ok(held.iter().map(|it| OverrideInfo::of(it, now)).collect())
}

/// Has the program do it.
pub(crate) async fn ordered(
    app: &Arc<ApiState>,
    made: NameOverride,
    now: Now,
) -> Result<OverrideInfo, ApiRefusal> {
    let info = OverrideInfo::of(&made, now);
    let done = app.ask(move |app| app.control.set_override(made, now)).await?;
    done.map_err(|why| {
        ApiRefusal::new(
            StatusCode::CONFLICT,
            why.to_string(),
            "`tidegate ctl allows` and `tidegate ctl blocks` show them all",
        )
    })?;
    Ok(info)
}

/// Has the program end it.
pub(crate) async fn ended(
    app: &Arc<ApiState>,
    key: OverrideKey,
    now: Now,
) -> Result<(), ApiRefusal> {
    let (done, place) = match key.action {
        Action::Pass => ("let through", "/api/allows"),
        Action::Block => ("blocked by hand", "/api/blocks"),
    };
    let host = key.host.as_ref().map_or("everything", DomainName::as_str);
    let error = format!("{host} is not {done} for {}", clients_text(&key.clients));
    if app.ask(move |app| app.control.end_override(&key, now)).await? {
        return Ok(());
    }
    let remedy = format!("ask {place} what is; one for a client or profile is ended with its name");
    Err(ApiRefusal::new(StatusCode::NOT_FOUND, error, remedy))
}

/// Reads what was asked for.
pub(crate) fn parse_order(
    action: Action,
    sent: &OverrideRequest,
    now: Now,
) -> Result<NameOverride, ApiRefusal> {
    let clients = clients(sent.client.as_deref(), sent.profile.as_deref())?;
    let host = host_or_all(&sent.host, &clients)?;
    let until = match &sent.minutes {
        OverrideMinutes::Count(minutes @ 1..=MINUTES_MAX) => {
            OverrideEnd::Time(now.unix_ms + u64::from(*minutes) * 60_000)
        }
        OverrideMinutes::Count(minutes) => {
            return Err(ApiRefusal::new(
                StatusCode::BAD_REQUEST,
                format!("{minutes} minutes is no time for this"),
                format!("send 1 to {MINUTES_MAX} minutes, or \"always\""),
            ));
        }
        OverrideMinutes::Word(word) if word == "always" => OverrideEnd::Revoked,
        OverrideMinutes::Word(word) => {
            return Err(ApiRefusal::unknown_word(
                "minutes",
                word,
                "a number of minutes, \"always\"",
            ));
        }
    };
    Ok(NameOverride { action, host, clients, until })
}

fn key(action: Action, sent: &EndOverrideRequest) -> Result<OverrideKey, ApiRefusal> {
    let clients = clients(sent.client.as_deref(), sent.profile.as_deref())?;
    let host = host_or_all(&sent.host, &clients)?;
    Ok(OverrideKey { action, host, clients })
}

/// The rule that lets a name through as well, for who keeps such things in the configuration.
pub(crate) fn rule(host: &DomainName, client: Option<IpAddr>) -> String {
    match client {
        None => format!("@@||{host}^"),
        Some(client) => format!("@@||{host}^$client={client}"),
    }
}

/// A name that may be allowed or blocked; none for everything.
fn host_or_all(text: &str, clients: &OverrideClients) -> Result<Option<DomainName>, ApiRefusal> {
    if text.trim() != EVERY_NAME {
        return host(text).map(Some);
    }
    if *clients != OverrideClients::Everyone {
        return Ok(None);
    }
    let error = "host: everything, for everybody, is more than is done for a name";
    let remedy = "name a client or a profile; `tidegate ctl pause` lets everything pass";
    Err(ApiRefusal::new(StatusCode::BAD_REQUEST, error, remedy))
}

/// A name that may be allowed or blocked.
pub(crate) fn host(text: &str) -> Result<DomainName, ApiRefusal> {
    let shown: String = text.chars().take(128).collect();
    let name = DomainName::parse(text.trim()).map_err(|why| {
        let error = format!("host: {shown:?} is no name: {why}");
        ApiRefusal::new(StatusCode::BAD_REQUEST, error, "send a name as in shop.example")
    })?;
    if name.as_str().contains('.') {
        return Ok(name);
    }
    // All below it would go with it: half of the world, for a click.
    Err(ApiRefusal::new(
        StatusCode::BAD_REQUEST,
        format!("host: {shown:?} is a top-level domain"),
        "name a host below it; `tidegate ctl pause` lets everything pass",
    ))
}

/// The clients that an override is for.
fn clients(client: Option<&str>, profile: Option<&str>) -> Result<OverrideClients, ApiRefusal> {
    let named = profile.filter(|profile| !profile.is_empty());
    match (self::client(client)?, named) {
        (None, None) => Ok(OverrideClients::Everyone),
        (Some(address), None) => Ok(OverrideClients::Address(address)),
        (None, Some(profile)) if profile.len() <= PROFILE_BYTES_MAX => {
            Ok(OverrideClients::Profile(profile.to_owned()))
        }
        (_, Some(_)) => Err(ApiRefusal::new(
            StatusCode::BAD_REQUEST,
            "client and profile exclude each other, and a name of a profile is short",
            "send the address of a client or the name of a profile",
        )),
    }
}

fn clients_text(clients: &OverrideClients) -> String {
    match clients {
        OverrideClients::Everyone => "all clients".into(),
        OverrideClients::Address(address) => address.to_string(),
        OverrideClients::Profile(name) => format!("the profile {name:?}"),
    }
}

/// The client it is for; for all if there is none.
pub(crate) fn client(text: Option<&str>) -> Result<Option<IpAddr>, ApiRefusal> {
    let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else { return Ok(None) };
    let parsed = text.parse().map(|client: IpAddr| Some(client.to_canonical()));
    parsed.map_err(|_| {
        ApiRefusal::unknown_word("client", text, "the IP addresses, as in 192.168.1.7")
    })
}
