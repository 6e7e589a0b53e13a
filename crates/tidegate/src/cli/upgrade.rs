//! `tidegate upgrade`: this binary in the place of the one that runs, without a gap.
//!
//! The new process is started as the running one was: with its arguments, variables and folder, and
//! in its service. What it says until it serves is shown here. Scripts tell by the exit code what
//! became of the running one: [`ExitReason`].

use super::{CommandFailure, CommandSetup, ExitReason};
use crate::app::upgrade::{TAKES_OVER, TOOK_OVER};
use clap::Args;
use hot_restart::{HandoverError, RunningPredecessor, RunningProcess};
use state_folder::UPGRADE_SOCKET;
use std::fmt::Display;
use std::io::{self, BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Holds how the running Tidegate is replaced.
#[derive(Debug, Args)]
pub(crate) struct UpgradeArgs {
    /// Seconds that the new process may take to start; then it is given up, and the running one
    /// goes on
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=300))]
    timeout: u64,
    /// The binary to start [default: this one]
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

/// Starts the new process, and waits until it has taken over.
pub(super) fn upgrade(setup: &CommandSetup, args: &UpgradeArgs) -> Result<(), CommandFailure> {
    let cannot = |why: &dyn Display| CommandFailure::new(ExitReason::Irreplaceable, why);
    // Wrong settings are told here, before anything is begun.
    let plan = setup.plan()?;
    let state = setup.state_dir(&plan);
    let former = RunningPredecessor::connect(&state.join(UPGRADE_SOCKET));
    let former = former.map_err(|why| CommandFailure::new(exit_of(&why), why))?;
    let started_as = former.started_as().map_err(|why| cannot(&why))?;
    let former = former.process;
    let running = RunningProcess::find(former, started_as).map_err(|why| cannot(&why))?;
    running.join_group().map_err(|why| cannot(&why))?;
    let binary = match &args.binary {
        Some(named) => named.clone(),
        None => std::env::current_exe()
            .map_err(|why| CommandFailure::new(ExitReason::SuccessorGivenUp, why))?,
    };
    let mut command = running.command(&binary);
    command.env(TAKES_OVER, former.to_string());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // What ends this command, as Ctrl-C does, is not meant for the server.
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let started = command.spawn().map_err(|why| {
        let message = format!("{}: {why}; the running one goes on", binary.display());
        CommandFailure::new(ExitReason::SuccessorGivenUp, message)
    })?;
    await_takeover(started, Duration::from_secs(args.timeout))
}

/// The exit code of a connection to the running one that did not come about: nobody is there, or
/// somebody who is not to be asked.
fn exit_of(why: &HandoverError) -> ExitReason {
    match why {
        HandoverError::NobodyRuns(why) if why.kind() != io::ErrorKind::PermissionDenied => {
            ExitReason::NotStarted
        }
        HandoverError::NobodyRuns(_) | HandoverError::Refused(_) | HandoverError::Broken(_) => {
            ExitReason::Irreplaceable
        }
    }
}

/// Shows what the new process says, until it has taken over or is given up.
fn await_takeover(mut started: Child, patience: Duration) -> Result<(), CommandFailure> {
    let lines = lines_of(&mut started);
    let end = Instant::now() + patience;
    let fault = loop {
        match lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(line) => {
                println!("{line}");
                if line.starts_with(TOOK_OVER) {
                    return Ok(());
                }
            }
            Err(RecvTimeoutError::Timeout) => break "it did not start in time".to_owned(),
            Err(RecvTimeoutError::Disconnected) => break "it ended".to_owned(),
        }
    };
    // One that has ended already is as good.
    let _ = started.kill();
    let ended = started.wait().map_or_else(|why| why.to_string(), |status| status.to_string());
    Err(CommandFailure::new(
        ExitReason::SuccessorGivenUp,
        format_args!("the new process was given up: {fault} ({ended}); the running one goes on"),
    ))
}

/// The lines of a process's standard output and error, as they come.
fn lines_of(process: &mut Child) -> Receiver<String> {
    let (sender, lines) = channel();
    let streams: [Option<Box<dyn io::Read + Send>>; 2] = [
        process.stdout.take().map(|it| Box::new(it) as _),
        process.stderr.take().map(|it| Box::new(it) as _),
    ];
    for stream in streams.into_iter().flatten() {
        let sender = sender.clone();
        std::thread::spawn(move || {
            let lines = BufReader::new(stream).lines();
            for line in lines.map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
    }
    lines
}
