//! The first bytes of a TLS connection, read in passing: which server is asked for.
//!
//! It reads as far as `server_name` in a `ClientHello` (RFC 8446 §4.1.2, RFC 6066 §3), over as many
//! records as that takes, and keeps nothing. It shakes no hand. Called by whoever carries TLS that
//! is not theirs.

/// The most bytes of a `ClientHello` that are looked at. Browsers send some 600 to 2,000, with
/// post-quantum keys; one that is longer is told apart from no TLS.
pub const CLIENT_HELLO_BYTES_MAX: usize = 16 << 10;

/// Tells what the first bytes of a connection are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientHello {
    /// Too few to tell.
    Unfinished,
    /// Not TLS.
    Other,
    /// TLS that asks for no server by name.
    NoServerName,
    /// TLS that asks for this server: as written, lower-case, without a dot at its end.
    Server(String),
    /// They begin as TLS does and go on as it must not, or for too long.
    Malformed,
}

const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const RECORD_BYTES_MAX: usize = 1 << 14;
const SERVER_NAME: u16 = 0;
const HOST_NAME: u8 = 0;

/// Reads the first bytes of a connection.
pub fn read_client_hello(bytes: &[u8]) -> ClientHello {
    if bytes.len() > CLIENT_HELLO_BYTES_MAX {
        return ClientHello::Malformed;
    }
    match bytes {
        [] | [HANDSHAKE] => return ClientHello::Unfinished,
        // The record's version is 3.x for ever (RFC 8446 §5.1).
        [HANDSHAKE, 3, ..] => {}
        _ => return ClientHello::Other,
    }
    match joined(bytes) {
        Ok(hello) => read_message(&hello),
        Err(why) => why,
    }
}

/// The handshake message of the first records, without their heads.
fn joined(mut bytes: &[u8]) -> Result<Vec<u8>, ClientHello> {
    let mut message = Vec::with_capacity(bytes.len());
    loop {
        let [kind, major, _, high, low, rest @ ..] = bytes else {
            return Err(ClientHello::Unfinished);
        };
        let length = usize::from(*high) << 8 | usize::from(*low);
        if *kind != HANDSHAKE || *major != 3 || !(1..=RECORD_BYTES_MAX).contains(&length) {
            return Err(ClientHello::Malformed);
        }
        let (piece, behind) = rest.split_at(length.min(rest.len()));
        message.extend_from_slice(piece);
        match message.as_slice() {
            [kind, ..] if *kind != CLIENT_HELLO => return Err(ClientHello::Malformed),
            [_, high, middle, low, body @ ..] => {
                let [high, middle, low] = [high, middle, low].map(|byte| usize::from(*byte));
                let length = high << 16 | middle << 8 | low;
                if length > CLIENT_HELLO_BYTES_MAX {
                    return Err(ClientHello::Malformed);
                }
                if body.len() >= length {
                    return Ok(body[..length].to_vec());
                }
            }
            _ => {}
        }
        bytes = behind;
    }
}

fn read_message(hello: &[u8]) -> ClientHello {
    server_name(&mut HelloReader(hello)).unwrap_or(ClientHello::Malformed)
}

/// Walks a whole `ClientHello`; nothing where a length leads beyond its end.
fn server_name(hello: &mut HelloReader<'_>) -> Option<ClientHello> {
    // Version, random.
    hello.read_bytes(2 + 32)?;
    // Session, cipher suites, compression.
    hello.vector8()?;
    hello.vector16()?;
    hello.vector8()?;
    if hello.0.is_empty() {
        return Some(ClientHello::NoServerName);
    }
    let mut extensions = HelloReader(hello.vector16()?);
    while !extensions.0.is_empty() {
        let kind = extensions.number16()?;
        let mut body = HelloReader(extensions.vector16()?);
        if kind == SERVER_NAME {
            return host_name(&mut HelloReader(body.vector16()?));
        }
    }
    Some(ClientHello::NoServerName)
}

fn host_name(names: &mut HelloReader<'_>) -> Option<ClientHello> {
    while !names.0.is_empty() {
        let kind = names.read_bytes(1)?[0];
        let name = names.vector16()?;
        if kind == HOST_NAME {
            let text = str::from_utf8(name).ok().filter(|it| it.is_ascii())?;
            let text = text.strip_suffix('.').unwrap_or(text);
            return (!text.is_empty()).then(|| ClientHello::Server(text.to_ascii_lowercase()));
        }
    }
    Some(ClientHello::NoServerName)
}

/// Holds what is left to read.
struct HelloReader<'b>(&'b [u8]);

impl<'b> HelloReader<'b> {
    fn read_bytes(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn number16(&mut self) -> Option<u16> {
        self.read_bytes(2).map(|it| u16::from(it[0]) << 8 | u16::from(it[1]))
    }

    fn vector8(&mut self) -> Option<&'b [u8]> {
        let length = usize::from(self.read_bytes(1)?[0]);
        self.read_bytes(length)
    }

    fn vector16(&mut self) -> Option<&'b [u8]> {
        let length = usize::from(self.number16()?);
        self.read_bytes(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::pki_types::ServerName;
    use std::sync::Arc;

    /// What the library itself says to `server`.
    fn hello(server: &str) -> Vec<u8> {
        let config =
            rustls::ClientConfig::builder_with_provider(Arc::clone(&super::super::PROVIDER))
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_root_certificates(rustls::RootCertStore::empty())
                .with_no_client_auth();
        let name = ServerName::try_from(server.to_owned()).unwrap();
        let mut connection = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
        let mut bytes = Vec::new();
        while connection.wants_write() {
            connection.write_tls(&mut bytes).unwrap();
        }
        bytes
    }

    #[test]
    fn the_name_of_a_real_hello_is_read_from_its_last_byte_on() {
        let bytes = hello("Ads.Example");
        for length in 0..bytes.len() {
            assert_eq!(read_client_hello(&bytes[..length]), ClientHello::Unfinished, "{length}");
        }
        assert_eq!(read_client_hello(&bytes), ClientHello::Server("ads.example".into()));
        assert_eq!(read_client_hello(&hello("192.0.2.1")), ClientHello::NoServerName);
    }

    #[test]
    fn a_hello_in_many_records_is_joined() {
        let whole = hello("ads.example");
        let mut split = Vec::new();
        for piece in whole[5..].chunks(7) {
            split.extend([HANDSHAKE, 3, 1, 0, piece.len() as u8]);
            split.extend(piece);
        }
        assert_eq!(read_client_hello(&split), ClientHello::Server("ads.example".into()));
    }

    #[test]
    fn what_is_no_tls_or_broken_tls_is_told_apart() {
        assert_eq!(read_client_hello(b"SSH-2.0-x"), ClientHello::Other);
        assert_eq!(read_client_hello(b"GET / HTTP/1.1"), ClientHello::Other);
        assert_eq!(read_client_hello(&[HANDSHAKE, 3, 1, 0, 0]), ClientHello::Malformed);
        assert_eq!(read_client_hello(&[HANDSHAKE, 3, 1, 0, 4, 2, 0, 0, 0]), ClientHello::Malformed);
        let mut long = hello("ads.example");
        long[6] = 0xff;
        assert_eq!(read_client_hello(&long), ClientHello::Malformed);
        assert_eq!(
            read_client_hello(&vec![HANDSHAKE; CLIENT_HELLO_BYTES_MAX + 1]),
            ClientHello::Malformed
        );
    }
}
