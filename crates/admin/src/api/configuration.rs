//! The configuration's files: shown, judged, changed together, and what was changed before.
//!
//! Behind the guard; all of it is for administrators, because texts are shown with the secrets that
//! stand in them. What is right, and how it is written, is [`crate::ConfigurationFiles`]'s to say.

use super::replay::replay_since;
use super::{ApiRequest, ApiState};
use crate::author::RequestAuthor;
use crate::change_author::ChangeAuthor;
use crate::configuration::{ConfigurationFiles, FilesRefusal};
use crate::control::SettingsRefusal;
use crate::refused::ApiRefusal;
use admin_api::{
    ApiProblem, ApplyOutcome, ApplyRequest, ChangeDetails, ChangeList, CheckDraft, CheckedDraft,
    ConfigFileList, EditDraft, EditedDraft, FilesProblem, PlacedProblem, ReplayDraft,
    ReplayOutcome, RestoreRequest,
};
use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Files in one request: as many as a configuration may include, and two.
const FILES_MAX: usize = 258;
/// Changes, and settings looked up, in one request.
const EDITS_MAX: usize = 64;
/// Longest reason, in characters.
const WHY_CHARS_MAX: usize = 400;

/// Routes of the configuration's files.
pub(crate) fn routes() -> OpenApiRouter<Arc<ApiState>> {
    OpenApiRouter::new()
        .routes(routes!(files))
        .routes(routes!(schema))
        .routes(routes!(check))
        .routes(routes!(replay))
        .routes(routes!(edit))
        .routes(routes!(apply))
        .routes(routes!(history))
        .routes(routes!(change))
        .routes(routes!(restore))
}

/// The files of the running configuration with their texts, secrets included.
#[utoipa::path(get, path = "/api/configuration/files", responses(
    (status = 200, body = ConfigFileList), (status = 401, body = ApiProblem)
))]
pub(crate) async fn files(
    State(app): State<Arc<ApiState>>,
    _author: RequestAuthor,
) -> Result<Json<ConfigFileList>, ApiRefusal> {
    Ok(Json(app.ask(|app| app.configuration.files()).await?))
}

/// The JSON Schema of a configuration, as `tidegate schema` prints it.
#[utoipa::path(get, path = "/api/configuration/schema", responses(
    (status = 200, body = Object), (status = 401, body = ApiProblem)
))]
pub(crate) async fn schema(
    State(app): State<Arc<ApiState>>,
    _author: RequestAuthor,
) -> Json<&'static serde_json::Value> {
    Json(app.configuration.schema())
}

/// Judges texts of the configuration's files as `tidegate check` does, and says what would change.
/// Touches nothing.
#[utoipa::path(post, path = "/api/configuration/check", request_body = CheckDraft, responses(
    (status = 200, body = CheckedDraft),
    (status = 400, body = ApiProblem), (status = 401, body = ApiProblem), (status = 403, body = ApiProblem),
    (status = 404, body = ApiProblem, description = "No such file in the running configuration"),
    (status = 413, body = ApiProblem)
))]
pub(crate) async fn check(
    State(app): State<Arc<ApiState>>,
    _author: RequestAuthor,
    sent: Result<Json<CheckDraft>, JsonRejection>,
) -> Result<Json<CheckedDraft>, FilesAnswer> {
    let Json(sent) = sent.map_err(ApiRefusal::from)?;
    check_count("files", sent.files.len(), FILES_MAX)?;
    asked(&app, move |files| files.check(&sent)).await
}

/// Judges recorded requests as they would be with these texts, which stay unwritten; one at a time.
#[utoipa::path(post, path = "/api/configuration/replay", request_body = ReplayDraft, responses(
    (status = 200, body = ReplayOutcome),
    (status = 400, body = ApiProblem), (status = 401, body = ApiProblem), (status = 403, body = ApiProblem),
    (status = 404, body = ApiProblem, description = "No such file in the running configuration"),
    (status = 409, body = ApiProblem, description = "Another one runs"),
    (status = 413, body = ApiProblem), (status = 422, body = FilesProblem, description = "With every complaint")
))]
pub(crate) async fn replay(
    State(app): State<Arc<ApiState>>,
    request: ApiRequest,
    _author: RequestAuthor,
    sent: Result<Json<ReplayDraft>, JsonRejection>,
) -> Result<Json<ReplayOutcome>, FilesAnswer> {
    let Json(sent) = sent.map_err(ApiRefusal::from)?;
    check_count("files", sent.files.len(), FILES_MAX)?;
    let since_ms = replay_since(sent.since_s, request.now);
    asked(&app, move |files| files.replay(&sent, since_ms)).await
}

/// Changes settings in texts where they are written, comments and order kept, and says where.
/// Touches nothing.
#[utoipa::path(post, path = "/api/configuration/edit", request_body = EditDraft, responses(
    (status = 200, body = EditedDraft),
    (status = 400, body = ApiProblem), (status = 401, body = ApiProblem), (status = 403, body = ApiProblem),
    (status = 404, body = ApiProblem, description = "No such file in the running configuration"),
    (status = 413, body = ApiProblem), (status = 422, body = FilesProblem, description = "A text is no YAML")
))]
pub(crate) async fn edit(
    State(app): State<Arc<ApiState>>,
    _author: RequestAuthor,
    sent: Result<Json<EditDraft>, JsonRejection>,
) -> Result<Json<EditedDraft>, FilesAnswer> {
    let Json(sent) = sent.map_err(ApiRefusal::from)?;
    check_count("files", sent.files.len(), FILES_MAX)?;
    check_count("changes", sent.changes.len(), EDITS_MAX)?;
    check_count("read", sent.read.len(), EDITS_MAX)?;
    asked(&app, move |files| files.edit(&sent)).await
}

/// Writes files of the configuration, all or none, and takes them over as a reload does. What a
/// reload would refuse changes nothing.
#[utoipa::path(post, path = "/api/configuration/apply", request_body = ApplyRequest, responses(
    (status = 200, body = ApplyOutcome),
    (status = 400, body = ApiProblem), (status = 401, body = ApiProblem), (status = 403, body = ApiProblem),
    (status = 404, body = ApiProblem, description = "No such file in the running configuration"),
    (status = 409, body = FilesProblem, description = "A file was changed meanwhile, cannot be written, or something must be confirmed"),
    (status = 413, body = ApiProblem), (status = 422, body = FilesProblem, description = "With every complaint")
))]
pub(crate) async fn apply(
    State(app): State<Arc<ApiState>>,
    author: RequestAuthor,
    sent: Result<Json<ApplyRequest>, JsonRejection>,
) -> Result<Json<ApplyOutcome>, FilesAnswer> {
    let Json(sent) = sent.map_err(ApiRefusal::from)?;
    check_count("files", sent.files.len(), FILES_MAX)?;
    let author = with_why(author, &sent.why)?;
    asked(&app, move |files| files.apply(&sent, &author)).await
}

/// Changes of the configuration, the newest first.
#[utoipa::path(get, path = "/api/configuration/history", responses(
    (status = 200, body = ChangeList), (status = 401, body = ApiProblem)
))]
pub(crate) async fn history(
    State(app): State<Arc<ApiState>>,
    _author: RequestAuthor,
) -> Result<Json<ChangeList>, ApiRefusal> {
    Ok(Json(app.ask(|app| app.configuration.history()).await?))
}

/// One change with the texts before and after it.
#[utoipa::path(get, path = "/api/configuration/history/{number}",
    params(("number" = u64, Path, description = "Number of the change")), responses(
    (status = 200, body = ChangeDetails), (status = 401, body = ApiProblem), (status = 404, body = ApiProblem)
))]
pub(crate) async fn change(
    State(app): State<Arc<ApiState>>,
    _author: RequestAuthor,
    Path(number): Path<u64>,
) -> Result<Json<ChangeDetails>, FilesAnswer> {
    asked(&app, move |files| files.change(number)).await
}

/// Has the files be what they were before a change. What a reload would refuse changes nothing.
#[utoipa::path(post, path = "/api/configuration/history/{number}/restore", request_body = RestoreRequest,
    params(("number" = u64, Path, description = "Number of the change")), responses(
    (status = 200, body = ApplyOutcome),
    (status = 400, body = ApiProblem), (status = 401, body = ApiProblem), (status = 403, body = ApiProblem),
    (status = 404, body = ApiProblem), (status = 409, body = FilesProblem),
    (status = 422, body = FilesProblem, description = "With every complaint")
))]
pub(crate) async fn restore(
    State(app): State<Arc<ApiState>>,
    author: RequestAuthor,
    Path(number): Path<u64>,
    sent: Result<Json<RestoreRequest>, JsonRejection>,
) -> Result<Json<ApplyOutcome>, FilesAnswer> {
    let Json(sent) = sent.map_err(ApiRefusal::from)?;
    let author = with_why(author, &sent.why)?;
    asked(&app, move |files| files.restore(number, &sent, &author)).await
}

async fn asked<T: Send + 'static>(
    app: &Arc<ApiState>,
    question: impl FnOnce(&dyn ConfigurationFiles) -> Result<T, FilesRefusal> + Send + 'static,
) -> Result<Json<T>, FilesAnswer> {
    Ok(Json(app.ask(move |app| question(&*app.configuration)).await??))
}

fn check_count(name: &str, count: usize, most: usize) -> Result<(), ApiRefusal> {
    if count <= most {
        return Ok(());
    }
    let error = format!("{name}: {count} of them");
    Err(ApiRefusal::new(StatusCode::BAD_REQUEST, error, format!("send at most {most}")))
}

/// The author with a reason that fits on a line.
fn with_why(RequestAuthor(author): RequestAuthor, why: &str) -> Result<ChangeAuthor, ApiRefusal> {
    let why = why.trim();
    if why.chars().count() > WHY_CHARS_MAX || why.chars().any(char::is_control) {
        let error = "why: the reason is longer than a line";
        let remedy = format!("send at most {WHY_CHARS_MAX} characters without line ends");
        return Err(ApiRefusal::new(StatusCode::BAD_REQUEST, error, remedy));
    }
    Ok(ChangeAuthor { why: why.into(), ..author })
}

/// A refusal, with files or complaints where there are some.
#[derive(Debug)]
pub(crate) enum FilesAnswer {
    Plain(ApiRefusal),
    Detailed(StatusCode, Box<FilesProblem>),
}

impl From<ApiRefusal> for FilesAnswer {
    fn from(refused: ApiRefusal) -> Self {
        Self::Plain(refused)
    }
}

impl From<FilesRefusal> for FilesAnswer {
    fn from(refused: FilesRefusal) -> Self {
        let detailed = |status, error: &str, remedy: &str, more: FilesProblem| {
            let (error, remedy) = (error.into(), remedy.into());
            Self::Detailed(status, Box::new(FilesProblem { error, remedy, ..more }))
        };
        let plain = |error: String, remedy: &str| {
            Self::Plain(ApiRefusal::new(StatusCode::NOT_FOUND, error, remedy))
        };
        let none = FilesProblem::default();
        match refused {
            FilesRefusal::Changed(changed) => detailed(
                StatusCode::CONFLICT,
                "a file was changed meanwhile; nothing was written",
                "join both changes, and send them with the revision that the file has now",
                FilesProblem { changed, ..none },
            ),
            FilesRefusal::Wrong(places) => detailed(
                StatusCode::UNPROCESSABLE_ENTITY,
                "the change was not taken; files and settings are as before",
                "change what the complaints name",
                FilesProblem {
                    complaints: places.iter().map(PlacedProblem::line_of_text).collect(),
                    places,
                    ..none
                },
            ),
            FilesRefusal::Unconfirmed(asks) => detailed(
                StatusCode::CONFLICT,
                "this change must be said yes to; nothing was written",
                "send `confirm: true` if it is meant",
                FilesProblem { asks, ..none },
            ),
            FilesRefusal::NoSuchFile(path) => {
                let shown: String = path.chars().take(256).collect();
                plain(
                    format!("{shown:?} is no file of the running configuration"),
                    "name one of GET /api/configuration/files",
                )
            }
            FilesRefusal::NoSuchChange(number) => plain(
                format!("no change of the number {number} is kept"),
                "ask GET /api/configuration/history which are",
            ),
            FilesRefusal::Other(SettingsRefusal::Complaints(complaints)) => detailed(
                StatusCode::UNPROCESSABLE_ENTITY,
                "the change was not taken; files and settings are as before",
                "change what the complaints name",
                FilesProblem { complaints, ..none },
            ),
            FilesRefusal::Other(other) => Self::Plain(other.into()),
        }
    }
}

impl IntoResponse for FilesAnswer {
    fn into_response(self) -> Response {
        match self {
            Self::Plain(refused) => refused.into_response(),
            Self::Detailed(status, problem) => (status, Json(problem)).into_response(),
        }
    }
}
