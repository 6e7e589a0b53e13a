//! One connection of a stream upstream: questions go out as they come, answers come back in any
//! order, and the server may say how long it stays open unused (RFC 7828).
//!
//! It does not connect, and asks nothing again: when it breaks, whoever waits is told. Called by
//! [`super::streams`].

use super::waitlist::Waitlist;
use dns_wire::ask_options::{OPTION_KEEPALIVE, ResponseOpt};
use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::io::{
    AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, ReadHalf,
    WriteHalf,
};
use tokio::sync::Notify;

/// A connection is looked at no oftener than this, the smallest time that a server can tell.
const PATIENCE_MIN: Duration = Duration::from_millis(100);
/// A connection that is kept open unused is renewed after so long, if the server lets it.
const STANDING_MAX: Duration = Duration::from_hours(1);
/// A message that has begun must be whole within so long.
const MESSAGE_MAX: Duration = Duration::from_secs(10);
/// A message without a whole header is none: whoever sends it speaks another protocol.
const MESSAGE_BYTES_MIN: u16 = 12;

/// Holds how long an unused connection stays open, before the server has said anything and after.
#[derive(Clone, Copy)]
pub(crate) struct IdleLimits {
    pub(crate) at_first: Duration,
    pub(crate) idle_max: Duration,
}

/// Tells whether a connection is good for more after its first answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionReuse {
    Yes,
    No,
}

/// Tells why a connection is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionPurpose {
    /// A question needed it; unused, it is closed after a while.
    Question,
    /// As many are kept open as the settings say: only the server closes it, or by its word.
    Standing,
}

/// One connection.
pub(crate) struct StreamConnection {
    pub(crate) waiting: Rc<Waitlist>,
    pub(crate) opened: Instant,
    reuse: ConnectionReuse,
    purpose: ConnectionPurpose,
    limits: IdleLimits,
    /// Time that the server has given idle connections; none while it has said nothing.
    idle: Cell<Option<Duration>>,
    /// Whether nothing was asked on it yet: the first question asks for keep-alive.
    fresh: Cell<bool>,
    /// Bytes to be sent.
    outbox: RefCell<Vec<u8>>,
    /// Told when there is something to send, or when the connection is to be closed.
    changed: Notify,
    closed: Cell<bool>,
    /// Takes no more questions, and closes when nobody waits.
    retired: Cell<bool>,
    last_received: Cell<Option<Instant>>,
    /// Messages that have come.
    answers: Cell<u64>,
    /// Whether it ever carried two questions at once.
    shared: Cell<bool>,
}

/// Closes a connection whose one question is given up unanswered: the server is still at it, and
/// the next one must not wait behind it.
pub(crate) struct AbandonGuard(pub(crate) Option<Rc<StreamConnection>>);

impl AbandonGuard {
    /// It was answered.
    pub(crate) fn not(mut self) {
        self.0 = None;
    }
}

impl Drop for AbandonGuard {
    fn drop(&mut self) {
        if let Some(line) = &self.0 {
            line.close();
        }
    }
}

impl StreamConnection {
    pub(crate) fn new(
        limits: IdleLimits,
        reuse: ConnectionReuse,
        purpose: ConnectionPurpose,
    ) -> Self {
        Self {
            waiting: Rc::default(),
            opened: Instant::now(),
            reuse,
            purpose,
            limits,
            idle: Cell::new(None),
            fresh: Cell::new(true),
            outbox: RefCell::default(),
            changed: Notify::new(),
            closed: Cell::new(false),
            retired: Cell::new(false),
            last_received: Cell::new(None),
            answers: Cell::new(0),
            shared: Cell::new(false),
        }
    }

    /// Begins to read and write.
    pub(crate) fn start<I>(self: &Rc<Self>, io: I)
    where
        I: AsyncRead + AsyncWrite + 'static,
    {
        let (reader, writer) = tokio::io::split(io);
        let line = Rc::clone(self);
        tokio::task::spawn_local(async move {
            tokio::select! {
                _ = line.read(reader) => {}
                _ = line.write(writer) => {}
            }
            line.close();
        });
    }

    /// Takes no more questions; ends when nobody waits.
    pub(crate) fn retire(&self) {
        self.retired.set(true);
        if self.waiting.is_empty() {
            self.close();
        }
    }

    /// Ends it: whoever waits is told.
    pub(crate) fn close(&self) {
        self.closed.set(true);
        self.changed.notify_one();
        self.waiting.fail_all();
    }

    /// Has `message` sent.
    pub(crate) fn send(&self, message: &[u8]) {
        let mut outbox = self.outbox.borrow_mut();
        outbox.extend_from_slice(&(message.len() as u16).to_be_bytes());
        outbox.extend_from_slice(message);
        self.changed.notify_one();
    }

    /// True if it takes questions.
    pub(crate) fn is_open(&self) -> bool {
        !self.closed.get() && !self.retired.get()
    }

    /// True if this is the first time that it is asked.
    pub(crate) fn is_fresh(&self) -> bool {
        self.fresh.replace(false)
    }

    /// True if a message has come since `then`.
    pub(crate) fn received_since(&self, then: Instant) -> bool {
        self.last_received.get().is_some_and(|heard| heard > then)
    }

    /// Remembers whether several wait; called when one more does.
    pub(crate) fn note_sharing(&self) {
        if self.waiting.len() > 1 {
            self.shared.set(true);
        }
    }

    /// True if it ever carried two questions at once.
    pub(crate) fn was_shared(&self) -> bool {
        self.shared.get()
    }

    /// Returns how many messages have come.
    pub(crate) fn answers(&self) -> u64 {
        self.answers.get()
    }

    /// Obeys what the server says about idle connections (RFC 7828 §3.3.2): units of 100 ms, and 0
    /// asks for the end.
    fn apply_keepalive(&self, message: &[u8]) {
        let Some(opt) = ResponseOpt::of(message) else { return };
        let Some(&[high, low]) = opt.option(OPTION_KEEPALIVE) else { return };
        let told = Duration::from_millis(100) * u32::from(u16::from_be_bytes([high, low]));
        self.idle.set(Some(told.min(self.limits.idle_max)));
        if told.is_zero() {
            self.retire();
        }
    }

    /// Returns how long nothing may come before it is time to look whether anyone waits.
    fn read_timeout(&self) -> Duration {
        let idle = self.idle.get().unwrap_or(match self.purpose {
            ConnectionPurpose::Question => self.limits.at_first,
            ConnectionPurpose::Standing => STANDING_MAX,
        });
        idle.max(PATIENCE_MIN)
    }

    /// True if it is one of those that are kept open, and still is.
    pub(crate) fn stands(&self) -> bool {
        self.purpose == ConnectionPurpose::Standing && self.is_open()
    }

    async fn read<I: AsyncRead>(&self, reader: ReadHalf<I>) -> io::Result<()> {
        let mut reader = BufReader::new(reader);
        let mut message = Vec::new();
        loop {
            match tokio::time::timeout(self.read_timeout(), reader.fill_buf()).await {
                Ok(bytes) => {
                    if bytes?.is_empty() {
                        return Ok(());
                    }
                }
                Err(_) if self.waiting.is_empty() => return Ok(()),
                // Those who wait have patience of their own.
                Err(_) => continue,
            }
            let whole = async {
                let length = reader.read_u16().await?;
                if length < MESSAGE_BYTES_MIN {
                    return Err(io::ErrorKind::InvalidData.into());
                }
                message.resize(usize::from(length), 0);
                reader.read_exact(&mut message).await
            };
            match tokio::time::timeout(MESSAGE_MAX, whole).await {
                Ok(done) => drop(done?),
                Err(_) => return Err(io::ErrorKind::TimedOut.into()),
            }
            self.last_received.set(Some(Instant::now()));
            self.answers.set(self.answers.get() + 1);
            self.apply_keepalive(&message);
            // Before it is answered, so that whoever comes next does not find it free.
            if self.reuse == ConnectionReuse::No {
                self.retired.set(true);
            }
            self.waiting.deliver(&message);
            if self.retired.get() && self.waiting.is_empty() {
                return Ok(());
            }
        }
    }

    async fn write<I: AsyncWrite>(&self, mut writer: WriteHalf<I>) -> io::Result<()> {
        let mut sending = Vec::new();
        loop {
            if self.closed.get() {
                return writer.shutdown().await;
            }
            sending.clear();
            std::mem::swap(&mut sending, &mut *self.outbox.borrow_mut());
            if sending.is_empty() {
                self.changed.notified().await;
            } else {
                writer.write_all(&sending).await?;
                writer.flush().await?;
            }
        }
    }
}
