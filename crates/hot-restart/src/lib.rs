//! The hand-over of a running process to the one that takes its place, in the way of Envoy's hot
//! restart: sockets pass over a Unix socket, nothing that waits in them is lost.
//!
//! ```text
//! successor                      predecessor
//!   take-over 1              →
//!                            ←   sockets … (so many packets as it takes)
//!                            ←   end, with standard output and error
//!   (starts)                     (goes on)
//!   serving                  →
//!                            ←   left
//! ```
//!
//! A successor that goes before `serving` has changed nothing. Whoever may speak is root or the
//! predecessor's own user, as the kernel tells. What a socket is for, and what each side does
//! meanwhile, is the binary's affair; it calls both sides. News for the service manager, and what
//! it hands over, stand here too ([`service_manager`]).

mod packet;
mod predecessor;
mod process_entry;
mod running_process;
pub mod service_manager;
mod successor;

pub use predecessor::{ArrivedSuccessor, HandedParts, HandoverListener, SuccessorFate};
pub use running_process::{IrreplaceableReason, RunningProcess};
pub use successor::{HandedOver, HandoverError, RunningPredecessor};
