//! One's own account: who one is, the password, two-step sign-in.
//!
//! A change that makes an account weaker or stronger wants its password once more: a browser that
//! was left open is not enough.

use super::users::end_sessions_but;
use super::{ApiRequest, ApiState};
use crate::caller::ApiCaller;
use crate::refused::ApiRefusal;
use accounts::{AccountRefusal, TotpChange, UserChange};
use admin_api::{
    ApiProblem, CallerInfo, CodeSent, PasswordChange, PasswordSent, RecoveryCodes, TotpInfo,
};
use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use http::StatusCode;
use passwords::BasicCredentials;
use std::sync::Arc;

/// The caller, and how much that one may.
#[utoipa::path(get, path = "/api/me", responses(
    (status = 200, body = CallerInfo), (status = 401, body = ApiProblem)
))]
pub(crate) async fn me(
    State(app): State<Arc<ApiState>>,
    caller: ApiCaller,
) -> Result<Json<CallerInfo>, ApiRefusal> {
    let user = caller.user.as_deref().and_then(|name| app.gate.credentials.users.get(name));
    Ok(Json(CallerInfo {
        kind: caller.actor().as_str().into(),
        role: caller.role.to_string(),
        totp: user.as_ref().is_some_and(|it| it.has_totp),
        has_password: user.as_ref().is_some_and(|it| it.has_password),
        name: caller.name,
    }))
}

/// Changes one's own password. Ends one's other sessions.
#[utoipa::path(post, path = "/api/me/password", request_body = PasswordChange, responses(
    (status = 204, description = "Changed"), (status = 400, body = ApiProblem), (status = 401, body = ApiProblem),
    (status = 403, body = ApiProblem, description = "The password is wrong"), (status = 429, body = ApiProblem)
))]
pub(crate) async fn change_password(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
    caller: ApiCaller,
    sent: Result<Json<PasswordChange>, JsonRejection>,
) -> Result<StatusCode, ApiRefusal> {
    let Json(PasswordChange { password, new_password }) = sent?;
    let user = proven(&app, &caller, password, asked).await?;
    let change = UserChange { password: Some(new_password), ..UserChange::default() };
    app.ask(move |app| {
        app.gate.credentials.users.update(&user, &change)?;
        end_sessions_but(app, &user, &caller);
        Ok::<_, AccountRefusal>(())
    })
    .await??;
    Ok(StatusCode::NO_CONTENT)
}

/// Begins two-step sign-in: a secret for an authenticator. It holds once it is confirmed.
#[utoipa::path(post, path = "/api/me/totp", request_body = PasswordSent, responses(
    (status = 200, body = TotpInfo), (status = 401, body = ApiProblem),
    (status = 403, body = ApiProblem, description = "The password is wrong"), (status = 429, body = ApiProblem)
))]
pub(crate) async fn begin_totp(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
    caller: ApiCaller,
    sent: Result<Json<PasswordSent>, JsonRejection>,
) -> Result<Json<TotpInfo>, ApiRefusal> {
    let Json(PasswordSent { password }) = sent?;
    let user = proven(&app, &caller, password, asked).await?;
    let offer = app.ask(move |app| app.gate.credentials.users.offer_totp(&user)).await??;
    Ok(Json(TotpInfo { secret: offer.secret, uri: offer.uri, qr_svg: offer.qr_svg }))
}

/// Switches two-step sign-in on by a code of the authenticator, and gives the recovery codes.
#[utoipa::path(post, path = "/api/me/totp/confirm", request_body = CodeSent, responses(
    (status = 200, body = RecoveryCodes), (status = 401, body = ApiProblem),
    (status = 403, body = ApiProblem, description = "The code is wrong"), (status = 409, body = ApiProblem)
))]
pub(crate) async fn confirm_totp(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
    caller: ApiCaller,
    sent: Result<Json<CodeSent>, JsonRejection>,
) -> Result<Json<RecoveryCodes>, ApiRefusal> {
    let Json(CodeSent { code }) = sent?;
    let user = caller.own_user()?.to_owned();
    let confirm =
        move |app: &ApiState| app.gate.credentials.users.confirm_totp(&user, &code, asked.now);
    Ok(Json(RecoveryCodes { recovery_codes: app.ask(confirm).await?? }))
}

/// Switches two-step sign-in off.
#[utoipa::path(post, path = "/api/me/totp/remove", request_body = PasswordSent, responses(
    (status = 204, description = "Off"), (status = 401, body = ApiProblem),
    (status = 403, body = ApiProblem, description = "The password is wrong"), (status = 429, body = ApiProblem)
))]
pub(crate) async fn remove_totp(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
    caller: ApiCaller,
    sent: Result<Json<PasswordSent>, JsonRejection>,
) -> Result<StatusCode, ApiRefusal> {
    let Json(PasswordSent { password }) = sent?;
    let user = proven(&app, &caller, password, asked).await?;
    let change = UserChange { totp: Some(TotpChange::Off), ..UserChange::default() };
    app.ask(move |app| app.gate.credentials.users.update(&user, &change)).await??;
    Ok(StatusCode::NO_CONTENT)
}

/// The caller's user, whose password was sent once more. A wrong one is 403: 401 would sign the
/// browser out.
async fn proven(
    app: &Arc<ApiState>,
    caller: &ApiCaller,
    password: String,
    asked: ApiRequest,
) -> Result<String, ApiRefusal> {
    let user = caller.own_user()?.to_owned();
    let shown = BasicCredentials { user, password: password.into_bytes() };
    match app.gate.credentials.check_password(shown, asked).await {
        Ok(user) => Ok(user.name),
        Err(refused) if refused.status == StatusCode::UNAUTHORIZED => Err(ApiRefusal::new(
            StatusCode::FORBIDDEN,
            "the password is wrong",
            "send the password that you sign in with; an administrator can set another one",
        )),
        Err(refused) => Err(refused),
    }
}
