//! Connections of HTTP/2, each shared by all requests of its core to the same server.
//!
//! A line carries as many requests at once as its server takes; when none has room, one more is
//! opened, by one request for all that wait. A line that is too old, has carried enough or is going
//! away gets no more requests, and ends with the last that it carries; so does one that nobody has
//! used for a while. It opens no connection itself. Called by [`super::send`].

use super::error::SendError;
use super::known::KnownOrigin;
use super::pool::{OpenConnection, PoolCaps, PoolKey, SweepLeft, SweepState};
use super::server::OriginServer;
use http::Version;
use http_engine::client::RequestSender;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// Requests at once over one line, however many its server takes: what RFC 9113 §6.5.2 would have
/// every server take. Then one more is opened.
const STREAMS_MAX: usize = 100;

#[derive(Default)]
struct H2Connections {
    known: HashMap<PoolKey, KnownServer>,
    sweeping: SweepState,
}

/// Holds what is known of one server.
#[derive(Default)]
struct KnownServer {
    lines: Vec<Rc<H2Connection>>,
    /// Somebody opens a connection, and will say what came of it.
    opening: Option<watch::Receiver<Option<Opened>>>,
    speaks: SpokenVersion,
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
    under_way: Cell<usize>,
    requests: Cell<u32>,
    standing: Cell<OpenStanding>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OpenStanding {
    Serves,
    /// Server is leaving.
    GoesAway,
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
    Take(StreamPermit),
    /// Opens one for all that come meanwhile.
    Open(OpenPermit),
    /// Opens one for itself.
    Alone,
    /// Waits for what another request opens.
    Wait(OpenWaiter),
}

/// The right to open a connection. Dropped without a word, somebody else gets it.
pub(super) struct OpenPermit {
    key: PoolKey,
    tell: watch::Sender<Option<Opened>>,
}

/// Waits for what another request opens.
pub(super) struct OpenWaiter(watch::Receiver<Option<Opened>>);

thread_local! {
    static LINES: RefCell<H2Connections> = RefCell::default();
}

/// A place on a line of `key` that has room and `fits`.
pub(super) fn take(
    key: &PoolKey,
    fits: impl Fn(Option<SocketAddr>) -> bool,
) -> Option<StreamPermit> {
    LINES.with_borrow(|lines| lines.known.get(key)?.take(fits))
}

/// Returns what a request to `key` does that has found no connection.
pub(super) fn begin(key: &PoolKey) -> BeginWith {
    LINES.with_borrow_mut(|lines| {
        let known = lines.known.entry(key.clone()).or_default();
        if let Some(stream) = known.take(|_| true) {
            return BeginWith::Take(stream);
        }
        if known.speaks == SpokenVersion::Http1 {
            return BeginWith::Alone;
        }
        if let Some(opening) = &known.opening {
            return BeginWith::Wait(OpenWaiter(opening.clone()));
        }
        let (tell, told) = watch::channel(None);
        known.opening = Some(told);
        BeginWith::Open(OpenPermit { key: key.clone(), tell })
    })
}

/// Returns what is known here of the servers of this owner: each line by itself.
pub(super) fn known(owner: u64) -> Vec<KnownOrigin> {
    LINES.with_borrow(|lines| {
        let now = Instant::now();
        let mut all = Vec::new();
        for (key, known) in lines.known.iter().filter(|(key, _)| key.owner == owner) {
            let open = known.lines.iter().filter(|line| line.goes_on(now));
            all.extend(open.map(|line| line.told(&key.server, now)));
        }
        all
    })
}

/// A place on a line that nobody else will use.
pub(super) fn alone(open: OpenConnection, caps: PoolCaps) -> Option<StreamPermit> {
    Rc::new(H2Connection::new(open, caps)).stream()
}

impl OpenPermit {
    /// It speaks HTTP/2: those that wait share it. Gives the place of whoever opened it.
    pub(super) fn shares(self, open: OpenConnection, caps: PoolCaps) -> Option<StreamPermit> {
        let line = Rc::new(H2Connection::new(open, caps));
        let stream = line.stream();
        LINES.with_borrow_mut(|lines| {
            let count: usize = lines.known.values().map(|known| known.lines.len()).sum();
            let most = caps.total_for(&self.key);
            let known = lines.known.entry(self.key.clone()).or_default();
            known.speaks = SpokenVersion::Unknown;
            // One that is too many serves the request it was opened for, and no other.
            if count < most {
                known.lines.push(line);
            }
            lines.sweeping.begin(look_over);
        });
        self.tell.send_replace(Some(Ok(())));
        stream
    }

    /// It speaks HTTP/1.1: everybody opens one.
    pub(super) fn speaks_http1(self) {
        LINES.with_borrow_mut(|lines| {
            lines.known.entry(self.key.clone()).or_default().speaks = SpokenVersion::Http1;
            lines.sweeping.begin(look_over);
        });
        self.tell.send_replace(Some(Ok(())));
    }

    /// None came about: those that wait fail as this one does.
    pub(super) fn fails(self, why: &SendError) {
        self.tell.send_replace(Some(Err(why.clone())));
    }
}

impl Drop for OpenPermit {
    fn drop(&mut self) {
        LINES.with_borrow_mut(|lines| {
            if let Some(known) = lines.known.get_mut(&self.key) {
                known.opening = None;
                if known.lines.is_empty() && known.speaks == SpokenVersion::Unknown {
                    lines.known.remove(&self.key);
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
    fn take(&self, fits: impl Fn(Option<SocketAddr>) -> bool) -> Option<StreamPermit> {
        let now = Instant::now();
        let line = self.lines.iter().find(|it| it.has_room(now) && fits(it.peer))?;
        line.stream()
    }
}

impl H2Connection {
    fn new(open: OpenConnection, caps: PoolCaps) -> Self {
        let OpenConnection { sender, peer, since, requests, place: _ } = open;
        Self {
            sender: RefCell::new(sender),
            peer,
            caps,
            since,
            used: Cell::new(since),
            under_way: Cell::new(0),
            requests: Cell::new(requests),
            standing: Cell::new(OpenStanding::Serves),
        }
    }

    fn told(&self, server: &OriginServer, now: Instant) -> KnownOrigin {
        let is_idle = self.under_way.get() == 0;
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

    /// True if it will carry further requests.
    fn goes_on(&self, now: Instant) -> bool {
        let is_idle = self.under_way.get() == 0;
        let is_forgotten = is_idle && self.used.get() + self.caps.idle <= now;
        self.standing.get() == OpenStanding::Serves
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
        self.under_way.get() < most && self.goes_on(now)
    }

    fn stream(self: &Rc<Self>) -> Option<StreamPermit> {
        let sender = self.sender.borrow().share()?;
        self.under_way.set(self.under_way.get() + 1);
        self.requests.set(self.requests.get().saturating_add(1));
        Some(StreamPermit { sender, line: Rc::clone(self) })
    }
}

impl StreamPermit {
    /// Its server is leaving: the line gets no further request.
    pub(super) fn goes_away(&self) {
        self.line.standing.set(OpenStanding::GoesAway);
    }
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        self.line.under_way.set(self.line.under_way.get() - 1);
        self.line.used.set(Instant::now());
    }
}

/// Drops lines that carry no more, and what servers were heard to speak: they change.
fn look_over() -> SweepLeft {
    LINES.with_borrow_mut(|lines| {
        let now = Instant::now();
        lines.known.retain(|_, known| {
            if known.speaks == SpokenVersion::Http1 && known.opening.is_none() {
                return false;
            }
            known.lines.retain(|line| line.goes_on(now));
            !known.lines.is_empty() || known.opening.is_some()
        });
        if !lines.known.is_empty() {
            return SweepLeft::Some;
        }
        lines.sweeping = SweepState::No;
        SweepLeft::Nothing
    })
}
