//! The door's own counters, beside the ledger: answers by kind, handshakes, connections.
//!
//! A count is one addition on a line of its thread's own. Nothing is ever reset, and nobody reads
//! but the metrics page (`figures`). Written by `door`, `request`, `quick`, `splice` and
//! `handshake`.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use transport::HandshakeError;
use transport::tls::DistrustSign;

use null_answers::{BlankBody, NullAnswer};

/// Shards; threads past the last share it, which costs time and loses nothing.
const SHARDS: usize = 16;

macro_rules! counted {
    ($($name:ident,)*) => {
        /// Something that is counted.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Count {
            $(#[doc = stringify!($name)] $name,)*
        }

        /// Number of them.
        const NAMED: usize = [$(Count::$name,)*].len();
    };
}

counted! {
    StandIn, Callback, Socket, Preflight, BlockPage, Redirected, NotBlocked, NotCovered, Certificate, Setup,
    Get, Head, Post, Options, OtherMethod,
    Plain, Secure, Quick, Gone, BodyBytes, BodyCut, TookUs,
    Spliced, SpliceFull, SpliceCircle, SpliceForbidden, SpliceUnreached, Anew,
    ConnectionPlain, ConnectionSecure, SilentPlain, SilentSecure,
    Tls12, Tls13, Resumed, Full,
    ClosedEarly, ClosedAtCertificate, Unsigned, Slow, Busy, NotTls, NoName, BadName, NameNotBlocked, RateLimited, UnknownCa,
    BadCertificate, CertificateUnknown, Expired, OtherFailure,
}

const CELLS: usize = NAMED + BlankBody::ALL.len();

#[derive(Debug)]
#[repr(align(128))]
struct PixelShard {
    cells: [AtomicU64; CELLS],
}

/// The door's counters.
#[derive(Debug)]
pub(crate) struct PixelCounters {
    shards: Box<[PixelShard]>,
    /// Connections open now.
    pub(crate) open: AtomicU64,
    /// The most that were open at once.
    pub(crate) open_max: AtomicU64,
    /// The most requests that one connection carried.
    pub(crate) requests_max: AtomicU64,
    /// Bytes of the largest body that a request had, as far as it was taken.
    pub(crate) body_max: AtomicU64,
    /// Microseconds of the slowest request.
    pub(crate) took_max_us: AtomicU64,
}

thread_local! {
    static SHARD: usize = {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        NEXT.fetch_add(1, Relaxed) as usize % SHARDS
    };
}

impl PixelCounters {
    pub(crate) fn new() -> Self {
        let shard = |_| PixelShard { cells: [const { AtomicU64::new(0) }; CELLS] };
        Self {
            shards: (0..SHARDS).map(shard).collect(),
            open: AtomicU64::new(0),
            open_max: AtomicU64::new(0),
            requests_max: AtomicU64::new(0),
            body_max: AtomicU64::new(0),
            took_max_us: AtomicU64::new(0),
        }
    }

    pub(crate) fn add(&self, what: Count, amount: u64) {
        self.cell(what as usize, amount);
    }

    pub(crate) fn one(&self, what: Count) {
        self.cell(what as usize, 1);
    }

    fn cell(&self, at: usize, amount: u64) {
        // A thread that is being torn down has no locals any more.
        let shard = SHARD.try_with(|shard| *shard).unwrap_or(0);
        self.shards[shard].cells[at].fetch_add(amount, Relaxed);
    }

    /// A null answer was given.
    pub(crate) fn answered(&self, null: &NullAnswer<'_>) {
        match null {
            NullAnswer::Blank(blank) => self.cell(NAMED + blank.index(), 1),
            NullAnswer::Stub(_) => self.one(Count::StandIn),
            NullAnswer::Callback(_) => self.one(Count::Callback),
            NullAnswer::Socket => self.one(Count::Socket),
            NullAnswer::Preflight => self.one(Count::Preflight),
        }
    }

    /// A request took so long.
    pub(crate) fn took(&self, us: u64) {
        self.add(Count::TookUs, us);
        // Mostly it is no new record, and reading keeps the line with all cores.
        if us > self.took_max_us.load(Relaxed) {
            self.took_max_us.fetch_max(us, Relaxed);
        }
    }

    /// A request had a body of so many bytes.
    pub(crate) fn took_body(&self, bytes: u64) {
        self.add(Count::BodyBytes, bytes);
        self.body_max.fetch_max(bytes, Relaxed);
    }

    /// A handshake failed.
    pub(crate) fn failed(&self, why: &HandshakeError) {
        self.one(match why {
            HandshakeError::Closed => Count::ClosedEarly,
            HandshakeError::ClosedAtCertificate => Count::ClosedAtCertificate,
            HandshakeError::Unsigned(_) => Count::Unsigned,
            HandshakeError::Timeout => Count::Slow,
            HandshakeError::Busy => Count::Busy,
            HandshakeError::NotTls => Count::NotTls,
            HandshakeError::NoName => Count::NoName,
            HandshakeError::BadName(_) => Count::BadName,
            HandshakeError::NameNotBlocked(_) => Count::NameNotBlocked,
            HandshakeError::RateLimited(_) => Count::RateLimited,
            HandshakeError::ClientDistrusts(DistrustSign::UnknownCa) => Count::UnknownCa,
            HandshakeError::ClientDistrusts(DistrustSign::BadCertificate) => Count::BadCertificate,
            HandshakeError::ClientDistrusts(DistrustSign::CertificateUnknown) => {
                Count::CertificateUnknown
            }
            HandshakeError::ClientDistrusts(DistrustSign::Expired) => Count::Expired,
            HandshakeError::Other(_) => Count::OtherFailure,
        });
    }

    /// Returns how often something was counted so far.
    pub(crate) fn of(&self, what: Count) -> u64 {
        self.sum(what as usize)
    }

    /// Returns how often this answer was given.
    pub(crate) fn of_blank(&self, blank: BlankBody) -> u64 {
        self.sum(NAMED + blank.index())
    }

    fn sum(&self, at: usize) -> u64 {
        self.shards.iter().map(|shard| shard.cells[at].load(Relaxed)).sum()
    }
}
