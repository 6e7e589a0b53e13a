//! The connection to one router: made when it is needed, over TLS where that is set, and made anew
//! where the router closed it.
//!
//! A router that is not reached is left alone for a while. Used by the tasks beside.

use super::access::RouterAccess;
use crate::EffectFailure;
use routeros::{RouterConnection, RouterFailure, RouterRow};
use std::io;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

/// So long a router that was not reached is left alone.
const REST: Duration = Duration::from_secs(5);

/// A stream to a router, with TLS or without.
trait RouterStream: AsyncRead + AsyncWrite + Unpin {}

impl<S: AsyncRead + AsyncWrite + Unpin> RouterStream for S {}

/// The connection.
pub(super) struct RouterLink {
    access: RouterAccess,
    connection: Option<RouterConnection<Box<dyn RouterStream>>>,
    /// Not before then.
    resting: Option<Instant>,
}

/// Outcome of a command.
#[derive(Debug)]
pub(super) struct CommandAnswer {
    pub(super) rows: Vec<RouterRow>,
    /// Number of what was added.
    pub(super) added: Option<String>,
}

impl RouterLink {
    pub(super) fn new(access: RouterAccess) -> Self {
        Self { access, connection: None, resting: None }
    }

    /// True if there is no connection.
    pub(super) fn is_lost(&self) -> bool {
        self.connection.is_none()
    }

    /// The rows that a command gives, within `times` the time of a short one.
    pub(super) async fn command(
        &mut self,
        words: &[&str],
        times: u32,
    ) -> Result<Vec<RouterRow>, RouterFailure> {
        self.carry_out(words, times).await.map(|answer| answer.rows)
    }

    /// Has a command carried out, over a connection that is there or is made.
    pub(super) async fn carry_out(
        &mut self,
        words: &[&str],
        times: u32,
    ) -> Result<CommandAnswer, RouterFailure> {
        let limit = self.access.command_timeout * times;
        // A kept connection may have been closed meanwhile: it is tried once more over a new one.
        let was_kept = self.connection.is_some();
        let mut outcome = self.attempt(words, limit).await;
        let is_closed = |why: &io::Error| why.kind() != io::ErrorKind::TimedOut;
        if was_kept && matches!(&outcome, Err(RouterFailure::Io(why)) if is_closed(why)) {
            outcome = self.attempt(words, limit).await;
        }
        outcome
    }

    async fn attempt(
        &mut self,
        words: &[&str],
        limit: Duration,
    ) -> Result<CommandAnswer, RouterFailure> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        let done = timeout(limit, connection.command_with_number(words)).await;
        let outcome = done.unwrap_or_else(|_| Err(timed_out()));
        let is_usable = outcome.as_ref().err().is_none_or(RouterFailure::leaves_connection);
        self.connection = is_usable.then_some(connection);
        outcome.map(|(rows, added)| CommandAnswer { rows, added })
    }

    async fn connect(&mut self) -> Result<RouterConnection<Box<dyn RouterStream>>, RouterFailure> {
        if self.resting.is_some_and(|until| Instant::now() < until) {
            let why = "it was not reached a moment ago";
            return Err(RouterFailure::Io(io::Error::other(why)));
        }
        let access = &self.access;
        let connect = async {
            let stream = TcpStream::connect(access.address).await?;
            let stream: Box<dyn RouterStream> = match &access.tls {
                None => Box::new(stream),
                Some(tls) => {
                    let opened = tls.client.connect(stream, &tls.server_name, &[]).await;
                    Box::new(opened.map_err(|why| io::Error::other(why.to_string()))?)
                }
            };
            RouterConnection::log_in(stream, &access.username, &access.password).await
        };
        let done = timeout(access.connect_timeout, connect).await;
        let outcome = done.unwrap_or_else(|_| Err(timed_out()));
        self.resting = outcome.is_err().then(|| Instant::now() + REST);
        outcome
    }

    pub(super) fn failed(&self, why: &RouterFailure) -> EffectFailure {
        EffectFailure::new(format!("{}: {why}", self.access.address))
    }
}

fn timed_out() -> RouterFailure {
    RouterFailure::Io(io::ErrorKind::TimedOut.into())
}
