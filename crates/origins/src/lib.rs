//! Web origins: who to connect to, over which address, and which open connection to use again.
//!
//! It dials, keeps idle HTTP/1.1 connections and shares those of HTTP/2 per core, sends one request
//! and hands back the response as it streams in. It refuses addresses that its caller's
//! [`DialGuard`] does not permit, and never repeats a request that might have had an effect. The
//! proxy, gateway and pixel doors call it.

mod again;
mod ahead;
mod answer_head;
mod dialer;
mod error;
mod http2;
mod known;
mod leased;
mod metered;
mod need;
mod origin;
mod parent;
mod pool;
mod reach;
mod seek;
mod send;
mod send_to;
mod server;
mod shared;
mod speak;
mod terms;
mod through;
mod tunnel;
mod versions;
mod via;
mod way;

pub use answer_head::AnswerHeadSettings;
pub use dialer::{AnyDestination, DialGuard, Dialer, OriginConnection};
pub use error::{Blame, DialError, SendError, UnansweredRequest};
pub use known::KnownOrigin;
pub use metered::{BodyEnd, MeteredBody};
pub use origin::{Origin, OriginError, OriginScheme, UrlHost};
pub use parent::{BadParent, ParentHop, ParentKind, ParentProxy};
pub use reach::{ClientReach, DestinationScope};
pub use seek::{FoundServer, ResolveKind, SeekResult};
pub use send::{OriginLimits, Origins};
pub use server::{OriginServer, SOCKET_PATH_BYTES_MAX, ServerError};
pub use terms::{
    ConnectionPolicy, FreshConnection, HttpVersion, KeepAlive, OwnCertificate, ResponseTimeout,
    TermsOptions, TlsTerms,
};
pub use tunnel::{BecomesTunnel, ClientStream, TunnelEnd, TunnelTotals, carry_switched, tunnel};
pub use via::{HOPS_MAX, RequestLoop, add_via, check_via};
pub use way::ProxyRoute;
