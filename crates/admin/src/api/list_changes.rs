//! Lists added, removed and switched; own rules read, looked at and replaced.
//!
//! Behind the guard. It reads what was sent and has [`crate::ProgramControl`] do it.

use super::{ApiRequest, ApiState};
use crate::author::RequestAuthor;
use crate::change_author::ChangeAuthor;
use crate::control::ListChange;
use crate::refused::ApiRefusal;
use admin_api::{
    ApiProblem, ListInfo, ListName, ListSwitch, NewList, OwnRules, OwnRulesUpdate, ReloadOutcome,
    RulesText,
};
use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use http::StatusCode;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Longest text of rules that is taken, in bytes.
const RULES_BYTES_MAX: usize = 1 << 20;
/// Longest name of a list, in bytes.
const NAME_BYTES_MAX: usize = 128;

/// Adds a list to those of the configuration, and puts it in force.
#[utoipa::path(post, path = "/api/lists", request_body = NewList, responses(
    (status = 200, body = ReloadOutcome),
    (status = 400, body = ApiProblem), (status = 401, body = ApiProblem), (status = 403, body = ApiProblem),
    (status = 409, body = ApiProblem), (status = 422, body = ApiProblem, description = "With every complaint")
))]
pub(crate) async fn add_list(
    State(app): State<Arc<ApiState>>,
    RequestAuthor(author): RequestAuthor,
    sent: Result<Json<NewList>, JsonRejection>,
) -> Result<Json<ReloadOutcome>, ApiRefusal> {
    let Json(sent) = sent?;
    change(&app, ListChange::Add(settings_of(sent)?), author).await
}

/// Takes a list away that was added here.
#[utoipa::path(post, path = "/api/lists/remove", request_body = ListName, responses(
    (status = 200, body = ReloadOutcome),
    (status = 400, body = ApiProblem), (status = 401, body = ApiProblem), (status = 403, body = ApiProblem),
    (status = 409, body = ApiProblem, description = "It is set in a file"),
    (status = 422, body = ApiProblem, description = "With every complaint: a profile names it")
))]
pub(crate) async fn remove_list(
    State(app): State<Arc<ApiState>>,
    RequestAuthor(author): RequestAuthor,
    sent: Result<Json<ListName>, JsonRejection>,
) -> Result<Json<ReloadOutcome>, ApiRefusal> {
    let Json(ListName { name }) = sent?;
    change(&app, ListChange::Remove(name), author).await
}

/// Has a list hold, or hold for nobody, wherever it is set.
#[utoipa::path(post, path = "/api/lists/switch", request_body = ListSwitch, responses(
    (status = 200, body = ReloadOutcome),
    (status = 400, body = ApiProblem), (status = 401, body = ApiProblem), (status = 403, body = ApiProblem),
    (status = 409, body = ApiProblem, description = "It is switched off in a file"),
    (status = 422, body = ApiProblem, description = "No such list")
))]
pub(crate) async fn switch_list(
    State(app): State<Arc<ApiState>>,
    RequestAuthor(author): RequestAuthor,
    sent: Result<Json<ListSwitch>, JsonRejection>,
) -> Result<Json<ReloadOutcome>, ApiRefusal> {
    let Json(ListSwitch { name, on }) = sent?;
    change(&app, if on { ListChange::SwitchOn(name) } else { ListChange::SwitchOff(name) }, author)
        .await
}

/// Own rules.
#[utoipa::path(get, path = "/api/rules", responses(
    (status = 200, body = OwnRules), (status = 401, body = ApiProblem), (status = 409, body = ApiProblem)
))]
pub(crate) async fn own_rules(
    State(app): State<Arc<ApiState>>,
    _asked: ApiRequest,
) -> Result<Json<OwnRules>, ApiRefusal> {
    Ok(Json(app.ask(|app| app.control.own_rules()).await??))
}

/// Replaces own rules, and puts them in force.
#[utoipa::path(put, path = "/api/rules", request_body = OwnRulesUpdate, responses(
    (status = 200, body = ReloadOutcome),
    (status = 400, body = ApiProblem), (status = 401, body = ApiProblem), (status = 403, body = ApiProblem),
    (status = 409, body = ApiProblem, description = "They were changed meanwhile"),
    (status = 422, body = ApiProblem, description = "With every complaint")
))]
pub(crate) async fn set_own_rules(
    State(app): State<Arc<ApiState>>,
    RequestAuthor(author): RequestAuthor,
    sent: Result<Json<OwnRulesUpdate>, JsonRejection>,
) -> Result<Json<ReloadOutcome>, ApiRefusal> {
    let Json(sent) = sent?;
    check_length(&sent.text)?;
    Ok(Json(app.ask(move |app| app.control.set_own_rules(&sent, &author)).await??))
}

/// Says of rules what each line is, and puts nothing in force.
#[utoipa::path(post, path = "/api/rules/check", request_body = RulesText, responses(
    (status = 200, body = ListInfo),
    (status = 400, body = ApiProblem), (status = 401, body = ApiProblem), (status = 403, body = ApiProblem)
))]
pub(crate) async fn check_rules(
    State(app): State<Arc<ApiState>>,
    _asked: ApiRequest,
    sent: Result<Json<RulesText>, JsonRejection>,
) -> Result<Json<ListInfo>, ApiRefusal> {
    let Json(RulesText { text }) = sent?;
    check_length(&text)?;
    Ok(Json(app.ask(move |app| app.control.check_rules(&text)).await?))
}

async fn change(
    app: &Arc<ApiState>,
    change: ListChange,
    author: ChangeAuthor,
) -> Result<Json<ReloadOutcome>, ApiRefusal> {
    Ok(Json(app.ask(move |app| app.control.change_lists(&change, &author)).await??))
}

pub(super) fn check_length(text: &str) -> Result<(), ApiRefusal> {
    if text.len() <= RULES_BYTES_MAX {
        return Ok(());
    }
    let error = format!("{} bytes of rules are more than the {RULES_BYTES_MAX} taken", text.len());
    let remedy = "keep them in a file, and name it under policy.lists";
    Err(ApiRefusal::new(StatusCode::BAD_REQUEST, error, remedy))
}

/// The list as `policy.lists` has it. What is wrong with it is told by the configuration's check.
pub(super) fn settings_of(sent: NewList) -> Result<Value, ApiRefusal> {
    let name = sent.name.trim();
    if name.is_empty() || name.len() > NAME_BYTES_MAX || name.chars().any(char::is_control) {
        let error = format!("name: a list has a name of 1 to {NAME_BYTES_MAX} bytes");
        return Err(ApiRefusal::new(StatusCode::BAD_REQUEST, error, "send `name`, as in ads"));
    }
    let mut list = Map::from_iter([("name".to_owned(), Value::from(name))]);
    let texts = [
        ("url", sent.url),
        ("builtin", sent.builtin),
        ("kind", sent.kind),
        ("refresh", sent.refresh),
    ];
    for (key, value) in texts {
        if let Some(value) = value.filter(|value| !value.trim().is_empty()) {
            list.insert(key.into(), value.trim().into());
        }
    }
    if let Some(rules) = sent.rules {
        check_length(&rules)?;
        let lines = rules.lines().map(str::trim).filter(|line| !line.is_empty());
        list.insert("rules".into(), lines.map(Value::from).collect());
    }
    Ok(Value::Object(list))
}
