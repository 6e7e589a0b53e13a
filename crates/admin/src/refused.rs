//! A refusal, with what to do about it.
//!
//! Every error of the API is this, as problem details (RFC 9457) with `error` and `remedy`. Made by
//! the gate and the handlers.

use crate::control::SettingsRefusal;
use admin_api::ApiProblem;
use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode, header};
use ledger::ReadError;
use request_rows::{NoPlace, UnknownQueryWord};

/// Where names and forms of settings are.
pub(crate) const SEE: &str =
    "`tidegate ctl config` shows the configuration, `tidegate schema` every setting";

/// Problem, put beside an answer for those who log it.
#[derive(Clone, Debug)]
pub(crate) struct ProblemText(pub(crate) Box<str>);

/// Why a request is not answered as it wished.
#[derive(Debug)]
pub(crate) struct ApiRefusal {
    pub(crate) status: StatusCode,
    /// Apart, so that results stay small.
    pub(crate) problem: Box<ApiProblem>,
}

impl ApiRefusal {
    pub(crate) fn new(
        status: StatusCode,
        error: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let problem =
            ApiProblem { error: error.into(), remedy: remedy.into(), ..ApiProblem::default() };
        Self { status, problem: Box::new(problem) }
    }

    /// A word of the query that is none of those expected.
    pub(crate) fn unknown_word(name: &str, found: &str, expected: &str) -> Self {
        let shown: String = found.chars().take(64).collect();
        Self::new(
            StatusCode::BAD_REQUEST,
            format!("{name}: {shown:?} is not known here"),
            format!("write one of {expected}"),
        )
    }
}

impl From<SettingsRefusal> for ApiRefusal {
    fn from(refused: SettingsRefusal) -> Self {
        match refused {
            SettingsRefusal::Wrong(why) => Self::new(StatusCode::BAD_REQUEST, why.to_string(), SEE),
            SettingsRefusal::Fixed { why, remedy } => {
                Self::new(StatusCode::CONFLICT, why.to_string(), remedy)
            }
            SettingsRefusal::Complaints(complaints) => {
                let mut refused = Self::new(
                    StatusCode::UNPROCESSABLE_ENTITY,
                    "the change was not taken; file and settings are as before",
                    "send what the complaints ask for",
                );
                refused.problem.complaints = complaints;
                refused
            }
        }
    }
}

impl IntoResponse for ApiRefusal {
    fn into_response(self) -> Response {
        let text = ProblemText(self.problem.error.as_str().into());
        let problem = ApiProblem {
            title: self.status.canonical_reason().unwrap_or_default().into(),
            status: self.status.as_u16(),
            detail: self.problem.error.clone(),
            ..*self.problem
        };
        let mut response = (self.status, Json(problem)).into_response();
        let fields = response.headers_mut();
        fields.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        response.extensions_mut().insert(text);
        if self.status == StatusCode::UNAUTHORIZED {
            let value = HeaderValue::from_static("Bearer realm=\"Tidegate\"");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, value);
        }
        response
    }
}

impl From<ReadError> for ApiRefusal {
    fn from(error: ReadError) -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            error.to_string(),
            "look at the disk that holds the state folder, then ask again",
        )
    }
}

impl From<UnknownQueryWord> for ApiRefusal {
    fn from(word: UnknownQueryWord) -> Self {
        Self::unknown_word(word.name, &word.found, word.expected)
    }
}

impl From<NoPlace> for ApiRefusal {
    fn from(why: NoPlace) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, why.to_string(), why.remedy())
    }
}

impl From<QueryRejection> for ApiRefusal {
    fn from(rejection: QueryRejection) -> Self {
        Self::new(rejection.status(), rejection.body_text(), "see /api/openapi.json")
    }
}

impl From<JsonRejection> for ApiRefusal {
    fn from(rejection: JsonRejection) -> Self {
        Self::new(
            rejection.status(),
            rejection.body_text(),
            "send JSON with `Content-Type: application/json`; see /api/openapi.json",
        )
    }
}
