//! Entries of the audit log: every change that is asked for, and every sign-in.
//!
//! A change is written down when its answer is known, before it goes out. Called by the guard, by
//! those who sign in, and by the page that lets a name through.

use super::{ApiRequest, ApiState};
use crate::caller::ApiCaller;
use crate::refused::{ApiRefusal, ProblemText};
use accounts::{AuditActor, AuditRecord, redacted};
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde_json::Value;
use std::sync::Arc;

/// Largest body of a change by somebody whom the gate has let in, in bytes: a text of rules.
pub(crate) const CHANGE_BYTES_MAX: usize = (1 << 20) + (64 << 10);
/// Largest body that is read for the log, in bytes; a longer one is told of by its length.
const LOGGED_BYTES_MAX: usize = 256 << 10;

/// Characters that are kept of a name that was tried: users and tokens have no longer ones.
const NAME_LENGTH_MAX: usize = 64;

/// Has a change made, if that is allowed, and writes down who asked and what came of it; of those
/// that are not allowed a few a minute.
pub(crate) async fn record_change(
    app: &Arc<ApiState>,
    asked: ApiRequest,
    caller: ApiCaller,
    allowed: Result<(), ApiRefusal>,
    request: Request,
    next: Next,
) -> Result<Response, ApiRefusal> {
    let (mut parts, body) = request.into_parts();
    let action = format!("{} {}", parts.method, parts.uri.path());
    let too_large = |_| {
        ApiRefusal::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "the body is too large, or was not sent to its end",
            format!("send at most {CHANGE_BYTES_MAX} bytes"),
        )
    };
    let read = to_bytes(body, CHANGE_BYTES_MAX).await.map_err(too_large);
    let logged = read.as_ref().ok().and_then(|bytes| body_of(bytes));
    let is_logged = allowed.is_ok() || app.gate.credentials.is_failure_logged(asked);
    let response = match (allowed, read) {
        (Ok(()), Ok(bytes)) => {
            parts.extensions.insert(caller.clone());
            next.run(Request::from_parts(parts, Body::from(bytes))).await
        }
        (Err(refused), _) | (Ok(()), Err(refused)) => refused.into_response(),
    };
    let done = DeedOutcome {
        status: response.status(),
        error: response.extensions().get().map(|ProblemText(text)| text.to_string()),
    };
    if is_logged {
        let deed = AuditedDeed { action, who: DeedActor::Known(&caller), body: logged };
        append(app, asked, deed, done).await;
    }
    Ok(response)
}

/// A deed that is written down.
pub(crate) struct AuditedDeed<'d> {
    /// Method and path.
    pub(crate) action: String,
    /// Somebody who asked for it.
    pub(crate) who: DeedActor<'d>,
    /// Body of what was asked for, without what is secret.
    pub(crate) body: Option<Value>,
}

/// Somebody who asked for a deed.
pub(crate) enum DeedActor<'d> {
    /// Somebody who was let in.
    Known(&'d ApiCaller),
    /// Nobody who was let in; the name that was tried.
    Tried(&'d str),
}

/// Answer to a deed.
struct DeedOutcome {
    status: StatusCode,
    /// Problem; none if there was none.
    error: Option<String>,
}

/// Writes down a deed: who did it, or why it was not done; of failures a few a minute.
pub(crate) async fn record_deed(
    app: &Arc<ApiState>,
    asked: ApiRequest,
    deed: AuditedDeed<'_>,
    outcome: Result<(), &ApiRefusal>,
) {
    if outcome.is_err() && !app.gate.credentials.is_failure_logged(asked) {
        return;
    }
    let done = match outcome {
        Ok(()) => DeedOutcome { status: StatusCode::NO_CONTENT, error: None },
        Err(refused) => {
            let error = Some(refused.problem.error.clone());
            DeedOutcome { status: refused.status, error }
        }
    };
    append(app, asked, deed, done).await;
}

async fn append(app: &Arc<ApiState>, asked: ApiRequest, deed: AuditedDeed<'_>, done: DeedOutcome) {
    let (kind, who, role) = match deed.who {
        DeedActor::Known(caller) => (caller.actor(), caller.name.as_str(), Some(caller.role)),
        DeedActor::Tried(name) => (AuditActor::Nobody, name, None),
    };
    let record = AuditRecord {
        at_ms: asked.now.unix_ms,
        who: who.chars().take(NAME_LENGTH_MAX).collect(),
        kind,
        role,
        client: asked.client.to_string(),
        action: deed.action,
        body: deed.body,
        status: done.status.as_u16(),
        error: done.error,
    };
    // Where no thread is to be had the change stands all the same.
    let _ = app.ask(move |app| app.gate.credentials.audit.append(record)).await;
}

/// A body as the log keeps it; none of what is no JSON.
fn body_of(bytes: &[u8]) -> Option<Value> {
    if bytes.len() > LOGGED_BYTES_MAX {
        return Some(serde_json::json!({ "bytes": bytes.len() }));
    }
    let value: Value = serde_json::from_slice(bytes).ok()?;
    let is_empty = value.as_object().is_some_and(serde_json::Map::is_empty);
    (!is_empty).then(|| redacted(&value))
}
