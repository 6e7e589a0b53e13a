//! The gateway's edge: how clients come in, and what is done to messages on their way.

mod claims;
mod fields;
mod http2;
mod interim;
mod messages;
mod secure;
mod websockets;
