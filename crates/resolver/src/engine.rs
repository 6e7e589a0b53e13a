//! A resolver engine: takes questions in batches, lets equal ones share an exchange, sends and
//! receives for all of them together.
//!
//! A round is a batch of questions, or what has arrived at some sockets, or a tick; at its end all
//! that is to be sent goes out in few system calls, and whoever asked for it is called. It asks no
//! policy and knows no client. One engine has a thread of its own and serves every group; a thread
//! that receives questions from clients may have one besides, for what goes to plain UDP upstreams,
//! so that no other thread stands between ([`local_engine`]).

pub(crate) mod attempts;
pub(crate) mod ballot;
pub(crate) mod command;
pub(crate) mod delivery;
pub(crate) mod failure_memory;
pub(crate) mod fair_shares;
pub(crate) mod fastest;
pub(crate) mod flight_id;
pub(crate) mod flight_waiter;
pub(crate) mod flights;
pub(crate) mod group;
pub(crate) mod groups;
pub(crate) mod local_engine;
pub(crate) mod peers;
pub(crate) mod probes;
pub(crate) mod question_hash;
pub(crate) mod race;
pub(crate) mod round_time;
pub(crate) mod tasks;
pub(crate) mod upstream_answer;

use crate::question::GroupId;
use crate::second_level::SecondLevelAnswer;
use crate::settings::plan::{PlannedGroup, ResolverPlan};
use crate::shared::ResolverShared;
use crate::upstream::exchange::ReadyUpstream;
use crate::upstream::exchange_error::ExchangeError;
use crate::upstream::means::ExchangeMeans;
use crate::upstream::random::RandomBytes;
use crate::upstream::udp::SocketPort;
use crate::upstream::window::{WINDOW_MIN, WINDOW_MIN_SHARED};
use command::{CommandReceiver, CommandSender, EngineCommand, EngineLookup, WeakCommandSender};
use delivery::CallerTold;
use dns_wire::WireAnswer;
use flight_id::FlightId;
use peers::{EngineId, EnginePeers};
use race::{QueryRace, QuestionClaims};
use std::cell::RefCell;
use std::io;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::Duration;
use tasks::{EngineEvents, EngineTasks};
use tokio::io::{Interest, Ready};
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::Notify;
use tokio::time::Instant;
use transport::ClientTls;
use transport::udp::batch::{RECEIVE_BATCH_MAX, UdpInbox};

/// Commands taken in one go.
const BATCH: usize = 256;
/// How often it is looked what has waited too long: all time-outs are late by up to this.
const TICK: Duration = Duration::from_millis(25);
/// Times that one socket is read before others get their turn.
const READS_MAX: usize = 8;

/// Kind of an engine, by the questions that it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EngineRole {
    /// All questions: it has a thread of its own, and ends with the last handle.
    General,
    /// Questions of its own thread to plain UDP upstreams. It ends when it is to and nobody waits.
    Local,
}

/// The engine as its thread and its tasks share it.
pub(crate) struct ResolverEngine {
    role: EngineRole,
    id: EngineId,
    peers: Arc<EnginePeers>,
    race: RefCell<QueryRace>,
    inbox: RefCell<UdpInbox>,
    /// Questions of this very thread.
    own: RefCell<Vec<EngineLookup>>,
    /// Groups that it asks, by their places.
    serves: RefCell<Vec<GroupService>>,
    /// Told when a round has begun that must be ended, or questions of this thread wait.
    round_started: Notify,
}

/// The engine that asks the upstreams of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GroupService {
    Here,
    /// The general engine does.
    Elsewhere,
}

/// State of the source of commands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CommandSource {
    Open,
    Closed,
}

/// Holds what every engine of a resolver is made of.
#[derive(Clone)]
pub(crate) struct EngineParts {
    pub(crate) tls: ClientTls,
    pub(crate) shared: Arc<ResolverShared>,
    pub(crate) peers: Arc<EnginePeers>,
}

/// Starts the thread of the general engine. It ends when every sender of commands is gone.
pub(crate) fn spawn(parts: EngineParts) -> io::Result<CommandSender> {
    let (commands, received) = command::commands();
    let weak = commands.downgrade();
    // Made there, so that it fails where somebody listens.
    let (ready, outcome) = std::sync::mpsc::channel();
    std::thread::Builder::new().name("resolver".into()).spawn(move || {
        let runtime =
            match Builder::new_current_thread().enable_all().build_local(LocalOptions::default()) {
                Ok(runtime) => runtime,
                Err(why) => return drop(ready.send(Err(why))),
            };
        runtime.block_on(async move {
            let engine = ResolverEngine::join(EngineRole::General, parts, weak);
            local_engine::register(&engine);
            drop(ready.send(Ok(())));
            // A task of its own: what wakes the outermost future costs a system call.
            let running = tokio::task::spawn_local(engine.run(received));
            // If it panicked, whoever waits is told that the resolver has stopped.
            drop(running.await);
        });
    })?;
    outcome.recv().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))?;
    Ok(commands)
}

impl ResolverEngine {
    /// An engine on this thread, which the others know from now on.
    fn join(role: EngineRole, parts: EngineParts, commands: WeakCommandSender) -> Rc<Self> {
        let EngineParts { tls, shared, peers } = parts;
        let (id, plan) = peers.join(commands);
        let means = Rc::new(ExchangeMeans {
            tls,
            random: RandomBytes::new(),
            single_ports: Arc::clone(&shared.single_ports),
            window_min: match role {
                EngineRole::General => WINDOW_MIN,
                EngineRole::Local => WINDOW_MIN_SHARED,
            },
        });
        Rc::new_cyclic(|engine: &Weak<Self>| {
            let tasks = EngineTasks::new(Weak::<Self>::clone(engine));
            let (plan, serves) = role.own_part(&plan);
            let claims = QuestionClaims { peers: Arc::clone(&peers), own: id };
            Self {
                role,
                id,
                peers,
                race: RefCell::new(QueryRace::new(&plan, means, shared, tasks, claims)),
                inbox: RefCell::default(),
                own: RefCell::default(),
                serves: RefCell::new(serves),
                round_started: Notify::new(),
            }
        })
    }

    async fn run(self: Rc<Self>, mut commands: CommandReceiver) {
        let mut batch = Vec::with_capacity(BATCH);
        let tick = tokio::time::sleep(TICK);
        tokio::pin!(tick);
        let mut source = CommandSource::Open;
        loop {
            if source == CommandSource::Closed && self.is_idle() {
                return;
            }
            let busy = self.race.borrow().is_busy();
            let taken = tokio::select! {
                biased;
                taken = commands.recv_many(&mut batch, BATCH), if source == CommandSource::Open => {
                    Some(taken)
                }
                () = self.round_started.notified() => None,
                () = &mut tick, if busy => None,
            };
            if taken == Some(0) {
                if self.role == EngineRole::General {
                    return;
                }
                source = CommandSource::Closed;
            }
            self.take_questions(&mut batch);
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

    /// Takes commands, and the questions of this thread.
    fn take_questions(&self, commands: &mut Vec<EngineCommand>) {
        let mut own = self.own.take();
        if commands.is_empty() && own.is_empty() {
            return;
        }
        let mut race = self.race.borrow_mut();
        race.start_round();
        for command in commands.drain(..) {
            match command {
                EngineCommand::LookUp(lookup) => self.look_up(&mut race, lookup),
                EngineCommand::Reload(plan) => {
                    let (plan, serves) = self.role.own_part(&plan);
                    race.reload(&plan);
                    self.serves.replace(serves);
                }
            }
        }
        for lookup in own.drain(..) {
            self.look_up(&mut race, lookup);
        }
        // What was asked by those who have just been told stays for the next round; the room that
        // `own` has is used again.
        let mut newer = self.own.borrow_mut();
        if newer.is_empty() {
            *newer = own;
        } else {
            self.round_started.notify_one();
        }
    }

    fn look_up(&self, race: &mut QueryRace, lookup: EngineLookup) {
        // A reload may have changed who asks the group since it was put here.
        let lookup = if self.serves(lookup.question.group()) {
            lookup
        } else {
            match self.peers.forward(EngineId::GENERAL, lookup) {
                Ok(()) => return,
                Err(lookup) => lookup,
            }
        };
        race.look_up(lookup);
    }

    /// True if it asks the upstreams of this group itself.
    fn serves(&self, group: GroupId) -> bool {
        self.role == EngineRole::General
            || self.serves.borrow().get(usize::from(group.0)) == Some(&GroupService::Here)
    }

    /// True if it waits for nothing: no question is in flight or to be asked.
    fn is_idle(&self) -> bool {
        self.own.borrow().is_empty() && !self.race.borrow().is_busy()
    }

    /// Lets a question of this thread wait for the next round.
    fn put(&self, lookup: EngineLookup) {
        self.own.borrow_mut().push(lookup);
        self.round_started.notify_one();
    }

    fn end_round(&self) {
        let told = {
            let mut race = self.race.borrow_mut();
            race.send_all();
            race.take_notified()
        };
        if told == CallerTold::Someone {
            self.peers.run_hooks();
        }
    }
}

impl EngineRole {
    /// The part of `plan` that an engine of this kind asks, and which of the groups that is.
    fn own_part(self, plan: &Arc<ResolverPlan>) -> (Arc<ResolverPlan>, Vec<GroupService>) {
        if self == Self::General {
            return (Arc::clone(plan), Vec::new());
        }
        let service = |group: &PlannedGroup| {
            if group.is_plain_udp() { GroupService::Here } else { GroupService::Elsewhere }
        };
        let part = |group: &PlannedGroup| match service(group) {
            GroupService::Here => group.clone(),
            GroupService::Elsewhere => group.without_upstreams(),
        };
        let groups = plan.groups.iter().map(part).collect();
        (Arc::new(ResolverPlan { groups }), plan.groups.iter().map(service).collect())
    }
}

impl Drop for ResolverEngine {
    fn drop(&mut self) {
        self.peers.leave(self.id);
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

    fn looked_further(&self, id: FlightId, found: Option<SecondLevelAnswer>) {
        let mut race = self.race.borrow_mut();
        race.start_round();
        race.looked_further(id, found);
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
