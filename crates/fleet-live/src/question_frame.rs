//! Forms in which questions and replies lie at the server.
//!
//! ```text
//! question, an item of a stream: i = number in 32 hexadecimal digits, q = sealed in Base64
//! reply, an item of a list:      kind:u8 length:u8 name, and behind an answer what was sealed
//! ```
//!
//! Nothing that is read here is believed; called by the session and by the fuzz target.

use crate::live_questions::{QUESTION_BYTES_MAX, REPLY_BYTES_MAX};
use base64::Engine;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use std::collections::HashMap;
use std::fmt;

/// Digits of a number.
const ID_DIGITS: usize = 32;
/// Longest text of a sealed question.
const TEXT_BYTES_MAX: usize = QUESTION_BYTES_MAX.div_ceil(3) * 4;
/// First bytes of replies.
const ANSWER: u8 = b'a';
const DECLINED: u8 = b'd';
const BUSY: u8 = b'b';
const UNREAD: u8 = b'u';

/// Number of a question, which nobody foresees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct QuestionId(pub u128);

/// Question as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WireFrame {
    pub(crate) id: QuestionId,
    pub(crate) sealed: Vec<u8>,
}

/// Reply to a question, as it came: whoever can write at the server may have said it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplyFrame {
    /// Machine that says that it is the one.
    pub edge: String,
    /// Reply.
    pub kind: ReplyKind,
}

/// Reply to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplyKind {
    /// An answer, sealed.
    Answer(Vec<u8>),
    /// The machine answers nobody.
    Declined,
    /// The machine has too many questions.
    Busy,
    /// The machine cannot open the question: it was sealed with another secret.
    Unread,
}

impl fmt::Display for QuestionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl QuestionId {
    fn parse(text: &str) -> Option<Self> {
        let is_digit = |it: u8| matches!(it, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != ID_DIGITS || !text.bytes().all(is_digit) {
            return None;
        }
        u128::from_str_radix(text, 16).ok().map(Self)
    }
}

impl WireFrame {
    /// A question by the fields of its item; none of what is none.
    pub(crate) fn read(fields: &HashMap<String, String>) -> Option<Self> {
        let id = QuestionId::parse(fields.get("i")?)?;
        let text = fields.get("q").filter(|it| it.len() <= TEXT_BYTES_MAX)?;
        let sealed = BASE64_STANDARD_NO_PAD.decode(text).ok()?;
        (sealed.len() <= QUESTION_BYTES_MAX).then_some(Self { id, sealed })
    }

    /// The text of what was sealed.
    pub(crate) fn text(sealed: &[u8]) -> String {
        BASE64_STANDARD_NO_PAD.encode(sealed)
    }
}

impl ReplyFrame {
    /// Bytes of what was sealed.
    pub fn length(&self) -> usize {
        match &self.kind {
            ReplyKind::Answer(sealed) => sealed.len(),
            ReplyKind::Declined | ReplyKind::Busy | ReplyKind::Unread => 0,
        }
    }

    /// A reply as it lies in the list; none of what is none.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let (kind, rest) = bytes.split_first()?;
        let (length, rest) = rest.split_first()?;
        let (edge, sealed) = rest.split_at_checked(usize::from(*length))?;
        let edge = String::from_utf8(edge.to_vec()).ok()?;
        let is_shown = !edge.is_empty() && !edge.contains(char::is_control);
        let kind = match (*kind, sealed.is_empty()) {
            (ANSWER, false) => ReplyKind::Answer(sealed.to_vec()),
            (DECLINED, true) => ReplyKind::Declined,
            (BUSY, true) => ReplyKind::Busy,
            (UNREAD, true) => ReplyKind::Unread,
            _ => return None,
        };
        (is_shown && bytes.len() <= REPLY_BYTES_MAX).then_some(Self { edge, kind })
    }

    /// The reply as it is put into the list; none where it is too long, or its machine's name is.
    pub(crate) fn written(edge: &str, kind: &ReplyKind) -> Option<Vec<u8>> {
        let (first, sealed) = match kind {
            ReplyKind::Answer(sealed) => (ANSWER, &sealed[..]),
            ReplyKind::Declined => (DECLINED, &[][..]),
            ReplyKind::Busy => (BUSY, &[][..]),
            ReplyKind::Unread => (UNREAD, &[][..]),
        };
        let length = u8::try_from(edge.len()).ok()?;
        let written = [&[first, length], edge.as_bytes(), sealed].concat();
        (written.len() <= REPLY_BYTES_MAX).then_some(written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(id: &str, text: &str) -> HashMap<String, String> {
        [("i", id), ("q", text)].map(|(name, text)| (name.to_owned(), text.to_owned())).into()
    }

    #[test]
    fn a_question_is_read_as_it_was_written() {
        let id = QuestionId(0xab);
        let sealed = vec![0, 255, 7];
        let read = WireFrame::read(&fields(&id.to_string(), &WireFrame::text(&sealed)));
        assert_eq!(read, Some(WireFrame { id, sealed }));
    }

    #[test]
    fn what_is_no_question_is_none() {
        let id = QuestionId(1).to_string();
        let long = WireFrame::text(&vec![0; QUESTION_BYTES_MAX + 1]);
        for (id, text) in [
            ("", "AA"),
            (&id[1..], "AA"),
            (&id.replace('0', "G"), "AA"),
            (&format!("+{}", &id[1..]), "AA"),
            (&id, "A"),
            (&id, "*"),
            (&id, &long),
        ] {
            assert_eq!(WireFrame::read(&fields(id, text)), None, "{id} {text:.20}");
        }
        assert_eq!(WireFrame::read(&HashMap::new()), None);
        let most = WireFrame::text(&vec![0; QUESTION_BYTES_MAX]);
        assert!(WireFrame::read(&fields(&id, &most)).is_some());
    }

    #[test]
    fn replies_are_read_as_they_were_written() {
        for kind in
            [ReplyKind::Answer(vec![1, 2]), ReplyKind::Declined, ReplyKind::Busy, ReplyKind::Unread]
        {
            let written = ReplyFrame::written("harbour-1", &kind).unwrap();
            let edge = "harbour-1".to_owned();
            assert_eq!(ReplyFrame::parse(&written), Some(ReplyFrame { edge, kind }));
        }
    }

    #[test]
    fn what_is_no_reply_is_none() {
        let long = [&b"a\x01h"[..], &vec![0; REPLY_BYTES_MAX]].concat();
        for bytes in [
            &b""[..],
            b"a",
            b"a\x05harb",
            b"a\x01h",
            b"d\x01hx",
            b"x\x01h",
            b"d\x00",
            b"d\x01\x07",
            b"d\x01\xff",
            &long,
        ] {
            assert_eq!(ReplyFrame::parse(bytes), None, "{bytes:.20?}");
        }
        let name = "h".repeat(256);
        assert_eq!(ReplyFrame::written(&name, &ReplyKind::Busy), None);
        let answer = ReplyKind::Answer(vec![0; REPLY_BYTES_MAX]);
        assert_eq!(ReplyFrame::written("h", &answer), None);
    }
}
