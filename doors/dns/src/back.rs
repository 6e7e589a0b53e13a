//! How an answer that takes a while goes back to its client.
//!
//! Answers of upstreams come in batches on the resolver's thread; UDP replies that become ready there
//! are gathered and leave together when the batch is done ([`flush`]). Called by `pending`.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};
use transport::udp::{Origin, Replies, UdpSocket};

/// See the module.
pub(crate) enum Back {
    Udp {
        socket: Arc<UdpSocket>,
        origin: Origin,
    },
    Tcp {
        answers: mpsc::Sender<Vec<u8>>,
    },
    /// To whoever waits for this one answer.
    Once(oneshot::Sender<Vec<u8>>),
}

thread_local! {
    static GATHERED: RefCell<Replies> = const { RefCell::new(Replies::new()) };
    /// Whether somebody flushes this thread's replies.
    static FLUSHED: Cell<bool> = const { Cell::new(false) };
}

/// Sends what has gathered on this thread; from then on, replies gather here.
pub(crate) fn flush() {
    FLUSHED.set(true);
    // What the kernel refuses is lost, as a network would lose it.
    let _ = GATHERED.with_borrow_mut(Replies::flush);
}

impl Back {
    pub(crate) fn send(self, reply: Vec<u8>) {
        match self {
            Self::Udp { socket, origin } if FLUSHED.get() => {
                GATHERED.with_borrow_mut(|replies| replies.push(&socket, &origin, &reply));
            }
            // A full send buffer or a vanished client loses a reply, as a network would.
            Self::Udp { socket, origin } => drop(socket.reply(&origin, &reply)),
            // The channel has room for every question its connection may have out.
            Self::Tcp { answers } => drop(answers.try_send(reply)),
            // Nobody may wait any more.
            Self::Once(waiting) => drop(waiting.send(reply)),
        }
    }
}
