//! The DNS door as a whole: its parts, its listeners, and how both are exchanged while it runs.
//!
//! It binds before it lets go: a reload whose listeners cannot be had changes nothing. It reads no
//! packets and resolves no names. Made and reloaded by the binary.

use crate::certificate;
use crate::doh::client::ForwardedTrust;
use crate::guard::GuardSecrets;
use crate::listener_spec::ListenerSpec;
use crate::listeners::{ListenerOpener, OpenListener};
use crate::pending::TASKS_MAX;
use crate::plan::{DnsPlan, PlanContext};
use crate::reply_sink;
use crate::resources::{CollectedRuns, PipelineResources};
use crate::settings::Settings;
use crate::shared::DoorShared;
use crate::sockets::{self, SocketSpec};
use crate::start_error::StartError;
use arc_swap::ArcSwap;
use dns_effects::EffectsEnv;
use ledger::Ledger;
use policy::Policy;
use resolver::{FairCap, LocalOverrides, Resolver};
use scripting::LuauScript;
use signer::Signer;
use signer::trust::TrustBook;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, Once, PoisonError};
use transport::tls::{CertificateFacts, ServerIdentity};
use transport::{ConnectionCounts, ConnectionLimits, Cores, Drain};
use vocab::Listen;

/// Holds what the door is made of; the binary owns each and hands it in.
pub struct DnsParts {
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
    /// The threads that connections are served on.
    pub cores: Arc<Cores>,
    /// Who signs the certificate of encrypted listeners where none is given as files.
    pub signer: Option<Arc<Signer>>,
    /// Which clients get no address of the pixel door.
    pub trust: Arc<TrustBook>,
    /// What effects of pipelines need.
    pub effects_env: EffectsEnv,
    /// The folder that files of the settings are relative to.
    pub base: PathBuf,
}

/// The DNS door.
pub struct DnsDoor {
    shared: Arc<DoorShared>,
    signer: Option<Arc<Signer>>,
    effects_env: EffectsEnv,
    secrets: GuardSecrets,
    base: PathBuf,
    running: Mutex<OpenParts>,
    /// Replies that wait for upstreams leave in batches from the first listening on.
    batched: Once,
}

/// Holds what is open, and what all of it shares.
#[derive(Default)]
struct OpenParts {
    listeners: Vec<OpenListener>,
    /// What encrypted listeners present; its content is exchanged, itself it stays.
    identity: Option<ServerIdentity>,
    /// The caps on connections, shared by all listeners.
    limits: ConnectionLimits,
}

/// Listeners that are open and not yet the door's; dropped, they are closed again.
struct PreparedListeners {
    fresh: Vec<OpenListener>,
    wanted: Vec<SocketSpec>,
    identity: Option<ServerIdentity>,
    caps: (usize, usize),
}

impl DnsDoor {
    /// The door, not yet open.
    pub fn new(settings: &Settings, parts: DnsParts) -> Result<Arc<Self>, StartError> {
        let nothing = PipelineResources::empty(Arc::default());
        let secrets =
            GuardSecrets::choose().map_err(|_| StartError::Thread(io::ErrorKind::Other.into()))?;
        let (base, log) = (parts.base.as_path(), &parts.effects_env.log);
        let around = PlanContext { secrets: &secrets, base, log };
        let plan = DnsPlan::new(settings, &parts.pixel, nothing, &around, None)?;
        let doh = forwarded(settings)?;
        Ok(Arc::new(Self {
            shared: Arc::new(DoorShared {
                policy: parts.policy,
                plan: Arc::new(ArcSwap::from_pointee(plan)),
                resolver: parts.resolver,
                ledger: parts.ledger,
                drain: parts.drain,
                trust: parts.trust,
                cores: parts.cores,
                tasks: FairCap::new(TASKS_MAX),
                doh: ArcSwap::from_pointee(doh),
            }),
            signer: parts.signer,
            effects_env: parts.effects_env,
            secrets,
            base: parts.base,
            running: Mutex::default(),
            batched: Once::new(),
        }))
    }

    /// Opens every listener of the settings, and closes those that are open and not among them.
    /// Changed caps on connections hold for what comes. On an error what was open stays so and
    /// nothing else is.
    pub fn listen(&self, settings: &Settings, cores: &Cores) -> Result<(), StartError> {
        self.listen_at(&sockets::openings(settings), settings, cores)
    }

    /// The same with listeners of which each leads to an entry of its own.
    pub fn listen_at(
        &self,
        openings: &[ListenerSpec],
        settings: &Settings,
        cores: &Cores,
    ) -> Result<(), StartError> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let prepared = self.prepare(&running, openings, settings, cores, &[])?;
        running.install(prepared);
        Ok(())
    }

    /// Takes new settings: listeners that stay are kept open, the rest is exchanged at once for
    /// all requests that begin afterwards, the resolver's part included; certificates are read
    /// again. `leaving` are addresses that other doors of this process give up. On an error nothing
    /// changes.
    pub fn reload(
        &self,
        settings: &Settings,
        pixel: &[IpAddr],
        cores: &Cores,
        leaving: &[SocketAddr],
    ) -> Result<(), StartError> {
        let before = self.shared.plan.load();
        let outside = before.outside.next(settings.foreign.as_ref(), &self.effects_env);
        let outside = outside.map_err(StartError::Settings)?;
        let (secrets, log) = (&self.secrets, &self.effects_env.log);
        let around = PlanContext { secrets, base: &self.base, log };
        let plan = DnsPlan::new(settings, pixel, outside, &around, Some(&before))?;
        let doh = forwarded(settings)?;
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let openings = sockets::openings(settings);
        let prepared = self.prepare(&running, &openings, settings, cores, leaving)?;
        self.shared.resolver.reload(&settings.resolver()).map_err(StartError::Settings)?;
        self.shared.plan.store(Arc::new(plan));
        self.shared.doh.store(Arc::new(doh));
        running.install(prepared);
        Ok(())
    }

    /// The script, if it has one.
    pub fn script(&self) -> Option<LuauScript> {
        self.shared.plan.load().script.clone()
    }

    /// Shared state that its requests see.
    pub(crate) fn shared(&self) -> &Arc<DoorShared> {
        &self.shared
    }

    /// Every open listener as it was asked for, with the address it got.
    pub fn listeners(&self) -> Vec<Listen> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.listeners.iter().flat_map(OpenListener::list).collect()
    }

    /// The certificate of its encrypted listeners, if there is one.
    pub fn certificate(&self) -> Option<CertificateFacts> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.identity.as_ref().and_then(ServerIdentity::facts)
    }

    /// Counts of the connections of its listeners.
    pub fn connections(&self) -> ConnectionCounts {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).limits.counts()
    }

    /// Returns what its settings answer by themselves: for whoever dials a name.
    pub fn local_names(&self) -> Arc<dyn LocalOverrides> {
        Arc::clone(&self.shared.plan.load().local) as Arc<dyn LocalOverrides>
    }

    /// Returns what the collectors of a pipeline have counted.
    pub fn collected(&self) -> Vec<CollectedRuns> {
        self.shared.plan.load().outside.collected()
    }

    /// Closes every listener; questions that wait for upstreams are still answered.
    pub fn close(&self) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.listeners.drain(..).for_each(OpenListener::close);
    }

    /// Does all that can fail: reads certificates, binds and starts what is not open yet.
    fn prepare(
        &self,
        running: &OpenParts,
        openings: &[ListenerSpec],
        settings: &Settings,
        cores: &Cores,
        leaving: &[SocketAddr],
    ) -> Result<PreparedListeners, StartError> {
        self.batched.call_once(|| self.shared.resolver.after_batch(Arc::new(reply_sink::flush)));
        let wanted = sockets::group(openings)?;
        let encrypted: Vec<_> =
            wanted.iter().filter(|it| it.is_encrypted()).map(|it| it.address).collect();
        let identity = if encrypted.is_empty() {
            None
        } else {
            let signer = self.signer.as_ref();
            let made = certificate::identity(settings, &encrypted, &self.base, signer);
            Some(made.map_err(StartError::Certificate)?)
        };
        let caps = settings.connection_caps();
        let mut prepared = PreparedListeners { fresh: Vec::new(), wanted, identity, caps };
        let opener = ListenerOpener {
            shared: &self.shared,
            limits: &running.limits,
            identity: running.identity.as_ref().or(prepared.identity.as_ref()),
            cores,
            leaving,
        };
        for wanted in &prepared.wanted {
            if !running.listeners.iter().any(|open| open.is(wanted)) {
                prepared.fresh.push(opener.open(wanted)?);
            }
        }
        Ok(prepared)
    }
}

impl OpenParts {
    /// Makes what was prepared the door's own, and closes what is no longer wanted.
    fn install(&mut self, mut prepared: PreparedListeners) {
        match (&self.identity, prepared.identity.take()) {
            (Some(ours), Some(fresh)) => ours.replace_with(&fresh),
            (None, fresh @ Some(_)) => self.identity = fresh,
            (_, None) => {}
        }
        let (all, each) = prepared.caps;
        self.limits.set(all, each);
        for open in std::mem::take(&mut self.listeners) {
            match prepared.wanted.iter().find(|wanted| open.is(wanted)) {
                Some(wanted) => {
                    open.route(wanted);
                    self.listeners.push(open);
                }
                None => open.close(),
            }
        }
        self.listeners.append(&mut prepared.fresh);
    }
}

impl Drop for PreparedListeners {
    fn drop(&mut self) {
        self.fresh.drain(..).for_each(OpenListener::close);
    }
}

fn forwarded(settings: &Settings) -> Result<ForwardedTrust, StartError> {
    ForwardedTrust::new(&settings.doh).map_err(|complaint| StartError::Settings(vec![complaint]))
}

impl Drop for DnsDoor {
    fn drop(&mut self) {
        self.close();
    }
}
