//! One DNS question from its bytes to its answer: read, decide, act, review, shape, record.
//!
//! UDP workers and TCP connections both call [`handle`], once a message. What can be answered at
//! once (a local record, a blocked name, a cached answer) goes into the caller's buffer without an
//! allocation; a question for an upstream leaves with the resolver and comes back through
//! [`Pending::resume`], on the resolver's thread, into the same review, shape and record.

use crate::door::{Plan, Shared};
use crate::special::Special;
use dns_wire::records::LocalAnswer;
use dns_wire::{
    Answer, BadQuery, CLASS_IN, Ede, EdeCode, KeyBuffer, Query, Rcode, UDP_BYTES_MAX, forge,
    record_type,
};
use ledger::{Event, Subject};
use policy::{Ask, Effect, Outcome, Policy, Verdict};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Instant;
use transport::Held;
use transport::udp::{Origin, UdpSocket};
use upstream::resolver::{Cached, Question, Resolution};
use vocab::{Action, Cause, Door, Kind, Name, NameBuffer, Now, Source};

/// Longest answer over TCP: what its two length bytes can say (RFC 1035 §4.2.2).
const TCP_REPLY_BYTES_MAX: usize = 65_535;

/// How long clients may keep what special names mean: that does not change.
const SPECIAL_TTL_S: u32 = 3600;

/// How long clients may keep the little that ANY gets.
const ANY_TTL_S: u32 = 3600;

/// No upstream answered (RFC 8914 §4.23).
const UNREACHABLE: Option<Ede<'_>> = Some(Ede { code: EdeCode::NoReachableAuthority, text: "" });

const LOOPBACK: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];

/// What one request sees of the world; it does not change under its feet.
pub(crate) struct View<'v> {
    pub(crate) shared: &'v Arc<Shared>,
    pub(crate) policy: &'v Policy,
    pub(crate) plan: &'v Plan,
}

/// Who asks, how, and when.
#[derive(Clone, Copy)]
pub(crate) struct Caller {
    pub(crate) client: IpAddr,
    pub(crate) way: Way,
    pub(crate) now: Now,
    /// The same moment, finer: how long the request took is counted from here.
    pub(crate) begun: Instant,
}

/// How the question came, which bounds the answer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Udp,
    Tcp,
}

/// How an answer that takes a while goes back.
pub(crate) enum Back {
    Udp { socket: Arc<UdpSocket>, origin: Origin },
    Tcp { answers: tokio::sync::mpsc::Sender<Vec<u8>> },
}

/// Whether [`handle`] is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handled {
    /// The reply is in the buffer; an empty one means that none is due.
    Now,
    /// The reply goes the way back that was given.
    Later,
}

/// A question, read.
struct Asked<'a> {
    query: &'a Query<'a>,
    name: Name<'a>,
    caller: Caller,
}

/// What is to be done with a question.
#[derive(Clone, Copy)]
enum Decision<'v> {
    /// It is none that this door answers.
    Refuse,
    /// It asks for all there is.
    Any,
    Local(LocalAnswer<'v>),
    Special(Special),
    Block(Cause),
    /// Look it up; the policy lets it pass for this cause.
    Ask(Cause),
}

/// What there is to answer.
enum Found<'v> {
    Refusal,
    Any,
    Local(LocalAnswer<'v>),
    Special(Special),
    Blocked(Cause),
    Answer { answer: Arc<Answer>, age_s: u32, source: Source, cause: Cause },
    Nothing { source: Source, cause: Cause },
    Waiting,
}

/// Answers `message` into `reply`, which is empty, or takes it along for later.
pub(crate) fn handle(
    view: &View<'_>,
    message: &[u8],
    caller: Caller,
    reply: &mut Vec<u8>,
    back: impl FnOnce() -> Back,
) -> Handled {
    let mut text = NameBuffer::new();
    let query = match Query::parse(message, &mut text) {
        Ok(query) => query,
        Err(bad) => {
            if let BadQuery::Reply(bad) = &bad {
                forge::bad(bad, reply);
            }
            record_refused(view, caller, reply);
            return Handled::Now;
        }
    };
    let asked = Asked { query: &query, name: text.as_name(), caller };
    let decision = decide(view, &asked);
    let found = act(view, &asked, message, decision, back);
    if let Found::Waiting = found {
        return Handled::Later;
    }
    finish(view, &asked, found, reply);
    Handled::Now
}

/// The second half of a request, the same for what was at hand and for what was waited for.
fn finish(view: &View<'_>, asked: &Asked<'_>, found: Found<'_>, reply: &mut Vec<u8>) {
    let found = review(view, asked, found);
    shape(view, asked, &found, reply);
    record(view, asked, &found, reply);
}

fn decide<'v>(view: &View<'v>, asked: &Asked<'_>) -> Decision<'v> {
    let query = asked.query;
    if query.qclass != CLASS_IN || is_meta(query.qtype) {
        return Decision::Refuse;
    }
    if let Some(records) = view.plan.local.lookup(asked.name, query.qtype) {
        return Decision::Local(records);
    }
    if let Some(special) = view.plan.special.find(asked.name) {
        return Decision::Special(special);
    }
    let verdict = ask(view, asked, asked.name);
    match verdict.action {
        Action::Block => Decision::Block(verdict.cause),
        Action::Pass if query.qtype == record_type::ANY => Decision::Any,
        Action::Pass => Decision::Ask(verdict.cause),
    }
}

fn ask(view: &View<'_>, asked: &Asked<'_>, name: Name<'_>) -> Verdict {
    let ask = Ask::lookup(name, asked.query.qtype, asked.caller.client);
    view.policy.decide(&ask, asked.caller.now)
}

fn act<'v>(
    view: &View<'v>,
    asked: &Asked<'_>,
    message: &[u8],
    decision: Decision<'v>,
    back: impl FnOnce() -> Back,
) -> Found<'v> {
    let cause = match decision {
        Decision::Refuse => return Found::Refusal,
        Decision::Any => return Found::Any,
        Decision::Local(records) => return Found::Local(records),
        Decision::Special(special) => return Found::Special(special),
        Decision::Block(cause) => return Found::Blocked(cause),
        Decision::Ask(cause) => cause,
    };
    let mut key = KeyBuffer::new();
    asked.query.key(&mut key);
    match view.shared.resolver.cached(key.as_bytes(), asked.caller.now) {
        Cached::Fresh { answer, age_s } => {
            Found::Answer { answer, age_s, source: Source::Cache, cause }
        }
        Cached::Stale { answer, age_s } => {
            Found::Answer { answer, age_s, source: Source::Stale, cause }
        }
        Cached::Miss => {
            let pending = Pending {
                shared: Arc::clone(view.shared),
                message: message.into(),
                caller: asked.caller,
                cause,
                back: back(),
                _held: view.shared.drain.hold(),
            };
            let question = Question::new(asked.query, &key);
            let done = Box::new(move |resolution| pending.resume(resolution));
            match view.shared.resolver.submit(question, done) {
                Ok(()) => Found::Waiting,
                Err(_overloaded) => Found::Nothing { source: Source::Refused, cause },
            }
        }
    }
}

/// Answers may lead to blocked names by their aliases; then they are as blocked as those, unless an
/// exception names what was asked for.
fn review<'v>(view: &View<'_>, asked: &Asked<'_>, found: Found<'v>) -> Found<'v> {
    let Found::Answer { answer, cause, .. } = &found else { return found };
    // A rule that lets the name itself pass covers where it leads; a pause covers everything.
    if !matches!(cause, Cause::NoRule) {
        return found;
    }
    for alias in answer.aliases() {
        let verdict = ask(view, asked, alias.as_name());
        if verdict.action == Action::Block && !is_excepted(view, asked) {
            if let Cause::Rule(rule) = verdict.cause {
                // The pixel door and the signer see the name alone: tell them what stands behind it.
                view.policy.note_alias(asked.name, alias.as_name(), rule, asked.caller.now);
            }
            return Found::Blocked(verdict.cause);
        }
    }
    found
}

/// Whether an exception holds for the name asked for. A verdict names exceptions only where they
/// overrule something, so the full reasoning is asked for; that allocates, which answers with a
/// blocked alias are rare enough to bear.
fn is_excepted(view: &View<'_>, asked: &Asked<'_>) -> bool {
    let ask = Ask::lookup(asked.name, asked.query.qtype, asked.caller.client);
    view.policy.explain(&ask, asked.caller.now).considered.iter().any(|rule| {
        rule.effect == Effect::Exception
            && matches!(rule.outcome, Outcome::Decides | Outcome::Outranked)
    })
}

fn shape(view: &View<'_>, asked: &Asked<'_>, found: &Found<'_>, reply: &mut Vec<u8>) {
    let query = asked.query;
    let limit = match asked.caller.way {
        Way::Udp => query.udp_limit(),
        Way::Tcp => TCP_REPLY_BYTES_MAX,
    };
    match found {
        Found::Refusal => forge::refused(query, None, reply),
        Found::Any => forge::any(query, ANY_TTL_S, reply),
        Found::Local(records) => records.write(query, limit, reply),
        Found::Special(Special::Loopback) => {
            forge::addresses(query, &LOOPBACK, SPECIAL_TTL_S, None, reply);
        }
        Found::Special(Special::NoSuchName) => forge::nxdomain(query, SPECIAL_TTL_S, None, reply),
        Found::Special(Special::Nothing) => forge::nodata(query, SPECIAL_TTL_S, None, reply),
        Found::Blocked(_) => view.plan.blocked.write(query, reply),
        Found::Answer { answer, source: Source::Stale, .. } => {
            answer.write_stale(query, limit, reply);
        }
        Found::Answer { answer, age_s, .. } => answer.write(query, *age_s, limit, reply),
        Found::Nothing { .. } => forge::servfail(query, UNREACHABLE, reply),
        Found::Waiting => {}
    }
}

fn record(view: &View<'_>, asked: &Asked<'_>, found: &Found<'_>, reply: &[u8]) {
    let (action, cause, source) = match *found {
        Found::Refusal => (Action::Pass, Cause::NotAsked, Source::Refused),
        Found::Any | Found::Local(_) | Found::Special(_) => {
            (Action::Pass, Cause::NotAsked, Source::Local)
        }
        Found::Blocked(cause) => (Action::Block, cause, Source::Policy),
        Found::Answer { source, cause, .. } | Found::Nothing { source, cause } => {
            (Action::Pass, cause, source)
        }
        Found::Waiting => return,
    };
    let ledger = &view.shared.ledger;
    let took_us = took_us(asked.caller);
    if !ledger.wants_row(action) {
        return ledger.count(Door::Dns, action, source, took_us);
    }
    ledger.record(Event {
        at: asked.caller.now,
        took_us,
        door: Door::Dns,
        client: asked.caller.client,
        kind: Kind::Lookup(asked.query.qtype),
        subject: Subject::name(asked.name),
        action,
        cause,
        source,
        status: rcode_of(reply),
        bytes: reply.len() as u32,
    });
}

/// A message that is no question: what could be read of it was too little to name it.
fn record_refused(view: &View<'_>, caller: Caller, reply: &[u8]) {
    view.shared.ledger.record(Event {
        at: caller.now,
        took_us: took_us(caller),
        door: Door::Dns,
        client: caller.client,
        kind: Kind::Other,
        subject: Subject::name(Name::ROOT),
        action: Action::Pass,
        cause: Cause::NotAsked,
        source: Source::Refused,
        status: rcode_of(reply),
        bytes: reply.len() as u32,
    });
}

/// A message longer than any question: no reply, one event.
pub(crate) fn refuse_oversized(view: &View<'_>, caller: Caller) {
    record_refused(view, caller, &[]);
}

fn took_us(caller: Caller) -> u32 {
    u32::try_from(caller.begun.elapsed().as_micros()).unwrap_or(u32::MAX)
}

/// The response code in a reply's header; that of FORMERR where there is no reply.
fn rcode_of(reply: &[u8]) -> u16 {
    reply.get(3).map_or(Rcode::FormErr.code(), |flags| u16::from(flags & 15))
}

/// Types that ask for no records of a name: transfers, transactions, EDNS (RFC 6895 §3.1). ANY
/// among them is answered, with as little as possible.
fn is_meta(qtype: u16) -> bool {
    qtype == record_type::OPT || (128..=255).contains(&qtype) && qtype != record_type::ANY
}

/// A question that waits for upstreams, with all that its second half needs.
struct Pending {
    shared: Arc<Shared>,
    message: Box<[u8]>,
    caller: Caller,
    /// Why the policy let it pass.
    cause: Cause,
    back: Back,
    /// The process does not end before it is answered.
    _held: Held,
}

impl Pending {
    /// Takes up the request where `act` left it, with what the upstreams said.
    fn resume(self, resolution: Resolution) {
        let mut text = NameBuffer::new();
        // It was read once already, from the same bytes.
        let Ok(query) = Query::parse(&self.message, &mut text) else { return };
        let asked = Asked { query: &query, name: text.as_name(), caller: self.caller };
        let (policy, plan) = (self.shared.policy.load(), self.shared.plan.load());
        let view = View { shared: &self.shared, policy: &policy, plan: &plan };
        let found = match resolution.result {
            Ok((answer, age_s)) => {
                Found::Answer { answer, age_s, source: resolution.source, cause: self.cause }
            }
            Err(_) => Found::Nothing { source: Source::Failed, cause: self.cause },
        };
        let mut reply = Vec::with_capacity(UDP_BYTES_MAX);
        finish(&view, &asked, found, &mut reply);
        self.back.send(reply);
    }
}

impl Back {
    fn send(self, reply: Vec<u8>) {
        match self {
            // A full send buffer or a vanished client loses a reply, as a network would.
            Self::Udp { socket, origin } => drop(socket.reply(&origin, &reply)),
            // The channel has room for every question its connection may have out.
            Self::Tcp { answers } => drop(answers.try_send(reply)),
        }
    }
}
