//! One upstream: its transports (UDP, TCP, TLS, HTTPS, QUIC), where it is found, what proves its
//! answers, and its record.
//!
//! It chooses no upstream and keeps no answer; called by [`crate::engine`].

pub(crate) mod bootstrap;
pub(crate) mod cookies;
pub(crate) mod dialer;
pub(crate) mod doh;
pub(crate) mod doq;
pub(crate) mod exchange;
pub(crate) mod exchange_error;
pub(crate) mod letter_case;
pub(crate) mod means;
pub(crate) mod proof;
pub(crate) mod query;
pub(crate) mod random;
pub(crate) mod record;
pub(crate) mod socks;
pub(crate) mod stream_connection;
pub(crate) mod streams;
pub(crate) mod udp;
pub(crate) mod waitlist;
pub(crate) mod window;
