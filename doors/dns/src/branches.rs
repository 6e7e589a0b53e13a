//! Waits that are more than one exchange: time that passes, one run in another's stead, two runs
//! side by side.
//!
//! A branch is a run of its own with what its parent knows; it ends with an answer or without, and
//! never speaks to the client. Runs as a task on a core. Called by `pending`.

use crate::exchange;
use crate::findings::RunFindings;
use crate::pending_request::PendingRequest;
use crate::plan::DnsPlan;
use crate::request_env::RequestEnv;
use crate::selectors;
use crate::shared::DoorShared;
use crate::view::RequestView;
use dns_wire::reply;
use pipeline::env::{PipelineEnv, PipelineEvent, PipelineQuestion};
use pipeline::machine;
use pipeline::program::{FallbackOp, FamilyPreference, LearnRule, OnError, StandbyMode};
use pipeline::state::{RunFailure, RunResponse, RunState, RunStep, RunWait, WaitOutcome};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use vocab::{Name, NameBuffer, Source};

/// Longest time that both families of a name are waited for: more than upstreams may take.
const BOTH_MAX: Duration = Duration::from_secs(30);

/// Holds what a branch belongs to.
#[derive(Clone, Copy)]
pub(crate) struct BranchOrigin<'o> {
    pub(crate) shared: &'o Arc<DoorShared>,
    pub(crate) plan: &'o Arc<DnsPlan>,
    pub(crate) request: &'o Arc<PendingRequest>,
}

/// A branch that has ended.
struct BranchEnd {
    response: RunResponse,
    source: Source,
    /// What its response is made of.
    out: Vec<u8>,
}

type Branch<'b> = Pin<Box<dyn Future<Output = Result<BranchEnd, RunFailure>> + 'b>>;

/// Waits for what `wait` names on behalf of `state`; a response that is made stands in `out`.
pub(crate) async fn wait_for(
    origin: BranchOrigin<'_>,
    state: &RunState,
    wait: RunWait,
    out: &mut Vec<u8>,
) -> WaitOutcome {
    match wait {
        RunWait::Forward { group, cache, key, options } => {
            let question = exchange::question(group, cache, key, options);
            let (sender, receiver) = oneshot::channel();
            let done = Box::new(move |resolution| drop(sender.send(resolution)));
            let source = origin.request.source();
            let span = origin.request.exchange_span();
            match origin.shared.resolver.submit(question, source, done) {
                Err(_overloaded) => WaitOutcome::Failed(RunFailure::Overloaded),
                Ok(()) => match receiver.await {
                    Err(_stopped) => WaitOutcome::Failed(RunFailure::Upstream),
                    Ok(resolution) => {
                        exchange::end_span(span, &resolution);
                        exchange::of_upstream(resolution)
                    }
                },
            }
        }
        RunWait::Sleep(long) => {
            sleep(long).await;
            WaitOutcome::Nothing
        }
        RunWait::Fallback(fallback) => match fall_back(origin, state, &fallback).await {
            Ok(ended) => ended.arrive(out),
            Err(why) => WaitOutcome::Failed(why),
        },
        RunWait::Prefer { prefer, rest } => prefer_family(origin, state, &prefer, rest, out).await,
        RunWait::Order { selector, unknown } => {
            let mut text = NameBuffer::new();
            let query = origin.request.query(&mut text);
            let selector = origin.plan.outside.selector(selector).map(Arc::clone);
            if let (Some(selector), Some(query)) = (selector, query) {
                let signed = selectors::signed(&query, out);
                selector.measure_and_settle(&unknown, out, signed).await;
            }
            WaitOutcome::Nothing
        }
        RunWait::LearnName { rule, name } => learn(origin, &rule, &name).await,
        RunWait::Effect { effect, on_error } => {
            let mut text = NameBuffer::new();
            let Some(query) = origin.request.query(&mut text) else {
                return WaitOutcome::Failed(RunFailure::Program);
            };
            let name = state.target().map_or(text.as_name(), |target| target.name.as_name());
            let message = match state.response() {
                RunResponse::Nothing => None,
                RunResponse::Made => Some(&out[..]),
                RunResponse::Kept(answer, _) => Some(answer.message()),
            };
            let (outside, caller) = (&origin.plan.outside, origin.request.caller());
            let asked = PipelineQuestion { query: &query, name };
            match (outside.carry_out(effect, caller, asked, message, state.marks()).await, on_error)
            {
                (Ok(()), _) | (Err(_), OnError::Continue) => WaitOutcome::Nothing,
                (Err(_), OnError::Stop) => WaitOutcome::Stop,
                (Err(_), OnError::Fail) => WaitOutcome::Failed(RunFailure::Effect),
            }
        }
    }
}

/// Has a name kept, and waits for it as its rule says.
async fn learn(origin: BranchOrigin<'_>, rule: &LearnRule, name: &str) -> WaitOutcome {
    let outside = &origin.plan.outside;
    let (Some(set), Some(name)) = (outside.learned(rule.set), Name::from_lowercase(name).ok())
    else {
        return WaitOutcome::Nothing;
    };
    let kept = set.learn_and_wait(rule, name, rule.wait.unwrap_or_default()).await;
    match (kept, rule.on_error) {
        (Ok(()), _) | (Err(_), OnError::Continue) => WaitOutcome::Nothing,
        (Err(_), OnError::Stop) => WaitOutcome::Stop,
        (Err(_), OnError::Fail) => WaitOutcome::Failed(RunFailure::Effect),
    }
}

/// Runs `state` to its end.
fn run(origin: BranchOrigin<'_>, mut state: RunState) -> Branch<'_> {
    Box::pin(async move {
        let mut out = Vec::new();
        loop {
            match step(origin, &mut state, &mut out)? {
                RunStep::Done => break,
                RunStep::Wait(wait) => {
                    let arrived = wait_for(origin, &state, wait, &mut out).await;
                    machine::arrive(&origin.plan.program, &mut state, arrived);
                }
            }
        }
        match state.failure() {
            Some(why) => Err(why),
            None => Ok(BranchEnd { source: state.source(), response: state.take_response(), out }),
        }
    })
}

fn step(
    origin: BranchOrigin<'_>,
    state: &mut RunState,
    out: &mut Vec<u8>,
) -> Result<RunStep, RunFailure> {
    let mut text = NameBuffer::new();
    let query = origin.request.query(&mut text).ok_or(RunFailure::Program)?;
    let policy = origin.shared.policy.load();
    let view = RequestView { shared: origin.shared, policy: &policy, plan: origin.plan };
    let mut around = RequestEnv::new(view, origin.request.caller(), RunFindings::NONE);
    let name = text.as_name();
    Ok(machine::run(&origin.plan.program, state, &query, name, &mut around, out))
}

impl BranchEnd {
    fn is_answer(&self) -> bool {
        !matches!(self.response, RunResponse::Nothing)
    }

    fn arrive(self, out: &mut Vec<u8>) -> WaitOutcome {
        if matches!(self.response, RunResponse::Made) {
            *out = self.out;
        }
        WaitOutcome::Response(self.response, self.source)
    }

    fn has_type(&self, qtype: u16) -> bool {
        match &self.response {
            RunResponse::Nothing => false,
            RunResponse::Made => reply::has_type(&self.out, qtype),
            RunResponse::Kept(answer, _) => reply::has_type(answer.message(), qtype),
        }
    }
}

/// The first answer of the primary, or of the secondary once the primary has failed or is slow.
/// Without an answer of either the fallback fails, as in mosdns: rules after it are not tried.
async fn fall_back(
    origin: BranchOrigin<'_>,
    state: &RunState,
    fallback: &FallbackOp,
) -> Result<BranchEnd, RunFailure> {
    let slow = Instant::now() + fallback.threshold;
    let begun_at = Instant::from_std(origin.request.caller().started);
    let given_up = fallback.patience.map(|patience| begun_at + patience);
    let mut primary = Some(run(origin, state.branch(fallback.primary)));
    let mut secondary = match fallback.standby {
        StandbyMode::Always => Some(run(origin, state.branch(fallback.secondary))),
        StandbyMode::WhenNeeded => None,
    };
    let mut begun = secondary.is_some();
    // What the secondary said before it was its turn.
    let mut held = None;
    let mut is_slow = false;
    let mut last = RunFailure::Upstream;
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
            return Err(last);
        }
        tokio::select! {
            biased;
            ended = ended(&mut primary), if primary.is_some() => {
                primary = None;
                match ended {
                    Ok(answer) if answer.is_answer() => return Ok(answer),
                    Ok(_) => {}
                    Err(why) => last = why,
                }
            }
            ended = ended(&mut secondary), if secondary.is_some() => {
                secondary = None;
                match ended {
                    Ok(answer) if answer.is_answer() => held = Some(answer),
                    Ok(_) => {}
                    Err(why) => last = why,
                }
            }
            () = sleep_until(slow), if !is_slow => is_slow = true,
            () = sleep_until(given_up.unwrap_or(slow)), if given_up.is_some() => {
                return held.ok_or(RunFailure::Upstream);
            }
        }
    }
}

/// The end of a branch that runs; never, where none does.
async fn ended(branch: &mut Option<Branch<'_>>) -> Result<BranchEnd, RunFailure> {
    match branch {
        Some(branch) => branch.await,
        None => std::future::pending().await,
    }
}

/// Answers for the family that is not preferred: as it is if the name lacks the preferred one.
async fn prefer_family(
    origin: BranchOrigin<'_>,
    state: &RunState,
    prefer: &FamilyPreference,
    rest: u32,
    out: &mut Vec<u8>,
) -> WaitOutcome {
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
                    return WaitOutcome::Blank;
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
        (None, Some(own)) => timeout_at(deadline, own).await.unwrap_or(Err(RunFailure::Upstream)),
        (None, None) => Err(RunFailure::Upstream),
    };
    match ended {
        Ok(ended) => ended.arrive(out),
        Err(why) => WaitOutcome::Failed(why),
    }
}

/// Remembers that the name asked for has the preferred family.
fn note_preferred(origin: BranchOrigin<'_>, state: &RunState, wanted: u16) {
    let mut text = NameBuffer::new();
    let Some(query) = origin.request.query(&mut text) else { return };
    let policy = origin.shared.policy.load();
    let view = RequestView { shared: origin.shared, policy: &policy, plan: origin.plan };
    let mut around = RequestEnv::new(view, origin.request.caller(), RunFindings::NONE);
    let name = state.target().map_or(text.as_name(), |target| target.name.as_name());
    around.emit(PipelineQuestion { query: &query, name }, PipelineEvent::Preferred(wanted));
}
