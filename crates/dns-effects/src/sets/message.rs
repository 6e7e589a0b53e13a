//! Netlink messages: written with their attributes, and read when the kernel replies.
//!
//! It frames and takes apart; it knows neither ipset nor nftables and opens no socket. What the
//! kernel sent is read with the same care as what a stranger sent. Called by `ipset` and `nft`.

use std::io;
use transport::netlink::NetlinkSocket;

/// `NLMSG_ERROR`: an acknowledgement, or a refusal with its error number (netlink(7)).
const ERROR: u16 = 2;
/// Bytes of `nlmsghdr`, and of `nfgenmsg` behind it.
const HEADER_BYTES: usize = 16;
const FAMILY_BYTES: usize = 4;
/// Flags of a request (linux/netlink.h).
pub(super) const REQUEST: u16 = 0x1;
pub(super) const ACK: u16 = 0x4;
pub(super) const CREATE: u16 = 0x400;
/// Marks of an attribute that holds others, and of a number in network order.
const NESTED: u16 = 0x8000;
pub(super) const NETWORK_ORDER: u16 = 0x4000;
const KIND_MASK: u16 = 0x3fff;

/// Messages for one datagram.
#[derive(Debug, Default)]
pub(super) struct MessageBatch {
    bytes: Vec<u8>,
}

/// Holds what stands in front of a message's attributes.
#[derive(Clone, Copy, Debug)]
pub(super) struct MessageHead {
    /// Subsystem and command.
    pub(super) kind: u16,
    pub(super) flags: u16,
    pub(super) sequence: u32,
    /// `NFPROTO_*`.
    pub(super) family: u8,
    /// In host order; 0 but for batches.
    pub(super) resource: u16,
}

/// The attributes of the message being written.
pub(super) struct MessageAttributes<'m> {
    bytes: &'m mut Vec<u8>,
}

/// A message from the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KernelReply<'r> {
    /// Done, or refused with this error number.
    Outcome { sequence: u32, error: i32 },
    /// What was asked for; its attributes.
    Told { sequence: u32, kind: u16, attributes: &'r [u8] },
}

impl MessageBatch {
    pub(super) fn push(
        &mut self,
        head: MessageHead,
        fill: impl FnOnce(&mut MessageAttributes<'_>),
    ) {
        let begin = self.bytes.len();
        self.bytes.extend([0; 4]);
        self.bytes.extend(head.kind.to_ne_bytes());
        self.bytes.extend(head.flags.to_ne_bytes());
        self.bytes.extend(head.sequence.to_ne_bytes());
        // The port: the kernel knows the sender.
        self.bytes.extend([0; 4]);
        self.bytes.push(head.family);
        // NFNETLINK_V0, the only version there is.
        self.bytes.push(0);
        self.bytes.extend(head.resource.to_be_bytes());
        fill(&mut MessageAttributes { bytes: &mut self.bytes });
        let length = (self.bytes.len() - begin) as u32;
        self.bytes[begin..begin + 4].copy_from_slice(&length.to_ne_bytes());
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl MessageAttributes<'_> {
    /// An attribute with this value, padded to four bytes.
    pub(super) fn put(&mut self, kind: u16, value: &[u8]) {
        // Values are names and addresses: shorter than the 65,531 bytes that fit.
        let length = (4 + value.len()) as u16;
        self.bytes.extend(length.to_ne_bytes());
        self.bytes.extend(kind.to_ne_bytes());
        self.bytes.extend(value);
        self.pad();
    }

    /// A text, which ends with a zero byte.
    pub(super) fn put_text(&mut self, kind: u16, text: &str) {
        let mut value = Vec::with_capacity(text.len() + 1);
        value.extend(text.as_bytes());
        value.push(0);
        self.put(kind, &value);
    }

    pub(super) fn put_u32(&mut self, kind: u16, value: u32) {
        self.put(kind, &value.to_be_bytes());
    }

    /// An attribute that holds those that `fill` writes.
    pub(super) fn nest(&mut self, kind: u16, fill: impl FnOnce(&mut MessageAttributes<'_>)) {
        let begin = self.bytes.len();
        self.bytes.extend([0; 2]);
        self.bytes.extend((kind | NESTED).to_ne_bytes());
        fill(self);
        // A batch of BATCH_MAX prefixes takes 64 × 2 × 24 bytes, far below what fits.
        let length = (self.bytes.len() - begin) as u16;
        self.bytes[begin..begin + 2].copy_from_slice(&length.to_ne_bytes());
    }

    fn pad(&mut self) {
        while !self.bytes.len().is_multiple_of(4) {
            self.bytes.push(0);
        }
    }
}

/// The messages of a datagram, until one that is malformed.
pub(super) fn replies(mut datagram: &[u8]) -> impl Iterator<Item = KernelReply<'_>> {
    std::iter::from_fn(move || {
        let length = u32::from_ne_bytes(*datagram.first_chunk()?) as usize;
        let message = datagram.get(..length).filter(|it| it.len() >= HEADER_BYTES)?;
        datagram = datagram.get(length.next_multiple_of(4)..).unwrap_or(&[]);
        let kind = u16::from_ne_bytes([message[4], message[5]]);
        let sequence = u32::from_ne_bytes([message[8], message[9], message[10], message[11]]);
        let body = &message[HEADER_BYTES..];
        if kind == ERROR {
            return Some(KernelReply::Outcome {
                sequence,
                error: -i32::from_ne_bytes(*body.first_chunk()?),
            });
        }
        Some(KernelReply::Told {
            sequence,
            kind,
            attributes: body.get(FAMILY_BYTES..).unwrap_or(&[]),
        })
    })
}

/// The attributes in `bytes`, each with its kind, until one that is malformed.
pub(super) fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let head: [u8; 4] = *bytes.first_chunk()?;
        let length = usize::from(u16::from_ne_bytes([head[0], head[1]]));
        let value = bytes.get(4..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or(&[]);
        Some((u16::from_ne_bytes([head[2], head[3]]) & KIND_MASK, value))
    })
}

/// Why the kernel did not do what it was asked.
#[derive(Debug)]
pub(super) enum KernelRefusal {
    /// Said so, with an error number of its own or of a subsystem (4096 and up).
    Kernel(i32),
    /// The socket failed or stayed silent.
    Socket(io::Error),
}

/// Sends `messages` and hands every reply to `take`, until that says that it was the last.
pub(super) fn converse(
    socket: &mut NetlinkSocket,
    messages: &MessageBatch,
    mut take: impl FnMut(KernelReply<'_>) -> ReplyMeaning,
) -> Result<(), KernelRefusal> {
    socket.discard_replies();
    socket.send(messages.as_bytes()).map_err(KernelRefusal::Socket)?;
    loop {
        let datagram = socket.receive().map_err(KernelRefusal::Socket)?;
        for reply in replies(datagram) {
            match take(reply) {
                ReplyMeaning::All => return Ok(()),
                ReplyMeaning::MoreToCome => {}
                ReplyMeaning::Refused(error) => return Err(KernelRefusal::Kernel(error)),
            }
        }
    }
}

/// Tells what a reply means for a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplyMeaning {
    MoreToCome,
    All,
    Refused(i32),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let mut messages = MessageBatch::default();
        let head =
            MessageHead { kind: 0x0a09, flags: REQUEST, sequence: 9, family: 1, resource: 0 };
        messages.push(head, |at| {
            at.put_text(1, "abc");
            at.nest(7, |at| at.put_u32(3, 0x0102_0304));
            at.put(3, &[24]);
        });
        assert_eq!(messages.as_bytes().len() % 4, 0);
        let read: Vec<_> = replies(messages.as_bytes()).collect();
        let [KernelReply::Told { sequence: 9, kind: 0x0a09, attributes: body }] = read[..] else {
            panic!("{read:?}");
        };
        let found: Vec<_> = attributes(body).collect();
        assert_eq!(found[0], (1, &b"abc\0"[..]));
        assert_eq!(found[2], (3, &[24][..]));
        assert_eq!(attributes(found[1].1).collect::<Vec<_>>(), [(3, &[1, 2, 3, 4][..])]);
    }

    #[test]
    fn broken_datagrams_end_the_reading() {
        for cut in [&[][..], &[1, 0], &[0; 16], &[255; 40], &[16, 0, 0, 0, 2, 0, 0, 0]] {
            assert_eq!(replies(cut).count(), 0, "{cut:?}");
        }
        assert_eq!(attributes(&[200, 0, 1, 0, 1]).count(), 0);
        assert_eq!(attributes(&[3, 0, 1, 0]).count(), 0);
        assert_eq!(attributes(&[4, 0, 1, 0]).count(), 1);
    }
}
