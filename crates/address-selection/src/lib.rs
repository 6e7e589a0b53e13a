//! Address selection: the addresses of an answer in the order in which they let us connect.
//!
//! It measures (TCP, ICMP), remembers, and moves or leaves out addresses within one answer; it adds
//! none and asks nobody for names. What is measured at once and remembered is bounded, and where
//! nothing is known an answer stays as it came. Called by the DNS door for `ip_selector`.

mod ping;
mod probe;
mod scores;
mod selector;
mod settings;

pub use selector::{AddressSelector, SelectionState, SignedAnswer};
pub use settings::{
    ProbeMethod, ProbeScope, ScoreMemory, SelectionMode, SelectorSettings, SignedPolicy,
};
