//! The running program: what it is made of, and how it starts, reloads and stops.
//!
//! Everything that is made once stands in [`RunningApp`]; what a configuration changes is swapped
//! inside it. Called by the `run` command alone.

pub(crate) mod allocator;
mod allows;
pub(crate) mod block_page;
mod blocked_tunnels;
mod build;
mod cache_files;
mod cache_index;
mod compiling;
mod console;
mod control;
pub(crate) mod doors;
mod effective;
pub(crate) mod folders;
mod greeting;
mod http;
pub(crate) mod lists;
pub(crate) mod memory;
mod metrics;
mod mint;
mod origins;
pub(crate) mod panics;
mod pools;
pub(crate) mod private;
pub(crate) mod privileges;
mod randomness;
mod reload;
pub(crate) mod scripts;
mod settings;
mod shared_tables;
pub(crate) mod signer;
pub(crate) mod state;
mod stores;
pub(crate) mod subscriptions;
pub(crate) mod why;

pub(crate) use compiling::{policy_of, read_lists};
pub(crate) use effective::pixel_warnings;

use crate::cli::CommandSetup;
use ::signer::Signer;
use ::signer::trust::TrustBook;
use arc_swap::ArcSwap;
use blocked_tunnels::AtPixel;
use cache_files::CacheFiles;
use command_output::{CommandFailure, ExitReason};
use config::Plan;
use doors::OpenDoors;
use file_access::private_files::PrivateFiles;
use http::HttpListeners;
use ledger::Ledger;
use policy::Policy;
use privileges::StartPrivileges;
use resolver::Resolver;
use state::StateDir;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
use subscriptions::Subscriptions;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Notify;
use transport::{ClientTls, Cores, Drain};
use vocab::Now;

/// Time that open requests may take to end when the program stops.
const DRAIN_MAX: Duration = Duration::from_secs(5);

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
    /// Told when something inside the program wants a reload: a list that was fetched.
    reload_requested: Arc<Notify>,
    subscriptions: Subscriptions,
    /// Held by whoever compiles lists: one at a time, for each takes the memory of all rules. Taken
    /// before `running`.
    compiling: Mutex<()>,
    /// Held by whoever changes the configuration's file; taken before `compiling`.
    editing: Mutex<()>,
    started: Now,
    /// Faults of the start that the program does without: each in a sentence.
    problems: Mutex<Vec<String>>,
    /// How the admin listener was opened; it stays so until the program ends.
    admin: admin::Settings,
    /// Where it listens, once it does.
    dashboard: Arc<OnceLock<SocketAddr>>,
    /// Where the console listens, if it does.
    console: OnceLock<admin::ConsolePlace>,
    /// What a configuration changes; the lock makes reloads queue up.
    running: Mutex<RunningDoors>,
}

/// The doors and the plan they follow.
struct RunningDoors {
    plan: Plan,
    doors: OpenDoors,
    /// The listeners of the HTTP doors; the DNS door keeps its own.
    http: HttpListeners,
    /// What the operator should know about this configuration.
    warnings: Vec<String>,
}

/// Runs until a signal ends it.
pub(crate) fn run(setup: &CommandSetup) -> Result<(), CommandFailure> {
    let plan = setup.plan()?;
    let folder = setup.state_dir(&plan);
    let state =
        StateDir::open(&folder).map_err(|why| CommandFailure::new(ExitReason::NotStarted, why))?;
    // While there is one thread: what it gives up is given up by all that come after it.
    let start = privileges::drop_privileges(setup, &plan, &state)?;
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
    for line in greeting::lines(&app, origin) {
        println!("{line}");
    }
    println!("ready");
    runtime.block_on(async {
        tokio::select! {
            () = signals.handle(&app) => {}
            () = app.keep_caches_by_the_clock() => {}
        }
    });
    runtime.block_on(stop(&app));
    Ok(())
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

    /// Reloads on SIGHUP, opens access logs anew on SIGUSR1; returns on SIGTERM or SIGINT.
    async fn handle(mut self, app: &Arc<RunningApp>) {
        loop {
            tokio::select! {
                _ = self.term.recv() => return,
                _ = self.int.recv() => return,
                _ = self.hup.recv() => reload(app),
                _ = self.usr1.recv() => app.reopen_logs(),
                () = app.reload_requested.notified() => reload(app),
            }
        }
    }
}

/// Reads the configuration again. Reading and compiling lists takes a while; the thread is this
/// one's own.
fn reload(app: &Arc<RunningApp>) {
    match app.reload() {
        Ok(done) => {
            println!("reloaded: {} lists, {} rules, {} ms", done.lists, done.rules, done.took_ms);
        }
        Err(complaints) => {
            for complaint in complaints {
                eprintln!("{complaint}");
            }
            eprintln!("tidegate: nothing was changed");
        }
    }
}

/// Closes the listeners, lets open requests end, and writes what is recorded.
async fn stop(app: &RunningApp) {
    app.drain.start();
    app.close_doors();
    if let Err(open) = app.drain.finished(DRAIN_MAX).await {
        eprintln!("tidegate: {} connections were still open and are cut", open.0);
    }
    app.finish_logs().await;
    app.ledger.close();
    app.keep_caches();
    app.flush_caches();
    // The address is of no use to `ctl` any more; a file that cannot be removed does no harm.
    let _ = std::fs::remove_file(app.state.path().join(state::ADDRESS_FILE));
}
