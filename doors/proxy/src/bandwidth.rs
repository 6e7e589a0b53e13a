//! Bandwidth of clients and classes of traffic: what comes from servers comes no faster than is set
//! (delay pools, as Squid calls them).
//!
//! A request is of the first class that names its client and URL. What its servers send is taken in
//! pieces, each as soon as the class has made up for the last; what is stored already costs
//! nothing, and so does a request of no class. It bounds what is read, so that servers are slowed
//! down by their own connections. Made by `setup`; called by `cached`, `request` and `tunnel`.

use crate::settings::BandwidthSettings;
use crate::url_rules::UrlRules;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_engine::Body;
use http_engine::body::BodyError;
use origins::Origin;
use rate_limit::BandwidthClass;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};
use vocab::Now;

/// The classes, in the order of their settings.
pub(crate) struct BandwidthClasses {
    settings: Vec<BandwidthSettings>,
    classes: Vec<(Option<UrlRules>, Arc<BandwidthClass>)>,
    /// Of which times are told to the classes.
    since: Instant,
}

/// The pace of one transfer.
pub(crate) struct TransferPace {
    class: Arc<BandwidthClass>,
    client: IpAddr,
    since: Instant,
    /// Runs while nothing is taken.
    wait: Option<Pin<Box<Sleep>>>,
}

/// A server's answer, or its end of a tunnel, at the pace of its class where it has one.
pub(crate) struct PacedStream<S> {
    stream: S,
    pace: Option<TransferPace>,
}

struct PacedBody {
    body: Body,
    /// The rest of a frame that was more than one piece.
    rest: Bytes,
    pace: TransferPace,
}

impl BandwidthClasses {
    /// The classes of these settings; none where there are none. Those of `before` go on if they
    /// are the same, with what they owe.
    pub(crate) fn of(
        settings: &[BandwidthSettings],
        before: Option<&Arc<Self>>,
    ) -> Option<Arc<Self>> {
        if settings.is_empty() {
            return None;
        }
        if let Some(same) = before.filter(|before| before.settings == settings) {
            return Some(Arc::clone(same));
        }
        let class = |one: &BandwidthSettings| {
            let [whole, per_client] = one.rates();
            (UrlRules::of(&one.urls), Arc::new(BandwidthClass::new(whole, per_client)))
        };
        let classes = settings.iter().map(class).collect();
        Some(Arc::new(Self { settings: settings.to_vec(), classes, since: Instant::now() }))
    }

    /// The pace of what a client has from this path of a server, if it is of a class.
    pub(crate) fn pace(
        &self,
        client: IpAddr,
        origin: &Origin,
        path: &str,
        now: Now,
    ) -> Option<TransferPace> {
        let (host, url) = (origin.host.to_name(), origin.url(path));
        let mut classes = self.settings.iter().zip(&self.classes);
        let (_, (_, class)) = classes.find(|(settings, (urls, _))| {
            settings.is_for(client)
                && urls.as_ref().is_none_or(|urls| urls.holds(host.as_name(), &url, now))
        })?;
        Some(TransferPace { class: Arc::clone(class), client, since: self.since, wait: None })
    }
}

impl TransferPace {
    /// Ready when more may be taken.
    fn poll_turn(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(wait) = &mut self.wait {
            ready!(wait.as_mut().poll(cx));
            self.wait = None;
        }
        Poll::Ready(())
    }

    /// Notes what was taken.
    fn took(&mut self, bytes: usize) {
        let now = Instant::now();
        let now_us = u64::try_from((now - self.since).as_micros()).unwrap_or(u64::MAX);
        let wait_us = self.class.reserve(self.client, bytes as u64, now_us);
        if wait_us > 0 {
            self.wait = Some(Box::pin(sleep_until(now + Duration::from_micros(wait_us))));
        }
    }
}

/// The body at its pace, if it has one.
pub(crate) fn paced(body: Body, pace: Option<TransferPace>) -> Body {
    match pace {
        Some(pace) if !body.is_end_stream() => {
            Body::boxed(PacedBody { body, rest: Bytes::new(), pace })
        }
        Some(_) | None => body,
    }
}

impl HttpBody for PacedBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = &mut *self;
        ready!(this.pace.poll_turn(cx));
        if this.rest.is_empty() {
            let frame = match ready!(Pin::new(&mut this.body).poll_frame(cx)) {
                Some(Ok(frame)) => frame,
                ended => return Poll::Ready(ended),
            };
            match frame.into_data() {
                Ok(data) => this.rest = data,
                Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
            }
        }
        let piece = this.rest.len().min(this.pace.class.piece_bytes());
        this.pace.took(piece);
        Poll::Ready(Some(Ok(Frame::data(this.rest.split_to(piece)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (inner, rest) = (self.body.size_hint(), self.rest.len() as u64);
        let mut hint = SizeHint::new();
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper.saturating_add(rest));
        }
        hint.set_lower(inner.lower().saturating_add(rest));
        hint
    }
}

impl<S> PacedStream<S> {
    pub(crate) const fn new(stream: S, pace: Option<TransferPace>) -> Self {
        Self { stream, pace }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for PacedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let Some(pace) = &mut this.pace else {
            return Pin::new(&mut this.stream).poll_read(cx, buf);
        };
        ready!(pace.poll_turn(cx));
        let room = buf.remaining().min(pace.class.piece_bytes());
        let mut piece = ReadBuf::new(buf.initialize_unfilled_to(room));
        ready!(Pin::new(&mut this.stream).poll_read(cx, &mut piece))?;
        let count = piece.filled().len();
        buf.advance(count);
        if count > 0 {
            pace.took(count);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for PacedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;
    use http_engine::body::read_all;
    use settings::Text;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    const NOW: Now = Now { unix_ms: 0, mono_ms: 0 };

    fn classes() -> Arc<BandwidthClasses> {
        let one = |clients: &[&str], urls: &[&str], rate: &str| BandwidthSettings {
            clients: clients.iter().map(|it| Text(it.parse().unwrap())).collect(),
            urls: urls.iter().map(ToString::to_string).collect(),
            rate: Some(Text(rate.parse().unwrap())),
            rate_per_client: None,
            burst: Some(Text("16KiB".parse().unwrap())),
        };
        let settings = [
            one(&["10.0.0.0/8"], &["||video.example^", "/\\.iso$/"], "16KiB"),
            one(&["10.1.0.0/16"], &[], "64KiB"),
        ];
        BandwidthClasses::of(&settings, None).unwrap()
    }

    fn pace(client: &str, origin: &str, path: &str) -> Option<TransferPace> {
        classes().pace(client.parse().unwrap(), &origin.parse().unwrap(), path, NOW)
    }

    fn piece(client: &str, origin: &str, path: &str) -> usize {
        pace(client, origin, path).map_or(0, |pace| pace.class.piece_bytes())
    }

    #[tokio::test]
    async fn the_first_class_that_names_client_and_url_counts() {
        let (slow, fast) = (1024, (64 << 10) / 20);
        assert_eq!(piece("10.1.0.1", "https://a.video.example", "/"), slow);
        assert_eq!(piece("10.1.0.1", "http://other.example", "/x.iso"), slow);
        assert_eq!(piece("10.1.0.1", "http://other.example", "/x"), fast);
        assert!(pace("10.2.0.1", "http://other.example", "/x").is_none());
        assert!(pace("192.168.0.1", "http://video.example", "/").is_none());
        let known = classes();
        assert!(Arc::ptr_eq(&BandwidthClasses::of(&known.settings, Some(&known)).unwrap(), &known));
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_takes_as_long_as_its_rate_says_and_stays_the_same() {
        let bytes: Vec<u8> = (0..160_u32 << 10).map(|it| it as u8).collect();
        let (began, whole) = (Instant::now(), Bytes::from(bytes.clone()));
        let slow = paced(Body::from(whole), pace("10.0.0.1", "http://video.example", "/"));
        assert_eq!(http_body::Body::size_hint(&slow).exact(), Some(160 << 10));
        let read = read_all(slow, 1 << 20, Duration::from_mins(5)).await.unwrap();
        assert!(read == bytes);
        // 160 KiB less the burst, at 16 KiB a second.
        assert!(began.elapsed() >= Duration::from_secs(8), "{:?}", began.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn a_tunnel_is_paced_towards_the_client_alone() {
        let (near, mut far) = duplex(1 << 20);
        let mut near = PacedStream::new(near, pace("10.0.0.1", "https://video.example", "/"));
        let (began, sent) = (Instant::now(), vec![7; 80 << 10]);
        near.write_all(&sent).await.unwrap();
        far.read_exact(&mut vec![0; sent.len()]).await.unwrap();
        assert_eq!(began.elapsed(), Duration::ZERO);
        far.write_all(&sent).await.unwrap();
        drop(far);
        let mut read = Vec::new();
        near.read_to_end(&mut read).await.unwrap();
        assert!(read == sent && began.elapsed() >= Duration::from_secs(3));
    }
}
