//! API tokens: made, listed and ended. Administrators see all, others their own.

use super::{ApiRequest, ApiState};
use crate::caller::ApiCaller;
use crate::refused::ApiRefusal;
use accounts::{TokenOrder, TokenScope};
use admin_api::{ApiProblem, NewToken, TokenMade, TokenName, TokenTable};
use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use http::StatusCode;
use serde::Deserialize;
use std::ops::RangeInclusive;
use std::sync::Arc;
use utoipa::ToSchema;
use vocab::iso;

/// Life of a token that has an end, in days.
const TOKEN_DAYS: RangeInclusive<u32> = 1..=3650;

/// A token by its identifier.
#[derive(Clone, Deserialize, ToSchema)]
pub(crate) struct TokenRemoval {
    /// Identifier.
    id: String,
}

/// API tokens that have not ended.
#[utoipa::path(get, path = "/api/tokens", responses(
    (status = 200, body = TokenTable), (status = 401, body = ApiProblem)
))]
pub(crate) async fn tokens(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
    caller: ApiCaller,
) -> Result<Json<TokenTable>, ApiRefusal> {
    let all = app.gate.credentials.tokens.list(asked.now).into_iter();
    let tokens = all.filter(|it| caller.may_see(it.owner.as_deref())).map(|token| TokenName {
        id: token.id,
        name: token.name,
        scope: token.scope.to_string(),
        owner: token.owner,
        created: iso(token.created_ms),
        expires: token.expires_ms.map(iso),
        last_used: token.used_ms.map(iso),
    });
    Ok(Json(TokenTable { tokens: tokens.collect() }))
}

/// Makes an API token; its text is in the answer and nowhere else.
#[utoipa::path(post, path = "/api/tokens", request_body = NewToken, responses(
    (status = 200, body = TokenMade), (status = 400, body = ApiProblem), (status = 401, body = ApiProblem),
    (status = 403, body = ApiProblem, description = "More than one may oneself"), (status = 409, body = ApiProblem)
))]
pub(crate) async fn make_token(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
    caller: ApiCaller,
    sent: Result<Json<NewToken>, JsonRejection>,
) -> Result<Json<TokenMade>, ApiRefusal> {
    let Json(NewToken { name, scope, days }) = sent?;
    let expected = "metrics, viewer, operator or administrator";
    let parsed = scope.parse::<TokenScope>();
    let scope = parsed.map_err(|_| ApiRefusal::unknown_word("scope", &scope, expected))?;
    if let TokenScope::Role(role) = scope {
        caller.require(role)?;
    }
    if days.is_some_and(|days| !TOKEN_DAYS.contains(&days)) {
        let remedy = "send 1 to 3650 days, or leave `days` out for a token without an end";
        return Err(ApiRefusal::new(StatusCode::BAD_REQUEST, "no such life", remedy));
    }
    let order = TokenOrder { name, scope, owner: caller.user, days };
    let made = app.ask(move |app| app.gate.credentials.tokens.make(order, asked.now)).await??;
    Ok(Json(TokenMade { id: made.0, token: made.1 }))
}

/// Ends an API token.
#[utoipa::path(post, path = "/api/tokens/remove", request_body = TokenRemoval, responses(
    (status = 204, description = "Ended"), (status = 401, body = ApiProblem),
    (status = 403, body = ApiProblem), (status = 404, body = ApiProblem)
))]
pub(crate) async fn remove_token(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
    caller: ApiCaller,
    sent: Result<Json<TokenRemoval>, JsonRejection>,
) -> Result<StatusCode, ApiRefusal> {
    let Json(TokenRemoval { id }) = sent?;
    let all = app.gate.credentials.tokens.list(asked.now);
    if !all.iter().any(|it| it.id == id && caller.may_see(it.owner.as_deref())) {
        return Err(accounts::AccountRefusal::UnknownToken.into());
    }
    app.ask(move |app| app.gate.credentials.tokens.remove(&id)).await??;
    Ok(StatusCode::NO_CONTENT)
}
