//! Questions against upstreams: who is asked next, whose answer is taken, when to give up.
//!
//! The first that answers with records or with "no such name" wins; whoever else was asked may
//! finish, so that its record stays true. A question over UDP takes no task, no timer and no
//! channel of its own: it is an entry in a table, which an answer or the next tick finds. What goes
//! by stream, HTTP or QUIC is a task, which comes back with its outcome. It waits for nothing;
//! called by [`crate::engine`].

use super::attempts::{QueryAttempt, QueryAttempts};
use super::failure_memory::FailureMemory;
use super::fair_shares::FairShares;
use super::fastest::GatheredAnswers;
use super::flights::{
    CallerPatience, CircleCheck, FlightId, FlightWaiter, QUESTIONS_MAX, QuestionFlight,
    QuestionFlights,
};
use super::group::{OrderOutlook, UpstreamGroup};
use super::probes::AddressProber;
use crate::cache::answer_cache::{Kept, SecondLook};
use crate::engine::{ResolverEngine, receive};
use crate::handle::ResolverShared;
use crate::question::{Resolution, ResolveError, ResolverQuestion};
use crate::settings::plan::ResolverPlan;
use crate::upstream::exchange::ReadyUpstream;
use crate::upstream::exchange_error::ExchangeError;
use crate::upstream::means::ExchangeMeans;
use crate::upstream::udp::SocketPort;
use dns_wire::WireAnswer;
use std::net::SocketAddr;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::{Duration, Instant};
use transport::clock;
use vocab::Now;

/// The next upstream is asked besides when the one before has not answered within four times its
/// mean, but not sooner nor later than this.
const HEDGE_MEANS: u32 = 4;
const HEDGE_MIN: Duration = Duration::from_millis(200);
const HEDGE_MAX: Duration = Duration::from_secs(1);
/// When nothing is known of it yet.
const HEDGE_UNKNOWN: Duration = Duration::from_millis(500);

/// Returns how long `upstream` may take before something else is done.
fn patience_with(upstream: Option<&Rc<ReadyUpstream>>) -> Duration {
    upstream
        .and_then(|it| it.record.mean_time())
        .map_or(HEDGE_UNKNOWN, |mean| (mean * HEDGE_MEANS).clamp(HEDGE_MIN, HEDGE_MAX))
}

/// See the module.
pub(crate) struct QueryRace {
    pub(crate) shared: Arc<ResolverShared>,
    means: Rc<ExchangeMeans>,
    choices: Vec<Rc<UpstreamGroup>>,
    /// Measures addresses; there from the first settings on that want it.
    pub(crate) prober: Option<AddressProber>,
    pub(crate) flights: QuestionFlights,
    pub(crate) trials: QueryAttempts,
    pub(crate) failures: FailureMemory,
    pub(crate) engine: Weak<ResolverEngine>,
    /// The name of the upstream where there is none.
    pub(crate) nobody: Arc<str>,
    /// Whether anyone was told anything since [`QueryRace::take_told`].
    pub(crate) told: CallerTold,
    pub(crate) now: Instant,
    pub(crate) clock: Now,
}

/// Tells whether anyone was told anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallerTold {
    Someone,
    NoOne,
}

/// Tells whether another upstream is asked now.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RaceStart {
    Yes,
    No,
}

impl QueryRace {
    pub(crate) fn new(
        plan: &ResolverPlan,
        means: Rc<ExchangeMeans>,
        shared: Arc<ResolverShared>,
        engine: Weak<ResolverEngine>,
    ) -> Self {
        let mut race = Self {
            shared,
            means,
            choices: Vec::new(),
            prober: None,
            flights: QuestionFlights::default(),
            trials: QueryAttempts::default(),
            failures: FailureMemory::default(),
            engine,
            nobody: Arc::from(""),
            told: CallerTold::NoOne,
            now: Instant::now(),
            clock: clock::now(),
        };
        race.reload(plan);
        race
    }

    /// Takes other upstreams, and keeps those that stay as they are. What is under way goes on with
    /// the old ones.
    pub(crate) fn reload(&mut self, plan: &ResolverPlan) {
        let mut known = self.choices.clone();
        for group in &plan.groups {
            known.push(Rc::new(UpstreamGroup::new(group, &self.means, &known)));
        }
        self.choices = known.split_off(self.choices.len());
        self.failures.clear();
        if self.prober.is_none() && self.choices.iter().any(|it| it.aim.is_some()) {
            // Without its thread, answers are given as they come.
            self.prober = AddressProber::start().ok();
        }
        let listed = |it: &Rc<UpstreamGroup>| {
            let group = Arc::clone(&it.name);
            it.all().iter().map(move |it| it.listed(&group)).collect::<Vec<_>>()
        };
        self.shared.roll.set(self.choices.iter().flat_map(listed));
    }

    /// The beginning of a round: what happens in it happens at one time.
    pub(crate) fn begin_round(&mut self) {
        self.now = Instant::now();
        self.clock = clock::now();
        self.trials.begin_round();
    }

    /// True if there is anything to wait for.
    pub(crate) fn is_busy(&self) -> bool {
        self.flights.len() > 0 || !self.trials.is_empty()
    }

    pub(crate) fn take_told(&mut self) -> CallerTold {
        std::mem::replace(&mut self.told, CallerTold::NoOne)
    }

    /// Lets `done` wait for an answer, which may have come for another since the caller looked.
    pub(crate) fn ask(&mut self, question: ResolverQuestion, done: FlightWaiter) {
        if let Some(id) = self.flights.find(&question) {
            return self.join(id, done);
        }
        let found = self.cache_of(&question).map_or(SecondLook::Nothing, |cache| {
            cache.look_again(&question.cache_key(), self.clock)
        });
        match found {
            SecondLook::Fresh(kept) => self.tell(done, self.kept_answer(kept)),
            SecondLook::Old(kept) => self.begin(question, done, Some(kept)),
            SecondLook::Nothing => match self.failures.recall(&question, self.now) {
                Some(why) => self.tell(done, Resolution::failed(why)),
                None => self.begin(question, done, None),
            },
        }
    }

    /// The same whatever the cache holds.
    pub(crate) fn renew(&mut self, question: ResolverQuestion, done: FlightWaiter) {
        if let Some(id) = self.flights.find(&question) {
            return self.join(id, done);
        }
        let kept = self.whatever(&question);
        self.begin(question, done, kept);
    }

    fn join(&mut self, id: FlightId, done: FlightWaiter) {
        let is_echo = done.source.from().is_some_and(|from| self.is_echo(id, from));
        let Some(flight) = self.flights.get_mut(id) else { return };
        if is_echo {
            // It would wait for itself. Its own answer tells the upstream, which is us, and so the
            // next one is asked.
            flight.circle = CircleCheck::Closed;
            return self.tell(done, Resolution::failed(ResolveError::Circle));
        }
        match (&flight.kept, flight.patience) {
            (Some(kept), CallerPatience::Over) => {
                let kept = kept.clone();
                self.give([done], &kept, id);
            }
            (_, CallerPatience::ToTheEnd | CallerPatience::Until(_))
            | (None, CallerPatience::Over) => {
                flight.waiting.push(done);
            }
        }
    }

    fn begin(&mut self, question: ResolverQuestion, done: FlightWaiter, kept: Option<Kept>) {
        let Some(choice) = self.choices.get(usize::from(question.group().0)).map(Rc::clone) else {
            return self.tell(done, Resolution::failed(ResolveError::Unreachable));
        };
        let order = choice.order(question.key(), self.clock);
        let (first, hope) = (order.first, order.hope);
        // Each group, and each zone with upstreams of its own, has shares of its own.
        let lane = u64::from(question.group().0) << 8 | u64::from(order.zone);
        let share = FairShares::of(done.source.hash(lane));
        if self.flights.len() >= QUESTIONS_MAX {
            let Some(other) = self.flights.gives_way_to(share, self.now) else {
                let resolution = match kept {
                    Some(kept) => self.kept_answer(kept),
                    None => Resolution::failed(ResolveError::Overloaded),
                };
                return self.tell(done, resolution);
            };
            self.displace(other);
        }
        let spare_at = self.now + patience_with(choice.peek(&order));
        let patience = match (&kept, self.cache_of(&question)) {
            (Some(_), Some(cache)) => {
                CallerPatience::Until(self.now + cache.stale_after().min(choice.timeout))
            }
            (None, _) | (_, None) => CallerPatience::ToTheEnd,
        };
        let gathered = GatheredAnswers::new(choice.aim, question.qtype()).map(Box::new);
        let id = self.flights.insert(QuestionFlight {
            question: Rc::new(question),
            gathered,
            ends: self.now + choice.timeout,
            choice,
            order,
            waiting: vec![done],
            kept,
            patience,
            running: 0,
            hedge_at: self.now + HEDGE_MAX,
            second_best: Err(ExchangeError::Unreachable),
            share,
            spare_at,
            tasks: Vec::new(),
            circle: CircleCheck::Open,
        });
        for _ in 0..first {
            if self.start_next(id) == RaceStart::No {
                break;
            }
        }
        if hope == OrderOutlook::Little && matches!(patience, CallerPatience::Until(_)) {
            self.give_kept(id);
        }
        self.land_if_over(id);
    }

    /// Asks the next upstream that can be asked.
    fn start_next(&mut self, id: FlightId) -> RaceStart {
        loop {
            let now = self.now;
            let flight = self.flights.get_mut(id).filter(|it| it.ends > now);
            let Some(flight) = flight else { return RaceStart::No };
            let Some(upstream) = flight.choice.next(&mut flight.order) else {
                // There is nobody to be asked besides.
                flight.hedge_at = flight.ends;
                return RaceStart::No;
            };
            flight.hedge_at = self.now + patience_with(Some(&upstream));
            flight.running += 1;
            match self.launch(id, &upstream) {
                Ok(()) => return RaceStart::Yes,
                Err(why) => self.note(id, &upstream, Err(why)),
            }
        }
    }

    fn launch(&mut self, id: FlightId, upstream: &Rc<ReadyUpstream>) -> Result<(), ExchangeError> {
        if upstream.datagrams().is_some() {
            self.enter_window(id, upstream)
        } else {
            self.ask_in_task(id, upstream);
            Ok(())
        }
    }

    /// Asks by a task, which comes back to [`Self::tried`].
    pub(crate) fn ask_in_task(&mut self, id: FlightId, upstream: &Rc<ReadyUpstream>) {
        let Some(flight) = self.flights.get_mut(id) else { return };
        let limit = flight.ends.saturating_duration_since(self.now);
        let question = Rc::clone(&flight.question);
        let (engine, upstream) = (Weak::clone(&self.engine), Rc::clone(upstream));
        let task = tokio::task::spawn_local(async move {
            let outcome = upstream.ask(&question.wanted(), limit).await;
            if let Some(engine) = engine.upgrade() {
                engine.tried(id, &upstream, outcome);
            }
        });
        flight.tasks.push(task.abort_handle());
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
            Ok(answer) => flight.second_best = Ok((answer, Arc::clone(&upstream.name))),
            Err(why) if flight.second_best.is_err() => flight.second_best = Err(why),
            Err(_) => {}
        }
    }

    /// What became of one upstream that was asked.
    pub(crate) fn tried(
        &mut self,
        id: FlightId,
        upstream: &ReadyUpstream,
        outcome: Result<WireAnswer, ExchangeError>,
    ) {
        match outcome {
            Ok(answer) if answer.is_definite() => {
                self.gather(id, (answer, Arc::clone(&upstream.name)));
            }
            Ok(_) | Err(_) => {
                self.note(id, upstream, outcome);
                self.start_next(id);
                self.land_if_over(id);
            }
        }
    }

    /// Ends a question for which nobody is asked any more.
    fn land_if_over(&mut self, id: FlightId) {
        if let Some(flight) = self.flights.get_mut(id)
            && flight.running == 0
        {
            if flight.gathered.as_ref().is_some_and(|it| it.has_any()) {
                return self.measure(id);
            }
            let outcome =
                std::mem::replace(&mut flight.second_best, Err(ExchangeError::Unreachable));
            self.land(id, outcome);
        }
    }

    /// Looks after all that waits: who has waited long enough, what is sent again, what is over.
    pub(crate) fn tick(&mut self) {
        // First, so that records are true when whoever waits is told.
        self.tick_trials();
        for id in self.flights.due(self.now) {
            let Some(flight) = self.flights.get_mut(id) else { continue };
            if flight.ends <= self.now {
                let gathered = flight.gathered.as_mut().and_then(|it| it.first());
                let outcome = gathered.map_or_else(
                    || std::mem::replace(&mut flight.second_best, Err(ExchangeError::Timeout)),
                    Ok,
                );
                self.land(id, outcome.or(Err(ExchangeError::Timeout)));
                continue;
            }
            if flight.gathered.as_ref().is_some_and(|it| it.is_due(self.now)) {
                self.measure(id);
                continue;
            }
            let hedge = flight.hedge_at <= self.now && flight.running < flight.choice.concurrent;
            if flight.hedge_at <= self.now {
                flight.hedge_at = self.now + HEDGE_MAX;
            }
            if matches!(flight.patience, CallerPatience::Until(until) if until <= self.now) {
                self.give_kept(id);
            }
            if hedge {
                self.start_next(id);
                self.land_if_over(id);
            }
        }
    }

    /// Has somebody receive at `port`.
    pub(crate) fn serve(&self, port: &Rc<SocketPort>) {
        let task = tokio::task::spawn_local(receive(Rc::clone(port), Weak::clone(&self.engine)));
        port.received_by(task.abort_handle());
    }

    /// True if a question that joins another comes from the very socket that asks it of an
    /// upstream.
    fn is_echo(&self, id: FlightId, from: SocketAddr) -> bool {
        let Some(flight) = self.flights.get(id) else { return false };
        // Nearly nobody asks from an address that is an upstream's too.
        flight.choice.all().iter().any(|it| it.may_ask_from(from.ip()))
            && self.trials.is_asked_from(id, from)
    }

    /// True if `trial` is for a question that is still on its way.
    pub(crate) fn is_wanted(&self, trial: &QueryAttempt) -> bool {
        self.flights.is_on_its_way(trial.flight)
    }
}
