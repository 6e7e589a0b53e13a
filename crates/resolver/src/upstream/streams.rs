//! Questions over TCP and over TLS: several at once on few connections that stay open, or one at a
//! time on each.
//!
//! Answers may come in any order (RFC 7766 §6.2.1.1) and are told apart by number and question. A
//! connection that breaks, or that has gone silent, is given up, and what waited on it is asked
//! once more on a new one. How long one stays open unused, the server may say (RFC 7828).

use super::dialer::UpstreamDialer;
use super::exchange_error::ExchangeError;
use super::means::ExchangeMeans;
use super::query::UpstreamQuestion;
use super::stream_connection::{
    AbandonGuard, ConnectionPurpose, ConnectionReuse, IdleLimits, StreamConnection,
};
use crate::settings::upstream::PipelineMode;
use dns_wire::WireAnswer;
use dns_wire::ask_options::{OPTION_KEEPALIVE, add_option, pad_query};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, SemaphorePermit};
use transport::ClientTls;

/// Connections to one upstream, at most, when several questions share each.
const LINES_DEFAULT: usize = 4;
/// When each carries one question at a time. Who finds none free waits for its turn.
const LINES_DEFAULT_ONE_BY_ONE: usize = 16;
/// As many questions wait on one connection before another is opened.
const WAITING_PER_LINE: usize = 64;
/// And never more than so many.
const WAITING_PER_LINE_MAX: usize = 2048;
/// A connection on which nothing is waited for is closed after so long (RFC 7766 §6.2.3 leaves it
/// to us; public resolvers close after 10 s and more).
const IDLE_DEFAULT: Duration = Duration::from_secs(10);
/// If the server promises to keep it longer, so do we, but never longer than this.
const KEEPALIVE_MAX: Duration = Duration::from_mins(2);
/// A connection that gave nothing for so long while something was waited for is not trusted again.
const REUSE_SILENCE_MAX: Duration = Duration::from_secs(2);
/// Connections on which one question is tried, at most, where each breaks after it was of use.
const TRIES_MAX: u32 = 4;

/// Tells whether a connection is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamSecurity {
    None,
    Tls,
}

/// The way to one upstream.
pub(crate) struct StreamTransport {
    dialer: UpstreamDialer,
    security: StreamSecurity,
    tls: ClientTls,
    context: Rc<ExchangeMeans>,
    idle: IdleLimits,
    lines: RefCell<Vec<Rc<StreamConnection>>>,
    lines_max: usize,
    sharing: Cell<StreamSharing>,
    /// A permit for each question that is under way where connections are not shared.
    permits: Semaphore,
    /// Held while a connection is being opened, so that a burst opens one.
    opening: tokio::sync::Mutex<()>,
}

/// Tells what one connection carries.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StreamSharing {
    /// Several questions at once.
    AtOnce,
    /// One after the other, as the settings say.
    OneByOne,
    /// One, then it is closed: the server was found to close after the first of several.
    Once,
}

/// Which connection a question would have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StreamNeed {
    Any,
    /// One that was opened after this, or else a new one, as long as more may be opened: what was
    /// open then may be as dead as the one that broke.
    OpenedSince(Instant),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StreamAge {
    New,
    Used,
}

/// A line, and whether it was there before the question.
enum FoundStream {
    New(Rc<StreamConnection>),
    Used(Rc<StreamConnection>),
    /// None: it was found out meanwhile that questions take turns.
    PermitNeeded,
}

impl StreamTransport {
    pub(crate) fn new(
        dialer: UpstreamDialer,
        security: StreamSecurity,
        context: Rc<ExchangeMeans>,
    ) -> Self {
        let reach = &dialer.dial_settings;
        let (lines, sharing) = match reach.pipeline {
            PipelineMode::On => (LINES_DEFAULT, StreamSharing::AtOnce),
            PipelineMode::Off => (LINES_DEFAULT_ONE_BY_ONE, StreamSharing::OneByOne),
        };
        let lines_max = reach.connections.unwrap_or(lines.max(reach.min_connections));
        Self {
            tls: reach.tls(&context.tls),
            idle: IdleLimits {
                at_first: reach.idle.unwrap_or(IDLE_DEFAULT),
                idle_max: reach.idle.unwrap_or(KEEPALIVE_MAX),
            },
            lines_max,
            sharing: Cell::new(sharing),
            permits: Semaphore::new(lines_max),
            dialer,
            security,
            context,
            lines: RefCell::default(),
            opening: tokio::sync::Mutex::new(()),
        }
    }

    /// Asks; the caller ends it after `limit`, the wait for a turn included.
    pub(crate) async fn ask(
        &self,
        wanted: &UpstreamQuestion<'_>,
        limit: Duration,
    ) -> Result<WireAnswer, ExchangeError> {
        let asked = Instant::now();
        let (mut turn, mut wish, mut left) = (None, StreamNeed::Any, TRIES_MAX);
        loop {
            if turn.is_none() && self.is_serial() {
                turn = Some(self.permits.acquire().await.expect("nobody closes it"));
            }
            let (line, age, outcome) = match self.line(wish, turn.as_ref(), limit).await? {
                FoundStream::PermitNeeded => continue,
                FoundStream::New(line) => {
                    (Rc::clone(&line), StreamAge::New, self.ask_on(line, wanted).await)
                }
                FoundStream::Used(line) => {
                    // Half of the time at most for one that may be dead without saying so.
                    let patience = REUSE_SILENCE_MAX.min(limit / 2);
                    let outcome = self.ask_with_timeout(patience, &line, wanted).await;
                    (line, StreamAge::Used, outcome)
                }
            };
            left -= 1;
            // A new one that breaks when it carries nothing else is a server that will not.
            let may_answer = age == StreamAge::Used || line.was_shared();
            if outcome != Err(ExchangeError::Unreachable) || !may_answer || left == 0 {
                return outcome;
            }
            // It broke over the second of several questions. The answer to the first may be lost
            // with it, where the server closed before it had read all.
            if line.was_shared() && line.answers() <= 1 && !self.is_serial() {
                self.sharing.set(StreamSharing::Once);
            }
            wish = StreamNeed::OpenedSince(asked);
        }
    }

    /// True if a connection carries one question at a time.
    fn is_serial(&self) -> bool {
        self.sharing.get() != StreamSharing::AtOnce
    }

    /// Asks on a connection that was there before. One that is silent for so long is given up, and
    /// so are those that nobody waits on: they may have died with it.
    async fn ask_with_timeout(
        &self,
        patience: Duration,
        line: &Rc<StreamConnection>,
        wanted: &UpstreamQuestion<'_>,
    ) -> Result<WireAnswer, ExchangeError> {
        let asked = Instant::now();
        let first = self.ask_on(Rc::clone(line), wanted);
        tokio::pin!(first);
        match tokio::time::timeout(patience, &mut first).await {
            Ok(outcome) => outcome,
            Err(_) if line.received_since(asked) => first.await,
            Err(_) => {
                line.close();
                for idle in self.lines.borrow().iter().filter(|it| it.waiting.is_empty()) {
                    idle.close();
                }
                Err(ExchangeError::Unreachable)
            }
        }
    }

    async fn ask_on(
        &self,
        line: Rc<StreamConnection>,
        wanted: &UpstreamQuestion<'_>,
    ) -> Result<WireAnswer, ExchangeError> {
        let mut ticket = line.waiting.register(wanted.key, &self.context.random);
        line.note_sharing();
        let mut query = Vec::with_capacity(wanted.key.len() + wanted.options.len() + 128);
        wanted.write(ticket.id, &mut query);
        if line.is_fresh() {
            add_option(&mut query, OPTION_KEEPALIVE, &[]);
        }
        if self.security == StreamSecurity::Tls {
            pad_query(&mut query);
        }
        let abandoned = AbandonGuard(self.is_serial().then(|| Rc::clone(&line)));
        line.send(&query);
        // A stream cuts nothing, so a truncated answer is a bad one.
        let outcome = ticket.wait().await;
        abandoned.not();
        outcome?.ok_or(ExchangeError::BadAnswer)
    }

    /// A connection with place; a new one if all are busy, or if that is the wish.
    async fn line(
        &self,
        wish: StreamNeed,
        turn: Option<&SemaphorePermit<'_>>,
        limit: Duration,
    ) -> Result<FoundStream, ExchangeError> {
        if let Some(line) = self.open_line(wish) {
            return Ok(FoundStream::Used(line));
        }
        let _turn = self.opening.lock().await;
        // Somebody else may have opened it meanwhile.
        if let Some(line) = self.open_line(wish) {
            return Ok(FoundStream::Used(line));
        }
        if turn.is_none() && self.is_serial() {
            return Ok(FoundStream::PermitNeeded);
        }
        if self.lines.borrow().len() >= self.lines_max {
            let mut lines = self.lines.borrow_mut();
            if let Some(idle) = lines.iter().position(|it| it.waiting.is_empty()) {
                // It has been passed over, so it makes room.
                lines.swap_remove(idle).close();
            } else if !self.is_serial() {
                let least = lines.iter().min_by_key(|it| it.waiting.len());
                let least = least.filter(|it| it.waiting.len() < WAITING_PER_LINE_MAX);
                return least
                    .map(|it| FoundStream::Used(Rc::clone(it)))
                    .ok_or(ExchangeError::Unreachable);
            }
            // Whoever has a turn has a connection: those in the way were opened before it was found
            // out that turns are needed, and are gone with their answers.
        }
        self.open(limit, ConnectionPurpose::Question).await.map(FoundStream::New)
    }

    fn open_line(&self, wish: StreamNeed) -> Option<Rc<StreamConnection>> {
        let mut lines = self.lines.borrow_mut();
        lines.retain(|line| line.is_open());
        let most = match self.sharing.get() {
            StreamSharing::AtOnce => WAITING_PER_LINE,
            StreamSharing::OneByOne | StreamSharing::Once => 1,
        };
        let wished = |line: &&Rc<StreamConnection>| match wish {
            StreamNeed::Any => true,
            StreamNeed::OpenedSince(then) => line.opened > then,
        };
        let least = lines.iter().filter(wished).min_by_key(|line| line.waiting.len())?;
        (least.waiting.len() < most).then(|| Rc::clone(least))
    }

    /// Opens connections, each within `limit`, until as many stand open as the settings want.
    pub(crate) async fn open_standing(&self, limit: Duration) -> Result<(), ExchangeError> {
        let least = self.dialer.dial_settings.min_connections;
        loop {
            let _turn = self.opening.lock().await;
            {
                let mut lines = self.lines.borrow_mut();
                lines.retain(|line| line.is_open());
                let standing = lines.iter().filter(|line| line.stands()).count();
                if standing >= least || lines.len() >= self.lines_max {
                    return Ok(());
                }
            }
            self.open(limit, ConnectionPurpose::Standing).await?;
        }
    }

    async fn open(
        &self,
        limit: Duration,
        purpose: ConnectionPurpose,
    ) -> Result<Rc<StreamConnection>, ExchangeError> {
        let opened = tokio::time::timeout(limit, self.connect(limit, purpose)).await;
        opened.unwrap_or(Err(ExchangeError::Timeout))
    }

    async fn connect(
        &self,
        limit: Duration,
        purpose: ConnectionPurpose,
    ) -> Result<Rc<StreamConnection>, ExchangeError> {
        let stream = self.dialer.dial(limit).await?;
        let reuse = match self.sharing.get() {
            StreamSharing::AtOnce | StreamSharing::OneByOne => ConnectionReuse::Yes,
            StreamSharing::Once => ConnectionReuse::No,
        };
        let line = Rc::new(StreamConnection::new(self.idle, reuse, purpose));
        match self.security {
            StreamSecurity::None => line.start(stream),
            StreamSecurity::Tls => {
                let name = self.dialer.server_name();
                // No ALPN: RFC 7858 knows none, and a server that lists others would refuse us.
                let opened = self.tls.connect(stream, &name, &[]).await;
                line.start(opened.map_err(|_| ExchangeError::Tls)?);
            }
        }
        self.lines.borrow_mut().push(Rc::clone(&line));
        Ok(line)
    }
}

impl Drop for StreamTransport {
    fn drop(&mut self) {
        for line in self.lines.borrow().iter() {
            line.retire();
        }
    }
}
