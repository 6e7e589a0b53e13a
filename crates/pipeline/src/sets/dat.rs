//! The `geosite.dat` and `geoip.dat` files of v2ray: names and networks under codes such as `cn`.
//!
//! They are protocol buffers. The file is walked where it lies, and only what is selected is
//! decoded, one rule at a time: a file of hundreds of codes costs no more memory than itself.
//! Hostile bytes end in an error. Called by `mosdns-compat`; the bytes are handed in.

use super::addresses::{BadNetwork, GeoNetwork};
use super::rule::{BadRule, DomainKind, DomainRule, excerpt};
use prost::Message;
use std::fmt;
use std::net::IpAddr;

/// Largest file, in bytes. The usual ones have 10 to 25 MB.
pub const DAT_BYTES_MAX: usize = 256 << 20;
/// Largest message of one rule, in bytes.
const RULE_BYTES_MAX: usize = 64 << 10;
/// Rules that were left out, kept with their reason, at most.
pub const SKIPPED_KEPT_MAX: usize = 20;

/// Fields of an entry of either file: `string country_code = 1`, the rules as messages in 2, and
/// the code's newer place, which goes before the older where it is not empty.
const COUNTRY_CODE: u32 = 1;
const RULES: u32 = 2;
const SITE_CODE: u32 = 4;
const IP_INVERSE: u32 = 3;
const IP_CODE: u32 = 5;

/// Holds what is wanted of a file: a code, and of its names perhaps only those with an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatSelector {
    code: String,
    attribute: Option<String>,
}

/// Holds what a file had.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DatContents {
    /// Rules that were taken.
    pub rules: u64,
    /// Rules that could not be used.
    pub skipped: u64,
    /// The first [`SKIPPED_KEPT_MAX`] of those: where, and why.
    pub reasons: Vec<String>,
    /// Selectors that nothing in the file fits, as they were written.
    pub missing: Vec<String>,
}

/// Why a file cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadDat {
    /// Is larger than [`DAT_BYTES_MAX`].
    TooLarge,
    /// Breaks off, or is another kind of file.
    Malformed,
    /// Says that a code means all addresses but those listed.
    Inverse,
}

/// Why a text selects nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadSelector {
    /// There is no code.
    NoCode,
    /// An `@` without an attribute behind it.
    NoAttribute,
}

#[derive(Clone, PartialEq, Message)]
struct GeoSite {
    #[prost(int32, tag = "1")]
    kind: i32,
    #[prost(string, tag = "2")]
    value: String,
    #[prost(message, repeated, tag = "3")]
    attributes: Vec<GeoAttribute>,
}

#[derive(Clone, PartialEq, Message)]
struct GeoAttribute {
    #[prost(string, tag = "1")]
    key: String,
}

#[derive(Clone, PartialEq, Message)]
struct GeoCidr {
    #[prost(bytes = "vec", tag = "1")]
    ip: Vec<u8>,
    #[prost(uint32, tag = "2")]
    prefix: u32,
}

impl DatSelector {
    /// Reads `code` or `code@attribute`, in any case.
    pub fn parse(text: &str) -> Result<Self, BadSelector> {
        let (code, attribute) = match text.split_once('@') {
            Some((code, attribute)) => (code.trim(), Some(attribute.trim())),
            None => (text.trim(), None),
        };
        if code.is_empty() {
            return Err(BadSelector::NoCode);
        }
        if attribute == Some("") {
            return Err(BadSelector::NoAttribute);
        }
        let lower = str::to_ascii_lowercase;
        Ok(Self { code: lower(code), attribute: attribute.map(lower) })
    }
}

/// Gives the names of a `geosite.dat` under `selectors` (all names without any) to `each`. What it
/// refuses is counted and left out.
pub fn sites(
    bytes: &[u8],
    selectors: &[DatSelector],
    mut each: impl FnMut(&DomainRule<'_>) -> Result<(), BadRule>,
) -> Result<DatContents, BadDat> {
    walk(bytes, selectors, SITE_CODE, |code, message, wanted, found| {
        let site = GeoSite::decode(message).map_err(|_| BadDat::Malformed)?;
        let fits = |selector: &&WantedCode<'_>| {
            selector.attribute().is_none_or(|attribute| {
                site.attributes.iter().any(|it| it.key.eq_ignore_ascii_case(attribute))
            })
        };
        let mut fitting = wanted.iter().filter(fits).peekable();
        if !wanted.is_empty() && fitting.peek().is_none() {
            return Ok(());
        }
        fitting.for_each(WantedCode::note);
        let kind = match site.kind {
            0 => DomainKind::Keyword,
            1 => DomainKind::Regexp,
            2 => DomainKind::Domain,
            3 => DomainKind::Full,
            _ => return Err(BadDat::Malformed),
        };
        let taken = DomainRule::new(kind, &site.value).and_then(|rule| each(&rule));
        found.count(code, &site.value, taken);
        Ok(())
    })
}

/// Gives the networks of a `geoip.dat` under `selectors` (all networks without any) to `each`. What
/// it refuses is counted and left out.
pub fn networks(
    bytes: &[u8],
    selectors: &[DatSelector],
    mut each: impl FnMut(GeoNetwork) -> Result<(), BadNetwork>,
) -> Result<DatContents, BadDat> {
    walk(bytes, selectors, IP_CODE, |code, message, wanted, found| {
        let cidr = GeoCidr::decode(message).map_err(|_| BadDat::Malformed)?;
        // Networks have no attributes: a selector with one fits none.
        let mut fitting = wanted.iter().filter(|it| it.attribute().is_none()).peekable();
        if !wanted.is_empty() && fitting.peek().is_none() {
            return Ok(());
        }
        fitting.for_each(WantedCode::note);
        let address = match (<[u8; 4]>::try_from(&cidr.ip[..]), <[u8; 16]>::try_from(&cidr.ip[..]))
        {
            (Ok(v4), _) => IpAddr::from(v4),
            (_, Ok(v6)) => IpAddr::from(v6),
            (Err(_), Err(_)) => return Err(BadDat::Malformed),
        };
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let taken = match u8::try_from(cidr.prefix) {
            Ok(prefix) if prefix <= longest => each(GeoNetwork { address, prefix }),
            Ok(_) | Err(_) => Err(BadNetwork::Prefix(cidr.prefix.to_string())),
        };
        found.count(code, &address.to_string(), taken);
        Ok(())
    })
}

/// A selector that names the code of an entry, and whether it ever fitted.
struct WantedCode<'s> {
    selector: &'s DatSelector,
    has_fitted: std::cell::Cell<bool>,
}

impl WantedCode<'_> {
    fn attribute(&self) -> Option<&str> {
        self.selector.attribute.as_deref()
    }

    fn note(&self) {
        self.has_fitted.set(true);
    }
}

impl DatContents {
    fn count<E: fmt::Display>(&mut self, code: &str, rule: &str, taken: Result<(), E>) {
        match taken {
            Ok(()) => self.rules += 1,
            Err(why) => {
                self.skipped += 1;
                if self.reasons.len() < SKIPPED_KEPT_MAX {
                    self.reasons.push(format!("\"{}\" of {code}: {why}", excerpt(rule)));
                }
            }
        }
    }
}

/// Shows every rule of every selected entry: the entry's code, the rule's message, the selectors
/// that name the code.
fn walk(
    bytes: &[u8],
    selectors: &[DatSelector],
    code_field: u32,
    mut rule: impl FnMut(&str, &[u8], &[WantedCode<'_>], &mut DatContents) -> Result<(), BadDat>,
) -> Result<DatContents, BadDat> {
    if bytes.len() > DAT_BYTES_MAX {
        return Err(BadDat::TooLarge);
    }
    let mut found = DatContents::default();
    let mut fitted = vec![false; selectors.len()];
    for entry in MessageFields(bytes) {
        let MessageField::Bytes(1, entry) = entry? else { continue };
        let (code, is_inverse) = head_of(entry, code_field)?;
        let named: Vec<usize> = (0..selectors.len())
            .filter(|at| selectors[*at].code.eq_ignore_ascii_case(&code))
            .collect();
        if named.is_empty() && !selectors.is_empty() {
            continue;
        }
        if is_inverse && code_field == IP_CODE {
            return Err(BadDat::Inverse);
        }
        let wanted: Vec<WantedCode<'_>> = named
            .iter()
            .map(|at| WantedCode { selector: &selectors[*at], has_fitted: fitted[*at].into() })
            .collect();
        for field in MessageFields(entry) {
            if let MessageField::Bytes(RULES, message) = field? {
                if message.len() > RULE_BYTES_MAX {
                    return Err(BadDat::Malformed);
                }
                rule(&code, message, &wanted, &mut found)?;
            }
        }
        for (at, wanted) in named.iter().zip(&wanted) {
            fitted[*at] = wanted.has_fitted.get();
        }
    }
    let missing = selectors.iter().zip(&fitted).filter(|(_, has_fitted)| !**has_fitted);
    found.missing = missing.map(|(selector, _)| selector.to_string()).collect();
    Ok(found)
}

/// The code of an entry, and whether its field 3 is a number other than 0.
fn head_of(entry: &[u8], code_field: u32) -> Result<(String, bool), BadDat> {
    let (mut old, mut new, mut is_inverse) = (&[][..], &[][..], false);
    for field in MessageFields(entry) {
        match field? {
            MessageField::Bytes(COUNTRY_CODE, code) => old = code,
            MessageField::Bytes(field, code) if field == code_field => new = code,
            MessageField::Number(IP_INVERSE, number) => is_inverse = number != 0,
            MessageField::Bytes(..) | MessageField::Number(..) | MessageField::Other => {}
        }
    }
    let code = if new.is_empty() { old } else { new };
    let code = std::str::from_utf8(code).map_err(|_| BadDat::Malformed)?;
    Ok((excerpt(code), is_inverse))
}

/// The fields of a message, by number.
struct MessageFields<'b>(&'b [u8]);

enum MessageField<'b> {
    Bytes(u32, &'b [u8]),
    Number(u32, u64),
    Other,
}

impl<'b> Iterator for MessageFields<'b> {
    type Item = Result<MessageField<'b>, BadDat>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.read();
        if field.is_none() {
            self.0 = &[];
        }
        Some(field.ok_or(BadDat::Malformed))
    }
}

impl<'b> MessageFields<'b> {
    fn read(&mut self) -> Option<MessageField<'b>> {
        let key = self.varint()?;
        let number = u32::try_from(key >> 3).ok().filter(|number| *number > 0)?;
        Some(match key & 7 {
            0 => MessageField::Number(number, self.varint()?),
            1 => self.take(8).map(|_| MessageField::Other)?,
            2 => {
                let length = usize::try_from(self.varint()?).ok()?;
                MessageField::Bytes(number, self.take(length)?)
            }
            5 => self.take(4).map(|_| MessageField::Other)?,
            _ => return None,
        })
    }

    fn take(&mut self, length: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    /// Seven bits a byte, lowest first, at most ten bytes.
    fn varint(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = *self.take(1)?.first()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }
}

impl fmt::Display for DatSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.attribute {
            None => f.write_str(&self.code),
            Some(attribute) => write!(f, "{}@{attribute}", self.code),
        }
    }
}

impl fmt::Display for BadDat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge => {
                write!(
                    f,
                    "the file is larger than {} MiB: is it the right one?",
                    DAT_BYTES_MAX >> 20
                )
            }
            Self::Malformed => {
                f.write_str("the file is damaged, or no .dat file of this kind: fetch it again")
            }
            Self::Inverse => f.write_str(
                "the file lists what a code does not mean, which cannot be used: take another file",
            ),
        }
    }
}

impl std::error::Error for BadDat {}

impl fmt::Display for BadSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoCode => "a selector begins with a code, as in cn or google@ads",
            Self::NoAttribute => "an attribute must follow the @, as in google@ads",
        })
    }
}

impl std::error::Error for BadSelector {}
