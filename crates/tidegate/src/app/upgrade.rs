//! Upgrade without a gap: this process takes another one's place, and later leaves its own.
//!
//! The sockets pass as they are ([`hot_restart`]), so that no client waits and none is refused. The
//! former process writes down what it keeps and gives up the locks of its folders before the new
//! one begins; it answers clients until the new one does, and then finishes what is open. A new one
//! that does not come up changes nothing: the former takes all of it back. Begun by `tidegate
//! upgrade`; called by the start and by a thread of its own.

use super::RunningApp;
use crate::cli::{CommandFailure, ExitReason};
use admin::AdminToken;
use hot_restart::service_manager::{ServiceNews, tell};
use hot_restart::{
    ArrivedSuccessor, HandedOver, HandedParts, HandoverListener, RunningPredecessor, SuccessorFate,
};
use ledger::FileSharing;
use rustix::fd::{AsFd, OwnedFd};
use state_folder::UPGRADE_SOCKET;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use transport::{Drain, socket_transfer};

/// Says that this process is to take the place of the one that runs on its state folder.
pub(crate) const TAKES_OVER: &str = "TIDEGATE_TAKES_OVER";
/// The beginning of the line that says that it has.
pub(crate) const TOOK_OVER: &str = "took over from process";
/// Time that a new process may take from the hand-over to its first answer.
const START_MAX: Duration = Duration::from_mins(5);
/// Time for which the end of the command that started it is waited for, and how often it is looked
/// at.
const STARTER_MAX: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(5);

/// A place that is being taken over.
pub(super) struct SocketTakeover {
    former: RunningPredecessor,
    /// The command that has started this process.
    starter: Option<rustix::process::Pid>,
    /// Standard output and error of the former process: from the end of the start on they are ours.
    output: [OwnedFd; 2],
    /// Begun when clients are answered here.
    start: Drain,
    /// Begun when the former process reads its sockets no more.
    former_left: Drain,
}

impl SocketTakeover {
    /// Gets the sockets of the process that runs on this state folder, if this one is to take its
    /// place. That one has given up its folders then, and answers clients still.
    pub(super) fn begin(state: &Path) -> Result<Option<Self>, CommandFailure> {
        if std::env::var_os(TAKES_OVER).is_none() {
            return Ok(None);
        }
        let begun = RunningPredecessor::connect(&state.join(UPGRADE_SOCKET));
        let begun = begun.and_then(|former| former.take_over().map(|handed| (former, handed)));
        let (former, HandedOver { sockets, output }) =
            begun.map_err(|why| CommandFailure::new(ExitReason::NotStarted, why))?;
        socket_transfer::adopt(sockets);
        let (start, former_left) =
            (socket_transfer::hold_back(), socket_transfer::wait_for_former_reader());
        Ok(Some(Self { former, starter: rustix::process::getppid(), output, start, former_left }))
    }

    /// Says that clients are answered here, and waits until the former process takes no new ones.
    /// One that has given up waiting goes on, and this one must end.
    pub(super) fn finish(self) -> Result<(), CommandFailure> {
        self.start.start();
        let told = self.former.say_serving();
        told.map_err(|why| CommandFailure::new(ExitReason::NotStarted, why))?;
        self.former_left.start();
        println!("{TOOK_OVER} {}", self.former.process);
        let [out, error] = &self.output;
        // From here on the command that began this has its answer, and may go.
        let moved = rustix::stdio::dup2_stdout(out).and(rustix::stdio::dup2_stderr(error));
        moved.map_err(|why| CommandFailure::new(ExitReason::Fault, why))?;
        // The former names this process to the service manager when the connection ends.
        let end = Instant::now() + STARTER_MAX;
        while rustix::process::getppid() == self.starter && Instant::now() < end {
            std::thread::sleep(LOOK);
        }
        Ok(())
    }
}

impl RunningApp {
    /// Waits for a process that is to take this one's place, on a thread of its own. `started_as`
    /// is the user that started this one.
    pub(super) fn await_successor(self: &Arc<Self>, started_as: u32) {
        let app = Arc::clone(self);
        let place = self.state.path().join(UPGRADE_SOCKET);
        let begun = HandoverListener::bind(&place, started_as).and_then(|listener| {
            let wait = move || app.hand_over_to_first_good(&listener);
            std::thread::Builder::new().name("upgrade".into()).spawn(wait)
        });
        if let Err(why) = begun {
            self.note_problem(format!("{}: {why}; an upgrade needs a restart", place.display()));
        }
    }

    /// Opens the program's log for what standard error is by now: the journal, where the former
    /// process had it there. Where that fails, the log goes on as it is.
    pub(super) fn follow_standard_error(&self) {
        let plan = self.running().plan.clone();
        if let Ok(log) = program_log::open(&plan.file.log, plan.base(self.state.path())) {
            log.take_over();
        }
    }

    fn hand_over_to_first_good(self: &Arc<Self>, listener: &HandoverListener) {
        while let Ok(successor) = listener.next() {
            if self.hand_over(&successor) == SuccessorFate::Serving {
                return;
            }
        }
    }

    fn hand_over(self: &Arc<Self>, successor: &ArrivedSuccessor) -> SuccessorFate {
        log::info!(target: "program", "process {} is to take over", successor.process);
        self.give_up_folders();
        let sockets = socket_transfer::open_sockets();
        let (out, error) = (std::io::stdout(), std::io::stderr());
        let parts = HandedParts { sockets: &sockets, output: [out.as_fd(), error.as_fd()] };
        let fate = match successor.hand_over(&parts) {
            Ok(()) => successor.fate(START_MAX),
            Err(_) => SuccessorFate::Gone,
        };
        // A socket that is closed by a reload must not be kept open by this list.
        drop(sockets);
        match fate {
            SuccessorFate::Serving => {
                self.leave();
                // One that is gone by now has answered clients; its service manager sees to it.
                let _ = successor.say_left();
                // systemd kills at once what is not its own child when it is named.
                successor.wait_until_orphaned(STARTER_MAX * 2);
                tell(ServiceNews::Successor(successor.process));
                self.left.start();
            }
            SuccessorFate::Gone => self.take_folders_back(),
        }
        fate
    }

    /// Writes down what is kept, and lets another process have the folders.
    fn give_up_folders(&self) {
        self.end_rows();
        self.keep_caches();
        for (_, cache) in super::stores::caches(self) {
            cache.close_disk();
        }
        self.ledger.share(FileSharing::Shared);
        self.close_console();
        self.state.release();
    }

    /// Goes on as before, after a process that was to follow did not come up.
    fn take_folders_back(self: &Arc<Self>) {
        log::warn!(target: "program", "the new process did not come up; this one goes on");
        self.state.take_again();
        self.publish_address();
        self.ledger.share(FileSharing::Owned);
        if let Ok((token, _)) = AdminToken::open_or_make(self.state.path()) {
            self.open_console(token);
        }
        // Caches open their folders again.
        self.reload_requested.notify_one();
    }

    /// Takes no new clients any more. Open connections go on, each to its next answer.
    fn leave(&self) {
        http_engine::last_answers::make_due();
        self.close_doors();
        self.subscriptions.end();
    }
}
