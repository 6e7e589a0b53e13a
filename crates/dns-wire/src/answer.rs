//! An answer as it is kept: the response in wire form, without OPT, with the places of its TTLs.
//!
//! [`WireAnswer::from_response`] reads a foreign message once, strictly; from then on every client
//! gets a copy with a few bytes patched. It never takes a truncated response, and never keeps
//! anything longer than a day. Called by the resolver (in) and the DNS door (out).

mod answer_options;
mod scrub;

pub use answer_options::OPTIONS_BYTES_MAX;

use crate::codes::{Ede, EdeCode, record_type};
use crate::query::DnsQuery;
use crate::reply::{self, MessageSection};
use crate::synthesize;
use crate::wire::{self, HEADER_BYTES, MalformedMessage, WireRecord, bits, u16_at, u32_at};
use scrub::{AnswerScrubber, NoInspection, RecordInspector, ScrubOutcome};
use std::fmt;
use std::net::IpAddr;
use vocab::{DomainName, NameBuffer};

/// Longest time that an answer is kept, in seconds: a day, as RFC 8767 §4 suggests a cap of days.
pub const TTL_MAX_S: u32 = 86_400;
/// Longest time that a negative answer is kept, in seconds (RFC 2308 §5: one to three hours).
pub const NEGATIVE_TTL_MAX_S: u32 = 10_800;
/// Time for which a negative answer without SOA is kept, in seconds. RFC 2308 §5 would not keep it;
/// a minute spares the upstream a storm.
pub const NEGATIVE_TTL_WITHOUT_SOA_S: u32 = 60;
/// Time for which a failure of the upstream is kept, in seconds (RFC 9520 §3.2: 1 s to 5 min).
pub const FAILURE_TTL_S: u32 = 5;
/// The TTL that clients see on an answer past its time (RFC 8767 §4).
pub const STALE_TTL_S: u32 = 30;
/// Aliases noted of one answer. No honest chain is longer; a longer one is refused, since the
/// policy could not check it.
pub const ALIASES_MAX: usize = 16;

const RCODE_NOERROR: u8 = 0;
const RCODE_NXDOMAIN: u8 = 3;

/// A response, kept.
#[derive(Clone, PartialEq, Eq)]
pub struct WireAnswer {
    /// Header, question and records; no OPT, no signature of the transaction.
    wire: Box<[u8]>,
    /// Where its TTLs stand, in order.
    ttls: Box<[u16]>,
    aliases: Box<[DomainName]>,
    ttl: u32,
    /// Where the question ends.
    records_at: u16,
    /// Where the additional section starts.
    additional_at: u16,
    /// Number of records that section holds.
    additionals: u16,
    /// What else the upstream said; none where it spoke no EDNS, or that is not known any more.
    options: Option<Box<[u8]>>,
}

/// Why a message cannot be kept as an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadAnswer {
    /// Ends early, or its parts do not fit each other.
    Malformed,
    /// Is a query, or of another opcode.
    NoResponse,
    /// TC is set: the rest must be fetched over a stream.
    Truncated,
    /// Does not hold exactly one question.
    Questions,
    /// Over [`ALIASES_MAX`] aliases.
    TooManyAliases,
    /// An alias leads back to a name that led to it.
    AliasLoop,
    /// None of its answers belongs to the question.
    Foreign,
}

impl fmt::Display for BadAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "the answer is malformed",
            Self::NoResponse => "the answer is no response",
            Self::Truncated => "the answer is truncated",
            Self::Questions => "the answer does not repeat one question",
            Self::TooManyAliases => "the answer's chain of aliases is too long",
            Self::AliasLoop => "the answer's chain of aliases leads in a circle",
            Self::Foreign => "the answer is about other names",
        })
    }
}

impl std::error::Error for BadAnswer {}

impl From<MalformedMessage> for BadAnswer {
    fn from(_: MalformedMessage) -> Self {
        Self::Malformed
    }
}

/// Holds what is learnt on the way through the records.
struct AnswerSurvey {
    ttls: Vec<u16>,
    aliases: Vec<DomainName>,
    /// The least TTL of the answer section.
    least: u32,
    /// True if a record of the type asked for is there.
    positive: bool,
    /// What the SOA of the authority section allows (RFC 2308 §5).
    negative: Option<u32>,
    qtype: u16,
}

impl WireAnswer {
    /// Reads a response that was made or checked here, and keeps what answers are made of.
    ///
    /// OPT and TSIG belong to the transaction and are left out, and with them whatever additional
    /// record stands behind them: moving those would break compression pointers.
    pub fn from_response(message: &[u8]) -> Result<Self, BadAnswer> {
        Self::read(message, &mut NoInspection)
    }

    /// Reads the response of an upstream, which nobody has looked into before.
    ///
    /// Every name, length and known type in it must be sound, or all of it is refused; records that
    /// do not belong to the question are left out.
    pub fn from_upstream(message: &[u8]) -> Result<Self, BadAnswer> {
        let mut scrubber = AnswerScrubber::new();
        let answer = Self::read(message, &mut scrubber)?;
        match scrubber.finish(message)? {
            ScrubOutcome::Unchanged => Ok(answer),
            ScrubOutcome::Reduced(message) => Self::from_response(&message),
        }
    }

    fn read(message: &[u8], inspection: &mut impl RecordInspector) -> Result<Self, BadAnswer> {
        let flags = u16_at(message, 2)?;
        let [questions, answers, authorities, additionals] =
            [u16_at(message, 4)?, u16_at(message, 6)?, u16_at(message, 8)?, u16_at(message, 10)?];
        if flags & bits::RESPONSE == 0 || flags & bits::OPCODE != 0 {
            return Err(BadAnswer::NoResponse);
        }
        if flags & bits::TRUNCATED != 0 {
            return Err(BadAnswer::Truncated);
        }
        if questions != 1 {
            return Err(BadAnswer::Questions);
        }
        let records_at = question_end(message)?;
        inspection.begin(message, records_at)?;
        let mut survey = AnswerSurvey {
            ttls: Vec::new(),
            aliases: Vec::new(),
            least: u32::MAX,
            positive: false,
            negative: None,
            qtype: u16_at(message, records_at - 4)?,
        };
        let mut here = records_at;
        for _ in 0..answers {
            let record = record(message, here)?;
            inspection.record(message, MessageSection::Answer, &record)?;
            survey.answer(message, &record)?;
            here = record.end;
        }
        for _ in 0..authorities {
            let record = record(message, here)?;
            inspection.record(message, MessageSection::Authority, &record)?;
            survey.authority(message, &record)?;
            here = record.end;
        }
        let additional_at = here;
        let (mut kept, mut options) = (0_u16, None);
        for _ in 0..additionals {
            let record = record(message, here)?;
            if matches!(record.rtype, record_type::OPT | record_type::TSIG) {
                let is_opt = record.rtype == record_type::OPT;
                options = is_opt.then(|| {
                    answer_options::retained_options(&message[record.data_at..record.end])
                });
                break;
            }
            inspection.record(message, MessageSection::Additional, &record)?;
            survey.ttls.push(record.ttl_at as u16);
            here = record.end;
            kept += 1;
        }
        let mut wire: Box<[u8]> = message[..here].into();
        wire[10..12].copy_from_slice(&kept.to_be_bytes());
        Ok(Self {
            ttl: survey.ttl((flags & bits::RCODE) as u8),
            wire,
            ttls: survey.ttls.into(),
            aliases: survey.aliases.into(),
            records_at: records_at as u16,
            additional_at: additional_at as u16,
            additionals: kept,
            options,
        })
    }

    /// The targets of its CNAME records, in order.
    pub fn aliases(&self) -> &[DomainName] {
        &self.aliases
    }

    /// The response code, 0 to 15.
    pub fn rcode(&self) -> u8 {
        self.wire[3] & bits::RCODE as u8
    }

    /// Returns how long it may be kept, in seconds; 0 is not at all.
    pub fn ttl(&self) -> u32 {
        self.ttl
    }

    /// Returns its bytes in wire form, without OPT.
    pub fn len(&self) -> usize {
        self.wire.len()
    }

    /// Never: a header is always there.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Returns what it occupies in memory, in bytes.
    pub fn memory(&self) -> usize {
        let aliases: usize = self.aliases.iter().map(|it| it.as_str().len() + 16).sum();
        let options = self.options.as_ref().map_or(0, |it| it.len());
        size_of::<Self>() + self.wire.len() + self.ttls.len() * 2 + aliases + options
    }

    /// True if it says something about the name: NOERROR or NXDOMAIN, not a failure.
    pub fn is_definite(&self) -> bool {
        matches!(self.rcode(), RCODE_NOERROR | RCODE_NXDOMAIN)
    }

    /// True if its answer section holds records, of whatever type.
    pub fn has_answers(&self) -> bool {
        self.wire[6..8] != [0, 0]
    }

    /// True if it answers `question` (name, type, class), whatever the case of letters.
    pub fn matches(&self, question: &[u8]) -> bool {
        self.wire[HEADER_BYTES..usize::from(self.records_at)].eq_ignore_ascii_case(question)
    }

    /// The same answer without its word that it was validated (AD): nobody who could be believed
    /// has given it (RFC 6840 §5.8).
    #[must_use]
    pub fn without_validation(mut self) -> Self {
        self.wire[3] &= !(bits::AUTHENTIC as u8);
        self
    }

    /// The addresses in its answer section.
    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> + '_ {
        reply::addresses(&self.wire)
    }

    /// The SRV records in its answer section.
    pub fn services(&self) -> impl Iterator<Item = reply::ServiceTarget> + '_ {
        reply::services(&self.wire)
    }

    /// The message as it is kept, without OPT, under the number and flags that it came with.
    pub fn message(&self) -> &[u8] {
        &self.wire
    }

    /// Appends the answer to `query`, `age_s` seconds after it was kept, whole and without OPT: to
    /// be looked into, changed, and ended by [`crate::reply::finish`].
    pub fn write_message(&self, query: &DnsQuery<'_>, age_s: u32, out: &mut Vec<u8>) {
        self.copy_message(query, AnswerTtls::Aged(age_s), self.wire.len(), out);
    }

    /// The same for an answer past its time: every TTL is [`STALE_TTL_S`].
    pub fn write_stale_message(&self, query: &DnsQuery<'_>, out: &mut Vec<u8>) {
        self.copy_message(query, AnswerTtls::Stale, self.wire.len(), out);
    }

    /// The extended error of an answer past its time (RFC 8914 §4.4).
    pub fn stale_error(&self) -> EdeCode {
        if self.rcode() == RCODE_NXDOMAIN { EdeCode::StaleNxDomain } else { EdeCode::StaleAnswer }
    }

    /// Appends the answer to `query`, `age_s` seconds after it was kept, in at most `limit` bytes.
    ///
    /// The question must be the one it answers ([`WireAnswer::matches`]), which the cache key
    /// ensures. What does not fit is left out by sections: additional records silently, then
    /// everything, with TC set (RFC 2181 §9). AD is passed on to clients that set AD or DO (RFC
    /// 6840 §5.7).
    pub fn write(&self, query: &DnsQuery<'_>, age_s: u32, limit: usize, out: &mut Vec<u8>) {
        self.copy(query, AnswerTtls::Aged(age_s), None, limit, out);
    }

    /// The same for an answer past its time: every TTL is [`STALE_TTL_S`], and the extended error
    /// says so (RFC 8914 §4.4).
    pub fn write_stale(&self, query: &DnsQuery<'_>, limit: usize, out: &mut Vec<u8>) {
        self.copy(
            query,
            AnswerTtls::Stale,
            Some(Ede { code: self.stale_error(), text: "" }),
            limit,
            out,
        );
    }

    fn copy(
        &self,
        query: &DnsQuery<'_>,
        ttls: AnswerTtls,
        ede: Option<Ede<'_>>,
        limit: usize,
        out: &mut Vec<u8>,
    ) {
        let start = out.len();
        let records_at = usize::from(self.records_at);
        let opt = synthesize::opt_len(query, ede);
        let fits = |len: usize| len + opt <= limit;
        let whole = self.wire.len();
        let end = if fits(whole) {
            whole
        } else if fits(usize::from(self.additional_at)) {
            usize::from(self.additional_at)
        } else {
            records_at
        };
        self.copy_message(query, ttls, end, out);
        synthesize::push_opt(query, ede, start, out);
    }

    /// Appends the message up to `end`.
    fn copy_message(&self, query: &DnsQuery<'_>, ttls: AnswerTtls, end: usize, out: &mut Vec<u8>) {
        let start = out.len();
        let records_at = usize::from(self.records_at);
        out.extend_from_slice(&self.wire[..end]);
        let message = &mut out[start..];
        self.patch_header(query, end, message);
        // The same length as the kept one, so pointers into it still hold.
        if query.question.len() == records_at - HEADER_BYTES {
            message[HEADER_BYTES..records_at].copy_from_slice(query.question);
        }
        for &at in &self.ttls {
            let at = usize::from(at);
            if at >= end {
                break;
            }
            let ttl = ttls.apply(u32_at(message, at).unwrap_or(0));
            message[at..at + 4].copy_from_slice(&ttl.to_be_bytes());
        }
    }

    fn patch_header(&self, query: &DnsQuery<'_>, end: usize, message: &mut [u8]) {
        let kept = u16::from_be_bytes([message[2], message[3]]);
        let mut flags = bits::RESPONSE
            | bits::RECURSION_AVAILABLE
            | query.flags.repeated()
            | kept & bits::RCODE;
        if query.flags.authentic_data() || query.wants_dnssec() {
            flags |= kept & bits::AUTHENTIC;
        }
        if end < self.wire.len() {
            if end < usize::from(self.additional_at) || self.additionals == 0 {
                flags |= bits::TRUNCATED;
                message[6..10].fill(0);
            }
            message[10..12].fill(0);
        }
        message[..2].copy_from_slice(&query.id.to_be_bytes());
        message[2..4].copy_from_slice(&flags.to_be_bytes());
    }
}

#[derive(Clone, Copy)]
enum AnswerTtls {
    Aged(u32),
    Stale,
}

impl AnswerTtls {
    fn apply(self, ttl: u32) -> u32 {
        match self {
            // A TTL that was not 0 stays so: "use once" is another meaning.
            Self::Aged(age_s) => {
                let ttl = clamp_ttl(ttl);
                ttl.saturating_sub(age_s).max(ttl.min(1))
            }
            Self::Stale => STALE_TTL_S,
        }
    }
}

/// A TTL with its highest bit set is 0 (RFC 2181 §8); none is over a day.
fn clamp_ttl(ttl: u32) -> u32 {
    if ttl > i32::MAX as u32 { 0 } else { ttl.min(TTL_MAX_S) }
}

impl AnswerSurvey {
    fn answer(&mut self, message: &[u8], record: &WireRecord) -> Result<(), BadAnswer> {
        self.ttls.push(record.ttl_at as u16);
        self.least = self.least.min(clamp_ttl(record.ttl));
        self.positive |= record.rtype == self.qtype || self.qtype == record_type::ANY;
        if record.rtype == record_type::CNAME {
            let mut text = NameBuffer::new();
            wire::read_name(message, record.data_at, &mut text)?;
            if self.aliases.len() == ALIASES_MAX {
                return Err(BadAnswer::TooManyAliases);
            }
            self.aliases.push(text.as_name().to_owned());
        }
        Ok(())
    }

    fn authority(&mut self, message: &[u8], record: &WireRecord) -> Result<(), BadAnswer> {
        self.ttls.push(record.ttl_at as u16);
        if record.rtype == record_type::SOA {
            let numbers = wire::skip_name(message, wire::skip_name(message, record.data_at)?)?;
            if numbers + 20 != record.end {
                return Err(BadAnswer::Malformed);
            }
            let minimum = clamp_ttl(u32_at(message, numbers + 16)?);
            self.negative = Some(minimum.min(clamp_ttl(record.ttl)));
        }
        Ok(())
    }

    /// Returns how long all this may be kept.
    fn ttl(&self, rcode: u8) -> u32 {
        let negative =
            || self.negative.unwrap_or(NEGATIVE_TTL_WITHOUT_SOA_S).min(NEGATIVE_TTL_MAX_S);
        match rcode {
            RCODE_NOERROR if self.positive => self.least,
            // Aliases that lead nowhere are kept no longer than they last themselves.
            RCODE_NOERROR | RCODE_NXDOMAIN => negative().min(self.least),
            _ => FAILURE_TTL_S,
        }
    }
}

/// The record at `at`, whose places a `u16` can hold.
fn record(message: &[u8], at: usize) -> Result<WireRecord, BadAnswer> {
    let record = wire::record_at(message, at)?;
    if record.end > usize::from(u16::MAX) {
        return Err(BadAnswer::Malformed);
    }
    Ok(record)
}

/// Where the question ends, which must not be compressed.
fn question_end(message: &[u8]) -> Result<usize, BadAnswer> {
    let mut here = HEADER_BYTES;
    loop {
        let length = usize::from(*message.get(here).ok_or(BadAnswer::Malformed)?);
        here += 1 + length;
        if length > 63 || here - HEADER_BYTES > wire::NAME_BYTES_MAX {
            return Err(BadAnswer::Malformed);
        }
        if length == 0 {
            let end = here + 4;
            return if end <= message.len() { Ok(end) } else { Err(BadAnswer::Malformed) };
        }
    }
}

impl fmt::Debug for WireAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Answer({} bytes, rcode {}, ttl {})", self.len(), self.rcode(), self.ttl)
    }
}
