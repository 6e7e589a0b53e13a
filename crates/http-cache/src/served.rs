//! An answer for the client, and what is said of how it came about (RFC 9211).

use crate::cache_request::CacheRequest;
use crate::shape::ShapeRequest;
use http::{Response, StatusCode};
use http_engine::Body;
use http_freshness::{CollapseStatus, Forward, HandledRequest, StoredStatus};
use vocab::{Caching, Source};

/// As whom we sign in `Cache-Status`.
pub(crate) const NAME: &str = "tidegate";

/// Where an answer comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerSource {
    /// The store, or another client's fetch.
    Fresh,
    /// The store, past its time, as somebody allows.
    Stale,
    /// The origin.
    Origin,
    /// Nowhere: 504, by the client's wish or ours.
    NotFetched,
}

impl AnswerSource {
    /// The source as doors record it.
    pub const fn recorded(self) -> Source {
        match self {
            Self::Fresh => Source::Cache,
            Self::Stale => Source::Stale,
            Self::Origin => Source::Origin,
            Self::NotFetched => Source::Refused,
        }
    }
}

/// An answer for the client.
pub struct ServedAnswer {
    /// It, with `Age` where it was stored and with `Cache-Status` always.
    pub response: Response<Body>,
    /// Where it comes from.
    pub source: AnswerSource,
    /// What the cache did, for the ledger: the same as `Cache-Status` says.
    pub caching: Caching,
}

pub(crate) const fn forwarded(
    why: Forward,
    status: Option<StatusCode>,
    collapse: CollapseStatus,
    kept: Option<StoredStatus>,
) -> HandledRequest {
    HandledRequest::Forwarded { reason: why, status, collapse, stored: kept }
}

pub(crate) fn shape_request(question: &CacheRequest) -> ShapeRequest<'_> {
    ShapeRequest {
        method: &question.method,
        fields: &question.fields,
        unix_secs: question.now.unix_secs(),
    }
}
