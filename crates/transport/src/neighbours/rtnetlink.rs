//! The kernel's tables of links, addresses and neighbours, read whole (rtnetlink(7)).
//!
//! It asks and changes nothing. What the kernel writes is read within its bounds all the same; an
//! entry that cannot be read is left out. Called by `near`.

use crate::netlink::NetlinkSocket;
use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use vocab::MacAddress;

/// Messages of a header (linux/netlink.h): length, type, flags, number, port.
const HEADER_BYTES: usize = 16;
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// `NLM_F_REQUEST | NLM_F_DUMP`.
const REQUEST_DUMP: u16 = 0x301;
/// The number of our one question.
const NUMBER: u32 = 1;

/// Attributes begin with their length and type, whose upper two bits are flags, and stand on bounds
/// of four bytes.
const ATTRIBUTE_HEADER_BYTES: usize = 4;
const ATTRIBUTE_TYPE: u16 = 0x3fff;

/// A table (linux/rtnetlink.h): what to ask, what entries are called, and the bytes of their heads.
struct RtnetlinkTable {
    get: u16,
    entry: u16,
    head_bytes: usize,
}

const LINKS: RtnetlinkTable = RtnetlinkTable { get: 18, entry: 16, head_bytes: 16 };
const ADDRESSES: RtnetlinkTable = RtnetlinkTable { get: 22, entry: 20, head_bytes: 8 };
const NEIGHBOURS: RtnetlinkTable = RtnetlinkTable { get: 30, entry: 28, head_bytes: 12 };

/// Attributes of a link, an address and a neighbour.
const LINK_NAME: u16 = 3;
const ADDRESS: u16 = 1;
const ADDRESS_LOCAL: u16 = 2;
const NEIGHBOUR_ADDRESS: u16 = 1;
const NEIGHBOUR_MAC: u16 = 2;

/// States in which the hardware address of a neighbour is known (linux/neighbour.h): reachable,
/// stale, delay, probe, permanent.
const STATES_KNOWN: u16 = 0x02 | 0x04 | 0x08 | 0x10 | 0x80;

/// The names of at most so many links, by their numbers.
pub(super) fn links(max: usize) -> io::Result<HashMap<u32, String>> {
    let mut links = HashMap::new();
    dump(&LINKS, |head, attributes| {
        let Some(name) = find(attributes, LINK_NAME) else { return };
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        if let (Some(index), Ok(name)) = (word(head, 4), std::str::from_utf8(name))
            && links.len() < max
        {
            links.insert(index, name.to_owned());
        }
    })?;
    Ok(links)
}

/// At most so many addresses of ours, each with the number of its interface; none where two have
/// it.
pub(super) fn addresses(max: usize) -> io::Result<HashMap<IpAddr, Option<u32>>> {
    let mut addresses = HashMap::new();
    dump(&ADDRESSES, |head, attributes| {
        // Of a line from point to point the other attribute is the far end.
        let own = find(attributes, ADDRESS_LOCAL).or_else(|| find(attributes, ADDRESS));
        if let (Some(index), Some(address)) = (word(head, 4), own.and_then(ip)) {
            note(&mut addresses, address, index, max);
        }
    })?;
    Ok(addresses)
}

/// At most so many neighbours with their hardware addresses; none where two links differ about one.
pub(super) fn neighbours(max: usize) -> io::Result<HashMap<IpAddr, Option<MacAddress>>> {
    let mut neighbours = HashMap::new();
    dump(&NEIGHBOURS, |head, attributes| {
        let is_known = half(head, 8).is_some_and(|state| state & STATES_KNOWN != 0);
        let address = find(attributes, NEIGHBOUR_ADDRESS).and_then(ip);
        let mac = find(attributes, NEIGHBOUR_MAC).and_then(|mac| <[u8; 6]>::try_from(mac).ok());
        if let (true, Some(address), Some(mac)) = (is_known, address, mac) {
            note(&mut neighbours, address, MacAddress(mac), max);
        }
    })?;
    Ok(neighbours)
}

fn note<T: PartialEq>(
    table: &mut HashMap<IpAddr, Option<T>>,
    address: IpAddr,
    value: T,
    max: usize,
) {
    if let Some(known) = table.get_mut(&address) {
        if known.as_ref() != Some(&value) {
            *known = None;
        }
    } else if table.len() < max {
        table.insert(address, Some(value));
    }
}

/// Shows every entry of a table: its head, and its attributes.
fn dump(table: &RtnetlinkTable, mut found: impl FnMut(&[u8], &[u8])) -> io::Result<()> {
    let mut socket = NetlinkSocket::route()?;
    let mut question = Vec::new();
    question.extend(((HEADER_BYTES + table.head_bytes) as u32).to_ne_bytes());
    question.extend(table.get.to_ne_bytes());
    question.extend(REQUEST_DUMP.to_ne_bytes());
    question.extend(NUMBER.to_ne_bytes());
    // Our port, which the kernel knows, and a head of zeroes: of all families.
    question.resize(HEADER_BYTES + table.head_bytes, 0);
    socket.send(&question)?;
    loop {
        let answer = socket.receive()?;
        match read(answer, table, &mut found) {
            NetlinkRead::More => {}
            NetlinkRead::Whole => return Ok(()),
            NetlinkRead::Refused(errno) => return Err(io::Error::from_raw_os_error(errno)),
        }
    }
}

/// Tells what a datagram of the kernel's was.
#[derive(Debug, PartialEq, Eq)]
enum NetlinkRead {
    More,
    Whole,
    Refused(i32),
}

fn read(
    mut bytes: &[u8],
    table: &RtnetlinkTable,
    found: &mut impl FnMut(&[u8], &[u8]),
) -> NetlinkRead {
    while let (Some(length), Some(kind)) = (word(bytes, 0), half(bytes, 4)) {
        let Some(body) = bytes.get(HEADER_BYTES..length as usize) else {
            return NetlinkRead::Whole;
        };
        match kind {
            DONE => return NetlinkRead::Whole,
            ERROR => {
                let code = word(body, 0).map_or(0, u32::cast_signed);
                return NetlinkRead::Refused(code.wrapping_neg());
            }
            kind if kind == table.entry => {
                if let Some((head, attributes)) = body.split_at_checked(table.head_bytes) {
                    found(head, attributes);
                }
            }
            _ => {}
        }
        bytes = bytes.get((length as usize).next_multiple_of(4)..).unwrap_or_default();
    }
    NetlinkRead::More
}

/// The value of an attribute.
fn find(mut attributes: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let length = usize::from(half(attributes, 0)?);
        let value = attributes.get(ATTRIBUTE_HEADER_BYTES..length)?;
        if half(attributes, 2)? & ATTRIBUTE_TYPE == wanted {
            return Some(value);
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
}

fn ip(bytes: &[u8]) -> Option<IpAddr> {
    if let Ok(four) = <[u8; 4]>::try_from(bytes) {
        return Some(four.into());
    }
    <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from)
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|word| u32::from_ne_bytes(*word))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|half| u16::from_ne_bytes(*half))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        let mut bytes = ((HEADER_BYTES + body.len()) as u32).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.resize(HEADER_BYTES, 0);
        bytes.extend(body);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let length = (ATTRIBUTE_HEADER_BYTES + value.len()) as u16;
        let mut bytes = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    #[test]
    fn entries_are_read_and_what_is_cut_is_left_out() {
        let body = [vec![7; 12], attribute(9, b"xyz"), attribute(2, &[1, 2, 3, 4, 5, 6])].concat();
        let bytes = [message(28, &body), message(28, &[1; 3]), message(DONE, &[0; 4])].concat();
        let mut macs = Vec::new();
        let mut take = |head: &[u8], attributes: &[u8]| {
            macs.push((head.to_vec(), find(attributes, 2).map(<[u8]>::to_vec)));
        };
        assert_eq!(read(&bytes, &NEIGHBOURS, &mut take), NetlinkRead::Whole);
        assert_eq!(macs, [(vec![7; 12], Some(vec![1, 2, 3, 4, 5, 6]))]);
        for length in 0..bytes.len() {
            // Wherever it is cut: an end, and no panic.
            read(&bytes[..length], &NEIGHBOURS, &mut |_, attributes| {
                let _ = find(attributes, 2);
            });
        }
    }

    #[test]
    fn lengths_that_lie_end_the_reading() {
        let mut body = vec![0; 12];
        body.extend([3, 0, 2, 0, 255, 255, 1, 0]);
        let mut zero = message(28, &body);
        zero[..4].copy_from_slice(&0_u32.to_ne_bytes());
        let mut seen = 0;
        assert_eq!(read(&zero, &NEIGHBOURS, &mut |_, _| seen += 1), NetlinkRead::Whole);
        let whole = message(28, &body);
        let look = &mut |_: &[u8], attributes: &[u8]| assert_eq!(find(attributes, 1), None);
        assert_eq!(read(&whole, &NEIGHBOURS, look), NetlinkRead::More);
        assert_eq!(seen, 0);
    }

    #[test]
    fn a_refusal_carries_its_number() {
        let refused = message(ERROR, &(-13_i32).to_ne_bytes());
        assert_eq!(read(&refused, &LINKS, &mut |_, _| {}), NetlinkRead::Refused(13));
    }

    #[test]
    fn two_links_that_differ_about_an_address_settle_nothing() {
        let address: IpAddr = "fe80::1".parse().unwrap();
        let mut table = HashMap::new();
        note(&mut table, address, 1, 1);
        note(&mut table, address, 1, 1);
        assert_eq!(table.get(&address), Some(&Some(1)));
        note(&mut table, address, 2, 1);
        note(&mut table, "fe80::2".parse().unwrap(), 2, 1);
        assert_eq!((table.len(), table.get(&address)), (1, Some(&None)));
    }

    #[test]
    fn the_kernel_tells_all_three_tables() {
        assert!(links(100).unwrap().values().any(|name| name == "lo"));
        assert!(addresses(100).unwrap().len() <= 100);
        neighbours(100).unwrap();
    }
}
