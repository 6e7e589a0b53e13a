//! A door in forty lines, and an origin that counts what it is asked.

use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};
use http_freshness::{CachingRules, RequestFacts, ResponseFacts};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use store::{
    AnswerPlan, CacheLookup, EntryContent, FetchPermit, FillBroken, FillReader, JoinOutcome,
    KeySeed, Settings, Store, StoringAnswer,
};
use vocab::{ByteSize, Now};

pub(crate) const SEED: KeySeed = KeySeed([3; 16]);

/// When all tests begin: some day in 2026.
pub(crate) const BEGIN: Now = Now { unix_ms: 1_790_000_000_000, mono_ms: 0 };

/// What an origin answers with.
#[derive(Clone, Default)]
pub(crate) struct Page {
    pub(crate) status: u16,
    pub(crate) fields: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
    /// After so many bytes it breaks off, once.
    pub(crate) breaks_at: Option<usize>,
}

/// How a client got its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    Hit,
    Stale,
    Shared,
    Fetched,
    Confirmed,
    Refused,
}

/// What an origin answers to a URL and fields.
type Origin = Box<dyn Fn(&str, &HeaderMap) -> Page + Send + Sync>;

/// A door before an origin.
pub(crate) struct Door {
    pub(crate) store: Arc<Store>,
    pub(crate) rules: CachingRules,
    pub(crate) origin: Origin,
    pub(crate) requests: AtomicU64,
    pub(crate) body_bytes: AtomicU64,
    pub(crate) now_ms: AtomicU64,
}

impl Door {
    pub(crate) fn new(
        memory: u64,
        origin: impl Fn(&str, &HeaderMap) -> Page + Send + Sync + 'static,
    ) -> Arc<Self> {
        let settings = Settings { memory: ByteSize(memory).into(), ..Settings::default() };
        Self::with(settings, origin)
    }

    pub(crate) fn with(
        settings: Settings,
        origin: impl Fn(&str, &HeaderMap) -> Page + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            store: Store::open(settings, SEED, 2, BEGIN).unwrap().0,
            rules: CachingRules::forward(),
            origin: Box::new(origin),
            requests: AtomicU64::new(0),
            body_bytes: AtomicU64::new(0),
            now_ms: AtomicU64::new(0),
        })
    }

    pub(crate) fn now(&self) -> Now {
        let mono_ms = self.now_ms.load(Ordering::Relaxed);
        Now { unix_ms: BEGIN.unix_ms + mono_ms, mono_ms }
    }

    pub(crate) fn pass(&self, span: Duration) {
        self.now_ms.fetch_add(span.as_millis() as u64, Ordering::Relaxed);
    }

    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    pub(crate) fn look_up(&self, url: &str, fields: &HeaderMap) -> CacheLookup {
        let asked = RequestFacts { method: &Method::GET, url, fields, now: self.now() };
        self.store.look_up(&self.store.key(url), &self.rules, &asked)
    }

    /// The whole body, as a client gets it.
    pub(crate) async fn get(
        self: &Arc<Self>,
        url: &str,
        fields: &[(&str, &str)],
    ) -> (How, Vec<u8>) {
        let fields = header_map(fields);
        let asked = RequestFacts { method: &Method::GET, url, fields: &fields, now: self.now() };
        let mut recalled = None;
        loop {
            let key = self.store.key(url);
            let found = match recalled.take() {
                Some(recalled) => self.store.look_up_with_disk(recalled, &key, &self.rules, &asked),
                None => self.look_up(url, &fields),
            };
            return match found {
                CacheLookup::OnDisk(disk_read) => {
                    let read = tokio::task::spawn_blocking(move || disk_read.read());
                    recalled = Some(read.await.unwrap());
                    continue;
                }
                CacheLookup::Hit(entry, _) | CacheLookup::Partial(entry, _) => {
                    (How::Hit, whole(entry.content()))
                }
                CacheLookup::Stale { entry, refresh, .. } => {
                    if let Some(permit) = refresh {
                        let (_, rest) = self.fetch(permit, url, &fields).await;
                        assert!(rest.is_none(), "nobody waits for it");
                    }
                    (How::Stale, whole(entry.content()))
                }
                CacheLookup::Read(_, fill) => match fill.attach(0..u64::MAX) {
                    Ok(reader) => (How::Shared, self.drain(reader, url, &fields).await),
                    Err(_) => (How::Fetched, self.ask(url, &fields).body),
                },
                CacheLookup::Join(join) => match join.wait_for_head(&self.rules, &asked).await {
                    JoinOutcome::Read(reading) => {
                        let reader = reading.fill.attach(0..u64::MAX).unwrap();
                        drop(reading);
                        (How::Shared, self.drain(reader, url, &fields).await)
                    }
                    JoinOutcome::Hit(entry, _) | JoinOutcome::Found(entry, _) => {
                        (How::Shared, whole(entry.content()))
                    }
                    JoinOutcome::Fetch(permit) => self.permit(permit, url, &fields).await,
                    JoinOutcome::LookUp => continue,
                    JoinOutcome::Failed(_) => (How::Refused, Vec::new()),
                },
                CacheLookup::Fetch(permit) => self.permit(permit, url, &fields).await,
                CacheLookup::NotFetched(_) => (How::Refused, Vec::new()),
                CacheLookup::Bypass(_) => (How::Fetched, self.ask(url, &fields).body),
            };
        }
    }

    async fn permit(
        self: &Arc<Self>,
        permit: FetchPermit,
        url: &str,
        fields: &HeaderMap,
    ) -> (How, Vec<u8>) {
        match self.fetch(permit, url, fields).await {
            (how, Some(Body::There(body))) => (how, body),
            (how, Some(Body::Comes(reader))) => (how, self.drain(reader, url, fields).await),
            (how, None) => (how, Vec::new()),
        }
    }

    /// Reads to the end. Who is sent off for being slow fetches the rest alone.
    async fn drain(&self, mut reader: FillReader, url: &str, fields: &HeaderMap) -> Vec<u8> {
        let mut all = Vec::new();
        while let Some(piece) = reader.next().await {
            match piece {
                Ok(piece) => all.extend_from_slice(&piece),
                Err(FillBroken::Detached(at)) => {
                    all.extend_from_slice(&self.ask(url, fields).body[at as usize..]);
                    break;
                }
                Err(why) => panic!("{url}: {why}"),
            }
        }
        all
    }

    /// Asks the origin for a lead, and has the body written behind the caller's back.
    pub(crate) async fn fetch(
        self: &Arc<Self>,
        permit: FetchPermit,
        url: &str,
        fields: &HeaderMap,
    ) -> (How, Option<Body>) {
        let mut request = fields.clone();
        permit.conditions().apply(&mut request);
        if let Some(rest) = permit.missing_range() {
            request.insert("range", rest.range.clone());
            request.insert("if-range", rest.if_range.clone());
        }
        // The way there and back; clients come meanwhile.
        tokio::time::sleep(Duration::from_millis(50)).await;
        let page = self.ask(url, &request);
        let asked = RequestFacts { method: &Method::GET, url, fields, now: self.now() };
        let answer = page.head();
        match permit.answered(&self.rules, &asked, &self.answered(&page, &answer)) {
            AnswerPlan::Storing(mut storing) => {
                let reader = storing.take_reader();
                tokio::spawn(Arc::clone(self).pump(*storing, page, url.to_owned()));
                (How::Fetched, reader.map(Body::Comes))
            }
            AnswerPlan::Confirmed(entry) => {
                (How::Confirmed, Some(Body::There(whole(entry.content()))))
            }
            AnswerPlan::Unconfirmed(permit) => Box::pin(self.fetch(permit, url, fields)).await,
            AnswerPlan::Not(_) => (How::Fetched, Some(Body::There(page.body))),
        }
    }

    /// Writes a body as the origin sends it; what breaks off is taken up where it may be.
    async fn pump(self: Arc<Self>, mut storing: StoringAnswer, mut page: Page, url: String) {
        loop {
            let end = page.breaks_at.unwrap_or(page.body.len());
            for piece in page.body[..end].chunks(16 << 10) {
                self.body_bytes.fetch_add(piece.len() as u64, Ordering::Relaxed);
                if storing.write(piece).await.is_err() {
                    return;
                }
                // Other tasks run between two reads of a socket.
                tokio::task::yield_now().await;
            }
            if end == page.body.len() {
                storing.finish(self.now()).unwrap();
                return;
            }
            let Some(rest) = storing.resume() else { return storing.failed(self.now()) };
            let mut request = HeaderMap::new();
            request.insert("range", rest.range);
            request.insert("if-range", rest.if_range);
            page = self.ask(&url, &request);
            let answer = page.head();
            if !storing.resumes(&self.answered(&page, &answer)) {
                return storing.failed(self.now());
            }
        }
    }

    /// What the origin says. It understands `Range: bytes=N-` with a right `If-Range`.
    fn ask(&self, url: &str, request: &HeaderMap) -> Page {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let mut page = (self.origin)(url, request);
        let etag = page.fields.iter().find(|(name, _)| *name == "etag").map(|(_, tag)| tag.clone());
        if etag.is_some()
            && request.get("if-none-match").and_then(|it| it.to_str().ok()) == etag.as_deref()
        {
            page.status = 304;
            page.body.clear();
        }
        let from = request.get("range").filter(|_| page.status == 200).and_then(|range| {
            let is_right =
                request.get("if-range").and_then(|it| it.to_str().ok()) == etag.as_deref();
            let from = range.to_str().ok()?.strip_prefix("bytes=")?.strip_suffix('-')?;
            from.parse::<usize>().ok().filter(|_| is_right)
        });
        if let Some(from) = from {
            let total = page.body.len();
            page.status = 206;
            page.fields.push(("content-range", format!("bytes {from}-{}/{total}", total - 1)));
            page.body.drain(..from);
            page.breaks_at = None;
        }
        if page.status != 304 {
            page.fields.push(("content-length", page.body.len().to_string()));
        }
        page
    }

    pub(crate) fn answered<'a>(&self, page: &Page, fields: &'a HeaderMap) -> ResponseFacts<'a> {
        let now = self.now().unix_ms;
        let status = StatusCode::from_u16(page.status).unwrap();
        ResponseFacts { status, fields, requested_ms: now, received_ms: now }
    }
}

/// A body that is there, or comes.
pub(crate) enum Body {
    There(Vec<u8>),
    Comes(FillReader),
}

impl Page {
    /// 200 with a body and `Cache-Control`.
    pub(crate) fn ok(control: &str, body: Vec<u8>) -> Self {
        let fields = vec![("cache-control", control.to_owned())];
        Self { status: 200, fields, body, breaks_at: None }
    }

    #[must_use]
    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.fields.push((name, value.to_owned()));
        self
    }

    pub(crate) fn head(&self) -> HeaderMap {
        let fields = self.fields.iter().map(|(name, value)| (*name, value.as_str()));
        header_map(&fields.collect::<Vec<_>>())
    }
}

pub(crate) fn header_map(fields: &[(&str, &str)]) -> HeaderMap {
    let field = |(name, value): &(&str, &str)| {
        (HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_str(value).unwrap())
    };
    fields.iter().map(field).collect()
}

/// Bytes that differ everywhere and for every seed.
pub(crate) fn bytes(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

pub(crate) fn whole(content: &EntryContent) -> Vec<u8> {
    match content {
        EntryContent::Memory(body) | EntryContent::Partial(body) => {
            body.chunks(0..u64::MAX).flatten().collect()
        }
        EntryContent::Disk(stored) => {
            let (mut body, mut all) = (stored.body.clone(), Vec::new());
            while (all.len() as u64) < body.len() {
                all.extend_from_slice(&body.read(all.len() as u64).unwrap());
            }
            all
        }
    }
}
