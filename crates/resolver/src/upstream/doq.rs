//! Questions over QUIC (RFC 9250): one connection that stays open, a stream for each question.
//!
//! A remembered session lets the first question leave with the first packet (0-RTT): a query does
//! no harm when somebody sends it twice (§4.5). A connection that breaks, or that has gone silent,
//! is given up, and the question is asked once more on a new one. Called by [`super::exchange`].

use super::dialer::{UpstreamDialer, share};
use super::exchange_error::ExchangeError;
use super::means::ExchangeMeans;
use super::query::UpstreamQuestion;
use dns_wire::{KeyBuffer, WireAnswer, check_response};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};
use transport::quic_client::{
    EarlyData, MessageDelivery, QuicBegin, QuicClient, QuicConnection, QuicError, QuicProtocol,
};

/// What a connection is closed with, and an exchange called off with (RFC 9250 §4.3).
const DOQ_NO_ERROR: u32 = 0;
const DOQ_PROTOCOL_ERROR: u32 = 2;
const DOQ_REQUEST_CANCELLED: u32 = 3;
/// The name in ALPN (RFC 9250 §4.1.1).
const ALPN: &[u8] = b"doq";
/// An unused connection is closed after so long, as over HTTPS.
const IDLE_DEFAULT: Duration = Duration::from_secs(30);
/// A connection that gave nothing for so long while something was waited for is not trusted again.
const REUSE_SILENCE_MAX: Duration = Duration::from_secs(2);
/// A length and a DNS message, at most (RFC 9250 §4.2).
const ANSWER_BYTES_MAX: usize = 2 + 65_535;
/// Each stream's question has number 0 (RFC 9250 §4.2.1); the stream tells answers apart.
const ID: u16 = 0;

/// The way to one upstream.
pub(crate) struct DoqTransport {
    dialer: UpstreamDialer,
    client: QuicClient,
    connection: RefCell<Option<QuicConnection>>,
    /// Held while a connection is being opened, so that a burst opens one.
    opening: tokio::sync::Mutex<()>,
}

/// Tells whether a connection was there before the question.
enum DoqReuse {
    New(QuicConnection),
    /// Was, or rests on a remembered session: it may be dead without saying so.
    Used(QuicConnection),
}

impl DoqTransport {
    pub(crate) fn new(dialer: UpstreamDialer, means: &Rc<ExchangeMeans>) -> Self {
        let protocol = QuicProtocol {
            alpn: ALPN,
            cancelled: DOQ_REQUEST_CANCELLED,
            idle: dialer.dial_settings.idle.unwrap_or(IDLE_DEFAULT),
        };
        let client = QuicClient::new(
            &dialer.dial_settings.tls(&means.tls),
            &protocol,
            &dialer.dial_settings.dial,
        );
        Self {
            dialer,
            client,
            connection: RefCell::default(),
            opening: tokio::sync::Mutex::new(()),
        }
    }

    /// Asks; the caller ends it after `limit`.
    pub(crate) async fn ask(
        &self,
        wanted: &UpstreamQuestion<'_>,
        limit: Duration,
    ) -> Result<WireAnswer, ExchangeError> {
        let delivery = MessageDelivery::default();
        let used = match self.connection(EarlyData::Allowed, limit).await? {
            DoqReuse::New(connection) => return ask_on(&connection, wanted, &delivery).await,
            DoqReuse::Used(connection) => connection,
        };
        // Half of the time at most for a connection that may be dead without saying so.
        let patience = REUSE_SILENCE_MAX.min(limit / 2);
        let first = ask_on(&used, wanted, &delivery);
        tokio::pin!(first);
        let early = match tokio::time::timeout(patience, &mut first).await {
            // It was closed by a server that is there, and may remember us.
            Ok(Err(ExchangeError::Unreachable)) if used.handshake() == QuicBegin::Verified => {
                EarlyData::Allowed
            }
            Ok(Err(ExchangeError::Unreachable)) => EarlyData::Refused,
            Ok(outcome) => return outcome,
            // It lives and only takes its time.
            Err(_) if delivery.is_acknowledged() => return first.await,
            Err(_) => {
                used.close(DOQ_NO_ERROR);
                EarlyData::Refused
            }
        };
        match self.connection(early, limit).await? {
            DoqReuse::New(connection) | DoqReuse::Used(connection) => {
                ask_on(&connection, wanted, &MessageDelivery::default()).await
            }
        }
    }

    async fn connection(
        &self,
        early: EarlyData,
        limit: Duration,
    ) -> Result<DoqReuse, ExchangeError> {
        if let Some(connection) = self.reusable() {
            return Ok(DoqReuse::Used(connection));
        }
        let _turn = self.opening.lock().await;
        // Somebody else may have opened it meanwhile.
        if let Some(connection) = self.reusable() {
            return Ok(DoqReuse::Used(connection));
        }
        let opened = tokio::time::timeout(limit, self.open(early, limit)).await;
        let connection = opened.unwrap_or(Err(ExchangeError::Timeout))?;
        *self.connection.borrow_mut() = Some(connection.clone());
        Ok(match connection.handshake() {
            QuicBegin::Verified => DoqReuse::New(connection),
            QuicBegin::Early => DoqReuse::Used(connection),
        })
    }

    fn reusable(&self) -> Option<QuicConnection> {
        let mut kept = self.connection.borrow_mut();
        if kept.as_ref().is_some_and(QuicConnection::is_closed) {
            *kept = None;
        }
        kept.clone()
    }

    async fn open(
        &self,
        early: EarlyData,
        limit: Duration,
    ) -> Result<QuicConnection, ExchangeError> {
        let begun = Instant::now();
        let addresses = self.dialer.addresses(limit).await?;
        let name = self.dialer.server_name();
        let mut last = ExchangeError::Unreachable;
        for (tried, address) in addresses.iter().enumerate() {
            let share = share(limit, begun, addresses.len() - tried);
            let connecting = self.client.connect(*address, &name, early);
            match tokio::time::timeout(share, connecting).await {
                Ok(Ok(connection)) => return Ok(connection),
                Ok(Err(why)) => last = why.into(),
                Err(_) => last = ExchangeError::Timeout,
            }
        }
        Err(last)
    }
}

impl Drop for DoqTransport {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.borrow_mut().take() {
            connection.close(DOQ_NO_ERROR);
        }
    }
}

async fn ask_on(
    connection: &QuicConnection,
    wanted: &UpstreamQuestion<'_>,
    delivery: &MessageDelivery,
) -> Result<WireAnswer, ExchangeError> {
    let query = wanted.padded(ID);
    let mut framed = Vec::with_capacity(2 + query.len());
    framed.extend_from_slice(&(query.len() as u16).to_be_bytes());
    framed.extend_from_slice(&query);
    let answer = connection.exchange(&framed, ANSWER_BYTES_MAX, delivery).await?;
    let message = match answer.split_first_chunk() {
        Some((length, message)) if usize::from(u16::from_be_bytes(*length)) == message.len() => {
            message
        }
        // Not one whole message: a server that cannot count (RFC 9250 §4.3.3).
        Some(_) | None => {
            connection.close(DOQ_PROTOCOL_ERROR);
            return Err(ExchangeError::BadAnswer);
        }
    };
    check_response(message, ID, KeyBuffer::question(wanted.key))
        .map_err(|_| ExchangeError::BadAnswer)?;
    WireAnswer::from_upstream(message).map_err(|_| ExchangeError::BadAnswer)
}

impl From<QuicError> for ExchangeError {
    fn from(why: QuicError) -> Self {
        match why {
            QuicError::Unreachable(_) | QuicError::Closed(_) => Self::Unreachable,
            QuicError::Tls(_) | QuicError::BadName(_) => Self::Tls,
            QuicError::Reset(_) | QuicError::TooLong | QuicError::EarlyRefused => Self::BadAnswer,
        }
    }
}
