//! A TLS client's first message, looked at where it lies.
//!
//! Nothing is taken out of the socket, so that the handshake, here or at another server, begins as
//! if nobody had looked. What is wrong with a message is not judged: it has no name, and the
//! handshake says the rest. Called by the pixel door before it decides whose handshake this is.

use super::handshake_permit::HandshakePermit;
use crate::stream::Stream;
use rustls::server::{Accepted, Acceptor};

/// Bytes of a first message that are looked at. Browsers send some 2,000, with hybrid key shares; a
/// longer one is not read to its end and so has no name.
pub const HELLO_BYTES_MAX: usize = 16 << 10;
/// Bytes by which two first messages are told apart: record and handshake heads, the version, and
/// the client's 32 random ones (RFC 8446 section 4.1.2).
pub const PREFIX_BYTES: usize = 5 + 4 + 2 + 32;

/// Holds what a client says first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HelloFacts {
    /// The server that it asks for (RFC 6066 section 3), as sent.
    pub name: String,
    /// Beginning of its first message: no two begin alike, unless one was passed on.
    pub prefix: [u8; PREFIX_BYTES],
}

/// The first message of a client, when it has come; none if it names no server, is malformed or too
/// long, if the client ends before, or if the core has too many handshakes under way.
pub async fn peek_hello(stream: &mut Stream) -> Option<HelloFacts> {
    let _place = HandshakePermit::acquire()?;
    let mut bytes = vec![0; HELLO_BYTES_MAX];
    let mut acceptor = Acceptor::default();
    let mut seen = 0;
    loop {
        let count = stream.peek_beyond(seen, &mut bytes).await.ok()?;
        if count <= seen {
            return None;
        }
        let mut fresh = &bytes[seen..count];
        seen = count;
        while !fresh.is_empty() {
            acceptor.read_tls(&mut fresh).ok().filter(|taken| *taken > 0)?;
            if let Some(accepted) = acceptor.accept().ok()? {
                return hello(&accepted, &bytes[..count]);
            }
        }
    }
}

fn hello(accepted: &Accepted, bytes: &[u8]) -> Option<HelloFacts> {
    let name = accepted.client_hello().server_name()?.to_owned();
    Some(HelloFacts { name, prefix: *bytes.first_chunk()? })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use rustls::pki_types::ServerName;
    use rustls::{ClientConfig, ClientConnection, RootCertStore};
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::sync::Arc;
    use std::time::Duration;
    use tokio::io::AsyncReadExt;

    /// The first message of a client that asks for `name`.
    fn message(name: &str) -> Vec<u8> {
        let config = ClientConfig::builder_with_provider(Arc::clone(&super::super::PROVIDER))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth();
        let name = ServerName::try_from(name.to_owned()).unwrap();
        let mut bytes = Vec::new();
        ClientConnection::new(Arc::new(config), name).unwrap().write_tls(&mut bytes).unwrap();
        bytes
    }

    /// The same cut into records of `length` bytes.
    fn in_records(message: &[u8], length: usize) -> Vec<u8> {
        let record =
            |piece: &[u8]| [&[0x16, 3, 1][..], &(piece.len() as u16).to_be_bytes(), piece].concat();
        message[5..].chunks(length).flat_map(record).collect()
    }

    /// The name that is seen, and what is left to be read.
    fn seen(send: impl FnOnce(TcpStream) + Send + 'static) -> (Option<HelloFacts>, Vec<u8>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let server = listener.accept().unwrap().0;
        let sending = std::thread::spawn(move || send(client));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let seen = runtime.block_on(async {
            let mut stream = Stream::from_std(server).unwrap();
            let found =
                tokio::time::timeout(Duration::from_secs(20), peek_hello(&mut stream)).await;
            let mut rest = Vec::new();
            stream.read_to_end(&mut rest).await.unwrap();
            (found.unwrap(), rest)
        });
        sending.join().unwrap();
        seen
    }

    #[test]
    fn the_name_is_seen_and_nothing_is_taken() {
        let message = message("shop.example");
        for bytes in [message.clone(), in_records(&message, 7), in_records(&message, 60)] {
            let sent = bytes.clone();
            let (hello, rest) = seen(move |mut client| client.write_all(&sent).unwrap());
            let hello = hello.unwrap();
            assert_eq!(hello.name, "shop.example");
            assert_eq!(hello.prefix, bytes[..PREFIX_BYTES]);
            assert_eq!(rest, bytes);
        }
    }

    #[test]
    fn a_message_may_come_byte_by_byte() {
        let message = message("shop.example");
        let sent = message.clone();
        let (hello, rest) = seen(move |mut client| {
            client.set_nodelay(true).unwrap();
            for byte in &sent {
                client.write_all(&[*byte]).unwrap();
            }
        });
        assert_eq!((hello.unwrap().name.as_str(), rest), ("shop.example", message));
    }

    #[test]
    fn what_names_nobody_has_no_name_and_stays_as_it_is() {
        let cut = message("shop.example")[..60].to_vec();
        let mut endless = vec![0x16, 3, 1, 0x3f, 0xff, 1, 0, 0xff, 0xff];
        endless.resize(3 * HELLO_BYTES_MAX, 0);
        for bytes in [
            b"GET / HTTP/1.1\r\n\r\n".to_vec(),
            vec![0x16, 3, 1, 0, 0],
            message("192.0.2.1"),
            cut,
            endless,
            Vec::new(),
        ] {
            let sent = bytes.clone();
            let (hello, rest) = seen(move |mut client| {
                client.write_all(&sent).unwrap();
                client.shutdown(std::net::Shutdown::Write).unwrap();
                // Its other half stays open until all is over.
                let _ = client.read(&mut [0]);
            });
            assert_eq!((hello, rest), (None, bytes));
        }
    }
}
