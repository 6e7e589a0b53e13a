//! The end of a query: its answer is kept, or a stale one is given in its place (serve-stale,
//! RFC 8767), and every client that waits gets it.
//!
//! It sees caches and failures; it knows no upstream and sends nothing. Called by
//! [`super::race`].

use super::flight_waiter::FlightWaiter;
use super::flights::{CallerPatience, CircleCheck, QuestionFlight};
use super::round_time::RoundTime;
use super::upstream_answer::UpstreamAnswer;
use crate::cache::answer_cache::{AnswerCache, Kept, SecondLook};
use crate::question::{Resolution, ResolveError, ResolverQuestion};
use crate::second_level::{SecondLevelKey, SecondLevelLook};
use crate::shared::ResolverShared;
use crate::upstream::exchange_error::ExchangeError;
use dns_wire::WireAnswer;
use std::rc::Rc;
use std::sync::Arc;
use vocab::{Now, Source};

/// The end of questions: caches, failures, and those who are told.
pub(crate) struct AnswerDelivery {
    shared: Arc<ResolverShared>,
    /// The name of the upstream where there is none.
    no_upstream: Arc<str>,
    /// Whether anyone was told anything since [`AnswerDelivery::take_told`].
    told: CallerTold,
}

/// Tells whether anyone was told anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallerTold {
    Someone,
    NoOne,
}

/// Tells what is at hand for a question.
pub(crate) enum AtHand {
    /// It can be told at once.
    Told(Resolution),
    /// An upstream is to be asked, and this serves if none answers.
    Old(Kept),
    Nothing,
}

impl AnswerDelivery {
    pub(crate) fn new(shared: Arc<ResolverShared>) -> Self {
        Self { shared, no_upstream: Arc::from(""), told: CallerTold::NoOne }
    }

    pub(crate) fn take_told(&mut self) -> CallerTold {
        std::mem::replace(&mut self.told, CallerTold::NoOne)
    }

    /// Other upstreams may do what those before could not.
    pub(crate) fn forget_failures(&self) {
        self.shared.failures.clear();
    }

    /// Returns what is at hand for `question`: an answer may have come since its caller looked.
    pub(crate) fn look(&self, question: &ResolverQuestion, time: RoundTime) -> AtHand {
        let found = self
            .cache_of(question)
            .map_or(SecondLook::Miss, |cache| cache.recheck(&question.cache_key(), time.clock));
        match found {
            SecondLook::Fresh(kept) => AtHand::Told(self.kept_answer(kept)),
            SecondLook::Stale(kept) => AtHand::Old(kept),
            SecondLook::Miss => match self.shared.failures.lookup(question, time.now) {
                Some(why) => AtHand::Told(Resolution::failed(why)),
                None => AtHand::Nothing,
            },
        }
    }

    /// Ends a question with `outcome`.
    pub(crate) fn land(
        &mut self,
        flight: QuestionFlight,
        outcome: Result<UpstreamAnswer, ExchangeError>,
        time: RoundTime,
    ) {
        let question = &flight.identity.question;
        // What is kept beats a failure, and beats an upstream's word that it failed.
        let resolution = match (outcome, flight.loop_check) {
            (Ok(found), _) if found.answer.is_definite() => {
                self.shared.failures.forget(question);
                self.keep(question, found, time.clock)
            }
            (Ok(found), CircleCheck::Open) => match self.kept(question, time.clock) {
                Some(kept) => self.not_renewed(question, kept, time.clock),
                None => self.keep(question, found, time.clock),
            },
            (Ok(_), CircleCheck::Closed) => self.not_answered(question, ResolveError::Loop, time),
            (Err(why), _) => self.not_answered(question, why.into(), time),
        };
        if resolution.source == Source::Stale
            && let Some(cache) = self.cache_of(question)
        {
            cache.count_stale(flight.waiting.len());
        }
        for waiter in flight.waiting {
            self.tell(waiter, resolution.clone());
        }
    }

    /// A look into what other machines have kept for a question; none where nothing is shared.
    pub(crate) fn second_look(&self, question: &ResolverQuestion) -> Option<SecondLevelLook> {
        question.cache()?;
        let (second, scope) = self.shared.second_level.of_group(question.group().0)?;
        second.look(SecondLevelKey { scope, question: question.cache_key().into() })
    }

    /// Ends a question with an answer that another machine kept, of this age.
    pub(crate) fn land_shared(
        &mut self,
        flight: QuestionFlight,
        answer: WireAnswer,
        age_ms: u64,
        time: RoundTime,
    ) {
        let question = &flight.identity.question;
        self.shared.failures.forget(question);
        let answer = match self.cache_of(question) {
            None => Arc::new(answer),
            Some(cache) => {
                let answer = Arc::new(cache.clamp_ttls(answer, question.qtype()));
                let came = time.clock.mono_ms.cast_signed() - age_ms.cast_signed();
                cache.store_from(question.cache_key().into(), Arc::clone(&answer), came);
                answer
            }
        };
        let seconds = u32::try_from(age_ms / 1000).unwrap_or(u32::MAX);
        let upstream = Arc::clone(&self.no_upstream);
        let source = Source::Cache;
        let resolution = Resolution { result: Ok((answer, seconds)), source, upstream };
        for waiter in flight.waiting {
            self.tell(waiter, resolution.clone());
        }
    }

    /// Ends a question that gives way to another: it has not failed, so nothing is remembered.
    pub(crate) fn displace(&mut self, flight: QuestionFlight) {
        for task in &flight.tasks {
            task.abort();
        }
        let resolution = self.overloaded(flight.cached);
        for waiter in flight.waiting {
            self.tell(waiter, resolution.clone());
        }
    }

    /// Returns what a question gets for which there is no room.
    pub(crate) fn overloaded(&self, kept: Option<Kept>) -> Resolution {
        match kept {
            Some(kept) => self.kept_answer(kept),
            None => Resolution::failed(ResolveError::Overloaded),
        }
    }

    /// Gives those who wait the kept answer: they have waited long enough.
    pub(crate) fn give_kept(&mut self, flight: &mut QuestionFlight) {
        let Some(kept) = flight.cached.clone() else { return };
        flight.caller_patience = CallerPatience::Over;
        let waiting = std::mem::take(&mut flight.waiting);
        self.give(waiting, &kept, &flight.identity.question);
    }

    /// Gives `waiting` what is kept for `question`.
    pub(crate) fn give(
        &mut self,
        waiting: impl IntoIterator<Item = FlightWaiter>,
        kept: &Kept,
        question: &ResolverQuestion,
    ) {
        let mut given = 0;
        for waiter in waiting {
            given += 1;
            self.tell(waiter, self.kept_answer(kept.clone()));
        }
        if let Some(cache) = self.cache_of(question) {
            cache.count_stale(given);
        }
    }

    pub(crate) fn tell(&mut self, waiter: FlightWaiter, resolution: Resolution) {
        // First, so that whoever is told can ask the next thing.
        self.shared.waiting.release(waiter.source);
        self.told = CallerTold::Someone;
        waiter.notify(resolution);
    }

    pub(crate) fn cache_of(&self, question: &ResolverQuestion) -> Option<&AnswerCache> {
        self.shared.caches.get(question.cache()?)
    }

    /// Returns what is kept for `question`, however old.
    pub(crate) fn kept(&self, question: &ResolverQuestion, clock: Now) -> Option<Kept> {
        self.cache_of(question)?.get_any_age(&question.cache_key(), clock)
    }

    /// No upstream has answered.
    fn not_answered(
        &mut self,
        question: &Rc<ResolverQuestion>,
        why: ResolveError,
        time: RoundTime,
    ) -> Resolution {
        if let Some(kept) = self.kept(question, time.clock) {
            return self.not_renewed(question, kept, time.clock);
        }
        self.shared.failures.note(question, why, time.now);
        Resolution::failed(why)
    }

    fn keep(&self, question: &ResolverQuestion, found: UpstreamAnswer, clock: Now) -> Resolution {
        let UpstreamAnswer { answer, upstream } = found;
        let answer = match self.cache_of(question) {
            None => Arc::new(answer),
            Some(cache) => {
                let answer = Arc::new(cache.clamp_ttls(answer, question.qtype()));
                cache.store(question.cache_key().into(), &answer, clock);
                self.share(question, &answer, clock);
                answer
            }
        };
        Resolution { result: Ok((answer, 0)), source: Source::Upstream, upstream }
    }

    /// Tells the other machines of an answer that an upstream gave.
    fn share(&self, question: &ResolverQuestion, answer: &WireAnswer, clock: Now) {
        if !answer.is_definite() || answer.ttl() == 0 {
            return;
        }
        if let Some((second, scope)) = self.shared.second_level.of_group(question.group().0) {
            let key = SecondLevelKey { scope, question: question.cache_key().into() };
            second.keep(key, answer.message(), answer.ttl(), clock);
        }
    }

    fn not_renewed(&self, question: &ResolverQuestion, kept: Kept, clock: Now) -> Resolution {
        if let Some(cache) = self.cache_of(question) {
            cache.not_renewed(&question.cache_key(), clock);
        }
        self.kept_answer(kept)
    }

    fn kept_answer(&self, kept: Kept) -> Resolution {
        let source = if kept.1 < kept.0.ttl() { Source::Cache } else { Source::Stale };
        Resolution { result: Ok(kept), source, upstream: Arc::clone(&self.no_upstream) }
    }
}
