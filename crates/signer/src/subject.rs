//! Subject of a certificate for our own servers.
//!
//! It chooses no names: settings do. Ordered by the TLS side of a server, checked by the issuer.

use std::net::IpAddr;

/// Names and addresses that one certificate of ours carries at most: more is somebody's mistake,
/// and makes every handshake longer.
pub const IDENTITY_NAMES_MAX: usize = 64;

/// Names and addresses that a certificate of ours is for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CertificateSubject {
    /// Host names.
    pub names: Vec<String>,
    /// Addresses, for clients that know no name.
    pub addresses: Vec<IpAddr>,
}
