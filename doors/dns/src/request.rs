//! One DNS question from its bytes to its answer: read, decide, act, review, shape, record.
//!
//! Every listener calls [`handle`], once a message. To decide and to act is to run the plan's
//! program (`pipeline`), which the simple settings and foreign pipelines alike are compiled to.
//! What can be answered at once goes into the caller's buffer without an allocation; a question
//! that must wait leaves with `pending` and comes back into the same [`finish`].

use crate::back::ReplySink;
use crate::blocked::PixelReach;
use crate::door::DoorShared;
use crate::guard::{self, Admission, OutgoingFate, SenderProof, TurnedAway};
use crate::pending::PendingQuestions;
use crate::plan::DnsPlan;
use crate::settings::AliasesAtPixel;
use crate::shape;
use crate::surroundings::RequestEnv;
use dns_wire::{BadQuery, DnsQuery, EdeCode, Rcode, UDP_BYTES_MAX, reply, synthesize};
use ledger::{EventSubject, RequestEvent};
use pipeline::machine;
use pipeline::state::{RunResponse, RunState, RunStep};
use policy::{Ask, ClientIdentity, Policy};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;
use transport::near::{self, ArrivedAt};
use vocab::{Action, Caching, Cause, Door, LinkInfo, Name, NameBuffer, Now, RequestKind, Source};

/// Time for which clients may keep that an answer was emptied.
const EMPTIED_TTL_S: u32 = 60;

/// Holds what one request sees of the world; it does not change under its feet.
#[derive(Clone, Copy)]
pub(crate) struct RequestView<'v> {
    pub(crate) shared: &'v Arc<DoorShared>,
    pub(crate) policy: &'v Policy,
    pub(crate) plan: &'v Arc<DnsPlan>,
}

impl RequestView<'_> {
    /// Returns what is known of the client beside its address. It says itself who it is: in the
    /// path of DNS over HTTPS, or in the first label of the name that it connects to.
    pub(crate) fn who<'c>(&self, caller: &DnsCaller<'c>) -> ClientIdentity<'c> {
        let id = Some(caller.client_id).filter(|id| !id.is_empty());
        ClientIdentity {
            id: id.or_else(|| self.plan.id_in(caller.server_name)),
            ..caller.near.into()
        }
    }

    /// Writes the answer to `query` for a blocked name.
    pub(crate) fn block(&self, query: &DnsQuery<'_>, caller: &DnsCaller<'_>, out: &mut Vec<u8>) {
        let style = self.policy.style_of(caller.client, Some(&self.who(caller)));
        self.plan.blocked.write(query, (style, self.reach(caller)), out);
    }

    /// Writes the answer to `query` for a name that is blocked for its alias alone.
    fn block_alias(&self, query: &DnsQuery<'_>, caller: &DnsCaller<'_>, out: &mut Vec<u8>) {
        let style = self.policy.style_of(caller.client, Some(&self.who(caller)));
        let reaches = match self.plan.aliases_at_pixel {
            AliasesAtPixel::Nothing => PixelReach::Nothing,
            AliasesAtPixel::Answers => self.reach(caller),
        };
        self.plan.blocked.write(query, (style, reaches), out);
    }

    /// Returns what the client would have of the pixel door's address.
    fn reach(&self, caller: &DnsCaller<'_>) -> PixelReach {
        if self.shared.trust.avoids(caller.client, caller.now) {
            PixelReach::Nothing
        } else {
            PixelReach::Pixel
        }
    }
}

/// Who asks, how, and when.
#[derive(Clone, Copy)]
pub(crate) struct DnsCaller<'c> {
    pub(crate) client: IpAddr,
    /// From which port; 0 where a proxy speaks for the client.
    pub(crate) client_port: u16,
    /// What its link tells of it, as far as the policy wants to know.
    pub(crate) near: LinkInfo,
    pub(crate) way: QueryTransport,
    pub(crate) now: Now,
    /// The same moment, finer: how long the request took is counted from here.
    pub(crate) begun: Instant,
    /// Which of the plan's entries the listener leads to; 0 is the first.
    pub(crate) entry: u16,
    /// The server name of TLS; empty without.
    pub(crate) server_name: &'c str,
    /// The path of the URL; empty outside HTTPS.
    pub(crate) url_path: &'c str,
    /// The client's identifier in that path; empty where there is none.
    pub(crate) client_id: &'c str,
}

/// Tells how the question came, which bounds the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueryTransport {
    Udp,
    Tcp,
    Tls,
    Https,
    Quic,
}

/// Tells whether [`handle`] is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandleOutcome {
    /// The reply is in the buffer; an empty one means that none is due.
    Now,
    /// The reply goes the way back that was given.
    Later,
}

/// A question, read.
#[derive(Clone, Copy)]
pub(crate) struct DnsRequest<'a> {
    pub(crate) query: &'a DnsQuery<'a>,
    pub(crate) name: Name<'a>,
    pub(crate) caller: DnsCaller<'a>,
}

/// Holds what a run has learnt beside the answer.
#[derive(Clone, Copy)]
pub(crate) struct RunFindings {
    /// Why the policy let it pass, or blocked it.
    pub(crate) cause: Cause,
    /// What the client is told of the reason.
    pub(crate) error: Option<EdeCode>,
    /// The same in words, where the number says too little.
    pub(crate) words: Option<&'static str>,
}

impl DnsCaller<'_> {
    /// The same with what its link tells of it, where the policy wants to know.
    pub(crate) fn near(
        mut self,
        policy: &Policy,
        came_to: impl FnOnce() -> Option<ArrivedAt>,
    ) -> Self {
        self.near = near::of(policy.near_wanted(), self.client, came_to, self.now);
        self
    }

    /// A client that asks now, at the plan's first entry.
    pub(crate) fn now(client: IpAddr, way: QueryTransport) -> Self {
        let (now, begun) = (transport::clock::now(), Instant::now());
        Self {
            client,
            client_port: 0,
            near: LinkInfo::default(),
            way,
            now,
            begun,
            entry: 0,
            server_name: "",
            url_path: "",
            client_id: "",
        }
    }
}

impl RunFindings {
    pub(crate) const NONE: Self = Self { cause: Cause::NotAsked, error: None, words: None };
}

/// Answers `message` into `reply`, which is empty, or takes it along for later.
pub(crate) fn handle(
    view: &RequestView<'_>,
    message: &[u8],
    caller: DnsCaller<'_>,
    reply: &mut Vec<u8>,
    back: impl FnOnce() -> ReplySink,
) -> HandleOutcome {
    let mut text = NameBuffer::new();
    let query = match DnsQuery::parse(message, &mut text) {
        Ok(query) => query,
        Err(bad) => {
            refuse_unread(view, bad, caller, reply);
            return HandleOutcome::Now;
        }
    };
    let asked = DnsRequest { query: &query, name: text.as_name(), caller };
    if !is_welcome(view, &asked, reply) {
        record_turned_away(view, &asked, reply);
        return HandleOutcome::Now;
    }
    let mut state = RunState::new(view.plan.entry(caller.entry));
    let mut around = RequestEnv::new(*view, caller, RunFindings::NONE);
    let step = machine::run(&view.plan.program, &mut state, &query, asked.name, &mut around, reply);
    let (findings, renewal) = around.leave();
    if let Some(renewal) = renewal {
        PendingQuestions::renewal(view, message, caller, renewal).start();
    }
    match step {
        RunStep::Done => {
            finish(view, &asked, findings, &mut state, reply);
            HandleOutcome::Now
        }
        RunStep::Wait(wait) => {
            let written = std::mem::take(reply);
            let pending = PendingQuestions::new(view, message, caller, state, findings, written);
            pending.answering(back()).wait(wait);
            HandleOutcome::Later
        }
    }
}

/// Answers what is no question, if it gets an answer at all: who sends such things is limited as
/// who asks is.
fn refuse_unread(
    view: &RequestView<'_>,
    bad: BadQuery<'_>,
    caller: DnsCaller<'_>,
    reply: &mut Vec<u8>,
) {
    let admission = view.plan.guard.admit_unread(&caller);
    let (mut bad, cookie) = match bad {
        BadQuery::Drop(_) => return record_refused(view, caller, reply),
        BadQuery::Reply(bad) => (bad, None),
        BadQuery::Cookie(bad, options) => (bad, Some(options)),
    };
    match (admission, cookie) {
        (Admission::Welcome, None) => synthesize::bad(&bad, reply),
        (Admission::Welcome, Some(options)) => {
            view.plan.guard.give_cookie(bad, options, &caller, reply);
        }
        // There is nothing to come again with over TCP.
        (Admission::Dropped | Admission::TurnedAway(TurnedAway::ComeByTcp), _) => {}
        (Admission::TurnedAway(_), _) => {
            bad.rcode = Rcode::Refused;
            synthesize::bad(&bad, reply);
        }
    }
    let judged = !reply.is_empty() && caller.way == QueryTransport::Udp;
    if judged && view.plan.guard.judge(&caller, SenderProof::Claimed, reply) != OutgoingFate::Send {
        reply.clear();
    }
    record_refused(view, caller, reply);
}

/// True if the guard lets the query in; if not, what it gets is in `reply`, which may be nothing.
fn is_welcome(view: &RequestView<'_>, asked: &DnsRequest<'_>, reply: &mut Vec<u8>) -> bool {
    let guard = &view.plan.guard;
    let seen = guard.read(asked.query, &asked.caller);
    let seen = seen.as_ref();
    let why = match guard.admit(&asked.caller, seen.map_err(|bad| *bad)) {
        Admission::Welcome => return true,
        Admission::Dropped => return false,
        Admission::TurnedAway(why) => why,
    };
    why.write(asked.query, seen.ok(), shape::limit_of(asked), reply);
    shape::send_or_not(view, asked, seen.ok(), reply);
    false
}

/// The second half of a request, the same for what was at hand and for what was waited for.
pub(crate) fn finish(
    view: &RequestView<'_>,
    asked: &DnsRequest<'_>,
    findings: RunFindings,
    state: &mut RunState,
    out: &mut Vec<u8>,
) {
    let mut reviewed = review(view, asked, findings, state, out);
    if let Some(error) = keep_outside(view, asked, state, out) {
        reviewed.findings.error = Some(error);
        reviewed.findings.words = Some(guard::REBINDING_WORDS);
    }
    let ReviewedAnswer { findings, source } = reviewed;
    shape::shape(view, asked, (source, findings), state, out);
    if out.is_empty() {
        // The flood that it belongs to is refused, whatever would have been answered.
        reviewed.source = Source::Refused;
    }
    record(view, asked, &reviewed, out);
}

/// Holds what is to be answered after the review.
pub(crate) struct ReviewedAnswer {
    pub(crate) findings: RunFindings,
    pub(crate) source: Source,
}

/// True if an answer is what some upstream said, now or before.
pub(crate) fn is_foreign(source: Source) -> bool {
    matches!(source, Source::Cache | Source::Stale | Source::Upstream)
}

/// Answers may lead to blocked names by their aliases; then they are as blocked as those, unless an
/// exception names what was asked for.
pub(crate) fn review(
    view: &RequestView<'_>,
    asked: &DnsRequest<'_>,
    findings: RunFindings,
    state: &mut RunState,
    out: &mut Vec<u8>,
) -> ReviewedAnswer {
    let source = state.source();
    let passed = ReviewedAnswer { findings, source };
    // A rule that lets the name itself pass covers where it leads; a pause covers everything.
    if !is_foreign(source) || !matches!(findings.cause, Cause::NoRule) {
        return passed;
    }
    let Some(cause) = blocked_alias(view, asked, state.response(), out) else { return passed };
    out.clear();
    view.block_alias(&bare(asked.query), &asked.caller, out);
    state.answer_made();
    let findings = RunFindings { cause, error: Some(EdeCode::Blocked), words: None };
    ReviewedAnswer { findings, source: Source::Policy }
}

/// Answers of public upstreams that point inside are empty: they would lead browsers around their
/// same-origin rule. Zones that an upstream of ours is responsible for may point where they like.
pub(crate) fn keep_outside(
    view: &RequestView<'_>,
    asked: &DnsRequest<'_>,
    state: &mut RunState,
    out: &mut Vec<u8>,
) -> Option<EdeCode> {
    if !is_foreign(state.source()) {
        return None;
    }
    let message = match state.response() {
        RunResponse::Nothing => return None,
        RunResponse::Made => &out[..],
        RunResponse::Kept(answer, _) => answer.message(),
    };
    if !view.plan.guard.forbids(asked.name, message) || view.plan.special.is_delegated(asked.name) {
        return None;
    }
    out.clear();
    synthesize::nodata(&bare(asked.query), EMPTIED_TTL_S, None, out);
    state.answer_made();
    Some(guard::REBINDING_ERROR)
}

fn blocked_alias(
    view: &RequestView<'_>,
    asked: &DnsRequest<'_>,
    response: &RunResponse,
    out: &[u8],
) -> Option<Cause> {
    let mut found = None;
    let mut look = |alias: Name<'_>| {
        let who = view.who(&asked.caller);
        let ask = Ask::lookup(asked.name, asked.query.qtype, asked.caller.client).by(&who);
        found = view.policy.judge_alias(&ask, alias, asked.caller.now);
        found.is_some()
    };
    match response {
        RunResponse::Nothing => {}
        RunResponse::Made => drop(reply::any_alias(out, look)),
        RunResponse::Kept(answer, _) => {
            answer.aliases().iter().any(|alias| look(alias.as_name()));
        }
    }
    found
}

fn record(view: &RequestView<'_>, asked: &DnsRequest<'_>, reviewed: &ReviewedAnswer, reply: &[u8]) {
    let source = reviewed.source;
    let action = if source == Source::Policy { Action::Block } else { Action::Pass };
    let ledger = &view.shared.ledger;
    let took_us = took_us(asked.caller);
    if !ledger.wants_row(action) {
        return ledger.count(Door::Dns, action, source, took_us);
    }
    ledger.record(RequestEvent {
        at: asked.caller.now,
        took_us,
        door: Door::Dns,
        client: asked.caller.client,
        kind: RequestKind::Lookup(asked.query.qtype),
        subject: EventSubject::name(asked.name),
        action,
        cause: reviewed.findings.cause,
        source,
        caching: Caching::NONE,
        status: rcode_of(reply),
        bytes: reply.len() as u32,
    });
}

/// A query that the guard turned away.
fn record_turned_away(view: &RequestView<'_>, asked: &DnsRequest<'_>, reply: &[u8]) {
    let reviewed = ReviewedAnswer { findings: RunFindings::NONE, source: Source::Refused };
    record(view, asked, &reviewed, reply);
}

/// A message that is no question: what could be read of it was too little to name it.
fn record_refused(view: &RequestView<'_>, caller: DnsCaller<'_>, reply: &[u8]) {
    view.shared.ledger.record(RequestEvent {
        at: caller.now,
        took_us: took_us(caller),
        door: Door::Dns,
        client: caller.client,
        kind: RequestKind::Other,
        subject: EventSubject::name(Name::ROOT),
        action: Action::Pass,
        cause: Cause::NotAsked,
        source: Source::Refused,
        caching: Caching::NONE,
        status: rcode_of(reply),
        bytes: reply.len() as u32,
    });
}

/// A message longer than any question: no reply, one event, and it counts for its sender.
pub(crate) fn refuse_oversized(view: &RequestView<'_>, caller: DnsCaller<'_>) {
    // Whether it were let in makes no difference: there is nothing to read.
    let _ = view.plan.guard.admit_unread(&caller);
    record_refused(view, caller, &[]);
}

fn took_us(caller: DnsCaller<'_>) -> u32 {
    u32::try_from(caller.begun.elapsed().as_micros()).unwrap_or(u32::MAX)
}

/// The response code in a reply's header; that of REFUSED where there is no reply, since to say
/// nothing is to refuse.
fn rcode_of(reply: &[u8]) -> u16 {
    reply.get(3).map_or(Rcode::Refused.code(), |flags| u16::from(flags & 15))
}

/// The query as one without EDNS: what is written for it has no OPT, which `shape` adds.
pub(crate) fn bare<'q>(query: &DnsQuery<'q>) -> DnsQuery<'q> {
    DnsQuery { edns: None, ..*query }
}

/// Room for a reply of usual length.
pub(crate) const REPLY_BYTES: usize = UDP_BYTES_MAX;
