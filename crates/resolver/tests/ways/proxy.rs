//! SOCKS5 proxies: what they are asked, and what becomes of a refusal.

use super::certificate::Certificate;
use super::messages::answer;
use super::stream_server::{Asked, Step, StreamServer};
use super::{ADDRESS, addresses, ask, at, error, start};
use resolver::{ResolveError, UpstreamDetails};
use settings::Text;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

/// A proxy that wants this user and password, connects names to 127.0.0.1, and notes whom it was
/// asked for.
struct Socks {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Socks {
    async fn start(credentials: Option<(&'static str, &'static str)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, asked) = (listener.local_addr().unwrap(), Arc::default());
        let notes: Arc<Mutex<Vec<String>>> = Arc::clone(&asked);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let notes = Arc::clone(&notes);
                // Whoever hangs up early ends only this.
                tokio::spawn(async move { drop(serve(stream, credentials, &notes).await) });
            }
        });
        Self { address, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

async fn serve(
    mut stream: TcpStream,
    credentials: Option<(&str, &str)>,
    notes: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    assert_eq!(stream.read_u8().await?, 5);
    let mut methods = vec![0; stream.read_u8().await?.into()];
    stream.read_exact(&mut methods).await?;
    if let Some((user, password)) = credentials {
        if !methods.contains(&2) {
            return stream.write_all(&[5, 0xff]).await;
        }
        stream.write_all(&[5, 2]).await?;
        assert_eq!(stream.read_u8().await?, 1);
        let right = text(&mut stream).await? == user && text(&mut stream).await? == password;
        stream.write_all(&[1, u8::from(!right)]).await?;
        if !right {
            return Ok(());
        }
    } else {
        stream.write_all(&[5, 0]).await?;
    }
    let mut request = [0; 4];
    stream.read_exact(&mut request).await?;
    assert_eq!(request[..3], [5, 1, 0]);
    let (host, reached) = match request[3] {
        1 => {
            let mut ip = [0; 4];
            stream.read_exact(&mut ip).await?;
            (std::net::Ipv4Addr::from(ip).to_string(), std::net::Ipv4Addr::from(ip))
        }
        _ => (text(&mut stream).await?, std::net::Ipv4Addr::LOCALHOST),
    };
    let port = stream.read_u16().await?;
    notes.lock().unwrap().push(host);
    match TcpStream::connect((reached, port)).await {
        Ok(mut target) => {
            stream.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await?;
            copy_bidirectional(&mut stream, &mut target).await.map(drop)
        }
        Err(_) => stream.write_all(&[5, 5, 0, 1, 0, 0, 0, 0, 0, 0]).await,
    }
}

async fn text(stream: &mut TcpStream) -> std::io::Result<String> {
    let mut text = vec![0; stream.read_u8().await?.into()];
    stream.read_exact(&mut text).await?;
    Ok(String::from_utf8(text).unwrap())
}

fn through(socks: &str, address: String) -> UpstreamDetails {
    UpstreamDetails { socks5: Some(Text(socks.parse().unwrap())), ..at(address) }
}

fn truth(it: &Asked) -> Vec<Step> {
    vec![Step::Send(answer(&it.message))]
}

#[tokio::test]
async fn an_address_is_reached_through_a_proxy() {
    let certificate = Certificate::new();
    let (socks, server) = (Socks::start(None).await, StreamServer::start(None, truth).await);
    let details = through(&socks.address.to_string(), format!("tcp://{}", server.address));
    let resolver = start(details, &certificate);
    assert_eq!(addresses(&ask(&resolver, "a.example").await), [ADDRESS]);
    assert_eq!(addresses(&ask(&resolver, "b.example").await), [ADDRESS]);
    assert_eq!(socks.asked(), ["127.0.0.1"], "one connection for both");
}

#[tokio::test]
async fn a_name_is_the_proxys_to_find_and_still_the_certificates() {
    let certificate = Certificate::new();
    let socks = Socks::start(Some(("me", "secret"))).await;
    let server = StreamServer::start(Some(certificate.server()), truth).await;
    let url = |name: &str| format!("tls://{name}:{}", server.address.port());
    let proxy = format!("me:secret@localhost:{}", socks.address.port());
    let resolver = start(through(&proxy, url("dns.test")), &certificate);
    assert_eq!(addresses(&ask(&resolver, "a.example").await), [ADDRESS]);
    let resolver = start(through(&proxy, url("other.test")), &certificate);
    assert_eq!(error(&ask(&resolver, "a.example").await), ResolveError::Tls);
    assert_eq!(socks.asked(), ["dns.test", "other.test"]);
}

#[tokio::test]
async fn a_proxy_that_refuses_is_an_upstream_that_cannot_be_reached() {
    let certificate = Certificate::new();
    let (open, closed) = (Socks::start(None).await, Socks::start(Some(("me", "secret"))).await);
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let server = StreamServer::start(None, truth).await;
    let cases = [
        (format!("me:wrong@{}", closed.address), server.address),
        (closed.address.to_string(), server.address),
        (open.address.to_string(), nobody),
        (nobody.to_string(), server.address),
    ];
    for (socks, target) in cases {
        let resolver = start(through(&socks, format!("tcp://{target}")), &certificate);
        let found = ask(&resolver, "a.example").await;
        assert_eq!(error(&found), ResolveError::Unreachable, "{socks}");
    }
    assert_eq!(server.asked().len(), 0);
}

#[tokio::test]
async fn a_proxy_that_says_nothing_is_given_up_in_time() {
    let certificate = Certificate::new();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let details = through(&silent.local_addr().unwrap().to_string(), "tcp://192.0.2.1".into());
    let found = ask(&start(details, &certificate), "a.example").await;
    assert_eq!(error(&found), ResolveError::Timeout);
}
