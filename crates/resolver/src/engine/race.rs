//! Questions against upstreams: who is asked next, whose answer is taken, when to give up.
//!
//! The first that answers with records or with "no such name" wins; whoever else was asked may
//! finish, so that its record stays true. A question over UDP takes no task, no timer and no
//! channel of its own: it is an entry in a table, which an answer or the next tick finds. What goes
//! by stream, HTTP or QUIC is a task, which comes back with its outcome. It waits for nothing;
//! called by the engine.

mod second_look;

use super::attempts::{AttemptEnd, QueryAttempts, SendOutcome};
use super::command::{EngineLookup, LookupKind};
use super::delivery::{AnswerDelivery, AtHand, CallerTold};
use super::fair_shares::{FairShares, QUESTIONS_MAX};
use super::fastest::{GatheredAnswers, MeasureStart};
use super::flight_id::FlightId;
use super::flight_waiter::FlightWaiter;
use super::flights::{
    CallerPatience, CircleCheck, FlightIdentity, QuestionFlight, QuestionFlights,
};
use super::groups::UpstreamGroups;
use super::peers::{ClaimOutcome, EngineId, EnginePeers, QuestionClaim};
use super::round_time::RoundTime;
use super::tasks::EngineTasks;
use super::upstream_answer::UpstreamAnswer;
use crate::cache::answer_cache::Kept;
use crate::question::{Resolution, ResolveError};
use crate::settings::plan::ResolverPlan;
use crate::shared::ResolverShared;
use crate::upstream::exchange::ReadyUpstream;
use crate::upstream::exchange_error::ExchangeError;
use crate::upstream::means::ExchangeMeans;
use crate::upstream::udp::SocketPort;
use dns_wire::WireAnswer;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// The next upstream is asked besides when the one before has not answered within four times its
/// mean, but not sooner nor later than this.
const HEDGE_MEAN_FACTOR: u32 = 4;
const HEDGE_MIN: Duration = Duration::from_millis(200);
const HEDGE_MAX: Duration = Duration::from_secs(1);
/// When nothing is known of it yet.
const HEDGE_UNKNOWN: Duration = Duration::from_millis(500);

/// Returns how long `upstream` may take before something else is done.
fn attempt_timeout(upstream: Option<&Rc<ReadyUpstream>>) -> Duration {
    upstream
        .and_then(|it| it.record.mean_time())
        .map_or(HEDGE_UNKNOWN, |mean| (mean * HEDGE_MEAN_FACTOR).clamp(HEDGE_MIN, HEDGE_MAX))
}

/// The questions in flight and the upstreams that they are put to.
pub(crate) struct QueryRace {
    groups: UpstreamGroups,
    flights: QuestionFlights,
    attempts: QueryAttempts,
    delivery: AnswerDelivery,
    tasks: EngineTasks,
    claims: QuestionClaims,
    time: RoundTime,
}

/// The claims of one engine among its peers.
pub(crate) struct QuestionClaims {
    pub(crate) peers: Arc<EnginePeers>,
    pub(crate) own: EngineId,
}

/// Tells whether another upstream is asked now.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RaceStart {
    Yes,
    No,
}

impl QuestionClaims {
    fn release(&self, claim: Option<QuestionClaim>) {
        if let Some(claim) = claim {
            self.peers.release(claim, self.own);
        }
    }
}

impl QueryRace {
    pub(crate) fn new(
        plan: &ResolverPlan,
        means: Rc<ExchangeMeans>,
        shared: Arc<ResolverShared>,
        tasks: EngineTasks,
        claims: QuestionClaims,
    ) -> Self {
        let time = RoundTime::read();
        let mut race = Self {
            groups: UpstreamGroups::new(means),
            flights: QuestionFlights::default(),
            attempts: QueryAttempts::new(tasks.clone(), time),
            delivery: AnswerDelivery::new(shared),
            tasks,
            claims,
            time,
        };
        race.groups.reload(plan);
        race
    }

    /// Takes other upstreams, and keeps those that stay as they are. What is under way goes on with
    /// the old ones.
    pub(crate) fn reload(&mut self, plan: &ResolverPlan) {
        self.groups.reload(plan);
        self.delivery.forget_failures();
    }

    /// The beginning of a round: what happens in it happens at one time.
    pub(crate) fn start_round(&mut self) {
        self.time = RoundTime::read();
        self.attempts.start_round(self.time);
    }

    /// True if there is anything to wait for.
    pub(crate) fn is_busy(&self) -> bool {
        self.flights.len() > 0 || !self.attempts.is_empty()
    }

    pub(crate) fn take_notified(&mut self) -> CallerTold {
        self.delivery.take_told()
    }

    /// Lets whoever asks wait for an answer, which may have come for another since it looked.
    pub(crate) fn look_up(&mut self, lookup: EngineLookup) {
        let hash = self.claims.peers.hash(&lookup.question);
        if let Some(id) = self.flights.find(hash, &lookup.question) {
            return self.wait_with(id, lookup.waiter);
        }
        let kept = match lookup.kind {
            LookupKind::Ask => match self.delivery.look(&lookup.question, self.time) {
                AtHand::Told(resolution) => return self.delivery.tell(lookup.waiter, resolution),
                AtHand::Old(kept) => Some(kept),
                AtHand::Nothing => None,
            },
            LookupKind::Renew => self.delivery.kept(&lookup.question, self.time.clock),
        };
        let kind = lookup.kind;
        match self.claims.peers.claim(lookup, hash, self.claims.own) {
            ClaimOutcome::Own(EngineLookup { question, waiter, .. }, claim) => {
                let identity = FlightIdentity { question: Rc::new(question), hash, claim };
                self.start(identity, waiter, kept, kind);
            }
            ClaimOutcome::Forwarded => {}
        }
    }

    fn wait_with(&mut self, id: FlightId, waiter: FlightWaiter) {
        let is_echo = waiter.source.from().is_some_and(|from| self.is_echo(id, from));
        let Some(flight) = self.flights.get_mut(id) else { return };
        if is_echo {
            // It would wait for itself. Its own answer tells the upstream, which is us, and so the
            // next one is asked.
            flight.loop_check = CircleCheck::Closed;
            return self.delivery.tell(waiter, Resolution::failed(ResolveError::Loop));
        }
        match (&flight.cached, flight.caller_patience) {
            (Some(kept), CallerPatience::Over) => {
                self.delivery.give([waiter], kept, &flight.identity.question);
            }
            (_, CallerPatience::ToTheEnd | CallerPatience::Until(_))
            | (None, CallerPatience::Over) => {
                flight.waiting.push(waiter);
            }
        }
    }

    fn start(
        &mut self,
        identity: FlightIdentity,
        waiter: FlightWaiter,
        kept: Option<Kept>,
        kind: LookupKind,
    ) {
        let FlightIdentity { question, claim, .. } = &identity;
        let claim = *claim;
        let Some(group) = self.groups.get(question.group()).map(Rc::clone) else {
            self.claims.release(claim);
            return self.delivery.tell(waiter, Resolution::failed(ResolveError::Unreachable));
        };
        let now = self.time.now;
        let order = group.order(question.key(), self.time.clock);
        // Each group, and each zone with upstreams of its own, has shares of its own.
        let lane = u64::from(question.group().0) << 8 | u64::from(order.zone);
        let share = FairShares::of(waiter.source.hash(lane));
        if self.flights.len() >= QUESTIONS_MAX {
            let Some(other) = self.flights.eviction_candidate(share, now) else {
                self.claims.release(claim);
                let resolution = self.delivery.overloaded(kept);
                return self.delivery.tell(waiter, resolution);
            };
            if let Some(flight) = self.flights.remove(other) {
                self.claims.release(flight.identity.claim);
                self.delivery.displace(flight);
            }
        }
        let spare_at = now + attempt_timeout(group.peek(&order));
        let patience = match (&kept, self.delivery.cache_of(question)) {
            (Some(_), Some(cache)) => {
                CallerPatience::Until(now + cache.stale_after().min(group.timeout))
            }
            (None, _) | (_, None) => CallerPatience::ToTheEnd,
        };
        let gathered = GatheredAnswers::new(group.probe_target, question.qtype()).map(Box::new);
        let id = self.flights.insert(QuestionFlight {
            identity,
            gathered,
            ballot: None,
            deadline: now + group.timeout,
            group,
            order,
            waiting: vec![waiter],
            cached: kept,
            caller_patience: patience,
            running: 0,
            hedge_at: now + HEDGE_MAX,
            second_best: Err(ExchangeError::Unreachable),
            share,
            evictable_at: spare_at,
            tasks: Vec::new(),
            loop_check: CircleCheck::Open,
        });
        if kind == LookupKind::Ask && self.look_further(id) == RaceStart::Yes {
            return;
        }
        self.ask_first(id);
        self.finish_if_over(id);
    }

    /// Asks the next upstream that can be asked.
    fn start_next(&mut self, id: FlightId) -> RaceStart {
        loop {
            let now = self.time.now;
            let flight = self.flights.get_mut(id).filter(|it| it.deadline > now);
            let Some(flight) = flight else { return RaceStart::No };
            let Some(upstream) = flight.group.next(&mut flight.order) else {
                // There is nobody to be asked besides.
                flight.hedge_at = flight.deadline;
                return RaceStart::No;
            };
            flight.hedge_at = now + attempt_timeout(Some(&upstream));
            flight.running += 1;
            match self.launch(id, &upstream) {
                Ok(()) => return RaceStart::Yes,
                Err(why) => self.note(id, &upstream, Err(why)),
            }
        }
    }

    fn launch(&mut self, id: FlightId, upstream: &Rc<ReadyUpstream>) -> Result<(), ExchangeError> {
        if upstream.datagrams().is_some() {
            self.attempts.enter_window(id, upstream, &self.flights)
        } else {
            self.ask_in_task(id, upstream);
            Ok(())
        }
    }

    /// Asks by a task, which comes back to [`Self::attempt_done`].
    fn ask_in_task(&mut self, id: FlightId, upstream: &Rc<ReadyUpstream>) {
        let Some(flight) = self.flights.get_mut(id) else { return };
        let limit = flight.deadline.saturating_duration_since(self.time.now);
        flight.tasks.push(self.tasks.exchange(id, &flight.identity.question, upstream, limit));
    }

    /// Takes note of what one upstream said that is not the end.
    fn note(
        &mut self,
        id: FlightId,
        upstream: &ReadyUpstream,
        outcome: Result<WireAnswer, ExchangeError>,
    ) {
        let Some(flight) = self.flights.get_mut(id) else { return };
        flight.running = flight.running.saturating_sub(1);
        match outcome {
            Ok(answer) => {
                let upstream = Arc::clone(&upstream.name);
                flight.second_best = Ok(UpstreamAnswer { answer, upstream });
            }
            Err(why) if flight.second_best.is_err() => flight.second_best = Err(why),
            Err(_) => {}
        }
    }

    /// What became of one upstream that was asked.
    pub(crate) fn attempt_done(
        &mut self,
        id: FlightId,
        upstream: &ReadyUpstream,
        outcome: Result<WireAnswer, ExchangeError>,
    ) {
        let Some(flight) = self.flights.get(id) else { return };
        let rule = flight.group.selection;
        match outcome {
            Ok(answer) if rule.takes_at_once(&answer) => {
                let upstream = Arc::clone(&upstream.name);
                self.gather(id, UpstreamAnswer { answer, upstream });
            }
            Ok(answer) if answer.is_definite() => {
                let upstream = Arc::clone(&upstream.name);
                self.hold_back(id, UpstreamAnswer { answer, upstream });
            }
            Ok(_) | Err(_) => {
                // Those that were asked decide, once one of them has given an answer.
                let is_open = flight.ballot.is_none();
                self.note(id, upstream, outcome);
                if is_open {
                    self.start_next(id);
                }
                self.finish_if_over(id);
            }
        }
    }

    /// Holds an empty answer back for one with records, as long as the group's rule has it.
    fn hold_back(&mut self, id: FlightId, found: UpstreamAnswer) {
        let now = self.time.now;
        let Some(flight) = self.flights.get_mut(id) else { return };
        flight.running = flight.running.saturating_sub(1);
        flight.hedge_at = flight.deadline;
        let rule = flight.group.selection;
        let ballot = flight.ballot.get_or_insert_default();
        ballot.add(found, rule, now);
        if ballot.is_decided(rule) {
            return self.count_out(id);
        }
        self.finish_if_over(id);
    }

    /// Ends a question with the empty answer that was held back.
    fn count_out(&mut self, id: FlightId) {
        let ballot = self.flights.get_mut(id).and_then(|flight| flight.ballot.as_mut());
        if let Some(found) = ballot.and_then(|ballot| ballot.take()) {
            self.finish(id, Ok(found));
        }
    }

    /// Takes something definite that an upstream has said: the end, unless others are waited for.
    fn gather(&mut self, id: FlightId, found: UpstreamAnswer) {
        let Some(flight) = self.flights.get_mut(id) else { return };
        let Some(gathered) = &mut flight.gathered else { return self.finish(id, Ok(found)) };
        flight.running = flight.running.saturating_sub(1);
        gathered.add(found, self.time.now);
        if flight.running == 0 {
            self.measure(id);
        }
    }

    /// Enough is gathered: has measured what is not known, or ends the question.
    fn measure(&mut self, id: FlightId) {
        let Some(flight) = self.flights.get_mut(id) else { return };
        let Some(gathered) = &mut flight.gathered else { return };
        let left = flight.deadline.saturating_duration_since(self.time.now);
        match gathered.measure(self.groups.prober(), left, self.time.clock) {
            MeasureStart::Underway => {}
            MeasureStart::Known => self.probes_done(id),
            MeasureStart::Wait(done, limit) => self.tasks.wait_for_probes(id, done, limit),
        }
    }

    /// Ends a question by what is known now.
    pub(crate) fn probes_done(&mut self, id: FlightId) {
        let Some(flight) = self.flights.get_mut(id) else { return };
        let Some(gathered) = &mut flight.gathered else { return };
        if let Some(found) = gathered.choose(self.groups.prober(), self.time.clock) {
            self.finish(id, Ok(found));
        }
    }

    /// Ends a question for which nobody is asked any more.
    fn finish_if_over(&mut self, id: FlightId) {
        if let Some(flight) = self.flights.get_mut(id)
            && flight.running == 0
        {
            if flight.gathered.as_ref().is_some_and(|it| it.has_answer()) {
                return self.measure(id);
            }
            if flight.ballot.is_some() {
                return self.count_out(id);
            }
            let outcome =
                std::mem::replace(&mut flight.second_best, Err(ExchangeError::Unreachable));
            self.finish(id, outcome);
        }
    }

    fn finish(&mut self, id: FlightId, outcome: Result<UpstreamAnswer, ExchangeError>) {
        if let Some(flight) = self.flights.remove(id) {
            self.claims.release(flight.identity.claim);
            self.delivery.land(flight, outcome, self.time);
        }
    }

    /// Looks after all that waits: who has waited long enough, what is sent again, what is over.
    pub(crate) fn tick(&mut self) {
        // First, so that records are true when whoever waits is told.
        self.attempts.tick(&self.flights);
        self.follow_attempts();
        let now = self.time.now;
        for id in self.flights.due_flights(now) {
            let Some(flight) = self.flights.get_mut(id) else { continue };
            if flight.deadline <= now {
                let held = flight.ballot.as_mut().and_then(|it| it.take());
                let gathered = flight.gathered.as_mut().and_then(|it| it.first()).or(held);
                let outcome = gathered.map_or_else(
                    || std::mem::replace(&mut flight.second_best, Err(ExchangeError::Timeout)),
                    Ok,
                );
                self.finish(id, outcome.or(Err(ExchangeError::Timeout)));
                continue;
            }
            if flight.gathered.as_ref().is_some_and(|it| it.is_due(now)) {
                self.measure(id);
                continue;
            }
            if flight.ballot.as_ref().is_some_and(|it| it.is_due(now)) {
                self.count_out(id);
                continue;
            }
            let hedge = flight.hedge_at <= now && flight.running < flight.group.concurrent;
            if flight.hedge_at <= now {
                flight.hedge_at = now + HEDGE_MAX;
            }
            if matches!(flight.caller_patience, CallerPatience::Until(until) if until <= now) {
                self.delivery.give_kept(flight);
            }
            if hedge {
                self.start_next(id);
                self.finish_if_over(id);
            }
        }
    }

    /// A message has arrived at `port`.
    pub(crate) fn received(&mut self, port: &Rc<SocketPort>, message: &[u8]) {
        self.attempts.received(port, message, &self.flights);
        self.follow_attempts();
    }

    /// Nobody answers at the other end of `port`, as the network says.
    pub(crate) fn port_failed(&mut self, port: &Rc<SocketPort>) {
        self.attempts.port_failed(port, &self.flights);
        self.follow_attempts();
    }

    /// Sends all that waits to be sent.
    pub(crate) fn send_all(&mut self) {
        // What could not be sent may let others be asked.
        while self.attempts.send_all(&self.flights) == SendOutcome::SomeFailed {
            self.follow_attempts();
        }
    }

    /// Goes on with the questions whose attempts have ended.
    fn follow_attempts(&mut self) {
        while let Some(end) = self.attempts.take_ended() {
            match end {
                AttemptEnd::Tried { flight, upstream, outcome } => {
                    self.attempt_done(flight, &upstream, outcome);
                }
                AttemptEnd::StreamNeeded { flight, upstream } => {
                    self.ask_in_task(flight, &upstream);
                }
            }
        }
    }

    /// True if a question that joins another comes from the very socket that asks it of an
    /// upstream.
    fn is_echo(&self, id: FlightId, from: SocketAddr) -> bool {
        let Some(flight) = self.flights.get(id) else { return false };
        // Nearly nobody asks from an address that is an upstream's too.
        flight.group.all().iter().any(|it| it.may_loop_from(from.ip()))
            && self.attempts.is_asked_from(id, from)
    }
}
