//! Web origins: who to connect to, over which address, and which open connection to use again.
//!
//! It dials, keeps idle HTTP/1.1 connections and shares those of HTTP/2 per core, sends one request
//! and hands back the response as it streams in. It refuses addresses that its caller's
//! [`DialGuard`] does not permit, and never repeats a request that might have had an effect. The
//! proxy, gateway and pixel doors call it.

mod answer_head;
mod connection_policy;
mod dialer;
mod discovery;
mod error;
mod giving_way;
mod http2;
mod known_origins;
mod leased;
mod metered;
mod need;
mod origin;
mod origin_connection;
mod outgoing;
mod parent;
mod places;
mod pool;
mod preconnect;
mod proxy_route;
mod reach;
mod retry;
mod send;
mod send_to;
mod server;
mod shared;
mod socks4a;
mod speak;
mod through;
mod traced;
mod tunnel;
mod versions;
mod via;

pub use answer_head::AnswerHeadSettings;
pub use connection_policy::{
    ConnectionPolicy, FreshConnection, HttpVersion, KeepAlive, OwnCertificate, ResponseTimeout,
    TermsOptions, TlsTerms,
};
pub use dialer::{AnyDestination, DialGuard, Dialer};
pub use discovery::{FoundServer, ResolveKind, SeekResult};
pub use error::{Blame, DialError, OriginBusy, SendError, UnansweredRequest};
pub use known_origins::KnownOrigin;
pub use metered::{BodyEnd, MeteredBody};
pub use origin::{Origin, OriginError, OriginScheme, UrlHost};
pub use origin_connection::{OriginConnection, PlacedConnection};
pub use outgoing::OutgoingAddresses;
pub use parent::{BadParent, ParentHop, ParentKind, ParentProxy};
pub use places::{WAITING_MAX, WAITING_SPAN_MAX};
pub use proxy_route::ProxyRoute;
pub use reach::{ClientReach, DestinationScope};
pub use resolver::FamilyChoice;
pub use send::{OriginLimits, Origins};
pub use server::{OriginServer, SOCKET_PATH_BYTES_MAX, ServerError};
pub use tunnel::{BecomesTunnel, ClientStream, TunnelEnd, TunnelTotals, relay_upgraded, tunnel};
pub use via::{HOPS_MAX, RequestLoop, add_via, check_via, passed_us};
