//! The `traceparent` field (W3C Trace Context): read, written, and nothing else believed.
//!
//! Pure but for fresh identifiers. What is not exactly a `traceparent` is none (§3.2.2): a trace
//! that cannot be continued is begun.

use crate::random;
use std::fmt;

/// Length of a `traceparent` of version 00.
const TEXT_BYTES: usize = 55;
/// The flag of a trace that is recorded.
const SAMPLED: u8 = 0x01;

/// Identifier of a trace; never all zeros.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceId([u8; 16]);

/// Identifier of a span; never all zeros.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpanId([u8; 8]);

/// A span's place in its trace, as it is told to the next server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceContext {
    /// The trace.
    pub trace: TraceId,
    /// The span.
    pub span: SpanId,
    /// True if the trace is recorded.
    pub is_sampled: bool,
}

impl TraceId {
    /// A fresh one.
    pub fn random() -> Self {
        let (high, low) = (random::bits(), random::bits().max(1));
        Self((u128::from(high) << 64 | u128::from(low)).to_be_bytes())
    }

    /// The bytes.
    pub const fn bytes(self) -> [u8; 16] {
        self.0
    }

    /// The last 56 bits, which are random in any trace (Trace Context Level 2).
    pub(crate) const fn randomness(self) -> u64 {
        u128::from_be_bytes(self.0) as u64 & (u64::MAX >> 8)
    }
}

impl SpanId {
    /// A fresh one.
    pub fn random() -> Self {
        Self(random::bits().max(1).to_be_bytes())
    }

    /// The bytes.
    pub const fn bytes(self) -> [u8; 8] {
        self.0
    }
}

impl TraceContext {
    /// Reads the value of a `traceparent` field.
    pub fn parse(value: &[u8]) -> Option<Self> {
        let version = hex_bytes::<1>(value.get(..2)?)?[0];
        // 255 is no version; a later one may have more behind a dash (§3.2.4).
        let is_whole = match version {
            0 => value.len() == TEXT_BYTES,
            255 => false,
            _ => matches!(value.get(TEXT_BYTES), None | Some(b'-')),
        };
        let dashes = [2, 35, 52].iter().all(|at| value.get(*at) == Some(&b'-'));
        if !is_whole || !dashes {
            return None;
        }
        let trace = TraceId(hex_bytes(value.get(3..35)?)?);
        let span = SpanId(hex_bytes(value.get(36..52)?)?);
        let flags = hex_bytes::<1>(value.get(53..55)?)?[0];
        let is_set = trace.0 != [0; 16] && span.0 != [0; 8];
        is_set.then_some(Self { trace, span, is_sampled: flags & SAMPLED != 0 })
    }

    /// A span below this one.
    #[must_use]
    pub fn child(self) -> Self {
        Self { span: SpanId::random(), ..self }
    }

    /// The value of a `traceparent` field.
    pub fn text(self) -> [u8; TEXT_BYTES] {
        let mut text = *b"00-00000000000000000000000000000000-0000000000000000-00";
        write_hex(&mut text[3..35], &self.trace.0);
        write_hex(&mut text[36..52], &self.span.0);
        write_hex(&mut text[53..55], &[self.flags()]);
        text
    }

    /// The flags, as spans and fields have them.
    pub(crate) const fn flags(self) -> u8 {
        if self.is_sampled { SAMPLED } else { 0 }
    }
}

/// Bytes of as many digits as fill them; capitals are none (§3.2.2.1).
fn hex_bytes<const N: usize>(digits: &[u8]) -> Option<[u8; N]> {
    let value = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    let (pairs, rest) = digits.as_chunks::<2>();
    if pairs.len() != N || !rest.is_empty() {
        return None;
    }
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = value(*high)? << 4 | value(*low)?;
    }
    Some(bytes)
}

fn write_hex(out: &mut [u8], bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for (pair, byte) in out.chunks_exact_mut(2).zip(bytes) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
}

impl fmt::Debug for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", u64::from_be_bytes(self.0))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    const RIGHT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_traceparent_is_read_and_written_as_it_was() {
        let context = TraceContext::parse(RIGHT.as_bytes()).unwrap();
        assert!(context.is_sampled);
        assert_eq!(&context.text()[..], RIGHT.as_bytes());
        let unsampled = RIGHT.replace("-01", "-02");
        assert!(!TraceContext::parse(unsampled.as_bytes()).unwrap().is_sampled);
        let later = format!("01{}-more", &RIGHT[2..]);
        assert_eq!(TraceContext::parse(later.as_bytes()), Some(context));
        assert_eq!(TraceContext::parse(&context.child().text()).unwrap().trace, context.trace);
    }

    #[test]
    fn what_is_no_traceparent_begins_no_trace() {
        for wrong in [
            "",
            "00",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0g",
            "00_0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331_01",
            "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01.",
        ] {
            assert_eq!(TraceContext::parse(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
