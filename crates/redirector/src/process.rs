//! One program of a redirector: started, asked, killed and started again.
//!
//! Its lines are read and written at the same time, so that neither side waits for the other. One
//! that owes an answer for longer than the time-out and says nothing is killed with everything that
//! it has started; what it owes fails. One that keeps ending is started less and less often.

use crate::protocol::{HelperAnswer, LineForm};
use crate::queue::{AskedQuestion, HelperQueue, RedirectorLog};
use crate::settings::RedirectorSettings;
use process_group::{PROGRAM_PATH, ProcessGroup};
use std::collections::HashMap;
use std::fmt;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_local;
use tokio::time::{Instant, sleep, sleep_until};

/// Bytes of one line of a program; a longer one is no answer.
const LINE_BYTES_MAX: u64 = 16 << 10;
/// Pause before a program is started again that ended early, at first and at most; it doubles.
const PAUSE_MIN: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_mins(1);
/// A program that has run for so long is started again at once.
const STABLE_AFTER: Duration = Duration::from_secs(10);

/// Why a program runs no more.
#[derive(Debug)]
enum HelperEnd {
    NotStarted(io::Error),
    Ended(Option<ExitStatus>),
    /// Killed: an answer was due for too long.
    Hung,
    /// Killed: a line of it is none of its protocol.
    Nonsense,
}

/// Questions that a program has.
struct OwedAnswers {
    by_channel: HashMap<u32, OwedAnswer>,
    next: u32,
    /// Questions at most.
    most: usize,
}

struct OwedAnswer {
    answer: oneshot::Sender<HelperAnswer>,
    asked: Instant,
}

/// Has a program run, for as long as this is polled.
pub(crate) async fn keep_running(
    settings: &RedirectorSettings,
    form: LineForm,
    queue: &HelperQueue,
    log: &RedirectorLog,
) {
    let mut pause = Duration::ZERO;
    loop {
        let begun = Instant::now();
        let end = serve(settings, form, queue).await;
        pause = if begun.elapsed() >= STABLE_AFTER {
            Duration::ZERO
        } else {
            (pause * 2).clamp(PAUSE_MIN, PAUSE_MAX)
        };
        let program = settings.program.first().map_or("", String::as_str);
        log(&format!("redirector {program}: {end}; started again in {} s", pause.as_secs()));
        sleep(pause).await;
    }
}

/// Runs one program to its end.
async fn serve(settings: &RedirectorSettings, form: LineForm, queue: &HelperQueue) -> HelperEnd {
    let (mut child, mut group) = match start(&settings.program) {
        Ok(started) => started,
        Err(why) => return HelperEnd::NotStarted(why),
    };
    let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return HelperEnd::Ended(None);
    };
    let (lines, to_write) = mpsc::unbounded_channel();
    let writing = spawn_local(write(stdin, to_write));
    let end = converse(settings, form, queue, stdout, &lines).await;
    drop(lines);
    writing.abort();
    match end {
        // Its own status says more than the end of its output.
        HelperEnd::Ended(_) => {
            let status = tokio::time::timeout(PAUSE_MIN, child.wait()).await;
            let status = status.ok().and_then(Result::ok);
            if status.is_some() {
                group.detach();
            }
            HelperEnd::Ended(status)
        }
        other => other,
    }
}

/// Asks and hears until something ends it.
async fn converse(
    settings: &RedirectorSettings,
    form: LineForm,
    queue: &HelperQueue,
    stdout: ChildStdout,
    lines: &mpsc::UnboundedSender<String>,
) -> HelperEnd {
    let patience = settings.timeout.0.0;
    let mut owed = OwedAnswers::new(settings.concurrency);
    let mut reader = BufReader::new(stdout);
    let (mut line, mut heard) = (Vec::new(), Instant::now());
    loop {
        let late = owed.oldest().map(|asked| asked.max(heard) + patience);
        tokio::select! {
            biased;
            read = read_line(&mut reader, &mut line) => {
                match read {
                    Some(LineRead::Whole) => {}
                    Some(LineRead::Part) => continue,
                    Some(LineRead::TooLong) => return HelperEnd::Nonsense,
                    None => return HelperEnd::Ended(None),
                }
                heard = Instant::now();
                if !owed.hear(form, &line) {
                    return HelperEnd::Nonsense;
                }
                line.clear();
            }
            () = sleep_until(late.unwrap_or(heard)), if late.is_some() => return HelperEnd::Hung,
            Some(asked) = next(queue), if owed.has_room() => {
                if let Some(line) = owed.ask(form, asked) && lines.send(line).is_err() {
                    return HelperEnd::Ended(None);
                }
            }
        }
    }
}

/// Part of a line that was read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineRead {
    Whole,
    Part,
    TooLong,
}

/// Reads more of a line; none at the end. What was read stays in `line`, whoever gives up waiting.
async fn read_line(reader: &mut BufReader<ChildStdout>, line: &mut Vec<u8>) -> Option<LineRead> {
    let room = LINE_BYTES_MAX - line.len() as u64;
    match reader.take(room).read_until(b'\n', line).await {
        Ok(0) | Err(_) => None,
        Ok(_) if line.last() == Some(&b'\n') => Some(LineRead::Whole),
        Ok(_) if line.len() as u64 >= LINE_BYTES_MAX => Some(LineRead::TooLong),
        Ok(_) => Some(LineRead::Part),
    }
}

/// The next question.
async fn next(queue: &HelperQueue) -> Option<AskedQuestion> {
    queue.lock().await.recv().await
}

async fn write(mut stdin: ChildStdin, mut lines: mpsc::UnboundedReceiver<String>) {
    while let Some(line) = lines.recv().await {
        if stdin.write_all(line.as_bytes()).await.is_err() {
            // The end of its output says so, too.
            return;
        }
    }
}

impl OwedAnswers {
    fn new(concurrency: u32) -> Self {
        let most = usize::try_from(concurrency.max(1)).unwrap_or(1);
        Self { by_channel: HashMap::new(), next: 0, most }
    }

    fn has_room(&self) -> bool {
        self.by_channel.len() < self.most
    }

    fn oldest(&self) -> Option<Instant> {
        self.by_channel.values().map(|owed| owed.asked).min()
    }

    /// The line of a question; none for one that cannot be asked, which fails.
    fn ask(&mut self, form: LineForm, asked: AskedQuestion) -> Option<String> {
        let mut channels = (0..=u32::MAX).map(|it| self.next.wrapping_add(it));
        let channel = channels.find(|it| !self.by_channel.contains_key(it))?;
        let line = form.question(&asked.question, channel);
        let Some(line) = line else {
            let _ = asked.answer.send(HelperAnswer::Failed);
            return None;
        };
        self.next = channel.wrapping_add(1);
        let owed = OwedAnswer { answer: asked.answer, asked: Instant::now() };
        self.by_channel.insert(channel, owed);
        Some(line)
    }

    /// Takes a line of the program; `false` for one that answers nothing.
    fn hear(&mut self, form: LineForm, line: &[u8]) -> bool {
        let line = std::str::from_utf8(line.strip_suffix(b"\n").unwrap_or(line));
        let Some(heard) = line.ok().and_then(|line| form.answer(line)) else { return false };
        let channel = heard.channel.or_else(|| self.by_channel.keys().next().copied());
        let Some(owed) = channel.and_then(|channel| self.by_channel.remove(&channel)) else {
            return false;
        };
        // Nobody waits any more for one that comes late.
        let _ = owed.answer.send(heard.answer);
        true
    }
}

fn start(program: &[String]) -> io::Result<(Child, ProcessGroup)> {
    let (program, arguments) =
        program.split_first().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    let mut command = Command::new(program);
    command.args(arguments).env_clear().env("PATH", PROGRAM_PATH);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    ProcessGroup::spawn(&mut command)
}

impl fmt::Display for HelperEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotStarted(why) => write!(f, "cannot be started: {why}"),
            Self::Ended(Some(status)) => write!(f, "ended with {status}"),
            Self::Ended(None) => f.write_str("ended"),
            Self::Hung => f.write_str("owed an answer for too long"),
            Self::Nonsense => f.write_str("wrote a line that answers nothing"),
        }
    }
}
