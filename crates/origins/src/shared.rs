//! Connections of HTTP/2, each shared by all requests of its core to the same server.
//!
//! A line carries as many requests at once as its server takes; when none has room, one more is
//! opened, by one request for all that wait. A line that is too old, has carried enough or is going
//! away gets no more requests, and ends with the last that it carries; so does one that nobody has
//! used for a while. It opens no connection itself. Called by [`super::send`].

use super::error::SendError;
use super::known_origins::KnownOrigin;
use super::places::OriginQueue;
use super::pool::{OpenConnection, PoolCaps, PoolKey, SweepLeft, SweepState};
use super::server::OriginServer;
use http::Version;
use http_engine::client::RequestSender;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Weak;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// Requests at once over one line, however many its server takes: what RFC 9113 §6.5.2 would have
/// every server take. Then one more is opened.
const STREAMS_MAX: usize = 100;

/// Time for which a line carries requests of its core while others wait for its place.
const TURN: Duration = Duration::from_secs(1);

#[derive(Default)]
struct H2Connections {
    servers: HashMap<PoolKey, KnownServer>,
    sweeping: SweepState,
}

/// Holds what is known of one server.
#[derive(Default)]
struct KnownServer {
    lines: Vec<Rc<H2Connection>>,
    /// Somebody opens a connection, and will say what came of it.
    opening: Option<watch::Receiver<Option<Opened>>>,
    version: SpokenVersion,
}

/// Tells what a server has agreed to speak.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum SpokenVersion {
    #[default]
    Unknown,
    /// HTTP/1.1 alone: every request opens its own connection.
    Http1,
}

/// Outcome of opening a connection.
type Opened = Result<(), SendError>;

/// A connection of HTTP/2.
#[derive(Debug)]
struct H2Connection {
    sender: RefCell<RequestSender>,
    peer: Option<SocketAddr>,
    caps: PoolCaps,
    since: Instant,
    used: Cell<Instant>,
    in_flight: Cell<usize>,
    requests: Cell<u32>,
    state: Cell<OpenStanding>,
    /// Requests that wait for a place like its own, where these are bounded.
    queue: Option<Weak<OriginQueue>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OpenStanding {
    Serves,
    /// Server is leaving.
    GoingAway,
}

/// A place for one request on a line, until it is dropped.
#[derive(Debug)]
pub(super) struct StreamPermit {
    pub(super) sender: RequestSender,
    line: Rc<H2Connection>,
}

/// Tells what a request does that needs a connection.
pub(super) enum BeginWith {
    /// Goes over this one.
    Join(StreamPermit),
    /// Opens one for all that come meanwhile.
    Open(OpenPermit),
    /// Opens one for itself.
    OpenAlone,
    /// Waits for what another request opens.
    Wait(OpenWaiter),
}

/// The right to open a connection. Dropped without a word, somebody else gets it.
pub(super) struct OpenPermit {
    key: PoolKey,
    result: watch::Sender<Option<Opened>>,
}

/// Waits for what another request opens.
pub(super) struct OpenWaiter(watch::Receiver<Option<Opened>>);

thread_local! {
    static LINES: RefCell<H2Connections> = RefCell::default();
}

/// A place on a line of `key` that has room and `fits`.
pub(super) fn take_stream(
    key: &PoolKey,
    fits: impl Fn(Option<SocketAddr>) -> bool,
) -> Option<StreamPermit> {
    LINES.with_borrow(|lines| lines.servers.get(key)?.take_stream(fits))
}

/// Returns what a request to `key` does that has found no connection.
pub(super) fn join_or_open(key: &PoolKey) -> BeginWith {
    LINES.with_borrow_mut(|lines| {
        let known = lines.servers.entry(key.clone()).or_default();
        if let Some(stream) = known.take_stream(|_| true) {
            return BeginWith::Join(stream);
        }
        if known.version == SpokenVersion::Http1 {
            return BeginWith::OpenAlone;
        }
        if let Some(opening) = &known.opening {
            return BeginWith::Wait(OpenWaiter(opening.clone()));
        }
        let (tell, told) = watch::channel(None);
        known.opening = Some(told);
        BeginWith::Open(OpenPermit { key: key.clone(), result: tell })
    })
}

/// Returns what is known here of the servers of this owner: each line by itself.
pub(super) fn known_origins(owner: u64) -> Vec<KnownOrigin> {
    LINES.with_borrow(|lines| {
        let now = Instant::now();
        let mut all = Vec::new();
        for (key, known) in lines.servers.iter().filter(|(key, _)| key.owner == owner) {
            let open = known.lines.iter().filter(|line| line.is_usable(now));
            all.extend(open.map(|line| line.describe(&key.server, now)));
        }
        all
    })
}

/// A place on a line that nobody else will use.
pub(super) fn unshared(open: OpenConnection, caps: PoolCaps) -> Option<StreamPermit> {
    Rc::new(H2Connection::new(open, caps)).stream()
}

impl OpenPermit {
    /// It speaks HTTP/2: those that wait share it. Gives the place of whoever opened it.
    pub(super) fn shares(self, open: OpenConnection, caps: PoolCaps) -> Option<StreamPermit> {
        let line = Rc::new(H2Connection::new(open, caps));
        let stream = line.stream();
        LINES.with_borrow_mut(|lines| {
            let count: usize = lines.servers.values().map(|known| known.lines.len()).sum();
            let most = caps.total_for(&self.key);
            let known = lines.servers.entry(self.key.clone()).or_default();
            known.version = SpokenVersion::Unknown;
            // One that is too many serves the request it was opened for, and no other.
            if count < most {
                known.lines.push(line);
            }
            lines.sweeping.start(look_over);
        });
        self.result.send_replace(Some(Ok(())));
        stream
    }

    /// It speaks HTTP/1.1: everybody opens one.
    pub(super) fn report_http1(self) {
        LINES.with_borrow_mut(|lines| {
            lines.servers.entry(self.key.clone()).or_default().version = SpokenVersion::Http1;
            lines.sweeping.start(look_over);
        });
        self.result.send_replace(Some(Ok(())));
    }

    /// None came about: those that wait fail as this one does.
    pub(super) fn fails(self, why: &SendError) {
        self.result.send_replace(Some(Err(why.clone())));
    }
}

impl Drop for OpenPermit {
    fn drop(&mut self) {
        LINES.with_borrow_mut(|lines| {
            if let Some(known) = lines.servers.get_mut(&self.key) {
                known.opening = None;
                if known.lines.is_empty() && known.version == SpokenVersion::Unknown {
                    lines.servers.remove(&self.key);
                }
            }
        });
    }
}

impl OpenWaiter {
    /// Waits until something came of it; an error is why there is no connection.
    pub(super) async fn done(mut self) -> Opened {
        match self.0.wait_for(Option::is_some).await {
            Ok(told) => told.clone().unwrap_or(Ok(())),
            // Whoever opened it has given up: somebody else may try.
            Err(_) => Ok(()),
        }
    }
}

impl KnownServer {
    fn take_stream(&self, fits: impl Fn(Option<SocketAddr>) -> bool) -> Option<StreamPermit> {
        let now = Instant::now();
        let line = self.lines.iter().find(|it| it.has_room(now) && fits(it.peer))?;
        line.stream()
    }
}

impl H2Connection {
    fn new(open: OpenConnection, caps: PoolCaps) -> Self {
        let OpenConnection { sender, peer, since, requests, counted: _, queue } = open;
        Self {
            sender: RefCell::new(sender),
            peer,
            caps,
            since,
            used: Cell::new(since),
            in_flight: Cell::new(0),
            requests: Cell::new(requests),
            state: Cell::new(OpenStanding::Serves),
            queue,
        }
    }

    fn describe(&self, server: &OriginServer, now: Instant) -> KnownOrigin {
        let is_idle = self.in_flight.get() == 0;
        let unused = now.saturating_duration_since(self.used.get());
        KnownOrigin {
            server: server.clone(),
            version: Version::HTTP_2,
            open: 1,
            idle: usize::from(is_idle),
            at_once: 0,
            unused: if is_idle { unused } else { Duration::ZERO },
        }
    }

    /// There may be room for a request that waits on this core.
    fn released(&self) {
        if let Some(queue) = self.queue.as_ref().and_then(Weak::upgrade) {
            queue.released_here();
        }
    }

    /// True if its place is wanted on another core, and it has served this one for a while.
    fn is_wanted_elsewhere(&self, now: Instant) -> bool {
        let queue = self.queue.as_ref().and_then(Weak::upgrade);
        queue.is_some_and(|queue| queue.waiting_elsewhere() > 0)
            && (self.in_flight.get() == 0 || self.since + TURN <= now)
    }

    /// True if it will carry further requests.
    fn is_usable(&self, now: Instant) -> bool {
        let is_idle = self.in_flight.get() == 0;
        let is_forgotten = is_idle && self.used.get() + self.caps.idle <= now;
        self.state.get() == OpenStanding::Serves
            && !is_forgotten
            && !self.sender.borrow_mut().is_closed()
            && self.caps.permit(self.since, self.requests.get(), now)
    }

    fn has_room(&self, now: Instant) -> bool {
        // Until its server has said what it takes, what it will say is guessed: what is too much
        // waits.
        let most = match self.sender.borrow().streams_max() {
            1 => STREAMS_MAX,
            said => said.min(STREAMS_MAX),
        };
        self.in_flight.get() < most && self.is_usable(now)
    }

    fn stream(self: &Rc<Self>) -> Option<StreamPermit> {
        let sender = self.sender.borrow().share()?;
        self.in_flight.set(self.in_flight.get() + 1);
        self.requests.set(self.requests.get().saturating_add(1));
        Some(StreamPermit { sender, line: Rc::clone(self) })
    }
}

impl StreamPermit {
    /// Its server is leaving: the line gets no further request.
    pub(super) fn mark_going_away(&self) {
        self.line.state.set(OpenStanding::GoingAway);
    }
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        self.line.in_flight.set(self.line.in_flight.get() - 1);
        self.line.used.set(Instant::now());
        self.line.released();
    }
}

/// Lines whose places are wanted on other cores get no more requests, and end with their last.
pub(super) fn leave_wanted() {
    LINES.with_borrow_mut(|lines| {
        let now = Instant::now();
        for known in lines.servers.values_mut() {
            known.lines.retain(|line| !line.is_wanted_elsewhere(now));
        }
    });
}

/// Drops lines that carry no more, and what servers were heard to speak: they change.
fn look_over() -> SweepLeft {
    LINES.with_borrow_mut(|lines| {
        let now = Instant::now();
        lines.servers.retain(|_, known| {
            if known.version == SpokenVersion::Http1 && known.opening.is_none() {
                return false;
            }
            known.lines.retain(|line| line.is_usable(now));
            !known.lines.is_empty() || known.opening.is_some()
        });
        if !lines.servers.is_empty() {
            return SweepLeft::Some;
        }
        lines.sweeping = SweepState::No;
        SweepLeft::Nothing
    })
}
