//! An answer that a guard gives in place of what was asked for.
//!
//! Its words are ours, or those of an authority that was asked. Given by the guards, shaped by
//! `shape`.

use crate::pages;
use http::header::RETRY_AFTER;
use http::{HeaderValue, Response, StatusCode};
use http_engine::Body;

/// An answer in place of what was asked for.
pub(crate) struct GuardAnswer {
    pub(crate) response: Response<Body>,
    pub(crate) author: AnswerAuthor,
}

/// Tells whose words an answer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerAuthor {
    Ours,
    OfAuthority,
}

impl GuardAnswer {
    pub(super) fn refused(status: StatusCode, text: &str) -> Self {
        Self { response: pages::page(status, text.into()), author: AnswerAuthor::Ours }
    }

    /// The same, to be tried again in a second: what is full now is seldom full for long.
    pub(super) fn busy(text: &str) -> Self {
        let mut busy = Self::refused(StatusCode::SERVICE_UNAVAILABLE, text);
        busy.response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        busy
    }
}
