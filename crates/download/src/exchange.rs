//! One request of `tidegate get` and the head of its answer: dialling, proxies, TLS, redirects.
//!
//! Names are resolved by the system. A redirect is followed a few times, and never from https to
//! http: what was asked for in private must not come in the open.

use http::header::{ACCEPT_ENCODING, HOST, IF_RANGE, LOCATION, RANGE, USER_AGENT};
use http::{HeaderValue, Request, Response, StatusCode};
use http_engine::client::connect_http1;
use http_engine::{Body, Incoming};
use std::fmt;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::lookup_host;
use transport::tls::Alpn;
use transport::{ClientTls, DialReason, Stream, dial};
use url::Url;

const DIAL_TIMEOUT: Duration = Duration::from_secs(15);
/// From the request to the head of its answer, TLS included.
const HEAD_TIMEOUT: Duration = Duration::from_mins(1);
const REDIRECTS_MAX: usize = 10;
/// The head of a proxy's answer to CONNECT, in bytes.
const CONNECT_HEAD_BYTES_MAX: usize = 8 << 10;

/// Words of the system's libraries for a name that there is not, or that has no address.
const NO_SUCH_NAME: [&str; 4] =
    ["not known", "No address associated", "does not resolve", "nodename nor servname"];

/// Reason why there was no answer that can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnusableAnswer {
    /// Worth another try.
    Network(String),
    /// Nobody listens, or no such name: another try helps only where one before got further.
    Unreachable(String),
    /// The server answered with something else than the thing.
    Status(StatusCode),
    /// Trying again would not help.
    Refused(String),
}

/// Holds how a server is reached.
pub(crate) struct ServerRoute<'r> {
    pub(crate) tls: &'r ClientTls,
    pub(crate) proxy: Option<&'r Url>,
}

/// A byte stream whatever it goes through.
trait ByteStream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<I: AsyncRead + AsyncWrite + Unpin + Send> ByteStream for I {}

/// True for a URL that can be downloaded: `http://` or `https://`, with a host.
pub fn is_supported(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https") && url.has_host()
}

/// Asks for `url`, from `range` on if given as (first byte, validator); follows redirects. The URL
/// that answered comes with the answer.
pub(crate) async fn ask(
    route: &ServerRoute<'_>,
    url: &Url,
    range: Option<(u64, &str)>,
) -> Result<(Url, Response<Incoming>), UnusableAnswer> {
    let mut url = url.clone();
    for _ in 0..=REDIRECTS_MAX {
        let answered = tokio::time::timeout(HEAD_TIMEOUT, ask_once(route, &url, range)).await;
        let answer = answered.map_err(|_| network("no answer in time"))??;
        let status = answer.status();
        if !status.is_redirection() || status == StatusCode::NOT_MODIFIED {
            return Ok((url, answer));
        }
        url = redirected(&url, answer.headers().get(LOCATION))?;
    }
    Err(UnusableAnswer::Refused(format!("more than {REDIRECTS_MAX} redirects")))
}

fn redirected(from: &Url, location: Option<&HeaderValue>) -> Result<Url, UnusableAnswer> {
    let location = location.and_then(|it| std::str::from_utf8(it.as_bytes()).ok());
    let to = location.and_then(|it| from.join(it).ok());
    let to = to.ok_or_else(|| UnusableAnswer::Refused("a redirect to nowhere".into()))?;
    if !is_supported(&to) {
        return Err(UnusableAnswer::Refused(format!(
            "a redirect to {to}, which is not spoken here"
        )));
    }
    if from.scheme() == "https" && to.scheme() == "http" {
        return Err(UnusableAnswer::Refused(format!(
            "a redirect from https to {to}; ask for that by itself"
        )));
    }
    Ok(to)
}

async fn ask_once(
    route: &ServerRoute<'_>,
    url: &Url,
    range: Option<(u64, &str)>,
) -> Result<Response<Incoming>, UnusableAnswer> {
    let io = connect(route, url).await?;
    let mut sender = connect_http1(io);
    let request = request(route, url, range)?;
    sender.send(request).await.map_err(|why| network(&why))
}

fn request(
    route: &ServerRoute<'_>,
    url: &Url,
    range: Option<(u64, &str)>,
) -> Result<Request<Body>, UnusableAnswer> {
    let plain_by_proxy = route.proxy.is_some() && url.scheme() == "http";
    // A proxy is told the whole URL, a server the path.
    let target = if plain_by_proxy {
        &url[..url::Position::AfterQuery]
    } else {
        &url[url::Position::BeforePath..url::Position::AfterQuery]
    };
    let mut request = Request::get(target)
        .header(HOST, &url[url::Position::BeforeHost..url::Position::AfterPort])
        .header(USER_AGENT, concat!("tidegate/", env!("CARGO_PKG_VERSION")))
        // The bytes as they are: a part that is compressed cannot be continued.
        .header(ACCEPT_ENCODING, "identity");
    if let Some((first, validator)) = range {
        request = request.header(RANGE, format!("bytes={first}-")).header(IF_RANGE, validator);
    }
    request.body(Body::empty()).map_err(|why| UnusableAnswer::Refused(why.to_string()))
}

/// A connection to the server of `url`, or to the proxy.
async fn connect(
    route: &ServerRoute<'_>,
    url: &Url,
) -> Result<Box<dyn ByteStream>, UnusableAnswer> {
    let stream = connected(route.proxy.unwrap_or(url)).await?;
    if url.scheme() == "http" {
        return Ok(Box::new(stream));
    }
    let stream = match route.proxy {
        Some(_) => tunnelled(stream, url).await?,
        None => stream,
    };
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let opened = route.tls.connect(stream, host, &[Alpn::Http1]).await;
    opened.map(|it| Box::new(it) as Box<dyn ByteStream>).map_err(|why| match why {
        transport::tls::ConnectError::Closed => network(&why),
        why => UnusableAnswer::Refused(why.to_string()),
    })
}

async fn connected(url: &Url) -> Result<Stream, UnusableAnswer> {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let port = url.port_or_known_default().unwrap_or(80);
    let found = lookup_host((host, port)).await;
    let found = found.map_err(|why| no_address(host, &why))?;
    let mut last = network(format!("{host} has no address"));
    for address in found {
        match dial(address, DIAL_TIMEOUT).await {
            Ok(stream) => return Ok(stream),
            Err(why) if why.reason == DialReason::Refused => {
                last = UnusableAnswer::Unreachable(why.to_string());
            }
            Err(why) => last = network(why),
        }
    }
    Err(last)
}

/// Asks the proxy at the other end for a tunnel (RFC 9110 §9.3.6).
async fn tunnelled(mut stream: Stream, url: &Url) -> Result<Stream, UnusableAnswer> {
    let host = url.host_str().unwrap_or_default();
    let port = url.port_or_known_default().unwrap_or(443);
    let ask = format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n");
    stream.write_all(ask.as_bytes()).await.map_err(|why| network(&why))?;
    let mut head = Vec::new();
    // A byte at a time: what follows the head belongs to the tunnel.
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() == CONNECT_HEAD_BYTES_MAX {
            return Err(UnusableAnswer::Refused("the proxy's answer does not end".into()));
        }
        head.push(stream.read_u8().await.map_err(|why| network(&why))?);
    }
    let line = head.split(|it| *it == b'\r').next().unwrap_or_default();
    let status = line.split(|it| *it == b' ').nth(1);
    let status = status.and_then(|it| StatusCode::from_bytes(it).ok());
    match status {
        Some(status) if status.is_success() => Ok(stream),
        Some(status) => Err(UnusableAnswer::Refused(format!("the proxy answers {status}"))),
        None => Err(UnusableAnswer::Refused("the proxy does not speak HTTP".into())),
    }
}

/// Failure of a look-up by the system, which has no numbers for it but words.
fn no_address(host: &str, why: &io::Error) -> UnusableAnswer {
    let why = format!("{host} has no address: {why}");
    if NO_SUCH_NAME.iter().any(|words| why.contains(words)) {
        UnusableAnswer::Unreachable(why)
    } else {
        UnusableAnswer::Network(why)
    }
}

fn network(why: impl fmt::Display) -> UnusableAnswer {
    UnusableAnswer::Network(why.to_string())
}

impl From<io::Error> for UnusableAnswer {
    fn from(why: io::Error) -> Self {
        network(&why)
    }
}

impl fmt::Display for UnusableAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network(why) | Self::Unreachable(why) | Self::Refused(why) => f.write_str(why),
            Self::Status(status) => write!(f, "the server answers {status}"),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_not_there_is_no_reason_to_wait_and_a_silent_server_is() {
        let of = |words: &str| no_address("a.test", &io::Error::other(words.to_owned()));
        let nowhere = "failed to lookup address information: Name or service not known";
        assert!(matches!(of(nowhere), UnusableAnswer::Unreachable(_)));
        let later = "failed to lookup address information: Temporary failure in name resolution";
        assert!(matches!(of(later), UnusableAnswer::Network(_)));
    }

    #[test]
    fn redirects_stay_in_private_and_in_what_is_spoken() {
        let to = |from: &str, location: &'static str| {
            let location = HeaderValue::from_static(location);
            redirected(&Url::parse(from).unwrap(), Some(&location)).map(String::from)
        };
        assert_eq!(to("http://a.test/x/y", "../z?q").unwrap(), "http://a.test/z?q");
        assert_eq!(to("http://a.test/", "https://b.test/").unwrap(), "https://b.test/");
        assert_eq!(to("https://a.test/", "//b.test/").unwrap(), "https://b.test/");
        for bad in ["http://a.test/", "file:///etc/passwd", "ftp://a.test/"] {
            assert!(matches!(to("https://a.test/", bad), Err(UnusableAnswer::Refused(_))), "{bad}");
        }
    }
}
