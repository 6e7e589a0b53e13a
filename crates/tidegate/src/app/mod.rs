//! The running program: what it is made of, and how it starts, reloads and stops.
//!
//! Everything that is made once stands in [`RunningApp`]; what a configuration changes is swapped
//! inside it. Called by the `run` command alone.

mod admin_listeners;
mod admin_moves;
pub(crate) mod block_page;
mod blocked_tunnels;
mod build;
mod cache_files;
mod cache_index;
mod check_picture;
mod compiling;
mod configuration;
mod confirming;
mod console;
mod control;
pub(crate) mod doors;
mod effective;
mod first_run;
mod fleet;
pub(crate) mod fleet_live;
mod fleet_program;
mod fleet_rows;
pub(crate) mod folders;
mod greeting;
mod http;
pub(crate) mod judged;
mod made;
pub(crate) mod memory;
mod metrics;
mod mint;
mod origins;
mod overrides;
pub(crate) mod panics;
mod pools;
pub(crate) mod private;
mod profile_order;
mod profiles;
mod reload;
mod replaying;
mod reverse_names;
pub(crate) mod scripts;
mod settings;
mod shared_tables;
mod sign_on;
pub(crate) mod signer;
mod stores;
mod telemetry;
pub(crate) mod upgrade;
mod watchdog;
pub(crate) mod why;

pub(crate) use compiling::{policy_of, read_lists};
pub(crate) use effective::pixel_warnings;

use crate::cli::CommandSetup;
use ::signer::Signer;
use ::signer::trust::TrustBook;
use arc_swap::{ArcSwap, ArcSwapOption};
use blocked_tunnels::AtPixel;
use cache_files::CacheFiles;
use command_output::{CommandFailure, ExitReason};
use config::Plan;
use config_history::{ChangeHistory, ConfirmedCommit};
use doors::OpenDoors;
use file_access::private_files::PrivateFiles;
use fleet_live::FleetLive;
use hot_restart::service_manager::{self, ServiceNews};
use http::HttpListeners;
use ledger::Ledger;
use metrics_page::ReloadRecord;
use policy::Policy;
use policy_lists::{CountedOverlaps, Subscriptions};
use resolver::Resolver;
use reverse_names::NamedDevices;
use start_privileges::StartPrivileges;
use state_folder::StateDir;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Notify;
use transport::{ClientTls, Cores, Drain, socket_transfer};
use upgrade::SocketTakeover;
use vocab::Now;

/// Time that open requests may take to end when the program stops.
const DRAIN_MAX: Duration = Duration::from_secs(5);

/// Time that logs may take to be written when the program stops.
const LOGS_MAX: Duration = Duration::from_secs(2);

/// Everything that runs.
pub(crate) struct RunningApp {
    /// The command line that started it: reload reads the same configuration again.
    setup: CommandSetup,
    state: StateDir,
    /// Privileges that the start has left.
    privileges: StartPrivileges,
    cores: Arc<Cores>,
    /// Begun when the program is to end.
    drain: Drain,
    policy: Arc<ArcSwap<Policy>>,
    /// Files and folders that no door serves.
    private: Arc<PrivateFiles>,
    texts: Arc<build::LiveRuleTexts>,
    ledger: Ledger,
    /// Rows that the fleet's database gets.
    sent_rows: fleet_rows::SentRows,
    signer: Arc<Signer>,
    /// Names that it may sign for.
    blocked_names: Arc<mint::BlockedNames>,
    /// Which clients trust the authority, as handshakes have taught.
    trust: Arc<TrustBook>,
    /// Where blocked tunnels of the proxy lead.
    at_pixel: Arc<AtPixel>,
    tls: ClientTls,
    resolver: Resolver,
    caches: CacheFiles,
    /// State that is shared with other machines.
    fleet: FleetLive,
    /// Notice of newer versions.
    releases: release_notice::ReleaseWatch,
    /// Told when something inside the program wants a reload: a list that was fetched.
    reload_requested: Arc<Notify>,
    subscriptions: Subscriptions,
    /// Names of devices that are no local records.
    devices: NamedDevices,
    /// Overlaps of the lists, as they were counted last.
    overlaps: CountedOverlaps,
    /// The files of the configuration, and what was changed in them.
    history: ChangeHistory,
    /// How reloads ended.
    reloads: ReloadRecord,
    /// Held by whoever compiles lists: one at a time, for each takes the memory of all rules. Taken
    /// before `running`.
    compiling: Mutex<()>,
    /// Held by whoever tries a change on recorded requests; taken before `compiling`.
    replaying: Mutex<()>,
    /// Held by whoever changes the configuration's file; taken before `compiling`.
    editing: Mutex<()>,
    started: Now,
    /// Faults of the start that the program does without: each in a sentence.
    problems: Mutex<Vec<String>>,
    /// The admin's settings in force: those of the start, but for addresses and names that a reload
    /// takes.
    admin: ArcSwap<admin::Settings>,
    /// The admin, once it is there.
    admin_door: OnceLock<admin::Admin>,
    /// Where it listens, once it does.
    dashboard: Arc<ArcSwapOption<SocketAddr>>,
    /// Picture at the pixel door that shows whether a device trusts the authority.
    check_url: ArcSwapOption<String>,
    /// A change of the files that waits for confirmation.
    commit: ConfirmedCommit,
    /// Where the console listens, if it does.
    console: OnceLock<admin::ConsolePlace>,
    /// Begun to close it.
    console_closing: Mutex<Drain>,
    /// Begun when another process has taken this one's place.
    left: Drain,
    /// Wish of the fleet that balancers leave this machine.
    fleet_drain: fleet::FleetDrain,
    /// Everything that a configuration changes; the lock makes reloads queue up.
    running: Mutex<RunningDoors>,
}

/// The doors and the plan they follow.
struct RunningDoors {
    plan: Plan,
    doors: OpenDoors,
    /// The listeners of the HTTP doors; the DNS door keeps its own.
    http: HttpListeners,
    /// Remarks for the operator about this configuration.
    warnings: Vec<String>,
}

/// Runs until a signal ends it, or another process takes its place.
pub(crate) fn run(setup: &CommandSetup) -> Result<(), CommandFailure> {
    let ended = run_to_end(setup);
    program_log::finish(LOGS_MAX);
    ended
}

fn run_to_end(setup: &CommandSetup) -> Result<(), CommandFailure> {
    let started_as = rustix::process::geteuid().as_raw();
    configuration::take_back_unfinished(setup)?;
    let plan = fleet::plan_at_start(setup)?;
    let folder = setup.state_dir(&plan);
    let takeover = SocketTakeover::begin(&folder)?;
    if takeover.is_none() {
        socket_transfer::adopt(service_manager::activated_sockets());
    }
    let state =
        StateDir::open(&folder).map_err(|why| CommandFailure::new(ExitReason::NotStarted, why))?;
    // While there is one thread: what it gives up is given up by all that come after it.
    let launcher = signer::launcher(setup, state.path());
    let start = start_privileges::drop_privileges(&launcher, &plan, state.path())?;
    let log = program_log::open(&plan.file.log, plan.base(state.path()));
    let log = log.map_err(|why| CommandFailure::new(ExitReason::NotStarted, plan.locate(why)))?;
    log.take_over();
    // Beside reading the lists: keys are made after that. Without a thread it is done when the
    // first is.
    let randomness = std::thread::Builder::new().name("randomness".into());
    let _ = randomness.spawn(transport::tls::seed_randomness);
    let (app, origin) = build::start(setup.clone(), &plan, state, start)?;
    drop(plan);
    memory::release_after_compile(app.policy.load().rules());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CommandFailure::new(ExitReason::Fault, error))?;
    let signals = {
        let _inside = runtime.enter();
        ProgramSignals::listen().map_err(|error| CommandFailure::new(ExitReason::Fault, error))?
    };
    // What there is to say of the start stands before the word that it is over.
    program_log::finish(LOGS_MAX);
    for line in greeting::lines(&app, origin) {
        println!("{line}");
    }
    for address in socket_transfer::close_unclaimed() {
        log::warn!(target: "program", "a socket at {address} was handed over, and no door listens there");
    }
    println!("ready");
    if let Some(takeover) = takeover {
        takeover.finish()?;
        app.follow_standard_error();
    }
    service_manager::tell(ServiceNews::Ready);
    app.join_fleet(started_as);
    app.await_successor(started_as);
    runtime.block_on(until_end(&app, signals));
    Ok(())
}

/// Serves until the end, and ends in order.
async fn until_end(app: &Arc<RunningApp>, mut signals: ProgramSignals) {
    let end = tokio::select! {
        end = signals.handle(app) => end,
        () = app.keep_caches_by_the_clock() => ProgramEnd::Stopped,
        () = app.keep_watchdog_quiet() => ProgramEnd::Stopped,
    };
    match end {
        ProgramEnd::Stopped => {
            service_manager::tell(ServiceNews::Stopping);
            stop(app).await;
            app.leave_folders();
        }
        ProgramEnd::Replaced => {
            tokio::select! {
                () = finish_connections(app) => {}
                () = signals.end() => {}
            }
            stop(app).await;
        }
    }
}

/// Reason for the program's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProgramEnd {
    /// Told to, by a signal.
    Stopped,
    /// Another process has taken its place.
    Replaced,
}

/// Lets what is open go on in a process that was replaced.
async fn finish_connections(app: &RunningApp) {
    let most = app.running().plan.file.hard_stop_after();
    let span = vocab::TimeSpan(most);
    log::info!(target: "program", "replaced; open connections go on for at most {span}");
    // What is still open then is told by the stop.
    let _ = app.drain.finished(most).await;
}

/// The signals that mean something here.
struct ProgramSignals {
    term: Signal,
    int: Signal,
    hup: Signal,
    usr1: Signal,
}

impl ProgramSignals {
    fn listen() -> std::io::Result<Self> {
        Ok(Self {
            term: signal(SignalKind::terminate())?,
            int: signal(SignalKind::interrupt())?,
            hup: signal(SignalKind::hangup())?,
            usr1: signal(SignalKind::user_defined1())?,
        })
    }

    /// Returns on SIGTERM or SIGINT.
    async fn end(&mut self) {
        tokio::select! {
            _ = self.term.recv() => {}
            _ = self.int.recv() => {}
        }
    }

    /// Reloads on SIGHUP, opens all logs anew on SIGUSR1; returns on SIGTERM or SIGINT, and when
    /// another process has taken this one's place.
    async fn handle(&mut self, app: &Arc<RunningApp>) -> ProgramEnd {
        loop {
            tokio::select! {
                _ = self.term.recv() => return ProgramEnd::Stopped,
                _ = self.int.recv() => return ProgramEnd::Stopped,
                () = app.left.started() => return ProgramEnd::Replaced,
                _ = self.hup.recv() => reload(app),
                _ = self.usr1.recv() => log_sink::reopen_all(),
                () = app.reload_requested.notified() => reload(app),
            }
        }
    }
}

/// Reads the configuration again. Reading and compiling lists takes a while; the thread is this
/// one's own.
fn reload(app: &Arc<RunningApp>) {
    // Whoever reloads is told what is wrong, though it be what was wrong a moment ago.
    log::logger().flush();
    service_manager::tell(ServiceNews::Reloading);
    let outcome = app.reload();
    service_manager::tell(ServiceNews::Ready);
    match outcome {
        Ok(done) => {
            println!("reloaded: {} lists, {} rules, {} ms", done.lists, done.rules, done.took_ms);
            log::debug!(target: "program", "reloaded in {} ms", done.took_ms);
        }
        Err(complaints) => {
            for complaint in complaints {
                log::error!(target: "program", "{complaint}");
            }
            log::error!(target: "program", "nothing was changed");
        }
    }
}

/// Closes the listeners, lets open requests end, and writes what is recorded.
async fn stop(app: &RunningApp) {
    app.drain.start();
    app.close_doors();
    if let Err(open) = app.drain.finished(DRAIN_MAX).await {
        log::warn!(target: "program", "{} connections were still open and are cut", open.0);
    }
    app.close_console();
    app.fleet.finish();
    telemetry::finish();
    app.end_rows();
    app.ledger.close();
}

impl RunningApp {
    /// The program as the API sees it.
    fn control(self: &Arc<Self>) -> Arc<dyn admin::ProgramControl> {
        Arc::new(control::ControlHandle(Arc::clone(self)))
    }

    /// Writes what is kept in the folders, as the last thing.
    fn leave_folders(&self) {
        self.keep_caches();
        self.flush_caches();
        // Neither is of use any more; a file that cannot be removed does no harm.
        for name in [state_folder::ADDRESS_FILE, state_folder::UPGRADE_SOCKET] {
            let _ = std::fs::remove_file(self.state.path().join(name));
        }
    }
}
