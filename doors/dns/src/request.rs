//! One DNS question from its bytes to its answer: read, decide, act; and in [`finish`] review,
//! shape, record.
//!
//! Every listener calls [`handle`], once a message. To decide and to act is to run the plan's
//! program (`pipeline`), which the simple settings and foreign pipelines alike are compiled to.
//! What can be answered at once goes into the caller's buffer without an allocation; a question
//! that must wait leaves with `pending` and comes back into the same [`finish`].

use crate::caller::{DnsCaller, QueryTransport};
use crate::dns_request::DnsRequest;
use crate::findings::RunFindings;
use crate::finish::finish;
use crate::guard::{Admission, AdmissionRefusal, OutgoingFate, SenderProof};
use crate::pending::PendingQuestions;
use crate::record;
use crate::reply_sink::ReplySink;
use crate::request_env::RequestEnv;
use crate::shape;
use crate::view::RequestView;
use dns_wire::{BadQuery, DnsQuery, Rcode, synthesize};
use pipeline::machine;
use pipeline::state::{RunState, RunStep};
use vocab::NameBuffer;

/// Tells whether [`handle`] is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandleOutcome {
    /// The reply is in the buffer; an empty one means that none is due.
    Now,
    /// The reply goes the way back that was given.
    Later,
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
            answer_malformed(view, bad, caller, reply);
            return HandleOutcome::Now;
        }
    };
    let asked = DnsRequest { query: &query, name: text.as_name(), caller };
    if !is_admitted(view, &asked, reply) {
        record::turned_away(view, &asked, reply);
        return HandleOutcome::Now;
    }
    let mut state = RunState::new(view.plan.entry(caller.entry));
    let mut around = RequestEnv::new(*view, caller, RunFindings::NONE);
    let step = machine::run(&view.plan.program, &mut state, &query, asked.name, &mut around, reply);
    let (findings, renewal) = around.finish();
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
fn answer_malformed(
    view: &RequestView<'_>,
    bad: BadQuery<'_>,
    caller: DnsCaller<'_>,
    reply: &mut Vec<u8>,
) {
    let admission = view.plan.guard.admit_malformed(&caller);
    let (mut bad, cookie) = match bad {
        BadQuery::Drop(_) => return record::refused(view, caller, reply),
        BadQuery::Reply(bad) => (bad, None),
        BadQuery::Cookie(bad, options) => (bad, Some(options)),
    };
    match (admission, cookie) {
        (Admission::Admitted, None) => synthesize::bad(&bad, reply),
        (Admission::Admitted, Some(options)) => {
            view.plan.guard.write_cookie_reply(bad, options, &caller, reply);
        }
        // There is nothing to come again with over TCP.
        (Admission::Dropped | Admission::Refused(AdmissionRefusal::RetryOverTcp), _) => {}
        (Admission::Refused(_), _) => {
            bad.rcode = Rcode::Refused;
            synthesize::bad(&bad, reply);
        }
    }
    let judged = !reply.is_empty() && caller.transport == QueryTransport::Udp;
    if judged
        && view.plan.guard.reply_fate(&caller, SenderProof::Claimed, reply) != OutgoingFate::Send
    {
        reply.clear();
    }
    record::refused(view, caller, reply);
}

/// True if the guard lets the query in; if not, what it gets is in `reply`, which may be nothing.
fn is_admitted(view: &RequestView<'_>, asked: &DnsRequest<'_>, reply: &mut Vec<u8>) -> bool {
    let guard = &view.plan.guard;
    let seen = guard.read(asked.query, &asked.caller);
    let seen = seen.as_ref();
    let why = match guard.admit(&asked.caller, seen.map_err(|bad| *bad)) {
        Admission::Admitted => return true,
        Admission::Dropped => return false,
        Admission::Refused(why) => why,
    };
    why.write(asked.query, seen.ok(), shape::limit_of(asked), reply);
    shape::send_or_not(view, asked, seen.ok(), reply);
    false
}

/// A message longer than any question: no reply, one event, and it counts for its sender.
pub(crate) fn refuse_oversized(view: &RequestView<'_>, caller: DnsCaller<'_>) {
    // Whether it were let in makes no difference: there is nothing to read.
    let _ = view.plan.guard.admit_malformed(&caller);
    record::refused(view, caller, &[]);
}
