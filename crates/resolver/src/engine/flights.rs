//! Request coalescing: queries in flight, and the clients that wait for each.
//!
//! Equal questions join one flight and share its exchange with an upstream. It moves nothing by
//! itself; [`super::race`] does. A place in the table is used again, so a late answer is told apart
//! by a serial number.

use super::ballot::AnswerBallot;
use super::fair_shares::FairShares;
use super::fastest::GatheredAnswers;
use super::flight_id::FlightId;
use super::flight_waiter::FlightWaiter;
use super::group::{AskOrder, UpstreamGroup};
use super::peers::QuestionClaim;
use super::question_hash::{HashIsKey, QuestionHash};
use super::upstream_answer::UpstreamAnswer;
use crate::cache::answer_cache::Kept;
use crate::question::ResolverQuestion;
use crate::upstream::exchange_error::ExchangeError;
use slab::Slab;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::rc::Rc;
use std::time::Instant;
use tokio::task::AbortHandle;

/// A question on its way.
pub(crate) struct QuestionFlight {
    pub(crate) identity: FlightIdentity,
    pub(crate) group: Rc<UpstreamGroup>,
    pub(crate) order: AskOrder,
    pub(crate) waiting: Vec<FlightWaiter>,
    /// The answer that serves if no newer one can be had.
    pub(crate) cached: Option<Kept>,
    pub(crate) caller_patience: CallerPatience,
    /// Upstreams asked that have not answered.
    pub(crate) running: usize,
    pub(crate) deadline: Instant,
    /// When the next upstream is asked besides.
    pub(crate) hedge_at: Instant,
    pub(crate) second_best: Result<UpstreamAnswer, ExchangeError>,
    /// Answers so far, where the first answer is not the end of it.
    pub(crate) gathered: Option<Box<GatheredAnswers>>,
    /// Empty answers that are held back for one with records.
    pub(crate) ballot: Option<Box<AnswerBallot>>,
    /// The share that it counts in.
    pub(crate) share: u16,
    /// From then on it has had its chance, and gives way to others of the same share.
    pub(crate) evictable_at: Instant,
    /// The tasks that ask for it, to be ended with it where it gives way.
    pub(crate) tasks: Vec<AbortHandle>,
    pub(crate) loop_check: CircleCheck,
}

/// The question of a flight, here and among the engines.
pub(crate) struct FlightIdentity {
    pub(crate) question: Rc<ResolverQuestion>,
    pub(crate) hash: QuestionHash,
    /// The claim; none where there is one engine.
    pub(crate) claim: Option<QuestionClaim>,
}

/// Tells whether an upstream has asked us what we asked it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CircleCheck {
    Open,
    Closed,
}

/// Tells how long whoever waits goes without the kept answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallerPatience {
    /// As long as the question takes: there is no kept answer.
    ToTheEnd,
    Until(Instant),
    /// The first ones have waited long enough; whoever comes later is given it at once.
    Over,
}

/// All questions in flight, by place and by question.
#[derive(Default)]
pub(crate) struct QuestionFlights {
    table: Slab<(u64, QuestionFlight)>,
    /// Of two questions that share a hash by chance the later one: the other gets no company.
    by_question: HashMap<QuestionHash, FlightId, BuildHasherDefault<HashIsKey>>,
    shares: FairShares,
    serial: u64,
}

impl QuestionFlights {
    pub(crate) fn find(&self, hash: QuestionHash, question: &ResolverQuestion) -> Option<FlightId> {
        let id = *self.by_question.get(&hash)?;
        self.get(id).filter(|flight| *flight.identity.question == *question).map(|_| id)
    }

    pub(crate) fn insert(&mut self, flight: QuestionFlight) -> FlightId {
        self.serial += 1;
        let serial = self.serial;
        let (hash, share) = (flight.identity.hash, flight.share);
        let id = FlightId { index: self.table.insert((serial, flight)), serial };
        self.shares.add(id.index, share);
        self.by_question.insert(hash, id);
        id
    }

    pub(crate) fn get_mut(&mut self, id: FlightId) -> Option<&mut QuestionFlight> {
        let (serial, flight) = self.table.get_mut(id.index)?;
        (*serial == id.serial).then_some(flight)
    }

    pub(crate) fn get(&self, id: FlightId) -> Option<&QuestionFlight> {
        let (serial, flight) = self.table.get(id.index)?;
        (*serial == id.serial).then_some(flight)
    }

    pub(crate) fn is_in_flight(&self, id: FlightId) -> bool {
        self.table.get(id.index).is_some_and(|(serial, _)| *serial == id.serial)
    }

    pub(crate) fn remove(&mut self, id: FlightId) -> Option<QuestionFlight> {
        self.get_mut(id)?;
        let (_, flight) = self.table.remove(id.index);
        self.shares.remove(id.index);
        if self.by_question.get(&flight.identity.hash) == Some(&id) {
            self.by_question.remove(&flight.identity.hash);
        }
        Some(flight)
    }

    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    /// Which question gives way to one of `share` when there is no room; none: the new one does.
    pub(crate) fn eviction_candidate(&self, share: u16, now: Instant) -> Option<FlightId> {
        let (greediest, most) = self.shares.largest_share()?;
        let own = self.shares.count(share);
        let is_modest = own + 1 < most;
        let from = if is_modest || own == 0 { greediest } else { share };
        let place = self.shares.oldest(from)?;
        let (serial, flight) = self.table.get(place)?;
        // Among equals, who came first is not pushed out before an answer could have come: or a
        // flood would leave nobody the time to be answered.
        (is_modest || flight.evictable_at <= now)
            .then_some(FlightId { index: place, serial: *serial })
    }

    /// Returns those for whom something is to be done at `now`.
    pub(crate) fn due_flights(&self, now: Instant) -> Vec<FlightId> {
        let due = |flight: &QuestionFlight| {
            let impatient =
                matches!(flight.caller_patience, CallerPatience::Until(until) if until <= now);
            let gathered = flight.gathered.as_ref().is_some_and(|it| it.is_due(now));
            let held = flight.ballot.as_ref().is_some_and(|it| it.is_due(now));
            impatient || gathered || held || flight.deadline <= now || flight.hedge_at <= now
        };
        self.table
            .iter()
            .filter(|(_, (_, flight))| due(flight))
            .map(|(place, (serial, _))| FlightId { index: place, serial: *serial })
            .collect()
    }
}
