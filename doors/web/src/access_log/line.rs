//! One request as a line of a log.
//!
//! Pure. Nothing that a client sends can begin a line, end a quoted field or reach a terminal: what
//! is not printable ASCII, a quote or a backslash is written as `\xHH` (in JSON: as JSON does).
//! Called by `access_log`.

use super::settings::LogFormat;
use http::Version;
use std::io::Write;
use std::net::IpAddr;

/// A field of a client's longer than this is cut, in bytes: a line fits in any buffer.
pub(crate) const FIELD_BYTES_MAX: usize = 2048;

/// A request that is done.
pub(crate) struct AccessLogEntry<'e> {
    pub(crate) client: IpAddr,
    /// The proven name, or nothing.
    pub(crate) user: &'e str,
    pub(crate) unix_ms: u64,
    pub(crate) method: &'e str,
    /// Path and query as sent.
    pub(crate) target: &'e str,
    /// `HTTP/1.1` and the like.
    pub(crate) protocol: &'e str,
    pub(crate) host: &'e str,
    pub(crate) status: u16,
    /// Bytes of body sent.
    pub(crate) bytes: u64,
    pub(crate) referrer: &'e [u8],
    pub(crate) agent: &'e [u8],
    pub(crate) duration_us: u64,
}

/// A version as access logs write it.
pub(crate) fn protocol(version: Version) -> &'static str {
    match version {
        Version::HTTP_10 => "HTTP/1.0",
        Version::HTTP_2 => "HTTP/2.0",
        _ => "HTTP/1.1",
    }
}

/// Writes `entry` with its line feed.
pub(crate) fn write(
    out: &mut Vec<u8>,
    format: LogFormat,
    entry: &AccessLogEntry<'_>,
    date: &mut DateKept,
) {
    match format {
        LogFormat::Common => {
            common(out, entry, date);
            out.push(b'\n');
        }
        LogFormat::Combined => {
            common(out, entry, date);
            out.extend_from_slice(b" \"");
            quoted_or_dash(out, entry.referrer);
            out.extend_from_slice(b"\" \"");
            quoted_or_dash(out, entry.agent);
            out.extend_from_slice(b"\"\n");
        }
        LogFormat::Json => json(out, entry),
    }
}

fn common(out: &mut Vec<u8>, entry: &AccessLogEntry<'_>, date: &mut DateKept) {
    address(out, entry.client);
    out.extend_from_slice(b" - ");
    if entry.user.is_empty() {
        out.push(b'-');
    } else {
        // A blank in a name would be the next field.
        escape(out, entry.user.as_bytes(), b' ');
    }
    out.extend_from_slice(b" [");
    out.extend_from_slice(date.of(entry.unix_ms / 1000).as_bytes());
    out.extend_from_slice(b"] \"");
    escape(out, entry.method.as_bytes(), b'"');
    out.push(b' ');
    escape(out, entry.target.as_bytes(), b'"');
    out.push(b' ');
    out.extend_from_slice(entry.protocol.as_bytes());
    out.extend_from_slice(b"\" ");
    number(out, entry.status);
    out.push(b' ');
    if entry.bytes == 0 {
        out.push(b'-');
    } else {
        number(out, entry.bytes);
    }
}

/// Appends a number. The formatting machinery of the standard library would be a third of the line.
fn number(out: &mut Vec<u8>, it: impl itoa::Integer) {
    out.extend_from_slice(itoa::Buffer::new().format(it).as_bytes());
}

fn address(out: &mut Vec<u8>, it: IpAddr) {
    match it {
        IpAddr::V4(address) => {
            for (at, octet) in address.octets().into_iter().enumerate() {
                if at > 0 {
                    out.push(b'.');
                }
                number(out, octet);
            }
        }
        IpAddr::V6(address) => {
            // Writing to memory cannot fail.
            let _ = write!(out, "{address}");
        }
    }
}

fn quoted_or_dash(out: &mut Vec<u8>, text: &[u8]) {
    if text.is_empty() {
        out.push(b'-');
    } else {
        escape(out, text, b'"');
    }
}

fn escape(out: &mut Vec<u8>, text: &[u8], also: u8) {
    let is_plain = |byte: &u8| matches!(byte, 0x20..=0x7E) && ![b'"', b'\\', also].contains(byte);
    let mut rest = &text[..text.len().min(FIELD_BYTES_MAX)];
    // Stretches that need nothing are copied whole.
    while let Some(at) = rest.iter().position(|byte| !is_plain(byte)) {
        out.extend_from_slice(&rest[..at]);
        match rest[at] {
            byte @ (b'"' | b'\\') => out.extend_from_slice(&[b'\\', byte]),
            byte => {
                let _ = write!(out, "\\x{byte:02x}");
            }
        }
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

fn json(out: &mut Vec<u8>, entry: &AccessLogEntry<'_>) {
    let _ = write!(
        out,
        "{{\"time\":{}.{:03},\"client\":\"{}\",\"user\":",
        entry.unix_ms / 1000,
        entry.unix_ms % 1000,
        entry.client
    );
    json_text(out, entry.user.as_bytes());
    for (name, text) in [
        ("host", entry.host.as_bytes()),
        ("method", entry.method.as_bytes()),
        ("target", entry.target.as_bytes()),
        ("protocol", entry.protocol.as_bytes()),
        ("referrer", entry.referrer),
        ("agent", entry.agent),
    ] {
        let _ = write!(out, ",\"{name}\":");
        json_text(out, text);
    }
    let _ = writeln!(
        out,
        ",\"status\":{},\"bytes\":{},\"took_us\":{}}}",
        entry.status, entry.bytes, entry.duration_us
    );
}

fn json_text(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    let text = String::from_utf8_lossy(&text[..text.len().min(FIELD_BYTES_MAX)]);
    for it in text.chars() {
        match it {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            // Controls of every kind, and what some readers take for the end of a line.
            it if it.is_control() || matches!(it, '\u{2028}' | '\u{2029}') => {
                let _ = write!(out, "\\u{:04x}", u32::from(it));
            }
            it => out.extend_from_slice(it.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    out.push(b'"');
}

/// The date of a second, kept: a busy core writes thousands of lines in one.
#[derive(Debug, Default)]
pub(crate) struct DateKept {
    secs: u64,
    text: String,
}

impl DateKept {
    /// As Apache writes it, in UTC: `21/Nov/2026:17:29:07 +0000`.
    fn of(&mut self, secs: u64) -> &str {
        if self.secs != secs || self.text.is_empty() {
            let (year, month, day) = civil_from_days(secs / 86_400);
            let of_day = secs % 86_400;
            self.text = format!(
                "{day:02}/{}/{year}:{:02}:{:02}:{:02} +0000",
                MONTHS[month],
                of_day / 3600,
                of_day / 60 % 60,
                of_day % 60
            );
            self.secs = secs;
        }
        &self.text
    }
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Year, month from 0 and day from 1 of a day since 1970. The year is taken to begin in March, so
/// that the leap day is its last.
fn civil_from_days(days: u64) -> (u64, usize, u64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let march_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march_month + 2) / 5 + 1;
    let month = (march_month as usize + 2) % 12;
    (era * 400 + year + u64::from(month < 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> AccessLogEntry<'static> {
        AccessLogEntry {
            client: "192.0.2.7".parse().unwrap(),
            user: "",
            unix_ms: 1_795_282_147_005,
            method: "GET",
            target: "/a?b",
            protocol: "HTTP/1.1",
            host: "www.example",
            status: 200,
            bytes: 102,
            referrer: b"",
            agent: b"curl/8",
            duration_us: 41,
        }
    }

    fn line(format: LogFormat, entry: &AccessLogEntry<'_>) -> String {
        let mut out = Vec::new();
        write(&mut out, format, entry, &mut DateKept::default());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lines_have_the_form_that_tools_read() {
        let date = "[21/Nov/2026:17:29:07 +0000]";
        let common = format!("192.0.2.7 - - {date} \"GET /a?b HTTP/1.1\" 200 102");
        assert_eq!(line(LogFormat::Common, &entry()), format!("{common}\n"));
        assert_eq!(line(LogFormat::Combined, &entry()), format!("{common} \"-\" \"curl/8\"\n"));
        assert!(
            line(LogFormat::Json, &entry()).starts_with("{\"time\":1795282147.005,\"client\":")
        );
    }

    #[test]
    fn nothing_a_client_sends_forges_a_line() {
        let hostile = AccessLogEntry {
            user: "ann \" lee",
            agent: b"x\"\r\n1.2.3.4 - - [\x1b[2J\xff\\",
            ..entry()
        };
        for format in [LogFormat::Common, LogFormat::Combined, LogFormat::Json] {
            let line = line(format, &hostile);
            assert_eq!(line.matches('\n').count(), 1, "{line:?}");
            assert!(!line.contains(['\r', '\x1b']), "{line:?}");
        }
        let combined = line(LogFormat::Combined, &hostile);
        assert!(
            combined.ends_with("\"x\\\"\\x0d\\x0a1.2.3.4 - - [\\x1b[2J\\xff\\\\\"\n"),
            "{combined}"
        );
        assert!(combined.contains(" - ann\\x20\\\"\\x20lee ["), "{combined}");
        let long = "a".repeat(100_000);
        assert!(line(LogFormat::Json, &AccessLogEntry { target: &long, ..entry() }).len() < 3_000);
    }

    #[test]
    fn dates_are_right_over_leap_years_and_centuries() {
        let date = |secs| DateKept::default().of(secs).to_owned();
        assert_eq!(date(0), "01/Jan/1970:00:00:00 +0000");
        assert_eq!(date(951_782_399), "28/Feb/2000:23:59:59 +0000");
        assert_eq!(date(951_782_400), "29/Feb/2000:00:00:00 +0000");
        assert_eq!(date(4_107_542_400), "01/Mar/2100:00:00:00 +0000");
        assert_eq!(date(1_735_689_599), "31/Dec/2024:23:59:59 +0000");
    }
}
