//! How an answer that takes a while goes back to its client.
//!
//! Answers of upstreams come in batches on an engine's thread; UDP replies that become ready
//! there are gathered and leave together when the batch is done ([`flush`]). Called by `pending`.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};
use transport::udp::{DatagramOrigin, UdpReplies, UdpSocket};

/// The way back to the client for a late answer.
pub(crate) enum ReplySink {
    Udp {
        socket: Arc<UdpSocket>,
        origin: DatagramOrigin,
    },
    Tcp(OwedReply),
    /// To whoever waits for this one answer.
    Once(oneshot::Sender<Vec<u8>>),
}

/// An answer that a connection counts on. Lost on the way, it arrives as an empty one, so that the
/// connection does not hold a place for it.
pub(crate) struct OwedReply(Option<mpsc::Sender<Vec<u8>>>);

impl OwedReply {
    pub(crate) fn to(answers: &mpsc::Sender<Vec<u8>>) -> Self {
        Self(Some(answers.clone()))
    }

    fn send(&mut self, reply: Vec<u8>) {
        if let Some(answers) = self.0.take() {
            // The channel has room for every question its connection may have out.
            let _ = answers.try_send(reply);
        }
    }
}

impl Drop for OwedReply {
    fn drop(&mut self) {
        self.send(Vec::new());
    }
}

thread_local! {
    static GATHERED: RefCell<UdpReplies> = const { RefCell::new(UdpReplies::new()) };
    /// Whether somebody flushes this thread's replies.
    static FLUSHED: Cell<bool> = const { Cell::new(false) };
}

/// Sends what has gathered on this thread; from then on, replies gather here.
pub(crate) fn flush() {
    FLUSHED.set(true);
    // What the kernel refuses is lost, as a network would lose it.
    let _ = GATHERED.with_borrow_mut(UdpReplies::flush);
}

impl ReplySink {
    pub(crate) fn send(self, reply: Vec<u8>) {
        match self {
            Self::Udp { socket, origin } if FLUSHED.get() => {
                GATHERED.with_borrow_mut(|replies| replies.push(&socket, &origin, &reply));
            }
            // A full send buffer or a vanished client loses a reply, as a network would.
            Self::Udp { socket, origin } => drop(socket.reply(&origin, &reply)),
            Self::Tcp(mut owed) => owed.send(reply),
            // Nobody may wait any more.
            Self::Once(waiting) => drop(waiting.send(reply)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_answer_arrives_as_an_empty_one_and_no_answer_arrives_twice() {
        let (answers, mut arriving) = mpsc::channel(4);
        drop(ReplySink::Tcp(OwedReply::to(&answers)));
        assert_eq!(arriving.try_recv(), Ok(vec![]));
        ReplySink::Tcp(OwedReply::to(&answers)).send(vec![1]);
        assert_eq!(arriving.try_recv(), Ok(vec![1]));
        assert!(arriving.try_recv().is_err());
    }
}
