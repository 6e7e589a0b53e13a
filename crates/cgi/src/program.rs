//! One program for one request: CGI/1.1 (RFC 3875).
//!
//! It gets the body on its standard input, answers on its standard output, and complains on its
//! standard error. Both directions run at once. A program that is silent for too long, whose client
//! has gone, or that goes on long after its answer is killed with everything that it has started.
//! It sees the variables of its call and a `PATH`, and nothing of our own surroundings. Called by
//! the door, which says which file a path stands for.

use crate::call::{ScriptCall, variables};
use crate::failure::{ScriptBroken, ScriptFailure};
use crate::pace::{ExchangePace, WaitsFor};
use crate::sized::sized;
use crate::stage::{BodyWanted, ScriptAnswer, ScriptOutput};
use crate::stderr::ScriptStderr;
use crate::turns::ScriptTurns;
use bytes::BytesMut;
use http_body::Body as _;
use http_engine::Body;
use ledger::Ledger;
use process_group::{PROGRAM_PATH, ProcessGroup};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::future::poll_fn;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::pin::{Pin, pin};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::oneshot;
use tokio::task::{spawn_blocking, spawn_local};
use tokio::time::timeout;
use vocab::Now;

/// Read from a program in one go, in bytes.
const READ_BYTES: usize = 32 << 10;
/// Time that a program has to end after its answer.
const END_PATIENCE: Duration = Duration::from_secs(5);

/// Options of the programs of one folder.
#[derive(Clone, Debug)]
pub struct CgiOptions {
    /// Programs that run at once.
    pub processes: u32,
    /// More variables, or others in place of ours.
    pub params: BTreeMap<String, String>,
    /// Time for which a program may be silent.
    pub timeout: Duration,
    /// Bytes of a body.
    pub body_max: u64,
}

/// Runs the programs of one folder.
pub struct CgiRunner {
    options: CgiOptions,
    turns: ScriptTurns,
}

impl CgiRunner {
    /// A runner; nothing is started before a request.
    pub fn new(options: CgiOptions) -> Self {
        let turns = ScriptTurns::new(options.processes);
        Self { options, turns }
    }

    /// Runs the program `file`, an absolute path, in its folder; `call.body_len` is filled in here.
    /// Within a `LocalSet` or local run time only.
    pub async fn ask(
        &self,
        file: &Path,
        mut call: ScriptCall<'_>,
        body: Body,
        ledger: &Ledger,
        now: Now,
    ) -> Result<ScriptAnswer, ScriptFailure> {
        let options = &self.options;
        let (body, len) = sized(body, options.body_max, options.timeout).await?;
        call.body_len = len;
        let turn = self.turns.take(options.timeout).await?;
        let wanted = BodyWanted::of(call.method);
        let script = [call.host, call.script_name].concat();
        let stderr = ScriptStderr::new(ledger.clone(), &script, now);
        let stdin = if len > 0 { Stdio::piped() } else { Stdio::null() };
        let mut command = command(file, &call, &options.params, stdin);
        // Another thread waits for the kernel to load the program.
        let started = spawn_blocking(move || ProcessGroup::spawn(&mut command)).await;
        let (child, group) = match started {
            Ok(Ok(started)) => started,
            Ok(Err(why)) => return Err(ScriptFailure::Down(why.to_string())),
            Err(_) => return Err(ScriptFailure::Down("it was not started".into())),
        };
        let (sender, receiver) = oneshot::channel();
        let output = ScriptOutput::new(wanted, sender);
        let patience = options.timeout;
        spawn_local(async move {
            drive(child, group, body, len, output, stderr, patience).await;
            drop(turn);
        });
        match receiver.await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(why)) => Err(why.into()),
            Err(_) => Err(ScriptFailure::Bad("the exchange was cut off".into())),
        }
    }
}

fn command(
    file: &Path,
    call: &ScriptCall<'_>,
    params: &BTreeMap<String, String>,
    stdin: Stdio,
) -> Command {
    let mut environment: Vec<(OsString, OsString)> = vec![("PATH".into(), PROGRAM_PATH.into())];
    variables(call, params, &mut |name, value| {
        // No request and no setting can hold a NUL, which would end the variable.
        environment.push((OsStr::from_bytes(name).into(), OsStr::from_bytes(value).into()));
    });
    let mut command = Command::new(file);
    command.env_clear().envs(environment);
    command.current_dir(file.parent().unwrap_or(Path::new("/")));
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Carries one request to its end.
async fn drive(
    mut child: Child,
    group: ProcessGroup,
    body: Body,
    body_len: u64,
    mut output: ScriptOutput,
    mut stderr: ScriptStderr,
    patience: Duration,
) {
    let pace = ExchangePace::begin();
    let stdin = child.stdin.take();
    let (stdout, errors) = (child.stdout.take(), child.stderr.take());
    let mut hearing = Box::pin(hear(errors, &mut stderr));
    let (outcome, is_heard) = {
        let mut writing = pin!(write(stdin, body, body_len, &pace));
        let mut reading = pin!(read(stdout, &mut output, &pace, patience));
        let (mut is_written, mut is_heard) = (false, false);
        let outcome = loop {
            tokio::select! {
                biased;
                outcome = &mut reading => break outcome,
                result = &mut writing, if !is_written => match result {
                    Err(why) => break Err(why),
                    Ok(()) => is_written = true,
                },
                () = &mut hearing, if !is_heard => is_heard = true,
            }
        };
        (outcome, is_heard)
    };
    let outcome = match outcome {
        Ok(()) => {
            if !is_heard {
                // Whatever it has started may hold this open.
                let _ = timeout(END_PATIENCE, &mut hearing).await;
            }
            end(child, group).await
        }
        Err(why) => Err(why),
    };
    drop(hearing);
    match outcome {
        Ok(()) => output.end(),
        Err(why) => output.fail(why),
    }
}

/// Hands the body over.
async fn write(
    stdin: Option<ChildStdin>,
    mut body: Body,
    body_len: u64,
    pace: &ExchangePace,
) -> Result<(), ScriptBroken> {
    let Some(mut stdin) = stdin else { return Ok(()) };
    let mut left = body_len;
    while left > 0 {
        pace.wait_for(WaitsFor::Client);
        let frame = poll_fn(|task| Pin::new(&mut body).poll_frame(task)).await;
        pace.wait_for(WaitsFor::Script);
        let Some(Ok(frame)) = frame else { return Err(ScriptBroken::ClientBody) };
        let Ok(data) = frame.into_data() else { continue };
        left = left.checked_sub(data.len() as u64).ok_or(ScriptBroken::ClientBody)?;
        if stdin.write_all(&data).await.is_err() {
            // It wants no more of it, and may answer all the same.
            return Ok(());
        }
        pace.has_moved();
    }
    Ok(())
}

/// Reads the answer to its end.
async fn read(
    stdout: Option<ChildStdout>,
    output: &mut ScriptOutput,
    pace: &ExchangePace,
    patience: Duration,
) -> Result<(), ScriptBroken> {
    let Some(mut stdout) = stdout else { return Err(ScriptBroken::Closed) };
    let mut buffer = BytesMut::new();
    loop {
        buffer.reserve(READ_BYTES);
        let count = tokio::select! {
            biased;
            count = stdout.read_buf(&mut buffer) => count.map_err(ScriptBroken::Io)?,
            () = output.until_unwanted() => return Err(ScriptBroken::ClientGone),
            () = pace.until_late(patience) => return Err(ScriptBroken::TimedOut),
        };
        pace.has_moved();
        if count == 0 {
            return Ok(());
        }
        output.take(buffer.split().freeze(), pace).await?;
    }
}

/// Takes complaints until there are no more.
async fn hear(errors: Option<ChildStderr>, stderr: &mut ScriptStderr) {
    let Some(mut errors) = errors else { return };
    let mut buffer = vec![0; 4096];
    while let Ok(count @ 1..) = errors.read(&mut buffer).await {
        stderr.add(&buffer[..count]);
    }
}

/// Waits for the end of a program, which its answer is followed by. One that was killed has not
/// said everything; one that goes on is killed with its group.
async fn end(mut child: Child, mut group: ProcessGroup) -> Result<(), ScriptBroken> {
    let Ok(Ok(status)) = timeout(END_PATIENCE, child.wait()).await else { return Ok(()) };
    group.detach();
    if status.code().is_some() { Ok(()) } else { Err(ScriptBroken::Closed) }
}
