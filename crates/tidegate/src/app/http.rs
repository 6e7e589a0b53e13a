//! The listeners of the HTTP doors: bound on every core, started, closed one by one.
//!
//! Binding and starting are two steps, so that a reload binds everything new before it changes
//! anything: an address that cannot be had leaves all as it was.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use transport::{
    BindError, ConnectionLimits, CoreStuck, Cores, Drain, ListenReach, Stream, TcpListener,
    accept_until, listen_within_per_core,
};
use vocab::{Listen, Scheme};

/// One connection served to its end.
pub(super) type Served = Pin<Box<dyn Future<Output = ()>>>;

/// How a door serves a connection that came to a listener of this scheme.
pub(super) type Serve = Arc<dyn Fn(Scheme, Stream, Drain) -> Served + Send + Sync>;

/// The open listeners of all HTTP doors.
#[derive(Default)]
pub(super) struct HttpListeners(Vec<HttpListener>);

struct HttpListener {
    door: &'static str,
    /// As it stands in the configuration: what a reload compares.
    entry: Listen,
    /// With the port that the system picked.
    bound: Listen,
    closing: Drain,
}

/// Listeners that are bound and accept nothing yet; dropped, they are closed.
pub(super) struct BoundListeners {
    door: &'static str,
    entry: Listen,
    sockets: Vec<TcpListener>,
}

impl BoundListeners {
    /// Where it listens, with the port that the system picked.
    pub(super) fn address(&self) -> SocketAddr {
        self.sockets.first().map_or(self.entry.address, TcpListener::local_addr)
    }
}

impl HttpListeners {
    /// Addresses that a door listens on and no longer wants, by what `wanted` says of each door:
    /// others may have them.
    pub(super) fn leaving(&self, wanted: &[(&'static str, &[Listen])]) -> Vec<SocketAddr> {
        let goes = |open: &&HttpListener| {
            let door = wanted.iter().find(|(door, _)| *door == open.door);
            door.is_some_and(|(_, listen)| !listen.contains(&open.entry))
        };
        self.0.iter().filter(goes).map(|open| open.bound.address).collect()
    }

    /// Binds those of `wanted` that are not open yet. They may be at `leaving`, where doors of ours
    /// still listen.
    pub(super) fn bind(
        &self,
        door: &'static str,
        wanted: &[Listen],
        cores: &Cores,
        leaving: &[SocketAddr],
    ) -> Result<Vec<BoundListeners>, BindError> {
        let mut entries: Vec<&Listen> = Vec::new();
        for entry in wanted {
            let is_open = self.0.iter().any(|open| open.door == door && open.entry == *entry);
            // Sites share listeners: one socket for all that name the same address.
            if !is_open && !entries.contains(&entry) {
                entries.push(entry);
            }
        }
        let bind = |entry: &Listen| {
            let reach = if entry.scheme == Scheme::Tproxy {
                ListenReach::AnyAddress
            } else {
                ListenReach::OwnAddress
            };
            let sockets = listen_within_per_core(entry.address, reach, cores.count(), leaving)?;
            Ok(BoundListeners { door, entry: entry.clone(), sockets })
        };
        entries.into_iter().map(bind).collect()
    }

    /// Starts what was bound.
    pub(super) fn start(
        &mut self,
        bound: BoundListeners,
        limits: &ConnectionLimits,
        cores: &Cores,
        drain: &Drain,
        serve: &Serve,
    ) -> Result<(), CoreStuck> {
        let closing = Drain::new();
        let (address, scheme) = (bound.address(), bound.entry.scheme);
        for (index, socket) in bound.sockets.into_iter().enumerate() {
            let (limits, drain, closing, serve) =
                (limits.clone(), drain.clone(), closing.clone(), Arc::clone(serve));
            // Of sockets that were adopted there may be more than cores.
            cores.spawn(index % cores.count(), move || async move {
                let held = drain.clone();
                let handle = move |stream| serve(scheme, stream, drain.clone());
                // It fails only where the reactor has no room for the socket: this core then takes
                // no connections, the others do.
                let _ = accept_until(socket, limits, held, &closing, handle).await;
            })?;
        }
        self.0.push(HttpListener {
            door: bound.door,
            bound: Listen { address, ..bound.entry.clone() },
            entry: bound.entry,
            closing,
        });
        Ok(())
    }

    /// Closes the door's listeners that are not among `wanted`; their connections go on.
    pub(super) fn keep_only(&mut self, door: &'static str, wanted: &[Listen]) {
        self.0.retain(|open| {
            let stays = open.door != door || wanted.contains(&open.entry);
            if !stays {
                open.closing.start();
            }
            stays
        });
    }

    /// Where the listener of this entry is bound, if it is open.
    pub(super) fn bound(&self, door: &str, entry: &Listen) -> Option<SocketAddr> {
        let mut open = self.0.iter().filter(|open| open.door == door);
        open.find(|open| open.entry == *entry).map(|open| open.bound.address)
    }

    /// Every open listener: its door and its address.
    pub(super) fn list(&self) -> impl Iterator<Item = (&'static str, &Listen)> {
        self.0.iter().map(|open| (open.door, &open.bound))
    }
}
