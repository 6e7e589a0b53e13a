//! A change tried on recorded requests before it is made.
//!
//! Behind the guard. It reads what was sent and has [`crate::ProgramControl`] try it.

use super::list_changes::{check_length, settings_of};
use super::profiles::{NAME_BYTES_MAX, settings_of as item_of};
use super::{ApiRequest, ApiState};
use crate::control::{ItemChange, ItemKind, ListChange, ReplayOrder, TriedChange};
use crate::refused::ApiRefusal;
use admin_api::{ApiProblem, ReplayOutcome, ReplayRequest};
use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use http::StatusCode;
use std::sync::Arc;
use vocab::Now;

/// Time that a replay reaches back where nobody says how far: a week, in seconds.
const SINCE_DEFAULT_S: u64 = 7 * 86_400;

/// Judges recorded requests as they would be with a change, which is not made: whose verdicts would
/// be others, for whom and by which rules. One at a time.
#[utoipa::path(post, path = "/api/replay", request_body = ReplayRequest, responses(
    (status = 200, body = ReplayOutcome),
    (status = 400, body = ApiProblem), (status = 401, body = ApiProblem), (status = 403, body = ApiProblem),
    (status = 409, body = ApiProblem, description = "Another one runs, or the item is set in a file"),
    (status = 422, body = ApiProblem, description = "The change would not be taken: with every complaint")
))]
pub(crate) async fn replay(
    State(app): State<Arc<ApiState>>,
    asked: ApiRequest,
    sent: Result<Json<ReplayRequest>, JsonRejection>,
) -> Result<Json<ReplayOutcome>, ApiRefusal> {
    let Json(sent) = sent?;
    let since_ms = replay_since(sent.since_s, asked.now);
    let order = ReplayOrder { since_ms, change: change_of(sent)? };
    Ok(Json(app.ask(move |app| app.control.replay(&order)).await??))
}

/// The moment that a replay of so many seconds begins at, in milliseconds since 1970; of a week
/// where nobody says how many.
pub(super) fn replay_since(since_s: Option<u64>, now: Now) -> u64 {
    let span_ms = since_s.unwrap_or(SINCE_DEFAULT_S).saturating_mul(1000);
    now.unix_ms.saturating_sub(span_ms)
}

fn change_of(sent: ReplayRequest) -> Result<TriedChange, ApiRefusal> {
    let mut changes = Vec::new();
    if let Some(text) = sent.own_rules {
        check_length(&text)?;
        changes.push(TriedChange::OwnRules(text));
    }
    if let Some(list) = sent.add_list {
        if list.url.is_some() {
            let error = "a list that was not fetched yet cannot be tried";
            let remedy = "add it, switch it off, and try to switch it on";
            return Err(ApiRefusal::new(StatusCode::BAD_REQUEST, error, remedy));
        }
        changes.push(TriedChange::Lists(ListChange::Add(settings_of(list)?)));
    }
    changes.extend(sent.remove_list.map(|name| TriedChange::Lists(ListChange::Remove(name))));
    changes.extend(sent.switch_list.map(|list| {
        let change = if list.on { ListChange::SwitchOn } else { ListChange::SwitchOff };
        TriedChange::Lists(change(list.name))
    }));
    if let Some(update) = sent.profile {
        let edit = ItemChange::Put { was: update.was, item: item_of(update.profile)? };
        changes.push(TriedChange::Item(ItemKind::Profile, edit));
    }
    if let Some(update) = sent.group {
        let edit = ItemChange::Put { was: update.was, item: item_of(update.group)? };
        changes.push(TriedChange::Item(ItemKind::Group, edit));
    }
    let removed = |kind, name| TriedChange::Item(kind, ItemChange::Remove(name));
    let of = |name: Option<String>| name.filter(|name| name.len() <= NAME_BYTES_MAX);
    changes.extend(of(sent.remove_profile).map(|name| removed(ItemKind::Profile, name)));
    changes.extend(of(sent.remove_group).map(|name| removed(ItemKind::Group, name)));
    let only = changes.pop().filter(|_| changes.is_empty());
    only.ok_or_else(|| {
        let remedy = "send exactly one of own_rules, add_list, remove_list, switch_list, profile, \
                      remove_profile, group, remove_group";
        ApiRefusal::new(StatusCode::BAD_REQUEST, "which change is to be tried?", remedy)
    })
}
