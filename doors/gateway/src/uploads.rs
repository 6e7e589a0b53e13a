//! Request bodies that are taken as a whole before a server is asked for.
//!
//! A slow client then holds no server, a body that breaks off reaches none, and a whole body can be
//! sent again. It parses nothing and picks no server. `passing` calls [`buffer_upload`] with a
//! request that is ready to be sent; whoever repeats one looks for its [`ReplayBody`].

mod budget;
mod replay;
mod spool;

use self::budget::UploadBudget;
use self::replay::ChainedBody;
pub(crate) use self::replay::ReplayBody;
use self::spool::{SpoolOutcome, UploadSpool};
use crate::settings::{UploadMode, UploadSettings, UploadThreshold};
use bytes::Bytes;
use http::Request;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HeaderMap, TRAILER, UPGRADE};
use http_body::Body as _;
use http_body_util::{BodyExt as _, LengthLimitError};
use http_engine::{Body, BodyError};
use origins::SendError;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Holds how bodies are taken, and how much is in use for it.
#[derive(Debug)]
pub(crate) struct UploadRules {
    settings: UploadSettings,
    folder: PathBuf,
    usage: Arc<UploadUse>,
}

/// Shared with the settings before and after a reload.
#[derive(Debug, Default)]
struct UploadUse {
    memory: Arc<UploadBudget>,
    disk: Arc<UploadBudget>,
}

/// A body that is being taken.
struct UploadTaking<'s> {
    uploads: &'s UploadRules,
    spool: UploadSpool,
    started: Instant,
    declared: Option<u64>,
}

/// Tells whether more is taken.
enum TakeNext {
    More,
    /// The rest is passed on as it comes.
    Enough,
}

impl UploadRules {
    /// By these settings; relative folders start from `state`. Makes the folder if bodies may go
    /// there.
    pub(crate) fn new(
        settings: &UploadSettings,
        state: &Path,
        before: Option<&Self>,
    ) -> io::Result<Self> {
        let folder = settings.disk_folder.as_ref().map_or(state.into(), |it| state.join(it));
        if settings.disk_folder.is_some() && settings.disk_max.bytes() > 0 {
            std::fs::create_dir_all(&folder)?;
        }
        let used = before.map(|before| Arc::clone(&before.usage)).unwrap_or_default();
        Ok(Self { settings: settings.clone(), folder, usage: used })
    }

    /// Returns what is to be done with a body: as the route says, or as all do.
    fn mode(&self, of_route: Option<UploadMode>, headers: &HeaderMap) -> UploadMode {
        // Who talks while it listens, or has something to say behind the body, is not made to wait.
        let media = headers.get(CONTENT_TYPE).map_or(&b""[..], |media| media.as_bytes());
        let converses = headers.contains_key(UPGRADE)
            || headers.contains_key(TRAILER)
            || media.starts_with(b"application/grpc");
        if converses { UploadMode::Stream } else { of_route.unwrap_or(self.settings.mode) }
    }
}

/// Takes the body of `request` as far as its mode asks for, and gives the request to be sent: with
/// a
/// [`ReplayBody`] if all of the body is here.
pub(crate) async fn buffer_upload(
    uploads: &UploadRules,
    of_route: Option<UploadMode>,
    request: Box<Request<Body>>,
) -> Result<Box<Request<Body>>, SendError> {
    let mode = uploads.mode(of_route, request.headers());
    if mode == UploadMode::Stream || request.body().is_end_stream() {
        return Ok(request);
    }
    let (mut head, mut body) = request.into_parts();
    let mut taking = UploadTaking {
        uploads,
        spool: UploadSpool::new(uploads),
        started: Instant::now(),
        declared: body.size_hint().exact(),
    };
    // Whoever reads a body has said that it is welcome.
    head.headers.remove(EXPECT);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|why| blamed(&why))?;
        // Trailers that nobody has announced are dropped (RFC 9110 §6.5.1).
        let Ok(piece) = frame.into_data() else { continue };
        if let TakeNext::Enough = taking.add(piece, mode).await {
            let body = ChainedBody::new(taking.spool.finish().body(), body);
            return Ok(Box::new(Request::from_parts(head, Body::boxed(body))));
        }
    }
    let replay = taking.spool.finish();
    head.headers.insert(CONTENT_LENGTH, replay.len().into());
    let body = replay.body();
    head.extensions.insert(replay);
    Ok(Box::new(Request::from_parts(head, body)))
}

impl UploadTaking<'_> {
    async fn add(&mut self, piece: Bytes, mode: UploadMode) -> TakeNext {
        let was_in_memory = self.spool.is_in_memory();
        if let SpoolOutcome::Unwritten = self.spool.add(piece).await {
            return TakeNext::Enough;
        }
        let has_filled_it = was_in_memory && !self.spool.is_in_memory();
        let threshold = &self.uploads.settings.threshold;
        let pace = UploadPace {
            received: self.spool.len(),
            took: self.started.elapsed(),
            declared: self.declared,
        };
        if mode == UploadMode::Auto && has_filled_it && !pace.is_slow(threshold) {
            return TakeNext::Enough;
        }
        TakeNext::More
    }
}

/// Holds how a body has come so far.
#[derive(Clone, Copy, Debug)]
struct UploadPace {
    received: u64,
    took: Duration,
    declared: Option<u64>,
}

impl UploadPace {
    /// True if it is to be waited for.
    fn is_slow(self, threshold: &UploadThreshold) -> bool {
        let size = threshold.size.as_ref().map(|size| size.bytes());
        let known = self.declared.unwrap_or(self.received);
        if size.is_some_and(|size| known >= size) {
            return true;
        }
        let millis = self.took.as_millis().max(1);
        let per_second = u128::from(self.received) * 1000 / millis;
        if threshold.rate.as_ref().is_some_and(|rate| per_second < u128::from(rate.bytes())) {
            return true;
        }
        let allowed = threshold.time.0.0.as_millis();
        match self.declared {
            Some(all) => {
                let left = u128::from(all.saturating_sub(self.received));
                left * 1000 / per_second.max(1) > allowed
            }
            None => millis > allowed,
        }
    }
}

fn blamed(why: &BodyError) -> SendError {
    match why {
        BodyError::Other(why) if why.is::<LengthLimitError>() => SendError::BodyTooLarge,
        BodyError::Other(_)
        | BodyError::Received(_)
        | BodyError::Answer(_)
        | BodyError::TooSlow
        | BodyError::Aborted => SendError::BodyBroken,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use settings::Text;
    use vocab::{ByteSize, TimeSpan};

    fn slow(declared: Option<u64>, millis: u64, threshold: &UploadThreshold) -> bool {
        UploadPace { received: 256 << 10, took: Duration::from_millis(millis), declared }
            .is_slow(threshold)
    }

    #[test]
    fn what_will_take_long_is_slow() {
        let usual = UploadThreshold::default();
        let mega = Some(1 << 20);
        assert!(!slow(mega, 1_000, &usual), "three seconds to go");
        assert!(slow(mega, 2_000, &usual), "six seconds to go");
        assert!(!slow(None, 4_999, &usual));
        assert!(slow(None, 5_001, &usual));
        assert!(slow(
            Some(u64::MAX),
            0,
            &UploadThreshold { time: Text(TimeSpan(Duration::from_hours(1_000_000))), ..usual }
        ));
    }

    #[test]
    fn what_is_long_or_comes_slowly_is_slow_where_that_is_said() {
        let size = UploadThreshold { size: Some(Text(ByteSize(1 << 20))), ..Default::default() };
        assert!(slow(Some(1 << 20), 1, &size) && !slow(Some((1 << 20) - 1), 1, &size));
        let rate = UploadThreshold { rate: Some(Text(ByteSize(256 << 10))), ..Default::default() };
        assert!(slow(Some(300 << 10), 1_100, &rate) && !slow(Some(300 << 10), 900, &rate));
    }
}
