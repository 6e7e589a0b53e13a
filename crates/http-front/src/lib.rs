//! The front that the HTTP doors share: what happens to a connection before its first request, and
//! to a request before and after its door acts.
//!
//! It refuses connections that no proxy introduced, handshakes that fail and requests over a cap;
//! it asks no policy, opens no file but certificates, and answers nothing but errors. Called by the
//! pixel, proxy, web and gateway doors, and by the binary, which walks doors as [`HttpDoor`]s.

mod certificates;
mod connection;
mod door;
mod fast_path;
mod health;
mod hooks;
mod limits;
mod listen_check;
pub mod pages;
mod proxy_protocol;
mod request_fields;
pub mod scripts;
mod ticket;
mod tls_accept;

pub use crate::certificates::{
    CertificateOpener, CertificateSettings, ClientCertificate, check_certificate,
    client_certificates, https_addresses, own_names,
};
pub use crate::connection::{ConnectionContext, ConnectionSecurity};
pub use crate::door::{HttpDoor, ServeFuture};
pub use crate::fast_path::{FastPathEvent, is_in_trace, with_url};
pub use crate::health::HealthPath;
pub use crate::hooks::{HookSettings, HookVisit, MessageHooks};
pub use crate::limits::{ConnectionCaps, DoorLimits};
pub use crate::listen_check::check_listen;
pub use crate::proxy_protocol::introduced;
pub use crate::request_fields::{
    field_text, host_of, page_host, page_of, page_of_fields, page_text, target_authority,
};
pub use crate::ticket::{CloseHook, RequestTicket};
pub use crate::tls_accept::{accept_tls, http_versions};
