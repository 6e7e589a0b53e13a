//! The resolver's thread: takes questions, lets equal ones share an exchange, keeps the answers.
//!
//! When an answer's time is over and the upstreams are slow or gone, those who wait get the old one
//! (RFC 8767), and the search for a new one goes on. It asks no policy and knows no client.

use super::choice::{Choice, Won};
use super::dice::Dice;
use super::exchange::{ExchangeError, Means};
use super::handle::Shared;
use super::plan::Plan;
use super::question::{Question, Resolution, ResolveError};
use dns_wire::Answer;
use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::mpsc;
use transport::{ClientTls, clock};
use vocab::Source;

/// Different questions in flight at once, at most; beyond it, a question fails at once, or gets the
/// stale answer if there is one.
pub const QUESTIONS_MAX: usize = 4096;
/// Commands taken in one go.
const BATCH: usize = 256;

/// What the thread is told.
pub(super) enum Command {
    Ask(Question, Done),
    /// The same with nobody waiting.
    Renew(Question, Done),
    Reload(Box<Plan>),
}

/// Someone who waits. Dropped without an answer, it says that the resolver has stopped.
pub(super) struct Done {
    tell: Option<Box<dyn FnOnce(Resolution) + Send>>,
    place: Option<Place>,
}

/// A place among those who wait.
struct Place(Arc<Shared>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Done {
    /// Whoever makes one has counted itself among those who wait.
    pub(super) fn new(
        tell: Option<Box<dyn FnOnce(Resolution) + Send>>,
        shared: Arc<Shared>,
    ) -> Self {
        Self { tell, place: Some(Place(shared)) }
    }

    fn tell(mut self, resolution: Resolution) {
        self.end(resolution);
    }

    fn end(&mut self, resolution: Resolution) {
        // First, so that whoever is told can ask the next thing.
        drop(self.place.take());
        if let Some(tell) = self.tell.take() {
            tell(resolution);
        }
    }
}

impl Drop for Done {
    fn drop(&mut self) {
        if self.tell.is_some() {
            self.end(Resolution::failed(ResolveError::Stopped));
        }
    }
}

struct Engine {
    shared: Arc<Shared>,
    means: Rc<Means>,
    choice: RefCell<Rc<Choice>>,
    flights: RefCell<HashMap<Rc<[u8]>, Flight>>,
    nobody: Arc<str>,
}

/// A question on its way.
#[derive(Default)]
struct Flight {
    waiting: Vec<Done>,
    /// What whoever comes later is given at once: the first ones have waited long enough.
    stale: Option<(Arc<Answer>, u32)>,
}

/// Starts the thread. It ends when every sender of commands is gone.
pub(super) fn spawn(
    plan: Plan,
    tls: ClientTls,
    shared: Arc<Shared>,
    commands: mpsc::UnboundedReceiver<Command>,
) -> io::Result<()> {
    // Made here, so that it fails where somebody listens.
    let (ready, outcome) = std::sync::mpsc::channel();
    std::thread::Builder::new().name("resolver".into()).spawn(move || {
        let runtime =
            match Builder::new_current_thread().enable_all().build_local(LocalOptions::default()) {
                Ok(runtime) => runtime,
                Err(why) => return drop(ready.send(Err(why))),
            };
        let means = Rc::new(Means { tls, dice: Dice::new() });
        let engine = Rc::new(Engine {
            choice: RefCell::new(Rc::new(Choice::new(&plan, &means, None))),
            shared,
            means,
            flights: RefCell::default(),
            nobody: Arc::from(""),
        });
        engine.enrol();
        drop(ready.send(Ok(())));
        runtime.block_on(engine.run(commands));
    })?;
    outcome.recv().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
}

impl Engine {
    async fn run(self: Rc<Self>, mut commands: mpsc::UnboundedReceiver<Command>) {
        let mut batch = Vec::with_capacity(BATCH);
        while commands.recv_many(&mut batch, BATCH).await > 0 {
            for command in batch.drain(..) {
                match command {
                    Command::Ask(question, done) => self.ask(question, done),
                    Command::Renew(question, done) => self.join(question.into_key().into(), done),
                    Command::Reload(plan) => self.reload(&plan),
                }
            }
        }
    }

    fn reload(&self, plan: &Plan) {
        let before = Rc::clone(&self.choice.borrow());
        *self.choice.borrow_mut() = Rc::new(Choice::new(plan, &self.means, Some(&before)));
        self.enrol();
    }

    fn enrol(&self) {
        let listed = self.choice.borrow().all().iter().map(|it| it.listed()).collect();
        self.shared.roll.set(listed);
    }

    fn ask(self: &Rc<Self>, question: Question, done: Done) {
        // Between the caller's look and now, the answer may have come for another.
        match self.shared.cache.fresh(question.key(), clock::now()) {
            Some(kept) => done.tell(self.kept_answer(kept, Source::Cache)),
            None => self.join(question.into_key().into(), done),
        }
    }

    /// Lets `done` wait for `key`, whose flight is begun if need be.
    fn join(self: &Rc<Self>, key: Rc<[u8]>, done: Done) {
        let mut flights = self.flights.borrow_mut();
        if let Some(flight) = flights.get_mut(&key) {
            match flight.stale.clone() {
                None => flight.waiting.push(done),
                Some(stale) => {
                    drop(flights);
                    self.shared.cache.count_stale(1);
                    done.tell(self.kept_answer(stale, Source::Stale));
                }
            }
            return;
        }
        if flights.len() >= QUESTIONS_MAX {
            drop(flights);
            let resolution = match self.shared.cache.stale(&key, clock::now()) {
                Some(stale) => self.kept_answer(stale, Source::Stale),
                None => Resolution::failed(ResolveError::Overloaded),
            };
            return done.tell(resolution);
        }
        flights.insert(Rc::clone(&key), Flight { waiting: vec![done], stale: None });
        drop(flights);
        tokio::task::spawn_local(Rc::clone(self).fly(key));
    }

    async fn fly(self: Rc<Self>, key: Rc<[u8]>) {
        let choice = Rc::clone(&self.choice.borrow());
        let asked = choice.ask(&key);
        let stale = self.shared.cache.stale(&key, clock::now());
        let outcome = match stale {
            None => asked.await,
            Some(stale) => {
                tokio::pin!(asked);
                let patience = choice.stale_after.min(choice.timeout);
                if let Ok(outcome) = tokio::time::timeout(patience, &mut asked).await {
                    outcome
                } else {
                    self.give_stale(&key, &stale);
                    asked.await
                }
            }
        };
        self.land(&key, outcome);
    }

    /// Those who wait have waited long enough.
    fn give_stale(&self, key: &Rc<[u8]>, stale: &(Arc<Answer>, u32)) {
        let waiting = match self.flights.borrow_mut().get_mut(key) {
            None => return,
            Some(flight) => {
                flight.stale = Some(stale.clone());
                std::mem::take(&mut flight.waiting)
            }
        };
        self.shared.cache.count_stale(waiting.len());
        for done in waiting {
            done.tell(self.kept_answer(stale.clone(), Source::Stale));
        }
    }

    fn land(&self, key: &Rc<[u8]>, outcome: Result<Won, ExchangeError>) {
        let now = clock::now();
        let cache = &self.shared.cache;
        // What is kept beats a failure, and beats an upstream's word that it failed.
        let kept = || cache.fresh(key, now).or_else(|| cache.stale(key, now));
        let resolution = match outcome {
            Ok((answer, upstream)) if answer.is_definite() => self.keep(key, answer, upstream),
            Ok((answer, upstream)) => match kept() {
                Some(kept) => self.not_renewed(key, kept),
                None => self.keep(key, answer, upstream),
            },
            Err(why) => match kept() {
                Some(kept) => self.not_renewed(key, kept),
                None => Resolution::failed(why.into()),
            },
        };
        let flight = self.flights.borrow_mut().remove(key).unwrap_or_default();
        if resolution.source == Source::Stale {
            cache.count_stale(flight.waiting.len());
        }
        for done in flight.waiting {
            done.tell(resolution.clone());
        }
    }

    fn keep(&self, key: &[u8], answer: Answer, upstream: Arc<str>) -> Resolution {
        let answer = Arc::new(answer);
        self.shared.cache.store(key.into(), &answer, clock::now());
        Resolution { result: Ok((answer, 0)), source: Source::Upstream, upstream }
    }

    fn not_renewed(&self, key: &[u8], kept: (Arc<Answer>, u32)) -> Resolution {
        self.shared.cache.not_renewed(key, clock::now());
        let in_time = kept.1 < kept.0.ttl();
        self.kept_answer(kept, if in_time { Source::Cache } else { Source::Stale })
    }

    fn kept_answer(&self, kept: (Arc<Answer>, u32), source: Source) -> Resolution {
        Resolution { result: Ok(kept), source, upstream: Arc::clone(&self.nobody) }
    }
}
