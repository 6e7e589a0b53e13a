//! Servers: where questions come in, and which executor they go to.
//!
//! Nothing is opened. Called by [`super::plugins`].

use super::position::{PlacedWord, ReadNotes, SourcePosition};
use super::tree::{ConfigSection, UnknownKeys};
use serde_json::Value;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

/// Paths of one HTTP server, at most.
const ENTRIES_MAX: usize = 64;

/// A server and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerPlugin {
    /// What it speaks.
    pub kind: ServerKind,
    /// Where it listens; two addresses where both families are meant (`:53`).
    pub listen: Vec<SocketAddr>,
    /// Where questions go: one entry without a path, for HTTP one for each path.
    pub entries: Vec<ServerEntry>,
    /// The certificate and its key.
    pub certificate: Option<CertificateFiles>,
    /// A connection on which nothing is asked is closed after so long. Default 10 s for TCP, 30 s
    /// for HTTP and QUIC; means nothing for UDP.
    pub idle: Duration,
    /// The header that names the client. Whose word is taken is for Tidegate's own settings to say.
    pub source_header: Option<PlacedWord>,
}

/// Tells what a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerKind {
    /// DNS over UDP.
    Udp,
    /// DNS over TCP, over TLS with a certificate.
    Tcp,
    /// DNS over HTTP, over HTTPS with a certificate.
    Http,
    /// DNS over QUIC.
    Quic,
}

/// Where questions go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerEntry {
    /// The path of the URL; empty outside HTTP.
    pub path: String,
    /// The tag of an executor.
    pub exec: PlacedWord,
}

/// Files with a certificate and its key, in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The certificate, with those that signed it.
    pub cert: PlacedWord,
    /// Key.
    pub key: PlacedWord,
}

/// All types of servers.
pub(super) const TYPES: &[&str] = &["udp_server", "tcp_server", "http_server", "quic_server"];

/// The server of type `name`; none if there is no such type, or it was refused with a complaint.
pub(super) fn read(
    name: &str,
    args: &Value,
    place: &SourcePosition,
    notes: &ReadNotes,
) -> Option<ServerPlugin> {
    let kind = match name {
        "udp_server" => ServerKind::Udp,
        "tcp_server" => ServerKind::Tcp,
        "http_server" => ServerKind::Http,
        "quic_server" => ServerKind::Quic,
        _ => return None,
    };
    let mut section = ConfigSection::new(args, place, notes);
    let server = server(kind, &mut section);
    section.finish(UnknownKeys::AsUsual);
    server
}

fn server(kind: ServerKind, section: &mut ConfigSection<'_>) -> Option<ServerPlugin> {
    let notes = section.notes;
    let entries = if kind == ServerKind::Http {
        http_entries(section)
    } else {
        let entry = section.needed("entry");
        entry.map(|exec| vec![ServerEntry { path: String::new(), exec }]).unwrap_or_default()
    };
    let listen = match section.text("listen") {
        Some(item) => listen(&item, notes),
        None if notes.is_mosdns() && matches!(kind, ServerKind::Udp | ServerKind::Tcp) => {
            vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 53))]
        }
        None => {
            section.missing("listen");
            Vec::new()
        }
    };
    let usual = if kind == ServerKind::Tcp { 10 } else { 30 };
    let mut server = ServerPlugin {
        kind,
        listen,
        entries,
        certificate: None,
        idle: Duration::from_secs(usual),
        source_header: None,
    };
    if kind != ServerKind::Udp {
        server.certificate = certificate(kind, section);
        if let Some(idle) = section.span("idle_timeout", Duration::from_secs(1)) {
            server.idle = idle;
        }
    }
    if kind == ServerKind::Http {
        server.source_header = section.text("src_ip_header");
        if section.is_on("enable_http3") {
            let message = "DNS over HTTP/3 is not built: HTTP/1.1 and HTTP/2 are served";
            notes.warn(section.position.below("enable_http3").complaint(message));
        }
    }
    (!server.listen.is_empty() && !server.entries.is_empty()).then_some(server)
}

fn certificate(kind: ServerKind, section: &mut ConfigSection<'_>) -> Option<CertificateFiles> {
    match (section.text("cert"), section.text("key")) {
        (Some(cert), Some(key)) => Some(CertificateFiles { cert, key }),
        (None, None) if kind != ServerKind::Quic => None,
        (None, None) => {
            let complaint = section.position.complaint("DNS over QUIC needs a certificate");
            section.notes.complain(complaint.remedy("set `cert` and `key`"));
            None
        }
        (Some(_), None) | (None, Some(_)) => {
            let complaint = section.position.complaint("a certificate and its key go together");
            section.notes.complain(complaint.remedy("set `cert` and `key`, or neither"));
            None
        }
    }
}

fn http_entries(section: &mut ConfigSection<'_>) -> Vec<ServerEntry> {
    let mut entries: Vec<ServerEntry> = Vec::new();
    for mut it in section.sections("entries").into_iter().take(ENTRIES_MAX) {
        let (path, exec) = (it.needed("path"), it.needed("exec"));
        it.finish(UnknownKeys::AsUsual);
        let (Some(path), Some(exec)) = (path, exec) else { continue };
        if !path.text.starts_with('/') {
            let complaint = path.position.complaint(format!("{:?} is no path", path.text));
            section.notes.complain(complaint.remedy("for example /dns-query"));
        }
        if entries.iter().any(|other| other.path == path.text) {
            let message = format!("the path {:?} is there twice", path.text);
            section.notes.complain(path.position.complaint(message));
        }
        entries.push(ServerEntry { path: path.text, exec });
    }
    if entries.is_empty() {
        section.missing("entries");
    }
    entries
}

/// `IP:port`, or `:port` for both families. `[::]` means both too, as the peers have it.
fn listen(item: &PlacedWord, notes: &ReadNotes) -> Vec<SocketAddr> {
    let text = item.text.trim();
    let both = |port| {
        vec![
            SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)),
            SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)),
        ]
    };
    if text.starts_with('@') || text.starts_with('/') {
        let complaint = item.position.complaint(format!("{text:?} is a Unix socket"));
        notes.complain(complaint.remedy("listen at an IP address, for example 127.0.0.1:53"));
        return Vec::new();
    }
    let address = match text.split_once(':') {
        Some(("", port)) => {
            port.parse().map(|port| SocketAddr::from((Ipv6Addr::UNSPECIFIED, port))).ok()
        }
        Some(("localhost", port)) => {
            port.parse().map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port))).ok()
        }
        Some(_) | None => text.parse().ok(),
    };
    match address {
        Some(it) if it.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED) => both(it.port()),
        Some(it) => vec![it],
        None => {
            let complaint =
                item.position.complaint(format!("{text:?} is no IP address with a port"));
            notes.complain(complaint.remedy("for example 127.0.0.1:53, or :53 for all addresses"));
            Vec::new()
        }
    }
}
