//! Questions over UDP, one entry each: sent in batches, sent again, and matched with what arrives.
//!
//! A message is believed where number, question, port and the proofs that were asked for fit.
//! Anything else is somebody else's, or forged, and changes nothing: the wait goes on. It ends no
//! question: what has become of an attempt is taken from it with [`QueryAttempts::take_ended`].
//! Called by [`super::race`].

use super::flight_id::FlightId;
use super::flights::QuestionFlights;
use super::round_time::RoundTime;
use super::tasks::EngineTasks;
use crate::question::ResolverQuestion;
use crate::upstream::exchange::ReadyUpstream;
use crate::upstream::exchange_error::ExchangeError;
use crate::upstream::proof::ProofOutcome;
use crate::upstream::record::ExchangeFailure;
use crate::upstream::udp::{FoundSocket, SocketPort, TrialId, UdpTransport};
use crate::upstream::window::{COUNTED_FOR, WindowTurn};
use dns_wire::{BadAnswer, KeyBuffer, WireAnswer, check_response};
use slab::Slab;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Questions waiting at sockets at once, at most. At the cap those are forgotten first that lost
/// their race; then upstreams count as unreachable.
const TRIALS_MAX: usize = 16_384;
/// A question is sent again when no answer came within so long, and then after twice that.
const RESEND_AFTER_MAX: Duration = Duration::from_secs(1);
/// It is never sent again sooner, however quick the upstream was of late.
const RESEND_AFTER_MIN: Duration = Duration::from_millis(250);
/// Number of times the mean time to an answer is waited before a question is sent again.
const RESEND_AFTER_MEANS: u32 = 6;

/// A question at one upstream.
struct QueryAttempt {
    flight: FlightId,
    question: Rc<ResolverQuestion>,
    upstream: Rc<ReadyUpstream>,
    port: Rc<SocketPort>,
    id: u16,
    sent: Instant,
    resend_at: Instant,
    resend_after: Duration,
    deadline: Instant,
    counted: WindowCounting,
}

/// Tells whether it counts in its upstream's window.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WindowCounting {
    Yes,
    No,
}

/// Tells what is to be done with an attempt at a tick.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AttemptDue {
    Forget,
    Resend,
    End,
}

/// An attempt that has ended, for its question to go on with.
pub(crate) enum AttemptEnd {
    /// The upstream has answered, or will not.
    Tried {
        flight: FlightId,
        upstream: Rc<ReadyUpstream>,
        outcome: Result<WireAnswer, ExchangeError>,
    },
    /// The whole answer, or one that is proved, is to be had by stream.
    StreamNeeded { flight: FlightId, upstream: Rc<ReadyUpstream> },
}

/// Tells whether all that waited was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SendOutcome {
    AllSent,
    /// Attempts have ended for it.
    SomeFailed,
}

/// The attempts in flight, and the send queue.
pub(crate) struct QueryAttempts {
    table: Slab<QueryAttempt>,
    /// Sockets with something to send.
    ready: Vec<Rc<SocketPort>>,
    ended: VecDeque<AttemptEnd>,
    query: Vec<u8>,
    tasks: EngineTasks,
    round: u64,
    time: RoundTime,
}

impl QueryAttempt {
    /// Counts no more in the window, since no answer came in time.
    fn forget_in_window(&mut self) {
        if self.counted == WindowCounting::Yes
            && let Some(way) = self.upstream.datagrams()
        {
            way.window.borrow_mut().forget();
        }
        self.counted = WindowCounting::No;
    }

    /// True if its question is still in flight.
    fn is_wanted(&self, flights: &QuestionFlights) -> bool {
        flights.is_in_flight(self.flight)
    }
}

impl QueryAttempts {
    pub(crate) fn new(tasks: EngineTasks, time: RoundTime) -> Self {
        Self {
            table: Slab::new(),
            ready: Vec::new(),
            ended: VecDeque::new(),
            query: Vec::new(),
            tasks,
            round: 0,
            time,
        }
    }

    pub(crate) fn start_round(&mut self, time: RoundTime) {
        self.round += 1;
        self.time = time;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Returns the oldest attempt that has ended and was not taken yet.
    pub(crate) fn take_ended(&mut self) -> Option<AttemptEnd> {
        self.ended.pop_front()
    }

    /// True if the question `id` is asked of some upstream from this address and port.
    pub(crate) fn is_asked_from(&self, id: FlightId, from: SocketAddr) -> bool {
        let mut asking = self.table.iter().filter(|(_, it)| it.flight == id);
        asking.any(|(_, it)| it.port.local() == Some(from))
    }

    /// Asks `upstream` by datagram, now or when it is its turn.
    pub(crate) fn enter_window(
        &mut self,
        id: FlightId,
        upstream: &Rc<ReadyUpstream>,
        flights: &QuestionFlights,
    ) -> Result<(), ExchangeError> {
        let way = upstream.datagrams().ok_or(ExchangeError::Unreachable)?;
        let turn = way.window.borrow_mut().acquire(id);
        match turn {
            WindowTurn::Go => self.send(id, upstream, flights),
            WindowTurn::Wait => Ok(()),
            WindowTurn::Refused => Err(ExchangeError::Unreachable),
        }
    }

    /// A message has arrived at `port`.
    pub(crate) fn received(
        &mut self,
        port: &Rc<SocketPort>,
        message: &[u8],
        flights: &QuestionFlights,
    ) {
        let Some(id) = message.first_chunk().map(|it| u16::from_be_bytes(*it)) else { return };
        let Some(trial) = port.waiting_as(id) else { return };
        let Some(it) = self.table.get(trial) else { return };
        let Ok(received) = check_response(message, id, KeyBuffer::question(it.question.key()))
        else {
            return;
        };
        let judged = it.upstream.datagrams().map(|way| way.proof.check(message));
        let whole = match judged {
            None | Some(ProofOutcome::Ignored) => return,
            Some(ProofOutcome::Accepted) => !received.truncated,
            Some(ProofOutcome::RetryOverTcp) => {
                it.upstream.record.count_unverified();
                false
            }
        };
        let Some(it) = self.remove(trial) else { return };
        if it.counted == WindowCounting::Yes
            && let Some(way) = it.upstream.datagrams()
        {
            way.window.borrow_mut().answered();
        }
        self.let_in(&it.upstream, flights);
        let took = self.time.now.saturating_duration_since(it.sent);
        if !whole {
            it.upstream.record.answered(took);
            // All of it comes by stream, where nobody can answer in its place either.
            let end = AttemptEnd::StreamNeeded { flight: it.flight, upstream: it.upstream };
            return self.ended.push_back(end);
        }
        if !it.is_wanted(flights) {
            return it.upstream.record.answered(took);
        }
        let outcome = match WireAnswer::from_upstream(message) {
            Ok(answer) => {
                it.upstream.record.answered(took);
                Ok(it.upstream.without_untrusted_ad(answer))
            }
            Err(
                BadAnswer::Malformed
                | BadAnswer::NoResponse
                | BadAnswer::Truncated
                | BadAnswer::Questions
                | BadAnswer::TooManyAliases
                | BadAnswer::AliasLoop
                | BadAnswer::Foreign,
            ) => {
                it.upstream.record.failed(ExchangeFailure::Other, took, self.time.clock);
                Err(ExchangeError::BadAnswer)
            }
        };
        self.end(it.flight, it.upstream, outcome);
    }

    /// Nobody answers at the other end of `port`, as the network says.
    pub(crate) fn port_failed(&mut self, port: &Rc<SocketPort>, flights: &QuestionFlights) {
        port.retire();
        for trial in port.everyone() {
            self.fail(trial, ExchangeFailure::Other, ExchangeError::Unreachable, flights);
        }
    }

    /// Looks after all that waits: what is sent again, what is over.
    pub(crate) fn tick(&mut self, flights: &QuestionFlights) {
        let mut slow: Vec<Rc<ReadyUpstream>> = Vec::new();
        for (trial, due) in self.due_attempts() {
            let Some(it) = self.table.get_mut(trial) else { continue };
            match due {
                AttemptDue::End => {
                    self.fail(trial, ExchangeFailure::Timeout, ExchangeError::Timeout, flights);
                    continue;
                }
                AttemptDue::Forget | AttemptDue::Resend if it.counted == WindowCounting::Yes => {
                    it.forget_in_window();
                    if !slow.iter().any(|known| Rc::ptr_eq(known, &it.upstream)) {
                        slow.push(Rc::clone(&it.upstream));
                    }
                }
                AttemptDue::Forget | AttemptDue::Resend => {}
            }
            if due == AttemptDue::Resend {
                self.again(trial, flights);
            }
        }
        for upstream in &slow {
            self.let_in(upstream, flights);
        }
    }

    /// Sends what waits to be sent, up to and with the first socket that fails.
    pub(crate) fn send_all(&mut self, flights: &QuestionFlights) -> SendOutcome {
        while let Some(port) = self.ready.pop() {
            let sent = port.outbox.borrow_mut().send(&port.socket);
            if sent.is_err() {
                self.port_failed(&port, flights);
                return SendOutcome::SomeFailed;
            }
        }
        SendOutcome::AllSent
    }

    fn end(
        &mut self,
        flight: FlightId,
        upstream: Rc<ReadyUpstream>,
        outcome: Result<WireAnswer, ExchangeError>,
    ) {
        self.ended.push_back(AttemptEnd::Tried { flight, upstream, outcome });
    }

    /// Sends a question that is counted in the window.
    fn send(
        &mut self,
        id: FlightId,
        upstream: &Rc<ReadyUpstream>,
        flights: &QuestionFlights,
    ) -> Result<(), ExchangeError> {
        let way = upstream.datagrams().ok_or(ExchangeError::Unreachable)?;
        upstream.record.sent();
        let sent = self.try_send(id, upstream, way, flights);
        if sent.is_err() {
            way.window.borrow_mut().forget();
            upstream.record.failed(ExchangeFailure::Other, Duration::ZERO, self.time.clock);
        }
        sent
    }

    fn try_send(
        &mut self,
        id: FlightId,
        upstream: &Rc<ReadyUpstream>,
        way: &UdpTransport,
        flights: &QuestionFlights,
    ) -> Result<(), ExchangeError> {
        if self.table.len() >= TRIALS_MAX {
            self.forget_losers(flights);
            if self.table.len() >= TRIALS_MAX {
                return Err(ExchangeError::Unreachable);
            }
        }
        // Before a port is opened, which would wait for nothing.
        let flight = flights.get(id).ok_or(ExchangeError::Unreachable)?;
        let now = self.time.now;
        let port = match way.port(self.round, now)? {
            FoundSocket::Used(port) => port,
            FoundSocket::New(port) => {
                self.tasks.receive_at(&port);
                port
            }
        };
        let again = upstream.record.mean_time().map_or(RESEND_AFTER_MAX, |mean| {
            (mean * RESEND_AFTER_MEANS).clamp(RESEND_AFTER_MIN, RESEND_AFTER_MAX)
        });
        let place = self.table.vacant_entry();
        let trial = place.key();
        let number = way.register(&port, trial);
        // From half to one and a half times that: what a burst lost together must not come back
        // together and be lost again. The place in the table is as good as chance here.
        let share = u32::try_from(trial % 64).unwrap_or(0);
        let again = again / 2 + again * share / 64;
        place.insert(QueryAttempt {
            flight: id,
            question: Rc::clone(&flight.identity.question),
            upstream: Rc::clone(upstream),
            port,
            id: number,
            sent: now,
            resend_at: now + again,
            resend_after: again,
            deadline: flight.deadline,
            counted: WindowCounting::Yes,
        });
        self.write(trial);
        Ok(())
    }

    /// Writes the query of an attempt and lets it wait to be sent.
    fn write(&mut self, trial: TrialId) {
        let Some(it) = self.table.get(trial) else { return };
        let Some(way) = it.upstream.datagrams() else { return };
        self.query.clear();
        it.question.upstream_question().write(it.id, &mut self.query);
        way.proof.add_proof(&mut self.query, way.random());
        let mut outbox = it.port.outbox.borrow_mut();
        if outbox.is_empty() {
            self.ready.push(Rc::clone(&it.port));
        }
        outbox.push(|out| out.extend_from_slice(&self.query));
    }

    /// Lets those go whose turn it is.
    fn let_in(&mut self, upstream: &Rc<ReadyUpstream>, flights: &QuestionFlights) {
        let Some(way) = upstream.datagrams() else { return };
        loop {
            // Not in the condition: the window must be free for what follows.
            let next = way.window.borrow_mut().next();
            let Some(id) = next else { return };
            if !flights.is_in_flight(id) {
                way.window.borrow_mut().forget();
            } else if let Err(why) = self.send(id, upstream, flights) {
                self.end(id, Rc::clone(upstream), Err(why));
            }
        }
    }

    /// Takes an attempt out of its port and the table.
    fn remove(&mut self, trial: TrialId) -> Option<QueryAttempt> {
        let it = self.table.try_remove(trial)?;
        if let Some(way) = it.upstream.datagrams() {
            way.unregister(&it.port, it.id, self.time.now);
        }
        Some(it)
    }

    fn fail(
        &mut self,
        trial: TrialId,
        failing: ExchangeFailure,
        why: ExchangeError,
        flights: &QuestionFlights,
    ) {
        let Some(mut it) = self.remove(trial) else { return };
        let took = self.time.now.saturating_duration_since(it.sent);
        it.upstream.record.failed(failing, took, self.time.clock);
        it.forget_in_window();
        self.let_in(&it.upstream, flights);
        self.end(it.flight, it.upstream, Err(why));
    }

    /// Forgets what waits for no question any more.
    fn forget_losers(&mut self, flights: &QuestionFlights) {
        let lost = self.table.iter().filter(|(_, it)| !it.is_wanted(flights));
        let losers: Vec<TrialId> = lost.map(|(trial, _)| trial).collect();
        for trial in losers {
            if let Some(mut it) = self.remove(trial) {
                it.forget_in_window();
            }
        }
    }

    fn due_attempts(&self) -> Vec<(TrialId, AttemptDue)> {
        let now = self.time.now;
        let due = |it: &QueryAttempt| {
            if it.deadline <= now {
                Some(AttemptDue::End)
            } else if it.resend_at <= now {
                Some(AttemptDue::Resend)
            } else if it.counted == WindowCounting::Yes && it.sent + COUNTED_FOR <= now {
                Some(AttemptDue::Forget)
            } else {
                None
            }
        };
        self.table.iter().filter_map(|(id, it)| Some((id, due(it)?))).collect()
    }

    /// Sends a question once more, under the same number from the same port.
    fn again(&mut self, trial: TrialId, flights: &QuestionFlights) {
        let Some(it) = self.table.get_mut(trial) else { return };
        if !it.is_wanted(flights) {
            it.resend_at = it.deadline;
            return;
        }
        it.resend_after *= 2;
        it.resend_at = self.time.now + it.resend_after;
        if let Some(way) = it.upstream.datagrams() {
            way.window.borrow_mut().on_loss();
        }
        self.write(trial);
    }
}
