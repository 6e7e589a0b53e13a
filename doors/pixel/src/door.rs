//! The door itself: what it is made of, and how it is reloaded.
//!
//! `serve` takes its connections. Made by the binary.

use crate::answered_names::AnsweredNames;
use crate::counters::PixelCounters;
use crate::inspection::{BodyInspection, InspectedBody};
use crate::settings::Settings;
use crate::splice_bounds::SpliceBounds;
use crate::stats::PixelFigures;
use crate::tunnels::OpenTunnels;
use arc_swap::{ArcSwap, ArcSwapOption};
use http_front::DoorLimits;
use ledger::Ledger;
use origins::Dialer;
use policy::Policy;
use signer::Signer;
use signer::trust::TrustBook;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use transport::{ServerTls, clock};
use vocab::{Now, Scheme};

/// Holds what the door is built from.
#[derive(Clone)]
pub struct PixelParts {
    /// The policy, swapped as a whole on reload.
    pub policy: Arc<ArcSwap<Policy>>,
    /// Where requests are recorded.
    pub ledger: Ledger,
    /// TLS with certificates that are made for blocked names, in the handshake.
    pub tls: ServerTls,
    /// The signer, whose authority devices are to trust.
    pub signer: Arc<Signer>,
    /// Learns which clients trust the authority.
    pub trust: Arc<TrustBook>,
    /// Where the dashboard listens, once it does: the block page leads there whoever can reach it.
    pub dashboard: Arc<ArcSwapOption<SocketAddr>>,
    /// Opens connections to the servers of names that were let through.
    pub dialer: Dialer,
}

/// The pixel door.
pub struct PixelDoor {
    pub(crate) parts: PixelParts,
    pub(crate) counters: Arc<PixelCounters>,
    /// The connections that are carried to other servers.
    pub(crate) tunnels: Arc<OpenTunnels>,
    /// Where they may lead.
    pub(crate) bounds: ArcSwap<SpliceBounds>,
    settings: ArcSwap<Settings>,
    /// Bodies that are kept for the administrator, as the settings have it.
    inspection: ArcSwap<BodyInspection>,
    /// When it was opened.
    pub(crate) started: Now,
    /// The caps on its connections, which know how many were refused.
    pub(crate) limits: DoorLimits,
}

impl PixelDoor {
    /// A door with settings that [`Settings::check`] finds right.
    pub fn new(settings: Settings, bounds: SpliceBounds, parts: PixelParts) -> Arc<Self> {
        let limits = DoorLimits::new(settings.connection_caps());
        let inspection = ArcSwap::from_pointee(BodyInspection::new(&settings.inspect));
        let settings = ArcSwap::from_pointee(settings);
        let (bounds, tunnels) = (ArcSwap::from_pointee(bounds), Arc::default());
        let counters = Arc::new(PixelCounters::new());
        let started = clock::now();
        Arc::new(Self { parts, counters, tunnels, bounds, settings, inspection, started, limits })
    }

    /// Takes new settings. Listeners are the caller's.
    pub fn reload(&self, settings: Settings, bounds: SpliceBounds) {
        self.limits.set(settings.connection_caps());
        if *self.inspection.load().settings() != settings.inspect {
            // What was kept on other terms is forgotten with them.
            self.inspection.store(Arc::new(BodyInspection::new(&settings.inspect)));
        }
        self.settings.store(Arc::new(settings));
        self.bounds.store(Arc::new(bounds));
    }

    /// The settings now.
    pub(crate) fn settings(&self) -> Arc<Settings> {
        self.settings.load_full()
    }

    /// The names that are answered as blocked ones now.
    pub(crate) fn answered_names(&self) -> AnsweredNames {
        self.settings.load().answered_names()
    }

    /// The bodies that are kept.
    pub(crate) fn inspection(&self) -> Arc<BodyInspection> {
        self.inspection.load_full()
    }

    /// Bodies that were posted to blocked hosts and are kept for the administrator, the newest
    /// first.
    pub fn inspected(&self) -> Vec<InspectedBody> {
        self.inspection.load().kept(clock::now())
    }

    /// The door's own figures, for the metrics page.
    pub fn stats(&self) -> Arc<dyn ledger::Collector> {
        let (limits, tunnels) = (self.limits.connections().counts(), Arc::clone(&self.tunnels));
        Arc::new(PixelFigures::new(Arc::clone(&self.counters), limits, tunnels))
    }

    /// Where devices find our authority's certificate; none if there is no listener for it.
    pub(crate) fn setup_url(&self) -> Option<String> {
        let settings = self.settings.load();
        let plain = settings.listen.iter().find(|it| it.scheme == Scheme::Http)?.address;
        let address = settings.addresses.first().map_or(plain.ip(), |address| address.0);
        if address.is_unspecified() {
            return None;
        }
        Some(match plain.port() {
            80 => format!("http://{}/", bracketed(address)),
            port => format!("http://{}/", SocketAddr::from((address, port))),
        })
    }
}

/// An address as it stands in a URL.
fn bracketed(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}
