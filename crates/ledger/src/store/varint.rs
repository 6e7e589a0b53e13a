//! Numbers in as few bytes as they need, seven bits a byte, as LEB128 has it.
//!
//! What is read may be damaged, so every read can fail and none goes past the end. Used by blocks.

/// Bytes that are read from front to back.
#[derive(Clone, Copy)]
pub(super) struct ByteReader<'b> {
    rest: &'b [u8],
}

impl<'b> ByteReader<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The next number; none at the end, or if it is too large to be one of ours.
    #[inline]
    pub(super) fn number(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    /// The next number, if it fits.
    #[inline]
    pub(super) fn small<N: TryFrom<u64>>(&mut self) -> Option<N> {
        self.number()?.try_into().ok()
    }

    /// The next number that may be negative.
    #[inline]
    pub(super) fn signed(&mut self) -> Option<i64> {
        let folded = self.number()?;
        Some((folded >> 1).cast_signed() ^ -(folded & 1).cast_signed())
    }

    /// As many bytes.
    pub(super) fn bytes(&mut self, count: usize) -> Option<&'b [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(bytes)
    }

    /// A text after its length.
    pub(super) fn text(&mut self) -> Option<&'b str> {
        let count = self.small()?;
        std::str::from_utf8(self.bytes(count)?).ok()
    }

    /// The count of things that follow, of which each takes a byte or more: never more than there
    /// are bytes, so that a damaged count reserves no memory.
    pub(super) fn count(&mut self) -> Option<usize> {
        self.small().filter(|count| *count <= self.rest.len())
    }
}

/// Appends a number.
#[inline]
pub(super) fn put(out: &mut Vec<u8>, number: impl Into<u64>) {
    let mut value = number.into();
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a number that may be negative: small ones of both signs take a byte.
#[inline]
pub(super) fn put_signed(out: &mut Vec<u8>, number: i64) {
    put(out, ((number << 1) ^ (number >> 63)).cast_unsigned());
}

/// Appends a text after its length.
pub(super) fn put_text(out: &mut Vec<u8>, text: &str) {
    put(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_they_were_written() {
        let numbers = [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX];
        let signed = [0, -1, 1, 63, -64, 64, i64::MIN, i64::MAX];
        let mut out = Vec::new();
        for number in numbers {
            put(&mut out, number);
        }
        for number in signed {
            put_signed(&mut out, number);
        }
        put_text(&mut out, "ü");
        let mut reader = ByteReader::new(&out);
        for number in numbers {
            assert_eq!(reader.number(), Some(number));
        }
        for number in signed {
            assert_eq!(reader.signed(), Some(number));
        }
        assert_eq!(reader.text(), Some("ü"));
        assert_eq!(reader.number(), None);
    }

    #[test]
    fn a_damaged_number_is_none() {
        assert_eq!(ByteReader::new(&[0x80; 20]).number(), None);
        assert_eq!(ByteReader::new(&[0x80]).number(), None);
        assert_eq!(ByteReader::new(&[200, 1]).small::<u8>(), Some(200));
        assert_eq!(ByteReader::new(&[200, 2]).small::<u8>(), None);
        assert_eq!(ByteReader::new(&[9, 1, 2]).count(), None);
        assert_eq!(ByteReader::new(&[3, 1, 2]).bytes(4), None);
    }
}
