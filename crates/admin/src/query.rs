//! Query words as a typed struct, refused as JSON with a remedy where they do not fit.

use crate::refused::Refused;
use axum::extract::FromRequestParts;
use http::request::Parts;
use serde::de::DeserializeOwned;

/// axum's `Query` with our own refusal.
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Refused;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refused> {
        let axum::extract::Query(words) =
            axum::extract::Query::<T>::from_request_parts(parts, state).await?;
        Ok(Self(words))
    }
}
