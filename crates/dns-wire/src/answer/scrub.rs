//! Which records of an upstream's answer belong to its question, as resolvers that iterate scrub
//! what servers send (RFC 5452 §6, RFC 2181 §5.4.1).
//!
//! In the answer section those do that stand on the chain of aliases from the question's name, of
//! the type asked for; in the authority section what says who is in charge of a name on it, and the
//! proofs of DNSSEC; in the additional section what some record before names. All that is looked
//! into is checked (`record_data`). Where everything belongs, which is nearly always, the message
//! stays as it is; else what belongs is written anew, without compression.

use super::{ALIASES_MAX, BadAnswer};
use crate::codes::record_type;
use crate::record_data;
use crate::reply::{MessageSection, names_in};
use crate::wire::{
    self, HEADER_BYTES, MalformedMessage, POINTER_TO_QUESTION, WireRecord, first_label,
    is_name_at_or_below, is_same_name, push_u16, u16_at,
};

/// Names that additional records are compared with, at most, in one answer; further records of
/// that section are left out.
const COMPARISONS_MAX: usize = 4096;
/// Longest message.
const MESSAGE_BYTES_MAX: usize = 65_535;

/// Looks at the records of a message while it is read.
pub(super) trait RecordInspector {
    /// The question ends at `records_at`.
    fn begin(&mut self, message: &[u8], records_at: usize) -> Result<(), BadAnswer>;
    /// The next record.
    fn record(
        &mut self,
        message: &[u8],
        section: MessageSection,
        record: &WireRecord,
    ) -> Result<(), BadAnswer>;
}

/// Takes everything as it comes: the message is our own.
pub(super) struct NoInspection;

impl RecordInspector for NoInspection {
    fn begin(&mut self, _: &[u8], _: usize) -> Result<(), BadAnswer> {
        Ok(())
    }

    fn record(&mut self, _: &[u8], _: MessageSection, _: &WireRecord) -> Result<(), BadAnswer> {
        Ok(())
    }
}

/// Inspection of an upstream's answer.
pub(super) struct AnswerScrubber {
    qtype: u16,
    qclass: u16,
    records_at: usize,
    /// The question's name and where its aliases lead, by the places of their first labels.
    chain: [u16; ALIASES_MAX + 1],
    links: usize,
    /// Records that do not belong, or not yet: an alias may stand behind what it leads to.
    irrelevant: usize,
    comparisons: usize,
}

/// Tells what an answer is after its inspection.
pub(super) enum ScrubOutcome {
    /// As it was.
    Unchanged,
    /// This message is what belongs of it.
    Reduced(Vec<u8>),
}

/// Tells whether a record belongs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RecordRelevance {
    Relevant,
    Irrelevant,
}

/// Tells whether any record of the answer section is about the name asked for, be it of another
/// type: then there is nothing of the type, as servers say that know addresses only; else it is no
/// answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AnswerSubject {
    Requested,
    Foreign,
}

impl From<bool> for RecordRelevance {
    fn from(belongs: bool) -> Self {
        if belongs { Self::Relevant } else { Self::Irrelevant }
    }
}

impl RecordInspector for AnswerScrubber {
    fn begin(&mut self, message: &[u8], records_at: usize) -> Result<(), BadAnswer> {
        self.records_at = records_at;
        self.qtype = u16_at(message, records_at - 4)?;
        self.qclass = u16_at(message, records_at - 2)?;
        Ok(())
    }

    fn record(
        &mut self,
        message: &[u8],
        section: MessageSection,
        record: &WireRecord,
    ) -> Result<(), BadAnswer> {
        wire::check_name(message, record.start)?;
        record_data::check(message, record)?;
        let belongs = match section {
            MessageSection::Answer => self.answer(message, record)?,
            MessageSection::Authority => self.authority(message, record)?,
            MessageSection::Additional => self.additional(message, record)?,
        };
        self.irrelevant += usize::from(belongs == RecordRelevance::Irrelevant);
        Ok(())
    }
}

impl AnswerScrubber {
    pub(super) fn new() -> Self {
        let mut chain = [0; ALIASES_MAX + 1];
        chain[0] = HEADER_BYTES as u16;
        Self { qtype: 0, qclass: 0, records_at: 0, chain, links: 1, irrelevant: 0, comparisons: 0 }
    }

    /// Returns what belongs of `message`, all records of which were inspected.
    pub(super) fn finish(mut self, message: &[u8]) -> Result<ScrubOutcome, BadAnswer> {
        if self.irrelevant == 0 { Ok(ScrubOutcome::Unchanged) } else { self.scrub(message) }
    }

    fn chain(&self) -> &[u16] {
        &self.chain[..self.links]
    }

    /// Which name of the chain the one at `at` is.
    fn link_of(&self, message: &[u8], at: usize) -> Option<usize> {
        let first = first_label(message, at)?;
        self.chain().iter().position(|it| {
            let link = usize::from(*it);
            link == first || is_same_name(message, link, first)
        })
    }

    /// True if the name at `at` is on the chain, or above a name on it.
    fn is_above_chain(&self, message: &[u8], at: usize) -> bool {
        self.chain().iter().any(|it| is_name_at_or_below(message, usize::from(*it), at))
    }

    fn answer(
        &mut self,
        message: &[u8],
        record: &WireRecord,
    ) -> Result<RecordRelevance, BadAnswer> {
        if matches!(record.rtype, record_type::OPT | record_type::TSIG) {
            return Err(BadAnswer::Malformed);
        }
        if record.class != self.qclass {
            return Ok(RecordRelevance::Irrelevant);
        }
        let wanted = |rtype| rtype == self.qtype || self.qtype == record_type::ANY;
        match record.rtype {
            record_type::CNAME => match self.link_of(message, record.start) {
                Some(link) => self.follow_alias(message, link, record.data_at),
                None => Ok(RecordRelevance::Irrelevant),
            },
            record_type::DNAME => Ok(self.is_above_chain(message, record.start).into()),
            record_type::RRSIG if !wanted(record_type::RRSIG) => {
                let data = message.get(record.data_at..record.end).ok_or(MalformedMessage)?;
                let covered = u16_at(data, 0)?;
                Ok(match covered {
                    record_type::DNAME => self.is_above_chain(message, record.start),
                    record_type::CNAME => self.link_of(message, record.start).is_some(),
                    other => wanted(other) && self.link_of(message, record.start).is_some(),
                }
                .into())
            }
            rtype => Ok((wanted(rtype) && self.link_of(message, record.start).is_some()).into()),
        }
    }

    /// The name of the chain at `link` is an alias of the one at `target`.
    fn follow_alias(
        &mut self,
        message: &[u8],
        link: usize,
        target: usize,
    ) -> Result<RecordRelevance, BadAnswer> {
        let Some(first) = first_label(message, target) else { return Err(BadAnswer::Malformed) };
        if let Some(next) = self.chain().get(link + 1) {
            // Said twice it is said once; a name has one alias (RFC 2181 §10.1).
            return Ok(is_same_name(message, usize::from(*next), first).into());
        }
        if self.link_of(message, target).is_some() {
            return Err(BadAnswer::AliasLoop);
        }
        let Some(free) = self.chain.get_mut(self.links) else {
            return Err(BadAnswer::TooManyAliases);
        };
        // Places of a message fit: it has at most 65,535 bytes.
        *free = first as u16;
        self.links += 1;
        Ok(RecordRelevance::Relevant)
    }

    fn authority(
        &mut self,
        message: &[u8],
        record: &WireRecord,
    ) -> Result<RecordRelevance, BadAnswer> {
        if matches!(record.rtype, record_type::OPT | record_type::TSIG) {
            return Err(BadAnswer::Malformed);
        }
        let belongs = record.class == self.qclass
            && match record.rtype {
                record_type::NS | record_type::SOA | record_type::DS => {
                    self.is_above_chain(message, record.start)
                }
                // They lead nobody anywhere, and whoever reads them checks their signatures.
                record_type::NSEC | record_type::NSEC3 | record_type::RRSIG => true,
                _ => false,
            };
        Ok(belongs.into())
    }

    /// Of the additional section, while no record before has been left out.
    fn additional(
        &mut self,
        message: &[u8],
        record: &WireRecord,
    ) -> Result<RecordRelevance, BadAnswer> {
        let mut here = self.records_at;
        let before = std::iter::from_fn(|| {
            let before = (here < record.start).then(|| wire::record_at(message, here))?;
            here = before.as_ref().map_or(record.start, |it| it.end);
            Some(before)
        });
        self.additional_to(message, record, before)
    }

    /// Of the additional section, what stands on the chain or is named by a record of `before`.
    fn additional_to(
        &mut self,
        message: &[u8],
        record: &WireRecord,
        before: impl Iterator<Item = Result<WireRecord, MalformedMessage>>,
    ) -> Result<RecordRelevance, BadAnswer> {
        if record.class != self.qclass {
            return Ok(RecordRelevance::Irrelevant);
        }
        if self.link_of(message, record.start).is_some() {
            return Ok(RecordRelevance::Relevant);
        }
        for before in before {
            let before = before?;
            if self.comparisons == COMPARISONS_MAX {
                return Ok(RecordRelevance::Irrelevant);
            }
            self.comparisons += 1;
            if names(message, &before, record.start) {
                return Ok(RecordRelevance::Relevant);
            }
        }
        Ok(RecordRelevance::Irrelevant)
    }

    /// Returns what belongs of a message in which something does not, or not in the order it stands
    /// in.
    #[cold]
    fn scrub(&mut self, message: &[u8]) -> Result<ScrubOutcome, BadAnswer> {
        let answers = u16_at(message, 6)?;
        // Each round but the last finds an alias, of which there are not many.
        loop {
            let links = self.links;
            let mut here = self.records_at;
            for _ in 0..answers {
                let record = wire::record_at(message, here)?;
                self.answer(message, &record)?;
                here = record.end;
            }
            if self.links == links {
                break;
            }
        }
        self.comparisons = 0;
        self.rewrite(message)
    }

    fn rewrite(&mut self, message: &[u8]) -> Result<ScrubOutcome, BadAnswer> {
        let mut out = message.get(..self.records_at).ok_or(MalformedMessage)?.to_vec();
        let (mut here, mut strangers) = (self.records_at, 0);
        let mut subject = AnswerSubject::Foreign;
        // Where the records begin that are kept: what is left out names nobody.
        let mut kept_at = Vec::new();
        let sections =
            [MessageSection::Answer, MessageSection::Authority, MessageSection::Additional];
        for (section, count_at) in sections.into_iter().zip([6, 8, 10]) {
            let (count, mut kept) = (u16_at(message, count_at)?, 0_u16);
            for _ in 0..count {
                let record = wire::record_at(message, here)?;
                here = record.end;
                // They belong to the exchange; what stands behind is left out by the reader.
                let is_last = matches!(record.rtype, record_type::OPT | record_type::TSIG);
                let belongs = match section {
                    MessageSection::Answer => self.answer(message, &record)?,
                    MessageSection::Authority => self.authority(message, &record)?,
                    MessageSection::Additional if is_last => RecordRelevance::Relevant,
                    MessageSection::Additional => {
                        let before = kept_at.iter().map(|at| wire::record_at(message, *at));
                        self.additional_to(message, &record, before)?
                    }
                };
                if section == MessageSection::Answer
                    && record.class == self.qclass
                    && self.link_of(message, record.start).is_some()
                {
                    subject = AnswerSubject::Requested;
                }
                match belongs {
                    RecordRelevance::Relevant => {
                        write(message, &record, &mut out)?;
                        kept_at.push(record.start);
                        kept += 1;
                    }
                    RecordRelevance::Irrelevant => strangers += 1,
                }
                if is_last {
                    break;
                }
            }
            if section == MessageSection::Answer && count > 0 && subject == AnswerSubject::Foreign {
                return Err(BadAnswer::Foreign);
            }
            out[count_at..count_at + 2].copy_from_slice(&kept.to_be_bytes());
        }
        if strangers == 0 {
            return Ok(ScrubOutcome::Unchanged);
        }
        if out.len() > MESSAGE_BYTES_MAX {
            return Err(BadAnswer::Malformed);
        }
        Ok(ScrubOutcome::Reduced(out))
    }
}

/// True if a name in the data of `record` is the one at `owner`.
fn names(message: &[u8], record: &WireRecord, owner: usize) -> bool {
    let is_binding = matches!(record.rtype, record_type::SVCB | record_type::HTTPS);
    let known = names_in(record.rtype);
    let (skip, count) = if is_binding { (2, 1) } else { (known.skip, known.count) };
    let mut here = record.data_at + skip;
    for _ in 0..count {
        if is_same_name(message, here, owner) {
            return true;
        }
        let Ok(end) = wire::skip_name(message, here) else { return false };
        here = end;
    }
    false
}

/// Appends `record` with its names written out; one that is the question's is a pointer to it.
fn write(message: &[u8], record: &WireRecord, out: &mut Vec<u8>) -> Result<(), MalformedMessage> {
    if out.len() > MESSAGE_BYTES_MAX {
        return Err(MalformedMessage);
    }
    if is_same_name(message, record.start, HEADER_BYTES) {
        out.extend_from_slice(&POINTER_TO_QUESTION);
    } else {
        write_name(message, record.start, out)?;
    }
    // Type, class and TTL.
    out.extend_from_slice(&message[record.ttl_at - 4..record.ttl_at + 4]);
    let length_at = out.len();
    push_u16(out, 0);
    let known = names_in(record.rtype);
    let mut here = record.data_at;
    if known.count > 0 {
        out.extend_from_slice(message.get(here..here + known.skip).ok_or(MalformedMessage)?);
        here += known.skip;
        for _ in 0..known.count {
            write_name(message, here, out)?;
            here = wire::skip_name(message, here)?;
        }
    }
    out.extend_from_slice(message.get(here..record.end).ok_or(MalformedMessage)?);
    let length = u16::try_from(out.len() - length_at - 2).map_err(|_| MalformedMessage)?;
    out[length_at..length_at + 2].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

fn write_name(message: &[u8], at: usize, out: &mut Vec<u8>) -> Result<(), MalformedMessage> {
    wire::for_each_label(message, at, |label| {
        // A label has at most 63 bytes.
        out.push(label.len() as u8);
        out.extend_from_slice(label);
        Ok(())
    })?;
    out.push(0);
    Ok(())
}
