//! The signer as this program starts it: a process of its own, and what that process is told.
//!
//! The hidden command `signer` is this binary again, with the same configuration and state folder.
//! It reads the lists itself, so that it need not take another process's word for what is blocked.
//! Started by the running program; the command line leads here.

use super::compiling;
use super::memory;
use super::mint::BlockedNames;
use crate::cli::CommandSetup;
use ::signer::{
    MintNothing, MintPolicy, NameExclusions, OwnServerNames, SealedMemory, Signer, SignerLauncher,
    SignerProgram, SignerTask,
};
use arc_swap::ArcSwap;
use command_output::{CommandFailure, ExitReason};
use config::Plan;
use std::collections::HashSet;
use std::ffi::OsString;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use transport::own_addresses;
use vocab::Scheme;

/// The signer for a running program. With a pixel door its process starts now, since any handshake
/// may need it; otherwise when a door first wants a certificate for itself. An authority that
/// cannot be opened costs handshakes and nothing else: it is tried again and again, and
/// [`Signer::warnings`] says why it fails.
pub(super) fn open(
    setup: &CommandSetup,
    plan: &Plan,
    dir: &Path,
    launcher: Option<SignerLauncher>,
    policy: Arc<BlockedNames>,
    tables: Option<SealedMemory>,
) -> Result<Arc<Signer>, CommandFailure> {
    let cannot = |why: &dyn std::fmt::Display| CommandFailure::new(ExitReason::NotStarted, why);
    let signer = if let Some(launcher) = launcher {
        Signer::by_launcher(launcher, dir, policy)
    } else {
        let state = dir.parent().unwrap_or(dir);
        Signer::by_process(hidden_command(setup, state, "signer"), dir, policy)
    };
    let signer = signer.map_err(|why| cannot(&why))?;
    signer.apply_settings(&plan.file.signer);
    signer.share_tables(tables);
    if plan.file.pixel.is_some()
        && let Err(why) = signer.start()
    {
        log::error!(target: "signer", "there are no certificates for blocked names: {why}");
    }
    Ok(Arc::new(signer))
}

/// The launcher of signers, with everything that they will be started with.
pub(super) fn launcher(setup: &CommandSetup, state: &Path) -> SignerProgram {
    hidden_command(setup, state, "launcher")
}

/// The launcher's process, from its start to its end.
pub(crate) fn run_launcher(setup: &CommandSetup) -> Result<(), CommandFailure> {
    let cannot = |why: &dyn std::fmt::Display| CommandFailure::new(ExitReason::NotStarted, why);
    let state =
        setup.state_path().ok_or_else(|| cannot(&"the launcher is told its state folder"))?;
    let signer = hidden_command(setup, state, "signer");
    ::signer::run_launcher(&signer, &state.join("ca")).map_err(|why| cannot(&why))
}

/// This program with a hidden command.
fn hidden_command(setup: &CommandSetup, state: &Path, command: &str) -> SignerProgram {
    // Not the path that this was started by: another binary may stand there since.
    SignerProgram { path: "/proc/self/exe".into(), args: arguments(setup, state, command) }
}

/// The state folder is always named: a launcher of the service manager has another environment.
fn arguments(setup: &CommandSetup, state: &Path, command: &str) -> Vec<OsString> {
    let mut args: Vec<OsString> = vec!["--state".into(), state.into()];
    if let Some(config) = setup.config_path() {
        args.extend(["--config".into(), config.into()]);
    }
    args.push(command.into());
    args
}

/// Returns what is never certified, by this plan.
pub(crate) fn exclusions(plan: &Plan) -> NameExclusions {
    plan.file.signer.exclusions(addresses(plan))
}

/// The signer's process, from its start to its end.
pub(crate) fn run(setup: &CommandSetup) -> Result<(), CommandFailure> {
    let plan = setup.plan()?;
    let state = setup.state_dir(&plan);
    let process = SignerTask {
        dir: state.join("ca"),
        exclusions: exclusions(&plan),
        own_names: OwnServerNames::Names(names(&plan)),
        vouched: plan.file.signer.aliases,
        user: plan.file.signer.user.clone(),
        clock: transport::clock::now,
    };
    let policy = move |tables: Option<SealedMemory>| -> Result<Arc<dyn MintPolicy>, String> {
        if plan.file.pixel.is_none() {
            return Ok(Arc::new(MintNothing));
        }
        let policy = compiling::compile_for_signer(&plan, &state, tables.as_ref());
        let policy = policy.map_err(|failure| failure.message)?;
        let names = plan.file.signer.names;
        // Nothing of them is needed any more.
        drop((plan, tables));
        memory::return_memory();
        Ok(Arc::new(BlockedNames::new(Arc::new(ArcSwap::from_pointee(policy)), names)))
    };
    process.run(policy).map_err(|why| CommandFailure::new(ExitReason::NotStarted, why))
}

/// The names of our own servers, lower-case: those that the doors' certificates are for.
fn names(plan: &Plan) -> HashSet<String> {
    let own = plan.file.own_certificates().into_iter();
    own.flat_map(|placed| placed.certificate.subject_names()).collect()
}

/// The addresses that our encrypted listeners are known by.
fn addresses(plan: &Plan) -> Vec<IpAddr> {
    let own = plan.file.own_certificates().into_iter();
    let own = own.flat_map(|placed| placed.certificate.listening);
    // The pixel door has certificates for names, and for its addresses where none is asked for.
    let pixel = plan.file.pixel.iter().flat_map(|pixel| pixel.listen.iter());
    let pixel = pixel.filter(|listen| listen.scheme == Scheme::Https).map(|listen| listen.address);
    let listening: Vec<_> = own.chain(pixel).collect();
    own_addresses(&listening)
}
