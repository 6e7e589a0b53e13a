//! Records left out of a reply, with every compression pointer behind them moved.
//!
//! A message whose pointers lead into what is left out stays as it is: there are such, and nobody
//! can tell what their senders meant. Part of [`crate::reply`].

use crate::reply::{ReplyRecord, ends_with_pointer, names_in, question_end, records};
use crate::wire::{self, MalformedMessage, WireRecord};

/// Why nothing was left out: the message is malformed, or a pointer leads to what would go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CannotLeaveOut;

impl From<MalformedMessage> for CannotLeaveOut {
    fn from(_: MalformedMessage) -> Self {
        Self
    }
}

/// Leaves out the records of `message`, which has no OPT, for which `is_left_out` holds; it is
/// asked about each in order.
pub fn leave_out(
    message: &mut Vec<u8>,
    mut is_left_out: impl FnMut(&ReplyRecord<'_>) -> bool,
) -> Result<(), CannotLeaveOut> {
    let start = question_end(message).ok_or(CannotLeaveOut)?;
    let (mut gone, mut kept) = (Vec::new(), Vec::new());
    let (mut counts, mut bytes) = ([0_u16; 3], 0);
    for record in records(message) {
        if is_left_out(&record) {
            let WireRecord { start, end, .. } = record.places;
            bytes += end - start;
            gone.push(GapRecord { start, end, bytes });
        } else {
            counts[record.section as usize] += 1;
            kept.push(record.places);
        }
    }
    if gone.is_empty() {
        return Ok(());
    }
    // Ended early is malformed.
    let all: usize =
        (6..12).step_by(2).map(|at| wire::u16_at(message, at).map_or(0, usize::from)).sum();
    if gone.len() + kept.len() != all {
        return Err(CannotLeaveOut);
    }
    let mut left = Vec::with_capacity(message.len());
    left.extend_from_slice(&message[..start]);
    for record in &kept {
        let from = left.len();
        left.extend_from_slice(&message[record.start..record.end]);
        move_pointers(message, record, &gone, from, &mut left)?;
    }
    for (at, count) in (6..).step_by(2).zip(counts) {
        left[at..at + 2].copy_from_slice(&count.to_be_bytes());
    }
    *message = left;
    Ok(())
}

/// Mends the pointers of `record` of `old`, which stands at `at` in `new`.
fn move_pointers(
    old: &[u8],
    record: &WireRecord,
    gone: &[GapRecord],
    at: usize,
    new: &mut [u8],
) -> Result<(), CannotLeaveOut> {
    let names = names_in(record.rtype);
    let mut here = record.start;
    for index in 0..=names.count {
        if index == 1 {
            here = record.data_at + names.skip;
        }
        let end = wire::skip_name(old, here)?;
        if end > record.end {
            return Err(CannotLeaveOut);
        }
        if ends_with_pointer(old, here, end) {
            let target = usize::from(wire::u16_at(old, end - 2)? & 0x3fff);
            let moved = moved_to(target, gone).ok_or(CannotLeaveOut)?;
            let place = at + (end - 2 - record.start);
            // It was below 0x4000, and has become no larger.
            new[place..place + 2].copy_from_slice(&(0xc000 | moved as u16).to_be_bytes());
        }
        here = end;
    }
    Ok(())
}

/// A record that goes, and the bytes that go with it and with those before it.
struct GapRecord {
    start: usize,
    end: usize,
    bytes: usize,
}

/// Where the byte at `place` stands once `gone` is; none if that is among it.
fn moved_to(place: usize, gone: &[GapRecord]) -> Option<usize> {
    let before = gone.partition_point(|gap| gap.start <= place);
    match before.checked_sub(1).map(|last| &gone[last]) {
        None => Some(place),
        Some(gap) => (gap.end <= place).then(|| place - gap.bytes),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A test fails by panicking.
    use super::*;
    use crate::reply::{MessageSection, addresses, any_alias};
    use std::net::IpAddr;

    /// `www.a.test CNAME edge.a.test`, two addresses of that, and an NS record whose name is a
    /// pointer into the alias's data.
    fn message() -> Vec<u8> {
        let mut out = b"\x12\x34\x81\x80\0\x01\0\x03\0\x01\0\0".to_vec();
        out.extend(b"\x03www\x01a\x04test\0\0\x01\0\x01");
        out.extend(b"\xc0\x0c\0\x05\0\x01\0\0\0\x3c\0\x07\x04edge\xc0\x10");
        let edge = out.len() as u8 - 7;
        for last in [1, 2] {
            out.extend([0xc0, edge]);
            out.extend(b"\0\x01\0\x01\0\0\0\x3c\0\x04\xc0\0\x02");
            out.push(last);
        }
        out.extend(b"\xc0\x10\0\x02\0\x01\0\0\0\x3c\0\x05\x02ns\xc0");
        out.push(edge);
        out
    }

    fn second_address(record: &ReplyRecord<'_>) -> bool {
        record.section == MessageSection::Answer && record.data == [192, 0, 2, 2]
    }

    #[test]
    fn what_stands_behind_is_moved_with_its_pointers() {
        let mut shorter = message();
        leave_out(&mut shorter, second_address).unwrap();
        assert_eq!(shorter.len(), message().len() - 16);
        assert_eq!(&shorter[6..12], [0, 2, 0, 1, 0, 0]);
        let left: Vec<IpAddr> = addresses(&shorter).collect();
        assert_eq!(left, ["192.0.2.1".parse::<IpAddr>().unwrap()]);
        assert!(any_alias(&shorter, |name| name.as_str() == "edge.a.test"));
        let ns = records(&shorter).last().unwrap();
        let mut text = vocab::NameBuffer::new();
        wire::read_name(&shorter, ns.places.data_at, &mut text).unwrap();
        assert_eq!(text.as_name().as_str(), "ns.edge.a.test");
        // Nothing left out, nothing changed.
        let mut same = message();
        leave_out(&mut same, |_| false).unwrap();
        assert_eq!(same, message());
    }

    #[test]
    fn a_message_that_points_into_what_would_go_stays_as_it_is() {
        let mut pointed = message();
        let end = pointed.len();
        let second = records(&pointed).nth(2).unwrap().places.start;
        pointed[end - 1] = second as u8;
        let before = pointed.clone();
        assert_eq!(leave_out(&mut pointed, second_address), Err(CannotLeaveOut));
        assert_eq!(pointed, before);
        for cut in 0..before.len() {
            let mut cut = before[..cut].to_vec();
            let _ = leave_out(&mut cut, second_address);
        }
    }
}
