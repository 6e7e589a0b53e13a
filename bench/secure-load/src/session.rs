//! A connection to the server under test, over which questions are asked: QUIC or HTTP/2.

use crate::message::Question;
use crate::{Failure, trust};
use bytes::Bytes;
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Connection, Endpoint, TransportConfig};
use rustls::pki_types::ServerName;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// Largest answer read: DNS has no larger ones.
const ANSWER_MAX: usize = 65_537;
/// Window of a connection and a stream: an answer is never held up by it.
const WINDOW_BYTES: u32 = 1 << 20;

/// One connection.
#[derive(Clone)]
pub enum Session {
    /// DNS over QUIC (RFC 9250): a stream a question.
    Doq(Connection),
    /// DNS over HTTPS (RFC 8484): a POST a question, by HTTP/2.
    Doh(h2::client::SendRequest<Bytes>, Arc<str>),
}

fn tls(protocol: &[u8]) -> Result<rustls::ClientConfig, Failure> {
    let mut tls = rustls::ClientConfig::builder_with_provider(trust::provider())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(trust::Anyone))
        .with_no_client_auth();
    tls.alpn_protocols = vec![protocol.to_vec()];
    Ok(tls)
}

impl Session {
    pub async fn open(way: &str, server: SocketAddr) -> Result<Self, Failure> {
        match way {
            "doq" => Self::open_quic(server).await,
            "doh" => Self::open_http(server).await,
            _ => Err(format!("`{way}` is neither doh nor doq").into()),
        }
    }

    async fn open_quic(server: SocketAddr) -> Result<Self, Failure> {
        let tls = QuicClientConfig::try_from(tls(b"doq")?)?;
        let mut config = ClientConfig::new(Arc::new(tls));
        let mut transport = TransportConfig::default();
        transport.keep_alive_interval(Some(Duration::from_secs(1)));
        config.transport_config(Arc::new(transport));
        let mut endpoint = Endpoint::client("127.0.0.1:0".parse()?)?;
        endpoint.set_default_client_config(config);
        Ok(Self::Doq(endpoint.connect(server, "localhost")?.await?))
    }

    async fn open_http(server: SocketAddr) -> Result<Self, Failure> {
        let tcp = TcpStream::connect(server).await?;
        tcp.set_nodelay(true)?;
        let connector = TlsConnector::from(Arc::new(tls(b"h2")?));
        let stream = connector.connect(ServerName::try_from("localhost")?, tcp).await?;
        let (send, connection) = h2::client::Builder::new()
            .initial_window_size(WINDOW_BYTES)
            .initial_connection_window_size(WINDOW_BYTES)
            .handshake(stream)
            .await?;
        tokio::task::spawn_local(connection);
        Ok(Self::Doh(send, format!("https://localhost:{}/dns-query", server.port()).into()))
    }

    /// Asks; the code of the answer.
    pub async fn ask(&self, question: &Question) -> Result<u8, Failure> {
        match self {
            Self::Doq(connection) => {
                let (mut send, mut receive) = connection.open_bi().await?;
                send.write_all(&question.framed).await?;
                send.finish()?;
                let framed = receive.read_to_end(ANSWER_MAX).await?;
                let Some((length, answer)) = framed.split_at_checked(2) else {
                    return Err("an empty stream".into());
                };
                if usize::from(u16::from_be_bytes([length[0], length[1]])) != answer.len() {
                    return Err(format!("{length:?} before {} bytes", answer.len()).into());
                }
                Ok(question.check(answer)?)
            }
            Self::Doh(send, uri) => post(send.clone(), uri, question).await,
        }
    }
}

async fn post(
    send: h2::client::SendRequest<Bytes>,
    uri: &str,
    question: &Question,
) -> Result<u8, Failure> {
    const KIND: &str = "application/dns-message";
    let request = http::Request::post(uri)
        .header("content-type", KIND)
        .header("accept", KIND)
        .header("content-length", question.message().len())
        .body(())?;
    let (response, mut body) = send.ready().await?.send_request(request, false)?;
    body.send_data(Bytes::copy_from_slice(question.message()), true)?;
    let response = response.await?;
    if response.status() != http::StatusCode::OK {
        return Err(format!("status {}", response.status()).into());
    }
    let mut body = response.into_body();
    let mut answer = Vec::new();
    while let Some(part) = body.data().await {
        let part = part?;
        body.flow_control().release_capacity(part.len())?;
        answer.extend_from_slice(&part);
        if answer.len() > ANSWER_MAX {
            return Err("an answer without an end".into());
        }
    }
    Ok(question.check(&answer)?)
}
