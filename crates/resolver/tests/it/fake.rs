//! An upstream that the test controls: UDP and TCP on one port, TLS and HTTPS on two others. It
//! answers from what it is told to do, notes what it was asked, and lies on demand.
#![allow(unreachable_pub)] // Shared by the files of this test.

use dns_wire::{DnsQuery, Rcode, synthesize};
use http_body_util::BodyExt;
use http_engine::{Body, HttpVersions, Limits};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, UdpSocket};
use tokio::sync::{Notify, watch};
use transport::ServerTls;
use transport::tls::Alpn;
use vocab::NameBuffer;

/// Longest wait for anything in these tests.
pub const DEADLINE: Duration = Duration::from_secs(10);
pub const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7));
pub const FORGED: IpAddr = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 66));

/// What it does with a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Answers with [`ADDRESS`] and this TTL.
    Answer(u32),
    /// Answers with another address, to tell two upstreams apart.
    AnswerWith(IpAddr),
    /// Answers with all of these.
    AnswerWithAll([IpAddr; 3]),
    NxDomain,
    ServFail,
    Nothing,
    /// Over UDP, TC; over streams, an answer.
    Truncate,
    /// First [`FORGED`] under another number, then the truth.
    WrongId,
    /// First [`FORGED`] for another question, then the truth.
    WrongQuestion,
    /// First [`FORGED`], right in all but the address it comes from, then the truth.
    WrongSource,
    /// The truth, once [`Fake::open_gate`] was called.
    WaitForGate,
    /// Closes the stream instead of answering; from then on it answers.
    HangUp,
    /// Over HTTPS, a page instead of a message.
    Page,
    /// First [`FORGED`], right in all but the port of ours that it goes to, then the truth.
    WrongPort,
    /// The truth, then [`FORGED`].
    Twice,
    /// The truth, after so many milliseconds.
    Delayed(u64),
    /// Over UDP, TC; over streams, an answer of 65,5xx bytes.
    Huge,
    /// Answers and closes the stream, each time.
    CloseAfter,
    /// Nothing for names that end so; the truth for others.
    SilentAbout(&'static str),
    /// An A record of six bytes.
    SixBytes,
    /// The address, and besides one of another name.
    BesidesAnother,
    /// The address with AD.
    Validated,
}

/// One question as it came.
#[derive(Clone, Debug)]
pub struct Asked {
    pub name: String,
    pub id: u16,
    pub from: SocketAddr,
    pub way: Way,
    /// The options of its OPT record, raw.
    pub options: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Udp,
    Tcp,
    Tls,
    Http1,
    Http2,
}

pub struct Fake {
    pub plain: SocketAddr,
    pub tls: SocketAddr,
    pub https: SocketAddr,
    /// The authority of its certificate, which is for `dns.test` and 127.0.0.1.
    pub pem: String,
    state: Arc<State>,
}

struct State {
    deed: Mutex<Deed>,
    asked: Mutex<Vec<Asked>>,
    count: watch::Sender<usize>,
    connections: Mutex<Vec<Way>>,
    gate: Notify,
    versions: Mutex<Vec<Alpn>>,
}

enum Reply {
    Message(Vec<u8>),
    /// Sent from another port.
    Elsewhere(Vec<u8>),
    /// Sent to every port that asked before.
    ToOthers(Vec<u8>),
    HangUp,
    Page,
}

impl Fake {
    pub fn start(deed: Deed) -> Self {
        let names = vec!["dns.test".to_owned(), "127.0.0.1".to_owned()];
        let (authority_key, key) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
        let mut authority = CertificateParams::new(Vec::new()).unwrap();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = authority.self_signed(&authority_key).unwrap().pem();
        let issuer = Issuer::new(authority, authority_key);
        let leaf = CertificateParams::new(names).unwrap().signed_by(&key, &issuer).unwrap();
        let server_tls =
            ServerTls::with_pem(leaf.pem().as_bytes(), key.serialize_pem().as_bytes()).unwrap();
        let state = Arc::new(State {
            deed: Mutex::new(deed),
            asked: Mutex::default(),
            count: watch::Sender::new(0),
            connections: Mutex::default(),
            gate: Notify::new(),
            versions: Mutex::default(),
        });
        let local = || std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let (tls, https) = (local(), local());
        let (udp, tcp) = loop {
            let udp = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
            if let Ok(tcp) = std::net::TcpListener::bind(udp.local_addr().unwrap()) {
                break (udp, tcp);
            }
        };
        let fake = Self {
            plain: udp.local_addr().unwrap(),
            tls: tls.local_addr().unwrap(),
            https: https.local_addr().unwrap(),
            pem,
            state: Arc::clone(&state),
        };
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build_local(tokio::runtime::LocalOptions::default())
                .unwrap();
            runtime.block_on(async move {
                let listen = |listener: std::net::TcpListener| {
                    listener.set_nonblocking(true).unwrap();
                    TcpListener::from_std(listener).unwrap()
                };
                udp.set_nonblocking(true).unwrap();
                let udp = UdpSocket::from_std(udp).unwrap();
                tokio::join!(
                    serve_udp(Arc::clone(&state), udp),
                    serve_tcp(Arc::clone(&state), listen(tcp)),
                    serve_tls(Arc::clone(&state), listen(tls), server_tls.clone()),
                    serve_https(Arc::clone(&state), listen(https), server_tls),
                );
            });
        });
        fake
    }

    pub fn deed(&self, deed: Deed) {
        *self.state.deed.lock().unwrap() = deed;
    }

    pub fn open_gate(&self) {
        self.state.gate.notify_waiters();
        self.state.gate.notify_one();
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.state.asked.lock().unwrap().clone()
    }

    pub fn connections(&self) -> usize {
        self.state.connections.lock().unwrap().len()
    }

    /// Waits until it has been asked `count` times in all.
    pub async fn asked_times(&self, count: usize) {
        let mut asked = self.state.count.subscribe();
        let waited = tokio::time::timeout(DEADLINE, asked.wait_for(|it| *it >= count)).await;
        waited
            .unwrap_or_else(|_| panic!("asked {} times, not {count}", self.asked().len()))
            .unwrap();
    }
}

impl State {
    #[expect(
        clippy::too_many_lines,
        reason = "one arm for each way in which an upstream misbehaves"
    )]
    async fn replies(&self, packet: &[u8], from: SocketAddr, way: Way) -> Vec<Reply> {
        let mut text = NameBuffer::new();
        let query = DnsQuery::parse(packet, &mut text).unwrap();
        let name = text.as_name().as_str().to_owned();
        let mut deed = *self.deed.lock().unwrap();
        self.asked.lock().unwrap().push(Asked {
            name: name.clone(),
            id: query.id,
            from,
            way,
            options: query.options.to_vec(),
        });
        self.count.send_modify(|it| *it += 1);
        if deed == Deed::WaitForGate {
            self.gate.notified().await;
            deed = Deed::Answer(300);
        }
        let made = |make: &dyn Fn(&mut Vec<u8>)| {
            let mut out = Vec::new();
            make(&mut out);
            out
        };
        let with = |address, ttl| {
            Reply::Message(made(&|out| synthesize::addresses(&query, &[address], ttl, None, out)))
        };
        let mut forged = made(&|out| synthesize::addresses(&query, &[FORGED], 300, None, out));
        match deed {
            Deed::Answer(ttl) => vec![with(ADDRESS, ttl)],
            Deed::AnswerWith(address) => vec![with(address, 300)],
            Deed::AnswerWithAll(all) => {
                vec![Reply::Message(made(&|out| {
                    synthesize::addresses(&query, &all, 300, None, out);
                }))]
            }
            Deed::NxDomain => {
                vec![Reply::Message(made(&|out| synthesize::nxdomain(&query, 300, None, out)))]
            }
            Deed::ServFail => {
                vec![Reply::Message(made(&|out| synthesize::servfail(&query, None, out)))]
            }
            Deed::Nothing | Deed::WaitForGate => vec![],
            Deed::SilentAbout(end) if name.ends_with(end) => vec![],
            Deed::SixBytes => {
                let mut message = without_opt(&query);
                message.truncate(message.len() - 6);
                message.extend([0, 6, 192, 0, 2, 7, 0, 0]);
                vec![Reply::Message(message)]
            }
            Deed::BesidesAnother => {
                let mut message = without_opt(&query);
                message[7] = 2;
                message.extend(b"\x06victim\x04test\0\0\x01\0\x01\0\0\x01\x2c\0\x04");
                message.extend([203, 0, 113, 66]);
                vec![Reply::Message(message)]
            }
            Deed::Validated => {
                let mut message = without_opt(&query);
                message[3] |= 0x20;
                vec![Reply::Message(message)]
            }
            Deed::Truncate | Deed::Huge if way == Way::Udp => {
                let mut cut = made(&|out| synthesize::error(&query, Rcode::NoError, out));
                cut[2] |= 2;
                vec![Reply::Message(cut)]
            }
            Deed::Truncate | Deed::SilentAbout(_) => vec![with(ADDRESS, 300)],
            Deed::WrongId => {
                forged[1] ^= 1;
                vec![Reply::Message(forged), with(ADDRESS, 300)]
            }
            Deed::WrongQuestion => {
                forged[13] ^= 1;
                vec![Reply::Message(forged), with(ADDRESS, 300)]
            }
            Deed::WrongSource => vec![Reply::Elsewhere(forged), with(ADDRESS, 300)],
            Deed::HangUp => {
                *self.deed.lock().unwrap() = Deed::Answer(300);
                vec![Reply::HangUp]
            }
            Deed::Page => vec![Reply::Page],
            Deed::WrongPort => vec![Reply::ToOthers(forged), with(ADDRESS, 300)],
            Deed::Twice => vec![with(ADDRESS, 300), Reply::Message(forged)],
            Deed::Delayed(millis) => {
                tokio::time::sleep(Duration::from_millis(millis)).await;
                vec![with(ADDRESS, 300)]
            }
            Deed::Huge => vec![Reply::Message(huge(&query))],
            Deed::CloseAfter => vec![with(ADDRESS, 300), Reply::HangUp],
        }
    }
}

/// [`ADDRESS`], and nothing behind it.
fn without_opt(query: &DnsQuery<'_>) -> Vec<u8> {
    let mut message = Vec::new();
    synthesize::addresses(&DnsQuery { edns: None, ..*query }, &[ADDRESS], 300, None, &mut message);
    message
}

/// An answer that fills a stream's message to the last record: addresses of one name.
fn huge(query: &DnsQuery<'_>) -> Vec<u8> {
    const RECORD: [u8; 16] = [0xc0, 12, 0, 1, 0, 1, 0, 0, 1, 44, 0, 4, 192, 0, 2, 7];
    let mut message = Vec::new();
    synthesize::nodata(&DnsQuery { edns: None, ..*query }, 300, None, &mut message);
    message.truncate(12 + query.question.len());
    let count = (65_535 - message.len()) / RECORD.len();
    message[4..12].copy_from_slice(&[0, 1, (count >> 8) as u8, count as u8, 0, 0, 0, 0]);
    for _ in 0..count {
        message.extend(RECORD);
    }
    message
}

async fn serve_udp(state: Arc<State>, udp: UdpSocket) {
    let udp = Rc::new(udp);
    let mut packet = [0; 4096];
    loop {
        let (length, from) = udp.recv_from(&mut packet).await.unwrap();
        let (state, udp, packet) = (Arc::clone(&state), Rc::clone(&udp), packet[..length].to_vec());
        tokio::task::spawn_local(async move {
            for reply in state.replies(&packet, from, Way::Udp).await {
                match reply {
                    Reply::ToOthers(message) => {
                        let asked = state.asked.lock().unwrap().clone();
                        for other in asked.iter().filter(|it| it.from != from) {
                            // Some of those ports are closed by now.
                            let _ = udp.send_to(&message, other.from).await;
                        }
                    }
                    Reply::Message(message) => drop(udp.send_to(&message, from).await.unwrap()),
                    Reply::Elsewhere(message) => {
                        let other = UdpSocket::bind("127.0.0.1:0").await.unwrap();
                        other.send_to(&message, from).await.unwrap();
                    }
                    Reply::HangUp | Reply::Page => {}
                }
            }
        });
    }
}

async fn serve_tcp(state: Arc<State>, listener: TcpListener) {
    loop {
        let (stream, from) = listener.accept().await.unwrap();
        state.connections.lock().unwrap().push(Way::Tcp);
        tokio::task::spawn_local(serve_stream(Arc::clone(&state), stream, from, Way::Tcp));
    }
}

async fn serve_tls(state: Arc<State>, listener: TcpListener, tls: ServerTls) {
    loop {
        let (stream, from) = listener.accept().await.unwrap();
        let (state, tls) = (Arc::clone(&state), tls.clone());
        tokio::task::spawn_local(async move {
            let stream = transport::Stream::from_std(stream.into_std().unwrap()).unwrap();
            if let Ok(stream) = tls.accept(stream, DEADLINE).await {
                state.connections.lock().unwrap().push(Way::Tls);
                serve_stream(state, stream, from, Way::Tls).await;
            }
        });
    }
}

/// Answers on a stream in whatever order the answers are ready.
async fn serve_stream<S>(state: Arc<State>, stream: S, from: SocketAddr, way: Way)
where
    S: AsyncRead + AsyncWrite + 'static,
{
    let (mut reader, writer) = tokio::io::split(stream);
    let writer = Rc::new(tokio::sync::Mutex::new(writer));
    let hung_up = Rc::new(Notify::new());
    loop {
        let length = tokio::select! {
            length = reader.read_u16() => length,
            () = hung_up.notified() => return,
        };
        let Ok(length) = length else { return };
        let mut packet = vec![0; length.into()];
        if reader.read_exact(&mut packet).await.is_err() {
            return;
        }
        let (state, writer, hung_up) =
            (Arc::clone(&state), Rc::clone(&writer), Rc::clone(&hung_up));
        tokio::task::spawn_local(async move {
            for reply in state.replies(&packet, from, way).await {
                match reply {
                    Reply::Message(message)
                    | Reply::Elsewhere(message)
                    | Reply::ToOthers(message) => {
                        let mut framed = (message.len() as u16).to_be_bytes().to_vec();
                        framed.extend(message);
                        let mut writer = writer.lock().await;
                        // The other side may be gone; that is the test's business.
                        let _ = writer.write_all(&framed).await;
                        let _ = writer.flush().await;
                    }
                    Reply::HangUp | Reply::Page => hung_up.notify_one(),
                }
            }
        });
    }
}

async fn serve_https(state: Arc<State>, listener: TcpListener, tls: ServerTls) {
    loop {
        let (stream, from) = listener.accept().await.unwrap();
        let (state, tls) = (Arc::clone(&state), tls.clone());
        tokio::task::spawn_local(async move {
            let stream = transport::Stream::from_std(stream.into_std().unwrap()).unwrap();
            let Ok(stream) = tls.accept(stream, DEADLINE).await else { return };
            let alpn = stream.alpn().unwrap();
            state.versions.lock().unwrap().push(alpn);
            let (way, versions) = match alpn {
                Alpn::Http2 => (Way::Http2, HttpVersions::Http2),
                Alpn::Http1 | Alpn::Dot => (Way::Http1, HttpVersions::Http1),
            };
            state.connections.lock().unwrap().push(way);
            let closing = Rc::new(Notify::new());
            let stop = Rc::clone(&closing);
            let handler = move |request: http::Request<http_engine::Incoming>| {
                let (state, closing) = (Arc::clone(&state), Rc::clone(&closing));
                async move {
                    assert_eq!(request.method(), "POST");
                    assert_eq!(request.uri().path(), "/dns-query");
                    assert_eq!(request.headers()["content-type"], "application/dns-message");
                    let packet = request.into_body().collect().await.unwrap().to_bytes();
                    let replies = state.replies(&packet, from, way).await;
                    let response = http::Response::builder();
                    match replies.into_iter().next() {
                        Some(
                            Reply::Message(message)
                            | Reply::Elsewhere(message)
                            | Reply::ToOthers(message),
                        ) => response
                            .header("content-type", "application/dns-message")
                            .body(Body::full(message))
                            .unwrap(),
                        Some(Reply::Page) => response
                            .header("content-type", "text/html")
                            .body(Body::from("<p>Log in first"))
                            .unwrap(),
                        Some(Reply::HangUp) => {
                            closing.notify_one();
                            std::future::pending().await
                        }
                        None => std::future::pending().await,
                    }
                }
            };
            let served = http_engine::serve(
                stream,
                versions,
                Limits::default(),
                std::future::pending(),
                handler,
            );
            tokio::select! {
                _ = served => {}
                () = stop.notified() => {}
            }
        });
    }
}
