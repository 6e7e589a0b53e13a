//! Web origins: who to connect to, over which address, and which open connection to use again.
//!
//! It dials, keeps idle HTTP/1.1 connections and shares those of HTTP/2 per core, sends one request and
//! hands back the response as it streams in. It refuses addresses that its caller's [`Guard`] does not
//! permit, and never repeats a request that might have had an effect. The proxy, gateway and pixel doors
//! call it.

mod again;
mod ahead;
mod answer_head;
mod dialer;
mod error;
mod http2;
mod known;
mod leased;
mod metered;
mod origin;
mod parent;
mod pool;
mod reach;
mod seek;
mod send;
mod send_to;
mod server;
mod shared;
mod terms;
mod through;
mod tunnel;
mod via;
mod way;

pub use answer_head::AnswerHeadSettings;
pub use dialer::{Anywhere, Connection, Dialer, Guard};
pub use error::{Blame, DialError, SendError, Unanswered};
pub use known::KnownOrigin;
pub use metered::{BodyEnd, Metered};
pub use origin::{Host, Origin, OriginError, OriginScheme};
pub use parent::{BadParent, Hop, Parent, ParentKind};
pub use reach::{Destinations, Reach};
pub use seek::{Found, Resolve, Sought};
pub use send::{Limits, Origins, ResponseTimeout};
pub use server::{SOCKET_PATH_BYTES_MAX, Server, ServerError};
pub use terms::{Fresh, HttpVersion, KeepAlive, OwnCertificate, Terms, TermsOptions, TlsTerms};
pub use tunnel::{BecomesTunnel, Carried, ClientStream, TunnelEnd, carry_switched, tunnel};
pub use via::{HOPS_MAX, Loop, add_via, check_via};
pub use way::Way;
