//! What a client may be told of the options that went to upstreams with its question.
//!
//! It reads a run that has ended and writes nothing: the DNS door knows what the client sent and
//! what still fits. What a run in another's stead learnt stays with that run.

use super::answers::{SUBNET_OPTION, passed};
use super::matching;
use crate::program::Program;
use crate::state::{RunResponse, RunState};
use dns_wire::{DnsQuery, WireAnswer};

/// The options that went to upstreams, and the answer that came back with some.
#[derive(Clone, Copy, Debug)]
pub struct Returned<'r> {
    /// Codes of the options that were to be passed on: what the answer says by them is the
    /// client's.
    pub codes: &'r [u16],
    /// Bits of the client subnet that went upstream; none where none went.
    pub subnet_bits: Option<u8>,
    /// The upstreams' answer, whose options these are; none where it is not known any more.
    pub answer: Option<&'r WireAnswer>,
}

/// Returns what comes back of a run that answers `query`.
pub fn returned<'r>(
    program: &'r Program,
    state: &'r RunState,
    query: &DnsQuery<'_>,
) -> Returned<'r> {
    let codes = passed(program, &state.extra);
    let sent = codes
        .contains(&SUBNET_OPTION)
        .then(|| matching::option(query.options, SUBNET_OPTION))
        .flatten()
        // Code, length, family, then its bits.
        .and_then(|option| option.get(6).copied());
    let answer = match &state.response {
        RunResponse::Kept(answer, _) => Some(&**answer),
        RunResponse::Made => state.upstream_answer.as_deref(),
        RunResponse::Nothing => None,
    };
    let subnet_bits = sent.or(state.extra.subnet.map(|(_, bits)| bits));
    Returned { codes, subnet_bits, answer }
}
