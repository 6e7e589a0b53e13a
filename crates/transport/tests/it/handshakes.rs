//! TLS by the signer: who gets a certificate, what it says, and how failures are told apart.

use crate::support::{DEADLINE, Folder, accepting, run};
use signer::{MintPolicy, Signer};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex, split};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use transport::tls::{Alpn, ConnectError, DistrustSign, HANDSHAKE_DEADLINE};
use transport::{
    ClientTls, ConnectionLimits, Drain, HandshakeError, ServerTls, Stream, WaitForData, dial,
};
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

/// Blocks the domains in it, with all below.
pub(crate) struct Blocked(Mutex<Vec<&'static str>>);

impl MintPolicy for Blocked {
    fn may_mint(&self, name: &str) -> bool {
        self.0.lock().unwrap().iter().any(|domain| {
            name.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        })
    }
    fn may_mint_below(&self, base: &str) -> bool {
        self.may_mint(base)
    }
}

pub(crate) type Outcomes =
    UnboundedReceiver<Result<(Option<String>, Option<Alpn>), HandshakeError>>;

/// A server of minted certificates, and what became of each handshake.
pub(crate) struct Rig {
    pub(crate) address: SocketAddr,
    pub(crate) signer: Arc<Signer>,
    pub(crate) policy: Arc<Blocked>,
    pub(crate) outcomes: Outcomes,
    _folder: Folder,
}

/// A TLS echo server that reports each handshake.
pub(crate) fn rig(deadline: Duration) -> Rig {
    let folder = Folder::new();
    let policy = Arc::new(Blocked(Mutex::new(vec!["ads.example.com", "tracker.co.uk"])));
    let signer = Arc::new(
        Signer::open(&folder.path().join("ca"), policy.clone(), transport::clock::now()).unwrap(),
    );
    let (address, outcomes) = echo(ServerTls::with_signer(Arc::clone(&signer)), deadline);
    Rig { address, signer, policy, outcomes, _folder: folder }
}

fn echo(tls: ServerTls, deadline: Duration) -> (SocketAddr, Outcomes) {
    let (report, outcomes) = unbounded_channel();
    let limits = ConnectionLimits::default();
    let address = accepting(WaitForData::No, limits, Drain::new(), move |stream: Stream| {
        let (tls, report) = (tls.clone(), report.clone());
        async move {
            match tls.accept(stream, deadline).await {
                Ok(mut stream) => {
                    report.send(Ok((stream.sni().map(str::to_owned), stream.alpn()))).unwrap();
                    let mut word = [0; 4];
                    stream.read_exact(&mut word).await.unwrap();
                    stream.write_all(&word).await.unwrap();
                    stream.shutdown().await.unwrap();
                }
                Err(why) => report.send(Err(why)).unwrap(),
            }
        }
    });
    (address, outcomes)
}

impl Rig {
    pub(crate) fn trusting(&self) -> ClientTls {
        ClientTls::new().trusting(self.signer.ca_pem().as_bytes()).unwrap()
    }

    /// A handshake and an echo; returns the leaf as DER.
    pub(crate) async fn visit(&self, tls: &ClientTls, name: &str) -> Result<Vec<u8>, ConnectError> {
        let tcp = dial(self.address, DEADLINE).await.unwrap();
        let mut stream = tls.connect(tcp, name, &[Alpn::Http2, Alpn::Http1]).await?;
        assert_eq!(stream.alpn(), Some(Alpn::Http2));
        stream.write_all(b"ping").await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert_eq!(answer, "ping");
        Ok(stream.server_certificate().unwrap().to_vec())
    }
}

fn names(leaf: &X509Certificate<'_>) -> Vec<String> {
    let extension = leaf.subject_alternative_name().unwrap().unwrap();
    let name = |it: &GeneralName<'_>| match it {
        GeneralName::DNSName(name) => (*name).to_owned(),
        other => panic!("{other:?} is no DNS name"),
    };
    extension.value.general_names.iter().map(name).collect()
}

#[test]
fn a_blocked_name_gets_a_certificate_that_the_authority_vouches_for() {
    run(async {
        let mut rig = rig(HANDSHAKE_DEADLINE);
        let tls = rig.trusting();
        rig.visit(&tls, "a.ads.example.com").await.unwrap();
        let seen = rig.outcomes.recv().await.unwrap().unwrap();
        assert_eq!(seen, (Some("a.ads.example.com".into()), Some(Alpn::Http2)));
        // A sibling is covered by the same leaf: one signature for the whole level.
        rig.visit(&tls, "b.ads.example.com").await.unwrap();
        rig.visit(&tls, "tracker.co.uk").await.unwrap();
        let counts = rig.signer.counts();
        assert_eq!((counts.minted, counts.cached), (2, 1));
    });
}

#[test]
fn a_leaf_says_what_clients_insist_on() {
    run(async {
        let rig = rig(HANDSHAKE_DEADLINE);
        let der = rig.visit(&rig.trusting(), "a.ads.example.com").await.unwrap();
        let (_, leaf) = X509Certificate::from_der(&der).unwrap();
        assert_eq!(names(&leaf), ["ads.example.com", "*.ads.example.com"]);
        let validity = leaf.validity();
        let (from, to) = (validity.not_before.timestamp(), validity.not_after.timestamp());
        let now = transport::clock::now().unix_secs().cast_signed();
        assert_eq!(to - from, 90 * 86_400);
        assert!((now - from - 2 * 86_400).abs() < 60);
        assert_eq!(leaf.raw_serial().len(), 20);
        assert!(!leaf.is_ca());
        assert!(leaf.extended_key_usage().unwrap().unwrap().value.server_auth);
        let usage = leaf.key_usage().unwrap().unwrap().value;
        assert!(usage.digital_signature() && !usage.key_cert_sign());
        let authority = x509_parser::pem::parse_x509_pem(rig.signer.ca_pem().as_bytes()).unwrap().1;
        let authority = authority.parse_x509().unwrap();
        assert_eq!(leaf.issuer(), authority.subject());
        assert_ne!(leaf.public_key().raw, authority.public_key().raw);
        leaf.verify_signature(Some(authority.public_key())).unwrap_or_else(|why| {
            // The parser is built without its own cryptography: the client above has verified.
            assert!(why.to_string().contains("unsupported"), "{why}");
        });
    });
}

#[test]
fn a_name_that_is_not_blocked_gets_no_certificate() {
    run(async {
        let mut rig = rig(HANDSHAKE_DEADLINE);
        let tls = rig.trusting();
        for name in ["www.bank.example", "example.com", "xads.example.com"] {
            assert!(matches!(rig.visit(&tls, name).await, Err(ConnectError::Other(_))));
            let seen = rig.outcomes.recv().await.unwrap();
            assert_eq!(seen, Err(HandshakeError::NameNotBlocked(name.into())));
        }
        let counts = rig.signer.counts();
        assert_eq!((counts.minted, counts.refused_by_policy), (0, 3));
    });
}

#[test]
fn a_name_no_longer_blocked_is_refused_though_its_leaf_is_cached() {
    run(async {
        let mut rig = rig(HANDSHAKE_DEADLINE);
        let tls = rig.trusting();
        rig.visit(&tls, "a.ads.example.com").await.unwrap();
        rig.outcomes.recv().await.unwrap().unwrap();
        rig.policy.0.lock().unwrap().clear();
        // The same client: it holds a session ticket from the first visit.
        let again = rig.visit(&tls, "a.ads.example.com").await;
        assert!(matches!(again, Err(ConnectError::Other(_))));
        let seen = rig.outcomes.recv().await.unwrap();
        assert_eq!(seen, Err(HandshakeError::NameNotBlocked("a.ads.example.com".into())));
    });
}

#[test]
fn a_client_without_the_authority_says_so() {
    run(async {
        let mut rig = rig(HANDSHAKE_DEADLINE);
        let visit = rig.visit(&ClientTls::new(), "a.ads.example.com").await;
        assert!(matches!(visit, Err(ConnectError::Untrusted(_))), "{visit:?}");
        let seen = rig.outcomes.recv().await.unwrap();
        assert_eq!(seen, Err(HandshakeError::ClientDistrusts(DistrustSign::UnknownCa)));
    });
}

#[test]
fn a_client_that_names_nobody_is_refused() {
    run(async {
        let mut rig = rig(HANDSHAKE_DEADLINE);
        let visit = rig.visit(&rig.trusting(), "127.0.0.1").await;
        assert!(visit.is_err());
        assert_eq!(rig.outcomes.recv().await.unwrap(), Err(HandshakeError::NoName));
    });
}

#[test]
fn what_is_not_tls_is_told_apart_from_going_away() {
    run(async {
        let mut rig = rig(HANDSHAKE_DEADLINE);
        for (wire, expected) in [
            (&b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"[..], HandshakeError::NotTls),
            (&[0x16, 3, 1, 0, 4, 1, 0xFF, 0xFF, 0xFF][..], HandshakeError::NotTls),
            (&[0x16, 3, 1, 0xFF, 0xFF, 1][..], HandshakeError::NotTls),
            (&[0x16, 3, 1, 0, 200, 1, 0, 0, 196][..], HandshakeError::Closed),
            (&[][..], HandshakeError::Closed),
        ] {
            let mut tcp = dial(rig.address, DEADLINE).await.unwrap();
            tcp.write_all(wire).await.unwrap();
            tcp.shutdown_write().unwrap();
            let mut rest = Vec::new();
            let _ = tcp.read_to_end(&mut rest).await;
            assert_eq!(rig.outcomes.recv().await.unwrap(), Err(expected), "{wire:?}");
        }
    });
}

#[test]
fn a_first_message_that_never_ends_is_cut_at_the_deadline() {
    run(async {
        let mut rig = rig(Duration::from_millis(50));
        for wire in [&[][..], &[0x16, 3, 1, 0, 200, 1, 0, 0, 196][..]] {
            let mut tcp = dial(rig.address, DEADLINE).await.unwrap();
            tcp.write_all(wire).await.unwrap();
            assert_eq!(rig.outcomes.recv().await.unwrap(), Err(HandshakeError::Timeout));
            assert_eq!(tcp.read(&mut [0]).await.unwrap_or(0), 0);
        }
    });
}

#[test]
fn a_first_message_in_single_bytes_is_understood() {
    run(async {
        let mut rig = rig(HANDSHAKE_DEADLINE);
        let (near, far) = duplex(1);
        let tcp = dial(rig.address, DEADLINE).await.unwrap();
        tokio::task::spawn_local(async move {
            let ((mut from_client, mut to_client), (mut from_server, mut to_server)) =
                (split(far), split(tcp));
            let client = async {
                let mut byte = [0];
                while from_client.read(&mut byte).await.unwrap_or(0) > 0 {
                    to_server.write_all(&byte).await.unwrap();
                    tokio::task::yield_now().await;
                }
            };
            let server = tokio::io::copy(&mut from_server, &mut to_client);
            tokio::select! { () = client => {}, copied = server => drop(copied) }
        });
        let mut stream =
            rig.trusting().connect(near, "a.ads.example.com", &[Alpn::Http1]).await.unwrap();
        assert_eq!(rig.outcomes.recv().await.unwrap().unwrap().1, Some(Alpn::Http1));
        stream.write_all(b"ping").await.unwrap();
        // Through a pipe this narrow most of it still waits in the library's buffer.
        stream.flush().await.unwrap();
        let mut answer = [0; 4];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"ping");
    });
}

#[test]
fn a_certificate_from_files_is_served() {
    run(async {
        let made = rcgen::generate_simple_self_signed(["www.example".to_owned()]).unwrap();
        let (chain, key) = (made.cert.pem(), made.signing_key.serialize_pem());
        let tls = ServerTls::with_pem(chain.as_bytes(), key.as_bytes()).unwrap();
        let (address, mut outcomes) = echo(tls, HANDSHAKE_DEADLINE);
        let client = ClientTls::new().trusting(chain.as_bytes()).unwrap();
        let tcp = dial(address, DEADLINE).await.unwrap();
        let mut stream = client.connect(tcp, "www.example", &[]).await.unwrap();
        assert_eq!(stream.alpn(), None);
        stream.write_all(b"ping").await.unwrap();
        assert_eq!(outcomes.recv().await.unwrap(), Ok((Some("www.example".into()), None)));
        assert!(ServerTls::with_pem(b"nonsense", key.as_bytes()).is_err());
        assert!(ServerTls::with_pem(chain.as_bytes(), b"").is_err());
    });
}
