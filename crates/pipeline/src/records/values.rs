//! One record of a zone file, read by the `domain` crate.
//!
//! That reader is made for whole files that are sound, and panics at the end of some that break
//! off: it is shown one record at a time, in words that [`super::scan`] has cut and found whole.
//! What it makes of them is read back as a message would be, so that nothing goes out that no
//! client can read. Called by [`super::zone`].

use dns_wire::record_type;
use domain::base::iana::{Class, Rtype};
use domain::base::name::ToName;
use domain::base::rdata::ComposeRecordData;
use domain::base::{ParseRecordData, ParsedName, RecordData};
use domain::dep::octseq::Parser;
use domain::rdata::ZoneRecordData;
use domain::zonefile::inplace::{Entry, Zonefile};
use std::fmt::{self, Write as _};
use vocab::{DomainName, NameBuffer};

/// Numbers of time in an SOA record: refresh, retry, expire, minimum.
const SOA_TIMES: std::ops::Range<usize> = 4..8;

/// A record without class and TTL.
#[derive(Debug)]
pub(super) struct RecordValue {
    pub(super) owner: DomainName,
    pub(super) rtype: u16,
    /// In wire form.
    pub(super) data: Vec<u8>,
}

/// A value read from wire form.
type Parsed<'d> = ZoneRecordData<&'d [u8], ParsedName<&'d [u8]>>;

/// Why a record cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadValue {
    /// Is not written as records of its type are.
    Syntax(String),
    /// Owner or a name in it is none.
    Name,
    /// Value is too long for a record, or could not be read back.
    Data,
    /// A type that is no record: OPT, ANY, transfers.
    Type(u16),
}

/// Reads type and value, given the owner with its final dot.
pub(super) fn read(
    owner: &str,
    origin: Option<&str>,
    rest: &[&str],
) -> Result<RecordValue, BadValue> {
    let mut text = String::with_capacity(64);
    if let Some(origin) = origin {
        text.push_str("$ORIGIN ");
        push_ascii(origin, &mut text);
        text.push('\n');
    }
    if owner.contains('"') {
        return Err(BadValue::Name);
    }
    push_ascii(owner, &mut text);
    text.push_str(" 0 IN");
    let is_soa = rest[0].eq_ignore_ascii_case("SOA");
    for (at, word) in rest.iter().enumerate() {
        text.push(' ');
        match seconds(word).filter(|_| is_soa && SOA_TIMES.contains(&at)) {
            // `1d` is for people; the reader takes numbers.
            Some(seconds) => text.push_str(&seconds.to_string()),
            None => push_ascii(word, &mut text),
        }
    }
    text.push('\n');
    let mut zone = Zonefile::with_capacity(text.len());
    zone.extend_from_slice(text.as_bytes());
    zone.set_default_class(Class::IN);
    let record = match zone.next_entry() {
        Ok(Some(Entry::Record(record))) => record,
        Ok(Some(Entry::Include { .. }) | None) => return Err(BadValue::Name),
        Err(why) => return Err(BadValue::Syntax(reason(&why.to_string()))),
    };
    let rtype = record.data().rtype().to_int();
    if matches!(rtype, record_type::OPT | record_type::TSIG | 128..=255) {
        return Err(BadValue::Type(rtype));
    }
    let mut data = Vec::new();
    record.data().compose_rdata(&mut data).map_err(|_| BadValue::Data)?;
    if data.len() > usize::from(u16::MAX) || !is_readable(record.data().rtype(), &data) {
        return Err(BadValue::Data);
    }
    Ok(RecordValue { owner: to_text(record.owner())?, rtype, data })
}

/// True if a client could read the value: a name with an empty label, for one, ends too early, and
/// a pointer, written as a number, leads elsewhere in every message.
fn is_readable(rtype: Rtype, data: &[u8]) -> bool {
    let mut parser = Parser::from_ref(data);
    let Ok(Some(parsed)) = Parsed::parse_rdata(rtype, &mut parser) else { return false };
    let mut again = Vec::with_capacity(data.len());
    parser.remaining() == 0 && parsed.compose_rdata(&mut again).is_ok() && again == data
}

/// Appends a word; bytes outside ASCII stand as `\DDD`, which the reader takes everywhere.
fn push_ascii(word: &str, out: &mut String) {
    for c in word.chars() {
        if c.is_ascii() {
            out.push(c);
        } else {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\{byte:03}");
            }
        }
    }
}

fn to_text(name: &impl ToName) -> Result<DomainName, BadValue> {
    let mut text = NameBuffer::new();
    let mut is_whole = false;
    for label in name.iter_labels() {
        if is_whole {
            return Err(BadValue::Name);
        }
        is_whole = label.is_root();
        if !is_whole {
            text.push_label(label.as_slice()).map_err(|_| BadValue::Name)?;
        }
    }
    Ok(text.as_name().to_owned())
}

/// The reader's complaint without the place, which is that of a text nobody has seen.
fn reason(why: &str) -> String {
    why.split_once(": ").map_or(why, |(_, reason)| reason).to_owned()
}

/// Seconds: a number, or numbers with the units s, m, h, d and w, as in `1h30m`.
pub(super) fn seconds(word: &str) -> Option<u32> {
    if !word.ends_with(|c: char| c.is_ascii_alphabetic()) {
        return word.parse().ok().filter(|_| !word.starts_with('+'));
    }
    let (mut sum, mut rest) = (0u32, word);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let number: u32 = rest[..digits].parse().ok()?;
        let unit = match rest.as_bytes()[digits].to_ascii_lowercase() {
            b's' => 1,
            b'm' => 60,
            b'h' => 3600,
            b'd' => 86_400,
            b'w' => 604_800,
            _ => return None,
        };
        sum = sum.checked_add(number.checked_mul(unit)?)?;
        rest = &rest[digits + 1..];
    }
    Some(sum)
}

impl fmt::Display for BadValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(why) => write!(f, "it is no record of this type: {why}"),
            Self::Name => f.write_str("its name is none: look for empty or long labels and quotes"),
            Self::Data => f.write_str("its value is none: look for empty labels and lengths"),
            Self::Type(rtype) => write!(f, "type {rtype} is for questions only"),
        }
    }
}

impl std::error::Error for BadValue {}
