//! The sockets towards one upstream over UDP: each question under a random number from a random
//! port, a bounded number of them on their way at once.
//!
//! Sockets are connected, so the kernel drops what comes from elsewhere; each is used for a few
//! questions or seconds and then closed. Of what arrives, [`super::race`] believes only what repeats
//! number and question, and the proofs that were asked for (RFC 5452 §9).

use super::dice::Dice;
use super::exchange::{ExchangeError, Means};
use super::flights::FlightId;
use super::proof::Proof;
use super::reach::Reach;
use super::window::Window;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::net::UdpSocket;
use tokio::task::AbortHandle;
use transport::udp::lane::Outbox;
use transport::{DialOptions, dial_udp};

/// Sockets of one upstream, at most.
const PORTS_MAX: usize = 32;
/// As many are opened before any is used again, so that the next question's port is not the last's.
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
const PLACES_AT_FIRST: usize = 2 * QUESTIONS_PER_ROUND as usize;

/// Which of the questions on their way to upstreams.
pub(super) type TrialId = usize;

/// The way to one address.
pub(super) struct UdpWay {
    address: SocketAddr,
    dial: DialOptions,
    pub(super) proof: Proof,
    means: Rc<Means>,
    ports: RefCell<Vec<Rc<Port>>>,
    /// Questions waiting at all of them.
    waiting: Cell<usize>,
    current: RefCell<Current>,
    pub(super) window: RefCell<Window<FlightId>>,
}

/// The port of this round.
#[derive(Default)]
struct Current {
    port: Option<Rc<Port>>,
    round: u64,
    left: u8,
}

/// One socket.
pub(super) struct Port {
    pub(super) socket: UdpSocket,
    /// Those who wait, by the number they asked under.
    waiting: RefCell<HashMap<u16, TrialId, BuildHasherDefault<ByNumber>>>,
    pub(super) outbox: RefCell<Outbox>,
    opened: Instant,
    questions_left: Cell<usize>,
    receiver: RefCell<Option<AbortHandle>>,
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
pub(super) enum Found {
    New(Rc<Port>),
    Used(Rc<Port>),
}

impl UdpWay {
    pub(super) fn new(address: SocketAddr, reach: &Reach, means: Rc<Means>) -> Self {
        Self {
            address,
            dial: reach.dial.clone(),
            proof: Proof::new(reach, &means.dice),
            means,
            ports: RefCell::default(),
            waiting: Cell::new(0),
            current: RefCell::default(),
            window: RefCell::default(),
        }
    }

    pub(super) fn dice(&self) -> &Dice {
        &self.means.dice
    }

    /// A socket with place, at random, the same for some questions of one `round`.
    pub(super) fn port(&self, round: u64, now: Instant) -> Result<Found, ExchangeError> {
        let mut current = self.current.borrow_mut();
        if current.round == round
            && current.left > 0
            && let Some(port) = current.port.as_ref().filter(|it| !it.is_spent(now))
        {
            let port = Rc::clone(port);
            current.left -= 1;
            return Ok(Found::Used(port));
        }
        let found = self.another_port(now)?;
        let (Found::New(port) | Found::Used(port)) = &found;
        *current = Current { port: Some(Rc::clone(port)), round, left: QUESTIONS_PER_ROUND - 1 };
        Ok(found)
    }

    fn another_port(&self, now: Instant) -> Result<Found, ExchangeError> {
        self.close_spent(now);
        let mut ports = self.ports.borrow_mut();
        let wanted = (self.waiting.get() / WAITING_PER_PORT + 1).clamp(PORTS_MIN, PORTS_MAX);
        if ports.len() < wanted {
            match self.open(now) {
                Ok(port) => {
                    ports.push(Rc::clone(&port));
                    return Ok(Found::New(port));
                }
                // Out of sockets, but there are others.
                Err(_) if !ports.is_empty() => {}
                Err(_) => return Err(ExchangeError::Unreachable),
            }
        }
        let port = Rc::clone(&ports[self.means.dice.below(ports.len())]);
        if port.waiting.borrow().len() >= WAITING_PER_PORT_MAX {
            return Err(ExchangeError::Unreachable);
        }
        Ok(Found::Used(port))
    }

    /// Takes spent ports out of use; those where somebody waits are closed when nobody does.
    pub(super) fn close_spent(&self, now: Instant) {
        self.ports.borrow_mut().retain(|port| {
            let spent = port.is_spent(now);
            if spent {
                port.close_if_done(now);
            }
            !spent
        });
    }

    fn open(&self, now: Instant) -> io::Result<Rc<Port>> {
        // The kernel chooses the port at random when the socket is connected.
        let socket = dial_udp(self.address, &self.dial)?;
        let life = QUESTIONS_PER_PORT + self.means.dice.below(QUESTIONS_PER_PORT);
        Ok(Rc::new(Port {
            socket: UdpSocket::from_std(socket)?,
            waiting: RefCell::new(HashMap::with_capacity_and_hasher(
                PLACES_AT_FIRST,
                BuildHasherDefault::new(),
            )),
            outbox: RefCell::default(),
            opened: now,
            questions_left: Cell::new(life),
            receiver: RefCell::default(),
        }))
    }

    /// Lets `trial` wait at `port` under a number that nobody can guess.
    pub(super) fn enter(&self, port: &Port, trial: TrialId) -> u16 {
        let mut waiting = port.waiting.borrow_mut();
        let mut id = self.means.dice.number();
        while waiting.contains_key(&id) {
            id = self.means.dice.number();
        }
        waiting.insert(id, trial);
        self.waiting.set(self.waiting.get() + 1);
        port.questions_left.set(port.questions_left.get().saturating_sub(1));
        id
    }

    /// Lets it wait no more.
    pub(super) fn leave(&self, port: &Port, id: u16, now: Instant) {
        if port.waiting.borrow_mut().remove(&id).is_some() {
            self.waiting.set(self.waiting.get().saturating_sub(1));
        }
        if port.is_spent(now) {
            port.close_if_done(now);
        }
    }
}

impl Drop for UdpWay {
    fn drop(&mut self) {
        let now = Instant::now();
        for port in self.ports.borrow().iter() {
            port.spend();
            port.close_if_done(now);
        }
    }
}

impl Port {
    /// Whoever receives there ends with `receiver`.
    pub(super) fn received_by(&self, receiver: AbortHandle) {
        *self.receiver.borrow_mut() = Some(receiver);
    }

    /// It takes no more questions.
    pub(super) fn spend(&self) {
        self.questions_left.set(0);
    }

    fn is_spent(&self, now: Instant) -> bool {
        self.questions_left.get() == 0 || now.saturating_duration_since(self.opened) > PORT_AGE_MAX
    }

    fn close_if_done(&self, now: Instant) {
        if self.is_spent(now)
            && self.waiting.borrow().is_empty()
            && let Some(receiver) = self.receiver.borrow_mut().take()
        {
            receiver.abort();
        }
    }

    /// Who waits under this number.
    pub(super) fn waiting_as(&self, id: u16) -> Option<TrialId> {
        self.waiting.borrow().get(&id).copied()
    }

    /// All who wait.
    pub(super) fn everyone(&self) -> Vec<TrialId> {
        self.waiting.borrow().values().copied().collect()
    }
}
