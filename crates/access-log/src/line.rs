//! One request as a line of a log.
//!
//! Pure. What is a client's is escaped, whatever the form. Called by `log`.

use crate::entry::AccessLogEntry;
use crate::log::LineForm;
use crate::settings::{LogFormat, TemplateEscape};
use crate::template::{LineField, LinePiece, LineTemplate};
use log_sink::{ClockTime, DateKept, address, escape, json_text, number};
use std::io::Write;

/// Writes `entry` with its line feed.
pub(crate) fn write(
    out: &mut Vec<u8>,
    form: &LineForm,
    entry: &AccessLogEntry<'_>,
    date: &mut DateKept,
) {
    match form {
        LineForm::Format(LogFormat::Common) => common(out, entry, date),
        LineForm::Format(LogFormat::Combined) => {
            common(out, entry, date);
            out.extend_from_slice(b" \"");
            quoted_or_dash(out, entry.field("referer"));
            out.extend_from_slice(b"\" \"");
            quoted_or_dash(out, entry.field("user-agent"));
            out.push(b'"');
        }
        LineForm::Format(LogFormat::Json) => json(out, entry),
        LineForm::Template(template, mode) => from_template(out, template, *mode, entry, date),
    }
    out.push(b'\n');
}

fn common(out: &mut Vec<u8>, entry: &AccessLogEntry<'_>, date: &mut DateKept) {
    address(out, entry.client);
    out.extend_from_slice(b" - ");
    user(out, entry.user);
    out.extend_from_slice(b" [");
    out.extend_from_slice(date.common(entry.unix_ms / 1000).as_bytes());
    out.extend_from_slice(b"] \"");
    request_line(out, entry);
    out.extend_from_slice(b"\" ");
    number(out, entry.status);
    out.push(b' ');
    if entry.bytes == 0 {
        out.push(b'-');
    } else {
        number(out, entry.bytes);
    }
}

fn user(out: &mut Vec<u8>, user: &str) {
    if user.is_empty() {
        out.push(b'-');
    } else {
        // A blank in a name would be the next field.
        escape(out, user.as_bytes(), b' ');
    }
}

fn request_line(out: &mut Vec<u8>, entry: &AccessLogEntry<'_>) {
    escape(out, entry.method.as_bytes(), b'"');
    out.push(b' ');
    escape(out, entry.target.as_bytes(), b'"');
    out.push(b' ');
    out.extend_from_slice(entry.protocol.as_bytes());
}

fn quoted_or_dash(out: &mut Vec<u8>, text: &[u8]) {
    if text.is_empty() {
        out.push(b'-');
    } else {
        escape(out, text, b'"');
    }
}

fn json(out: &mut Vec<u8>, entry: &AccessLogEntry<'_>) {
    // Writing to memory cannot fail.
    let _ = write!(
        out,
        "{{\"time\":{}.{:03},\"door\":\"{}\",\"client\":\"",
        entry.unix_ms / 1000,
        entry.unix_ms % 1000,
        entry.door.as_str(),
    );
    address(out, entry.client);
    for (name, text) in [
        ("user", entry.user.as_bytes()),
        ("host", entry.host.as_bytes()),
        ("scheme", entry.scheme.as_bytes()),
        ("method", entry.method.as_bytes()),
        ("target", entry.target.as_bytes()),
        ("protocol", entry.protocol.as_bytes()),
        ("referrer", entry.field("referer")),
        ("agent", entry.field("user-agent")),
        ("action", entry.action.as_str().as_bytes()),
        ("source", entry.source.as_str().as_bytes()),
        ("cache", entry.caching.outcome.word().as_bytes()),
    ] {
        out.extend_from_slice(b"\",\"");
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"\":\"");
        json_text(out, text);
    }
    out.extend_from_slice(b"\",\"status\":");
    number(out, entry.status);
    out.extend_from_slice(b",\"bytes\":");
    number(out, entry.bytes);
    out.extend_from_slice(b",\"took_us\":");
    number(out, entry.duration_us);
    out.push(b'}');
}

fn from_template(
    out: &mut Vec<u8>,
    template: &LineTemplate,
    mode: TemplateEscape,
    entry: &AccessLogEntry<'_>,
    date: &mut DateKept,
) {
    for piece in &template.pieces {
        match piece {
            LinePiece::Text(text) => out.extend_from_slice(text.as_bytes()),
            LinePiece::Header(name) => value(out, mode, entry.field(name)),
            LinePiece::Field(field) => template_field(out, *field, mode, entry, date),
        }
    }
}

fn template_field(
    out: &mut Vec<u8>,
    field: LineField,
    mode: TemplateEscape,
    entry: &AccessLogEntry<'_>,
    date: &mut DateKept,
) {
    let (path, query) = entry.target.split_once('?').unwrap_or((entry.target, ""));
    match field {
        LineField::RemoteAddr => address(out, entry.client),
        LineField::RemoteUser if mode == TemplateEscape::Default => user(out, entry.user),
        LineField::RemoteUser => value(out, mode, entry.user.as_bytes()),
        LineField::TimeLocal => {
            out.extend_from_slice(date.common(entry.unix_ms / 1000).as_bytes());
        }
        LineField::TimeIso8601 => {
            out.extend_from_slice(ClockTime::of_ms(entry.unix_ms).iso8601().as_bytes());
        }
        LineField::Msec => thousandths(out, entry.unix_ms),
        LineField::Request => {
            let line = [entry.method, " ", entry.target, " ", entry.protocol].concat();
            value(out, mode, line.as_bytes());
        }
        LineField::RequestMethod => value(out, mode, entry.method.as_bytes()),
        LineField::RequestUri => value(out, mode, entry.target.as_bytes()),
        LineField::Uri => value(out, mode, path.as_bytes()),
        LineField::Args => value(out, mode, query.as_bytes()),
        LineField::ServerProtocol => value(out, mode, entry.protocol.as_bytes()),
        LineField::Host => value(out, mode, entry.host.as_bytes()),
        LineField::Scheme => value(out, mode, entry.scheme.as_bytes()),
        LineField::Status => number(out, entry.status),
        LineField::BodyBytesSent => number(out, entry.bytes),
        LineField::RequestTime => thousandths(out, entry.duration_us / 1000),
        LineField::TookUs => number(out, entry.duration_us),
        LineField::UpstreamCacheStatus => value(out, mode, entry.cache_status().as_bytes()),
        LineField::Door => value(out, mode, entry.door.as_str().as_bytes()),
        LineField::Source => value(out, mode, entry.source.as_str().as_bytes()),
        LineField::Action => value(out, mode, entry.action.as_str().as_bytes()),
    }
}

fn value(out: &mut Vec<u8>, mode: TemplateEscape, text: &[u8]) {
    match mode {
        TemplateEscape::Default => quoted_or_dash(out, text),
        TemplateEscape::Json => json_text(out, text),
    }
}

/// Seconds with three digits after the point.
fn thousandths(out: &mut Vec<u8>, ms: u64) {
    let _ = write!(out, "{}.{:03}", ms / 1000, ms % 1000);
}

#[cfg(test)]
mod tests;
