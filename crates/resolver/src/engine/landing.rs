//! How a question ends: its answer is kept, or what is kept already takes its place, and everyone
//! who waits is told.
//!
//! Part of [`super::race`], whose tables it works on.

use super::flights::{CallerPatience, CircleCheck, FlightId, FlightWaiter, Won};
use super::race::{CallerTold, QueryRace};
use crate::cache::answer_cache::{AnswerCache, Kept};
use crate::question::{Resolution, ResolveError, ResolverQuestion};
use crate::upstream::exchange_error::ExchangeError;
use dns_wire::WireAnswer;
use std::rc::Rc;
use std::sync::Arc;
use vocab::Source;

impl QueryRace {
    pub(crate) fn land(&mut self, id: FlightId, outcome: Result<Won, ExchangeError>) {
        let Some(flight) = self.flights.remove(id) else { return };
        let question = &*flight.question;
        // What is kept beats a failure, and beats an upstream's word that it failed.
        let resolution = match (outcome, flight.circle) {
            (Ok((answer, upstream)), _) if answer.is_definite() => {
                self.failures.forget(question);
                self.keep(question, answer, upstream)
            }
            (Ok((answer, upstream)), CircleCheck::Open) => match self.whatever(question) {
                Some(kept) => self.not_renewed(question, kept),
                None => self.keep(question, answer, upstream),
            },
            (Ok(_), CircleCheck::Closed) => {
                self.not_answered(&flight.question, ResolveError::Circle)
            }
            (Err(why), _) => self.not_answered(&flight.question, why.into()),
        };
        if resolution.source == Source::Stale
            && let Some(cache) = self.cache_of(question)
        {
            cache.count_stale(flight.waiting.len());
        }
        for done in flight.waiting {
            self.tell(done, resolution.clone());
        }
    }

    /// No upstream has answered.
    fn not_answered(&mut self, question: &Rc<ResolverQuestion>, why: ResolveError) -> Resolution {
        if let Some(kept) = self.whatever(question) {
            return self.not_renewed(question, kept);
        }
        self.failures.note(question, why, self.now);
        Resolution::failed(why)
    }

    /// Ends a question that gives way to another: it has not failed, so nothing is remembered.
    pub(crate) fn displace(&mut self, id: FlightId) {
        let Some(flight) = self.flights.remove(id) else { return };
        for task in &flight.tasks {
            task.abort();
        }
        let resolution = match flight.kept {
            Some(kept) => self.kept_answer(kept),
            None => Resolution::failed(ResolveError::Overloaded),
        };
        for done in flight.waiting {
            self.tell(done, resolution.clone());
        }
    }

    fn keep(
        &self,
        question: &ResolverQuestion,
        answer: WireAnswer,
        upstream: Arc<str>,
    ) -> Resolution {
        let answer = match self.cache_of(question) {
            None => Arc::new(answer),
            Some(cache) => {
                let answer = Arc::new(cache.within_bounds(answer, question.qtype()));
                cache.store(question.cache_key().into(), &answer, self.clock);
                answer
            }
        };
        Resolution { result: Ok((answer, 0)), source: Source::Upstream, upstream }
    }

    fn not_renewed(&self, question: &ResolverQuestion, kept: Kept) -> Resolution {
        if let Some(cache) = self.cache_of(question) {
            cache.not_renewed(&question.cache_key(), self.clock);
        }
        self.kept_answer(kept)
    }

    /// Those who wait have waited long enough.
    pub(crate) fn give_kept(&mut self, id: FlightId) {
        let Some(flight) = self.flights.get_mut(id) else { return };
        let Some(kept) = flight.kept.clone() else { return };
        flight.patience = CallerPatience::Over;
        let waiting = std::mem::take(&mut flight.waiting);
        self.give(waiting, &kept, id);
    }

    pub(crate) fn give(
        &mut self,
        waiting: impl IntoIterator<Item = FlightWaiter>,
        kept: &Kept,
        id: FlightId,
    ) {
        let question = self.flights.get_mut(id).map(|it| Rc::clone(&it.question));
        let mut given = 0;
        for done in waiting {
            given += 1;
            self.tell(done, self.kept_answer(kept.clone()));
        }
        if let Some(cache) = question.as_ref().and_then(|it| self.cache_of(it)) {
            cache.count_stale(given);
        }
    }

    pub(crate) fn kept_answer(&self, kept: Kept) -> Resolution {
        let source = if kept.1 < kept.0.ttl() { Source::Cache } else { Source::Stale };
        Resolution { result: Ok(kept), source, upstream: Arc::clone(&self.nobody) }
    }

    pub(crate) fn tell(&mut self, done: FlightWaiter, resolution: Resolution) {
        // First, so that whoever is told can ask the next thing.
        self.shared.waiting.leave(done.source);
        self.told = CallerTold::Someone;
        done.tell(resolution);
    }

    pub(crate) fn cache_of(&self, question: &ResolverQuestion) -> Option<&AnswerCache> {
        self.shared.caches.get(question.cache()?)
    }

    pub(crate) fn whatever(&self, question: &ResolverQuestion) -> Option<Kept> {
        self.cache_of(question)?.whatever(&question.cache_key(), self.clock)
    }
}
