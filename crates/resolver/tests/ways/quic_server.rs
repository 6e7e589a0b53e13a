//! A DNS server over QUIC that does with each question what the test says, and a relay before it
//! that can lose a connection's packets.

use super::certificate::Certificate;
use quinn::crypto::rustls::QuicServerConfig;
use quinn::{Endpoint, Incoming, VarInt};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::net::UdpSocket;

/// What it does with a question.
#[derive(Clone, Debug)]
pub(crate) enum Deed {
    /// Sends these bytes and ends the stream.
    Send(Vec<u8>),
    /// Answers and closes the connection once that has arrived.
    SendAndClose(Vec<u8>),
    /// Keeps the stream open and says nothing.
    Hang,
    Reset(u32),
    Close(u32),
}

/// One question.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// Whether it came before the handshake's end.
    pub(crate) early: bool,
    /// All of the stream, the length before the message included.
    pub(crate) bytes: Vec<u8>,
}

pub(crate) struct QuicServer {
    pub(crate) address: SocketAddr,
    endpoint: Endpoint,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    asked: Mutex<Vec<Asked>>,
    connections: AtomicUsize,
    /// The codes by which clients gave up streams.
    stopped: Mutex<Vec<u64>>,
}

type Behave = Arc<dyn Fn(&Asked) -> Deed + Send + Sync>;

/// A configuration with early data, and with tickets that no other one takes.
fn config(certificate: &Certificate, alpn: &[u8]) -> quinn::ServerConfig {
    let chain = vec![CertificateDer::from_pem_slice(certificate.chain.as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(certificate.key.as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    config.alpn_protocols = vec![alpn.to_vec()];
    config.max_early_data_size = u32::MAX;
    quinn::ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(config).unwrap()))
}

impl QuicServer {
    pub(crate) fn start(
        certificate: &Certificate,
        alpn: &[u8],
        behave: impl Fn(&Asked) -> Deed + Send + Sync + 'static,
    ) -> Self {
        let address = "127.0.0.1:0".parse().unwrap();
        let endpoint = Endpoint::server(config(certificate, alpn), address).unwrap();
        let state = Arc::new(State::default());
        let behave: Behave = Arc::new(behave);
        let (accepting, kept) = (endpoint.clone(), Arc::clone(&state));
        tokio::spawn(async move {
            while let Some(incoming) = accepting.accept().await {
                tokio::spawn(serve(incoming, Arc::clone(&state), Arc::clone(&behave)));
            }
        });
        Self { address: endpoint.local_addr().unwrap(), endpoint, state: kept }
    }

    /// From now on it knows nothing of sessions that it agreed on before.
    pub(crate) fn forget_sessions(&self, certificate: &Certificate) {
        self.endpoint.set_server_config(Some(config(certificate, b"doq")));
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.state.asked.lock().unwrap().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.state.connections.load(Ordering::Relaxed)
    }

    pub(crate) fn stopped(&self) -> Vec<u64> {
        self.state.stopped.lock().unwrap().clone()
    }
}

async fn serve(incoming: Incoming, state: Arc<State>, behave: Behave) {
    // On the server's side this always succeeds: it answers before the client has proved anything.
    let Ok(Ok((connection, _))) = incoming.accept().map(quinn::Connecting::into_0rtt) else {
        return;
    };
    state.connections.fetch_add(1, Ordering::Relaxed);
    while let Ok((mut send, mut recv)) = connection.accept_bi().await {
        let (state, behave, connection) =
            (Arc::clone(&state), Arc::clone(&behave), connection.clone());
        tokio::spawn(async move {
            let early = recv.is_0rtt();
            let Ok(bytes) = recv.read_to_end(70_000).await else { return };
            let asked = Asked { early, bytes };
            state.asked.lock().unwrap().push(asked.clone());
            match behave(&asked) {
                Deed::Send(bytes) => {
                    // The client may want no more of it; that is the test's business.
                    let _ = send.write_all(&bytes).await;
                    let _ = send.finish();
                    let _ = send.stopped().await;
                }
                Deed::SendAndClose(bytes) => {
                    let _ = send.write_all(&bytes).await;
                    let _ = send.finish();
                    let _ = send.stopped().await;
                    connection.close(VarInt::from_u32(0), b"");
                }
                Deed::Hang => {
                    if let Ok(Some(code)) = send.stopped().await {
                        state.stopped.lock().unwrap().push(code.into_inner());
                    }
                }
                Deed::Reset(code) => drop(send.reset(VarInt::from_u32(code))),
                Deed::Close(code) => connection.close(VarInt::from_u32(code), b""),
            }
        });
    }
}

/// Passes packets on between one client and `server`, until told to lose a connection.
pub(crate) struct Relay {
    pub(crate) address: SocketAddr,
    losing: Arc<AtomicBool>,
}

impl Relay {
    pub(crate) async fn start(server: SocketAddr) -> Self {
        let inside = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let outside = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        outside.connect(server).await.unwrap();
        let address = inside.local_addr().unwrap();
        let losing = Arc::new(AtomicBool::new(false));
        let lose = Arc::clone(&losing);
        tokio::spawn(async move {
            let (mut one, mut other) = (vec![0; 65_536], vec![0; 65_536]);
            let mut client = None;
            loop {
                tokio::select! {
                    Ok((length, from)) = inside.recv_from(&mut one) => {
                        client = Some(from);
                        // An Initial packet says that one is being made (RFC 9000 §17.2.2).
                        // Handshake packets may come again, late, of a lost one.
                        if one[0] & 0xb0 == 0x80 {
                            lose.store(false, Ordering::SeqCst);
                        }
                        if !lose.load(Ordering::SeqCst) {
                            outside.send(&one[..length]).await.unwrap();
                        }
                    }
                    Ok(length) = outside.recv(&mut other) => {
                        if let Some(client) = client
                            && !lose.load(Ordering::SeqCst)
                        {
                            inside.send_to(&other[..length], client).await.unwrap();
                        }
                    }
                }
            }
        });
        Self { address, losing }
    }

    /// Passes nothing on before a new connection is made.
    pub(crate) fn lose(&self) {
        self.losing.store(true, Ordering::SeqCst);
    }
}
