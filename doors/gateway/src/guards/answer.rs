//! The answer to a URL that is blocked: a page, another URL, or nothing, fast or slowly.
//!
//! A tarpit holds a client for a minute at the cost of a timer and some hundred bytes; how many it
//! holds is capped. Called by `block`.

use crate::pages;
use crate::settings::CheckedAnswer;
use bytes::Bytes;
use http::header::{CACHE_CONTROL, HeaderValue, LOCATION};
use http::{Response, StatusCode};
use http_body::Frame;
use http_engine::{Body, reply};
use policy::RuleText;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep};

/// Clients that one block holds at once; those beyond are closed.
pub(crate) const TARPIT_MAX: u32 = 128;
/// Bytes that each gets, and the time between two of them.
const TARPIT_BYTES: u32 = 12;
const TARPIT_INTERVAL: Duration = Duration::from_secs(5);

/// Tells what is answered.
#[derive(Clone, Debug)]
pub(crate) enum BlockAnswer {
    Page(StatusCode),
    Redirect(HeaderValue),
    Close,
    Tarpit(Arc<AtomicU32>),
}

impl BlockAnswer {
    /// Returns what these settings have a block answer.
    pub(crate) fn new(checked: CheckedAnswer) -> Self {
        match checked {
            CheckedAnswer::Page(status) => Self::Page(status),
            CheckedAnswer::Redirect(to) => Self::Redirect(to),
            CheckedAnswer::Close => Self::Close,
            CheckedAnswer::Tarpit => Self::Tarpit(Arc::default()),
        }
    }

    /// Returns what a client meets, in a few words.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Page(status) => status.as_str().to_owned(),
            Self::Redirect(to) => format!("302 to {}", String::from_utf8_lossy(to.as_bytes())),
            Self::Close => "closes the connection without an answer".into(),
            Self::Tarpit(_) => "holds the client for a minute, and closes the connection".into(),
        }
    }

    /// The answer. `stall` is the silence after which a body counts as broken.
    pub(crate) fn respond(&self, rule: Option<&RuleText>, stall: Duration) -> Response<Body> {
        match self {
            Self::Page(StatusCode::FORBIDDEN) => pages::blocked(rule),
            Self::Page(StatusCode::GONE) => pages::page(StatusCode::GONE, "This is gone.\n".into()),
            Self::Page(_) => pages::no_route(),
            Self::Redirect(to) => {
                let mut response = reply::empty(StatusCode::FOUND);
                response.headers_mut().insert(LOCATION, to.clone());
                response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
                response
            }
            Self::Close => reply::no_answer(),
            Self::Tarpit(held) => {
                let Some(place) = TarpitPermit::acquire(held) else { return reply::no_answer() };
                let every = TARPIT_INTERVAL.min(stall / 2);
                let next = Box::pin(sleep(every));
                Response::new(Body::boxed(TarpitBody {
                    _permit: place,
                    left: TARPIT_BYTES,
                    every,
                    next,
                }))
            }
        }
    }
}

/// One of those whom a tarpit holds.
struct TarpitPermit(Arc<AtomicU32>);

impl TarpitPermit {
    fn acquire(held: &Arc<AtomicU32>) -> Option<Self> {
        let more = |count: u32| (count < TARPIT_MAX).then_some(count + 1);
        held.fetch_update(Relaxed, Relaxed, more).ok()?;
        Some(Self(Arc::clone(held)))
    }
}

impl Drop for TarpitPermit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// A byte now and then.
struct TarpitBody {
    _permit: TarpitPermit,
    left: u32,
    every: Duration,
    next: Pin<Box<Sleep>>,
}

impl http_body::Body for TarpitBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        ready!(self.next.as_mut().poll(cx));
        if self.left == 0 {
            return Poll::Ready(None);
        }
        self.left -= 1;
        let next = Instant::now() + self.every;
        self.next.as_mut().reset(next);
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"\n")))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt as _;

    #[tokio::test(start_paused = true)]
    async fn a_tarpit_drips_for_a_minute_and_holds_so_many() {
        let tarpit = BlockAnswer::new(CheckedAnswer::Tarpit);
        let give = || tarpit.respond(None, Duration::from_mins(1)).into_body();
        let begun = Instant::now();
        let mut held: Vec<Body> = (0..TARPIT_MAX).map(|_| give()).collect();
        let beyond = tarpit.respond(None, Duration::from_mins(1));
        assert_eq!(beyond.status(), reply::NO_ANSWER, "those beyond are closed");
        let dripped = held.pop().unwrap().collect().await.unwrap().to_bytes();
        assert_eq!((dripped.len(), begun.elapsed().as_secs()), (12, 65));
        assert!(give().collect().await.is_ok(), "a place is free again");
    }
}
