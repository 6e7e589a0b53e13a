//! Waiting for datagrams as a task, beside whatever else its thread waits for.

use super::{BATCH_DATAGRAMS, DatagramBatch, ReceiveOutcome, ReceiveWait, UdpSocket};
use crate::socket_transfer;
use std::io;
use std::sync::Arc;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// The receiving end of one socket, within a runtime.
#[derive(Debug)]
pub struct UdpReceiver(AsyncFd<Arc<UdpSocket>>);

impl UdpReceiver {
    /// The receiving end of `socket`. Fails where the reactor has no room for it.
    pub fn new(socket: Arc<UdpSocket>) -> io::Result<Self> {
        // SAFETY: the descriptor is the socket's own and open for as long as anyone holds that,
        // which what is made here does; `UdpSocket` never exchanges it.
        let registered = unsafe { AsyncFd::register_with_interest(socket, Interest::READABLE) };
        Ok(Self(registered?))
    }

    /// Waits for at least one datagram and takes all that have arrived, up to the batch. An error
    /// is the socket's end.
    pub async fn receive(&self, batch: &mut DatagramBatch) -> io::Result<ReceiveOutcome> {
        loop {
            let socket = self.0.get_ref();
            let ready = tokio::select! {
                biased;
                ready = self.0.readable() => Some(ready?),
                // What has arrived by then is still taken; from now on nothing is waited for.
                () = socket.stopped.notified() => None,
            };
            let Some(mut ready) = ready else {
                socket.stopped.notify_one();
                return batch.receive(socket, ReceiveWait::Never);
            };
            let outcome = batch.receive(socket, ReceiveWait::Never);
            match &outcome {
                // A full batch: there may be more. Whoever else waits on this thread gets a turn by
                // tokio's budget.
                Ok(ReceiveOutcome::Datagrams(BATCH_DATAGRAMS) | ReceiveOutcome::Stopped) => {}
                Ok(ReceiveOutcome::Datagrams(_)) => ready.clear_ready(),
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => {
                    ready.clear_ready();
                    continue;
                }
                Err(_) => {}
            }
            return outcome;
        }
    }
}

impl UdpSocket {
    /// Completes when datagrams may be taken, or reading is to stop: see
    /// [`crate::socket_transfer::hold_back`].
    pub async fn start_allowed(&self) {
        tokio::select! {
            () = socket_transfer::start_allowed() => {}
            // Noted again for whoever receives.
            () = self.stopped.notified() => self.stopped.notify_one(),
        }
    }
}
