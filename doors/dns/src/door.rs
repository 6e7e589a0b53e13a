//! The DNS door as a whole: its parts, its listeners, and how both are exchanged while it runs.
//!
//! It binds before it lets go: a reload whose listeners cannot be had changes nothing. It reads no
//! packets and resolves no names. Made and reloaded by the binary.

use crate::blocked::Blocked;
use crate::settings::Settings;
use crate::special::SpecialNames;
use crate::{tcp, worker};
use arc_swap::ArcSwap;
use dns_wire::records::LocalRecords;
use ledger::Ledger;
use policy::Policy;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use transport::udp::{UdpSocket, listen_udp};
use transport::{
    BindError, ConnectionLimits, CoreStuck, Cores, Drain, WaitForData, accept_loop,
    listen_tcp_on_each,
};
use upstream::resolver::Resolver;
use vocab::{Complaint, Listen, Scheme};

/// What the door is made of; the binary owns each and hands it in.
pub struct Parts {
    /// The policy, exchanged by whoever loads lists.
    pub policy: Arc<ArcSwap<Policy>>,
    /// Whom to ask, and the cache of what was answered.
    pub resolver: Resolver,
    /// Where requests are recorded.
    pub ledger: Ledger,
    /// The pixel door's addresses; empty where it does not run.
    pub pixel: Vec<IpAddr>,
    /// Begun when the process is to end; everything of the door is held in it while it is open.
    pub drain: Drain,
}

/// The DNS door.
pub struct Door {
    shared: Arc<Shared>,
    running: Mutex<Vec<Listener>>,
}

/// What every request sees.
pub(crate) struct Shared {
    pub(crate) policy: Arc<ArcSwap<Policy>>,
    pub(crate) plan: Arc<ArcSwap<Plan>>,
    pub(crate) resolver: Resolver,
    pub(crate) ledger: Ledger,
    pub(crate) drain: Drain,
}

/// The door's settings, made ready for requests.
pub(crate) struct Plan {
    pub(crate) local: LocalRecords,
    pub(crate) special: SpecialNames,
    pub(crate) blocked: Blocked,
}

/// One entry of `listen`, open.
struct Listener {
    entry: Listen,
    bound: SocketAddr,
    open: Open,
}

enum Open {
    Udp {
        sockets: Vec<Arc<UdpSocket>>,
        threads: Vec<JoinHandle<()>>,
    },
    /// Begun when this listener alone is to close; its connections go on.
    Tcp {
        closing: Drain,
    },
}

/// Why the door could not open.
#[derive(Debug)]
pub enum StartError {
    /// A setting is wrong; `Settings::check` says so beforehand.
    Settings(Vec<Complaint>),
    /// An address could not be had.
    Bind(BindError),
    /// No thread could be started.
    Thread(io::Error),
    /// A core takes no more work.
    Core(CoreStuck),
}

impl Door {
    /// The door, not yet open.
    pub fn new(settings: &Settings, parts: Parts) -> Result<Arc<Self>, StartError> {
        let plan = Plan::new(settings, &parts.pixel)?;
        Ok(Arc::new(Self {
            shared: Arc::new(Shared {
                policy: parts.policy,
                plan: Arc::new(ArcSwap::from_pointee(plan)),
                resolver: parts.resolver,
                ledger: parts.ledger,
                drain: parts.drain,
            }),
            running: Mutex::new(Vec::new()),
        }))
    }

    /// Opens every listener of the settings (a changed cap on connections holds for those opened
    /// after it), and closes those that are open and not among them.
    /// On an error what was open stays so and nothing else is.
    pub fn listen(&self, settings: &Settings, cores: &Cores) -> Result<(), StartError> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let limits = settings.connection_limits();
        let mut fresh = Vec::new();
        for entry in &settings.listen {
            if !running.iter().any(|open| open.entry == entry.0) {
                match self.open(&entry.0, &limits, cores) {
                    Ok(listener) => fresh.push(listener),
                    Err(why) => {
                        fresh.into_iter().for_each(Listener::close);
                        return Err(why);
                    }
                }
            }
        }
        let (stay, go): (Vec<_>, Vec<_>) = running
            .drain(..)
            .partition(|open| settings.listen.iter().any(|entry| entry.0 == open.entry));
        go.into_iter().for_each(Listener::close);
        *running = stay;
        running.extend(fresh);
        Ok(())
    }

    /// Takes new settings: listeners that stay are kept open, the rest is exchanged at once for
    /// all requests that begin afterwards, the resolver's part included. On an error nothing
    /// changes.
    pub fn reload(
        &self,
        settings: &Settings,
        pixel: &[IpAddr],
        cores: &Cores,
    ) -> Result<(), StartError> {
        let plan = Plan::new(settings, pixel)?;
        self.listen(settings, cores)?;
        self.shared.resolver.reload(&settings.resolver()).map_err(StartError::Settings)?;
        self.shared.plan.store(Arc::new(plan));
        Ok(())
    }

    /// Every open listener as it was asked for, with the address it got.
    pub fn listeners(&self) -> Vec<Listen> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.iter().map(|open| Listen { address: open.bound, ..open.entry.clone() }).collect()
    }

    /// Closes every listener; questions that wait for upstreams are still answered.
    pub fn close(&self) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.drain(..).for_each(Listener::close);
    }

    fn open(
        &self,
        entry: &Listen,
        limits: &ConnectionLimits,
        cores: &Cores,
    ) -> Result<Listener, StartError> {
        match entry.scheme {
            Scheme::Udp => self.open_udp(entry, cores),
            Scheme::Tcp => self.open_tcp(entry, limits, cores),
            Scheme::Tls | Scheme::Quic | Scheme::Http | Scheme::Https => {
                Err(StartError::Settings(vec![not_built(entry)]))
            }
        }
    }

    fn open_udp(&self, entry: &Listen, cores: &Cores) -> Result<Listener, StartError> {
        let sockets = listen_udp(entry.address, cores.count()).map_err(StartError::Bind)?;
        let bound = sockets[0].local();
        let sockets: Vec<_> = sockets.into_iter().map(Arc::new).collect();
        let mut listener = Listener {
            entry: entry.clone(),
            bound,
            open: Open::Udp { sockets: sockets.clone(), threads: Vec::new() },
        };
        for (index, socket) in sockets.iter().enumerate() {
            match (worker::start(&self.shared, socket, index), &mut listener.open) {
                (Ok(thread), Open::Udp { threads, .. }) => threads.push(thread),
                (Ok(_), Open::Tcp { .. }) => unreachable!("made as UDP above"),
                (Err(why), _) => {
                    listener.close();
                    return Err(StartError::Thread(why));
                }
            }
        }
        let drain = self.shared.drain.clone();
        // Weak, so that this wait does not keep a socket bound that a reload has closed.
        let sockets: Vec<_> = sockets.iter().map(Arc::downgrade).collect();
        let stop = move || async move {
            drain.begun().await;
            sockets.iter().filter_map(Weak::upgrade).for_each(|socket| socket.stop());
        };
        cores.spawn(0, stop).map_err(StartError::Core)?;
        Ok(listener)
    }

    fn open_tcp(
        &self,
        entry: &Listen,
        limits: &ConnectionLimits,
        cores: &Cores,
    ) -> Result<Listener, StartError> {
        let listeners = listen_tcp_on_each(entry.address, WaitForData::Yes, cores.count())
            .map_err(StartError::Bind)?;
        let bound = listeners[0].local_addr();
        let closing = Drain::new();
        for (core, socket) in listeners.into_iter().enumerate() {
            let (shared, limits) = (Arc::clone(&self.shared), limits.clone());
            let closed = closing.clone();
            let accept = move || async move {
                let drain = shared.drain.clone();
                let serve = move |stream| tcp::serve(Arc::clone(&shared), stream);
                tokio::select! {
                    () = closed.begun() => {}
                    // It fails only where the reactor has no room for the socket: this core then
                    // takes no connections, the others do.
                    _ = accept_loop(socket, limits, drain, serve) => {}
                }
            };
            if let Err(stuck) = cores.spawn(core, accept) {
                closing.begin();
                return Err(StartError::Core(stuck));
            }
        }
        Ok(Listener { entry: entry.clone(), bound, open: Open::Tcp { closing } })
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.close();
    }
}

impl Plan {
    fn new(settings: &Settings, pixel: &[IpAddr]) -> Result<Self, StartError> {
        let complaints = settings.check();
        if !complaints.is_empty() {
            return Err(StartError::Settings(complaints));
        }
        Ok(Self {
            local: settings.local_records().map_err(StartError::Settings)?,
            special: SpecialNames::new(settings.canaries, settings.delegated()),
            blocked: Blocked::new(settings.blocked, settings.blocked_ttl_s(), pixel),
        })
    }
}

impl Listener {
    fn close(self) {
        match self.open {
            Open::Udp { sockets, threads } => {
                for socket in &sockets {
                    socket.stop();
                }
                for thread in threads {
                    // A panic there was printed there.
                    let _ = thread.join();
                }
            }
            Open::Tcp { closing } => closing.begin(),
        }
    }
}

/// What `check` and opening say of protocols that are not there yet.
pub(crate) fn not_built(entry: &Listen) -> Complaint {
    let scheme = entry.scheme.as_str();
    Complaint::new("listen", format!("{scheme}:// listeners are not built yet in the DNS door"))
        .remedy(format!("listen on udp://{0} and tcp://{0}", entry.address))
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settings(complaints) => {
                for (index, complaint) in complaints.iter().enumerate() {
                    write!(f, "{}{complaint}", if index > 0 { "\n" } else { "" })?;
                }
                Ok(())
            }
            Self::Bind(why) => why.fmt(f),
            Self::Thread(why) => write!(f, "no thread for the DNS door could be started: {why}"),
            Self::Core(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for StartError {}
