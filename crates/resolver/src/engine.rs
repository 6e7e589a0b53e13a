//! The resolver's thread: takes questions in batches, lets equal ones share an exchange, sends and
//! receives for all of them together.
//!
//! A round is a batch of questions, or what has arrived at some sockets, or a tick; at its end all
//! that is to be sent goes out in few system calls, and whoever asked for it is called. It asks no
//! policy and knows no client.

pub(crate) mod attempts;
pub(crate) mod delivery;
pub(crate) mod failure_memory;
pub(crate) mod fair_shares;
pub(crate) mod fastest;
pub(crate) mod flight_id;
pub(crate) mod flights;
pub(crate) mod group;
pub(crate) mod groups;
pub(crate) mod probes;
pub(crate) mod race;
pub(crate) mod round_time;
pub(crate) mod tasks;
pub(crate) mod upstream_answer;

use crate::question::ResolverQuestion;
use crate::settings::plan::ResolverPlan;
use crate::shared::ResolverShared;
use crate::upstream::exchange::ReadyUpstream;
use crate::upstream::exchange_error::ExchangeError;
use crate::upstream::means::ExchangeMeans;
use crate::upstream::random::RandomBytes;
use crate::upstream::udp::SocketPort;
use delivery::CallerTold;
use dns_wire::WireAnswer;
use flight_id::FlightId;
use flights::FlightWaiter;
use race::QueryRace;
use std::cell::RefCell;
use std::io;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::Duration;
use tasks::{EngineEvents, EngineTasks};
use tokio::io::{Interest, Ready};
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;
use transport::ClientTls;
use transport::udp::batch::{RECEIVE_BATCH_MAX, UdpInbox};

/// Commands taken in one go.
const BATCH: usize = 256;
/// How often it is looked what has waited too long: all time-outs are late by up to this.
const TICK: Duration = Duration::from_millis(25);
/// Those who are called after each round, at most.
const HOOKS_MAX: usize = 16;
/// Times that one socket is read before others get their turn.
const READS_MAX: usize = 8;

/// What is called on the resolver's thread after each round of answers.
pub(crate) type Hook = Arc<dyn Fn() + Send + Sync>;

/// Tells what the thread is told.
pub(crate) enum EngineCommand {
    Ask(ResolverQuestion, FlightWaiter),
    /// The same whatever the cache holds.
    Renew(ResolverQuestion, FlightWaiter),
    Reload(Box<ResolverPlan>),
    AfterBatch(Hook),
}

/// The engine as its thread and its tasks share it.
pub(crate) struct ResolverEngine {
    race: RefCell<QueryRace>,
    inbox: RefCell<UdpInbox>,
    /// Told when a round has begun that must be ended.
    round_started: Notify,
    hooks: RefCell<Vec<Hook>>,
}

/// Starts the thread. It ends when every sender of commands is gone.
pub(crate) fn spawn(
    plan: ResolverPlan,
    tls: ClientTls,
    shared: Arc<ResolverShared>,
    commands: mpsc::UnboundedReceiver<EngineCommand>,
) -> io::Result<()> {
    // Made here, so that it fails where somebody listens.
    let (ready, outcome) = std::sync::mpsc::channel();
    std::thread::Builder::new().name("resolver".into()).spawn(move || {
        let runtime =
            match Builder::new_current_thread().enable_all().build_local(LocalOptions::default()) {
                Ok(runtime) => runtime,
                Err(why) => return drop(ready.send(Err(why))),
            };
        let means =
            Rc::new(ExchangeMeans { tls, random: RandomBytes::new(), single_ports: Rc::default() });
        runtime.block_on(async move {
            let engine = Rc::new_cyclic(|engine: &Weak<ResolverEngine>| {
                let tasks = EngineTasks::new(Weak::<ResolverEngine>::clone(engine));
                ResolverEngine {
                    race: RefCell::new(QueryRace::new(&plan, means, shared, tasks)),
                    inbox: RefCell::default(),
                    round_started: Notify::new(),
                    hooks: RefCell::default(),
                }
            });
            drop(ready.send(Ok(())));
            // A task of its own: what wakes the outermost future costs a system call.
            let running = tokio::task::spawn_local(engine.run(commands));
            // If it panicked, whoever waits is told that the resolver has stopped.
            drop(running.await);
        });
    })?;
    outcome.recv().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
}

impl ResolverEngine {
    async fn run(self: Rc<Self>, mut commands: mpsc::UnboundedReceiver<EngineCommand>) {
        let mut batch = Vec::with_capacity(BATCH);
        let tick = tokio::time::sleep(TICK);
        tokio::pin!(tick);
        loop {
            let busy = self.race.borrow().is_busy();
            let taken = tokio::select! {
                biased;
                taken = commands.recv_many(&mut batch, BATCH) => Some(taken),
                () = self.round_started.notified() => None,
                () = &mut tick, if busy => None,
            };
            if taken == Some(0) {
                return;
            }
            if taken.is_some() {
                self.race.borrow_mut().start_round();
                for command in batch.drain(..) {
                    self.handle_command(command);
                }
            }
            // Looked at each time: were there no end of commands, the tick above would never win.
            if tick.deadline() <= Instant::now() {
                let mut race = self.race.borrow_mut();
                race.start_round();
                race.tick();
                tick.as_mut().reset(Instant::now() + TICK);
            }
            self.end_round();
            if taken == Some(BATCH) {
                // There may be more, but what has arrived meanwhile comes first.
                tokio::task::yield_now().await;
            }
        }
    }

    fn handle_command(&self, command: EngineCommand) {
        let mut race = self.race.borrow_mut();
        match command {
            EngineCommand::Ask(question, done) => race.ask(question, done),
            EngineCommand::Renew(question, done) => race.renew(question, done),
            EngineCommand::Reload(plan) => race.reload(&plan),
            EngineCommand::AfterBatch(hook) => {
                let mut hooks = self.hooks.borrow_mut();
                if hooks.len() < HOOKS_MAX {
                    hooks.push(hook);
                }
            }
        }
    }

    fn end_round(&self) {
        let told = {
            let mut race = self.race.borrow_mut();
            race.send_all();
            race.take_notified()
        };
        if told == CallerTold::Someone {
            for hook in &*self.hooks.borrow() {
                hook();
            }
        }
    }
}

impl EngineEvents for ResolverEngine {
    fn tried(
        &self,
        id: FlightId,
        upstream: &ReadyUpstream,
        outcome: Result<WireAnswer, ExchangeError>,
    ) {
        let mut race = self.race.borrow_mut();
        race.start_round();
        race.attempt_done(id, upstream, outcome);
        self.round_started.notify_one();
    }

    fn measured(&self, id: FlightId) {
        let mut race = self.race.borrow_mut();
        race.start_round();
        race.probes_done(id);
        self.round_started.notify_one();
    }

    /// Takes all that has arrived at `port`, or its turn's worth.
    fn arrived(&self, port: &Rc<SocketPort>, ready: Ready) {
        // One of the two: asked for both at once, tokio reads nothing and clears nothing.
        let arrival = if ready.is_error() { Interest::ERROR } else { Interest::READABLE };
        let mut race = self.race.borrow_mut();
        let mut inbox = self.inbox.borrow_mut();
        race.start_round();
        for _ in 0..READS_MAX {
            let mut taken = 0;
            let outcome = port.socket.try_io(arrival, || {
                taken = inbox.receive(&port.socket)?;
                // Nothing more is there, which spares asking for it.
                if taken < RECEIVE_BATCH_MAX {
                    Err(io::ErrorKind::WouldBlock.into())
                } else {
                    Ok(())
                }
            });
            for index in 0..taken {
                race.received(port, inbox.datagram(index));
            }
            match outcome {
                Ok(()) => {}
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => break,
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                // Nobody listens there, as an ICMP message says, or the socket is broken.
                Err(_) => {
                    race.port_failed(port);
                    break;
                }
            }
        }
        self.round_started.notify_one();
    }
}
