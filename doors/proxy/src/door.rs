//! The door itself: what it is made of, how it is reloaded, and one connection through it.

use crate::request;
use crate::settings::Settings;
use arc_swap::ArcSwap;
use http_engine::{Limits, Versions, serve};
use ledger::Ledger;
use policy::Policy;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use transport::{ConnectionLimits, Drain, Stream};
use upstream::origins::{ClientStream, Dialer, Limits as OriginLimits, Origins};
use vocab::Listen;

/// What the door is built from.
#[derive(Clone)]
pub struct Parts {
    /// The policy, swapped as a whole on reload.
    pub policy: Arc<ArcSwap<Policy>>,
    /// Where requests are recorded.
    pub ledger: Ledger,
    /// What opens connections to origins.
    pub dialer: Dialer,
    /// Listeners that no proxied request may reach: the admin's.
    pub off_limits: Vec<SocketAddr>,
}

/// The proxy door.
pub struct Door {
    pub(crate) parts: Parts,
    setup: ArcSwap<Setup>,
}

/// What follows from the settings, swapped as a whole.
pub(crate) struct Setup {
    pub(crate) settings: Settings,
    pub(crate) origins: Origins,
}

impl Door {
    /// A door with settings that [`Settings::check`] finds right.
    pub fn new(settings: Settings, parts: Parts) -> Arc<Self> {
        let setup = ArcSwap::from_pointee(Setup::new(settings, &parts));
        Arc::new(Self { parts, setup })
    }

    /// Takes new settings. Requests under way keep the old ones; listeners are the caller's.
    pub fn reload(&self, settings: Settings) {
        self.setup.store(Arc::new(Setup::new(settings, &self.parts)));
    }

    /// Where to listen.
    pub fn listeners(&self) -> Vec<Listen> {
        self.setup.load().settings.listen.iter().map(|listen| listen.0.clone()).collect()
    }

    /// The caps on its connections, to share among all its listeners.
    pub fn connection_limits(&self) -> ConnectionLimits {
        let setup = self.setup.load();
        let (all, each) = (setup.settings.connections, setup.settings.connections_per_client);
        ConnectionLimits::new(all as usize, each as usize)
    }

    /// Serves one connection to its end. Within a `LocalSet` or local runtime only.
    pub async fn serve_connection(self: Arc<Self>, stream: Stream, drain: Drain) {
        let client = stream.peer().ip().to_canonical();
        let (stream, tunnel) = ClientStream::new(stream);
        let stop = drain.begun();
        let handler = move |incoming| {
            let (door, tunnel) = (Arc::clone(&self), tunnel.clone());
            async move { request::answer(&door, client, &tunnel, incoming).await }
        };
        // How a connection ends is the client's affair; what matters stands in the ledger.
        drop(serve(stream, Versions::Http1, Limits::default(), stop, handler).await);
    }

    pub(crate) fn setup(&self) -> Arc<Setup> {
        self.setup.load_full()
    }
}

impl Setup {
    fn new(settings: Settings, parts: &Parts) -> Self {
        let limits =
            OriginLimits { response_timeout: settings.response_timeout.0.0, ..Default::default() };
        Self { settings, origins: Origins::new(parts.dialer.clone(), limits) }
    }

    pub(crate) fn serves(&self, client: IpAddr) -> bool {
        self.settings.clients.iter().any(|network| network.contains(client))
    }
}
