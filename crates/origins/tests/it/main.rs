//! Requests to servers that the configuration names, over real sockets: what is spoken, who is
//! trusted, which connections are used again, and what servers that misbehave bring about.
#![allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
#![allow(missing_docs, reason = "tests are sentences")]

mod ahead;
mod authority;
mod connections;
mod goodbyes;
mod http2;
mod known;
mod patience;
mod places;
mod proxy_header;
mod raw;
mod repeated;
mod support;
mod tls;
mod verified;
