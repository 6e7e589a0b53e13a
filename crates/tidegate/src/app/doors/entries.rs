//! The table of the HTTP doors, and what the program hands each.
//!
//! A new door is a line of [`HTTP_DOORS`] and its [`ProgramDoor`]. The DNS door is made here too;
//! it keeps its own listeners. Called by `doors`.

use super::{DoorEntry, ProgramDoor};
use crate::app::RunningApp;
use crate::app::blocked_tunnels::are_taken;
use crate::app::effective;
use crate::app::folders::{self, FolderOpener};
use crate::app::mint::vouches_for;
use config::Plan;
use door_dns::{DnsDoor, StartError};
use door_gateway::{GatewayDoor, GatewayParts};
use door_pixel::{PixelDoor, PixelParts};
use door_proxy::{BlockedTunnel, CacheEnvironment, ProxyDoor, ProxyParts};
use door_web::{WebDoor, WebParts};
use file_access::private_files::PrivateFiles;
use policy::{Ask, Policy, Verdict};
use program_log::{LogPart, part_log};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use transport::ServerTls;
use vocab::{Action, Complaint, Door, Now};

/// A name of the starter list, so that the lines to try show something.
pub(crate) const SAMPLE: &str = "doubleclick.net";

/// The HTTP doors, in the order in which doors are always listed.
pub(crate) static HTTP_DOORS: [DoorEntry; 4] = [
    DoorEntry::of::<PixelDoor>(),
    DoorEntry::of::<ProxyDoor>(),
    DoorEntry::of::<WebDoor>(),
    DoorEntry::of::<GatewayDoor>(),
];

/// Makes the DNS door of the plan, if the plan has it.
pub(super) fn make_dns(app: &RunningApp, plan: &Plan) -> Result<Option<Arc<DnsDoor>>, StartError> {
    let Some(settings) = effective::dns_settings(plan) else { return Ok(None) };
    let parts = door_dns::DnsParts {
        policy: Arc::clone(&app.policy),
        resolver: app.resolver.clone(),
        ledger: app.ledger.clone(),
        pixel: effective::pixel_addresses(plan),
        drain: app.drain.clone(),
        cores: Arc::clone(&app.cores),
        signer: Some(Arc::clone(&app.signer)),
        trust: Arc::clone(&app.trust),
        effects_env: app.effects_env(),
        base: base(app, plan),
    };
    DnsDoor::new(&settings, parts).map(Some)
}

impl ProgramDoor for PixelDoor {
    const DOOR: Door = Door::Pixel;

    fn make(app: &RunningApp, plan: &Plan) -> Result<Option<Arc<Self>>, Vec<Complaint>> {
        let Some(settings) = plan.file.pixel.clone() else { return Ok(None) };
        let parts = PixelParts {
            policy: Arc::clone(&app.policy),
            ledger: app.ledger.clone(),
            tls: ServerTls::with_signer(Arc::clone(&app.signer)),
            signer: Arc::clone(&app.signer),
            trust: Arc::clone(&app.trust),
            dashboard: Arc::clone(&app.dashboard),
            dialer: app.dialer(),
        };
        Ok(Some(Self::new(settings, effective::splice_bounds(plan), parts)))
    }

    fn take_settings(&self, _app: &RunningApp, plan: &Plan) -> Result<(), Vec<Complaint>> {
        if let Some(settings) = &plan.file.pixel {
            self.reload(settings.clone(), effective::splice_bounds(plan));
        }
        Ok(())
    }

    fn check_files(_: &Plan, _: &Path, _: &Arc<PrivateFiles>) -> Vec<Complaint> {
        Vec::new()
    }

    fn to_try(address: SocketAddr) -> String {
        format!("curl -i -H 'Host: {SAMPLE}' http://{address}/tag.js")
    }

    /// It tells by itself.
    fn outcome(_: &Policy, _: &Plan, _: &Ask<'_>, _: Verdict, _: Now) -> String {
        String::new()
    }
}

impl ProgramDoor for ProxyDoor {
    const DOOR: Door = Door::Proxy;

    fn make(app: &RunningApp, plan: &Plan) -> Result<Option<Arc<Self>>, Vec<Complaint>> {
        let Some(settings) = plan.file.proxy.clone() else { return Ok(None) };
        let parts = ProxyParts {
            policy: Arc::clone(&app.policy),
            ledger: app.ledger.clone(),
            dialer: app.dialer(),
            off_limits: vec![plan.file.admin.listen.0],
            base: base(app, plan),
            blocked_tunnels: Some(Arc::clone(&app.at_pixel) as _),
            cache: cache_environment(app, Self::DOOR),
            signer: Some(Arc::clone(&app.signer)),
            dashboard: Arc::clone(&app.dashboard),
            log: part_log(LogPart::Proxy, log::Level::Warn),
        };
        Self::new(settings, parts).map(Some)
    }

    fn take_settings(&self, _app: &RunningApp, plan: &Plan) -> Result<(), Vec<Complaint>> {
        plan.file.proxy.as_ref().map_or(Ok(()), |settings| self.reload(settings.clone()))
    }

    fn check_files(plan: &Plan, base: &Path, _: &Arc<PrivateFiles>) -> Vec<Complaint> {
        let proxy = plan.file.proxy.as_ref();
        proxy.map_or_else(Vec::new, |settings| door_proxy::check_files(settings, base))
    }

    fn to_try(address: SocketAddr) -> String {
        format!("curl -i -x http://{address} http://{SAMPLE}/")
    }

    fn outcome(policy: &Policy, plan: &Plan, ask: &Ask<'_>, verdict: Verdict, now: Now) -> String {
        if verdict.action == Action::Pass {
            return "fetches it from its origin".into();
        }
        let is_answered = are_taken(plan) && vouches_for(policy, ask.host.as_str(), now);
        let tunnel = if is_answered { BlockedTunnel::Answered } else { BlockedTunnel::Refused };
        door_proxy::preview(policy, ask, verdict, tunnel)
    }
}

impl ProgramDoor for WebDoor {
    const DOOR: Door = Door::Web;

    fn make(app: &RunningApp, plan: &Plan) -> Result<Option<Arc<Self>>, Vec<Complaint>> {
        let [_, ..] = plan.file.web.as_slice() else { return Ok(None) };
        let parts = WebParts {
            policy: Arc::clone(&app.policy),
            ledger: app.ledger.clone(),
            base: base(app, plan),
            private: Arc::clone(&app.private),
            signer: Some(Arc::clone(&app.signer)),
            log: part_log(LogPart::Web, log::Level::Warn),
        };
        Self::new(&plan.file.web, parts).map(Some)
    }

    fn take_settings(&self, _app: &RunningApp, plan: &Plan) -> Result<(), Vec<Complaint>> {
        self.reload(&plan.file.web)
    }

    fn check_files(plan: &Plan, base: &Path, private: &Arc<PrivateFiles>) -> Vec<Complaint> {
        // The built-in configuration's folder is made at the first start.
        if plan.is_built_in() {
            return Vec::new();
        }
        door_web::check_folders(&plan.file.web, base, private)
    }

    fn to_try(address: SocketAddr) -> String {
        format!("curl http://{address}/")
    }

    fn outcome(_: &Policy, _: &Plan, _: &Ask<'_>, verdict: Verdict, _: Now) -> String {
        passed_or_refused(verdict, "serves the file")
    }
}

impl ProgramDoor for GatewayDoor {
    const DOOR: Door = Door::Gateway;

    fn make(app: &RunningApp, plan: &Plan) -> Result<Option<Arc<Self>>, Vec<Complaint>> {
        let Some(settings) = plan.file.gateway.clone() else { return Ok(None) };
        let parts = GatewayParts {
            policy: Arc::clone(&app.policy),
            ledger: app.ledger.clone(),
            dialer: app.dialer(),
            folders: Arc::new(FolderOpener::new(&app.ledger, &app.private)),
            base: base(app, plan),
            private: Arc::clone(&app.private),
            cache: cache_environment(app, Self::DOOR),
            signer: Some(Arc::clone(&app.signer)),
            leases: app.fleet.leases(),
            log: part_log(LogPart::Gateway, log::Level::Warn),
        };
        Self::new(settings, parts).map(Some)
    }

    fn take_settings(&self, _app: &RunningApp, plan: &Plan) -> Result<(), Vec<Complaint>> {
        plan.file.gateway.as_ref().map_or(Ok(()), |settings| self.reload(settings.clone()))
    }

    fn check_files(plan: &Plan, base: &Path, private: &Arc<PrivateFiles>) -> Vec<Complaint> {
        let Some(settings) = &plan.file.gateway else { return Vec::new() };
        let mut found = door_gateway::check_files(settings, base, private);
        found.extend(folders::check(settings, base, private));
        found
    }

    fn to_try(address: SocketAddr) -> String {
        format!("curl -i http://{address}/.env")
    }

    fn outcome(_: &Policy, _: &Plan, _: &Ask<'_>, verdict: Verdict, _: Now) -> String {
        passed_or_refused(verdict, "does what its route says, unless its own patterns block it")
    }
}

fn passed_or_refused(verdict: Verdict, passed: &str) -> String {
    match verdict.action {
        Action::Pass => passed.into(),
        Action::Block => "403 that names list and rule".into(),
    }
}

/// The folder that relative paths of the plan start from.
fn base(app: &RunningApp, plan: &Plan) -> PathBuf {
    plan.base(app.state.path()).to_path_buf()
}

/// What the cache of a door finds around it.
fn cache_environment(app: &RunningApp, door: Door) -> CacheEnvironment {
    let part = if door == Door::Proxy { LogPart::Proxy } else { LogPart::Gateway };
    CacheEnvironment {
        clock: transport::clock::now,
        folder: app.state.path().to_path_buf(),
        log: part_log(part, log::Level::Warn),
        second_level: app.fleet.second_level.clone(),
    }
}
