//! Gauge of what a server answers: follows the frames of RESP2 and RESP3 as bytes come in, and ends
//! the connection before an answer fills the memory.
//!
//! The client's library believes every length, and takes up to 512 MiB for one text. This looks at
//! lengths before it gets to see them: it keeps a few numbers and no byte. Called by the stream
//! under each connection.

use std::fmt;

/// Most bytes that come before the next command is sent: more than a page of both streams has.
pub const WINDOW_BYTES_MAX: u64 = 4 << 20;
/// Most values that come before the next command is sent.
pub const WINDOW_VALUES_MAX: u64 = 65_536;
/// Largest text, in bytes.
const TEXT_BYTES_MAX: u64 = 1 << 20;
/// Longest line: a number, a word, or a reason.
const LINE_BYTES_MAX: usize = 4096;
/// Deepest nesting; a page of streams has five.
const DEPTH_MAX: usize = 8;

/// Reason why an answer is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadReply {
    /// A text over 1 MiB.
    LongText,
    /// A line over 4,096 bytes.
    LongLine,
    /// Over 4 MiB, or 65,536 values, at once.
    TooMuch,
    /// Values in values, eight times over.
    TooDeep,
    /// Bytes that are none of the protocol's.
    Garbage,
}

/// The gauge of one connection.
#[derive(Debug)]
pub struct ReplyGauge {
    /// Bytes and values since a command was sent.
    bytes: u64,
    values: u64,
    /// Values that each open list still lacks, the outermost first; 0 where there is none.
    open: [u64; DEPTH_MAX],
    depth: usize,
    frame: FramePart,
}

/// Place within the frame that comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FramePart {
    /// The first byte.
    Kind,
    /// A line of words, so long until now, and whether it ends with a carriage return.
    Words { length: usize, ends: LineEnd },
    /// A line with a number, for this kind.
    Number { kind: u8, length: usize, number: u64, sign: NumberSign, ends: LineEnd },
    /// A text, with the line's end behind it.
    Text { left: u64 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineEnd {
    NotYet,
    CarriageReturn,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NumberSign {
    Plus,
    Minus,
}

impl Default for ReplyGauge {
    fn default() -> Self {
        Self { bytes: 0, values: 0, open: [0; DEPTH_MAX], depth: 0, frame: FramePart::Kind }
    }
}

impl ReplyGauge {
    /// Notes that a command is sent: answers may come again.
    pub fn sent(&mut self) {
        (self.bytes, self.values) = (0, 0);
    }

    /// Looks at bytes that came. After a refusal nothing more is to be read.
    pub fn take(&mut self, mut bytes: &[u8]) -> Result<(), BadReply> {
        self.bytes += bytes.len() as u64;
        if self.bytes > WINDOW_BYTES_MAX {
            return Err(BadReply::TooMuch);
        }
        while let Some((first, rest)) = bytes.split_first() {
            bytes = if let FramePart::Text { left } = self.frame {
                let taken = left.min(bytes.len() as u64) as usize;
                self.frame = FramePart::Text { left: left - taken as u64 };
                if left == taken as u64 {
                    self.value_ends();
                }
                &bytes[taken..]
            } else {
                self.take_byte(*first)?;
                rest
            };
        }
        Ok(())
    }

    /// True between two answers.
    pub fn is_between(&self) -> bool {
        self.depth == 0 && self.frame == FramePart::Kind
    }

    fn take_byte(&mut self, byte: u8) -> Result<(), BadReply> {
        match &mut self.frame {
            FramePart::Kind => self.begin(byte)?,
            FramePart::Words { length, ends } => {
                *length += 1;
                if *length > LINE_BYTES_MAX {
                    return Err(BadReply::LongLine);
                }
                match (byte, *ends) {
                    (b'\n', LineEnd::CarriageReturn) => self.value_ends(),
                    (b'\r', _) => *ends = LineEnd::CarriageReturn,
                    _ => *ends = LineEnd::NotYet,
                }
            }
            FramePart::Number { kind, length, number, sign, ends } => {
                *length += 1;
                match (byte, *ends) {
                    (b'-', LineEnd::NotYet) if *length == 1 => *sign = NumberSign::Minus,
                    (b'0'..=b'9', LineEnd::NotYet) if *length < 12 => {
                        *number = *number * 10 + u64::from(byte - b'0');
                    }
                    (b'\r', LineEnd::NotYet) if *length > 1 => *ends = LineEnd::CarriageReturn,
                    (b'\n', LineEnd::CarriageReturn) => {
                        let (kind, number, sign) = (*kind, *number, *sign);
                        return self.counted(kind, number, sign);
                    }
                    _ => return Err(BadReply::Garbage),
                }
            }
            FramePart::Text { .. } => {}
        }
        Ok(())
    }

    fn begin(&mut self, kind: u8) -> Result<(), BadReply> {
        self.values += 1;
        if self.values > WINDOW_VALUES_MAX {
            return Err(BadReply::TooMuch);
        }
        self.frame = match kind {
            b'+' | b'-' | b':' | b'_' | b',' | b'#' | b'(' => {
                FramePart::Words { length: 0, ends: LineEnd::NotYet }
            }
            b'$' | b'!' | b'=' | b'*' | b'%' | b'~' | b'>' | b'|' => FramePart::Number {
                kind,
                length: 0,
                number: 0,
                sign: NumberSign::Plus,
                ends: LineEnd::NotYet,
            },
            _ => return Err(BadReply::Garbage),
        };
        Ok(())
    }

    /// Goes on behind the number of a text or a list.
    fn counted(&mut self, kind: u8, number: u64, sign: NumberSign) -> Result<(), BadReply> {
        if sign == NumberSign::Minus {
            // What is not there, in RESP2.
            let is_none = number == 1 && matches!(kind, b'$' | b'*');
            self.value_ends();
            return if is_none { Ok(()) } else { Err(BadReply::Garbage) };
        }
        let values = match kind {
            b'$' | b'!' | b'=' => {
                self.frame = FramePart::Text { left: number + 2 };
                return if number > TEXT_BYTES_MAX { Err(BadReply::LongText) } else { Ok(()) };
            }
            b'%' => 2 * number,
            // Attributes stand before the value that they are about.
            b'|' => 2 * number + 1,
            _ => number,
        };
        if self.values + values > WINDOW_VALUES_MAX {
            return Err(BadReply::TooMuch);
        }
        self.frame = FramePart::Kind;
        if values == 0 {
            self.value_ends();
            return Ok(());
        }
        *self.open.get_mut(self.depth).ok_or(BadReply::TooDeep)? = values;
        self.depth += 1;
        Ok(())
    }

    /// Ends a value, and the lists that it was the last of.
    fn value_ends(&mut self) {
        self.frame = FramePart::Kind;
        while let Some(last) = self.depth.checked_sub(1) {
            self.open[last] -= 1;
            if self.open[last] > 0 {
                return;
            }
            self.depth = last;
        }
    }
}

impl fmt::Display for BadReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LongText => "a value of over 1 MiB",
            Self::LongLine => "a line of over 4,096 bytes",
            Self::TooMuch => "over 4 MiB or 65,536 values at once",
            Self::TooDeep => "values nested over eight times",
            Self::Garbage => "something that is no RESP",
        })
    }
}

impl std::error::Error for BadReply {}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<bool, BadReply> {
        let mut whole = ReplyGauge::default();
        let outcome = whole.take(bytes).map(|()| whole.is_between());
        let mut by_bytes = ReplyGauge::default();
        let one_by_one = bytes.iter().try_for_each(|byte| by_bytes.take(&[*byte]));
        assert_eq!(outcome, one_by_one.map(|()| by_bytes.is_between()), "however it is cut");
        outcome
    }

    #[test]
    fn answers_of_both_protocols_are_followed_to_their_end() {
        for answer in [
            "+OK\r\n",
            "-MOVED 1 10.0.0.1:7000\r\n",
            ":12\r\n",
            "$5\r\nab\r\nc\r\n",
            "$-1\r\n",
            "*-1\r\n",
            "*0\r\n",
            "*2\r\n*2\r\n$1\r\na\r\n:1\r\n_\r\n",
            "%1\r\n+a\r\n~2\r\n#t\r\n,1.5\r\n",
            "|1\r\n+ttl\r\n:1\r\n+value\r\n",
            "=6\r\ntxt:ab\r\n",
            ">2\r\n+message\r\n+x\r\n",
        ] {
            assert_eq!(read(answer.as_bytes()), Ok(true), "{answer:?}");
            let cut = &answer.as_bytes()[..answer.len() - 1];
            assert_eq!(read(cut), Ok(false), "{answer:?}");
        }
    }

    #[test]
    fn what_would_fill_the_memory_is_refused_by_its_lengths() {
        let deep = "*1\r\n".repeat(DEPTH_MAX);
        assert_eq!(read(deep.as_bytes()), Ok(false));
        let deeper = "*1\r\n".repeat(DEPTH_MAX + 1);
        let line = format!("+{}", "x".repeat(LINE_BYTES_MAX + 1));
        let long = "+x\r\n".repeat(WINDOW_VALUES_MAX as usize + 1);
        for (answer, why) in [
            ("$1048577\r\n", BadReply::LongText),
            ("=99999999999\r\n", BadReply::LongText),
            ("*65536\r\n", BadReply::TooMuch),
            ("%40000\r\n", BadReply::TooMuch),
            (&deeper, BadReply::TooDeep),
            (&line, BadReply::LongLine),
            (&long, BadReply::TooMuch),
            ("$9223372036854775807\r\n", BadReply::Garbage),
            ("$-2\r\n", BadReply::Garbage),
            ("%-1\r\n", BadReply::Garbage),
            ("$?\r\n", BadReply::Garbage),
            ("$\r\n", BadReply::Garbage),
            ("HTTP/1.1 400 Bad Request\r\n", BadReply::Garbage),
        ] {
            assert_eq!(read(answer.as_bytes()), Err(why), "{answer:.40?}");
        }
    }

    #[test]
    fn a_command_gives_room_again() {
        let mut gauge = ReplyGauge::default();
        let answer = [&b"$1000000\r\n"[..], &b"x".repeat(1_000_000), b"\r\n"].concat();
        for _ in 0..4 {
            assert_eq!(gauge.take(&answer), Ok(()));
        }
        let mut other = ReplyGauge::default();
        for _ in 0..40 {
            other.sent();
            assert_eq!(other.take(&answer), Ok(()));
        }
        assert_eq!(gauge.take(&answer), Err(BadReply::TooMuch));
    }
}
