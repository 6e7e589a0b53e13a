//! A second, independent reading of HTTP/1 message framing, for what the parser forgives.
//!
//! hyper accepts a bare line feed as a line end, folds equal `Content-Length` fields into one, and
//! drops `Content-Length` where `Transfer-Encoding` stands too: legal, but the stuff that request
//! smuggling is made of, and invisible once parsed. [`HeadScan`] follows the same bytes, finds
//! those faults, and says where a connection stands (in a head, in a body); it keeps no byte of
//! what it has seen but the start of one line. Called by the server side on every read.

/// Faults found in request heads; several may be set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeadFaults(u8);

impl HeadFaults {
    /// None.
    pub const NONE: Self = Self(0);
    /// A line that ends in LF without CR (RFC 9112 §2.2 lets a server refuse it).
    pub const BARE_LF: Self = Self(1);
    /// `Content-Length` beside `Transfer-Encoding` (RFC 9112 §6.1: a sign of smuggling).
    pub const LENGTH_AND_ENCODING: Self = Self(2);
    /// More than one `Content-Length` field (RFC 9112 §6.3 lets a server refuse equal ones too).
    pub const TWO_LENGTHS: Self = Self(4);
    /// A chunk's size is not one to sixteen hexadecimal digits with perhaps extensions of visible
    /// text behind them (RFC 9112 §7.1). White space and controls there are read differently by
    /// different servers.
    pub const CHUNK: Self = Self(8);
    /// A `#` in the request line: a fragment is never sent (RFC 9110 §7.1), and parsers drop it.
    pub const FRAGMENT: Self = Self(16);
    /// A head of more bytes than allowed. hyper's own limit is one of its buffer, which grows in
    /// steps: a head of nearly twice the limit may pass it.
    pub const HEAD_TOO_LONG: Self = Self(32);

    /// True if any of `other` is set.
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Both together.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) const fn bits(self) -> u8 {
        self.0
    }

    pub(crate) const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }
}

/// Enough of a line for every field name that matters and a length behind it.
const LINE_BYTES_KEPT: usize = 64;
/// A head or trailer longer than this is none (hyper refuses at 64 KiB): a tunnel, or noise.
const HEAD_BYTES_MAX: usize = 128 << 10;

/// Digits of a chunk's size: more than 64 bits is nobody's chunk.
const CHUNK_DIGITS_MAX: usize = 16;

/// Where in the stream of messages the next byte belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScanPosition {
    Head,
    Body {
        left: u64,
    },
    ChunkSize,
    ChunkData {
        left: u64,
    },
    ChunkEnd,
    Trailers,
    /// Framing was lost (hyper refuses it as well) or a tunnel began: nothing more is judged.
    Off,
}

/// Follows one connection's incoming bytes.
#[derive(Debug)]
pub struct HeadScan {
    at: ScanPosition,
    line: [u8; LINE_BYTES_KEPT],
    line_bytes: usize,
    last_byte: u8,
    head_bytes: usize,
    head_bytes_max: usize,
    request_line: FaultSeen,
    lengths: u8,
    length: Option<u64>,
    encoded: FaultSeen,
    heads: u32,
    faults: HeadFaults,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FaultSeen {
    Yes,
    No,
}

impl Default for HeadScan {
    fn default() -> Self {
        Self::new(HEAD_BYTES_MAX)
    }
}

impl HeadScan {
    /// At the start of a connection whose heads may have so many bytes.
    pub const fn new(head_bytes_max: usize) -> Self {
        Self {
            at: ScanPosition::Head,
            line: [0; LINE_BYTES_KEPT],
            line_bytes: 0,
            last_byte: 0,
            head_bytes: 0,
            head_bytes_max,
            request_line: FaultSeen::No,
            lengths: 0,
            length: None,
            encoded: FaultSeen::No,
            heads: 0,
            faults: HeadFaults::NONE,
        }
    }

    /// Reads on; returns the faults of this piece.
    pub fn feed(&mut self, mut bytes: &[u8]) -> HeadFaults {
        self.faults = HeadFaults::NONE;
        while !bytes.is_empty() {
            bytes = match self.at {
                ScanPosition::Off => break,
                ScanPosition::Body { left } => {
                    self.skip(bytes, left, ScanPosition::Head, |left| ScanPosition::Body { left })
                }
                ScanPosition::ChunkData { left } => {
                    self.skip(bytes, left, ScanPosition::ChunkEnd, |left| ScanPosition::ChunkData {
                        left,
                    })
                }
                ScanPosition::Head
                | ScanPosition::ChunkSize
                | ScanPosition::ChunkEnd
                | ScanPosition::Trailers => self.line(bytes),
            };
        }
        self.faults
    }

    /// Heads that have ended; wraps.
    pub fn heads(&self) -> u32 {
        self.heads
    }

    /// True if a head has begun and not ended.
    pub fn in_head(&self) -> bool {
        self.at == ScanPosition::Head
            && (self.request_line == FaultSeen::Yes || self.line_bytes > 0)
    }

    /// True if the client still owes bytes of a body.
    pub fn in_body(&self) -> bool {
        match self.at {
            ScanPosition::Body { .. }
            | ScanPosition::ChunkSize
            | ScanPosition::ChunkData { .. }
            | ScanPosition::ChunkEnd
            | ScanPosition::Trailers => true,
            ScanPosition::Head | ScanPosition::Off => false,
        }
    }

    fn skip<'b>(
        &mut self,
        bytes: &'b [u8],
        left: u64,
        then: ScanPosition,
        on: fn(u64) -> ScanPosition,
    ) -> &'b [u8] {
        let here = (bytes.len() as u64).min(left);
        self.at = if here == left { then } else { on(left - here) };
        &bytes[here as usize..]
    }

    /// Takes bytes up to the end of a line, and the line if it ended.
    fn line<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let end = memchr::memchr(b'\n', bytes);
        let part = &bytes[..end.unwrap_or(bytes.len())];
        if self.line_bytes < LINE_BYTES_KEPT {
            let kept = part.len().min(LINE_BYTES_KEPT - self.line_bytes);
            self.line[self.line_bytes..self.line_bytes + kept].copy_from_slice(&part[..kept]);
        }
        if self.at == ScanPosition::Head
            && self.request_line == FaultSeen::No
            && memchr::memchr(b'#', part).is_some()
        {
            self.faults = self.faults.with(HeadFaults::FRAGMENT);
        }
        self.line_bytes += part.len();
        self.head_bytes += part.len() + 1;
        if let Some(last) = part.last() {
            self.last_byte = *last;
        }
        if self.head_bytes > HEAD_BYTES_MAX {
            self.at = ScanPosition::Off;
            return &[];
        }
        let Some(end) = end else { return &[] };
        let mut length = self.line_bytes;
        if length > 0 && self.last_byte == b'\r' {
            length -= 1;
        } else {
            self.faults = self.faults.with(HeadFaults::BARE_LF);
        }
        let kept = self.line;
        self.line_ended(&kept[..length.min(LINE_BYTES_KEPT)], length);
        self.line_bytes = 0;
        self.last_byte = 0;
        &bytes[end + 1..]
    }

    /// `line` is its first bytes, `length` its whole length.
    fn line_ended(&mut self, line: &[u8], length: usize) {
        match (self.at, length) {
            // Empty lines before a request line are skipped (RFC 9112 §2.2).
            (ScanPosition::Head, 0) if self.request_line == FaultSeen::No => {}
            (ScanPosition::Head, 0) => self.head_ended(),
            (ScanPosition::Head, _) if self.request_line == FaultSeen::No => {
                self.request_line = FaultSeen::Yes;
            }
            (ScanPosition::Head, _) => self.field(line),
            (ScanPosition::ChunkSize, _) => self.chunk_size(line),
            (ScanPosition::ChunkEnd, 0) => self.at = ScanPosition::ChunkSize,
            (ScanPosition::Trailers, 0) => self.at = ScanPosition::Head,
            (ScanPosition::Trailers, _) => {}
            (
                ScanPosition::ChunkEnd
                | ScanPosition::Body { .. }
                | ScanPosition::ChunkData { .. }
                | ScanPosition::Off,
                _,
            ) => {
                self.at = ScanPosition::Off;
            }
        }
        if self.at != ScanPosition::Head && self.at != ScanPosition::Trailers {
            self.head_bytes = 0;
        }
    }

    fn field(&mut self, line: &[u8]) {
        let Some(colon) = memchr::memchr(b':', line) else { return };
        let name = line[..colon].trim_ascii_end();
        if name.eq_ignore_ascii_case(b"content-length") {
            self.lengths = self.lengths.saturating_add(1);
            self.length = std::str::from_utf8(line[colon + 1..].trim_ascii())
                .ok()
                .and_then(|digits| digits.parse().ok());
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.encoded = FaultSeen::Yes;
        }
    }

    fn head_ended(&mut self) {
        self.heads = self.heads.wrapping_add(1);
        if self.head_bytes > self.head_bytes_max {
            self.faults = self.faults.with(HeadFaults::HEAD_TOO_LONG);
        }
        if self.lengths > 0 && self.encoded == FaultSeen::Yes {
            self.faults = self.faults.with(HeadFaults::LENGTH_AND_ENCODING);
        }
        if self.lengths > 1 {
            self.faults = self.faults.with(HeadFaults::TWO_LENGTHS);
        }
        self.at = match (self.encoded, self.lengths, self.length) {
            (FaultSeen::Yes, _, _) => ScanPosition::ChunkSize,
            (FaultSeen::No, 0, _) | (FaultSeen::No, _, Some(0)) => ScanPosition::Head,
            (FaultSeen::No, _, Some(left)) => ScanPosition::Body { left },
            (FaultSeen::No, _, None) => ScanPosition::Off,
        };
        self.head_bytes = 0;
        self.request_line = FaultSeen::No;
        self.lengths = 0;
        self.length = None;
        self.encoded = FaultSeen::No;
    }

    fn chunk_size(&mut self, line: &[u8]) {
        let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let behind = &line[digits..];
        // Of a long line only the start is kept; the rest of an extension is hyper's to bound.
        let is_plain = behind.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\t'));
        let ends = matches!(behind.first(), None | Some(b';'));
        if !(1..=CHUNK_DIGITS_MAX).contains(&digits) || !is_plain || !ends {
            self.faults = self.faults.with(HeadFaults::CHUNK);
        }
        let size = std::str::from_utf8(&line[..digits])
            .ok()
            .and_then(|digits| u64::from_str_radix(digits, 16).ok());
        self.at = match size {
            Some(0) => ScanPosition::Trailers,
            Some(left) => ScanPosition::ChunkData { left },
            None => ScanPosition::Off,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(wire: &str) -> HeadFaults {
        // Whatever way the bytes are cut, the finding is the same.
        let whole = HeadScan::default().feed(wire.as_bytes());
        let mut scan = HeadScan::default();
        let single = wire.bytes().fold(HeadFaults::NONE, |all, byte| all.with(scan.feed(&[byte])));
        assert_eq!(whole, single, "{wire:?}");
        whole
    }

    #[test]
    fn clean_requests_have_no_faults() {
        assert_eq!(faults("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), HeadFaults::NONE);
        assert_eq!(
            faults("POST / HTTP/1.1\r\ncontent-length: 5\r\n\r\na\nb\ncGET / HTTP/1.1\r\n\r\n"),
            HeadFaults::NONE
        );
        assert_eq!(
            faults(
                "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n\
                 3;x=y\r\na\nb\r\n0\r\nContent-Length: 9\r\n\r\nGET / HTTP/1.1\r\nA: b\r\n\r\n"
            ),
            HeadFaults::NONE
        );
    }

    #[test]
    fn faults_are_found_in_pipelined_requests_too() {
        let bodies = "POST / HTTP/1.1\r\ncontent-length: 3\r\n\r\nabc\
                      POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n";
        let bad = "POST / HTTP/1.1\r\ncontent-length: 3\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert_eq!(faults(&format!("{bodies}{bad}")), HeadFaults::LENGTH_AND_ENCODING);
    }

    #[test]
    fn each_fault_is_named() {
        assert!(faults("GET / HTTP/1.1\nHost: a\n\n").intersects(HeadFaults::BARE_LF));
        assert!(
            faults("GET / HTTP/1.1\r\nContent-Length: 1\r\ncontent-length: 1\r\n\r\n")
                .intersects(HeadFaults::TWO_LENGTHS)
        );
        assert!(
            faults("GET / HTTP/1.1\r\nTransfer-Encoding : x\r\nCONTENT-LENGTH:1\r\n\r\n")
                .intersects(HeadFaults::LENGTH_AND_ENCODING)
        );
    }

    #[test]
    fn chunk_sizes_are_plain() {
        let with = |line: &str| {
            faults(&format!("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{line}\r\nabc"))
        };
        for line in ["3", "0003", "3;a", "3;a=\"b c\";d"] {
            assert_eq!(with(line), HeadFaults::NONE, "{line}");
        }
        for line in ["3 ", "3\t;a", " 3", "", "+3", "0x3", "3;a\0b", "3,a", "00000000000000003"] {
            assert!(with(line).intersects(HeadFaults::CHUNK), "{line:?}");
        }
    }

    #[test]
    fn a_fragment_is_found_in_the_request_line_only() {
        assert!(faults("GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n").intersects(HeadFaults::FRAGMENT));
        assert_eq!(faults("GET /a HTTP/1.1\r\nHost: a\r\nX: #\r\n\r\n"), HeadFaults::NONE);
    }

    #[test]
    fn it_says_where_the_connection_stands() {
        let mut scan = HeadScan::default();
        assert!(!scan.in_head() && !scan.in_body());
        scan.feed(b"POST / HTTP/1.1\r\nContent-Le");
        assert!(scan.in_head());
        scan.feed(b"ngth: 3\r\n\r\nab");
        assert!(!scan.in_head() && scan.in_body());
        scan.feed(b"c");
        assert!(!scan.in_head() && !scan.in_body());
    }
}
