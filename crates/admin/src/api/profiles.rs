//! Profiles and groups of clients: shown, made, changed and taken away.
//!
//! Behind the guard. What is wrong with one is told by the configuration's check.

use super::{ApiRequest, ApiState};
use crate::author::RequestAuthor;
use crate::change_author::ChangeAuthor;
use crate::control::{ItemChange, ItemKind, ProfileChange};
use crate::refused::ApiRefusal;
use admin_api::{ApiProblem, GroupUpdate, ItemRemoval, ProfileTable, ProfileUpdate, ReloadOutcome};
use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use http::StatusCode;
use serde_json::Value;
use std::sync::Arc;

/// Longest name of a profile or group, in bytes.
pub(super) const NAME_BYTES_MAX: usize = 128;

/// Profiles and groups, and the lists that they may name.
#[utoipa::path(get, path = "/api/profiles", responses(
    (status = 200, body = ProfileTable), (status = 401, body = ApiProblem), (status = 409, body = ApiProblem)
))]
pub(crate) async fn profiles(
    State(app): State<Arc<ApiState>>,
    _asked: ApiRequest,
) -> Result<Json<ProfileTable>, ApiRefusal> {
    Ok(Json(app.ask(|app| app.control.profiles()).await??))
}

/// Makes a profile, or changes one that was made here, and puts it in force.
#[utoipa::path(put, path = "/api/profiles", request_body = ProfileUpdate, responses(
    (status = 200, body = ReloadOutcome),
    (status = 400, body = ApiProblem), (status = 401, body = ApiProblem), (status = 403, body = ApiProblem),
    (status = 409, body = ApiProblem, description = "Changed meanwhile, or set in a file"),
    (status = 422, body = ApiProblem, description = "With every complaint")
))]
pub(crate) async fn set_profile(
    State(app): State<Arc<ApiState>>,
    RequestAuthor(author): RequestAuthor,
    sent: Result<Json<ProfileUpdate>, JsonRejection>,
) -> Result<Json<ReloadOutcome>, ApiRefusal> {
    let Json(ProfileUpdate { revision, was, profile }) = sent?;
    let edit = ItemChange::Put { was, item: settings_of(profile)? };
    changed(&app, ItemKind::Profile, revision, edit, author).await
}

/// Takes a profile away that was made here: its clients are as everybody else.
#[utoipa::path(post, path = "/api/profiles/remove", request_body = ItemRemoval, responses(
    (status = 200, body = ReloadOutcome),
    (status = 400, body = ApiProblem), (status = 401, body = ApiProblem), (status = 403, body = ApiProblem),
    (status = 409, body = ApiProblem, description = "Changed meanwhile, or set in a file")
))]
pub(crate) async fn remove_profile(
    State(app): State<Arc<ApiState>>,
    RequestAuthor(author): RequestAuthor,
    sent: Result<Json<ItemRemoval>, JsonRejection>,
) -> Result<Json<ReloadOutcome>, ApiRefusal> {
    let Json(ItemRemoval { revision, name }) = sent?;
    changed(&app, ItemKind::Profile, revision, ItemChange::Remove(name), author).await
}

/// Makes a group, or changes one that was made here, and puts it in force.
#[utoipa::path(put, path = "/api/groups", request_body = GroupUpdate, responses(
    (status = 200, body = ReloadOutcome),
    (status = 400, body = ApiProblem), (status = 401, body = ApiProblem), (status = 403, body = ApiProblem),
    (status = 409, body = ApiProblem, description = "Changed meanwhile, or set in a file"),
    (status = 422, body = ApiProblem, description = "With every complaint")
))]
pub(crate) async fn set_group(
    State(app): State<Arc<ApiState>>,
    RequestAuthor(author): RequestAuthor,
    sent: Result<Json<GroupUpdate>, JsonRejection>,
) -> Result<Json<ReloadOutcome>, ApiRefusal> {
    let Json(GroupUpdate { revision, was, group }) = sent?;
    let edit = ItemChange::Put { was, item: settings_of(group)? };
    changed(&app, ItemKind::Group, revision, edit, author).await
}

/// Takes a group away that was made here.
#[utoipa::path(post, path = "/api/groups/remove", request_body = ItemRemoval, responses(
    (status = 200, body = ReloadOutcome),
    (status = 400, body = ApiProblem), (status = 401, body = ApiProblem), (status = 403, body = ApiProblem),
    (status = 409, body = ApiProblem, description = "Changed meanwhile, or set in a file"),
    (status = 422, body = ApiProblem, description = "With every complaint: a profile names it")
))]
pub(crate) async fn remove_group(
    State(app): State<Arc<ApiState>>,
    RequestAuthor(author): RequestAuthor,
    sent: Result<Json<ItemRemoval>, JsonRejection>,
) -> Result<Json<ReloadOutcome>, ApiRefusal> {
    let Json(ItemRemoval { revision, name }) = sent?;
    changed(&app, ItemKind::Group, revision, ItemChange::Remove(name), author).await
}

/// Has the program do it.
async fn changed(
    app: &Arc<ApiState>,
    kind: ItemKind,
    revision: String,
    edit: ItemChange,
    author: ChangeAuthor,
) -> Result<Json<ReloadOutcome>, ApiRefusal> {
    let change = ProfileChange { revision, kind, edit };
    Ok(Json(app.ask(move |app| app.control.change_profiles(&change, &author)).await??))
}

/// The item as the configuration has it: with a name, and without what is empty.
pub(super) fn settings_of(sent: Value) -> Result<Value, ApiRefusal> {
    let item = without_empty(sent);
    let name = item["name"].as_str().unwrap_or_default();
    let is_name = !name.trim().is_empty()
        && name.trim() == name
        && name.len() <= NAME_BYTES_MAX
        && !name.chars().any(char::is_control);
    if is_name {
        return Ok(item);
    }
    let error =
        format!("name: it has a name of 1 to {NAME_BYTES_MAX} bytes, without blanks around");
    Err(ApiRefusal::new(StatusCode::BAD_REQUEST, error, "send `name`, as in kids"))
}

/// The value without what says nothing: null, empty texts, lists without items. An empty `lists`
/// stays, which says that none holds.
fn without_empty(value: Value) -> Value {
    let is_empty = |key: &str, value: &Value| match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty() && key != "lists",
        _ => false,
    };
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .filter(|(key, value)| !is_empty(key, value))
            .map(|(key, value)| (key, without_empty(value)))
            .collect(),
        Value::Array(items) => items.into_iter().map(without_empty).collect(),
        other => other,
    }
}
