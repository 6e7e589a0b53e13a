//! Texts with `${...}` in them, which is filled with what happened.
//!
//! The words are those of OxiDNS; an unknown one is refused when the settings are read, and `$$`
//! stands for a dollar. What is filled in came over the network: the caller says how it is escaped,
//! and nothing filled in is read for words again. Called by the HTTP hook and the script.

use super::event::{EffectOccurrence, KeptQuestion};
use dns_wire::record_type;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::borrow::Cow;
use std::fmt::{Display, Write};

/// A text, read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Template {
    parts: Vec<TemplatePiece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum TemplatePiece {
    Text(String),
    Variable(TemplateWord),
}

/// Tells what can be filled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TemplateWord {
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

const VARIABLES: [(&str, TemplateWord); 18] = [
    ("qname", TemplateWord::Qname),
    ("qtype", TemplateWord::Qtype),
    ("qtype_name", TemplateWord::QtypeName),
    ("qclass", TemplateWord::Qclass),
    ("qclass_name", TemplateWord::QclassName),
    ("client_ip", TemplateWord::ClientIp),
    ("client_port", TemplateWord::ClientPort),
    ("server_name", TemplateWord::ServerName),
    ("url_path", TemplateWord::UrlPath),
    ("marks", TemplateWord::Marks),
    ("has_resp", TemplateWord::HasResp),
    ("rcode", TemplateWord::Rcode),
    ("rcode_name", TemplateWord::RcodeName),
    ("resp_ip", TemplateWord::RespIp),
    ("cron_plugin_tag", TemplateWord::CronTag),
    ("cron_job_name", TemplateWord::CronJob),
    ("cron_trigger_kind", TemplateWord::CronTrigger),
    ("cron_scheduled_at_unix_ms", TemplateWord::CronDue),
];

/// Why a text cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BadTemplate {
    /// A `${` without its `}`.
    Open,
    /// Something else than one of [`VARIABLES`].
    Unknown(String),
}

/// Tells how what is filled in is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TemplateEscape {
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
                let word = VARIABLES.iter().find(|(known, _)| *known == name);
                let (_, word) = word.ok_or_else(|| BadTemplate::Unknown(name.into()))?;
                if !literal.is_empty() {
                    pieces.push(TemplatePiece::Text(std::mem::take(&mut literal)));
                }
                pieces.push(TemplatePiece::Variable(*word));
                rest = behind;
            } else {
                literal.push('$');
            }
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            pieces.push(TemplatePiece::Text(literal));
        }
        Ok(Self { parts: pieces })
    }

    /// The text, filled in.
    pub(super) fn render(&self, occurrence: &EffectOccurrence, escape: TemplateEscape) -> String {
        let mut out = String::new();
        for piece in &self.parts {
            match (piece, escape) {
                (TemplatePiece::Text(text), _) => out.push_str(text),
                (TemplatePiece::Variable(word), TemplateEscape::Nothing) => {
                    out.push_str(&word.value(occurrence));
                }
                (TemplatePiece::Variable(word), TemplateEscape::Url) => {
                    out.extend(utf8_percent_encode(&word.value(occurrence), URL_UNSAFE));
                }
            }
        }
        out
    }

    /// True if the text begins with something filled in.
    pub(super) fn starts_with_variable(&self) -> bool {
        matches!(self.parts.first(), Some(TemplatePiece::Variable(_)))
    }

    /// True if nothing is filled in.
    pub(super) fn is_text(&self) -> bool {
        self.parts.iter().all(|piece| matches!(piece, TemplatePiece::Text(_)))
    }

    /// The text it begins with, up to the first word.
    pub(super) fn first_text(&self) -> &str {
        match self.parts.first() {
            Some(TemplatePiece::Text(text)) => text,
            Some(TemplatePiece::Variable(_)) | None => "",
        }
    }

    /// The same without its first `bytes` bytes, which are text.
    pub(super) fn without_first(mut self, bytes: usize) -> Self {
        if let Some(TemplatePiece::Text(text)) = self.parts.first_mut() {
            text.drain(..bytes);
        }
        self
    }

    /// The same up to the first `end` in its text.
    pub(super) fn up_to(mut self, end: char) -> Self {
        for index in 0..self.parts.len() {
            if let TemplatePiece::Text(text) = &mut self.parts[index]
                && let Some(at) = text.find(end)
            {
                text.truncate(at);
                self.parts.truncate(index + 1);
                break;
            }
        }
        self
    }

    /// The same with its own text, not what is filled in, changed.
    pub(super) fn map_text(mut self, change: impl Fn(&str) -> String) -> Self {
        for piece in &mut self.parts {
            if let TemplatePiece::Text(text) = piece {
                *text = change(text);
            }
        }
        self
    }
}

impl TemplateWord {
    fn value(self, of: &EffectOccurrence) -> Cow<'_, str> {
        let asked = |value: fn(&KeptQuestion) -> Cow<'_, str>| of.question.as_deref().map(value);
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
                let known: Vec<_> = VARIABLES.iter().map(|(word, _)| *word).collect();
                write!(f, "${{{word}}} is not known; known are {}", known.join(", "))
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A question for `name` with an answer.
    pub(crate) fn occurrence(name: &str) -> EffectOccurrence {
        EffectOccurrence {
            question: Some(Box::new(KeptQuestion {
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
            ttl_s: 300,
            firing: None,
            only_missing: false,
        }
    }

    fn check(text: &str, expected: &str) {
        let template = Template::parse(text).expect(text);
        assert_eq!(
            template.render(&occurrence("a.example"), TemplateEscape::Nothing),
            expected,
            "{text}"
        );
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
        let as_is = template.render(&hostile, TemplateEscape::Nothing);
        assert_eq!(as_is, "/hook/${client_ip}/../x?y=#&z?a=b");
        let escaped = template.render(&hostile, TemplateEscape::Url);
        assert_eq!(escaped, "/hook/%24%7Bclient_ip%7D%2F..%2Fx%3Fy%3D%23%26z?a=b");
    }

    #[test]
    fn unknown_words_are_refused() {
        assert_eq!(Template::parse("${qname"), Err(BadTemplate::Open));
        assert_eq!(Template::parse("${Qname}"), Err(BadTemplate::Unknown("Qname".into())));
        assert_eq!(Template::parse("${}"), Err(BadTemplate::Unknown(String::new())));
    }
}
