//! `FastCGI` records (`FastCGI` 1.0, §3 and §8): writing ours, reading theirs.
//!
//! Pure: bytes in, bytes out. One request a connection, so the request id is always 1; what comes
//! in under another, or of a type that an application does not send, is an error. Called by
//! `exchange`.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use std::fmt;

/// Content of one record, in bytes: its length field has 16 bits (§3.3).
pub(crate) const CONTENT_BYTES_MAX: usize = 0xFFFF;
const HEADER_BYTES: usize = 8;
const VERSION: u8 = 1;
/// No multiplexing: one request at a time on a connection.
const REQUEST_ID: u16 = 1;
const BEGIN_REQUEST: u8 = 1;
const ABORT_REQUEST: u8 = 2;
const END_REQUEST: u8 = 3;
const PARAMS: u8 = 4;
const STDIN: u8 = 5;
const STDOUT: u8 = 6;
const STDERR: u8 = 7;
const RESPONDER: u16 = 1;
const KEEP_CONN: u8 = 1;
const END_BODY_BYTES: usize = 8;
/// Lengths up to this take one byte, longer ones four (§3.4).
const SHORT_LENGTH_MAX: usize = 127;

/// Tells whether the server is asked to leave the connection open afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeepConnection {
    Open,
    Close,
}

/// One record from the application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FastcgiRecord {
    Stdout(Bytes),
    Stderr(Bytes),
    /// The request is done; the application's exit status.
    End {
        status: u32,
    },
}

/// Why what came is no `FastCGI`, or none that answers us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadRecord {
    Version(u8),
    Type(u8),
    Request(u16),
    /// An end record that is too short.
    Short,
    /// The application is overloaded, or does not know the role of a responder.
    Protocol(u8),
}

fn header(out: &mut BytesMut, kind: u8, len: usize) {
    debug_assert!(len <= CONTENT_BYTES_MAX, "records are split before they come here");
    out.put_u8(VERSION);
    out.put_u8(kind);
    out.put_u16(REQUEST_ID);
    out.put_u16(len as u16);
    out.put_u16(0);
}

/// Begins a request.
pub(crate) fn begin(out: &mut BytesMut, keep: KeepConnection) {
    header(out, BEGIN_REQUEST, 8);
    out.put_u16(RESPONDER);
    out.put_u8(match keep {
        KeepConnection::Open => KEEP_CONN,
        KeepConnection::Close => 0,
    });
    out.put_bytes(0, 5);
}

/// One name and value, in the form that parameters have.
pub(crate) fn parameter(out: &mut BytesMut, name: &[u8], value: &[u8]) {
    for len in [name.len(), value.len()] {
        if len <= SHORT_LENGTH_MAX {
            out.put_u8(len as u8);
        } else {
            out.put_u32(len as u32 | 0x8000_0000);
        }
    }
    out.put_slice(name);
    out.put_slice(value);
}

/// All parameters, in as many records as they need, and the empty one that ends them.
pub(crate) fn parameters(out: &mut BytesMut, encoded: &[u8]) {
    for piece in encoded.chunks(CONTENT_BYTES_MAX) {
        header(out, PARAMS, piece.len());
        out.put_slice(piece);
    }
    header(out, PARAMS, 0);
}

/// The head of a record of body; `len` bytes must follow. None is the end of the body.
pub(crate) fn stdin_head(out: &mut BytesMut, len: usize) {
    header(out, STDIN, len);
}

/// Asks the application to stop.
pub(crate) fn abort(out: &mut BytesMut) {
    header(out, ABORT_REQUEST, 0);
}

/// Takes the next whole record off `buffer`; `None` until it is all there.
pub(crate) fn take(buffer: &mut BytesMut) -> Result<Option<FastcgiRecord>, BadRecord> {
    if buffer.len() < HEADER_BYTES {
        return Ok(None);
    }
    let (version, kind) = (buffer[0], buffer[1]);
    if version != VERSION {
        return Err(BadRecord::Version(version));
    }
    if !matches!(kind, END_REQUEST | STDOUT | STDERR) {
        return Err(BadRecord::Type(kind));
    }
    let request = u16::from_be_bytes([buffer[2], buffer[3]]);
    if request != REQUEST_ID {
        return Err(BadRecord::Request(request));
    }
    let len = usize::from(u16::from_be_bytes([buffer[4], buffer[5]]));
    let padding = usize::from(buffer[6]);
    if buffer.len() < HEADER_BYTES + len + padding {
        return Ok(None);
    }
    buffer.advance(HEADER_BYTES);
    let content = buffer.split_to(len).freeze();
    buffer.advance(padding);
    Ok(Some(match kind {
        STDOUT => FastcgiRecord::Stdout(content),
        STDERR => FastcgiRecord::Stderr(content),
        _ => end(&content)?,
    }))
}

/// Bytes of output that `buffer` still holds, where the end of the request is in it too.
pub(crate) fn output_to_end(mut buffer: &[u8]) -> Option<u64> {
    let mut output = 0;
    loop {
        let (head, rest) = buffer.split_at_checked(HEADER_BYTES)?;
        let len = usize::from(u16::from_be_bytes([head[4], head[5]]));
        let (content, padded) = rest.split_at_checked(len)?;
        // What `take` would refuse is no end.
        if head[0] != VERSION || u16::from_be_bytes([head[2], head[3]]) != REQUEST_ID {
            return None;
        }
        match head[1] {
            END_REQUEST => return end(content).is_ok().then_some(output),
            STDOUT => output += len as u64,
            STDERR => {}
            _ => return None,
        }
        buffer = padded.get(usize::from(head[6])..)?;
    }
}

fn end(content: &[u8]) -> Result<FastcgiRecord, BadRecord> {
    if content.len() < END_BODY_BYTES {
        return Err(BadRecord::Short);
    }
    match content[4] {
        0 => {}
        protocol => return Err(BadRecord::Protocol(protocol)),
    }
    let status = u32::from_be_bytes([content[0], content[1], content[2], content[3]]);
    Ok(FastcgiRecord::End { status })
}

impl fmt::Display for BadRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(found) => write!(f, "FastCGI version {found}: is it a FastCGI server?"),
            Self::Type(found) => write!(f, "a record of type {found}, which no responder sends"),
            Self::Request(found) => write!(f, "a record of request {found}; ours is 1"),
            Self::Short => f.write_str("an end of request that is too short"),
            Self::Protocol(1 | 2) => f.write_str("the server is overloaded: give it more children"),
            Self::Protocol(_) => f.write_str("the server is no responder"),
        }
    }
}

impl std::error::Error for BadRecord {}

#[cfg(test)]
mod tests {
    use super::*;

    fn stdout(text: &[u8], padding: u8) -> Vec<u8> {
        let mut record =
            vec![1, STDOUT, 0, 1, (text.len() >> 8) as u8, text.len() as u8, padding, 0];
        record.extend_from_slice(text);
        record.extend(std::iter::repeat_n(0xAA, usize::from(padding)));
        record
    }

    const END: [u8; 16] = [1, END_REQUEST, 0, 1, 0, 8, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0];

    #[test]
    fn records_are_read_however_they_are_cut() {
        let mut wire = stdout(b"hello", 3);
        wire.extend(END);
        let mut buffer = BytesMut::new();
        let mut records = Vec::new();
        for byte in wire {
            buffer.put_u8(byte);
            records.extend(take(&mut buffer).unwrap());
        }
        assert_eq!(
            records,
            [FastcgiRecord::Stdout("hello".into()), FastcgiRecord::End { status: 7 }]
        );
        assert!(buffer.is_empty());
    }

    #[test]
    fn long_names_take_four_bytes_of_length() {
        let mut out = BytesMut::new();
        parameter(&mut out, b"N", &[b'v'; 127]);
        assert_eq!(out[..2], [1, 127]);
        out.clear();
        parameter(&mut out, b"N", &[b'v'; 128]);
        assert_eq!(out[..5], [1, 0x80, 0, 0, 128]);
    }

    #[test]
    fn parameters_beyond_one_record_are_split() {
        let mut out = BytesMut::new();
        parameters(&mut out, &vec![7; 70_000]);
        assert_eq!(out.len(), 70_000 + 3 * HEADER_BYTES);
        assert_eq!(out[4..6], [0xFF, 0xFF]);
        let second = HEADER_BYTES + CONTENT_BYTES_MAX;
        assert_eq!(out[second + 4..second + 6], 4_465_u16.to_be_bytes());
    }

    #[test]
    fn what_is_no_answer_to_us_is_refused() {
        let check = |at: usize, byte: u8, expected: BadRecord| {
            let mut wire = BytesMut::from(&END[..]);
            wire[at] = byte;
            assert_eq!(take(&mut wire), Err(expected));
        };
        check(0, b'H', BadRecord::Version(b'H'));
        check(1, BEGIN_REQUEST, BadRecord::Type(BEGIN_REQUEST));
        check(1, 11, BadRecord::Type(11));
        check(3, 2, BadRecord::Request(2));
        check(5, 4, BadRecord::Short);
        check(12, 2, BadRecord::Protocol(2));
    }

    #[test]
    fn no_mutation_of_an_answer_panics_or_reads_beyond_it() {
        let mut seed = stdout(b"Status: 200\r\n\r\nhello", 4);
        seed.extend(END);
        let mut state = 42_u64;
        for _ in 0..20_000 {
            let mut wire = BytesMut::from(&seed[..]);
            for _ in 0..3 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let at = (state >> 33) as usize % wire.len();
                wire[at] = (state >> 20) as u8;
            }
            let whole = wire.len();
            let mut taken = 0;
            while let Ok(Some(record)) = take(&mut wire) {
                if let FastcgiRecord::Stdout(bytes) | FastcgiRecord::Stderr(bytes) = record {
                    taken += bytes.len();
                }
            }
            assert!(taken + wire.len() <= whole);
        }
    }
}
