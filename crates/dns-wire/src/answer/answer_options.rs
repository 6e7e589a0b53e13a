//! What an upstream said beside its records: the options of its answer's OPT, as far as they are
//! about the answer and not about the way that it came.
//!
//! Cookies, keep-alive and padding are the exchange's and are never kept. They are not part of the
//! wire form, so an answer that is read again from it has none. Called by the DNS door, which tells
//! clients of them.

use super::WireAnswer;
use crate::ask_options::{OPTION_COOKIE, OPTION_KEEPALIVE, OPTION_PADDING};
use crate::options::{ClientSubnet, OPTION_SUBNET, iter_options};

/// Options of one answer that are kept, in bytes; further ones are left out. A client subnet has 24
/// at most, an extended error with a sentence some 100.
pub const OPTIONS_BYTES_MAX: usize = 256;

/// Returns those of `raw` that are kept.
pub(super) fn retained_options(raw: &[u8]) -> Box<[u8]> {
    let mut kept = Vec::new();
    for (code, data) in iter_options(raw) {
        if matches!(code, OPTION_COOKIE | OPTION_KEEPALIVE | OPTION_PADDING) {
            continue;
        }
        if kept.len() + 4 + data.len() > OPTIONS_BYTES_MAX {
            break;
        }
        kept.extend_from_slice(&code.to_be_bytes());
        // It came with as long a length.
        kept.extend_from_slice(&(data.len() as u16).to_be_bytes());
        kept.extend_from_slice(data);
    }
    kept.into()
}

impl WireAnswer {
    /// The options that came with it, at most [`OPTIONS_BYTES_MAX`], in the form of
    /// [`crate::DnsQuery::options`].
    pub fn options(&self) -> &[u8] {
        self.options.as_deref().unwrap_or(&[])
    }

    /// For how many leading bits of the client subnet that was sent it holds (RFC 7871 §7.2.1); 0
    /// where the upstream said nothing of it (§7.3). None where what it said is malformed or not
    /// known any more: then it holds for no more than what was sent.
    pub fn subnet_scope(&self) -> Option<u8> {
        let options = self.options.as_deref()?;
        match iter_options(options).find(|(code, _)| *code == OPTION_SUBNET) {
            None => Some(0),
            Some((_, data)) => ClientSubnet::read(data).map(|it| it.scope()),
        }
    }

    /// The same answer with the options of `other`, of which it was made.
    #[must_use]
    pub fn with_options_of(self, other: &Self) -> Self {
        Self { options: other.options.clone(), ..self }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A test fails by panicking.
    use super::*;

    /// An answer with one address and, where there are options, OPT.
    fn answer(options: Option<&[u8]>) -> WireAnswer {
        let mut message = b"\0\x01\x81\x80\0\x01\0\x01\0\0\0\0\x01a\0\0\x01\0\x01".to_vec();
        message.extend(b"\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04\xc0\0\x02\x01");
        if let Some(options) = options {
            message[11] = 1;
            message.extend(b"\0\0\x29\x04\xd0\0\0\0\0");
            message.extend((options.len() as u16).to_be_bytes());
            message.extend(options);
        }
        WireAnswer::from_response(&message).unwrap()
    }

    #[test]
    fn what_is_about_the_answer_is_kept_and_what_is_about_the_way_is_not() {
        let subnet = b"\0\x08\0\x07\0\x01\x18\x14\xc0\0\x02";
        let error = b"\0\x0f\0\x02\0\x03";
        let way = b"\0\x0a\0\x08COOKIE!!\0\x0b\0\x02\0\x64\0\x0c\0\x01\0";
        let kept = answer(Some(&[&way[..], subnet, error].concat()));
        assert_eq!(kept.options(), [&subnet[..], error].concat());
        assert_eq!(kept.subnet_scope(), Some(20));
        let again = WireAnswer::from_response(kept.message()).unwrap();
        assert_eq!((again.options(), again.subnet_scope()), (&[][..], None));
        assert_eq!(again.with_options_of(&kept), kept);
    }

    #[test]
    fn an_upstream_that_says_nothing_of_the_subnet_answers_for_all() {
        assert_eq!(answer(Some(b"")).subnet_scope(), Some(0));
        assert_eq!(answer(None).subnet_scope(), None);
        assert_eq!(answer(Some(b"\0\x08\0\x02\0\x01")).subnet_scope(), None, "malformed");
    }

    #[test]
    fn options_are_kept_within_bounds() {
        let long = [&[0xff, 0xf0, 0, 250][..], &[7; 250]].concat();
        let kept = answer(Some(&[&long[..], &long].concat()));
        assert_eq!(kept.options(), long);
        assert_eq!(kept.memory(), answer(Some(b"")).memory() + 254);
    }
}
