//! What a blocked name gets instead of its answer.
//!
//! One meaning in every style: not this one. Addresses are only ever given for A and AAAA; type
//! HTTPS and SVCB of a blocked name is empty in every style that has addresses or empty answers,
//! since a service binding would lead around them (RFC 9460 §3). Called by `request`; it decides
//! nothing.

use dns_wire::{DnsQuery, Ede, EdeCode, synthesize};
use policy::BlockStyle;
use std::net::IpAddr;

/// Extended error 15, Blocked (RFC 8914 §4.16). Without a text: `tidegate why` and the dashboard
/// know the rule, and the reply stays small.
const BLOCKED: Option<Ede<'_>> = Some(Ede { code: EdeCode::Blocked, text: "" });

/// Tells what a client has of the pixel door's addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PixelReach {
    /// An answer.
    Pixel,
    /// A broken handshake: the client does not trust our authority, or the name gets no
    /// certificate.
    Nothing,
}

/// Holds how this door answers for blocked names now.
#[derive(Debug)]
pub(crate) struct BlockedAnswers {
    /// For whom has no style of his own. Never [`BlockStyle::Auto`]: that is settled when this is
    /// made.
    style: BlockStyle,
    /// Time for which clients may keep the answer, empty or not (RFC 2308 §5): short, so that they
    /// ask again soon after a block is lifted.
    ttl_s: u32,
    pixel: Vec<IpAddr>,
}

impl BlockedAnswers {
    /// Returns how to answer in `style`, where the pixel door is at `pixel`. Of these addresses the
    /// first [`synthesize::ADDRESSES_MAX`] of a family are given.
    pub(crate) fn new(style: BlockStyle, ttl_s: u32, pixel: &[IpAddr]) -> Self {
        let style = match style {
            BlockStyle::Auto if pixel.is_empty() => BlockStyle::Nodata,
            BlockStyle::Auto => BlockStyle::Pixel,
            BlockStyle::Pixel
            | BlockStyle::Nodata
            | BlockStyle::Nxdomain
            | BlockStyle::Null
            | BlockStyle::Refused => style,
        };
        Self { style, ttl_s, pixel: pixel.to_vec() }
    }

    /// Returns how long clients may keep an answer that rules give, in seconds.
    pub(crate) const fn ttl_s(&self) -> u32 {
        self.ttl_s
    }

    /// Writes the answer to `query` of a client that `reaches` the pixel door, or does not, and may
    /// have a style of its own.
    pub(crate) fn write(
        &self,
        query: &DnsQuery<'_>,
        own: Option<BlockStyle>,
        reaches: PixelReach,
        out: &mut Vec<u8>,
    ) {
        match own.unwrap_or(self.style) {
            // It would only refuse our certificate, and show an error where an empty answer shows
            // nothing.
            BlockStyle::Pixel if reaches == PixelReach::Nothing => {
                synthesize::nodata(query, self.ttl_s, BLOCKED, out);
            }
            BlockStyle::Pixel => {
                synthesize::addresses(query, &self.pixel, self.ttl_s, BLOCKED, out);
            }
            BlockStyle::Auto | BlockStyle::Nodata => {
                synthesize::nodata(query, self.ttl_s, BLOCKED, out);
            }
            BlockStyle::Nxdomain => synthesize::nxdomain(query, self.ttl_s, BLOCKED, out),
            BlockStyle::Null => synthesize::null(query, self.ttl_s, BLOCKED, out),
            BlockStyle::Refused => synthesize::refused(query, BLOCKED, out),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A test fails by panicking.
    use super::*;
    use vocab::NameBuffer;

    /// (rcode, answers, bytes at the end) of a blocked query of type `qtype`, without EDNS.
    fn answer(style: BlockStyle, pixel: &[&str], qtype: u8) -> (u8, u8, [u8; 4]) {
        answer_to((style, None), pixel, qtype)
    }

    /// The same for a client that may have a style of its own.
    fn answer_to(
        (style, own): (BlockStyle, Option<BlockStyle>),
        pixel: &[&str],
        qtype: u8,
    ) -> (u8, u8, [u8; 4]) {
        let packet =
            [b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x03ads\x04test\0\0", &[qtype, 0, 1][..]].concat();
        let pixel: Vec<IpAddr> = pixel.iter().map(|text| text.parse().unwrap()).collect();
        let mut name = NameBuffer::new();
        let query = DnsQuery::parse(&packet, &mut name).unwrap();
        let mut out = Vec::new();
        BlockedAnswers::new(style, 10, &pixel).write(&query, own, PixelReach::Pixel, &mut out);
        (out[3] & 15, out[7], *out.last_chunk().unwrap())
    }

    const TTL: [u8; 4] = [0, 0, 0, 10];

    #[test]
    fn auto_is_pixel_where_there_is_one_and_empty_elsewhere() {
        assert_eq!(answer(BlockStyle::Auto, &["192.0.2.9"], 1), (0, 1, [192, 0, 2, 9]));
        assert_eq!(answer(BlockStyle::Auto, &[], 1), (0, 0, TTL));
    }

    #[test]
    fn a_client_may_have_a_style_of_its_own() {
        let pixel = &["192.0.2.9"];
        assert_eq!(
            answer_to((BlockStyle::Nxdomain, Some(BlockStyle::Null)), pixel, 1),
            (0, 1, [0; 4])
        );
        assert_eq!(answer_to((BlockStyle::Pixel, Some(BlockStyle::Refused)), pixel, 1).0, 5);
        assert_eq!(answer_to((BlockStyle::Nodata, Some(BlockStyle::Pixel)), pixel, 1).1, 1);
    }

    #[test]
    fn a_family_without_a_pixel_address_is_empty() {
        assert_eq!(answer(BlockStyle::Pixel, &["192.0.2.9"], 28), (0, 0, TTL));
        assert_eq!(answer(BlockStyle::Pixel, &["192.0.2.9", "2001:db8::9"], 28).1, 1);
    }

    #[test]
    fn null_is_an_address_to_which_nothing_connects() {
        assert_eq!(answer(BlockStyle::Null, &[], 1), (0, 1, [0; 4]));
        assert_eq!(answer(BlockStyle::Null, &[], 28), (0, 1, [0; 4]));
    }

    #[test]
    fn service_bindings_of_blocked_names_are_empty_or_refused_like_the_name() {
        for qtype in [64, 65] {
            for style in [BlockStyle::Auto, BlockStyle::Pixel, BlockStyle::Nodata, BlockStyle::Null]
            {
                assert_eq!(answer(style, &["192.0.2.9"], qtype), (0, 0, TTL), "{style:?}");
            }
            assert_eq!(answer(BlockStyle::Nxdomain, &[], qtype), (3, 0, TTL));
            assert_eq!(answer(BlockStyle::Refused, &[], qtype).0, 5);
        }
    }
}
