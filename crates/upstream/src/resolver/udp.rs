//! Questions over UDP, each under a random number from a random port.
//!
//! An upstream's sockets are connected, so the kernel drops what comes from elsewhere; each is used
//! for a few questions or seconds and then closed. What arrives must repeat number and question,
//! or it is ignored and the wait goes on (RFC 5452 §9).

use super::exchange::{ExchangeError, Means};
use super::waitlist::{Outcome, Waitlist};
use dns_wire::write_query;
use std::cell::{Cell, RefCell};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::rc::{Rc, Weak};
use std::time::{Duration, Instant};
use tokio::net::UdpSocket;
use tokio::sync::Notify;

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
/// The largest answer taken. We say 1232; some servers send more all the same.
const ANSWER_BYTES_MAX: usize = 4096;
/// A question is sent again when no answer came within so long, and then after twice that.
const RESEND_AFTER_MAX: Duration = Duration::from_secs(1);
/// It is never sent again sooner, however quick the upstream was of late.
const RESEND_AFTER_MIN: Duration = Duration::from_millis(250);
/// How many times the mean time to an answer is waited before a question is sent again.
const RESEND_AFTER_MEANS: u32 = 6;

/// The way to one address.
pub(super) struct UdpWay {
    address: SocketAddr,
    means: Rc<Means>,
    ports: RefCell<Vec<Rc<Port>>>,
}

/// One socket.
struct Port {
    socket: UdpSocket,
    waiting: Rc<Waitlist>,
    opened: Instant,
    questions_left: Cell<usize>,
    /// Told when the port may be done for.
    changed: Notify,
}

/// Tells a spent port that one less waits there.
struct Leaving(Rc<Port>);

impl Drop for Leaving {
    fn drop(&mut self) {
        if self.0.is_spent() {
            self.0.changed.notify_one();
        }
    }
}

impl UdpWay {
    pub(super) fn new(address: SocketAddr, means: Rc<Means>) -> Self {
        Self { address, means, ports: RefCell::new(Vec::new()) }
    }

    /// Asks until it is answered; the caller sets the end. `mean` is how long answers took of late.
    pub(super) async fn ask(&self, key: &[u8], mean: Option<Duration>) -> Outcome {
        let port = self.port()?;
        // Dropped last: by then the ticket has been given up.
        let _leaving = Leaving(Rc::clone(&port));
        let mut ticket = port.waiting.enter(key, &self.means.dice);
        port.questions_left.set(port.questions_left.get().saturating_sub(1));
        let mut query = Vec::with_capacity(key.len() + 32);
        write_query(ticket.id, key, &mut query);
        let again = mean.map_or(RESEND_AFTER_MAX, |mean| {
            (mean * RESEND_AFTER_MEANS).clamp(RESEND_AFTER_MIN, RESEND_AFTER_MAX)
        });
        // From half to one and a half times that: what a burst lost together must not come back
        // together and be lost again.
        let mut again = again / 2 + again.mul_f32(f32::from(self.means.dice.number()) / 65_536.0);
        loop {
            if let Err(why) = port.socket.send(&query).await {
                // A full buffer or a passing lack of memory is like a lost packet.
                if !matches!(why.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory) {
                    return Err(ExchangeError::Unreachable);
                }
            }
            match tokio::time::timeout(again, ticket.told()).await {
                Ok(outcome) => return outcome,
                Err(_) => again *= 2,
            }
        }
    }

    /// A socket with place, at random.
    fn port(&self) -> Result<Rc<Port>, ExchangeError> {
        let mut ports = self.ports.borrow_mut();
        ports.retain(|port| {
            let good = !port.is_spent();
            if !good {
                port.changed.notify_one();
            }
            good
        });
        let waiting: usize = ports.iter().map(|port| port.waiting.len()).sum();
        let wanted = (waiting / WAITING_PER_PORT + 1).clamp(PORTS_MIN, PORTS_MAX);
        if ports.len() < wanted {
            match self.open() {
                Ok(port) => {
                    ports.push(Rc::clone(&port));
                    return Ok(port);
                }
                // Out of sockets, but there are others.
                Err(_) if !ports.is_empty() => {}
                Err(_) => return Err(ExchangeError::Unreachable),
            }
        }
        let port = Rc::clone(&ports[self.means.dice.below(ports.len())]);
        if port.waiting.len() >= WAITING_PER_PORT_MAX {
            return Err(ExchangeError::Unreachable);
        }
        Ok(port)
    }

    fn open(&self) -> io::Result<Rc<Port>> {
        let any = match self.address {
            SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        // The kernel chooses the port at random when the socket is connected.
        let socket = std::net::UdpSocket::bind(SocketAddr::new(any, 0))?;
        socket.connect(self.address)?;
        socket.set_nonblocking(true)?;
        let life = QUESTIONS_PER_PORT + self.means.dice.below(QUESTIONS_PER_PORT);
        let port = Rc::new(Port {
            socket: UdpSocket::from_std(socket)?,
            waiting: Rc::default(),
            opened: Instant::now(),
            questions_left: Cell::new(life),
            changed: Notify::new(),
        });
        tokio::task::spawn_local(receive(Rc::downgrade(&port)));
        Ok(port)
    }
}

impl Drop for UdpWay {
    fn drop(&mut self) {
        for port in self.ports.borrow().iter() {
            port.questions_left.set(0);
            port.changed.notify_one();
        }
    }
}

impl Port {
    /// Whether it takes no more questions.
    fn is_spent(&self) -> bool {
        self.questions_left.get() == 0 || self.opened.elapsed() > PORT_AGE_MAX
    }
}

/// Receives for a port until it is spent and nobody waits there.
async fn receive(port: Weak<Port>) {
    let Some(port) = port.upgrade() else { return };
    let mut buffer = vec![0; ANSWER_BYTES_MAX];
    loop {
        if port.is_spent() && port.waiting.is_empty() {
            return;
        }
        tokio::select! {
            received = port.socket.recv(&mut buffer) => match received {
                Ok(length) => port.waiting.deliver(&buffer[..length]),
                // Nobody listens there, as an ICMP message says.
                Err(why) if why.kind() == io::ErrorKind::ConnectionRefused => port.waiting.fail_all(),
                Err(_) => {
                    port.questions_left.set(0);
                    port.waiting.fail_all();
                    return;
                }
            },
            () = port.changed.notified() => {}
        }
    }
}
