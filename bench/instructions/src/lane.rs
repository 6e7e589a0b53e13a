//! Cost of a simple request in the fast path, and of what the cache adds for a hit.
//!
//! Called as doors call it: a connection through the fast path, over a client in memory that asks
//! the same again and again. Nothing waits, so what is counted is reading, deciding and writing.

use crate::stored::{LATER, NOW, URL, answer_fields};
use http::{HeaderMap, Method, Request, Response};
use http_cache::{CacheEnvironment, CacheRequest, HttpCache, OriginFetcher, SecondLevelSlot};
use http_engine::fast_path::{FastPath, FastReply, SimpleRequest, TargetForm};
use http_engine::{Body, HttpVersions, Incoming, Limits, serve_with_fast_path};
use http_freshness::CachingRules;
use std::future::pending;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::runtime::Builder;
use tokio::task::LocalSet;

/// As a browser asks a server.
const ASKED: &str = "GET /media/page.html?colour=blue HTTP/1.1\r\nHost: shop.example\r\n\
    User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n\
    Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n\
    Accept-Language: en-GB,en;q=0.5\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n\
    Referer: http://shop.example/\r\nConnection: keep-alive\r\nCookie: session=0123456789abcdef\r\n\r\n";

/// As it asks a proxy for [`URL`].
const ASKED_PROXY: &str = "GET http://shop.example/media/page.html HTTP/1.1\r\nHost: shop.example\r\n\
    User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n\
    Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n\
    Accept-Language: en-GB,en;q=0.5\r\nAccept-Encoding: gzip, deflate\r\n\
    Referer: http://shop.example/\r\nConnection: keep-alive\r\nCookie: session=0123456789abcdef\r\n\r\n";

/// The lines that a proxy adds to every head.
const SIGNATURE: &[u8] = b"via: 1.1 tidegate\r\n";

/// A client in memory: each read is a request, and what it is told is thrown away.
struct Client {
    asked: &'static str,
    /// Requests to come; then it closes.
    left: usize,
}

impl AsyncRead for Client {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.left > 0 {
            self.left -= 1;
            room.put_slice(self.asked.as_bytes());
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Client {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Serves `count` requests on one connection.
fn serve<Q, H, F>(asked: &'static str, count: usize, quick: Q, handler: H)
where
    Q: FastPath,
    H: Fn(Request<Incoming>) -> F + 'static,
    F: Future<Output = Response<Body>> + 'static,
{
    let client = Client { asked, left: count };
    let (limits, stop) = (Limits::default(), pending::<()>());
    let runtime = Builder::new_current_thread().enable_time().build().expect("a runtime");
    let serving = serve_with_fast_path(client, HttpVersions::Http1, limits, stop, quick, handler);
    LocalSet::new().block_on(&runtime, serving).expect("the connection ends in order");
}

/// Answers every request with an empty head: what is left is the engine's.
struct Nothing(Arc<AtomicUsize>);

impl FastPath for Nothing {
    fn answer(&self, request: &SimpleRequest<'_>, out: &mut Vec<u8>) -> FastReply {
        self.0.fetch_add(request.path().len(), Relaxed);
        out.extend_from_slice(b"HTTP/1.1 204 No Content\r\n");
        request.end_head(out);
        FastReply::Done
    }
}

/// A head is read in the fast path, and the shortest answer written.
pub fn head_read(count: usize) -> usize {
    let seen = Arc::new(AtomicUsize::new(0));
    let handler = |_: Request<Incoming>| async { Response::new(Body::empty()) };
    serve(ASKED, count, Nothing(Arc::clone(&seen)), handler);
    seen.load(Relaxed)
}

/// Answers from the cache, as the proxy does.
struct Hits {
    cache: Arc<HttpCache>,
    count: Arc<AtomicUsize>,
}

impl FastPath for Hits {
    const FORM: TargetForm = TargetForm::Absolute;

    fn answer(&self, request: &SimpleRequest<'_>, out: &mut Vec<u8>) -> FastReply {
        match self.cache.at_once(request, URL, LATER, SIGNATURE, out) {
            Some(written) => {
                self.count.fetch_add(1, Relaxed);
                written.reply
            }
            None => FastReply::Decline,
        }
    }
}

/// Where the page comes from, once.
#[derive(Clone)]
struct Origin;

impl OriginFetcher for Origin {
    type Failure = ();

    async fn fetch(&self, _: &Method, _: HeaderMap) -> Result<Response<Body>, ()> {
        let mut response = Response::new(Body::full(vec![b'x'; 4 << 10]));
        *response.headers_mut() = answer_fields();
        Ok(response)
    }
}

/// A page of 4 KiB is sent from the cache in the fast path. The proxy asks its policy too, which
/// is counted by itself, and its ledger, which is no pure function.
pub fn cache_hit(count: usize) -> usize {
    let around = CacheEnvironment {
        clock: || NOW,
        folder: PathBuf::new(),
        log: Arc::new(|_: &str| ()),
        second_level: SecondLevelSlot::default(),
    };
    let cache =
        HttpCache::new(&http_cache::Settings::default(), &CachingRules::forward(), None, &around);
    let hits = Arc::new(AtomicUsize::new(0));
    let fast_path = Hits { cache: Arc::clone(&cache), count: Arc::clone(&hits) };
    let handler = move |_: Request<Incoming>| {
        let cache = Arc::clone(&cache);
        async move {
            let (method, fields) = (Method::GET, HeaderMap::new());
            let question = CacheRequest { method, url: URL.into(), fields, now: NOW };
            let answered = cache.answer(question, Origin).await;
            answered.map_or_else(|_| Response::new(Body::empty()), |served| served.response)
        }
    };
    serve(ASKED_PROXY, count, fast_path, handler);
    let hits = hits.load(Relaxed);
    // The page is stored when its first reader has it all; from then on nothing else may be
    // counted.
    assert!(hits + 8 >= count, "{hits} hits of {count}");
    hits
}
