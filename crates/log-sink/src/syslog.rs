//! Syslog as a destination: RFC 5424 over UDP, TCP or a socket of the file system.
//!
//! A server that is not there costs lines, which are counted, and is looked for again at most once
//! a second. Nothing that it says is read. Called by `output`, on the writer's thread.

use crate::date::ClockTime;
use crate::destination::SyslogStamp;
use crate::sink::LineSeverity;
use rustix::net::RecvFlags;
use std::fmt;
use std::io::{self, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Time that a server has to take a connection.
const CONNECT_MAX: Duration = Duration::from_secs(2);
/// Time that a server has to take what is written.
const WRITE_MAX: Duration = Duration::from_secs(2);
/// Time until a server that was not there is looked for again.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// Addresses of a name that are tried.
const ADDRESSES_MAX: usize = 4;

/// Address of a syslog server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SyslogAddress {
    /// A datagram a message.
    Udp(String, u16),
    /// Messages with their lengths before them.
    Tcp(String, u16),
    /// A socket of the file system, of datagrams or a stream.
    Unix(PathBuf),
}

/// Why a text is no address of a syslog server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadSyslogAddress {
    /// None of the schemes.
    Scheme,
    /// No host.
    Host,
    /// No port, or none that is one.
    Port,
    /// A socket without an absolute path.
    Path,
}

impl fmt::Display for BadSyslogAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scheme => "a syslog server is reached by udp://, tcp:// or unix://",
            Self::Host => "the syslog server has no host",
            Self::Port => "the syslog server has no port from 1 to 65535",
            Self::Path => "the socket of a syslog server is an absolute path",
        })
    }
}

impl std::error::Error for BadSyslogAddress {}

impl FromStr for SyslogAddress {
    type Err = BadSyslogAddress;

    fn from_str(text: &str) -> Result<Self, BadSyslogAddress> {
        let (scheme, rest) = text.split_once("://").ok_or(BadSyslogAddress::Scheme)?;
        if scheme == "unix" {
            let is_path = rest.starts_with('/') && rest.len() > 1 && !rest.contains('\0');
            return is_path.then(|| Self::Unix(rest.into())).ok_or(BadSyslogAddress::Path);
        }
        let is_udp = match scheme {
            "udp" => true,
            "tcp" => false,
            _ => return Err(BadSyslogAddress::Scheme),
        };
        let (host, port) = rest.rsplit_once(':').ok_or(BadSyslogAddress::Port)?;
        let port = port.parse().ok().filter(|port| *port > 0).ok_or(BadSyslogAddress::Port)?;
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let host = match bare {
            Some(bare) => bare.parse::<Ipv6Addr>().ok().map(|_| bare),
            None => Some(host).filter(|it| {
                let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
                !it.is_empty() && it.bytes().all(is_of_name)
            }),
        };
        let host = host.ok_or(BadSyslogAddress::Host)?.to_owned();
        Ok(if is_udp { Self::Udp(host, port) } else { Self::Tcp(host, port) })
    }
}

impl fmt::Display for SyslogAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Udp(host, port) => write!(f, "udp://{host}:{port}"),
            Self::Tcp(host, port) => write!(f, "tcp://{host}:{port}"),
            Self::Unix(path) => write!(f, "unix://{}", path.display()),
        }
    }
}

/// A syslog server as the writer's thread sees it.
pub(crate) struct SyslogOutput {
    stamp: SyslogStamp,
    host: String,
    link: Option<SyslogLink>,
    retry_at: Option<Instant>,
    message: Vec<u8>,
}

enum SyslogLink {
    Udp(UdpSocket),
    Datagram(UnixDatagram),
    Tcp(TcpStream),
    Stream(UnixStream),
}

impl SyslogOutput {
    pub(crate) fn new(stamp: &SyslogStamp) -> Self {
        let host = rustix::system::uname();
        let host = host.nodename().to_str().unwrap_or_default();
        let host: String = host.chars().filter(char::is_ascii_graphic).take(255).collect();
        let host = if host.is_empty() { "-".into() } else { host };
        Self { stamp: stamp.clone(), host, link: None, retry_at: None, message: Vec::new() }
    }

    /// Sends whole lines, each as a message; returns how many were lost.
    pub(crate) fn write(&mut self, lines: &[u8], severity: LineSeverity) -> u64 {
        let all = || lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let mut lost = 0;
        let mut rest = all();
        while let Some(line) = rest.next() {
            if !self.send(line, severity) {
                // Nobody is there: the others would not arrive either.
                lost += 1;
                if self.link.is_none() {
                    return lost + rest.count() as u64;
                }
            }
        }
        lost
    }

    /// Forgets the connection: it is made anew for the next line.
    pub(crate) fn reopen(&mut self) {
        (self.link, self.retry_at) = (None, None);
    }

    /// True if the line was sent.
    fn send(&mut self, text: &[u8], severity: LineSeverity) -> bool {
        // A server that has gone is noticed at the first write after it; the second try is a new
        // connection.
        for _ in 0..2 {
            if self.link.as_ref().is_none_or(SyslogLink::is_closed) {
                self.link = None;
                if self.retry_at.is_some_and(|at| Instant::now() < at) {
                    return false;
                }
                self.link = self.stamp.address.connect().ok();
            }
            let Some(link) = &mut self.link else {
                self.retry_at = Some(Instant::now() + RETRY_AFTER);
                return false;
            };
            self.message.clear();
            message(&mut self.message, &self.stamp, &self.host, severity, text);
            match link.send(&self.message) {
                Ok(()) => return true,
                // Too large for a datagram: this line alone is lost.
                Err(why)
                    if why.raw_os_error() == Some(rustix::io::Errno::MSGSIZE.raw_os_error()) =>
                {
                    return false;
                }
                Err(_) => self.link = None,
            }
        }
        self.retry_at = Some(Instant::now() + RETRY_AFTER);
        false
    }
}

/// Writes one message (RFC 5424 §6) without the framing of its transport.
fn message(
    out: &mut Vec<u8>,
    stamp: &SyslogStamp,
    host: &str,
    severity: LineSeverity,
    line: &[u8],
) {
    #[expect(clippy::disallowed_methods, reason = "a message carries the time it is sent at")]
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let time = ClockTime::of_ms(now.as_millis() as u64).rfc3339_ms();
    let priority = u16::from(stamp.facility) * 8 + u16::from(severity.code());
    let (tag, kind, pid) = (&stamp.tag, stamp.kind, std::process::id());
    // Writing to memory cannot fail.
    let _ = write!(out, "<{priority}>1 {time} {host} {tag} {pid} {kind} - ");
    out.extend_from_slice(line);
}

impl SyslogAddress {
    fn connect(&self) -> io::Result<SyslogLink> {
        match self {
            Self::Unix(path) => {
                let socket = UnixDatagram::unbound()?;
                if socket.connect(path).is_ok() {
                    socket.set_write_timeout(Some(WRITE_MAX))?;
                    return Ok(SyslogLink::Datagram(socket));
                }
                let stream = UnixStream::connect(path)?;
                stream.set_write_timeout(Some(WRITE_MAX))?;
                Ok(SyslogLink::Stream(stream))
            }
            Self::Udp(host, port) => first(host, *port, |address| {
                let any: SocketAddr = match address {
                    SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
                    SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
                };
                let socket = UdpSocket::bind(any)?;
                socket.connect(address)?;
                socket.set_write_timeout(Some(WRITE_MAX))?;
                Ok(SyslogLink::Udp(socket))
            }),
            Self::Tcp(host, port) => first(host, *port, |address| {
                let stream = TcpStream::connect_timeout(&address, CONNECT_MAX)?;
                stream.set_write_timeout(Some(WRITE_MAX))?;
                Ok(SyslogLink::Tcp(stream))
            }),
        }
    }
}

/// The first address of a host that lets itself be connected to.
fn first(
    host: &str,
    port: u16,
    connect: impl Fn(SocketAddr) -> io::Result<SyslogLink>,
) -> io::Result<SyslogLink> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for address in (host, port).to_socket_addrs()?.take(ADDRESSES_MAX) {
        match connect(address) {
            Ok(link) => return Ok(link),
            Err(why) => last = why,
        }
    }
    Err(last)
}

impl SyslogLink {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        match self {
            // What is refused was the datagram before: this one has not been sent yet.
            Self::Udp(socket) => match socket.send(message) {
                Err(why) if why.kind() == io::ErrorKind::ConnectionRefused => {
                    socket.send(message).map(drop)
                }
                sent => sent.map(drop),
            },
            Self::Datagram(socket) => socket.send(message).map(drop),
            Self::Tcp(stream) => stream.write_all(&framed(message)),
            Self::Stream(stream) => stream.write_all(&framed(message)),
        }
    }

    /// True if the server has closed the connection, as far as that is known.
    fn is_closed(&self) -> bool {
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        let mut byte = [0; 1];
        let seen = match self {
            Self::Udp(_) | Self::Datagram(_) => return false,
            Self::Tcp(stream) => rustix::net::recv(stream, &mut byte, flags),
            Self::Stream(stream) => rustix::net::recv(stream, &mut byte, flags),
        };
        match seen {
            Ok((count, _)) => count == 0,
            Err(why) => why != rustix::io::Errno::AGAIN,
        }
    }
}

/// A message with its length before it (RFC 6587 §3.4.1).
fn framed(message: &[u8]) -> Vec<u8> {
    [message.len().to_string().as_bytes(), b" ", message].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_wrong_ones_are_refused_with_a_reason() {
        let read = |text: &str| text.parse::<SyslogAddress>();
        assert_eq!(read("udp://10.0.0.1:514"), Ok(SyslogAddress::Udp("10.0.0.1".into(), 514)));
        assert_eq!(read("tcp://[::1]:601"), Ok(SyslogAddress::Tcp("::1".into(), 601)));
        assert_eq!(read("unix:///dev/log"), Ok(SyslogAddress::Unix("/dev/log".into())));
        for (text, why) in [
            ("10.0.0.1:514", BadSyslogAddress::Scheme),
            ("tls://log:6514", BadSyslogAddress::Scheme),
            ("udp://log", BadSyslogAddress::Port),
            ("udp://log:0", BadSyslogAddress::Port),
            ("udp://:514", BadSyslogAddress::Host),
            ("udp://a b:514", BadSyslogAddress::Host),
            ("udp://[::g]:514", BadSyslogAddress::Host),
            ("unix://dev/log", BadSyslogAddress::Path),
        ] {
            assert_eq!(read(text), Err(why), "{text}");
        }
    }

    #[test]
    fn a_message_has_the_form_of_rfc_5424() {
        let address = SyslogAddress::Udp("h".into(), 1);
        let stamp = SyslogStamp { address, facility: 16, tag: "edge".into(), kind: "access" };
        let mut out = Vec::new();
        message(&mut out, &stamp, "host", LineSeverity::Info, b"a line");
        let text = String::from_utf8(out).unwrap();
        let parts: Vec<&str> = text.splitn(8, ' ').collect();
        assert_eq!(parts[0], "<134>1");
        assert!(parts[1].ends_with('Z') && parts[1].len() == 24, "{text}");
        let pid = std::process::id().to_string();
        assert_eq!(parts[2..], ["host", "edge", &pid, "access", "-", "a line"]);
    }
}
