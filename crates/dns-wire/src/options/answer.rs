//! The options of an answer, written into room on the stack.
//!
//! They are given as raw bytes to [`crate::reply::finish`]. It decides nothing: which of them are
//! due is the DNS door's to say. Padding comes last, since it depends on everything else.

use super::cookie::COOKIE_BYTES;
use super::subnet::{self, ClientSubnet};
use super::{OPTION_COOKIE, OPTION_HEAD_BYTES, OPTION_KEEPALIVE, OPTION_PADDING};
use crate::codes::Ede;
use crate::query::DnsQuery;
use crate::synthesize;

/// Answers over encrypted ways are padded to a multiple of so many bytes (RFC 8467 §4.1).
pub const ANSWER_BLOCK_BYTES: usize = 468;

/// Room for all options, each at its longest.
const BYTES_MAX: usize = OPTION_HEAD_BYTES
    + COOKIE_BYTES
    + OPTION_HEAD_BYTES
    + 2
    + subnet::OPTION_BYTES_MAX
    + OPTION_HEAD_BYTES
    + ANSWER_BLOCK_BYTES
    - 1;

/// Holds what an answer says beside its records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnswerOptions {
    /// The whole cookie, of [`super::CookieSecrets::check`].
    pub cookie: Option<[u8; COOKIE_BYTES]>,
    /// Time for which the connection may stay idle, in tenths of a second (RFC 7828 §3.1).
    pub keepalive: Option<u16>,
    /// The client's subnet with the scope of the answer (RFC 7871 §7.2.1).
    pub subnet: Option<ClientSubnet>,
    /// Whether the answer's length is hidden.
    pub padding: PaddingPolicy,
}

/// Tells whether an answer is made longer to hide how long it is (RFC 7830).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PaddingPolicy {
    /// Is not.
    #[default]
    None,
    /// To a multiple of [`ANSWER_BLOCK_BYTES`], as far as the limit allows.
    Block,
}

/// Raw options.
#[derive(Clone, Copy)]
pub struct OptionBuffer {
    bytes: [u8; BYTES_MAX],
    len: usize,
}

impl AnswerOptions {
    /// Bytes of all but the padding.
    pub fn len(&self) -> usize {
        let fixed = |data: usize| OPTION_HEAD_BYTES + data;
        self.cookie.map_or(0, |cookie| fixed(cookie.len()))
            + self.keepalive.map_or(0, |_| fixed(2))
            + self.subnet.map_or(0, |subnet| subnet.option().1)
    }

    /// True if there is nothing to say.
    pub fn is_empty(&self) -> bool {
        self.len() == 0 && self.padding == PaddingPolicy::None
    }

    /// Writes all but the padding.
    pub fn write_plain(&self) -> OptionBuffer {
        let mut out = OptionBuffer::new();
        if let Some(cookie) = &self.cookie {
            out.push(OPTION_COOKIE, cookie);
        }
        if let Some(keepalive) = self.keepalive {
            out.push(OPTION_KEEPALIVE, &keepalive.to_be_bytes());
        }
        if let Some(subnet) = &self.subnet {
            let (bytes, len) = subnet.option();
            out.push_raw(&bytes[..len]);
        }
        out
    }

    /// Writes them for an answer to `query` with the extended error `ede` that has `message` bytes
    /// without OPT and may have `limit` with it.
    pub fn write(
        &self,
        query: &DnsQuery<'_>,
        ede: Option<Ede<'_>>,
        message: usize,
        limit: usize,
    ) -> OptionBuffer {
        if query.edns.is_none() {
            return OptionBuffer::new();
        }
        let mut out = self.write_plain();
        let whole = message + synthesize::opt_len(query, ede) + out.len + OPTION_HEAD_BYTES;
        if self.padding == PaddingPolicy::Block && whole <= limit {
            let padded = whole.next_multiple_of(ANSWER_BLOCK_BYTES).min(limit);
            out.push(OPTION_PADDING, &[0; ANSWER_BLOCK_BYTES][..padded - whole]);
        }
        out
    }
}

impl OptionBuffer {
    const fn new() -> Self {
        Self { bytes: [0; BYTES_MAX], len: 0 }
    }

    fn push(&mut self, code: u16, data: &[u8]) {
        self.push_raw(&code.to_be_bytes());
        self.push_raw(&(data.len() as u16).to_be_bytes());
        self.push_raw(data);
    }

    /// There is room for one of each kind, and no more are written.
    fn push_raw(&mut self, bytes: &[u8]) {
        let end = self.len + bytes.len();
        self.bytes[self.len..end].copy_from_slice(bytes);
        self.len = end;
    }

    /// The options.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl std::fmt::Debug for OptionBuffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "OptionBuffer({:02x?})", self.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes::EdeCode;
    use crate::reply;
    use vocab::NameBuffer;

    const ALL: AnswerOptions = AnswerOptions {
        cookie: Some([7; COOKIE_BYTES]),
        keepalive: Some(100),
        subnet: None,
        padding: PaddingPolicy::Block,
    };

    /// A query for a name of `label` letters, with EDNS or without.
    fn packet(label: u8, additionals: u8) -> Vec<u8> {
        let mut packet = vec![0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, additionals, label];
        packet.resize(13 + usize::from(label), b'a');
        packet.extend_from_slice(b"\0\0\x01\0\x01");
        if additionals == 1 {
            packet.extend_from_slice(b"\0\0\x29\x04\xd0\0\0\0\0\0\0");
        }
        packet
    }

    fn answer(
        packet: &[u8],
        ede: Option<Ede<'_>>,
        options: AnswerOptions,
        limit: usize,
    ) -> Vec<u8> {
        let mut name = NameBuffer::new();
        let query = DnsQuery::parse(packet, &mut name).unwrap();
        let mut out = Vec::new();
        synthesize::nodata(&DnsQuery { edns: None, ..query }, 10, None, &mut out);
        let options = options.write(&query, ede, out.len(), limit);
        reply::finish(&query, None, ede, options.as_bytes(), limit, 0, &mut out);
        out
    }

    #[test]
    fn padded_answers_are_multiples_of_a_block() {
        let subnet = Some(ClientSubnet::of("192.0.2.1".parse().unwrap(), 24));
        for label in 1..=63 {
            for ede in [None, Some(Ede { code: EdeCode::Blocked, text: "a rule" })] {
                let options = AnswerOptions { subnet, ..ALL };
                let padded = answer(&packet(label, 1), ede, options, 65_535);
                assert_eq!(padded.len(), ANSWER_BLOCK_BYTES, "{label} {ede:?}");
                let bare =
                    AnswerOptions { padding: PaddingPolicy::Block, ..AnswerOptions::default() };
                assert_eq!(answer(&packet(label, 1), ede, bare, 65_535).len(), ANSWER_BLOCK_BYTES);
            }
        }
    }

    #[test]
    fn padding_keeps_to_the_limit() {
        for limit in 200..=500 {
            let padded = answer(&packet(3, 1), None, ALL, limit);
            assert!(padded.len() <= limit && padded[2] & 2 == 0, "{limit}: {}", padded.len());
        }
        assert_eq!(answer(&packet(3, 1), None, ALL, 300).len(), 300);
    }

    #[test]
    fn options_stand_in_the_answer_as_they_were_given() {
        let whole =
            answer(&packet(1, 1), None, AnswerOptions { padding: PaddingPolicy::None, ..ALL }, 512);
        let opt = crate::ask_options::ResponseOpt::of(&whole).unwrap();
        assert_eq!(opt.option(OPTION_COOKIE), Some(&[7; COOKIE_BYTES][..]));
        assert_eq!(opt.option(OPTION_KEEPALIVE), Some(&[0, 100][..]));
        assert_eq!(opt.option(OPTION_PADDING), None);
    }

    #[test]
    fn clients_without_edns_get_no_options() {
        let whole = answer(&packet(1, 0), None, ALL, 512);
        assert_eq!(whole[10..12], [0, 0]);
        assert!(AnswerOptions::default().is_empty() && !ALL.is_empty());
    }
}
