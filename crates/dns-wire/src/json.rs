//! DNS messages as JSON, in the form that public resolvers made common (`application/dns-json`):
//! a question from a name and a type in words, and an answer written out.
//!
//! Records are put into words by the `domain` crate, as in a zone file; a type that it does not
//! know, or data that is none of its type, stands there in hexadecimal (RFC 3597 §5). What is
//! malformed is an error, never a guess. Called by the DNS door for DNS over HTTPS.

use crate::ask_options::ResponseOpt;
use crate::codes::{CLASS_IN, EdeCode, record_type};
use crate::wire::{bits, push_u16, push_u32, u16_at};
use domain::base::iana::Rtype;
use domain::base::message::RecordSection;
use domain::base::name::ToName;
use domain::base::rdata::UnknownRecordData;
use domain::base::zonefile_fmt::{DisplayKind, ZonefileFmt};
use domain::base::{Message, Name as WireName, ParsedRecord};
use domain::rdata::AllRecordData;
use std::fmt::{self, Write};
use std::str::FromStr;

/// Bytes of a JSON answer, at most: the longest message has 65,535, and hexadecimal triples them.
pub const JSON_BYTES_MAX: usize = 1 << 20;
/// Bytes of a name in words, at most: each of 255 may be written `\DDD`.
pub const NAME_TEXT_BYTES_MAX: usize = 4 * 255;
/// EDNS size that a question made here claims; over HTTPS nothing depends on it.
const CLAIMED_BYTES: u16 = 1232;
/// Extended DNS errors (RFC 8914 §2), by their option's number.
const OPTION_EDE: u16 = 15;

/// A question in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonQuestion<'a> {
    /// The name, as in a zone file; a final dot may be missing.
    pub name: &'a str,
    /// The type by name or number: `AAAA`, `28`, `TYPE28`.
    pub rtype: &'a str,
    /// Whether to validate for the client.
    pub checking: CheckingDisabled,
    /// Whether the client wants the records of DNSSEC.
    pub dnssec: DnssecOk,
}

/// CD.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CheckingDisabled {
    /// Validate for me.
    #[default]
    Enabled,
    /// I validate myself.
    Disabled,
}

/// DO.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DnssecOk {
    /// Only what I asked for.
    #[default]
    Off,
    /// Signatures too.
    Wanted,
}

/// Why words are no question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadAsking {
    /// The name is none.
    Name,
    /// The type is none.
    Type,
}

/// The message cannot be put into JSON: it is malformed, or too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotWritten;

/// Appends the query that `asking` means, with number 0 (RFC 8484 §4.1) and EDNS.
pub fn write_query(asking: &JsonQuestion<'_>, out: &mut Vec<u8>) -> Result<(), BadAsking> {
    if asking.name.is_empty() || asking.name.len() > NAME_TEXT_BYTES_MAX {
        return Err(BadAsking::Name);
    }
    let name = WireName::<Vec<u8>>::from_str(asking.name).map_err(|_| BadAsking::Name)?;
    // The crate's builder takes one byte too many where the last label has a single character.
    if name.as_slice().len() > WireName::MAX_LEN {
        return Err(BadAsking::Name);
    }
    let rtype = type_of(asking.rtype)?;
    let mut flags = bits::RECURSION_DESIRED;
    if asking.checking == CheckingDisabled::Disabled {
        flags |= bits::CHECKING_DISABLED;
    }
    for word in [0, flags, 1, 0, 0, 1] {
        push_u16(out, word);
    }
    out.extend_from_slice(name.as_slice());
    push_u16(out, rtype);
    push_u16(out, CLASS_IN);
    out.push(0);
    push_u16(out, record_type::OPT);
    push_u16(out, CLAIMED_BYTES);
    push_u32(out, if asking.dnssec == DnssecOk::Wanted { bits::DNSSEC_OK } else { 0 });
    push_u16(out, 0);
    Ok(())
}

/// A type by name or number. 0 is reserved (RFC 6895 §3.1).
fn type_of(text: &str) -> Result<u16, BadAsking> {
    let number = match text.parse::<u16>() {
        Ok(number) => number,
        Err(_) => Rtype::from_str(text).map_err(|_| BadAsking::Type)?.to_int(),
    };
    if number == 0 { Err(BadAsking::Type) } else { Ok(number) }
}

/// Appends `message`, an answer, as one JSON object.
pub fn write_answer(message: &[u8], out: &mut String) -> Result<(), NotWritten> {
    let start = out.len();
    write_object(message, out).inspect_err(|_| out.truncate(start))
}

fn write_object(bytes: &[u8], out: &mut String) -> Result<(), NotWritten> {
    let message = Message::from_slice(bytes).map_err(|_| NotWritten)?;
    let opt = ResponseOpt::of(bytes);
    let flags = u16_at(bytes, 2).map_err(|_| NotWritten)?;
    let rcode = opt.map_or(flags & bits::RCODE, |opt| opt.rcode);
    let end = out.len() + JSON_BYTES_MAX;
    write!(out, "{{\"Status\":{rcode}")?;
    for (name, bit) in [
        ("TC", bits::TRUNCATED),
        ("RD", bits::RECURSION_DESIRED),
        ("RA", bits::RECURSION_AVAILABLE),
        ("AD", bits::AUTHENTIC),
        ("CD", bits::CHECKING_DISABLED),
    ] {
        write!(out, ",\"{name}\":{}", flags & bit != 0)?;
    }
    out.push_str(",\"Question\":[");
    let mut comma = "";
    for question in message.question() {
        let question = question.map_err(|_| NotWritten)?;
        write!(out, "{comma}{{\"name\":")?;
        push_name(question.qname(), out)?;
        write!(out, ",\"type\":{}}}", question.qtype().to_int())?;
        comma = ",";
    }
    out.push(']');
    let answer = message.answer().map_err(|_| NotWritten)?;
    let authority = push_section("Answer", answer, end, out)?;
    let additional = match authority {
        Some(section) => push_section("Authority", section, end, out)?,
        None => None,
    };
    if let Some(section) = additional {
        push_section("Additional", section, end, out)?;
    }
    if let Some(ede) = opt.and_then(|opt| opt.option(OPTION_EDE)) {
        push_comment(ede, out)?;
    }
    out.push('}');
    Ok(())
}

/// A section, unless it is empty; and the one after it.
fn push_section<'m>(
    title: &str,
    mut section: RecordSection<'m, [u8]>,
    end: usize,
    out: &mut String,
) -> Result<Option<RecordSection<'m, [u8]>>, NotWritten> {
    let mut count = 0;
    for record in section.by_ref() {
        let record = record.map_err(|_| NotWritten)?;
        // OPT is no record of anything; what it says stands elsewhere.
        if record.rtype().to_int() == record_type::OPT {
            continue;
        }
        if count == 0 {
            write!(out, ",\"{title}\":[")?;
        } else {
            out.push(',');
        }
        push_record(&record, out)?;
        count += 1;
        if out.len() > end {
            return Err(NotWritten);
        }
    }
    if count > 0 {
        out.push(']');
    }
    section.next_section().map_err(|_| NotWritten)
}

fn push_record(record: &ParsedRecord<'_, [u8]>, out: &mut String) -> Result<(), NotWritten> {
    out.push_str("{\"name\":");
    push_name(&record.owner(), out)?;
    let (rtype, ttl) = (record.rtype().to_int(), record.ttl().as_secs());
    write!(out, ",\"type\":{rtype},\"TTL\":{ttl},\"data\":")?;
    let mut text = String::new();
    if let Ok(Some(record)) = record.to_record::<AllRecordData<_, _>>() {
        write!(text, "{}", record.data().display_zonefile(DisplayKind::Simple))?;
    } else {
        // Not malformed as a record, only none of its type.
        let unknown = record.to_record::<UnknownRecordData<_>>().map_err(|_| NotWritten)?;
        let data = unknown.ok_or(NotWritten)?;
        write!(text, "{}", data.data().display_zonefile(DisplayKind::Simple))?;
    }
    push_text(&text, out);
    out.push('}');
    Ok(())
}

/// With its final dot, as in a zone file, so that nobody need guess what it is relative to.
fn push_name(name: &impl ToName, out: &mut String) -> Result<(), NotWritten> {
    let mut text = String::new();
    write!(text, "{}", name.fmt_with_dot())?;
    push_text(&text, out);
    Ok(())
}

/// An extended error in words: `EDE(15): why`.
fn push_comment(option: &[u8], out: &mut String) -> Result<(), NotWritten> {
    let code = u16_at(option, 0).map_err(|_| NotWritten)?;
    let mut comment = format!("EDE({code})");
    let said = String::from_utf8_lossy(&option[2..]);
    let said = said.trim_end_matches('\0');
    let known = if code == EdeCode::Blocked.code() { "Blocked" } else { "" };
    for part in [known, said].into_iter().filter(|part| !part.is_empty()) {
        write!(comment, ": {part}")?;
    }
    out.push_str(",\"Comment\":");
    push_text(&comment, out);
    Ok(())
}

/// A JSON string (RFC 8259 §7).
fn push_text(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            // Browsers see the answer too; nothing in it may look like a tag.
            '\0'..' ' | '<' | '>' | '&' | '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            _ => out.push(c),
        }
    }
    out.push('"');
}

impl From<fmt::Error> for NotWritten {
    fn from(_: fmt::Error) -> Self {
        Self
    }
}

impl fmt::Display for BadAsking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Name => "name is no domain name; write name=example.com",
            Self::Type => "type is no record type; write a name like AAAA or a number like 28",
        })
    }
}

impl std::error::Error for BadAsking {}

impl fmt::Display for NotWritten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the answer cannot be written as JSON; ask for application/dns-message")
    }
}

impl std::error::Error for NotWritten {}
