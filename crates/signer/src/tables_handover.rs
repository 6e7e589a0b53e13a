//! The policy's tables on their way from the program to a signer that is starting.
//!
//! One packet with one descriptor, sent before the process is started and so there when it looks.
//! Nothing waits here: a signer that got none holds tables of its own, and one that got others than
//! its own keeps those. Used by the supervisor and by the signer's process.

use crate::frame::SignerRequest;
use crate::sealed_memory::SealedMemory;
use rustix::fd::OwnedFd;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;

/// Longer than the packet: what else may stand first is cut, and then no message.
const PACKET_BYTES: usize = 64;

/// Leaves the tables in the socket of a signer that is to be started.
pub(crate) fn send_tables(socket: &OwnedFd, tables: &SealedMemory) -> io::Result<()> {
    let Some(file) = tables.file() else { return Ok(()) };
    let handed = [file];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&handed));
    let packet = SignerRequest::Tables.write();
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    sendmsg(socket, &[IoSlice::new(&packet)], &mut ancillary, flags)?;
    Ok(())
}

/// The tables that were sent ahead, if any were and nobody can change them.
pub(crate) fn receive_tables(socket: &OwnedFd) -> Option<SealedMemory> {
    let mut packet = [0; PACKET_BYTES];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let message = recvmsg(socket, &mut [IoSliceMut::new(&mut packet)], &mut ancillary, flags);
    // Taken in any case: what is dropped is closed.
    let handed = ancillary.drain().find_map(|it| match it {
        RecvAncillaryMessage::ScmRights(mut all) => all.next(),
        _ => None,
    });
    let said = packet.get(..message.ok()?.bytes).and_then(SignerRequest::read);
    (said == Some(SignerRequest::Tables)).then(|| SealedMemory::take(&handed?).ok()).flatten()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::program::socket_pair;
    use rustix::fs::{MemfdFlags, memfd_create};
    use rustix::net::send;

    #[test]
    fn tables_sent_ahead_are_there_and_nothing_is_waited_for() {
        let (ours, theirs) = socket_pair().unwrap();
        assert!(receive_tables(&theirs).is_none());
        let tables = SealedMemory::copy_of(&[b"tables"]).unwrap();
        send_tables(&ours, &tables).unwrap();
        let taken = receive_tables(&theirs).unwrap();
        assert_eq!(taken.as_ref(), b"tables");
        assert!(receive_tables(&theirs).is_none());
        drop(ours);
        assert!(receive_tables(&theirs).is_none());
    }

    #[test]
    fn other_packets_and_descriptors_are_no_tables() {
        let (ours, theirs) = socket_pair().unwrap();
        for packet in [SignerRequest::Tables.write(), vec![1; 4096], vec![0]] {
            send(&ours, &packet, SendFlags::NOSIGNAL).unwrap();
            assert!(receive_tables(&theirs).is_none());
        }
        let open = memfd_create("test", MemfdFlags::ALLOW_SEALING).unwrap();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let handed = [rustix::fd::AsFd::as_fd(&open)];
        ancillary.push(SendAncillaryMessage::ScmRights(&handed));
        let packet = SignerRequest::Tables.write();
        sendmsg(&ours, &[IoSlice::new(&packet)], &mut ancillary, SendFlags::NOSIGNAL).unwrap();
        assert!(receive_tables(&theirs).is_none());
    }
}
