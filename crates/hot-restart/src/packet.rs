//! One packet: a line of text, and descriptors beside it.

use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg, sockopt,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::time::Duration;

/// Asks for the sockets. The number is the version of what is said here.
pub(crate) const TAKE_OVER: &str = "take-over 1";
/// Asks who started the process.
pub(crate) const WHO: &str = "who";
/// The answer; what follows is the number of that user.
pub(crate) const STARTED_AS: &str = "started-as ";
/// Some of the sockets.
pub(crate) const SOCKETS: &str = "sockets";
/// All sockets have been sent.
pub(crate) const END: &str = "end";
/// The successor answers clients.
pub(crate) const SERVING: &str = "serving";
/// The predecessor takes no new clients any more.
pub(crate) const LEFT: &str = "left";
/// A refusal; what follows is the reason.
pub(crate) const REFUSED: &str = "refused ";

/// Descriptors of one packet, at most; the kernel takes 253.
pub(crate) const DESCRIPTORS_MAX: usize = 64;
/// Bytes of a packet's text, at most.
const TEXT_BYTES_MAX: usize = 1024;

/// A packet that came.
pub(crate) struct HandoverPacket {
    pub(crate) text: String,
    pub(crate) descriptors: Vec<OwnedFd>,
}

/// Sends a packet as a whole.
pub(crate) fn send(socket: &OwnedFd, text: &str, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::Error::other("too many descriptors for one packet"));
    }
    let bytes = [IoSlice::new(text.as_bytes())];
    loop {
        match sendmsg(socket, &bytes, &mut ancillary, SendFlags::NOSIGNAL) {
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(why) => return Err(why.into()),
        }
    }
}

/// The next packet; none at the end of the connection. Waits as long as [`set_patience`] says.
pub(crate) fn receive(socket: &OwnedFd) -> io::Result<Option<HandoverPacket>> {
    let mut bytes = [0; TEXT_BYTES_MAX];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let message = loop {
        let mut parts = [IoSliceMut::new(&mut bytes)];
        match recvmsg(socket, &mut parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
            Ok(message) => break message,
            Err(Errno::INTR) => {}
            Err(why) => return Err(why.into()),
        }
    };
    let mut descriptors = Vec::new();
    for one in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(all) = one {
            descriptors.extend(all);
        }
    }
    if message.bytes == 0 {
        return Ok(None);
    }
    let cut = ReturnFlags::TRUNC | ReturnFlags::CTRUNC;
    if message.flags.intersects(cut) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a packet was cut"));
    }
    let text = std::str::from_utf8(&bytes[..message.bytes])
        .map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why))?;
    Ok(Some(HandoverPacket { text: text.to_owned(), descriptors }))
}

/// Bounds the waiting for each packet; none waits without end.
pub(crate) fn set_patience(socket: &OwnedFd, patience: Option<Duration>) -> io::Result<()> {
    sockopt::set_socket_timeout(socket, sockopt::Timeout::Recv, patience)?;
    sockopt::set_socket_timeout(socket, sockopt::Timeout::Send, patience)?;
    Ok(())
}
