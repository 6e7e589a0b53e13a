//! Additions to sets of nftables.
//!
//! A set with the flag `interval` wants a prefix as two elements, its first address and the one
//! behind its last; a set without takes single addresses. Which it is, the kernel is asked before
//! every batch, and the batch names the generation of the rules that the answer was for: had they
//! changed in between, the kernel would refuse it, and it is made anew. It makes and removes no
//! set. Called by the sets' thread.

use super::AddressPrefix;
use super::message::{
    ACK, CREATE, KernelRefusal, KernelReply, MessageBatch, MessageHead, REQUEST, ReplyMeaning,
    attributes, converse,
};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use transport::netlink::NetlinkSocket;

/// `NFNL_SUBSYS_NFTABLES` and its commands (`linux/netfilter/nf_tables.h`, for all that follows).
const SUBSYSTEM: u16 = 10;
const NEW_SET: u16 = 0x0a09;
const GET_SET: u16 = 0x0a0a;
const NEW_ELEMENTS: u16 = 0x0a0c;
const NEW_GENERATION: u16 = 0x0a0f;
const GET_GENERATION: u16 = 0x0a10;
/// `NFNL_MSG_BATCH_BEGIN` and `_END` (`linux/netfilter/nfnetlink.h`).
const BATCH_BEGIN: u16 = 0x10;
const BATCH_END: u16 = 0x11;
const AT_BATCH_GENERATION: u16 = 1;
const AT_GENERATION: u16 = 1;
const AT_SET_TABLE: u16 = 1;
const AT_SET_NAME: u16 = 2;
const AT_SET_FLAGS: u16 = 3;
const AT_SET_KEY_BYTES: u16 = 5;
const AT_LIST_TABLE: u16 = 1;
const AT_LIST_SET: u16 = 2;
const AT_LIST_ELEMENTS: u16 = 3;
const AT_ELEMENT: u16 = 1;
const AT_KEY: u16 = 1;
const AT_FLAGS: u16 = 3;
const AT_VALUE: u16 = 1;
const SET_INTERVAL: u32 = 4;
const INTERVAL_END: u32 = 1;
/// The rules changed since the generation that the batch names.
const ERESTART: i32 = 85;
const EINVAL: i32 = 22;
/// The element is there, or an interval of the set lies across it.
pub(super) const EEXIST: i32 = 17;
/// A batch that met a change of the rules is made anew so often.
const TRIES: u32 = 4;

/// Where a set is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NftSetAddress {
    /// `NFPROTO_*`.
    pub(super) family: u8,
    pub(super) table: String,
    pub(super) set: String,
}

/// Tells what a set holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SetShape {
    Addresses,
    Intervals,
}

/// Adds what covers `addresses`, masked to `length` bits where the set takes prefixes: all of them,
/// or, when the kernel refuses, none.
pub(super) fn add(
    socket: &mut NetlinkSocket,
    place: &NftSetAddress,
    addresses: &[IpAddr],
    length: u8,
) -> Result<(), KernelRefusal> {
    for _ in 1..TRIES {
        match try_add(socket, place, addresses, length) {
            Err(KernelRefusal::Kernel(ERESTART)) => {}
            outcome => return outcome,
        }
    }
    try_add(socket, place, addresses, length)
}

fn try_add(
    socket: &mut NetlinkSocket,
    place: &NftSetAddress,
    addresses: &[IpAddr],
    length: u8,
) -> Result<(), KernelRefusal> {
    let generation = generation(socket)?;
    let shape = shape(socket, place, addresses)?;
    let messages = batch(place, shape, generation, addresses, length);
    converse(socket, &messages, |reply| match reply {
        // The kernel refuses the batch as a whole at its first message, else acknowledges the one
        // in it that asks for that.
        KernelReply::Outcome { error: 0, sequence: 1 } => ReplyMeaning::All,
        KernelReply::Outcome { error: 0, .. } | KernelReply::Told { .. } => {
            ReplyMeaning::MoreToCome
        }
        KernelReply::Outcome { error, .. } => ReplyMeaning::Refused(error),
    })
}

/// Which version of the rules is in force.
fn generation(socket: &mut NetlinkSocket) -> Result<u32, KernelRefusal> {
    let mut messages = MessageBatch::default();
    let head =
        MessageHead { kind: GET_GENERATION, flags: REQUEST, sequence: 0, family: 0, resource: 0 };
    messages.push(head, |_| {});
    let mut found = None;
    converse(socket, &messages, |reply| match reply {
        KernelReply::Told { kind: NEW_GENERATION, attributes: body, .. } => {
            found = number(body, AT_GENERATION);
            ReplyMeaning::All
        }
        KernelReply::Told { .. } => ReplyMeaning::MoreToCome,
        KernelReply::Outcome { error, .. } => ReplyMeaning::Refused(error),
    })?;
    found.ok_or(KernelRefusal::Kernel(EINVAL))
}

/// Returns whether the set holds intervals; an error if its keys are not such addresses.
fn shape(
    socket: &mut NetlinkSocket,
    place: &NftSetAddress,
    addresses: &[IpAddr],
) -> Result<SetShape, KernelRefusal> {
    let mut messages = MessageBatch::default();
    let head = MessageHead {
        kind: GET_SET,
        flags: REQUEST,
        sequence: 0,
        family: place.family,
        resource: 0,
    };
    messages.push(head, |at| {
        at.put_text(AT_SET_TABLE, &place.table);
        at.put_text(AT_SET_NAME, &place.set);
    });
    let key_bytes = match addresses.first() {
        Some(IpAddr::V6(_)) => 16,
        Some(IpAddr::V4(_)) | None => 4,
    };
    let mut found = Err(EINVAL);
    converse(socket, &messages, |reply| match reply {
        KernelReply::Told { kind: NEW_SET, attributes: body, .. } => {
            let flags = number(body, AT_SET_FLAGS).unwrap_or(0);
            found = match number(body, AT_SET_KEY_BYTES) {
                Some(bytes) if bytes != key_bytes => Err(EINVAL),
                _ if flags & SET_INTERVAL != 0 => Ok(SetShape::Intervals),
                _ => Ok(SetShape::Addresses),
            };
            ReplyMeaning::All
        }
        KernelReply::Told { .. } => ReplyMeaning::MoreToCome,
        KernelReply::Outcome { error, .. } => ReplyMeaning::Refused(error),
    })?;
    found.map_err(KernelRefusal::Kernel)
}

fn number(body: &[u8], kind: u16) -> Option<u32> {
    let (_, value) = attributes(body).find(|(found, _)| *found == kind)?;
    Some(u32::from_be_bytes(*value.first_chunk()?))
}

fn batch(
    place: &NftSetAddress,
    shape: SetShape,
    generation: u32,
    addresses: &[IpAddr],
    length: u8,
) -> MessageBatch {
    let mut messages = MessageBatch::default();
    let edge = |kind, sequence| MessageHead {
        kind,
        flags: REQUEST,
        sequence,
        family: 0,
        resource: SUBSYSTEM,
    };
    messages.push(edge(BATCH_BEGIN, 0), |at| at.put_u32(AT_BATCH_GENERATION, generation));
    let head = MessageHead {
        kind: NEW_ELEMENTS,
        flags: REQUEST | CREATE | ACK,
        sequence: 1,
        family: place.family,
        resource: 0,
    };
    messages.push(head, |at| {
        at.put_text(AT_LIST_TABLE, &place.table);
        at.put_text(AT_LIST_SET, &place.set);
        at.nest(AT_LIST_ELEMENTS, |at| match shape {
            SetShape::Addresses => {
                for address in sorted(addresses.iter().copied()) {
                    element(at, address, 0);
                }
            }
            SetShape::Intervals => {
                let networks = addresses.iter().map(|it| AddressPrefix::new(*it, length).network);
                for network in sorted(networks) {
                    element(at, network, 0);
                    // Without an end it reaches to the last address there is.
                    if let Some(end) = address_after(AddressPrefix { network, length }) {
                        element(at, end, INTERVAL_END);
                    }
                }
            }
        });
    });
    messages.push(edge(BATCH_END, 2), |_| {});
    messages
}

fn element(at: &mut super::message::MessageAttributes<'_>, key: IpAddr, flags: u32) {
    at.nest(AT_ELEMENT, |at| {
        if flags != 0 {
            at.put_u32(AT_FLAGS, flags);
        }
        at.nest(AT_KEY, |at| match key {
            IpAddr::V4(address) => at.put(AT_VALUE, &address.octets()),
            IpAddr::V6(address) => at.put(AT_VALUE, &address.octets()),
        });
    });
}

/// Each once: an element that stands twice in a batch would collide with itself.
fn sorted(addresses: impl Iterator<Item = IpAddr>) -> Vec<IpAddr> {
    let mut sorted: Vec<_> = addresses.collect();
    sorted.sort_unstable();
    sorted.dedup();
    sorted
}

/// The address behind the last of a prefix.
fn address_after(prefix: AddressPrefix) -> Option<IpAddr> {
    match prefix.network {
        IpAddr::V4(first) => {
            let count = 1_u32.checked_shl(32 - u32::from(prefix.length))?;
            Some(Ipv4Addr::from_bits(first.to_bits().checked_add(count)?).into())
        }
        IpAddr::V6(first) => {
            let count = 1_u128.checked_shl(128 - u32::from(prefix.length))?;
            Some(Ipv6Addr::from_bits(first.to_bits().checked_add(count)?).into())
        }
    }
}

/// Returns what an error number of nftables means, and what to do.
pub(super) fn meaning(error: i32) -> String {
    match error {
        EEXIST => "another interval of the set lies across the address".into(),
        EINVAL => "the set does not hold addresses of this family".into(),
        23 => "the set is full; make it with a larger size".into(),
        ERESTART => "the rules changed faster than the set could be written".into(),
        _ => super::errno_meaning(error, "make it with `nft add set`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn the_address_behind_a_prefix_is_found_or_there_is_none() {
        let check = |network: &str, length, expected: Option<&str>| {
            assert_eq!(
                address_after(AddressPrefix::new(ip(network), length)),
                expected.map(ip),
                "{network}"
            );
        };
        check("192.0.2.7", 24, Some("192.0.3.0"));
        check("192.0.2.7", 32, Some("192.0.2.8"));
        check("255.255.255.1", 24, None);
        check("10.0.0.0", 0, None);
        check("2001:db8::1", 48, Some("2001:db8:1::"));
        check("ffff:ffff:ffff::", 48, None);
        check("::1", 0, None);
    }

    #[test]
    fn an_interval_is_two_elements_and_stands_once() {
        let place = NftSetAddress { family: 1, table: "t".into(), set: "s".into() };
        let given = [ip("192.0.2.9"), ip("192.0.2.1")];
        let written = batch(&place, SetShape::Intervals, 5, &given, 24);
        let [_, KernelReply::Told { kind: NEW_ELEMENTS, attributes: body, .. }, _] =
            super::super::message::replies(written.as_bytes()).collect::<Vec<_>>()[..]
        else {
            panic!("a beginning, the elements, an end");
        };
        let (_, list) = attributes(body).nth(2).expect("elements");
        let elements: Vec<(Option<u32>, Vec<u8>)> = attributes(list)
            .map(|(_, element)| {
                let (_, key) = attributes(element).find(|(kind, _)| *kind == AT_KEY).expect("key");
                let (_, value) = attributes(key).next().expect("a value");
                (number(element, AT_FLAGS), value.to_vec())
            })
            .collect();
        let end = Some(INTERVAL_END);
        assert_eq!(elements, [(None, vec![192, 0, 2, 0]), (end, vec![192, 0, 3, 0])]);
    }
}
