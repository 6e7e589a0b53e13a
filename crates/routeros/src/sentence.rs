//! Sentences on the wire: words behind their lengths, ended by an empty one.
//!
//! A length is one to five bytes, of which the first tells how many. Parsed from whatever bytes are
//! there; called by [`super::connection`].

use std::fmt;

/// Longest word that is taken.
const WORD_BYTES_MAX: usize = 64 << 10;
/// Words of one sentence that is taken, at most.
const WORDS_MAX: usize = 256;

/// Why what came is no sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadSentence {
    /// The first byte of a length is a control byte, which nobody sends.
    ControlByte(u8),
    /// A word is longer than 64 KiB.
    WordTooLong,
    /// There are more than 256 words.
    TooManyWords,
    /// A word is not UTF-8.
    NotText,
}

impl fmt::Display for BadSentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ControlByte(byte) => write!(f, "{byte:#x} begins no length"),
            Self::WordTooLong => f.write_str("a word is longer than 64 KiB"),
            Self::TooManyWords => write!(f, "a sentence has more than {WORDS_MAX} words"),
            Self::NotText => f.write_str("a word is not UTF-8"),
        }
    }
}

impl std::error::Error for BadSentence {}

/// Appends a sentence of `words`, none of which may be empty.
pub fn write_sentence<'w>(words: impl IntoIterator<Item = &'w str>, out: &mut Vec<u8>) {
    for word in words {
        write_length(word.len(), out);
        out.extend_from_slice(word.as_bytes());
    }
    out.push(0);
}

fn write_length(length: usize, out: &mut Vec<u8>) {
    // Nothing that is written here comes near four gigabytes.
    let bytes = (length as u32).to_be_bytes();
    match length {
        0..0x80 => out.push(bytes[3]),
        0x80..0x4000 => out.extend([bytes[2] | 0x80, bytes[3]]),
        0x4000..0x20_0000 => out.extend([bytes[1] | 0xc0, bytes[2], bytes[3]]),
        0x20_0000..0x1000_0000 => out.extend([bytes[0] | 0xe0, bytes[1], bytes[2], bytes[3]]),
        _ => out.extend([0xf0, bytes[0], bytes[1], bytes[2], bytes[3]]),
    }
}

/// Takes sentences out of bytes as they come.
#[derive(Debug, Default)]
pub struct SentenceReader {
    bytes: Vec<u8>,
    words: Vec<String>,
}

impl SentenceReader {
    /// Takes bytes in.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole sentence; nothing until more bytes have come. An empty one is no sentence.
    pub fn next_sentence(&mut self) -> Result<Option<Vec<String>>, BadSentence> {
        let mut at = 0;
        let sentence = loop {
            let Some((length, head)) = read_length(&self.bytes[at..])? else { break None };
            if length > WORD_BYTES_MAX {
                return Err(BadSentence::WordTooLong);
            }
            let Some(word) = self.bytes.get(at + head..at + head + length) else { break None };
            at += head + length;
            if word.is_empty() {
                if self.words.is_empty() {
                    continue;
                }
                break Some(std::mem::take(&mut self.words));
            }
            if self.words.len() == WORDS_MAX {
                return Err(BadSentence::TooManyWords);
            }
            let word = std::str::from_utf8(word).map_err(|_| BadSentence::NotText)?;
            self.words.push(word.to_owned());
        };
        self.bytes.drain(..at);
        Ok(sentence)
    }
}

/// A length and the bytes that it takes; nothing where some are missing.
fn read_length(bytes: &[u8]) -> Result<Option<(usize, usize)>, BadSentence> {
    let Some(&first) = bytes.first() else { return Ok(None) };
    let (more, mask) = match first {
        0..=0x7f => (0, 0x7f),
        0x80..=0xbf => (1, 0x3f),
        0xc0..=0xdf => (2, 0x1f),
        0xe0..=0xef => (3, 0x0f),
        0xf0 => (4, 0),
        control => return Err(BadSentence::ControlByte(control)),
    };
    let Some(rest) = bytes.get(1..=more) else { return Ok(None) };
    let length = rest
        .iter()
        .fold(usize::from(first & mask), |length, byte| length << 8 | usize::from(*byte));
    Ok(Some((length, 1 + more)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A test fails by panicking.
    use super::*;

    #[test]
    fn lengths_take_as_many_bytes_as_they_need() {
        for (length, head) in [
            (1, &[1][..]),
            (0x7f, &[0x7f]),
            (0x80, &[0x80, 0x80]),
            (0x3fff, &[0xbf, 0xff]),
            (0x4000, &[0xc0, 0x40, 0]),
            (0xffff, &[0xc0, 0xff, 0xff]),
        ] {
            let word = "a".repeat(length);
            let mut out = Vec::new();
            write_sentence([word.as_str()], &mut out);
            assert!(out.starts_with(head), "{length}");
            let mut reader = SentenceReader::default();
            reader.push(&out);
            assert_eq!(reader.next_sentence(), Ok(Some(vec![word])));
        }
        assert_eq!(read_length(&[0xe0, 0x20, 0, 0]), Ok(Some((0x20_0000, 4))));
        assert_eq!(read_length(&[0xf0, 0x10, 0, 0, 0]), Ok(Some((0x1000_0000, 5))));
    }

    #[test]
    fn sentences_come_out_whole_however_their_bytes_come_in() {
        let mut bytes = Vec::new();
        write_sentence(["!re", "=address=192.0.2.1"], &mut bytes);
        bytes.push(0);
        write_sentence(["!done"], &mut bytes);
        let mut reader = SentenceReader::default();
        let mut all = Vec::new();
        for byte in bytes {
            reader.push(&[byte]);
            all.extend(reader.next_sentence().unwrap());
        }
        assert_eq!(all, [vec!["!re", "=address=192.0.2.1"], vec!["!done"]]);
    }

    #[test]
    fn what_is_no_sentence_is_told_and_costs_no_memory() {
        let refused = |bytes: &[u8]| {
            let mut reader = SentenceReader::default();
            reader.push(bytes);
            reader.next_sentence().unwrap_err()
        };
        assert_eq!(refused(&[0xf8, 0]), BadSentence::ControlByte(0xf8));
        assert_eq!(refused(&[0xf0, 0xff, 0xff, 0xff, 0xff]), BadSentence::WordTooLong);
        assert_eq!(refused(&[2, 0xff, 0xfe, 0]), BadSentence::NotText);
        assert_eq!(refused(&[1, b'a'].repeat(257)), BadSentence::TooManyWords);
    }
}
