//! Waits that are more than one exchange: time that passes, one run in another's stead, two runs
//! side by side.
//!
//! A branch is a run of its own with what its parent knows; it ends with an answer or without, and
//! never speaks to the client. Runs as a task on a core. Called by `pending`.

use crate::door::Shared;
use crate::pending::{self, Request};
use crate::plan::Plan;
use crate::request::{Findings, View};
use crate::surroundings::Surroundings;
use dns_wire::{Query, reply};
use pipeline::machine;
use pipeline::program::{Fallback, Prefer, Standby};
use pipeline::state::{Arrived, Failure, Response, State, Step, Wait};
use pipeline::world::{Asked, Tidings, World};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use vocab::{NameBuffer, Source};

/// Longest time that both families of a name are waited for: more than upstreams may take.
const BOTH_MAX: Duration = Duration::from_secs(30);

/// What a branch belongs to.
#[derive(Clone, Copy)]
pub(crate) struct Origin<'o> {
    pub(crate) shared: &'o Arc<Shared>,
    pub(crate) plan: &'o Arc<Plan>,
    pub(crate) request: &'o Arc<Request>,
}

/// A branch that has ended.
struct Ended {
    response: Response,
    source: Source,
    /// What its response is made of.
    out: Vec<u8>,
}

type Branch<'b> = Pin<Box<dyn Future<Output = Result<Ended, Failure>> + 'b>>;

/// Waits for what `wait` names on behalf of `state`; a response that is made stands in `out`.
pub(crate) async fn settle(
    origin: Origin<'_>,
    state: &State,
    wait: Wait,
    out: &mut Vec<u8>,
) -> Arrived {
    match wait {
        Wait::Forward { group, cache, key, options } => {
            let question = pending::question(group, cache, key, options);
            let (sender, receiver) = oneshot::channel();
            let done = Box::new(move |resolution| drop(sender.send(resolution)));
            let source = origin.request.source();
            match origin.shared.resolver.submit(question, source, done) {
                Err(_overloaded) => Arrived::Failed(Failure::Overloaded),
                Ok(()) => {
                    receiver.await.map_or(Arrived::Failed(Failure::Upstream), pending::of_upstream)
                }
            }
        }
        Wait::Sleep(long) => {
            sleep(long).await;
            Arrived::Nothing
        }
        Wait::Fallback(fallback) => match fall_back(origin, state, &fallback).await {
            Ok(ended) => ended.arrive(out),
            Err(why) => Arrived::Failed(why),
        },
        Wait::Prefer { prefer, rest } => prefer_family(origin, state, &prefer, rest, out).await,
        Wait::Effect { effect, on_error } => {
            let mut text = NameBuffer::new();
            // It was read once already, from the same bytes.
            let Ok(query) = Query::parse(&origin.request.message, &mut text) else {
                return Arrived::Failed(Failure::Program);
            };
            let name = state.target().map_or(text.as_name(), |target| target.name.as_name());
            let message = match state.response() {
                Response::Nothing => None,
                Response::Made => Some(&out[..]),
                Response::Kept(answer, _) => Some(answer.message()),
            };
            let (outside, caller) = (&origin.plan.outside, origin.request.caller());
            let asked = Asked { query: &query, name };
            outside.settle(caller, asked, (message, state.marks()), effect, on_error).await
        }
    }
}

/// Runs `state` to its end.
fn run(origin: Origin<'_>, mut state: State) -> Branch<'_> {
    Box::pin(async move {
        let mut out = Vec::new();
        loop {
            match step(origin, &mut state, &mut out)? {
                Step::Done => break,
                Step::Wait(wait) => {
                    let arrived = settle(origin, &state, wait, &mut out).await;
                    machine::arrive(&origin.plan.program, &mut state, arrived);
                }
            }
        }
        match state.failure() {
            Some(why) => Err(why),
            None => Ok(Ended { source: state.source(), response: state.take_response(), out }),
        }
    })
}

fn step(origin: Origin<'_>, state: &mut State, out: &mut Vec<u8>) -> Result<Step, Failure> {
    let mut text = NameBuffer::new();
    // It was read once already, from the same bytes.
    let query = Query::parse(&origin.request.message, &mut text).map_err(|_| Failure::Program)?;
    let policy = origin.shared.policy.load();
    let view = View { shared: origin.shared, policy: &policy, plan: origin.plan };
    let mut around = Surroundings::new(view, origin.request.caller(), Findings::NONE);
    let name = text.as_name();
    Ok(machine::run(&origin.plan.program, state, &query, name, &mut around, out))
}

impl Ended {
    fn is_answer(&self) -> bool {
        !matches!(self.response, Response::Nothing)
    }

    fn arrive(self, out: &mut Vec<u8>) -> Arrived {
        if matches!(self.response, Response::Made) {
            *out = self.out;
        }
        Arrived::Response(self.response, self.source)
    }

    fn has_type(&self, qtype: u16) -> bool {
        match &self.response {
            Response::Nothing => false,
            Response::Made => reply::has_type(&self.out, qtype),
            Response::Kept(answer, _) => reply::has_type(answer.message(), qtype),
        }
    }
}

/// The first answer of the primary, or of the secondary once the primary has failed or is slow.
async fn fall_back(
    origin: Origin<'_>,
    state: &State,
    fallback: &Fallback,
) -> Result<Ended, Failure> {
    let slow = Instant::now() + fallback.threshold;
    let mut primary = Some(run(origin, state.branch(fallback.primary)));
    let mut secondary = match fallback.standby {
        Standby::Always => Some(run(origin, state.branch(fallback.secondary))),
        Standby::WhenNeeded => None,
    };
    let mut begun = secondary.is_some();
    // What the secondary said before it was its turn.
    let mut held = None;
    let mut is_slow = false;
    let mut last = Err(Failure::Upstream);
    loop {
        if primary.is_none() || is_slow {
            if let Some(answer) = held.take() {
                return Ok(answer);
            }
            if !begun {
                begun = true;
                secondary = Some(run(origin, state.branch(fallback.secondary)));
            }
        }
        if primary.is_none() && secondary.is_none() {
            return last;
        }
        tokio::select! {
            biased;
            ended = ended(&mut primary), if primary.is_some() => {
                primary = None;
                match ended {
                    Ok(answer) if answer.is_answer() => return Ok(answer),
                    other => last = other,
                }
            }
            ended = ended(&mut secondary), if secondary.is_some() => {
                secondary = None;
                match ended {
                    Ok(answer) if answer.is_answer() => held = Some(answer),
                    other if last.is_err() => last = other,
                    _ => {}
                }
            }
            () = sleep_until(slow), if !is_slow => is_slow = true,
        }
    }
}

/// The end of a branch that runs; never, where none does.
async fn ended(branch: &mut Option<Branch<'_>>) -> Result<Ended, Failure> {
    match branch {
        Some(branch) => branch.await,
        None => std::future::pending().await,
    }
}

/// Answers for the family that is not preferred: as it is if the name lacks the preferred one.
async fn prefer_family(
    origin: Origin<'_>,
    state: &State,
    prefer: &Prefer,
    rest: u32,
    out: &mut Vec<u8>,
) -> Arrived {
    let wanted = run(origin, state.branch_for_type(rest, prefer.wanted));
    let own = run(origin, state.branch_for_rest_at(rest));
    tokio::pin!(wanted);
    let mut own = Some(own);
    let mut answer = None;
    let deadline = Instant::now() + BOTH_MAX;
    let mut patience = deadline;
    loop {
        tokio::select! {
            biased;
            found = &mut wanted => {
                if found.is_ok_and(|found| found.has_type(prefer.wanted)) {
                    note_preferred(origin, state, prefer.wanted);
                    return Arrived::Blank;
                }
                break;
            }
            ended = ended(&mut own), if own.is_some() => {
                own = None;
                answer = Some(ended);
                patience = Instant::now() + prefer.patience;
            }
            () = sleep_until(patience) => break,
        }
    }
    let ended = match (answer, own) {
        (Some(ended), _) => ended,
        (None, Some(own)) => timeout_at(deadline, own).await.unwrap_or(Err(Failure::Upstream)),
        (None, None) => Err(Failure::Upstream),
    };
    match ended {
        Ok(ended) => ended.arrive(out),
        Err(why) => Arrived::Failed(why),
    }
}

/// Remembers that the name asked for has the preferred family.
fn note_preferred(origin: Origin<'_>, state: &State, wanted: u16) {
    let mut text = NameBuffer::new();
    let Ok(query) = Query::parse(&origin.request.message, &mut text) else { return };
    let policy = origin.shared.policy.load();
    let view = View { shared: origin.shared, policy: &policy, plan: origin.plan };
    let mut around = Surroundings::new(view, origin.request.caller(), Findings::NONE);
    let name = state.target().map_or(text.as_name(), |target| target.name.as_name());
    around.tell(Asked { query: &query, name }, Tidings::Preferred(wanted));
}
