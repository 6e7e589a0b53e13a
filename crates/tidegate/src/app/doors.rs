//! The five doors as the program holds them: made from a plan, joined with those that run.
//!
//! Each is made anew from every plan, which proves the plan before anything changes; one that runs
//! already keeps its place, its connections and its listeners, and takes the new settings.

use super::folders::FolderOpener;
use super::http::Serve;
use super::{RunningApp, blocked_tunnels, effective};
use config::Plan;
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use transport::{ConnectionLimits, Drain, ServerTls, Stream};
use vocab::{Complaint, Listen, Scheme};

/// The doors that run; none where the plan has no such section.
#[derive(Default)]
pub(super) struct OpenDoors {
    pub(super) dns: Option<Arc<door_dns::DnsDoor>>,
    pub(super) pixel: Option<Arc<door_pixel::PixelDoor>>,
    pub(super) proxy: Option<Arc<door_proxy::ProxyDoor>>,
    pub(super) web: Option<Arc<door_web::WebDoor>>,
    pub(super) gateway: Option<Arc<door_gateway::GatewayDoor>>,
}

/// An HTTP door as its listeners need it. A door that does not run listens nowhere.
pub(super) struct HttpOpening {
    pub(super) name: &'static str,
    pub(super) listen: Vec<Listen>,
    pub(super) limits: ConnectionLimits,
    pub(super) serve: Serve,
}

/// Time for which the end of the program waits for what is on its way to disk.
const SETTLE_MAX: Duration = Duration::from_secs(5);

impl RunningApp {
    /// Waits until the disk tiers of the caches have what was handed to them.
    pub(super) fn settle_caches(&self) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let (proxy, gateway) = (running.doors.proxy.clone(), running.doors.gateway.clone());
        drop(running);
        let (done, settled) = sync_channel(1);
        // A thread of its own: a disk that hangs holds up nobody's end.
        std::thread::spawn(move || {
            if let Some(door) = proxy {
                door.settle();
            }
            if let Some(door) = gateway {
                door.settle();
            }
            // Whoever waited may have lost patience.
            let _ = done.send(());
        });
        if settled.recv_timeout(SETTLE_MAX).is_err() {
            eprintln!("tidegate: the disk is slow; answers that it was to keep are lost");
        }
    }
}

impl OpenDoors {
    /// Makes every door of the plan; nothing listens yet.
    pub(super) fn make(app: &RunningApp, plan: &Plan) -> Result<Self, String> {
        let file = &plan.file;
        let base = plan.base(app.state.path()).to_path_buf();
        let dns = match effective::dns_settings(plan) {
            None => None,
            Some(settings) => {
                let parts = door_dns::DnsParts {
                    policy: Arc::clone(&app.policy),
                    resolver: app.resolver.clone(),
                    ledger: app.ledger.clone(),
                    pixel: effective::pixel_addresses(plan),
                    drain: app.drain.clone(),
                    cores: Arc::clone(&app.cores),
                    signer: Some(Arc::clone(&app.signer)),
                    trust: Arc::clone(&app.trust),
                    around: app.around(),
                    base: base.clone(),
                };
                Some(door_dns::DnsDoor::new(&settings, parts).map_err(|why| why.to_string())?)
            }
        };
        let pixel = file.pixel.clone().map(|settings| pixel(app, plan, settings));
        let proxy = make_proxy(app, plan, &base)?;
        let web = match file.web.as_slice() {
            [] => None,
            sites => {
                let parts = door_web::WebParts {
                    policy: Arc::clone(&app.policy),
                    ledger: app.ledger.clone(),
                    base: base.clone(),
                    private: Arc::clone(&app.private),
                    signer: Some(Arc::clone(&app.signer)),
                    tell: Arc::new(|line| eprintln!("tidegate: {line}")),
                };
                let made = door_web::WebDoor::new(sites, parts);
                Some(made.map_err(|complaints| lines(plan, "web", complaints))?)
            }
        };
        let gateway = match file.gateway.clone() {
            None => None,
            Some(settings) => {
                let parts = door_gateway::GatewayParts {
                    policy: Arc::clone(&app.policy),
                    ledger: app.ledger.clone(),
                    dialer: app.dialer(),
                    folders: Arc::new(FolderOpener::new(&app.ledger, &app.private)),
                    base,
                    private: Arc::clone(&app.private),
                    cache: around(app, "gateway"),
                    signer: Some(Arc::clone(&app.signer)),
                    tell: Arc::new(|line| eprintln!("tidegate: {line}")),
                };
                let made = door_gateway::GatewayDoor::new(settings, parts);
                Some(made.map_err(|complaints| lines(plan, "gateway", complaints))?)
            }
        };
        Ok(Self { dns, pixel, proxy, web, gateway })
    }

    /// The doors of `fresh`, each replaced by the one that runs already.
    pub(super) fn joined(&self, fresh: Self) -> Self {
        fn join<D>(runs: Option<&Arc<D>>, fresh: Option<Arc<D>>) -> Option<Arc<D>> {
            fresh.map(|fresh| runs.map_or(fresh, Arc::clone))
        }
        Self {
            dns: join(self.dns.as_ref(), fresh.dns),
            pixel: join(self.pixel.as_ref(), fresh.pixel),
            proxy: join(self.proxy.as_ref(), fresh.proxy),
            web: join(self.web.as_ref(), fresh.web),
            gateway: join(self.gateway.as_ref(), fresh.gateway),
        }
    }

    /// Gives the HTTP doors the plan's settings.
    pub(super) fn take_settings(&self, app: &RunningApp, plan: &Plan) -> Result<(), String> {
        let file = &plan.file;
        let at_pixel = self.pixel.clone().filter(|_| blocked_tunnels::are_taken(plan));
        app.at_pixel.door.store(at_pixel);
        if let (Some(door), Some(settings)) = (&self.pixel, &file.pixel) {
            door.reload(settings.clone(), effective::splice_bounds(plan));
        }
        if let (Some(door), Some(settings)) = (&self.proxy, &file.proxy) {
            door.reload(settings.clone()).map_err(|wrong| lines(plan, "proxy", wrong))?;
        }
        if let Some(door) = &self.web {
            door.reload(&file.web).map_err(|complaints| lines(plan, "web", complaints))?;
        }
        if let (Some(door), Some(settings)) = (&self.gateway, &file.gateway) {
            door.reload(settings.clone())
                .map_err(|complaints| lines(plan, "gateway", complaints))?;
        }
        Ok(())
    }

    /// Every HTTP door, those that do not run with no listener.
    pub(super) fn openings(&self) -> [HttpOpening; 4] {
        let pixel = opening("pixel", self.pixel.as_ref(), |door| {
            let plain = serving(door, door_pixel::PixelDoor::serve_connection);
            let secure = serving(door, door_pixel::PixelDoor::serve_tls_connection);
            (door.listeners(), door.connection_limits(), by_scheme(plain, secure))
        });
        let proxy = opening("proxy", self.proxy.as_ref(), |door| {
            let plain = serving(door, door_proxy::ProxyDoor::serve_connection);
            let secure = serving(door, door_proxy::ProxyDoor::serve_tls_connection);
            (door.listeners(), door.connection_limits(), by_scheme(plain, secure))
        });
        let web = opening("web", self.web.as_ref(), |door| {
            let plain = serving(door, door_web::WebDoor::serve_connection);
            let secure = serving(door, door_web::WebDoor::serve_tls_connection);
            (door.listeners(), door.connection_limits(), by_scheme(plain, secure))
        });
        let gateway = opening("gateway", self.gateway.as_ref(), |door| {
            let plain = serving(door, door_gateway::GatewayDoor::serve_connection);
            let secure = serving(door, door_gateway::GatewayDoor::serve_tls_connection);
            (door.listeners(), door.connection_limits(), by_scheme(plain, secure))
        });
        [pixel, proxy, web, gateway]
    }
}

/// Returns what the cache of a door finds around it.
fn around(app: &RunningApp, door: &'static str) -> door_proxy::CacheEnvironment {
    door_proxy::CacheEnvironment {
        clock: transport::clock::now,
        folder: app.state.path().to_path_buf(),
        log: Arc::new(move |line| eprintln!("tidegate: {door}: {line}")),
    }
}

fn make_proxy(
    app: &RunningApp,
    plan: &Plan,
    base: &Path,
) -> Result<Option<Arc<door_proxy::ProxyDoor>>, String> {
    let Some(settings) = plan.file.proxy.clone() else { return Ok(None) };
    let parts = door_proxy::ProxyParts {
        policy: Arc::clone(&app.policy),
        ledger: app.ledger.clone(),
        dialer: app.dialer(),
        off_limits: vec![plan.file.admin.listen.0],
        base: base.to_path_buf(),
        blocked_tunnels: Some(Arc::clone(&app.at_pixel) as _),
        cache: around(app, "proxy"),
        signer: Some(Arc::clone(&app.signer)),
        dashboard: Arc::clone(&app.dashboard),
        tell: Arc::new(|line| eprintln!("tidegate: {line}")),
    };
    let made = door_proxy::ProxyDoor::new(settings, parts);
    made.map(Some).map_err(|complaints| lines(plan, "proxy", complaints))
}

fn pixel(
    app: &RunningApp,
    plan: &Plan,
    settings: door_pixel::Settings,
) -> Arc<door_pixel::PixelDoor> {
    let parts = door_pixel::PixelParts {
        policy: Arc::clone(&app.policy),
        ledger: app.ledger.clone(),
        tls: ServerTls::with_signer(Arc::clone(&app.signer)),
        signer: Arc::clone(&app.signer),
        trust: Arc::clone(&app.trust),
        dashboard: Arc::clone(&app.dashboard),
        dialer: app.dialer(),
    };
    door_pixel::PixelDoor::new(settings, effective::splice_bounds(plan), parts)
}

fn opening<D>(
    name: &'static str,
    door: Option<&Arc<D>>,
    describe: impl FnOnce(&Arc<D>) -> (Vec<Listen>, ConnectionLimits, Serve),
) -> HttpOpening {
    let nowhere = || -> (Vec<Listen>, ConnectionLimits, Serve) {
        (Vec::new(), ConnectionLimits::new(0, 0), Arc::new(|_, _, _| Box::pin(async {})))
    };
    let (listen, limits, serve) = door.map_or_else(nowhere, describe);
    HttpOpening { name, listen, limits, serve }
}

/// A door's way to serve a connection, in the one form that listeners take.
fn serving<D, F>(door: &Arc<D>, serve: fn(Arc<D>, Stream, Drain) -> F) -> Serve
where
    D: Send + Sync + 'static,
    F: Future<Output = ()> + 'static,
{
    let door = Arc::clone(door);
    Arc::new(move |_, stream, drain| Box::pin(serve(Arc::clone(&door), stream, drain)))
}

/// One way at `https` listeners, another at the rest.
fn by_scheme(plain: Serve, secure: Serve) -> Serve {
    Arc::new(move |scheme, stream, drain| {
        let serve = if scheme == Scheme::Https { &secure } else { &plain };
        serve(scheme, stream, drain)
    })
}

/// Complaints of a section, a line each, with their places.
pub(super) fn lines(plan: &Plan, section: &str, complaints: Vec<Complaint>) -> String {
    let placed = complaints.into_iter().map(|complaint| plan.placed(complaint.under(section)));
    placed.map(|complaint| complaint.to_string()).collect::<Vec<_>>().join("\n")
}
