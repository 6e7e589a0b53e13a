//! The program itself from the fleet: at a start the one of the revision in force, and while it
//! runs the one of a revision that is taken over.
//!
//! A new one takes this one's place as `tidegate upgrade` has it, by its own command: clients
//! notice nothing, and one that does not come up changes nothing. Only for a process that was
//! started as the user it runs as, as whoever can write into its state folder is that user.

use super::RunningApp;
use super::upgrade::TAKES_OVER;
use crate::cli::{CommandFailure, CommandSetup, ExitReason};
use config::Plan;
use fleet_edge::{FleetSettings, LaidRevision, RevisionStore, RunningProgram, TakenBy};
use std::fmt::{self, Display};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Seconds that a new program may take to start: its lists are compiled there.
const START_SECONDS: &str = "120";
/// Complaints of a program that did not come up, at most; the last ones say why.
const COMPLAINTS_MAX: usize = 20;

/// Version of this program, as `tidegate fleet publish --program` reads it from its file.
#[used]
static PROGRAM_MARK: &str = concat!("tidegate-program version=", env!("CARGO_PKG_VERSION"), ";");

/// `true` for a process that is being started to take a running one's place.
pub(super) fn is_successor() -> bool {
    std::env::var_os(TAKES_OVER).is_some()
}

/// The settings of a machine that takes programs from its fleet.
fn settings(plan: &Plan) -> Option<&FleetSettings> {
    plan.file.fleet.as_ref().filter(|it| it.programs && it.bundles.is_some())
}

/// Reason why a machine takes no programs though it wants them.
pub(super) enum NoPrograms {
    /// Root started it, and it runs as somebody else.
    OtherUser,
    /// Program file that cannot be read.
    Unknown(io::Error),
}

impl Display for NoPrograms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("fleet.programs: what is installed runs, as ")?;
        match self {
            Self::OtherUser => f.write_str(
                "the user that it runs as must not choose what root starts; have it started as \
                 that user, as the unit of the package does",
            ),
            Self::Unknown(why) => write!(f, "this program cannot be read: {why}"),
        }
    }
}

/// The program that runs, where the fleet may send another; none where it may not. `started_as` is
/// the user that started it.
pub(super) fn running(plan: &Plan, started_as: u32) -> Result<Option<RunningProgram>, NoPrograms> {
    if settings(plan).is_none() {
        return Ok(None);
    }
    if started_as != rustix::process::geteuid().as_raw() {
        return Err(NoPrograms::OtherUser);
    }
    RunningProgram::own().map(Some).map_err(NoPrograms::Unknown)
}

/// Goes on as the program of the revision in force, with the same words and the same number of
/// process, if that is another one than is installed. Comes back where it is not. `own` is the
/// plan of this machine's own file.
pub(super) fn become_chosen(setup: &CommandSetup, own: &Plan) -> Result<(), CommandFailure> {
    if settings(own).is_none() || is_successor() {
        return Ok(());
    }
    let failed = |why: &dyn Display| {
        CommandFailure::new(ExitReason::NotStarted, format!("the fleet's program: {why}"))
    };
    let running = RunningProgram::own().map_err(|why| failed(&why))?;
    let state = setup.state_dir(own);
    let chosen = RevisionStore::of(&state).program_at_start(&running);
    let Some(program) = chosen.map_err(|why| failed(&why))? else { return Ok(()) };
    let owner = program.metadata().map_err(|why| failed(&why))?.uid();
    if owner != rustix::process::geteuid().as_raw() {
        // Root runs nothing that the user it becomes could have written.
        return Ok(());
    }
    let mut words = std::env::args_os();
    let mut command = Command::new(&program);
    if let Some(name) = words.next() {
        command.arg0(name);
    }
    Err(failed(&command.args(words).exec()))
}

impl RunningApp {
    /// Has a program take this one's place, which takes over what the store chooses.
    pub(super) fn give_way(
        &self,
        laid: &LaidRevision<'_>,
        program: &Path,
    ) -> Result<TakenBy, Vec<String>> {
        let mut command = Command::new(program);
        if let Some(file) = self.setup.config_file() {
            command.arg("--config").arg(file);
        }
        command.arg("--state").arg(self.state.path());
        command.args(["upgrade", "--timeout", START_SECONDS]);
        log::info!(target: "fleet", "revision {} brings another program", laid.number);
        let ended = command.output();
        let ended = ended.map_err(|why| vec![format!("the revision's program: {why}")])?;
        if ended.status.success() {
            return Ok(TakenBy::Successor);
        }
        let said = [ended.stdout, ended.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        let lines: Vec<String> = said.lines().map(str::to_owned).collect();
        let last = lines.len().saturating_sub(COMPLAINTS_MAX);
        let mut complaints =
            vec![format!("the revision's program did not come up: {}", ended.status)];
        complaints.extend_from_slice(&lines[last..]);
        Err(complaints)
    }
}
