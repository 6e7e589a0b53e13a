//! Makes an answer fit for its client: written out, within its size, with the options that are due.
//!
//! It decides nothing about names. What it takes away are hints at addresses of a filtered family,
//! and, for a flood, the answer itself. Called by `request` for every answer that is not a refusal
//! to read the question.

use crate::caller::QueryTransport;
use crate::dns_request::{DnsRequest, bare};
use crate::findings::{ReviewedAnswer, is_foreign};
use crate::guard::{self, OutgoingFate, SeenOptions, SenderProof};
use crate::settings::client_subnet::SubnetMode;
use crate::view::RequestView;
use dns_wire::options::{ClientSubnet, OPTION_SUBNET, iter_options};
use dns_wire::reply::{self, MessageSection};
use dns_wire::{CLASS_IN, Ede, EdeCode, record_type, svcb, synthesize};
use pipeline::machine::{self, Returned};
use pipeline::state::{RunFailure, RunResponse, RunState};
use vocab::{Cause, Source};

/// Longest answer over a stream: what its two length bytes can say (RFC 1035 §4.2.2).
const STREAM_REPLY_BYTES_MAX: usize = 65_535;

/// Time for which clients may keep that a service binding could not be freed of its hints.
const EMPTIED_TTL_S: u32 = 60;

/// What is told of an upstream that is this server.
const LOOP_TEXT: &str = "an upstream leads back to this server";

/// OPT without options, and an extended error without text.
const OPT_BYTES_MAX: usize = 17;

/// Returns how long the answer may be.
pub(crate) fn limit_of(asked: &DnsRequest<'_>) -> usize {
    match asked.caller.transport {
        QueryTransport::Udp => asked.query.udp_limit(),
        QueryTransport::Tcp
        | QueryTransport::Tls
        | QueryTransport::Https
        | QueryTransport::Quic => STREAM_REPLY_BYTES_MAX,
    }
}

/// Lets the guard look at what is about to leave: a flood of answers to a forged address is none.
pub(crate) fn send_or_not(
    view: &RequestView<'_>,
    asked: &DnsRequest<'_>,
    seen: Option<&SeenOptions>,
    reply: &mut Vec<u8>,
) {
    let sender = seen.map_or(SenderProof::Claimed, |seen| seen.sender);
    if asked.caller.transport != QueryTransport::Udp {
        return;
    }
    match view.plan.guard.reply_fate(&asked.caller, sender, reply) {
        OutgoingFate::Send => {}
        OutgoingFate::Truncate => {
            reply.clear();
            guard::write_truncated(asked.query, seen, limit_of(asked), reply);
        }
        OutgoingFate::Drop => reply.clear(),
    }
}

/// Makes the answer of `state` fit for the client; left empty, none goes out.
pub(crate) fn shape(
    view: &RequestView<'_>,
    asked: &DnsRequest<'_>,
    reviewed: &ReviewedAnswer,
    state: &RunState,
    out: &mut Vec<u8>,
) {
    let ReviewedAnswer { findings, source } = *reviewed;
    let (query, mut error) = (asked.query, findings.error);
    match state.response() {
        RunResponse::Made => {}
        RunResponse::Kept(answer, _) if source == Source::Stale => {
            answer.write_stale_message(query, out);
            error = Some(answer.stale_error());
        }
        RunResponse::Kept(answer, age_s) => answer.write_message(query, *age_s, out),
        RunResponse::Nothing => match state.failure() {
            None => machine::write_default_answer(&view.plan.program, query, out),
            Some(why) => {
                synthesize::servfail(&bare(query), None, out);
                error = Some(error_of(why));
            }
        },
    }
    if is_foreign(source) && filter_hints(view, asked, out) == HintState::InTheWay {
        out.clear();
        synthesize::nodata(&bare(query), EMPTIED_TTL_S, None, out);
        error = Some(EdeCode::Filtered);
    }
    let plainly = |code| Ede { code, text: "" };
    let (limit, rcode) = (limit_of(asked), state.extended_rcode());
    // It was read when the query came in, and reads the same now.
    let Ok(mut seen) = view.plan.guard.read(query, &asked.caller) else {
        return reply::finish(query, rcode, error.map(plainly), &[], limit, 0, out);
    };
    let returned = machine::returned(&view.plan.program, state, query);
    seen.answer.subnet = echoed(view, source, &returned, seen.subnet);
    let room = limit.saturating_sub(out.len() + OPT_BYTES_MAX + seen.answer.len());
    let text = match state.failure() {
        Some(RunFailure::Loop) if room >= LOOP_TEXT.len() => LOOP_TEXT.to_owned(),
        _ => match findings.text {
            Some(words) if !seen.reads_structured && room >= words.len() => words.to_owned(),
            _ => reason(view, asked, &seen, error, findings.cause, room),
        },
    };
    let error = error.map(|code| Ede { code, text: &text });
    let room = room.saturating_sub(text.len());
    let passed = passed_back(source, &returned, room);
    let options = seen.answer.write(query, error, out.len() + passed.len(), limit);
    if passed.is_empty() {
        reply::finish(query, rcode, error, options.as_bytes(), limit, 0, out);
    } else {
        let all = [&passed, options.as_bytes()].concat();
        reply::finish(query, rcode, error, &all, limit, 0, out);
    }
    send_or_not(view, asked, Some(&seen), out);
}

/// The reason in a form that programs show, for a client that reads it; mostly none.
fn reason(
    view: &RequestView<'_>,
    asked: &DnsRequest<'_>,
    seen: &SeenOptions,
    error: Option<EdeCode>,
    cause: Cause,
    room: usize,
) -> String {
    let Some(code) = error.filter(|_| seen.reads_structured) else { return String::new() };
    let rule = cause.rule().and_then(|rule| view.policy.rule_text(rule, asked.name));
    view.plan.in_charge.text(code, rule.as_ref(), room)
}

/// Tells what is the matter with the hints of an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HintState {
    /// None of a filtered family is left.
    Fine,
    /// They cannot be taken out.
    InTheWay,
}

/// Takes the addresses of filtered families out of service bindings and of what stands beside them:
/// whoever filters AAAA means that clients do not get such addresses at all.
fn filter_hints(view: &RequestView<'_>, asked: &DnsRequest<'_>, out: &mut Vec<u8>) -> HintState {
    let filtered = &view.plan.filtered;
    let is_binding = matches!(asked.query.qtype, record_type::SVCB | record_type::HTTPS);
    if filtered.is_empty() || !is_binding || asked.query.qclass != CLASS_IN {
        return HintState::Fine;
    }
    for family in [record_type::A, record_type::AAAA] {
        if !filtered.contains(&family) {
            continue;
        }
        if svcb::strip_hints(out, 0, family).is_err() {
            return HintState::InTheWay;
        }
        let beside =
            |it: reply::ReplyRecord<'_>| it.section != MessageSection::Answer && it.rtype == family;
        if reply::records(out).any(beside) {
            reply::drop_additional(out, 0);
        }
    }
    HintState::Fine
}

/// The client's subnet with the scope of the answer, for a client that sent one and may be told
/// (RFC 7871 §7.2.1); none for any other.
fn echoed(
    view: &RequestView<'_>,
    source: Source,
    returned: &Returned<'_>,
    sent: Option<ClientSubnet>,
) -> Option<ClientSubnet> {
    let sent = sent?;
    let mode = view.plan.client_subnet.mode;
    if mode == SubnetMode::Off && returned.subnet_bits.is_none() {
        // Who asks upstreams for nobody in particular answers as one that does not know the option.
        return None;
    }
    let scope = match returned.subnet_bits {
        Some(bits) if is_foreign(source) && sent.bits() > 0 && mode != SubnetMode::Fixed => {
            // Where the scope is not known any more, it is no wider than what was sent.
            returned.answer.and_then(dns_wire::WireAnswer::subnet_scope).unwrap_or(bits)
        }
        // The same answer for everybody.
        Some(_) | None => 0,
    };
    Some(sent.with_scope(scope))
}

/// The options of the upstream's answer that the program passes back, as raw bytes, up to `room` of
/// them; mostly none. Client subnet is [`echoed`]'s.
fn passed_back(source: Source, returned: &Returned<'_>, room: usize) -> Vec<u8> {
    let mut passed = Vec::new();
    let Some(answer) = returned.answer.filter(|_| is_foreign(source)) else { return passed };
    for (code, data) in iter_options(answer.options()) {
        let is_wanted = code != OPTION_SUBNET && returned.codes.contains(&code);
        if is_wanted && passed.len() + 4 + data.len() <= room {
            passed.extend_from_slice(&code.to_be_bytes());
            // It came with as long a length.
            passed.extend_from_slice(&(data.len() as u16).to_be_bytes());
            passed.extend_from_slice(data);
        }
    }
    passed
}

fn error_of(why: RunFailure) -> EdeCode {
    match why {
        // RFC 8914 §4.23 and §4.24.
        RunFailure::Upstream | RunFailure::Overloaded => EdeCode::NoReachableAuthority,
        RunFailure::Network | RunFailure::Loop => EdeCode::NetworkError,
        RunFailure::Program | RunFailure::Effect => EdeCode::NotSupported,
    }
}
