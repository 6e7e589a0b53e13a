//! The certificate of the encrypted listeners: read from files, or signed by our own authority.
//!
//! It is made anew at the start and on every reload, and what cannot be used is an error that names
//! the file. It listens to nothing and keeps nothing. Called by `door` before anything changes.

use crate::settings::Settings;
use std::fmt;
use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use transport::Signer;
use transport::signer::MintError;
use transport::tls::{BadPem, Identity, Subject};

/// Bytes of a file of certificates or of a key, at most: some hundred times what a chain has.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Documentation addresses (RFC 5737, RFC 3849): no packet is sent to them, they only have the
/// kernel say from which of our addresses it would go out.
const SOMEWHERE: [(IpAddr, IpAddr); 2] = [
    (IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1))),
    (IpAddr::V6(Ipv6Addr::UNSPECIFIED), IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1))),
];

/// Why there is no certificate to present.
#[derive(Debug)]
pub enum CertificateError {
    /// A file cannot be read.
    Read(PathBuf, io::Error),
    /// The two files are no certificate with its key.
    Pem(PathBuf, PathBuf, BadPem),
    /// No file is given, and there is no authority of ours to sign one.
    NoAuthority,
    /// Our authority could not sign one.
    Sign(MintError),
}

/// What an encrypted listener at `addresses` presents.
pub(crate) fn identity(
    settings: &Settings,
    addresses: &[SocketAddr],
    base: &Path,
    signer: Option<&Arc<Signer>>,
) -> Result<Identity, CertificateError> {
    if let Some(files) = &settings.certificate {
        // An absolute path stands for itself.
        let (cert, key) = (base.join(&files.cert), base.join(&files.key));
        let pem = Identity::from_pem(&read(&cert)?, &read(&key)?);
        return pem.map_err(|why| CertificateError::Pem(cert, key, why));
    }
    let signer = signer.ok_or(CertificateError::NoAuthority)?;
    let names = settings.names.iter().map(|name| name.0.as_str().to_owned()).collect();
    let subject = Subject { names, addresses: own_addresses(addresses) };
    Identity::signed(signer, subject, transport::clock::now()).map_err(CertificateError::Sign)
}

fn read(path: &Path) -> Result<Vec<u8>, CertificateError> {
    let failed = |why| CertificateError::Read(path.into(), why);
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(failed)?;
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(failed(io::Error::other("it is over 1 MiB, too long for a certificate")));
    }
    Ok(bytes)
}

/// The addresses that clients may know us by. Where all of a family are listened on, those are
/// loopback and the one that a packet to a stranger would leave from.
pub(crate) fn own_addresses(listening: &[SocketAddr]) -> Vec<IpAddr> {
    let mut own = Vec::new();
    for address in listening.iter().map(SocketAddr::ip) {
        let known: Vec<IpAddr> = if address.is_unspecified() {
            let loopback = match address {
                IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
                IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
            };
            outgoing(address).into_iter().chain([loopback]).collect()
        } else {
            vec![address]
        };
        for address in known {
            if !own.contains(&address) {
                own.push(address);
            }
        }
    }
    own
}

/// The address of ours from which packets go out; none where no way leads anywhere.
fn outgoing(any: IpAddr) -> Option<IpAddr> {
    let (_, somewhere) = SOMEWHERE.into_iter().find(|(unspecified, _)| *unspecified == any)?;
    let socket = UdpSocket::bind(SocketAddr::new(any, 0)).ok()?;
    socket.connect(SocketAddr::new(somewhere, 53)).ok()?;
    let address = socket.local_addr().ok()?.ip();
    (!address.is_unspecified()).then_some(address)
}

impl fmt::Display for CertificateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(path, why) => write!(
                f,
                "cannot read {}: {why}; correct dns.certificate, or give this user the right to \
                 read it",
                path.display()
            ),
            Self::Pem(cert, key, why) => write!(
                f,
                "{} and {} are no certificate with its key: {why}; dns.certificate wants the chain \
                 in PEM, leaf first, and the leaf's private key",
                cert.display(),
                key.display()
            ),
            Self::NoAuthority => f.write_str(
                "the encrypted listeners need a certificate: set dns.certificate with cert and key",
            ),
            Self::Sign(why) => write!(
                f,
                "no certificate for the encrypted listeners could be made: {why}; correct \
                 dns.names, or set dns.certificate"
            ),
        }
    }
}

impl std::error::Error for CertificateError {}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn own(listening: &[&str]) -> Vec<IpAddr> {
        let listening: Vec<_> = listening.iter().map(|it| it.parse().unwrap()).collect();
        own_addresses(&listening)
    }

    #[test]
    fn addresses_are_those_listened_on_each_once() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        assert_eq!(
            own(&["192.0.2.7:853", "[2001:db8::7]:853", "192.0.2.7:443"]),
            [ip("192.0.2.7"), ip("2001:db8::7")]
        );
        assert!(own(&["0.0.0.0:853"]).contains(&ip("127.0.0.1")));
        assert!(own(&["[::]:853"]).iter().all(|it| it.is_ipv6() && !it.is_unspecified()));
    }
}
