//! Questions over TCP and over TLS: several at once on few connections that stay open.
//!
//! Answers may come in any order (RFC 7766 §6.2.1.1) and are told apart by number and question. A
//! connection that breaks, or that has gone silent, is given up, and what waited on it is asked
//! once more on a new one.

use super::exchange::{ExchangeError, Means, Place};
use super::waitlist::Waitlist;
use dns_wire::{Answer, write_query};
use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::io::{
    AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, ReadHalf,
    WriteHalf,
};
use tokio::sync::Notify;

/// Connections to one upstream, at most.
const LINES_MAX: usize = 4;
/// As many questions wait on one connection before another is opened.
const WAITING_PER_LINE: usize = 64;
/// And never more than so many.
const WAITING_PER_LINE_MAX: usize = 2048;
/// A connection on which nothing is waited for is closed after so long (RFC 7766 §6.2.3 leaves it
/// to us; public resolvers close after 10 s and more).
const IDLE_MAX: Duration = Duration::from_secs(10);
/// A connection that gave nothing for so long while something was waited for is not trusted again.
const SILENCE_MAX: Duration = Duration::from_secs(2);

/// Whether a connection is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Security {
    None,
    Tls,
}

/// The way to one upstream.
pub(super) struct StreamWay {
    place: Place,
    security: Security,
    means: Rc<Means>,
    lines: RefCell<Vec<Rc<Line>>>,
    /// Held while a connection is being opened, so that a burst opens one.
    opening: tokio::sync::Mutex<()>,
}

/// One connection.
#[derive(Default)]
struct Line {
    waiting: Rc<Waitlist>,
    /// Bytes to be sent.
    outbox: RefCell<Vec<u8>>,
    /// Told when there is something to send, or when the connection is to be closed.
    changed: Notify,
    closed: Cell<bool>,
    heard: Cell<Option<Instant>>,
}

/// A line, and whether it was there before the question.
enum Found {
    New(Rc<Line>),
    Used(Rc<Line>),
}

impl StreamWay {
    pub(super) fn new(place: Place, security: Security, means: Rc<Means>) -> Self {
        Self {
            place,
            security,
            means,
            lines: RefCell::default(),
            opening: tokio::sync::Mutex::new(()),
        }
    }

    /// Asks the question within `key`; the caller ends it after `limit`.
    pub(super) async fn ask(&self, key: &[u8], limit: Duration) -> Result<Answer, ExchangeError> {
        match self.line(limit).await? {
            Found::New(line) => self.ask_on(line, key).await,
            Found::Used(line) => {
                // Half of the time at most for a connection that may be dead without saying so.
                let patience = SILENCE_MAX.min(limit / 2);
                let asked = Instant::now();
                let first = self.ask_on(Rc::clone(&line), key);
                tokio::pin!(first);
                match tokio::time::timeout(patience, &mut first).await {
                    Ok(Err(ExchangeError::Unreachable)) => {}
                    Ok(outcome) => return outcome,
                    Err(_) if line.heard.get().is_some_and(|heard| heard > asked) => {
                        return first.await;
                    }
                    Err(_) => line.close(),
                }
                match self.line(limit).await? {
                    Found::New(line) | Found::Used(line) => self.ask_on(line, key).await,
                }
            }
        }
    }

    async fn ask_on(&self, line: Rc<Line>, key: &[u8]) -> Result<Answer, ExchangeError> {
        let mut ticket = line.waiting.enter(key, &self.means.dice);
        {
            let mut outbox = line.outbox.borrow_mut();
            let at = outbox.len();
            outbox.extend_from_slice(&[0, 0]);
            write_query(ticket.id, key, &mut outbox);
            let length = (outbox.len() - at - 2) as u16;
            outbox[at..at + 2].copy_from_slice(&length.to_be_bytes());
        }
        line.changed.notify_one();
        // A stream cuts nothing, so a truncated answer is a bad one.
        ticket.told().await?.ok_or(ExchangeError::BadAnswer)
    }

    /// A connection with place; a new one if all are busy.
    async fn line(&self, limit: Duration) -> Result<Found, ExchangeError> {
        if let Some(line) = self.open_line(WAITING_PER_LINE) {
            return Ok(Found::Used(line));
        }
        let _turn = self.opening.lock().await;
        // Somebody else may have opened it meanwhile.
        if let Some(line) = self.open_line(WAITING_PER_LINE) {
            return Ok(Found::Used(line));
        }
        if self.lines.borrow().len() >= LINES_MAX {
            let line = self.open_line(WAITING_PER_LINE_MAX).ok_or(ExchangeError::Unreachable)?;
            return Ok(Found::Used(line));
        }
        self.open(limit).await.map(Found::New)
    }

    fn open_line(&self, most: usize) -> Option<Rc<Line>> {
        let mut lines = self.lines.borrow_mut();
        lines.retain(|line| !line.closed.get());
        let least = lines.iter().min_by_key(|line| line.waiting.len())?;
        (least.waiting.len() < most).then(|| Rc::clone(least))
    }

    async fn open(&self, limit: Duration) -> Result<Rc<Line>, ExchangeError> {
        let opened = tokio::time::timeout(limit, self.connect(limit)).await;
        opened.unwrap_or(Err(ExchangeError::Timeout))
    }

    async fn connect(&self, limit: Duration) -> Result<Rc<Line>, ExchangeError> {
        let stream = self.place.dial(limit).await?;
        let line = Rc::new(Line::default());
        match self.security {
            Security::None => line.start(stream),
            Security::Tls => {
                let name = self.place.server_name();
                // No ALPN: RFC 7858 knows none, and a server that lists others would refuse us.
                let opened = self.means.tls.connect(stream, &name, &[]).await;
                line.start(opened.map_err(|_| ExchangeError::Tls)?);
            }
        }
        self.lines.borrow_mut().push(Rc::clone(&line));
        Ok(line)
    }
}

impl Drop for StreamWay {
    fn drop(&mut self) {
        for line in self.lines.borrow().iter() {
            line.retire();
        }
    }
}

impl Line {
    fn start<I>(self: &Rc<Self>, io: I)
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
    fn retire(&self) {
        if self.waiting.is_empty() {
            self.close();
        }
    }

    fn close(&self) {
        self.closed.set(true);
        self.changed.notify_one();
        self.waiting.fail_all();
    }

    async fn read<I: AsyncRead>(&self, reader: ReadHalf<I>) -> io::Result<()> {
        let mut reader = BufReader::new(reader);
        let mut message = Vec::new();
        loop {
            match tokio::time::timeout(IDLE_MAX, reader.fill_buf()).await {
                Ok(bytes) => {
                    if bytes?.is_empty() {
                        return Ok(());
                    }
                }
                Err(_) if self.waiting.is_empty() => return Ok(()),
                // Those who wait have patience of their own.
                Err(_) => continue,
            }
            message.resize(usize::from(reader.read_u16().await?), 0);
            match tokio::time::timeout(IDLE_MAX, reader.read_exact(&mut message)).await {
                Ok(done) => drop(done?),
                Err(_) => return Err(io::ErrorKind::TimedOut.into()),
            }
            self.heard.set(Some(Instant::now()));
            self.waiting.deliver(&message);
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
