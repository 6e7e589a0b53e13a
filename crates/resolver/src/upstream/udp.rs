//! The sockets towards one upstream over UDP: each question under a random number from a random
//! port, a bounded number of them on their way at once.
//!
//! Sockets are connected, so the kernel drops what comes from elsewhere; each is used for one
//! question, under load for a few questions or seconds, and then closed. Of what arrives, the
//! engine believes only what repeats number and question, and the proofs that were asked for (RFC
//! 5452 §9).

use super::exchange_error::ExchangeError;
use super::means::ExchangeMeans;
use super::proof::AnswerProof;
use super::random::RandomBytes;
use super::window::UpstreamWindow;
use crate::engine::flight_id::FlightId;
use crate::settings::dial_settings::UpstreamReach;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::net::UdpSocket;
use tokio::task::AbortHandle;
use transport::udp::batch::UdpOutbox;
use transport::{DialOptions, dial_udp};

/// New sockets for one question each, in a second and for one upstream, at most: opening one costs
/// some 15 µs, so at most 4 ms of each second go there. Beyond it, ports are used again.
const SINGLE_PORTS_PER_SECOND: u32 = 256;
/// Such sockets open at once, at most, of all upstreams together: each costs a descriptor for as
/// long as its question takes.
const SINGLE_PORTS_MAX: usize = 256;
/// Milliseconds after which one more may be opened.
const SINGLE_EVERY_MS: u32 = 1000_u32.div_ceil(SINGLE_PORTS_PER_SECOND);
/// Sockets of one upstream that are used again, at most.
const PORTS_MAX: usize = 32;
/// As many of those are opened before any is used again, so that the next question's port is not
/// the last's.
const PORTS_MIN: usize = 8;
/// As many questions wait at one socket before another is opened.
const WAITING_PER_PORT: usize = 8;
/// But never more than so many, far below the number of numbers.
const WAITING_PER_PORT_MAX: usize = 4096;
/// A socket is given up after so many questions, and up to as many again by chance.
const QUESTIONS_PER_PORT: usize = 128;
/// Or when it is so old.
const PORT_AGE_MAX: Duration = Duration::from_secs(10);
/// Questions of one round that leave by one port: they go and come back in few system calls.
const QUESTIONS_PER_ROUND: u8 = 16;

/// Room for those who wait at a socket, from the start; it grows where more do.
const INITIAL_CAPACITY: usize = 2 * QUESTIONS_PER_ROUND as usize;

/// Which of the questions on their way to upstreams.
pub(crate) type TrialId = usize;

/// The way to one address.
pub(crate) struct UdpTransport {
    address: SocketAddr,
    dial: DialOptions,
    pub(crate) proof: AnswerProof,
    context: Rc<ExchangeMeans>,
    ports: RefCell<Vec<Rc<SocketPort>>>,
    /// Questions waiting at all of them.
    waiting: Cell<usize>,
    current: RefCell<CurrentPort>,
    singles: Cell<SinglesLeft>,
    pub(crate) window: RefCell<UpstreamWindow<FlightId>>,
}

/// The port of this round.
#[derive(Default)]
struct CurrentPort {
    port: Option<Rc<SocketPort>>,
    round: u64,
    questions_left: u8,
}

/// Number of further ports that may be opened for one question each.
#[derive(Clone, Copy)]
struct SinglesLeft {
    count: u32,
    counted: Instant,
}

/// A port that is open for one question, counted as long as it is.
struct SinglePort(Arc<AtomicUsize>);

impl SinglePort {
    /// None: too many are open.
    fn count(all: &Arc<AtomicUsize>) -> Option<Self> {
        let place = Self(Arc::clone(all));
        // Counted first: one too many is given back at once.
        (all.fetch_add(1, Ordering::Relaxed) < SINGLE_PORTS_MAX).then_some(place)
    }
}

impl Drop for SinglePort {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One socket.
pub(crate) struct SocketPort {
    pub(crate) socket: UdpSocket,
    /// Those who wait, by the number they asked under.
    waiting: RefCell<HashMap<u16, TrialId, BuildHasherDefault<ByNumber>>>,
    pub(crate) outbox: RefCell<UdpOutbox>,
    opened: Instant,
    questions_left: Cell<usize>,
    receiver: RefCell<Option<AbortHandle>>,
    _single: Option<SinglePort>,
}

/// Numbers are random already, and nobody but us chooses them.
#[derive(Default)]
struct ByNumber(u64);

impl Hasher for ByNumber {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u16((*byte).into());
        }
    }

    fn write_u16(&mut self, number: u16) {
        // The table takes its bits from both ends; an odd factor spreads 16 over all of them.
        const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
        self.0 = (self.0 ^ u64::from(number)).wrapping_mul(SPREAD);
    }
}

/// A socket with place, and whether somebody receives there yet.
pub(crate) enum FoundSocket {
    New(Rc<SocketPort>),
    Used(Rc<SocketPort>),
}

impl UdpTransport {
    pub(crate) fn new(
        address: SocketAddr,
        reach: &UpstreamReach,
        context: Rc<ExchangeMeans>,
    ) -> Self {
        Self {
            address,
            dial: reach.dial.clone(),
            proof: AnswerProof::new(reach, &context.random),
            window: RefCell::new(UpstreamWindow::new(context.window_min)),
            context,
            ports: RefCell::default(),
            waiting: Cell::new(0),
            current: RefCell::default(),
            singles: Cell::new(SinglesLeft {
                count: SINGLE_PORTS_PER_SECOND,
                counted: Instant::now(),
            }),
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn random(&self) -> &RandomBytes {
        &self.context.random
    }

    /// A socket with place: a new one for this question alone, as long as they are few; else one
    /// at random, the same for some questions of one `round`.
    pub(crate) fn port(&self, round: u64, now: Instant) -> Result<FoundSocket, ExchangeError> {
        let mut current = self.current.borrow_mut();
        if current.round == round
            && current.questions_left > 0
            && let Some(port) = current.port.as_ref().filter(|it| !it.is_retired(now))
        {
            let port = Rc::clone(port);
            current.questions_left -= 1;
            return Ok(FoundSocket::Used(port));
        }
        if let Some(port) = self.single_port(now) {
            return Ok(FoundSocket::New(port));
        }
        let found = self.open_port(now)?;
        let (FoundSocket::New(port) | FoundSocket::Used(port)) = &found;
        *current = CurrentPort {
            port: Some(Rc::clone(port)),
            round,
            questions_left: QUESTIONS_PER_ROUND - 1,
        };
        Ok(found)
    }

    /// A port for one question; none where there are many questions, or no more sockets.
    fn single_port(&self, now: Instant) -> Option<Rc<SocketPort>> {
        let mut left = self.singles.get();
        let passed = now.saturating_duration_since(left.counted);
        // Whole ones only, so that no time is lost.
        let more = u32::try_from(passed.as_millis()).unwrap_or(u32::MAX) / SINGLE_EVERY_MS;
        if more > 0 {
            left.counted += Duration::from_millis(SINGLE_EVERY_MS.into()) * more;
            left.count = left.count.saturating_add(more).min(SINGLE_PORTS_PER_SECOND);
        }
        // Those of a busier time.
        self.close_retired(now);
        let port = (left.count > 0).then(|| {
            left.count -= 1;
            let single = SinglePort::count(&self.context.single_ports)?;
            self.open(1, Some(single), now).ok()
        });
        self.singles.set(left);
        port.flatten()
    }

    fn open_port(&self, now: Instant) -> Result<FoundSocket, ExchangeError> {
        self.close_retired(now);
        let mut ports = self.ports.borrow_mut();
        let wanted = (self.waiting.get() / WAITING_PER_PORT + 1).clamp(PORTS_MIN, PORTS_MAX);
        if ports.len() < wanted {
            let life = QUESTIONS_PER_PORT + self.context.random.below(QUESTIONS_PER_PORT);
            match self.open(life, None, now) {
                Ok(port) => {
                    ports.push(Rc::clone(&port));
                    return Ok(FoundSocket::New(port));
                }
                // Out of sockets, but there are others.
                Err(_) if !ports.is_empty() => {}
                Err(_) => return Err(ExchangeError::Unreachable),
            }
        }
        let port = Rc::clone(&ports[self.context.random.below(ports.len())]);
        if port.waiting.borrow().len() >= WAITING_PER_PORT_MAX {
            return Err(ExchangeError::Unreachable);
        }
        Ok(FoundSocket::Used(port))
    }

    /// Takes spent ports out of use; those where somebody waits are closed when nobody does.
    pub(crate) fn close_retired(&self, now: Instant) {
        self.ports.borrow_mut().retain(|port| {
            let spent = port.is_retired(now);
            if spent {
                port.close_if_done(now);
            }
            !spent
        });
    }

    /// Opens a socket for `life` questions.
    fn open(
        &self,
        life: usize,
        single: Option<SinglePort>,
        now: Instant,
    ) -> io::Result<Rc<SocketPort>> {
        // The kernel chooses the port at random when the socket is connected.
        let socket = dial_udp(self.address, &self.dial)?;
        let places = if single.is_some() { 1 } else { INITIAL_CAPACITY };
        Ok(Rc::new(SocketPort {
            socket: UdpSocket::from_std(socket)?,
            waiting: RefCell::new(HashMap::with_capacity_and_hasher(
                places,
                BuildHasherDefault::new(),
            )),
            outbox: RefCell::default(),
            opened: now,
            questions_left: Cell::new(life),
            receiver: RefCell::default(),
            _single: single,
        }))
    }

    /// Lets `trial` wait at `port` under a number that nobody can guess.
    pub(crate) fn register(&self, port: &SocketPort, trial: TrialId) -> u16 {
        let mut waiting = port.waiting.borrow_mut();
        let mut id = self.context.random.number();
        while waiting.contains_key(&id) {
            id = self.context.random.number();
        }
        waiting.insert(id, trial);
        self.waiting.set(self.waiting.get() + 1);
        port.questions_left.set(port.questions_left.get().saturating_sub(1));
        id
    }

    /// Lets it wait no more.
    pub(crate) fn unregister(&self, port: &SocketPort, id: u16, now: Instant) {
        if port.waiting.borrow_mut().remove(&id).is_some() {
            self.waiting.set(self.waiting.get().saturating_sub(1));
        }
        if port.is_retired(now) {
            port.close_if_done(now);
        }
    }
}

impl Drop for UdpTransport {
    fn drop(&mut self) {
        let now = Instant::now();
        for port in self.ports.borrow().iter() {
            port.retire();
            port.close_if_done(now);
        }
    }
}

impl SocketPort {
    /// Returns its own end.
    pub(crate) fn local(&self) -> Option<SocketAddr> {
        let local = self.socket.local_addr().ok()?;
        Some(SocketAddr::new(local.ip().to_canonical(), local.port()))
    }

    /// Whoever receives there ends with `receiver`.
    pub(crate) fn received_by(&self, receiver: AbortHandle) {
        *self.receiver.borrow_mut() = Some(receiver);
    }

    /// It takes no more questions.
    pub(crate) fn retire(&self) {
        self.questions_left.set(0);
    }

    fn is_retired(&self, now: Instant) -> bool {
        self.questions_left.get() == 0 || now.saturating_duration_since(self.opened) > PORT_AGE_MAX
    }

    fn close_if_done(&self, now: Instant) {
        if self.is_retired(now)
            && self.waiting.borrow().is_empty()
            && let Some(receiver) = self.receiver.borrow_mut().take()
        {
            receiver.abort();
        }
    }

    /// Returns who waits under this number.
    pub(crate) fn waiting_as(&self, id: u16) -> Option<TrialId> {
        self.waiting.borrow().get(&id).copied()
    }

    /// All who wait.
    pub(crate) fn everyone(&self) -> Vec<TrialId> {
        self.waiting.borrow().values().copied().collect()
    }
}
