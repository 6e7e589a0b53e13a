//! A question that waits: for upstreams, for another run, for time to pass.
//!
//! It holds all that its second half needs. An exchange with upstreams ends in a callback on the
//! resolver's thread, which goes straight on with the run; whatever else is waited for becomes a
//! task on a core (`branches`). Made by `request`; nobody waits for ever: the resolver's time-out and
//! the bounds of the program see to that.

use crate::back::Back;
use crate::branches;
use crate::door::Shared;
use crate::plan::Plan;
use crate::request::{self, Asked, Caller, Findings, REPLY_BYTES, View, Way};
use crate::surroundings::Surroundings;
use dns_wire::Query;
use pipeline::machine;
use pipeline::state::{Arrived, Failure, State, Step, Wait};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;
use transport::Held;
use upstream::resolver::{CacheId, GroupId, QuerySource, Question, Resolution, ResolveError};
use vocab::{NameBuffer, Near, Now};

/// The client's message and whence it came, for as long as anyone works on it.
pub(crate) struct Request {
    pub(crate) message: Box<[u8]>,
    client: IpAddr,
    client_port: u16,
    near: Near,
    way: Way,
    now: Now,
    begun: Instant,
    entry: u16,
    server_name: Box<str>,
    url_path: Box<str>,
    client_id: Box<str>,
}

/// See the module.
pub(crate) struct Pending {
    shared: Arc<Shared>,
    /// The run's places are those of this plan, whatever a reload brings.
    plan: Arc<Plan>,
    request: Arc<Request>,
    state: State,
    findings: Findings,
    out: Vec<u8>,
    /// Nobody waits for a renewal.
    back: Option<Back>,
    /// The process does not end before it is answered.
    _held: Held,
}

/// Questions that may wait in tasks at once: what a second of sleep at 16,000 questions a second
/// holds. No client has more of these places than are left to the others; beyond it a question fails
/// at once.
pub(crate) const TASKS_MAX: usize = 16_384;

/// A place among those.
struct Place(Arc<Shared>, QuerySource);

impl Place {
    fn take(shared: &Arc<Shared>, source: QuerySource) -> Option<Self> {
        shared.tasks.enter(source).ok().map(|()| Self(Arc::clone(shared), source))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.tasks.leave(self.1);
    }
}

/// Whoever is called back; told that there was no room if it never is.
struct Callback(Option<Box<Pending>>);

impl Request {
    fn new(message: &[u8], caller: Caller<'_>) -> Self {
        Self {
            message: message.into(),
            client: caller.client,
            client_port: caller.client_port,
            near: caller.near,
            way: caller.way,
            now: caller.now,
            begun: caller.begun,
            entry: caller.entry,
            server_name: caller.server_name.into(),
            url_path: caller.url_path.into(),
            client_id: caller.client_id.into(),
        }
    }

    /// Whose share of the questions in flight it takes.
    pub(crate) fn source(&self) -> QuerySource {
        QuerySource::client(self.client, self.client_port)
    }

    pub(crate) fn caller(&self) -> Caller<'_> {
        Caller {
            client: self.client,
            client_port: self.client_port,
            near: self.near,
            way: self.way,
            now: self.now,
            begun: self.begun,
            entry: self.entry,
            server_name: &self.server_name,
            url_path: &self.url_path,
            client_id: &self.client_id,
        }
    }
}

impl Pending {
    pub(crate) fn new(
        view: &View<'_>,
        message: &[u8],
        caller: Caller<'_>,
        state: State,
        findings: Findings,
        out: Vec<u8>,
    ) -> Box<Self> {
        Box::new(Self {
            shared: Arc::clone(view.shared),
            plan: Arc::clone(view.plan),
            request: Arc::new(Request::new(message, caller)),
            state,
            findings,
            out,
            back: None,
            _held: view.shared.drain.hold(),
        })
    }

    /// A run whose answer nobody waits for.
    pub(crate) fn renewal(
        view: &View<'_>,
        message: &[u8],
        caller: Caller<'_>,
        state: Box<State>,
    ) -> Box<Self> {
        Self::new(view, message, caller, *state, Findings::NONE, Vec::new())
    }

    /// The answer goes this way.
    pub(crate) fn answering(mut self: Box<Self>, back: Back) -> Box<Self> {
        self.back = Some(back);
        self
    }

    /// Runs on, to the end or to the next wait.
    pub(crate) fn start(mut self: Box<Self>) {
        let this = &mut *self;
        let mut text = NameBuffer::new();
        // It was read once already, from the same bytes.
        let Ok(query) = Query::parse(&this.request.message, &mut text) else { return };
        let policy = this.shared.policy.load();
        let view = View { shared: &this.shared, policy: &policy, plan: &this.plan };
        let caller = this.request.caller();
        let mut around = Surroundings::new(view, caller, this.findings);
        let name = text.as_name();
        let (state, out) = (&mut this.state, &mut this.out);
        let step = machine::run(&this.plan.program, state, &query, name, &mut around, out);
        // A renewal is asked for where an answer is at hand, not behind a wait.
        (this.findings, _) = around.leave();
        match step {
            Step::Wait(wait) => {
                drop(policy);
                self.wait(wait);
            }
            Step::Done => {
                let Some(back) = this.back.take() else { return };
                out.reserve(REPLY_BYTES);
                let asked = Asked { query: &query, name, caller };
                request::finish(&view, &asked, this.findings, state, out);
                back.send(std::mem::take(out));
            }
        }
    }

    /// Waits, and runs on with what arrives.
    pub(crate) fn wait(self: Box<Self>, wait: Wait) {
        match wait {
            Wait::Forward { group, cache, key, options } => {
                let question = question(group, cache, key, options);
                let shared = Arc::clone(&self.shared);
                let source = self.request.source();
                let mut callback = Callback(Some(self));
                let done = Box::new(move |resolution| callback.arrive(of_upstream(resolution)));
                // Without room the callback is dropped, and says so to its client.
                let _ = shared.resolver.submit(question, source, done);
            }
            other => self.wait_in_task(other),
        }
    }

    fn wait_in_task(self: Box<Self>, wait: Wait) {
        let shared = Arc::clone(&self.shared);
        let source = self.request.source();
        let mut callback = Callback(Some(self));
        let Some(place) = Place::take(&shared, source) else { return };
        let core = crate::chance::number() as usize % shared.cores.count();
        let task = move || async move {
            let _place = place;
            let Some(mut pending) = callback.0.take() else { return };
            let this = &mut *pending;
            let branch =
                branches::Origin { shared: &this.shared, plan: &this.plan, request: &this.request };
            let arrived = branches::settle(branch, &this.state, wait, &mut this.out).await;
            pending.arrive(arrived);
        };
        // A core that takes no more work drops the task, and the callback with it.
        let _ = shared.cores.spawn(core, task);
    }

    fn arrive(mut self: Box<Self>, arrived: Arrived) {
        machine::arrive(&self.plan.program, &mut self.state, arrived);
        self.start();
    }
}

impl Callback {
    fn arrive(&mut self, arrived: Arrived) {
        if let Some(pending) = self.0.take() {
            pending.arrive(arrived);
        }
    }
}

impl Drop for Callback {
    fn drop(&mut self) {
        self.arrive(Arrived::Failed(Failure::Overloaded));
    }
}

/// The resolver's form of what a run asks for.
pub(crate) fn question(
    group: u16,
    cache: Option<u16>,
    key: Box<[u8]>,
    options: Box<[u8]>,
) -> Question {
    Question::from_key(key).to(GroupId(group)).kept_in(cache.map(CacheId)).with_options(options)
}

/// What came of an exchange, as the machine takes it.
pub(crate) fn of_upstream(resolution: Resolution) -> Arrived {
    match resolution.result {
        Ok((answer, age_s)) => Arrived::Answer(answer, age_s, resolution.source),
        Err(why) => Arrived::Failed(match why {
            ResolveError::Overloaded => Failure::Overloaded,
            ResolveError::Circle => Failure::Circle,
            ResolveError::Unreachable | ResolveError::Tls => Failure::Network,
            ResolveError::Timeout | ResolveError::BadAnswer | ResolveError::Stopped => {
                Failure::Upstream
            }
        }),
    }
}
