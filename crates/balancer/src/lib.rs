//! The servers of a pool: which of them gets a request, how they do, and where requests wait.
//!
//! A pool picks a server by weight, load or hash, counts what requests meet at it, ejects one that
//! answers badly, and keeps requests in a bounded queue while all are busy. It sends no request of
//! a client: whoever does picks here, and reports. The gateway door calls it.

mod balance;
mod budget;
mod checks;
mod estimate;
mod key;
mod open;
mod order;
mod outlier_ejection;
mod pool;
mod random;
mod server;
mod servers_file;
mod settings;
mod sign;
mod tried;
mod wait_queue;

pub use crate::open::{Pools, check_pool_files, open_pools};
pub use crate::outlier_ejection::AttemptOutcome;
pub use crate::pool::{
    CookieScope, NameState, PickOutcome, PickRequest, PoolChange, PoolState, PoolUnchanged,
    PoolWatch, QueueReport, ServerLease, ServerPool, ServerState, UnservedReason, WaitingFigures,
    WatchMeans,
};
pub use crate::random::bits as random_bits;
pub use crate::settings::{
    BalanceMethod, HealthKind, HealthSettings, HttpChoice, KeepAliveSettings, PassiveSettings,
    PoolSettings, ProxyProtocolChoice, QueueSettings, ReliefSettings, RequestPriority,
    ResolveChoice, RetryCause, RetryOn, RetrySettings, ServerDetails, ServerSettings,
    ServerTlsSettings, StickySettings, TimeoutSettings, VerifyChoice, VerifyConnection, WEIGHT_MAX,
};
pub use crate::tried::{TRIES_MAX, TriedServers};
