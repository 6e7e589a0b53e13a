//! Texts with `${...}` in them, which is filled with what happened.
//!
//! The words are those of OxiDNS; an unknown one is refused when the settings are read, and `$$`
//! stands for a dollar. What is filled in came over the network: the caller says how it is escaped,
//! and nothing filled in is read for words again. Called by the HTTP hook and the script.

use super::event::{Asked, Occurrence};
use dns_wire::record_type;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::borrow::Cow;
use std::fmt::{Display, Write};

/// A text, read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Template {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Word(Word),
}

/// What can be filled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Qname,
    Qtype,
    QtypeName,
    Qclass,
    QclassName,
    ClientIp,
    ClientPort,
    ServerName,
    UrlPath,
    Marks,
    HasResp,
    Rcode,
    RcodeName,
    RespIp,
    CronTag,
    CronJob,
    CronTrigger,
    CronDue,
}

const WORDS: [(&str, Word); 18] = [
    ("qname", Word::Qname),
    ("qtype", Word::Qtype),
    ("qtype_name", Word::QtypeName),
    ("qclass", Word::Qclass),
    ("qclass_name", Word::QclassName),
    ("client_ip", Word::ClientIp),
    ("client_port", Word::ClientPort),
    ("server_name", Word::ServerName),
    ("url_path", Word::UrlPath),
    ("marks", Word::Marks),
    ("has_resp", Word::HasResp),
    ("rcode", Word::Rcode),
    ("rcode_name", Word::RcodeName),
    ("resp_ip", Word::RespIp),
    ("cron_plugin_tag", Word::CronTag),
    ("cron_job_name", Word::CronJob),
    ("cron_trigger_kind", Word::CronTrigger),
    ("cron_scheduled_at_unix_ms", Word::CronDue),
];

/// Why a text cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BadTemplate {
    /// A `${` without its `}`.
    Open,
    /// Something else than one of [`WORDS`].
    Unknown(String),
}

/// How what is filled in is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Escape {
    /// As it is.
    Nothing,
    /// As part of a URL's path or query: nothing of it divides or leaves its place.
    Url,
}

/// All but letters, digits and `-._~` (RFC 3986 §2.3).
pub(super) const URL_UNSAFE: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

impl Template {
    pub(super) fn parse(text: &str) -> Result<Self, BadTemplate> {
        let mut pieces = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            literal.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            if let Some(behind) = rest.strip_prefix('$') {
                literal.push('$');
                rest = behind;
            } else if let Some(behind) = rest.strip_prefix('{') {
                let (name, behind) = behind.split_once('}').ok_or(BadTemplate::Open)?;
                let name = name.trim();
                let word = WORDS.iter().find(|(known, _)| *known == name);
                let (_, word) = word.ok_or_else(|| BadTemplate::Unknown(name.into()))?;
                if !literal.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut literal)));
                }
                pieces.push(Piece::Word(*word));
                rest = behind;
            } else {
                literal.push('$');
            }
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            pieces.push(Piece::Text(literal));
        }
        Ok(Self { pieces })
    }

    /// The text, filled in.
    pub(super) fn render(&self, occurrence: &Occurrence, escape: Escape) -> String {
        let mut out = String::new();
        for piece in &self.pieces {
            match (piece, escape) {
                (Piece::Text(text), _) => out.push_str(text),
                (Piece::Word(word), Escape::Nothing) => out.push_str(&word.value(occurrence)),
                (Piece::Word(word), Escape::Url) => {
                    out.extend(utf8_percent_encode(&word.value(occurrence), URL_UNSAFE));
                }
            }
        }
        out
    }

    /// Whether the text begins with something filled in.
    pub(super) fn begins_with_word(&self) -> bool {
        matches!(self.pieces.first(), Some(Piece::Word(_)))
    }

    /// Whether nothing is filled in.
    pub(super) fn is_text(&self) -> bool {
        self.pieces.iter().all(|piece| matches!(piece, Piece::Text(_)))
    }

    /// The text it begins with, up to the first word.
    pub(super) fn first_text(&self) -> &str {
        match self.pieces.first() {
            Some(Piece::Text(text)) => text,
            Some(Piece::Word(_)) | None => "",
        }
    }

    /// The same without its first `bytes` bytes, which are text.
    pub(super) fn without_first(mut self, bytes: usize) -> Self {
        if let Some(Piece::Text(text)) = self.pieces.first_mut() {
            text.drain(..bytes);
        }
        self
    }

    /// The same up to the first `end` in its text.
    pub(super) fn up_to(mut self, end: char) -> Self {
        for index in 0..self.pieces.len() {
            if let Piece::Text(text) = &mut self.pieces[index]
                && let Some(at) = text.find(end)
            {
                text.truncate(at);
                self.pieces.truncate(index + 1);
                break;
            }
        }
        self
    }

    /// The same with its own text, not what is filled in, changed.
    pub(super) fn map_text(mut self, change: impl Fn(&str) -> String) -> Self {
        for piece in &mut self.pieces {
            if let Piece::Text(text) = piece {
                *text = change(text);
            }
        }
        self
    }
}

impl Word {
    fn value(self, of: &Occurrence) -> Cow<'_, str> {
        let asked = |value: fn(&Asked) -> Cow<'_, str>| of.asked.as_deref().map(value);
        let number = |it: u16| Cow::Owned(it.to_string());
        let firing = of.firing.as_deref();
        let value = match self {
            Self::Qname => asked(|it| match &*it.name {
                "" => ".".into(),
                name => name.into(),
            }),
            Self::Qtype => asked(|it| it.qtype.to_string().into()),
            Self::QtypeName => asked(|it| type_name(it.qtype)),
            Self::Qclass => asked(|it| it.qclass.to_string().into()),
            Self::QclassName => asked(|it| class_name(it.qclass)),
            Self::ClientIp => asked(|it| it.client.to_string().into()),
            Self::ClientPort => asked(|it| it.client_port.to_string().into()),
            Self::ServerName => asked(|it| (&*it.server_name).into()),
            Self::UrlPath => asked(|it| (&*it.url_path).into()),
            Self::Marks => asked(|it| {
                let mut marks = it.marks.to_vec();
                marks.sort_unstable();
                joined(&marks).into()
            }),
            Self::HasResp => Some(if of.rcode.is_some() { "true" } else { "false" }.into()),
            Self::Rcode => of.rcode.map(number),
            Self::RcodeName => of.rcode.map(rcode_name),
            Self::RespIp => {
                let mut texts: Vec<_> = of.addresses.iter().map(ToString::to_string).collect();
                texts.sort_unstable();
                Some(joined(&texts).into())
            }
            Self::CronTag => firing.map(|it| (&*it.schedule).into()),
            Self::CronJob => firing.map(|it| (&*it.job).into()),
            Self::CronTrigger => firing.map(|it| it.trigger.into()),
            Self::CronDue => firing.map(|it| it.due_unix_ms.to_string().into()),
        };
        value.unwrap_or_default()
    }
}

fn joined(all: &[impl Display]) -> String {
    let mut out = String::new();
    for (index, one) in all.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        // Writing to a String cannot fail.
        let _ = write!(out, "{comma}{one}");
    }
    out
}

/// The names of RFC 1035 §3.2.2 and its successors; others as RFC 3597 §5 writes them.
fn type_name(qtype: u16) -> Cow<'static, str> {
    match qtype {
        record_type::A => "A".into(),
        record_type::NS => "NS".into(),
        record_type::CNAME => "CNAME".into(),
        record_type::SOA => "SOA".into(),
        record_type::PTR => "PTR".into(),
        record_type::MX => "MX".into(),
        record_type::TXT => "TXT".into(),
        record_type::AAAA => "AAAA".into(),
        record_type::SRV => "SRV".into(),
        35 => "NAPTR".into(),
        record_type::DNAME => "DNAME".into(),
        43 => "DS".into(),
        48 => "DNSKEY".into(),
        52 => "TLSA".into(),
        record_type::SVCB => "SVCB".into(),
        record_type::HTTPS => "HTTPS".into(),
        record_type::ANY => "ANY".into(),
        257 => "CAA".into(),
        other => format!("TYPE{other}").into(),
    }
}

fn class_name(qclass: u16) -> Cow<'static, str> {
    match qclass {
        1 => "IN".into(),
        3 => "CH".into(),
        4 => "HS".into(),
        255 => "ANY".into(),
        other => format!("CLASS{other}").into(),
    }
}

/// As OxiDNS writes them, since that is what its users' receivers compare with.
fn rcode_name(rcode: u16) -> Cow<'static, str> {
    match rcode {
        0 => "NoError".into(),
        1 => "FormErr".into(),
        2 => "ServFail".into(),
        3 => "NXDomain".into(),
        4 => "NotImp".into(),
        5 => "Refused".into(),
        6 => "YXDomain".into(),
        7 => "YXRRSet".into(),
        8 => "NXRRSet".into(),
        other => format!("RCODE{other}").into(),
    }
}

impl Display for BadTemplate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Open => f.write_str("a ${ lacks its }; write $$ for a dollar"),
            Self::Unknown(word) => {
                let known: Vec<_> = WORDS.iter().map(|(word, _)| *word).collect();
                write!(f, "${{{word}}} is not known; known are {}", known.join(", "))
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A question for `name` with an answer.
    pub(in crate::effects) fn occurrence(name: &str) -> Occurrence {
        Occurrence {
            asked: Some(Box::new(Asked {
                name: name.into(),
                qtype: 65,
                qclass: 1,
                client: "192.0.2.9".parse().expect("an address"),
                client_port: 4711,
                server_name: "".into(),
                url_path: "/dns-query".into(),
                marks: Box::new([7, 2]),
            })),
            rcode: Some(3),
            addresses: Box::new(["2001:db8::1", "192.0.2.2"].map(|it| it.parse().expect("one"))),
            firing: None,
            only_missing: false,
        }
    }

    fn check(text: &str, expected: &str) {
        let template = Template::parse(text).expect(text);
        assert_eq!(template.render(&occurrence("a.example"), Escape::Nothing), expected, "{text}");
    }

    #[test]
    fn words_are_filled_in() {
        check("", "");
        check("cost: 5$ or $$5", "cost: 5$ or $5");
        check("${qname}/${ qtype }", "a.example/65");
        check("${qtype_name} ${qclass_name} ${rcode_name}", "HTTPS IN NXDomain");
        check("${client_ip}:${client_port}${server_name}", "192.0.2.9:4711");
        check("${marks} ${has_resp} ${rcode} ${resp_ip}", "2,7 true 3 192.0.2.2,2001:db8::1");
        check("<${cron_job_name}>", "<>");
        check("$${qname}", "${qname}");
    }

    #[test]
    fn what_is_filled_in_is_not_read_again_and_stays_in_its_place() {
        let hostile = occurrence("${client_ip}/../x?y=#&z");
        let template = Template::parse("/hook/${qname}?a=b").expect("a template");
        let as_is = template.render(&hostile, Escape::Nothing);
        assert_eq!(as_is, "/hook/${client_ip}/../x?y=#&z?a=b");
        let escaped = template.render(&hostile, Escape::Url);
        assert_eq!(escaped, "/hook/%24%7Bclient_ip%7D%2F..%2Fx%3Fy%3D%23%26z?a=b");
    }

    #[test]
    fn unknown_words_are_refused() {
        assert_eq!(Template::parse("${qname"), Err(BadTemplate::Open));
        assert_eq!(Template::parse("${Qname}"), Err(BadTemplate::Unknown("Qname".into())));
        assert_eq!(Template::parse("${}"), Err(BadTemplate::Unknown(String::new())));
    }
}
