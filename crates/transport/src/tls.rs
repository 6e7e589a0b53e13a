//! TLS on both sides; only this and the signer name its library.
//!
//! The server side takes its certificates from the signer or from PEM files, offers `h2` and
//! `http/1.1`, and says in one enum why a handshake failed: doors record it, and learn from it
//! which clients do not trust the authority. The client side trusts the public roots and what it is
//! told to trust besides; only [`ClientTls::checking`] and [`ClientTls::with_options`] ask for
//! less, or for more.

mod chosen_config;
mod client;
mod client_hello;
mod failed;
mod files;
mod handshake_error;
mod handshake_permit;
mod hello;
mod identity;
mod pins;
mod records;
mod server;
mod server_config;
mod shared_tickets;
mod sites;
mod wall_clock;

pub use client::{BadClientTls, ClientTls, ClientTlsOptions, ClientTlsStream, ConnectError};
pub use client_hello::{CLIENT_HELLO_BYTES_MAX, ClientHello, read_client_hello};
pub use failed::record_failure;
pub use files::{
    FILES_LOOK_EVERY, FilesError, FilesNews, FilesWatch, IdentityFiles, PEM_FILE_BYTES_MAX,
    WatchedIdentity, cache_pem, read_pem,
};
pub use handshake_error::{DistrustSign, HandshakeError};
pub use handshake_permit::HANDSHAKES_PER_CORE_MAX;
pub use hello::{HELLO_BYTES_MAX, HelloFacts, PREFIX_BYTES, peek_hello};
pub use identity::{CertificateFacts, OwnCertificate, OwnName, ServerIdentity};
pub use pins::{PINS_MAX, VerifyMode, key_pin};
pub use server::{HANDSHAKE_DEADLINE, ServerTls, SessionSecrets, TlsStream, TlsVersion};
pub(crate) use server_config::server_config;
pub use shared_tickets::{SharedTicketKeys, TICKET_KEY_BYTES, share_ticket_keys};
pub use sites::{ClientAuthorities, ClientCertificates, SiteIdentity};

use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::fmt;
use std::io;
use std::sync::{Arc, LazyLock};

/// The protocol spoken inside TLS, as ALPN names it (RFC 7301).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alpn {
    /// `h2`
    Http2,
    /// `http/1.1`
    Http1,
    /// `dot` (RFC 7858)
    Dot,
}

const ALPN: &[(Alpn, &[u8])] =
    &[(Alpn::Http2, b"h2"), (Alpn::Http1, b"http/1.1"), (Alpn::Dot, b"dot")];

impl Alpn {
    /// Returns its name on the wire.
    pub fn as_bytes(self) -> &'static [u8] {
        ALPN.iter().find(|(it, _)| *it == self).map_or(b"", |(_, name)| name)
    }

    fn from_wire(name: Option<&[u8]>) -> Option<Self> {
        ALPN.iter().find(|(_, known)| Some(*known) == name).map(|(it, _)| *it)
    }
}

/// Why a certificate or key given as PEM cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadPem(pub String);

static PROVIDER: LazyLock<Arc<CryptoProvider>> =
    LazyLock::new(|| Arc::new(aws_lc_rs::default_provider()));

/// Gathers what random numbers begin with, for which the library watches the processor's clock
/// tremble: some 40 ms of computing, once a process (perf). Whoever needs a number meanwhile waits
/// for it.
pub fn seed_randomness() {
    // Where it fails, it fails again and is told when somebody needs a number.
    let _ = PROVIDER.secure_random.fill(&mut [0]);
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, BadPem> {
    let certificates = CertificateDer::pem_slice_iter(pem)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|why| BadPem(why.to_string()))?;
    if certificates.is_empty() {
        Err(BadPem("it holds no certificate".into()))
    } else {
        Ok(certificates)
    }
}

fn library_error(why: &io::Error) -> Option<&rustls::Error> {
    why.get_ref().and_then(|inner| inner.downcast_ref())
}

impl fmt::Display for BadPem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the PEM cannot be used: {}", self.0)
    }
}

impl std::error::Error for BadPem {}

/// Passes reading and writing through to the library's stream.
macro_rules! delegate {
    ($stream:ty $(, $generic:ident: $($bound:path),+)?) => {
        impl$(<$generic: $($bound +)+>)? tokio::io::AsyncRead for $stream {
            fn poll_read(
                mut self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
                buf: &mut tokio::io::ReadBuf<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                std::pin::Pin::new(&mut self.0).poll_read(cx, buf)
            }
        }

        impl$(<$generic: $($bound +)+>)? tokio::io::AsyncWrite for $stream {
            fn poll_write(
                mut self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
                bytes: &[u8],
            ) -> std::task::Poll<std::io::Result<usize>> {
                std::pin::Pin::new(&mut self.0).poll_write(cx, bytes)
            }

            fn poll_write_vectored(
                mut self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
                pieces: &[std::io::IoSlice<'_>],
            ) -> std::task::Poll<std::io::Result<usize>> {
                std::pin::Pin::new(&mut self.0).poll_write_vectored(cx, pieces)
            }

            fn is_write_vectored(&self) -> bool {
                self.0.is_write_vectored()
            }

            fn poll_flush(mut self: std::pin::Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> std::task::Poll<std::io::Result<()>> {
                std::pin::Pin::new(&mut self.0).poll_flush(cx)
            }

            fn poll_shutdown(mut self: std::pin::Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> std::task::Poll<std::io::Result<()>> {
                std::pin::Pin::new(&mut self.0).poll_shutdown(cx)
            }
        }
    };
}

use delegate;
