//! Replies that are ready one by one and leave together: at most 64 in one system call.
//!
//! What is pushed here is sent by [`UdpReplies::flush`], or sooner where much has gathered; it is
//! never sent twice. Called by the DNS door on the threads of resolver engines, which flush
//! once a round.

use super::{BATCH_DATAGRAMS, DatagramOrigin, UdpSocket};
use std::mem::{MaybeUninit, zeroed};
use std::os::fd::AsRawFd;
use std::ptr;
use std::sync::Arc;

/// Sockets whose replies are gathered at once, at most; those of others are sent one by one.
const SOCKETS_MAX: usize = 64;

/// See the module.
#[derive(Default)]
pub struct UdpReplies {
    piles: Vec<ReplyPile>,
    refused: usize,
}

/// The replies of one socket.
#[derive(Default)]
struct ReplyPile {
    /// None while nothing is piled: a socket that is no longer listened on must not be kept open.
    socket: Option<Arc<UdpSocket>>,
    origins: Vec<DatagramOrigin>,
    /// Where each reply ends in `bytes`.
    ends: Vec<usize>,
    bytes: Vec<u8>,
}

impl UdpReplies {
    /// Nothing yet.
    pub const fn new() -> Self {
        Self { piles: Vec::new(), refused: 0 }
    }

    /// Takes a reply along: `bytes` back the way that `origin` tells, through `socket`.
    pub fn push(&mut self, socket: &Arc<UdpSocket>, origin: &DatagramOrigin, bytes: &[u8]) {
        let is_its = |it: &ReplyPile| it.socket.as_ref().is_some_and(|it| Arc::ptr_eq(it, socket));
        let mut found = self.piles.iter().position(is_its);
        if found.is_none() {
            found = self.piles.iter().position(|it| it.socket.is_none());
        }
        let index = match found {
            Some(index) => index,
            None if self.piles.len() < SOCKETS_MAX => {
                self.piles.push(ReplyPile::default());
                self.piles.len() - 1
            }
            None => {
                self.refused += usize::from(socket.reply(origin, bytes).is_err());
                return;
            }
        };
        let pile = &mut self.piles[index];
        if pile.socket.is_none() {
            pile.socket = Some(Arc::clone(socket));
        }
        pile.origins.push(*origin);
        pile.bytes.extend_from_slice(bytes);
        pile.ends.push(pile.bytes.len());
        if pile.ends.len() == BATCH_DATAGRAMS {
            self.refused += pile.send();
        }
    }

    /// Sends all, without waiting; says how many the kernel has refused since the last time (a full
    /// buffer, a firewall, no route): those are lost, as a network would lose them.
    pub fn flush(&mut self) -> usize {
        for pile in &mut self.piles {
            self.refused += pile.send();
        }
        std::mem::take(&mut self.refused)
    }
}

impl ReplyPile {
    fn send(&mut self) -> usize {
        let Some(socket) = self.socket.take() else { return 0 };
        let mut vectors = [const { MaybeUninit::<libc::iovec>::uninit() }; BATCH_DATAGRAMS];
        let mut heads = [const { MaybeUninit::<libc::mmsghdr>::uninit() }; BATCH_DATAGRAMS];
        let mut start = 0;
        for (index, (origin, end)) in self.origins.iter_mut().zip(&self.ends).enumerate() {
            let reply = &self.bytes[start..*end];
            start = *end;
            let vector = vectors[index].write(libc::iovec {
                iov_base: reply.as_ptr().cast_mut().cast(),
                iov_len: reply.len(),
            });
            // SAFETY: an all-zero mmsghdr is valid.
            let head = &mut heads[index].write(unsafe { zeroed() }).msg_hdr;
            head.msg_name = (&raw mut origin.name).cast();
            head.msg_namelen = origin.name_bytes;
            head.msg_iov = ptr::from_mut(vector);
            head.msg_iovlen = 1;
            if origin.control_bytes > 0 {
                head.msg_control = (&raw mut origin.control).cast();
                head.msg_controllen = origin.control_bytes as _;
            }
        }
        let count = self.origins.len();
        let (mut done, mut refused) = (0, 0);
        while done < count {
            // SAFETY: the heads below `count` were written above, `count` is at most their number
            // as a full pile is sent at once; they point at locals and at parts of `self` that
            // outlive the call, through which sendmmsg only reads.
            let sent = unsafe {
                libc::sendmmsg(
                    socket.fd.as_raw_fd(),
                    heads.as_mut_ptr().add(done).cast(),
                    (count - done) as _,
                    (libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) as _,
                )
            };
            match usize::try_from(sent) {
                Ok(sent @ 1..) => done += sent,
                _ if std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted => {}
                // The error is the first one's; the others may fare better.
                _ => {
                    refused += 1;
                    done += 1;
                }
            }
        }
        self.origins.clear();
        self.ends.clear();
        self.bytes.clear();
        refused
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A test fails by panicking.
    use super::super::{DatagramBatch, ReceiveOutcome, ReceiveWait, listen_udp};
    use super::*;
    use std::net::UdpSocket as Client;
    use std::time::Duration;

    #[test]
    fn replies_of_several_sockets_reach_who_asked_from_where_they_asked() {
        const ASKED: usize = 100;
        let servers: Vec<Arc<UdpSocket>> = (0..2)
            .map(|_| listen_udp("0.0.0.0:0".parse().unwrap(), 1).unwrap().remove(0))
            .map(Arc::new)
            .collect();
        let clients: Vec<Client> = servers
            .iter()
            .map(|server| {
                let client = Client::bind("127.0.0.1:0").unwrap();
                client.connect(("127.0.0.2", server.local().port())).unwrap();
                client.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
                client
            })
            .collect();
        let (mut replies, mut batch) = (UdpReplies::new(), DatagramBatch::new());
        for (server, client) in servers.iter().zip(&clients) {
            for number in 0..ASKED {
                client.send(&[number as u8]).unwrap();
            }
            let mut taken = 0;
            while taken < ASKED {
                let ReceiveOutcome::Datagrams(count) =
                    batch.receive(server, ReceiveWait::Block).unwrap()
                else {
                    panic!()
                };
                for index in 0..count {
                    let datagram = batch.datagram(index).unwrap();
                    let origin = datagram.route.origin();
                    replies.push(server, &origin, &[datagram.bytes, b"!"].concat());
                }
                taken += count;
            }
        }
        assert_eq!(replies.flush(), 0);
        for client in &clients {
            for number in 0..ASKED {
                let mut reply = [0; 8];
                let length = client.recv(&mut reply).unwrap();
                assert_eq!(reply[..length], [number as u8, b'!']);
            }
        }
        assert!(servers.iter().all(|it| Arc::strong_count(it) == 1), "nothing is kept open");
    }
}
