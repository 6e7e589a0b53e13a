//! Listeners: what is wanted, grouped into sockets, opened on every core, and closed one by one.
//!
//! A socket stays open over reloads as long as its protocol and address are wanted; which paths and
//! entries it serves is exchanged underneath. It reads no message. Called by `door`; what comes in
//! goes to `worker` (UDP), `tcp`, `tls`, `doh` and `doq`.

use crate::certificate::CertificateError;
use crate::door::{DoorShared, StartError};
use crate::settings::Settings;
use crate::{doh, doq, tcp, tls, worker};
use arc_swap::ArcSwap;
use std::net::SocketAddr;
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use transport::near::{self, ArrivedAt};
use transport::quic_server::{accept_quic_loop, listen_quic_on_each};
use transport::tls::{Alpn, ServerIdentity};
use transport::udp::{UdpSocket, listen_udp};
use transport::{
    ConnectionLimits, Cores, Drain, ServerTls, Stream, WaitForData, accept_until,
    listen_tcp_on_each,
};
use vocab::{Complaint, Listen, Scheme};

/// The path of DNS over HTTPS where a listener names none: what RFC 8484 and its clients write.
pub const DOH_PATH_DEFAULT: &str = "/dns-query";

/// A listener as it is wanted: where, and at which of the plan's entries its questions begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenerSpec {
    /// Protocol, address, and for DNS over HTTPS the path.
    pub listen: Listen,
    /// The number of the entry; 0 is the first.
    pub entry: u16,
}

/// Holds what one socket serves: each path's entry; without HTTP there is one, and its path is
/// empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SocketRoutes(Vec<(Box<str>, u16)>);

/// A socket as it is wanted: all openings of one protocol and address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SocketSpec {
    pub(crate) scheme: Scheme,
    pub(crate) address: SocketAddr,
    pub(crate) routes: SocketRoutes,
}

/// An open one.
pub(crate) struct OpenListener {
    scheme: Scheme,
    /// As it was asked for: what a reload compares.
    address: SocketAddr,
    bound: SocketAddr,
    routes: Arc<ArcSwap<SocketRoutes>>,
    open: OpenSocket,
}

enum OpenSocket {
    Udp {
        sockets: Vec<Arc<UdpSocket>>,
        threads: Vec<JoinHandle<()>>,
    },
    /// Begun when this listener alone is to close. TCP connections then go on; those of QUIC, which
    /// share the socket, end when what they have asked is answered.
    Connections {
        closing: Drain,
    },
}

/// Holds what every connection of a listener knows.
#[derive(Clone)]
pub(crate) struct ListenerContext {
    pub(crate) shared: Arc<DoorShared>,
    pub(crate) routes: Arc<ArcSwap<SocketRoutes>>,
    pub(crate) limits: ConnectionLimits,
    /// Begun when the listener closes.
    pub(crate) closing: Drain,
}

impl ListenerContext {
    /// The address of ours that a connection is to, if the policy wants to know its interface.
    pub(crate) fn local(&self, stream: &Stream) -> Option<ArrivedAt> {
        near::local(self.shared.policy.load().near_wanted(), stream)
    }
}

/// Holds what opening needs of the door.
#[derive(Clone, Copy)]
pub(crate) struct ListenerOpener<'d> {
    pub(crate) shared: &'d Arc<DoorShared>,
    pub(crate) limits: &'d ConnectionLimits,
    /// What encrypted listeners present; there whenever one is wanted.
    pub(crate) identity: Option<&'d ServerIdentity>,
    pub(crate) cores: &'d Cores,
    /// Addresses that another door leaves to this one.
    pub(crate) leaving: &'d [SocketAddr],
}

/// Tells what is spoken on a TCP connection.
#[derive(Clone)]
enum TcpProtocol {
    Dns,
    DnsOverTls(ServerTls),
    Http,
    Https(ServerTls),
}

impl SocketRoutes {
    /// Where questions begin on a listener without paths.
    pub(crate) fn entry(&self) -> u16 {
        self.0.first().map_or(0, |(_, entry)| *entry)
    }

    /// The longest path that `path` is, or lies one segment below; and that segment.
    pub(crate) fn find<'p>(&self, path: &'p str) -> Option<(u16, Option<&'p str>)> {
        let below = |(ours, entry): &(Box<str>, u16)| {
            let rest = path.strip_prefix(&**ours)?;
            let segment = match rest.strip_prefix('/') {
                None if rest.is_empty() => None,
                Some(segment) if !segment.is_empty() && !segment.contains('/') => Some(segment),
                Some(_) | None => return None,
            };
            Some((ours.len(), (*entry, segment)))
        };
        self.0.iter().filter_map(below).max_by_key(|(length, _)| *length).map(|(_, found)| found)
    }
}

/// The listeners of the settings: those that a foreign pipeline has itself, each at its entry; else
/// those of `listen`, all at the first.
pub(crate) fn openings(settings: &Settings) -> Vec<ListenerSpec> {
    if let Some(foreign) = settings.foreign.as_ref().filter(|it| it.has_servers()) {
        return foreign.openings.clone();
    }
    settings.listen.iter().map(|it| ListenerSpec { listen: it.0.clone(), entry: 0 }).collect()
}

/// The addresses and protocols at which a door of these settings listens.
pub fn listens(settings: &Settings) -> Vec<Listen> {
    openings(settings).into_iter().map(|it| it.listen).collect()
}

/// The sockets that `openings` come to, in their order.
pub(crate) fn group(openings: &[ListenerSpec]) -> Result<Vec<SocketSpec>, StartError> {
    let mut all: Vec<SocketSpec> = Vec::new();
    for ListenerSpec { listen, entry } in openings {
        let path = match listen.scheme {
            Scheme::Http | Scheme::Https if listen.path.is_empty() => DOH_PATH_DEFAULT,
            Scheme::Http | Scheme::Https => listen.path.trim_end_matches('/'),
            Scheme::Udp | Scheme::Tcp | Scheme::Tls | Scheme::Quic => "",
        };
        let route = (Box::from(path), *entry);
        let same =
            |it: &&mut SocketSpec| it.scheme == listen.scheme && it.address == listen.address;
        match all.iter_mut().find(same) {
            Some(wanted) if wanted.routes.0.iter().any(|(ours, _)| **ours == *path) => {
                let twice = Complaint::new("listen", format!("{listen} is here twice"));
                return Err(StartError::Settings(vec![twice.remedy("leave one out")]));
            }
            Some(wanted) => wanted.routes.0.push(route),
            None => all.push(SocketSpec {
                scheme: listen.scheme,
                address: listen.address,
                routes: SocketRoutes(vec![route]),
            }),
        }
    }
    Ok(all)
}

impl SocketSpec {
    /// True if it presents a certificate.
    pub(crate) fn is_encrypted(&self) -> bool {
        match self.scheme {
            Scheme::Tls | Scheme::Quic | Scheme::Https => true,
            Scheme::Udp | Scheme::Tcp | Scheme::Http => false,
        }
    }
}

impl ListenerOpener<'_> {
    /// Binds and starts on every core.
    pub(crate) fn open(self, wanted: &SocketSpec) -> Result<OpenListener, StartError> {
        let tls = |protocols: &[Alpn]| {
            let identity = self.identity()?;
            Ok(ServerTls::with_identity(identity, protocols))
        };
        match wanted.scheme {
            Scheme::Udp => self.open_udp(wanted),
            Scheme::Tcp => self.open_tcp(wanted, &TcpProtocol::Dns),
            Scheme::Tls => self.open_tcp(wanted, &TcpProtocol::DnsOverTls(tls(&[Alpn::Dot])?)),
            Scheme::Http => self.open_tcp(wanted, &TcpProtocol::Http),
            Scheme::Https => {
                self.open_tcp(wanted, &TcpProtocol::Https(tls(&[Alpn::Http2, Alpn::Http1])?))
            }
            Scheme::Quic => self.open_quic(wanted),
        }
    }

    fn identity(&self) -> Result<&ServerIdentity, StartError> {
        self.identity.ok_or(StartError::Certificate(CertificateError::NoAuthority))
    }

    fn line(self, wanted: &SocketSpec) -> ListenerContext {
        ListenerContext {
            shared: Arc::clone(self.shared),
            routes: Arc::new(ArcSwap::from_pointee(wanted.routes.clone())),
            limits: self.limits.clone(),
            closing: Drain::new(),
        }
    }

    fn open_udp(self, wanted: &SocketSpec) -> Result<OpenListener, StartError> {
        let sockets = listen_udp(wanted.address, self.cores.count()).map_err(StartError::Bind)?;
        let bound = sockets[0].local();
        let sockets: Vec<_> = sockets.into_iter().map(Arc::new).collect();
        let routes = Arc::new(ArcSwap::from_pointee(wanted.routes.clone()));
        let mut threads = Vec::with_capacity(sockets.len());
        let mut failed = None;
        for (index, socket) in sockets.iter().enumerate() {
            match worker::start(self.shared, &routes, socket, index) {
                Ok(thread) => threads.push(thread),
                Err(why) => {
                    failed = Some(why);
                    break;
                }
            }
        }
        let open = OpenSocket::Udp { sockets: sockets.clone(), threads };
        let listener = OpenListener::new(wanted, bound, routes, open);
        if let Some(why) = failed {
            listener.close();
            return Err(StartError::Thread(why));
        }
        let drain = self.shared.drain.clone();
        // Weak, so that this wait does not keep a socket bound that a reload has closed.
        let sockets: Vec<_> = sockets.iter().map(Arc::downgrade).collect();
        let stop = move || async move {
            drain.begun().await;
            sockets.iter().filter_map(Weak::upgrade).for_each(|socket| socket.stop());
        };
        self.cores.spawn(0, stop).map_err(StartError::Core)?;
        Ok(listener)
    }

    fn open_tcp(
        self,
        wanted: &SocketSpec,
        spoken: &TcpProtocol,
    ) -> Result<OpenListener, StartError> {
        let listeners =
            listen_tcp_on_each(wanted.address, WaitForData::Yes, self.cores.count(), self.leaving)
                .map_err(StartError::Bind)?;
        let bound = listeners[0].local_addr();
        let line = self.line(wanted);
        for (core, socket) in listeners.into_iter().enumerate() {
            let (line_here, spoken) = (line.clone(), spoken.clone());
            let accept = move || async move {
                let (limits, drain) = (line_here.limits.clone(), line_here.shared.drain.clone());
                let closing = line_here.closing.clone();
                let serve = move |stream| serve(line_here.clone(), spoken.clone(), stream);
                // It fails only where the reactor has no room for the socket: this core then
                // takes no connections, the others do.
                let _ = accept_until(socket, limits, drain, &closing, serve).await;
            };
            self.start(core, &line, accept)?;
        }
        Ok(OpenListener::with_connections(wanted, bound, line))
    }

    fn open_quic(self, wanted: &SocketSpec) -> Result<OpenListener, StartError> {
        let identity = self.identity()?;
        let listeners =
            listen_quic_on_each(wanted.address, identity, &doq::SERVICE, self.cores.count())
                .map_err(StartError::Bind)?;
        let bound = listeners[0].local_addr();
        let line = self.line(wanted);
        for (core, socket) in listeners.into_iter().enumerate() {
            let line_here = line.clone();
            let accept = move || async move {
                let (limits, drain) = (line_here.limits.clone(), line_here.shared.drain.clone());
                let closing = line_here.closing.clone();
                let serve = move |peer| doq::serve(line_here.clone(), peer);
                // As above.
                let _ = accept_quic_loop(socket, limits, drain, closing.begun(), serve).await;
            };
            self.start(core, &line, accept)?;
        }
        Ok(OpenListener::with_connections(wanted, bound, line))
    }

    /// Runs `accept` on a core; where that fails, the cores before it close again.
    fn start<S, F>(self, core: usize, line: &ListenerContext, accept: S) -> Result<(), StartError>
    where
        S: FnOnce() -> F + Send + 'static,
        F: Future<Output = ()> + 'static,
    {
        self.cores.spawn(core, accept).map_err(|stuck| {
            line.closing.begin();
            StartError::Core(stuck)
        })
    }
}

/// Serves one TCP connection to its end.
async fn serve(line: ListenerContext, spoken: TcpProtocol, stream: Stream) {
    match spoken {
        TcpProtocol::Dns => tcp::serve_plain(line, stream).await,
        TcpProtocol::DnsOverTls(with) => tls::serve_dns(line, with, stream).await,
        TcpProtocol::Http => doh::serve_plain(line, stream).await,
        TcpProtocol::Https(with) => tls::serve_https(line, with, stream).await,
    }
}

impl OpenListener {
    fn new(
        wanted: &SocketSpec,
        bound: SocketAddr,
        routes: Arc<ArcSwap<SocketRoutes>>,
        open: OpenSocket,
    ) -> Self {
        Self { scheme: wanted.scheme, address: wanted.address, bound, routes, open }
    }

    fn with_connections(wanted: &SocketSpec, bound: SocketAddr, line: ListenerContext) -> Self {
        Self::new(wanted, bound, line.routes, OpenSocket::Connections { closing: line.closing })
    }

    /// True if it is the socket that is wanted.
    pub(crate) fn is(&self, wanted: &SocketSpec) -> bool {
        self.scheme == wanted.scheme && self.address == wanted.address
    }

    /// Serves `wanted`'s paths and entries from the next message on.
    pub(crate) fn route(&self, wanted: &SocketSpec) {
        self.routes.store(Arc::new(wanted.routes.clone()));
    }

    /// Returns its entries as they were asked for, with the address that it got.
    pub(crate) fn list(&self) -> Vec<Listen> {
        let routes = self.routes.load();
        let listen = |(path, _): &(Box<str>, u16)| Listen {
            scheme: self.scheme,
            address: self.bound,
            path: path.to_string(),
        };
        routes.0.iter().map(listen).collect()
    }

    pub(crate) fn close(self) {
        match self.open {
            OpenSocket::Udp { sockets, threads } => {
                for socket in &sockets {
                    socket.stop();
                }
                for thread in threads {
                    // A panic there was printed there.
                    let _ = thread.join();
                }
            }
            OpenSocket::Connections { closing } => closing.begin(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn openings(entries: &[(&str, u16)]) -> Vec<ListenerSpec> {
        let opening = |&(listen, entry): &(&str, u16)| ListenerSpec {
            listen: listen.parse().unwrap(),
            entry,
        };
        entries.iter().map(opening).collect()
    }

    #[test]
    fn paths_of_one_address_share_its_socket() {
        let wanted = group(&openings(&[
            ("https://127.0.0.1:443/dns-query", 0),
            ("https://127.0.0.1:443/kids", 2),
            ("tls://127.0.0.1:853", 1),
            ("https://127.0.0.2:443", 3),
        ]))
        .unwrap();
        assert_eq!(wanted.len(), 3);
        assert_eq!(wanted[0].routes.find("/kids"), Some((2, None)));
        assert_eq!(wanted[1].routes.entry(), 1);
        assert_eq!(wanted[2].routes.find(DOH_PATH_DEFAULT), Some((3, None)));
    }

    #[test]
    fn a_path_may_go_one_segment_on_and_the_longest_counts() {
        let wanted = group(&openings(&[
            ("https://127.0.0.1:443/dns-query", 0),
            ("https://127.0.0.1:443/dns-query/kids", 1),
        ]))
        .unwrap();
        let find = |path| wanted[0].routes.find(path);
        assert_eq!(find("/dns-query"), Some((0, None)));
        assert_eq!(find("/dns-query/tablet"), Some((0, Some("tablet"))));
        assert_eq!(find("/dns-query/kids"), Some((1, None)));
        assert_eq!(find("/dns-query/kids/tablet"), Some((1, Some("tablet"))));
        for nowhere in ["/", "", "/dns-query/", "/dns-queryx", "/dns-query/a/b", "/DNS-QUERY"] {
            assert_eq!(find(nowhere), None, "{nowhere}");
        }
    }

    #[test]
    fn the_same_place_twice_is_refused() {
        for twice in [
            ["udp://127.0.0.1:53", "udp://127.0.0.1:53"],
            ["https://127.0.0.1:443", "https://127.0.0.1:443/dns-query"],
        ] {
            let refused = group(&openings(&twice.map(|entry| (entry, 0))));
            assert!(matches!(refused, Err(StartError::Settings(_))), "{twice:?}");
        }
    }
}
