//! One HTTP exchange whose answer is read whole, within bounds.
//!
//! Called by the binary for what scripts fetch.

use crate::exchange::{FetchError, RepeatableRequest, fetch};
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use http_engine::body::{ReadError, read_all};
use origins::Origins;
use std::fmt;
use std::time::Duration;

/// Bounds of one exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WholeBounds {
    /// Redirects that are followed.
    pub redirects: u8,
    /// Bytes of the longest body.
    pub body: usize,
    /// Time for all of it.
    pub time: Duration,
}

/// An answer with its body.
#[derive(Clone, Debug)]
pub struct WholeAnswer {
    /// The status.
    pub status: StatusCode,
    /// Header fields.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

/// Reason why there is no whole answer.
#[derive(Debug)]
pub enum WholeFailure {
    /// None began.
    Fetch(FetchError),
    /// The time is over.
    Slow(Duration),
    /// The body is longer than this.
    Long(usize),
    /// The answer broke off.
    Broken,
}

/// Sends `request` and reads the answer to its end.
pub async fn whole(
    origins: &Origins,
    request: RepeatableRequest,
    bounds: WholeBounds,
) -> Result<WholeAnswer, WholeFailure> {
    let exchange = async {
        let answer = fetch(origins, request, bounds.redirects).await;
        let (head, body) = answer.map_err(WholeFailure::Fetch)?.into_parts();
        match read_all(body, bounds.body, bounds.time).await {
            Ok(body) => Ok(WholeAnswer { status: head.status, headers: head.headers, body }),
            Err(ReadError::TooLarge) => Err(WholeFailure::Long(bounds.body)),
            Err(ReadError::TooSlow) => Err(WholeFailure::Slow(bounds.time)),
            Err(ReadError::Broken(_)) => Err(WholeFailure::Broken),
        }
    };
    let answer = tokio::time::timeout(bounds.time, exchange).await;
    answer.unwrap_or(Err(WholeFailure::Slow(bounds.time)))
}

impl fmt::Display for WholeFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fetch(why) => why.fmt(f),
            Self::Slow(limit) => write!(f, "no whole answer within {limit:?}"),
            Self::Long(bytes) => write!(f, "the answer is longer than {bytes} bytes"),
            Self::Broken => f.write_str("the answer broke off"),
        }
    }
}

impl std::error::Error for WholeFailure {}
