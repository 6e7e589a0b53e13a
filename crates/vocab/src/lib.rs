//! The words that every part of Tidegate shares.
//!
//! Parsing stops at the type: a [`DomainName`] is lower-case and within the limits of RFC 1035 by
//! construction, so nothing above ever checks it again. No I/O, no clock, no serde, no logic
//! beyond reading and printing a word. Everything else in the workspace may name this crate; it
//! names nothing of ours.

mod address;
mod caching;
mod complaint;
mod door;
mod iso;
mod listen;
mod mac;
mod name;
mod near;
mod network;
mod ports;
mod quantity;
mod reason;
mod request_number;
mod scope;
mod time;

pub use address::{ADDRESS_TEXT_MAX, address_text, push_address, push_decimal};
pub use caching::{CacheUse, Caching, NotStored};
pub use complaint::Complaint;
pub use door::{Door, RequestKind, UnknownWord};
pub use iso::iso;
pub use listen::{Listen, ListenError, Scheme};
pub use mac::{MacAddress, MacError};
pub use name::{DomainName, NAME_TEXT_BYTES_MAX, Name, NameBuffer, NameError};
pub use near::{LinkInfo, LinkInfoNeeds};
pub use network::{NEAR_NETWORKS, Network, NetworkError};
pub use ports::{PortRange, PortRangeError};
pub use quantity::{ByteSize, QuantityError, TimeSpan};
pub use reason::{Action, Cause, ListId, RuleRef, Source};
pub use request_number::{NoRequestNumber, RequestNumber};
pub use scope::{AddressScope, is_own_network};
pub use time::Now;
