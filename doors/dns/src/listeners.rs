//! Listeners: the sockets that are wanted, opened on every core and closed one by one.
//!
//! A socket stays open over reloads as long as its protocol and address are wanted; which paths and
//! entries it serves is exchanged underneath. It reads no message. Called by `door`; what comes in
//! goes to `worker` (UDP), `tcp`, `tls`, `doh` and `doq`.

use crate::certificate::CertificateError;
use crate::listener_context::ListenerContext;
use crate::shared::DoorShared;
use crate::sockets::{SocketRoutes, SocketSpec};
use crate::start_error::StartError;
use crate::worker::{self, SocketReading};
use crate::{doh, doq, tcp, tls};
use arc_swap::ArcSwap;
use std::net::SocketAddr;
use std::sync::{Arc, Weak};
use transport::quic_server::{accept_quic_loop, listen_quic_per_core};
use transport::tls::{Alpn, ServerIdentity};
use transport::udp::{UdpSocket, listen_udp};
use transport::{
    ConnectionLimits, Cores, Drain, ServerTls, Stream, WaitForData, accept_until,
    listen_tcp_per_core,
};
use vocab::{Complaint, Listen, Scheme};

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
        reading: Vec<SocketReading>,
    },
    /// Begun when this listener alone is to close. TCP connections then go on; those of QUIC, which
    /// share the socket, end when what they have asked is answered.
    Connections {
        closing: Drain,
    },
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
            Scheme::Redirect | Scheme::Tproxy => {
                let message = "the DNS door takes no connections to others";
                Err(StartError::Settings(vec![Complaint::new("listen", message)]))
            }
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
        let mut reading = Vec::with_capacity(sockets.len());
        let mut failed = None;
        for (index, socket) in sockets.iter().enumerate() {
            match worker::start(self.shared, &routes, socket, index) {
                Ok(begun) => reading.push(begun),
                Err(why) => {
                    failed = Some(why);
                    break;
                }
            }
        }
        let open = OpenSocket::Udp { sockets: sockets.clone(), reading };
        let listener = OpenListener::new(wanted, bound, routes, open);
        if let Some(why) = failed {
            listener.close();
            return Err(StartError::Thread(why));
        }
        let drain = self.shared.drain.clone();
        // Weak, so that this wait does not keep a socket bound that a reload has closed.
        let sockets: Vec<_> = sockets.iter().map(Arc::downgrade).collect();
        let stop = move || async move {
            drain.started().await;
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
            listen_tcp_per_core(wanted.address, WaitForData::Yes, self.cores.count(), self.leaving)
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
            listen_quic_per_core(wanted.address, identity, &doq::SERVICE, self.cores.count())
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
                let _ = accept_quic_loop(socket, limits, drain, closing.started(), serve).await;
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
        // Of sockets that were adopted there may be more than cores.
        self.cores.spawn(core % self.cores.count(), accept).map_err(|stuck| {
            line.closing.start();
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
        let listen =
            |path: &str| Listen { scheme: self.scheme, address: self.bound, path: path.to_owned() };
        routes.paths().map(listen).collect()
    }

    pub(crate) fn close(self) {
        match self.open {
            OpenSocket::Udp { sockets, reading } => {
                for socket in &sockets {
                    socket.stop();
                }
                reading.into_iter().for_each(SocketReading::join);
            }
            OpenSocket::Connections { closing } => closing.start(),
        }
    }
}
