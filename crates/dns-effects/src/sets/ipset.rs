//! Additions to sets of ipset.
//!
//! One message an address, many to a datagram; the kernel acknowledges each. An entry that is there
//! already is no error, and its time-out begins anew. It makes and removes no set. Called by the
//! sets' thread.

use super::AddressPrefix;
use super::message::{
    ACK, KernelRefusal, KernelReply, MessageBatch, MessageHead, NETWORK_ORDER, REQUEST,
    ReplyMeaning, converse,
};
use std::net::IpAddr;
use transport::netlink::NetlinkSocket;

/// `NFNL_SUBSYS_IPSET` and `IPSET_CMD_ADD` (`linux/netfilter/ipset/ip_set.h`, for all that
/// follows).
const ADD: u16 = 0x0609;
/// Protocol 6 is what every kernel since 2.6.39 takes.
const PROTOCOL: u8 = 6;
const AT_PROTOCOL: u16 = 1;
const AT_SET: u16 = 2;
const AT_DATA: u16 = 7;
const AT_IP: u16 = 1;
const AT_CIDR: u16 = 3;
const AT_IPV4: u16 = 1;
const AT_IPV6: u16 = 2;
const NFPROTO_IPV4: u8 = 2;
const NFPROTO_IPV6: u8 = 10;

/// Adds `prefixes` to the set `name`. `refused` is told of each that was not added.
pub(super) fn add(
    socket: &mut NetlinkSocket,
    name: &str,
    prefixes: &[AddressPrefix],
    mut refused: impl FnMut(AddressPrefix, i32),
) -> Result<(), KernelRefusal> {
    let mut messages = MessageBatch::default();
    for (index, prefix) in prefixes.iter().enumerate() {
        push_add(&mut messages, index as u32, name, *prefix);
    }
    let mut waiting = prefixes.len();
    converse(socket, &messages, |reply| {
        let KernelReply::Outcome { sequence, error } = reply else {
            return ReplyMeaning::MoreToCome;
        };
        if error != 0
            && let Some(prefix) = prefixes.get(sequence as usize)
        {
            refused(*prefix, error);
        }
        waiting -= 1;
        if waiting == 0 { ReplyMeaning::All } else { ReplyMeaning::MoreToCome }
    })
}

fn push_add(messages: &mut MessageBatch, sequence: u32, name: &str, prefix: AddressPrefix) {
    let family = match prefix.network {
        IpAddr::V4(_) => NFPROTO_IPV4,
        IpAddr::V6(_) => NFPROTO_IPV6,
    };
    let head = MessageHead { kind: ADD, flags: REQUEST | ACK, sequence, family, resource: 0 };
    messages.push(head, |at| {
        at.put(AT_PROTOCOL, &[PROTOCOL]);
        at.put_text(AT_SET, name);
        at.nest(AT_DATA, |at| {
            at.nest(AT_IP, |at| match prefix.network {
                IpAddr::V4(address) => at.put(AT_IPV4 | NETWORK_ORDER, &address.octets()),
                IpAddr::V6(address) => at.put(AT_IPV6 | NETWORK_ORDER, &address.octets()),
            });
            at.put(AT_CIDR, &[prefix.length]);
        });
    });
}

/// Returns what an error number of ipset means, and what to do.
pub(super) fn meaning(error: i32) -> String {
    match error {
        4097 => "the set holds more than addresses; make it a hash:ip or hash:net".into(),
        4104 => "the set takes no prefix of this length; make it a hash:net".into(),
        4109 | 4110 => "the set holds addresses of the other family".into(),
        4352 => "the set is full; make it with a larger maxelem".into(),
        4096.. => format!("ipset refused with its error {error}"),
        _ => super::errno_meaning(error, "make it with `ipset create`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_addition_is_written_as_the_kernel_reads_it() {
        let mut messages = MessageBatch::default();
        push_add(&mut messages, 3, "ab", AddressPrefix::new("192.0.2.77".parse().unwrap(), 24));
        let mut expected = Vec::new();
        expected.extend(56_u32.to_ne_bytes());
        expected.extend(0x0609_u16.to_ne_bytes());
        expected.extend(5_u16.to_ne_bytes());
        expected.extend(3_u32.to_ne_bytes());
        expected.extend([0; 4]);
        expected.extend([2, 0, 0, 0]);
        let mut attribute = |length: u16, kind: u16, value: &[u8]| {
            expected.extend(length.to_ne_bytes());
            expected.extend(kind.to_ne_bytes());
            expected.extend(value);
        };
        attribute(5, 1, &[6, 0, 0, 0]);
        attribute(7, 2, b"ab\0\0");
        attribute(24, 0x8007, &[]);
        attribute(12, 0x8001, &[]);
        attribute(8, 0x4001, &[192, 0, 2, 0]);
        attribute(5, 3, &[24, 0, 0, 0]);
        let length = expected.len() as u32;
        expected[..4].copy_from_slice(&length.to_ne_bytes());
        assert_eq!(messages.as_bytes(), expected);
    }
}
