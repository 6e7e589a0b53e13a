//! Questions over UDP, one entry each: sent in batches, sent again, and matched with what arrives.
//!
//! A message is believed where number, question, port and the proofs that were asked for fit.
//! Anything else is somebody else's, or forged, and changes nothing: the wait goes on. Part of
//! [`super::race`], whose tables it works on.

use super::flights::FlightId;
use super::race::QueryRace;
use crate::question::ResolverQuestion;
use crate::upstream::exchange::ReadyUpstream;
use crate::upstream::exchange_error::ExchangeError;
use crate::upstream::proof::ProofOutcome;
use crate::upstream::record::ExchangeFailure;
use crate::upstream::udp::{FoundSocket, SocketPort, TrialId, UdpWay};
use crate::upstream::window::{COUNTED_FOR, WindowTurn};
use dns_wire::{BadAnswer, KeyBuffer, WireAnswer, check_response};
use slab::Slab;
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
pub(crate) struct QueryAttempt {
    pub(crate) flight: FlightId,
    question: Rc<ResolverQuestion>,
    upstream: Rc<ReadyUpstream>,
    port: Rc<SocketPort>,
    id: u16,
    sent: Instant,
    again_at: Instant,
    again: Duration,
    ends: Instant,
    counted: WindowCounting,
}

/// Tells whether it counts in its upstream's window.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WindowCounting {
    Yes,
    No,
}

/// Tells what is to be done with a trial at a tick.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AttemptDue {
    Forget,
    Again,
    End,
}

/// All of them, and what is to be sent.
#[derive(Default)]
pub(crate) struct QueryAttempts {
    table: Slab<QueryAttempt>,
    /// Sockets with something to send.
    ready: Vec<Rc<SocketPort>>,
    query: Vec<u8>,
    round: u64,
}

impl QueryAttempts {
    pub(crate) fn begin_round(&mut self) {
        self.round += 1;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// True if the question `id` is asked of some upstream from this address and port.
    pub(crate) fn is_asked_from(&self, id: FlightId, from: SocketAddr) -> bool {
        let mut asking = self.table.iter().filter(|(_, it)| it.flight == id);
        asking.any(|(_, it)| it.port.local() == Some(from))
    }

    /// Writes the query of a trial and lets it wait to be sent.
    fn write(&mut self, trial: TrialId) {
        let Some(it) = self.table.get(trial) else { return };
        let Some(way) = it.upstream.datagrams() else { return };
        self.query.clear();
        it.question.wanted().write(it.id, &mut self.query);
        way.proof.dress(&mut self.query, way.dice());
        let mut outbox = it.port.outbox.borrow_mut();
        if outbox.is_empty() {
            self.ready.push(Rc::clone(&it.port));
        }
        outbox.push(|out| out.extend_from_slice(&self.query));
    }

    /// Takes a trial out of its port and the table.
    fn remove(&mut self, trial: TrialId, now: Instant) -> Option<QueryAttempt> {
        let it = self.table.try_remove(trial)?;
        if let Some(way) = it.upstream.datagrams() {
            way.leave(&it.port, it.id, now);
        }
        Some(it)
    }

    fn due(&self, now: Instant) -> Vec<(TrialId, AttemptDue)> {
        let due = |it: &QueryAttempt| {
            if it.ends <= now {
                Some(AttemptDue::End)
            } else if it.again_at <= now {
                Some(AttemptDue::Again)
            } else if it.counted == WindowCounting::Yes && it.sent + COUNTED_FOR <= now {
                Some(AttemptDue::Forget)
            } else {
                None
            }
        };
        self.table.iter().filter_map(|(id, it)| Some((id, due(it)?))).collect()
    }
}

impl QueryRace {
    /// Asks `upstream` by datagram, now or when it is its turn.
    pub(crate) fn enter_window(
        &mut self,
        id: FlightId,
        upstream: &Rc<ReadyUpstream>,
    ) -> Result<(), ExchangeError> {
        let way = upstream.datagrams().ok_or(ExchangeError::Unreachable)?;
        let turn = way.window.borrow_mut().enter(id);
        match turn {
            WindowTurn::Go => self.send(id, upstream, way),
            WindowTurn::Wait => Ok(()),
            WindowTurn::Refused => Err(ExchangeError::Unreachable),
        }
    }

    /// Sends a question that is counted in the window.
    fn send(
        &mut self,
        id: FlightId,
        upstream: &Rc<ReadyUpstream>,
        way: &UdpWay,
    ) -> Result<(), ExchangeError> {
        upstream.record.sent();
        let sent = self.try_send(id, upstream, way);
        if sent.is_err() {
            way.window.borrow_mut().forget();
            upstream.record.failed(ExchangeFailure::Other, Duration::ZERO, self.clock);
        }
        sent
    }

    fn try_send(
        &mut self,
        id: FlightId,
        upstream: &Rc<ReadyUpstream>,
        way: &UdpWay,
    ) -> Result<(), ExchangeError> {
        if self.trials.table.len() >= TRIALS_MAX {
            self.forget_losers();
            if self.trials.table.len() >= TRIALS_MAX {
                return Err(ExchangeError::Unreachable);
            }
        }
        // Before a port is opened, which would wait for nothing.
        if !self.flights.is_on_its_way(id) {
            return Err(ExchangeError::Unreachable);
        }
        let port = match way.port(self.trials.round, self.now)? {
            FoundSocket::Used(port) => port,
            FoundSocket::New(port) => {
                self.serve(&port);
                port
            }
        };
        let flight = self.flights.get_mut(id).ok_or(ExchangeError::Unreachable)?;
        let again = upstream.record.mean_time().map_or(RESEND_AFTER_MAX, |mean| {
            (mean * RESEND_AFTER_MEANS).clamp(RESEND_AFTER_MIN, RESEND_AFTER_MAX)
        });
        let place = self.trials.table.vacant_entry();
        let trial = place.key();
        let number = way.enter(&port, trial);
        // From half to one and a half times that: what a burst lost together must not come back
        // together and be lost again. The place in the table is as good as chance here.
        let share = u32::try_from(trial % 64).unwrap_or(0);
        let again = again / 2 + again * share / 64;
        place.insert(QueryAttempt {
            flight: id,
            question: Rc::clone(&flight.question),
            upstream: Rc::clone(upstream),
            port,
            id: number,
            sent: self.now,
            again_at: self.now + again,
            again,
            ends: flight.ends,
            counted: WindowCounting::Yes,
        });
        self.trials.write(trial);
        Ok(())
    }

    /// Lets those go whose turn it is.
    fn let_in(&mut self, upstream: &Rc<ReadyUpstream>) {
        let Some(way) = upstream.datagrams() else { return };
        loop {
            // Not in the condition: the window must be free for what follows.
            let next = way.window.borrow_mut().next();
            let Some(id) = next else { return };
            if !self.flights.is_on_its_way(id) {
                way.window.borrow_mut().forget();
            } else if let Err(why) = self.send(id, upstream, way) {
                self.tried(id, upstream, Err(why));
            }
        }
    }

    /// A message has arrived at `port`.
    pub(crate) fn received(&mut self, port: &Rc<SocketPort>, message: &[u8]) {
        let Some(id) = message.first_chunk().map(|it| u16::from_be_bytes(*it)) else { return };
        let Some(trial) = port.waiting_as(id) else { return };
        let Some(it) = self.trials.table.get(trial) else { return };
        let Ok(received) = check_response(message, id, KeyBuffer::question(it.question.key()))
        else {
            return;
        };
        let judged = it.upstream.datagrams().map(|way| way.proof.judge(message));
        let whole = match judged {
            None | Some(ProofOutcome::Ignored) => return,
            Some(ProofOutcome::Believed) => !received.truncated,
            Some(ProofOutcome::Unproved) => {
                it.upstream.record.unproved();
                false
            }
        };
        let Some(it) = self.trials.remove(trial, self.now) else { return };
        if let Some(way) = it.upstream.datagrams() {
            let mut window = way.window.borrow_mut();
            match it.counted {
                WindowCounting::Yes => window.answered(),
                WindowCounting::No => {}
            }
        }
        self.let_in(&it.upstream);
        let took = self.now.saturating_duration_since(it.sent);
        if !whole {
            it.upstream.record.answered(took);
            // All of it comes by stream, where nobody can answer in its place either.
            self.ask_in_task(it.flight, &it.upstream);
            return;
        }
        if !self.is_wanted(&it) {
            it.upstream.record.answered(took);
            return;
        }
        match WireAnswer::from_upstream(message) {
            Ok(answer) => {
                it.upstream.record.answered(took);
                let answer = it.upstream.as_far_as_trusted(answer);
                self.tried(it.flight, &it.upstream, Ok(answer));
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
                it.upstream.record.failed(ExchangeFailure::Other, took, self.clock);
                self.tried(it.flight, &it.upstream, Err(ExchangeError::BadAnswer));
            }
        }
    }

    /// Nobody answers at the other end of `port`, as the network says.
    pub(crate) fn port_failed(&mut self, port: &Rc<SocketPort>) {
        port.spend();
        for trial in port.everyone() {
            self.fail(trial, ExchangeFailure::Other, ExchangeError::Unreachable);
        }
    }

    fn fail(&mut self, trial: TrialId, failing: ExchangeFailure, why: ExchangeError) {
        let Some(it) = self.trials.remove(trial, self.now) else { return };
        let took = self.now.saturating_duration_since(it.sent);
        it.upstream.record.failed(failing, took, self.clock);
        if it.counted == WindowCounting::Yes
            && let Some(way) = it.upstream.datagrams()
        {
            way.window.borrow_mut().forget();
        }
        self.let_in(&it.upstream);
        self.tried(it.flight, &it.upstream, Err(why));
    }

    /// Forgets what waits for no question any more.
    fn forget_losers(&mut self) {
        let losers: Vec<TrialId> = self
            .trials
            .table
            .iter()
            .filter(|(_, it)| !self.is_wanted(it))
            .map(|(trial, _)| trial)
            .collect();
        for trial in losers {
            if let Some(it) = self.trials.remove(trial, self.now)
                && it.counted == WindowCounting::Yes
                && let Some(way) = it.upstream.datagrams()
            {
                way.window.borrow_mut().forget();
            }
        }
    }

    pub(crate) fn tick_trials(&mut self) {
        let mut slow: Vec<Rc<ReadyUpstream>> = Vec::new();
        for (trial, due) in self.trials.due(self.now) {
            let Some(it) = self.trials.table.get_mut(trial) else { continue };
            match due {
                AttemptDue::End => {
                    self.fail(trial, ExchangeFailure::Timeout, ExchangeError::Timeout);
                    continue;
                }
                AttemptDue::Forget | AttemptDue::Again if it.counted == WindowCounting::Yes => {
                    it.counted = WindowCounting::No;
                    if let Some(way) = it.upstream.datagrams() {
                        way.window.borrow_mut().forget();
                    }
                    if !slow.iter().any(|known| Rc::ptr_eq(known, &it.upstream)) {
                        slow.push(Rc::clone(&it.upstream));
                    }
                }
                AttemptDue::Forget | AttemptDue::Again => {}
            }
            if due == AttemptDue::Again {
                self.again(trial);
            }
        }
        for upstream in &slow {
            self.let_in(upstream);
        }
    }

    /// Sends a question once more, under the same number from the same port.
    fn again(&mut self, trial: TrialId) {
        let Some(it) = self.trials.table.get(trial) else { return };
        let wanted = self.is_wanted(it);
        let Some(it) = self.trials.table.get_mut(trial) else { return };
        if !wanted {
            it.again_at = it.ends;
            return;
        }
        it.again *= 2;
        it.again_at = self.now + it.again;
        if let Some(way) = it.upstream.datagrams() {
            way.window.borrow_mut().lost();
        }
        self.trials.write(trial);
    }

    /// Sends all that waits to be sent.
    pub(crate) fn send_all(&mut self) {
        while let Some(port) = self.trials.ready.pop() {
            let sent = port.outbox.borrow_mut().send(&port.socket);
            if sent.is_err() {
                self.port_failed(&port);
            }
        }
    }
}
