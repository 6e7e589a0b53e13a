//! Datagrams to and from one connected socket, several a system call: how questions go to an
//! upstream and answers come from it.
//!
//! It opens no socket, waits for nothing and knows nothing of what the bytes mean. Called by the
//! resolver, which waits for the socket to be readable by its own means.

use rustix::fd::AsFd;
use std::io;
use std::mem::{MaybeUninit, zeroed};
use std::os::fd::AsRawFd;
use std::ptr;

/// Datagrams sent in one system call, at most.
const SEND_BATCH_MAX: usize = 64;
/// Datagrams taken in one system call, at most.
pub const RECEIVE_BATCH_MAX: usize = 32;
/// Longest datagram that is taken, in bytes; what is longer is cut and so no message any more. We
/// announce 1232; some servers send more all the same.
pub const ANSWER_BYTES_MAX: usize = 4096;
/// Datagrams that wait to be sent, at most; more are as good as lost on the way.
const WAITING_MAX: usize = 4096;

/// Datagrams that wait to leave through one connected socket.
#[derive(Debug, Default)]
pub struct UdpOutbox {
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<usize>,
}

/// Room for the datagrams that one call takes, 128 KiB, used again and again.
pub struct UdpInbox {
    packets: Box<[[u8; ANSWER_BYTES_MAX]; RECEIVE_BATCH_MAX]>,
    lengths: [usize; RECEIVE_BATCH_MAX],
}

impl UdpOutbox {
    /// Adds the datagram that `write` appends; beyond 4096 that wait, none.
    pub fn push(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        if self.ends.len() < WAITING_MAX {
            write(&mut self.bytes);
            self.ends.push(self.bytes.len());
        }
    }

    /// True if nothing waits.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Sends all through `socket`, which is connected, without waiting, and is empty then. Where
    /// its buffer is full the rest is lost, as on a network. An error says that the peer is not
    /// there or cannot be reached; some may have been sent all the same.
    pub fn send(&mut self, socket: impl AsFd) -> io::Result<()> {
        let socket = socket.as_fd().as_raw_fd();
        let mut outcome = Ok(());
        let (mut done, mut start, mut tries) = (0, 0, 0);
        while done < self.ends.len() {
            let (sent, failed) = send_batch(socket, &self.bytes, start, &self.ends[done..]);
            if sent > 0 {
                start = self.ends[done + sent - 1];
                done += sent;
                tries = 0;
                continue;
            }
            match failed.kind() {
                io::ErrorKind::Interrupted => continue,
                io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory => break,
                _ if failed.raw_os_error() == Some(libc::ENOBUFS) => break,
                // News of an earlier one: this one was not sent yet.
                io::ErrorKind::ConnectionRefused if tries == 0 => tries = 1,
                _ => {
                    start = self.ends[done];
                    done += 1;
                    tries = 0;
                }
            }
            outcome = Err(failed);
        }
        self.bytes.clear();
        self.ends.clear();
        outcome
    }
}

/// Sends those that end at `ends`, the first of which begins at `start`, as many as go at once.
/// Says how many went; where none did, why.
fn send_batch(socket: i32, bytes: &[u8], start: usize, ends: &[usize]) -> (usize, io::Error) {
    let count = ends.len().min(SEND_BATCH_MAX);
    let mut vectors = [const { MaybeUninit::<libc::iovec>::uninit() }; SEND_BATCH_MAX];
    let mut heads = [const { MaybeUninit::<libc::mmsghdr>::uninit() }; SEND_BATCH_MAX];
    let mut start = start;
    for (index, end) in ends[..count].iter().enumerate() {
        let datagram = &bytes[start..*end];
        start = *end;
        let vector = vectors[index].write(libc::iovec {
            iov_base: datagram.as_ptr().cast_mut().cast(),
            iov_len: datagram.len(),
        });
        // SAFETY: an all-zero mmsghdr is valid.
        let head = heads[index].write(unsafe { zeroed() });
        head.msg_hdr.msg_iov = ptr::from_mut(vector);
        head.msg_hdr.msg_iovlen = 1;
    }
    // SAFETY: the first `count` heads were written above; their vectors are locals that outlive the
    // call, and point into `bytes`, which sendmmsg only reads.
    let sent = unsafe {
        libc::sendmmsg(
            socket,
            heads.as_mut_ptr().cast(),
            count as _,
            (libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) as _,
        )
    };
    let failed = if sent < 0 { io::Error::last_os_error() } else { io::ErrorKind::Other.into() };
    (usize::try_from(sent).unwrap_or(0), failed)
}

impl UdpInbox {
    /// Empty room.
    pub fn new() -> Self {
        let packets: Box<[[u8; ANSWER_BYTES_MAX]]> =
            vec![[0; ANSWER_BYTES_MAX]; RECEIVE_BATCH_MAX].into();
        let packets = packets.try_into().ok();
        Self {
            packets: packets.expect("it was made of this length one line above"),
            lengths: [0; RECEIVE_BATCH_MAX],
        }
    }

    /// Takes what has arrived at `socket`, without waiting; says how many, at least one. What was
    /// taken before is gone. Fewer than [`RECEIVE_BATCH_MAX`] means that no more is there.
    pub fn receive(&mut self, socket: impl AsFd) -> io::Result<usize> {
        let mut vectors = [const { MaybeUninit::<libc::iovec>::uninit() }; RECEIVE_BATCH_MAX];
        let mut heads = [const { MaybeUninit::<libc::mmsghdr>::uninit() }; RECEIVE_BATCH_MAX];
        for (index, packet) in self.packets.iter_mut().enumerate() {
            let vector = vectors[index].write(libc::iovec {
                iov_base: packet.as_mut_ptr().cast(),
                iov_len: ANSWER_BYTES_MAX,
            });
            // SAFETY: an all-zero mmsghdr is valid.
            let head = heads[index].write(unsafe { zeroed() });
            head.msg_hdr.msg_iov = ptr::from_mut(vector);
            head.msg_hdr.msg_iovlen = 1;
        }
        // SAFETY: every head was written above; their vectors are locals that outlive the call and
        // point at buffers of the stated size, which nothing else borrows meanwhile.
        let taken = unsafe {
            libc::recvmmsg(
                socket.as_fd().as_raw_fd(),
                heads.as_mut_ptr().cast(),
                RECEIVE_BATCH_MAX as _,
                libc::MSG_DONTWAIT as _,
                ptr::null_mut(),
            )
        };
        let taken = usize::try_from(taken).map_err(|_| io::Error::last_os_error())?;
        let taken = taken.min(RECEIVE_BATCH_MAX);
        for (length, head) in self.lengths.iter_mut().zip(&heads[..taken]) {
            // SAFETY: it was written above, and the kernel wrote its length.
            *length = (unsafe { head.assume_init_ref() }.msg_len as usize).min(ANSWER_BYTES_MAX);
        }
        self.lengths[taken..].fill(0);
        Ok(taken)
    }

    /// The bytes of the datagram at `index`; none where the last receive brought none there.
    pub fn datagram(&self, index: usize) -> &[u8] {
        match (self.packets.get(index), self.lengths.get(index)) {
            (Some(packet), Some(length)) => &packet[..*length],
            (None, _) | (_, None) => &[],
        }
    }
}

impl Default for UdpInbox {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A test fails by panicking.
    use super::*;
    use std::net::UdpSocket;

    #[test]
    fn all_are_sent_in_order_and_taken_in_batches() {
        let (one, two) = pair();
        let mut outbox = UdpOutbox::default();
        for number in 0..100_u8 {
            outbox.push(|out| out.extend(std::iter::repeat_n(number, 1 + usize::from(number))));
        }
        outbox.send(&one).unwrap();
        assert!(outbox.is_empty());
        let mut inbox = UdpInbox::new();
        let mut next = 0;
        while next < 100 {
            let taken = inbox.receive(&two).unwrap();
            assert_eq!(taken, RECEIVE_BATCH_MAX.min(100 - usize::from(next)));
            for index in 0..taken {
                assert_eq!(inbox.datagram(index), vec![next; 1 + usize::from(next)]);
                next += 1;
            }
            assert_eq!(inbox.datagram(taken), b"");
        }
        assert_eq!(inbox.receive(&two).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn what_is_too_long_is_cut() {
        let (one, two) = pair();
        one.send(&[7; ANSWER_BYTES_MAX + 1]).unwrap();
        let mut inbox = UdpInbox::default();
        assert_eq!(inbox.receive(&two).unwrap(), 1);
        assert_eq!(inbox.datagram(0).len(), ANSWER_BYTES_MAX);
    }

    #[test]
    fn a_peer_that_is_gone_is_an_error() {
        let (one, two) = pair();
        drop(two);
        let mut outbox = UdpOutbox::default();
        outbox.push(|out| out.push(1));
        // The first is refused only after it was sent.
        outbox.send(&one).unwrap();
        for number in 0..3 {
            outbox.push(|out| out.push(number));
        }
        assert_eq!(outbox.send(&one).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
        assert!(outbox.is_empty());
    }

    fn pair() -> (UdpSocket, UdpSocket) {
        let (one, two) =
            (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        one.connect(two.local_addr().unwrap()).unwrap();
        two.connect(one.local_addr().unwrap()).unwrap();
        (one, two)
    }
}
