//! Query words as a typed struct, refused as JSON with a remedy where they do not fit.

use crate::refused::ApiRefusal;
use axum::extract::FromRequestParts;
use http::request::Parts;
use serde::de::DeserializeOwned;

/// axum's `Query` with our own refusal.
pub(crate) struct CheckedQuery<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for CheckedQuery<T> {
    type Rejection = ApiRefusal;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiRefusal> {
        let axum::extract::Query(words) =
            axum::extract::Query::<T>::from_request_parts(parts, state).await?;
        Ok(Self(words))
    }
}
