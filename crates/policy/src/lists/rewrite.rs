//! The value of `$dnsrewrite=`: the answer that a DNS question gets in place of the true one.
//!
//! Short forms are an address, a name and a response code; the long one is `RCODE;TYPE;VALUE`. It
//! resolves nothing and knows no wire format. Read by `compile`, shown to the DNS door.

use crate::report::SkipReason;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use vocab::{DomainName, NameError, RequestKind};

/// Longest text of a TXT record, in bytes: one string of RFC 1035 §3.3.
const TXT_BYTES_MAX: usize = 255;

/// Tells what a rule answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DnsRewrite {
    /// No value: only an exception says so, and switches every rewrite off.
    Off,
    /// A response code without records: 0 is NOERROR, the name has nothing of that type.
    Code(u8),
    /// The name is an alias (CNAME) of this one, whose own records are looked up.
    Alias(DomainName),
    /// A record; questions of other types are answered that there is none.
    Record(RewriteRecord),
}

/// The data of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RewriteRecord {
    /// A.
    A(Ipv4Addr),
    /// AAAA.
    Aaaa(Ipv6Addr),
    /// PTR.
    Ptr(DomainName),
    /// NS.
    Ns(DomainName),
    /// CAA: flags, tag and value (RFC 8659 §4.1).
    Caa(u8, String, String),
    /// TXT: at most 255 bytes.
    Txt(String),
    /// MX: preference and mail server.
    Mx(u16, DomainName),
    /// SRV: priority, weight, port and server; without a server there is no such service.
    Srv([u16; 3], Option<DomainName>),
    /// SVCB or HTTPS, by the number of the type: priority, target (none is the name itself), and
    /// parameters as they stand in a zone file.
    Service(u16, u16, Option<DomainName>, String),
}

/// The response codes that may be written, with their numbers (RFC 1035 §4.1.1, RFC 2136 §2.2).
const CODES: [(&str, u8); 11] = [
    ("NOERROR", 0),
    ("FORMERR", 1),
    ("SERVFAIL", 2),
    ("NXDOMAIN", 3),
    ("NOTIMP", 4),
    ("REFUSED", 5),
    ("YXDOMAIN", 6),
    ("YXRRSET", 7),
    ("NXRRSET", 8),
    ("NOTAUTH", 9),
    ("NOTZONE", 10),
];

const CNAME: u16 = 5;

impl DnsRewrite {
    /// Reads a value.
    pub(crate) fn read(value: &str) -> Result<Self, SkipReason> {
        if value.is_empty() {
            return Ok(Self::Off);
        }
        let mut parts = value.splitn(3, ';');
        match (parts.next().unwrap_or_default(), parts.next(), parts.next()) {
            (word, None, _) => Self::short(word),
            (code, Some(""), None | Some("")) => {
                code_of(code).map(Self::Code).ok_or(SkipReason::DnsRewrite)
            }
            (code, Some(kind), Some(data)) => Self::long(code, kind, data),
            (_, Some(_), None) => Err(SkipReason::DnsRewrite),
        }
    }

    fn short(word: &str) -> Result<Self, SkipReason> {
        if let Some(code) = code_of(word) {
            return Ok(Self::Code(code));
        }
        match word.parse() {
            Ok(IpAddr::V4(address)) => Ok(Self::Record(RewriteRecord::A(address))),
            Ok(IpAddr::V6(address)) => Ok(Self::Record(RewriteRecord::Aaaa(address))),
            Err(_) => DomainName::parse(word).map(Self::Alias).map_err(|_| SkipReason::DnsRewrite),
        }
    }

    fn long(code: &str, kind: &str, data: &str) -> Result<Self, SkipReason> {
        match code_of(code) {
            Some(0) => {}
            // Whatever stands behind an error is not sent.
            Some(code) => return Ok(Self::Code(code)),
            None => return Err(SkipReason::DnsRewrite),
        }
        let kind = kind.to_ascii_uppercase();
        let number = RequestKind::record_type(&kind).ok_or(SkipReason::DnsRewrite)?;
        // The name has nothing of any type.
        if data.is_empty() {
            return Ok(Self::Code(0));
        }
        let rewrite = if number == CNAME {
            DomainName::parse(data).ok().map(Self::Alias)
        } else {
            RewriteRecord::read(number, data.trim()).map(Self::Record)
        };
        rewrite.ok_or(SkipReason::DnsRewrite)
    }
}

fn code_of(word: &str) -> Option<u8> {
    CODES.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)).map(|(_, code)| *code)
}

impl RewriteRecord {
    fn read(number: u16, data: &str) -> Option<Self> {
        let mut words = data.split_whitespace();
        let name = |text: &str| DomainName::parse(text).ok();
        let read = match RequestKind::Lookup(number).to_string().as_str() {
            "A" => Self::A(data.parse().ok()?),
            "AAAA" => Self::Aaaa(data.parse().ok()?),
            "PTR" => Self::Ptr(name(data)?),
            "NS" => Self::Ns(name(data)?),
            "CAA" => return authorization(data),
            "TXT" => return text(data),
            "MX" => Self::Mx(words.next()?.parse().ok()?, name(words.next()?)?),
            "SRV" => {
                let mut number = || words.next()?.parse().ok();
                let numbers = [number()?, number()?, number()?];
                Self::Srv(numbers, target(words.next()?).ok()?)
            }
            "SVCB" | "HTTPS" => {
                let priority = words.next()?.parse().ok()?;
                let target = target(words.next()?).ok()?;
                let parameters: Vec<&str> = words.by_ref().collect();
                // An alias has none (RFC 9460 §2.4.2).
                let is_alias_with_some = priority == 0 && !parameters.is_empty();
                if is_alias_with_some || !parameters.iter().all(|it| is_service_parameter(it)) {
                    return None;
                }
                Self::Service(number, priority, target, parameters.join(" "))
            }
            _ => return None,
        };
        let whole = words.next().is_none()
            || matches!(read, Self::A(_) | Self::Aaaa(_) | Self::Ptr(_) | Self::Ns(_));
        whole.then_some(read)
    }

    /// The number of its type.
    pub const fn record_type(&self) -> u16 {
        match self {
            Self::A(_) => 1,
            Self::Ns(_) => 2,
            Self::Ptr(_) => 12,
            Self::Mx(..) => 15,
            Self::Txt(_) => 16,
            Self::Aaaa(_) => 28,
            Self::Srv(..) => 33,
            Self::Caa(..) => 257,
            Self::Service(number, ..) => *number,
        }
    }
}

/// `flags tag value`, the value perhaps in quotes.
fn authorization(data: &str) -> Option<RewriteRecord> {
    let mut words = data.splitn(3, ' ').map(str::trim);
    let flags = words.next()?.parse().ok()?;
    let tag = words.next()?;
    let value = words.next()?.trim_matches('"');
    let fits = !tag.is_empty()
        && tag.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && value.len() <= TXT_BYTES_MAX
        && !value.contains(char::is_control);
    fits.then(|| RewriteRecord::Caa(flags, tag.to_ascii_lowercase(), value.to_owned()))
}

/// True for a parameter of an SVCB record with a value that it may have (RFC 9460 §7).
fn is_service_parameter(word: &str) -> bool {
    let (key, value) = word.split_once('=').unwrap_or((word, ""));
    let value = value.trim_matches('"');
    let all_are = |is_one: fn(&str) -> bool| !value.is_empty() && value.split(',').all(is_one);
    let is_text = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_graphic());
    match key {
        "no-default-alpn" | "ohttp" => value.is_empty(),
        "port" => value.parse::<u16>().is_ok(),
        "ipv4hint" => all_are(|word| word.parse::<Ipv4Addr>().is_ok()),
        "ipv6hint" => all_are(|word| word.parse::<Ipv6Addr>().is_ok()),
        "mandatory" | "alpn" | "ech" | "dohpath" => is_text,
        _ => key.strip_prefix("key").is_some_and(|number| number.parse::<u16>().is_ok()),
    }
}

/// A text as zone files have it.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{escaped}\"")
}

fn text(data: &str) -> Option<RewriteRecord> {
    let fits = data.len() <= TXT_BYTES_MAX && !data.contains(char::is_control);
    fits.then(|| RewriteRecord::Txt(data.to_owned()))
}

/// A name, or `.` for none.
fn target(word: &str) -> Result<Option<DomainName>, NameError> {
    if word == "." { Ok(None) } else { DomainName::parse(word).map(Some) }
}

/// The data as a zone file has them (RFC 1035 §5.1), names with their final dot.
impl fmt::Display for RewriteRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dotted = |name: &Option<DomainName>| {
            name.as_ref().map_or_else(|| ".".to_owned(), |name| format!("{name}."))
        };
        match self {
            Self::A(address) => write!(f, "{address}"),
            Self::Aaaa(address) => write!(f, "{address}"),
            Self::Ptr(name) | Self::Ns(name) => write!(f, "{name}."),
            Self::Caa(flags, tag, value) => write!(f, "{flags} {tag} {}", quoted(value)),
            Self::Txt(text) => f.write_str(&quoted(text)),
            Self::Mx(preference, name) => write!(f, "{preference} {name}."),
            Self::Srv([priority, weight, port], name) => {
                write!(f, "{priority} {weight} {port} {}", dotted(name))
            }
            Self::Service(_, priority, name, parameters) => {
                write!(f, "{}", format!("{priority} {} {parameters}", dotted(name)).trim_end())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(value: &str) -> (u16, String) {
        match DnsRewrite::read(value) {
            Ok(DnsRewrite::Record(record)) => (record.record_type(), record.to_string()),
            other => panic!("{value} became {other:?}"),
        }
    }

    #[test]
    fn every_form_of_a_value_is_read() {
        let name = |text: &str| DomainName::parse(text).unwrap();
        assert_eq!(DnsRewrite::read(""), Ok(DnsRewrite::Off));
        assert_eq!(DnsRewrite::read("NXDOMAIN"), Ok(DnsRewrite::Code(3)));
        assert_eq!(DnsRewrite::read("REFUSED;;"), Ok(DnsRewrite::Code(5)));
        assert_eq!(DnsRewrite::read("SERVFAIL;A;192.0.2.1"), Ok(DnsRewrite::Code(2)));
        assert_eq!(DnsRewrite::read("b.example."), Ok(DnsRewrite::Alias(name("b.example"))));
        assert_eq!(
            DnsRewrite::read("NOERROR;CNAME;B.example"),
            Ok(DnsRewrite::Alias(name("b.example")))
        );
        let check = |value: &str, number: u16, text: &str| {
            assert_eq!(record(value), (number, text.to_owned()), "{value}");
        };
        check("192.0.2.1", 1, "192.0.2.1");
        check("2001:db8::1", 28, "2001:db8::1");
        check("NOERROR;A;192.0.2.1", 1, "192.0.2.1");
        check("NOERROR;MX;32 mail.example", 15, "32 mail.example.");
        check("NOERROR;TXT;say \"hi\"", 16, "\"say \\\"hi\\\"\"");
        check("NOERROR;SRV;10 60 8080 a.example", 33, "10 60 8080 a.example.");
        check("NOERROR;SRV;0 0 0 .", 33, "0 0 0 .");
        check("NOERROR;PTR;a.example.", 12, "a.example.");
        check("NOERROR;HTTPS;32 a.example alpn=h3", 65, "32 a.example. alpn=h3");
        check("NOERROR;SVCB;1 .", 64, "1 .");
        check("noerror;a;192.0.2.1", 1, "192.0.2.1");
        check("NOERROR;NS;ns.example", 2, "ns.example.");
        check("NOERROR;CAA;0 issue \"ca.example\"", 257, "0 issue \"ca.example\"");
        assert_eq!(DnsRewrite::read("nxdomain"), Ok(DnsRewrite::Code(3)));
        assert_eq!(DnsRewrite::read("nxdomain;;"), Ok(DnsRewrite::Code(3)));
        assert_eq!(DnsRewrite::read("YXDOMAIN"), Ok(DnsRewrite::Code(6)));
        assert_eq!(DnsRewrite::read("NOERROR;AAAA;"), Ok(DnsRewrite::Code(0)));
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        for value in [
            "SOUP;;",
            "NOERROR;A",
            "NOERROR;A;a.example",
            "NOERROR;MX;mail.example",
            "NOERROR;WKS;x",
            "a b",
            "-.-..",
            "NOERROR;MX;1 a.example b",
            "NOERROR;SRV;1 2 a.example",
            "NOERROR;SVCB;42 bad stuffs",
            "NOERROR;HTTPS;1 . port=soup",
            "NOERROR;CAA;soup",
        ] {
            assert_eq!(DnsRewrite::read(value), Err(SkipReason::DnsRewrite), "{value}");
        }
        let long = format!("NOERROR;TXT;{}", "a".repeat(256));
        assert_eq!(DnsRewrite::read(&long), Err(SkipReason::DnsRewrite));
    }
}
