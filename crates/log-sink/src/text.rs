//! Text of clients made harmless, and numbers and addresses written fast.
//!
//! Pure. Nothing that a client sends can begin a line, end a quoted field or reach a terminal: what
//! is not printable ASCII, a quote or a backslash is written as `\xHH` (in JSON: as JSON does).

use std::io::Write;
use std::net::IpAddr;

/// A field of a client's longer than this is cut, in bytes: a line fits in any buffer.
pub const FIELD_BYTES_MAX: usize = 2048;

/// Appends a number. The formatting machinery of the standard library would be a third of the line.
pub fn number(out: &mut Vec<u8>, it: impl itoa::Integer) {
    out.extend_from_slice(itoa::Buffer::new().format(it).as_bytes());
}

/// Appends an address.
pub fn address(out: &mut Vec<u8>, it: IpAddr) {
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

/// Appends text as it may stand between quotes. `also` is escaped too: the blank, where it would
/// begin the next field.
pub fn escape(out: &mut Vec<u8>, text: &[u8], also: u8) {
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

/// Appends text as it may stand in a string of JSON, without the quotes around it.
pub fn json_text(out: &mut Vec<u8>, text: &[u8]) {
    let text = &text[..text.len().min(FIELD_BYTES_MAX)];
    let is_plain = |byte: &u8| matches!(byte, 0x20..=0x7E) && !matches!(byte, b'"' | b'\\');
    if text.iter().all(is_plain) {
        return out.extend_from_slice(text);
    }
    for it in String::from_utf8_lossy(text).chars() {
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
}
