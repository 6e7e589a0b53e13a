//! Progress of uploads, by the name that their client gave them.
//!
//! A page uploads a file with `client_up_sess=NAME` in its query, and asks from time to time how
//! far it is: Perlbal's upload tracker. A name is a secret of its client; whoever does not know it
//! learns nothing, not even that there are others. It reads no request and knows no clock. Called
//! by the gateway, which hands bodies and times in.

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

/// Name in a query that gives an upload its name, or asks for it.
const PARAMETER: &str = "client_up_sess";
/// Length of a name.
const NAME_LENGTH: std::ops::RangeInclusive<usize> = 5..=50;
/// Uploads that are known at once. At the cap one that has ended gives way; where there is none,
/// the next upload is not known.
const UPLOADS_MAX: usize = 4096;
/// Seconds for which an upload is known once it has ended.
const ENDED_SECS: u64 = 60;
/// Time of an upload that has not ended.
const UNDER_WAY: u64 = u64::MAX;

/// Name of an upload: 5 to 50 letters, digits and underscores.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UploadName(Box<str>);

/// The uploads of a door.
#[derive(Debug, Default)]
pub struct UploadTable {
    uploads: Mutex<HashMap<UploadName, Arc<UploadCount>>>,
}

/// One upload.
#[derive(Debug)]
struct UploadCount {
    /// Bytes that came.
    done: AtomicU64,
    /// Bytes of the whole; 0 where its client did not say.
    total: u64,
    started: u64,
    ended: AtomicU64,
}

/// A body that is counted on its way.
#[derive(Debug)]
pub struct CountedUpload<B, C: Fn() -> u64> {
    body: B,
    count: Arc<UploadCount>,
    /// Seconds since 1970, asked at the end.
    clock: C,
}

impl UploadName {
    /// The first name in a query, if there is a whole one.
    pub fn in_query(query: &str) -> Option<Self> {
        let value =
            query.split('&').find_map(|it| it.strip_prefix(PARAMETER)?.strip_prefix('='))?;
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let is_name = NAME_LENGTH.contains(&value.len()) && value.bytes().all(is_word);
        is_name.then(|| Self(value.into()))
    }
}

impl UploadTable {
    /// The body of the upload `name`, counted from now on; `now` and `clock` in seconds since 1970.
    /// One that is under way keeps its name to itself, and at the cap nobody gets one: then the
    /// body comes back.
    pub fn track<B: Body, C: Fn() -> u64>(
        &self,
        name: UploadName,
        body: B,
        clock: C,
    ) -> Result<CountedUpload<B, C>, B> {
        let now = clock();
        let total = body.size_hint().exact().unwrap_or_default();
        let mut uploads = self.uploads.lock().unwrap_or_else(PoisonError::into_inner);
        if uploads.get(&name).is_some_and(|it| it.ended.load(Relaxed) == UNDER_WAY) {
            return Err(body);
        }
        if uploads.len() >= UPLOADS_MAX {
            uploads.retain(|_, it| it.ended.load(Relaxed).saturating_add(ENDED_SECS) > now);
        }
        if uploads.len() >= UPLOADS_MAX {
            let first = uploads.iter().min_by_key(|(_, it)| it.ended.load(Relaxed));
            match first.filter(|(_, it)| it.ended.load(Relaxed) != UNDER_WAY) {
                Some((known, _)) => {
                    let known = known.clone();
                    uploads.remove(&known);
                }
                None => return Err(body),
            }
        }
        let count = Arc::new(UploadCount {
            done: AtomicU64::new(0),
            total,
            started: now,
            ended: AtomicU64::new(UNDER_WAY),
        });
        uploads.insert(name, Arc::clone(&count));
        Ok(CountedUpload { body, count, clock })
    }

    /// Progress of the upload `name` at `now`, in seconds since 1970, as JSON; `{}` if there is
    /// none.
    pub fn status(&self, name: Option<&UploadName>, now: u64) -> String {
        let uploads = self.uploads.lock().unwrap_or_else(PoisonError::into_inner);
        let count = name.and_then(|name| uploads.get(name));
        let is_known =
            |it: &&Arc<UploadCount>| it.ended.load(Relaxed).saturating_add(ENDED_SECS) > now;
        let Some(count) = count.filter(is_known) else { return "{}".into() };
        let (done, total, started) = (count.done.load(Relaxed), count.total, count.started);
        format!("{{\"done\":{done},\"total\":{total},\"starttime\":{started},\"nowtime\":{now}}}")
    }
}

impl<B, C: Fn() -> u64> CountedUpload<B, C> {
    fn end(&self) {
        if self.count.ended.load(Relaxed) == UNDER_WAY {
            self.count.ended.store((self.clock)(), Relaxed);
        }
    }
}

impl<B: Body<Data = Bytes> + Unpin, C: Fn() -> u64 + Unpin> Body for CountedUpload<B, C> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        match &polled {
            Poll::Ready(Some(Ok(frame))) => {
                let length = frame.data_ref().map_or(0, |data| data.len() as u64);
                self.count.done.fetch_add(length, Relaxed);
                if self.body.is_end_stream() {
                    self.end();
                }
            }
            Poll::Ready(None | Some(Err(_))) => self.end(),
            Poll::Pending => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<B, C: Fn() -> u64> Drop for CountedUpload<B, C> {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;
    use http_body_util::{BodyExt, Full};

    fn named(query: &str) -> Option<UploadName> {
        UploadName::in_query(query)
    }

    fn body(text: &str) -> Full<Bytes> {
        Full::new(Bytes::copy_from_slice(text.as_bytes()))
    }

    #[test]
    fn a_name_has_5_to_50_word_characters() {
        assert_eq!(named("a=b&client_up_sess=Abc_9"), Some(UploadName("Abc_9".into())));
        let long = "x".repeat(51);
        for query in [
            "",
            "client_up_sess",
            "client_up_sess=abcd",
            "client_up_sess=abc-de",
            "client_up_sess=ab%41cd",
            "x_client_up_sess=abcde",
            &format!("client_up_sess={long}"),
        ] {
            assert_eq!(named(query), None, "{query}");
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn progress_is_told_to_whoever_knows_the_name_until_a_minute_after_the_end() {
        let table = UploadTable::default();
        let name = named("client_up_sess=abcde").unwrap();
        let mut counted = table.track(name.clone(), body("12345678"), || 110).ok().unwrap();
        let told = |now| table.status(Some(&name), now);
        assert_eq!(told(111), r#"{"done":0,"total":8,"starttime":110,"nowtime":111}"#);
        assert!(counted.frame().await.unwrap().is_ok());
        assert_eq!(told(169), r#"{"done":8,"total":8,"starttime":110,"nowtime":169}"#);
        assert_eq!(told(170), "{}");
        assert_eq!(table.status(named("client_up_sess=other").as_ref(), 111), "{}");
        assert_eq!(table.status(None, 111), "{}");
    }

    #[test]
    fn nobody_takes_the_name_of_an_upload_that_is_under_way() {
        let table = UploadTable::default();
        let name = named("client_up_sess=abcde").unwrap();
        let counted = table.track(name.clone(), body("12345678"), || 1).ok().unwrap();
        assert!(table.track(name.clone(), body("1"), || 2).is_err());
        assert!(table.status(Some(&name), 2).contains("\"total\":8"));
        drop(counted);
        assert!(table.track(name, body("1"), || 2).is_ok());
    }

    #[test]
    fn at_the_cap_an_upload_that_has_ended_gives_way() {
        let table = UploadTable::default();
        let name = |n: usize| named(&format!("client_up_sess=name_{n}")).unwrap();
        let mut open: Vec<_> =
            (0..UPLOADS_MAX).map(|n| table.track(name(n), body("1"), || 1).ok().unwrap()).collect();
        assert!(table.track(name(UPLOADS_MAX), body("1"), || 2).is_err());
        drop(open.remove(7));
        assert!(table.track(name(UPLOADS_MAX), body("1"), || 2).is_ok());
        assert_eq!(table.status(Some(&name(7)), 2), "{}");
        assert_ne!(table.status(Some(&name(8)), 2), "{}");
    }
}
