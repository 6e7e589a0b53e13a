//! Tasks that work for the engine between its rounds: exchanges by stream, HTTP or QUIC, receivers
//! at sockets, and waits for addresses that are measured.
//!
//! Each reports through [`EngineEvents`], and to nothing once the engine is gone. They run on the
//! engine's thread. Started by `race` and `attempts`.

use super::flight_id::FlightId;
use crate::question::ResolverQuestion;
use crate::second_level::{SecondLevelAnswer, SecondLevelLook};
use crate::upstream::exchange::ReadyUpstream;
use crate::upstream::exchange_error::ExchangeError;
use crate::upstream::udp::SocketPort;
use dns_wire::WireAnswer;
use std::rc::{Rc, Weak};
use std::time::Duration;
use tokio::io::{Interest, Ready};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

/// What a port waits for. News that nobody listens at the other end is no datagram.
const ARRIVAL: Interest = Interest::READABLE.add(Interest::ERROR);

/// What tasks report to the engine; each report is a round of its own.
pub(crate) trait EngineEvents {
    /// A task has asked an upstream, and this came of it.
    fn tried(
        &self,
        id: FlightId,
        upstream: &ReadyUpstream,
        outcome: Result<WireAnswer, ExchangeError>,
    );

    /// Addresses were measured for a question, or its time for that is over.
    fn measured(&self, id: FlightId);

    /// A second-level cache was asked, and this came of it.
    fn looked_further(&self, id: FlightId, found: Option<SecondLevelAnswer>);

    /// Datagrams have arrived at `port`, or an error has.
    fn arrived(&self, port: &Rc<SocketPort>, ready: Ready);
}

/// Starts tasks that report to one engine.
#[derive(Clone)]
pub(crate) struct EngineTasks {
    engine: Weak<dyn EngineEvents>,
}

impl EngineTasks {
    pub(crate) fn new(engine: Weak<dyn EngineEvents>) -> Self {
        Self { engine }
    }

    /// Asks `upstream` by stream, HTTP or QUIC, for at most `limit`.
    pub(crate) fn exchange(
        &self,
        id: FlightId,
        question: &Rc<ResolverQuestion>,
        upstream: &Rc<ReadyUpstream>,
        limit: Duration,
    ) -> AbortHandle {
        let (engine, question) = (Weak::clone(&self.engine), Rc::clone(question));
        let upstream = Rc::clone(upstream);
        let task = tokio::task::spawn_local(async move {
            let outcome = upstream.ask(&question.upstream_question(), limit).await;
            if let Some(engine) = engine.upgrade() {
                engine.tried(id, &upstream, outcome);
            }
        });
        task.abort_handle()
    }

    /// Waits until `done` is told, for at most `limit`: whatever is known by then is used.
    pub(crate) fn wait_for_probes(
        &self,
        id: FlightId,
        done: oneshot::Receiver<()>,
        limit: Duration,
    ) {
        let engine = Weak::clone(&self.engine);
        tokio::task::spawn_local(async move {
            let _ = tokio::time::timeout(limit, done).await;
            if let Some(engine) = engine.upgrade() {
                engine.measured(id);
            }
        });
    }

    /// Waits for a second-level cache, which has a time limit of its own.
    pub(crate) fn look_further(&self, id: FlightId, look: SecondLevelLook) -> AbortHandle {
        let engine = Weak::clone(&self.engine);
        let task = tokio::task::spawn_local(async move {
            let found = look.await;
            if let Some(engine) = engine.upgrade() {
                engine.looked_further(id, found);
            }
        });
        task.abort_handle()
    }

    /// Receives at `port` until that is done for, which ends the task.
    pub(crate) fn receive_at(&self, port: &Rc<SocketPort>) {
        let (engine, port_there) = (Weak::clone(&self.engine), Rc::clone(port));
        let task = tokio::task::spawn_local(async move {
            while let Ok(ready) = port_there.socket.ready(ARRIVAL).await {
                let Some(engine) = engine.upgrade() else { return };
                engine.arrived(&port_there, ready);
            }
        });
        port.received_by(task.abort_handle());
    }
}
