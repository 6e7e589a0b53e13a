//! The author of a change: whom the guard has let in, and where from.
//!
//! Read by handlers that change what the history of the configuration keeps.

use crate::api_request::ApiRequest;
use crate::caller::ApiCaller;
use crate::change_author::ChangeAuthor;
use crate::refused::ApiRefusal;
use axum::extract::FromRequestParts;
use http::request::Parts;

/// Author of the change that a request asks for.
pub(crate) struct RequestAuthor(pub(crate) ChangeAuthor);

impl<S: Send + Sync> FromRequestParts<S> for RequestAuthor {
    type Rejection = ApiRefusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiRefusal> {
        let asked = ApiRequest::from_request_parts(parts, state).await?;
        let who = ApiCaller::from_request_parts(parts, state).await?.name;
        Ok(Self(ChangeAuthor { who, from: Some(asked.client), why: String::new() }))
    }
}
