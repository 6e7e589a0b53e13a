//! From a checked plan to running doors.
//!
//! Order matters: what can fail for reasons outside the plan (state folder, lists, ledger,
//! certificate authority, addresses) is tried before the first door answers anybody.

use super::blocked_tunnels::AtPixel;
use super::cache_files::CacheFiles;
use super::compiling::{CompiledPolicy, compile};
use super::doors::{HTTP_DOORS, OpenDoors};
use super::fleet::FleetDrain;
use super::fleet_live::FleetLive;
use super::fleet_rows::SentRows;
use super::http::HttpListeners;
use super::mint::BlockedNames;
use super::overrides;
use super::reverse_names::NamedDevices;
use super::signer;
use super::{RunningApp, RunningDoors};
use crate::cli::CommandSetup;
use ::signer::trust::TrustBook;
use arc_swap::{ArcSwap, ArcSwapOption};
use command_output::{CommandFailure, ExitReason};
use config::Plan;
use config_history::{ChangeHistory, ConfirmedCommit};
use door_gateway::GatewayDoor;
use door_pixel::PixelDoor;
use http_engine::UnfinishedCounts;
use ledger::RuleTexts;
use metrics_page::ReloadRecord;
use origins::Dialer;
use policy::Policy;
use policy_lists::{CountedOverlaps, RulesOrigin, Subscriptions};
use program_log::{LogPart, part_log};
use release_notice::ReleaseWatch;
use resolver::Resolver;
use start_privileges::PrivilegedStart;
use state_folder::StateDir;
use std::borrow::Cow;
use std::fmt::Display;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use transport::{ClientTls, Cores, Drain};
use vocab::{ListId, Listen, Name, RuleRef};

/// A page for the web door of the built-in configuration.
const WELCOME: &str = include_str!("../../assets/welcome.html");

/// Starts everything that the plan names.
pub(super) fn start(
    setup: CommandSetup,
    plan: &Plan,
    state: StateDir,
    start: PrivilegedStart,
) -> Result<(Arc<RunningApp>, RulesOrigin), CommandFailure> {
    let PrivilegedStart { privileges, launcher } = start;
    let cannot = |why: &dyn Display| CommandFailure::new(ExitReason::NotStarted, why);
    let (ref plan, trouble) = with_welcome(plan, state.path());
    let CompiledPolicy { policy, origin, tables } = compile(plan, state.path(), None)?;
    overrides::restore(state.path(), &policy, transport::clock::now());
    let policy = Arc::new(ArcSwap::from_pointee(policy));
    let texts = Arc::new(LiveRuleTexts::of(&policy));
    let ledger = ledger::open(&plan.file.ledger, state.path(), Arc::clone(&texts) as _)
        .map_err(|why| cannot(&why))?;
    let blocked_names = Arc::new(BlockedNames::new(Arc::clone(&policy), plan.file.signer.names));
    let (ca, names) = (state.path().join("ca"), Arc::clone(&blocked_names));
    let signer = signer::open(&setup, plan, &ca, launcher, names, tables)?;
    let (trust, drain, tls) = (Arc::<TrustBook>::default(), Drain::new(), ClientTls::new());
    let resolver =
        Resolver::start(&plan.resolver_settings(), tls.clone()).map_err(|why| cannot(&why))?;
    let at_pixel = Arc::new(AtPixel::new(&policy, &trust, &drain));
    let app = Arc::new(RunningApp {
        setup,
        history: ChangeHistory::open(state.path()),
        state,
        privileges,
        cores: Arc::new(Cores::start(Cores::available()).map_err(|why| cannot(&why))?),
        drain,
        policy,
        at_pixel,
        private: Arc::default(),
        texts,
        ledger,
        sent_rows: SentRows::default(),
        signer,
        blocked_names,
        trust,
        tls,
        devices: NamedDevices::new(resolver.clone()),
        resolver,
        caches: CacheFiles::default(),
        fleet: FleetLive::default(),
        releases: ReleaseWatch::default(),
        reload_requested: Arc::default(),
        subscriptions: Subscriptions::default(),
        overlaps: CountedOverlaps::default(),
        reloads: ReloadRecord::started(transport::clock::now().unix_secs()),
        compiling: Mutex::default(),
        replaying: Mutex::default(),
        editing: Mutex::default(),
        console: OnceLock::default(),
        console_closing: Mutex::default(),
        left: Drain::new(),
        started: transport::clock::now(),
        problems: Mutex::default(),
        admin: ArcSwap::from_pointee(plan.file.admin.clone()),
        admin_door: OnceLock::default(),
        check_url: ArcSwapOption::empty(),
        commit: ConfirmedCommit::default(),
        dashboard: Arc::default(),
        fleet_drain: FleetDrain::default(),
        running: Mutex::new(RunningDoors::empty(Plan::clone(plan))),
    });
    if let Some(trouble) = trouble {
        app.note_problem(trouble);
    }
    open_all(&app, plan)?;
    Ok((app, origin))
}

/// Opens doors and admin, in their order.
fn open_all(app: &Arc<RunningApp>, plan: &Plan) -> Result<(), CommandFailure> {
    let cannot = |why: &dyn Display| CommandFailure::new(ExitReason::NotStarted, why);
    app.restore_caches(plan);
    app.open_doors(plan.clone()).map_err(|why| cannot(&why))?;
    app.export(plan);
    app.share_live_state(plan);
    app.send_rows(plan);
    app.follow_releases(plan);
    app.report_lists(plan);
    app.open_admin().map_err(|why| cannot(&why))?;
    // Token, ledger and keys have been made meanwhile.
    app.private.refresh();
    app.subscribe(plan, app.started).map_err(|why| cannot(&why))?;
    Ok(())
}

/// The plan and, of the built-in one, the web door's page in the state folder; where that cannot be
/// written, the plan without its web door, and the trouble to show.
fn with_welcome<'p>(plan: &'p Plan, state_dir: &Path) -> (Cow<'p, Plan>, Option<String>) {
    let mut plan = Cow::Borrowed(plan);
    if !plan.is_built_in() {
        return (plan, None);
    }
    let Err(why) = write_welcome(state_dir) else { return (plan, None) };
    plan.to_mut().file.web.clear();
    let page = state_dir.join("www/index.html");
    (plan, Some(format!("{}: {why}; there is no web door", page.display())))
}

fn write_welcome(state_dir: &Path) -> std::io::Result<()> {
    let page = state_dir.join("www/index.html");
    if page.exists() {
        return Ok(());
    }
    std::fs::create_dir_all(state_dir.join("www"))?;
    std::fs::write(page, WELCOME)
}

/// The texts of rules, as the ledger's writer asks for them: the policy's, and the gateway's own
/// patterns.
pub(super) struct LiveRuleTexts {
    policy: Arc<ArcSwap<Policy>>,
    /// The gateway, where it runs.
    pub(super) gateway: ArcSwapOption<GatewayDoor>,
}

impl LiveRuleTexts {
    /// Texts of a policy's rules, without a gateway yet.
    fn of(policy: &Arc<ArcSwap<Policy>>) -> Self {
        Self { policy: Arc::clone(policy), gateway: ArcSwapOption::empty() }
    }
}

impl RuleTexts for LiveRuleTexts {
    fn text(&self, rule: RuleRef, host: &str) -> Option<(String, u32, String)> {
        let text = if rule.list < ListId::DOOR_FIRST || rule.list == ListId::SCRIPT {
            let host = Name::from_lowercase(host).unwrap_or(Name::ROOT);
            self.policy.load().rule_text(rule, host)
        } else {
            self.gateway.load().as_ref().and_then(|gateway| gateway.rule_text(rule))
        }?;
        Some((text.list, text.line, text.text))
    }
}

impl RunningDoors {
    /// Before the first door is open.
    fn empty(plan: Plan) -> Self {
        Self {
            plan,
            doors: OpenDoors::default(),
            http: HttpListeners::default(),
            warnings: Vec::new(),
        }
    }
}

impl RunningApp {
    /// Every open listener with its door, in the order of the doors.
    pub(super) fn listeners(&self) -> Vec<(&'static str, Listen)> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<(&'static str, Listen)> = Vec::new();
        if let Some(dns) = &running.doors.dns {
            all.extend(dns.listeners().into_iter().map(|listen| ("dns", listen)));
        }
        for name in HTTP_DOORS.iter().map(|entry| entry.door.as_str()).chain(["admin", "metrics"]) {
            all.extend(
                running
                    .http
                    .list()
                    .filter(|(door, _)| *door == name)
                    .map(|(door, listen)| (door, listen.clone())),
            );
        }
        all
    }

    /// Returns what the operator should know.
    pub(super) fn warnings(&self) -> Vec<String> {
        let mut warnings =
            self.running.lock().unwrap_or_else(PoisonError::into_inner).warnings.clone();
        warnings.extend(self.privileges.notes.iter().cloned());
        warnings.extend(self.subscriptions.warnings());
        warnings.extend(self.devices.troubles());
        warnings.extend(self.row_trouble());
        warnings.extend(self.problems().iter().cloned());
        warnings.extend(self.fleet.warning());
        warnings
    }

    /// Goes on without something, and says so.
    pub(super) fn note_problem(&self, trouble: String) {
        log::warn!(target: "program", "{trouble}");
        self.problems().push(trouble);
    }

    fn problems(&self) -> MutexGuard<'_, Vec<String>> {
        self.problems.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The dialer of the doors that fetch.
    pub(super) fn dialer(&self) -> Dialer {
        Dialer::new(self.resolver.clone(), self.tls.clone())
    }

    /// Returns what the collectors of the DNS door's pipeline have counted.
    pub(super) fn collected(&self) -> Vec<door_dns::CollectedRuns> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.doors.dns.as_ref().map_or_else(Vec::new, |door| door.collected())
    }

    /// Connections through the gateway that have left HTTP; none where it does not run.
    pub(super) fn gateway_upgrades(&self) -> Option<u32> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.doors.get::<GatewayDoor>().map(|door| door.upgrades_open())
    }

    /// The requests within their bodies at each door that passes bodies on and runs.
    pub(super) fn unfinished_requests(&self) -> Vec<(&'static str, UnfinishedCounts)> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = running.doors.http().map(|(door, it)| (door, it.unfinished_requests()));
        counts.filter_map(|(door, counts)| Some((door.as_str(), counts?))).collect()
    }

    /// The pixel door's own figures, if it runs.
    pub(super) fn pixel_figures(&self) -> Option<Arc<dyn ledger::Collector>> {
        self.pixel_door().map(|door| door.stats())
    }

    /// The pixel door, if it runs.
    pub(super) fn pixel_door(&self) -> Option<Arc<PixelDoor>> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.doors.get::<PixelDoor>()
    }

    /// Returns what effects of pipelines need.
    pub(super) fn effects_env(&self) -> door_dns::EffectsEnv {
        let wished = Arc::clone(&self.reload_requested);
        door_dns::EffectsEnv {
            dialer: self.dialer(),
            reload: Arc::new(move |_what| wished.notify_one()),
            // That a file is one, and no web page, the download has seen; a list that cannot be
            // read is counted line by line when it is compiled.
            check: Arc::new(|_| Ok(())),
            log: part_log(LogPart::Dns, log::Level::Warn),
        }
    }

    /// The gateway, if it runs.
    pub(super) fn gateway_door(&self) -> Option<Arc<GatewayDoor>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).doors.get()
    }

    /// Closes all doors; what is open goes on until the drain's end.
    pub(super) fn close_doors(&self) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(dns) = running.doors.dns.take() {
            dns.close();
        }
        for door in HTTP_DOORS.iter().map(|entry| entry.door.as_str()).chain(["admin", "metrics"]) {
            running.http.keep_only(door, &[]);
        }
    }
}
