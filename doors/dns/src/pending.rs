//! A question that waits: for upstreams, for another run, for time to pass.
//!
//! It holds all that its second half needs. An exchange with upstreams ends in a callback on
//! the thread of a resolver engine, which goes straight on with the run; whatever else is waited
//! for becomes a task on a core (`branches`). Made by `request`; nobody waits for ever: the
//! resolver's time-out and the bounds of the program see to that.

use crate::branches;
use crate::caller::DnsCaller;
use crate::dns_request::DnsRequest;
use crate::exchange::{end_span, of_upstream, question};
use crate::findings::RunFindings;
use crate::finish::finish;
use crate::pending_request::PendingRequest;
use crate::plan::DnsPlan;
use crate::reply_sink::ReplySink;
use crate::request_env::RequestEnv;
use crate::shared::DoorShared;
use crate::view::RequestView;
use dns_wire::UDP_BYTES_MAX;
use pipeline::machine;
use pipeline::state::{RunFailure, RunState, RunStep, RunWait, WaitOutcome};
use resolver::QuerySource;
use std::sync::Arc;
use telemetry::QueryTrace;
use transport::DrainGuard;
use vocab::NameBuffer;

/// Room for a reply of usual length.
const REPLY_BYTES: usize = UDP_BYTES_MAX;

/// A question that waits, with all that its second half needs.
pub(crate) struct PendingQuestions {
    shared: Arc<DoorShared>,
    /// The run's places are those of this plan, whatever a reload brings.
    plan: Arc<DnsPlan>,
    request: Arc<PendingRequest>,
    state: RunState,
    findings: RunFindings,
    out: Vec<u8>,
    /// Nobody waits for a renewal.
    sink: Option<ReplySink>,
    /// The process does not end before it is answered.
    _held: DrainGuard,
}

/// Questions that may wait in tasks at once: what a second of sleep at 16,000 questions a second
/// holds. No client has more of these places than are left to the others; beyond it a question
/// fails at once.
pub(crate) const TASKS_MAX: usize = 16_384;

/// A place among those.
struct PendingPermit(Arc<DoorShared>, QuerySource);

impl PendingPermit {
    fn acquire(shared: &Arc<DoorShared>, source: QuerySource) -> Option<Self> {
        shared.tasks.acquire(source).ok().map(|()| Self(Arc::clone(shared), source))
    }
}

impl Drop for PendingPermit {
    fn drop(&mut self) {
        self.0.tasks.release(self.1);
    }
}

/// Whoever is called back; told that there was no room if it never is.
struct PendingCallback(Option<Box<PendingQuestions>>);

impl PendingQuestions {
    pub(crate) fn new(
        view: &RequestView<'_>,
        message: &[u8],
        caller: DnsCaller<'_>,
        state: RunState,
        findings: RunFindings,
        out: Vec<u8>,
    ) -> Box<Self> {
        Box::new(Self {
            shared: Arc::clone(view.shared),
            plan: Arc::clone(view.plan),
            request: Arc::new(PendingRequest::new(message, caller)),
            state,
            findings,
            out,
            sink: None,
            _held: view.shared.drain.hold(),
        })
    }

    /// A run whose answer nobody waits for.
    pub(crate) fn renewal(
        view: &RequestView<'_>,
        message: &[u8],
        caller: DnsCaller<'_>,
        state: Box<RunState>,
    ) -> Box<Self> {
        let caller = DnsCaller { trace: &QueryTrace::Unrecorded, ..caller };
        Self::new(view, message, caller, *state, RunFindings::NONE, Vec::new())
    }

    /// The answer goes this way.
    pub(crate) fn answering(mut self: Box<Self>, back: ReplySink) -> Box<Self> {
        self.sink = Some(back);
        self
    }

    /// Runs on, to the end or to the next wait.
    pub(crate) fn start(mut self: Box<Self>) {
        let this = &mut *self;
        let mut text = NameBuffer::new();
        let Some(query) = this.request.query(&mut text) else { return };
        let policy = this.shared.policy.load();
        let view = RequestView { shared: &this.shared, policy: &policy, plan: &this.plan };
        let caller = this.request.caller();
        let mut around = RequestEnv::new(view, caller, this.findings);
        let name = text.as_name();
        let (state, out) = (&mut this.state, &mut this.out);
        let step = machine::run(&this.plan.program, state, &query, name, &mut around, out);
        // A renewal is asked for where an answer is at hand, not behind a wait.
        (this.findings, _) = around.finish();
        match step {
            RunStep::Wait(wait) => {
                drop(policy);
                self.wait(wait);
            }
            RunStep::Done => {
                let Some(back) = this.sink.take() else { return };
                out.reserve(REPLY_BYTES);
                let asked = DnsRequest { query: &query, name, caller };
                finish(&view, &asked, this.findings, state, out);
                back.send(std::mem::take(out));
            }
        }
    }

    /// Waits, and runs on with what arrives.
    pub(crate) fn wait(self: Box<Self>, wait: RunWait) {
        match wait {
            RunWait::Forward { group, cache, key, options } => {
                let question = question(group, cache, key, options);
                let shared = Arc::clone(&self.shared);
                let source = self.request.source();
                let span = self.request.exchange_span();
                let mut callback = PendingCallback(Some(self));
                let done = Box::new(move |resolution| {
                    end_span(span, &resolution);
                    callback.arrive(of_upstream(resolution));
                });
                // Without room the callback is dropped, and says so to its client.
                let _ = shared.resolver.submit(question, source, done);
            }
            other => self.wait_in_task(other),
        }
    }

    fn wait_in_task(self: Box<Self>, wait: RunWait) {
        let shared = Arc::clone(&self.shared);
        let source = self.request.source();
        let mut callback = PendingCallback(Some(self));
        let Some(place) = PendingPermit::acquire(&shared, source) else { return };
        let core = crate::chance::number() as usize % shared.cores.count();
        let task = move || async move {
            let _place = place;
            let Some(mut pending) = callback.0.take() else { return };
            let this = &mut *pending;
            let branch = branches::BranchOrigin {
                shared: &this.shared,
                plan: &this.plan,
                request: &this.request,
            };
            let arrived = branches::wait_for(branch, &this.state, wait, &mut this.out).await;
            pending.arrive(arrived);
        };
        // A core that takes no more work drops the task, and the callback with it.
        let _ = shared.cores.spawn(core, task);
    }

    fn arrive(mut self: Box<Self>, arrived: WaitOutcome) {
        machine::arrive(&self.plan.program, &mut self.state, arrived);
        self.start();
    }
}

impl PendingCallback {
    fn arrive(&mut self, arrived: WaitOutcome) {
        if let Some(pending) = self.0.take() {
            pending.arrive(arrived);
        }
    }
}

impl Drop for PendingCallback {
    fn drop(&mut self) {
        self.arrive(WaitOutcome::Failed(RunFailure::Overloaded));
    }
}
