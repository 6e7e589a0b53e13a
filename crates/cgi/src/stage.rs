//! Answer of a script as it comes: the head first, then as much of the body as the head promises.
//!
//! It reads nothing itself: `exchange` and `program` hand over what came.

use crate::answer::{BadHead, HEAD_BYTES_MAX, ScriptHead, end_of_head, parse};
use crate::failure::ScriptBroken;
use crate::pace::ExchangePace;
use bytes::{Bytes, BytesMut};
use http::{Method, StatusCode};
use http_engine::{Body, BodyFeed};
use tokio::sync::oneshot;

/// Pieces of an answer that wait for the client; each is at most 64 KiB.
const PIECES_MAX: usize = 4;

/// Begin of a script's answer, with the body that follows.
pub struct ScriptAnswer {
    /// Status and fields.
    pub head: ScriptHead,
    /// Body, as it comes.
    pub body: Body,
}

/// Where the begin of an answer goes, or why there is none.
pub(crate) type AnswerSender = oneshot::Sender<Result<ScriptAnswer, ScriptBroken>>;

/// Tells whether the client takes a body at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyWanted {
    HeadAndBody,
    /// To `HEAD`.
    HeadOnly,
}

impl BodyWanted {
    /// Tells it of a request by its method.
    pub(crate) fn of(method: &Method) -> Self {
        if *method == Method::HEAD { Self::HeadOnly } else { Self::HeadAndBody }
    }
}

/// Output of a script on its way to the client.
pub(crate) struct ScriptOutput {
    wanted: BodyWanted,
    stage: AnswerStage,
}

/// Tells how far an answer has come.
enum AnswerStage {
    Head {
        seen: BytesMut,
        answer: Option<AnswerSender>,
    },
    Body {
        feed: BodyFeed,
        left: Option<u64>,
    },
    /// The client wants no more of it.
    Over,
}

impl ScriptOutput {
    pub(crate) fn new(wanted: BodyWanted, answer: AnswerSender) -> Self {
        Self { wanted, stage: AnswerStage::Head { seen: BytesMut::new(), answer: Some(answer) } }
    }

    /// Ends an answer whose script is done.
    pub(crate) fn end(self) {
        match self.stage {
            AnswerStage::Head { answer, .. } => {
                if let Some(answer) = answer {
                    let _ = answer.send(Err(ScriptBroken::Head(BadHead::Unfinished)));
                }
            }
            // Less than was promised is not the whole.
            AnswerStage::Body { feed, left } => {
                if left.is_none_or(|left| left == 0) {
                    feed.finish();
                }
            }
            AnswerStage::Over => {}
        }
    }

    /// Ends an answer as broken.
    pub(crate) fn fail(self, why: ScriptBroken) {
        if let AnswerStage::Head { answer: Some(answer), .. } = self.stage {
            let _ = answer.send(Err(why));
        }
    }

    /// Waits until nobody wants the answer any more.
    pub(crate) async fn until_unwanted(&mut self) {
        match &mut self.stage {
            AnswerStage::Head { answer: Some(answer), .. } => answer.closed().await,
            AnswerStage::Body { feed, .. } => feed.until_reader_gone().await,
            AnswerStage::Head { answer: None, .. } | AnswerStage::Over => {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Takes the next bytes of it, no faster than the client.
    pub(crate) async fn take(
        &mut self,
        content: Bytes,
        pace: &ExchangePace,
    ) -> Result<(), ScriptBroken> {
        self.take_of(content, || None, pace).await
    }

    /// The same where `after` may know how many bytes follow these. A head without a length gets it
    /// by that.
    pub(crate) async fn take_of(
        &mut self,
        content: Bytes,
        after: impl FnOnce() -> Option<u64>,
        pace: &ExchangePace,
    ) -> Result<(), ScriptBroken> {
        let rest = match &mut self.stage {
            AnswerStage::Head { seen, .. } => {
                let from = seen.len();
                seen.extend_from_slice(&content);
                match end_of_head(seen, from) {
                    Some(end) if end <= HEAD_BYTES_MAX => {
                        let head = seen.split_to(end);
                        let rest = seen.split().freeze();
                        self.begin(&head, rest, after)?
                    }
                    None if seen.len() <= HEAD_BYTES_MAX => return Ok(()),
                    Some(_) | None => return Err(ScriptBroken::Head(BadHead::TooLarge)),
                }
            }
            AnswerStage::Body { .. } | AnswerStage::Over => content,
        };
        let AnswerStage::Body { feed, left } = &mut self.stage else { return Ok(()) };
        let mut piece = rest;
        if let Some(left) = left {
            // More than was promised would be the next answer to whoever reads the connection.
            piece.truncate(usize::try_from(*left).unwrap_or(usize::MAX));
            *left -= piece.len() as u64;
        }
        if feed.send(piece).await.is_err() {
            return Err(ScriptBroken::ClientGone);
        }
        pace.has_moved();
        Ok(())
    }

    /// Begins the answer: what of `rest` is still to be sent.
    fn begin(
        &mut self,
        head: &[u8],
        mut rest: Bytes,
        after: impl FnOnce() -> Option<u64>,
    ) -> Result<Bytes, ScriptBroken> {
        let mut head = parse(head).map_err(ScriptBroken::Head)?;
        let AnswerStage::Head { answer, .. } = &mut self.stage else { return Ok(rest) };
        let Some(answer) = answer.take() else { return Ok(rest) };
        let bodiless = matches!(head.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
        let (stage, body) = if self.wanted == BodyWanted::HeadOnly || bodiless {
            (AnswerStage::Over, Body::empty())
        } else {
            let after = after();
            let found = rest.len() as u64;
            head.length = head.length.or_else(|| Some(after? + found));
            match head.length {
                // Nothing follows: no channel is needed for what is here already.
                Some(length) if after == Some(0) && length <= found => {
                    rest.truncate(usize::try_from(length).unwrap_or(usize::MAX));
                    (AnswerStage::Over, Body::full(std::mem::take(&mut rest)))
                }
                length => {
                    let (feed, body) = Body::channel(PIECES_MAX);
                    (AnswerStage::Body { feed, left: length }, body)
                }
            }
        };
        self.stage = stage;
        answer
            .send(Ok(ScriptAnswer { head, body }))
            .map(|()| rest)
            .map_err(|_| ScriptBroken::ClientGone)
    }
}
