//! One question as a line of JSON.
//!
//! Pure. Names are escaped as strings of JSON are.

use dns_wire::reply;
use log_sink::{ClockTime, address, json_text, number};
use std::io::Write;
use std::net::IpAddr;
use vocab::{Action, RequestKind, Source};

/// Addresses of an answer that a line has.
const ADDRESSES_MAX: usize = 8;

/// A question that was answered, or refused.
pub struct QueryLogEntry<'q> {
    /// Time at which it came, in milliseconds since 1970.
    pub unix_ms: u64,
    /// The client.
    pub client: IpAddr,
    /// The way it came by: `udp`, `tcp`, `tls`, `https` or `quic`.
    pub protocol: &'static str,
    /// The name that was asked for; `.` for the root.
    pub name: &'q str,
    /// The type that was asked for.
    pub kind: RequestKind,
    /// Decision of the policy.
    pub action: Action,
    /// Source of the answer.
    pub source: Source,
    /// The rule that blocks it, where there is one.
    pub blocked_by: Option<BlockedBy<'q>>,
    /// The reply; empty where nothing was said.
    pub reply: &'q [u8],
    /// Microseconds until the reply.
    pub took_us: u32,
}

/// A rule as its list has it.
#[derive(Clone, Copy, Debug)]
pub struct BlockedBy<'q> {
    /// The list.
    pub list: &'q str,
    /// The line's text.
    pub rule: &'q str,
}

/// Writes `entry` with its line feed.
pub(crate) fn write(out: &mut Vec<u8>, entry: &QueryLogEntry<'_>) {
    // Writing to memory cannot fail.
    let time = ClockTime::of_ms(entry.unix_ms).rfc3339_ms();
    let _ = write!(out, "{{\"time\":\"{time}\",\"client\":\"");
    address(out, entry.client);
    let _ = write!(out, "\",\"protocol\":\"{}\",\"name\":\"", entry.protocol);
    json_text(out, if entry.name.is_empty() { b"." } else { entry.name.as_bytes() });
    out.extend_from_slice(b"\",\"type\":\"");
    json_text(out, entry.kind.to_string().as_bytes());
    let (action, source) = (entry.action.as_str(), entry.source.as_str());
    let _ = write!(out, "\",\"action\":\"{action}\",\"source\":\"{source}\"");
    if let Some(BlockedBy { list, rule }) = entry.blocked_by {
        out.extend_from_slice(b",\"list\":\"");
        json_text(out, list.as_bytes());
        out.extend_from_slice(b"\",\"rule\":\"");
        json_text(out, rule.as_bytes());
        out.push(b'"');
    }
    if !entry.reply.is_empty() {
        let _ = write!(out, ",\"rcode\":\"{}\"", rcode(reply::rcode(entry.reply)));
        for (at, it) in reply::addresses(entry.reply).take(ADDRESSES_MAX).enumerate() {
            out.extend_from_slice(if at == 0 { b",\"addresses\":[\"" } else { b",\"" });
            address(out, it);
            out.push(b'"');
        }
        if reply::addresses(entry.reply).next().is_some() {
            out.push(b']');
        }
    }
    out.extend_from_slice(b",\"bytes\":");
    number(out, entry.reply.len());
    out.extend_from_slice(b",\"took_us\":");
    number(out, entry.took_us);
    out.extend_from_slice(b"}\n");
}

/// A response code as `dig` writes it.
fn rcode(code: u16) -> String {
    match code {
        0 => "NOERROR".into(),
        1 => "FORMERR".into(),
        2 => "SERVFAIL".into(),
        3 => "NXDOMAIN".into(),
        4 => "NOTIMP".into(),
        5 => "REFUSED".into(),
        other => format!("RCODE{other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(entry: &QueryLogEntry<'_>) -> String {
        let mut out = Vec::new();
        write(&mut out, entry);
        String::from_utf8(out).unwrap()
    }

    /// An answer of two addresses to a question for the root, as bytes.
    const REPLY: &[u8] = b"\0\0\x81\x80\0\x01\0\x02\0\0\0\0\0\0\x01\0\x01\
        \0\0\x01\0\x01\0\0\0\x3c\0\x04\xc0\0\x02\x01\
        \0\0\x01\0\x01\0\0\0\x3c\0\x04\xc0\0\x02\x02";

    fn entry() -> QueryLogEntry<'static> {
        QueryLogEntry {
            unix_ms: 1_795_282_147_005,
            client: "2001:db8::7".parse().unwrap(),
            protocol: "udp",
            name: "www.example",
            kind: RequestKind::Lookup(1),
            action: Action::Pass,
            source: Source::Cache,
            blocked_by: None,
            reply: REPLY,
            took_us: 12,
        }
    }

    #[test]
    fn a_question_is_one_object_with_what_was_answered() {
        assert_eq!(
            line(&entry()),
            "{\"time\":\"2026-11-21T17:29:07.005Z\",\"client\":\"2001:db8::7\",\
             \"protocol\":\"udp\",\"name\":\"www.example\",\"type\":\"A\",\"action\":\"pass\",\
             \"source\":\"cache\",\"rcode\":\"NOERROR\",\"addresses\":[\"192.0.2.1\",\"192.0.2.2\"],\
             \"bytes\":47,\"took_us\":12}\n"
        );
    }

    #[test]
    fn a_hostile_name_or_rule_forges_nothing() {
        let blocked_by = Some(BlockedBy { list: "ads", rule: "||x^\"\n{}" });
        let hostile = QueryLogEntry {
            name: "a\"}\n{\u{2028}",
            action: Action::Block,
            blocked_by,
            reply: &[],
            ..entry()
        };
        let line = line(&hostile);
        assert_eq!(line.matches('\n').count(), 1, "{line}");
        assert!(line.contains("\"name\":\"a\\\"}\\u000a{\\u2028\""), "{line}");
        assert!(line.contains("\"list\":\"ads\",\"rule\":\"||x^\\\"\\u000a{}\""), "{line}");
        assert!(!line.contains("rcode"), "{line}");
    }
}
