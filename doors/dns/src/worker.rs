//! The UDP side: one thread per core and listener, around batches of datagrams.
//!
//! A worker reads the clock, the policy and the plan once a batch, answers what it can into the
//! batch's own buffers and sends them together. What goes to plain UDP upstreams is asked by a
//! resolver engine on the same thread, so that no other stands between. It decides nothing. Started
//! and stopped by `listeners`.

use crate::caller::{DnsCaller, QueryTransport};
use crate::reply_sink::ReplySink;
use crate::request::{self, HandleOutcome};
use crate::shared::DoorShared;
use crate::sockets::SocketRoutes;
use crate::view::RequestView;
use arc_swap::{ArcSwap, Cache};
use resolver::LocalEngine;
use std::io;
use std::rc::Rc;
use std::sync::{Arc, mpsc};
use std::time::Instant;
use telemetry::QueryTrace;
use tokio::runtime::{Builder, LocalOptions};
use transport::udp::{
    Datagram, DatagramBatch, ReceiveOutcome, ReceiveWait, UdpReceiver, UdpSocket,
};
use vocab::LinkInfo;

/// The socket that a worker answers at.
#[derive(Clone)]
struct WorkerSocket {
    routes: Arc<ArcSwap<SocketRoutes>>,
    socket: Arc<UdpSocket>,
    /// Dropped with the last of these: nothing is read there any more.
    _reading: mpsc::Sender<()>,
}

/// Reading at a socket, which ends some time after that is stopped.
pub(crate) struct SocketReading(mpsc::Receiver<()>);

impl SocketReading {
    /// Blocks until nothing is read any more. Who waits for an answer then still gets it.
    pub(crate) fn join(self) {
        // Nothing is ever sent: an error is the end.
        let _ = self.0.recv();
    }
}

/// Starts the thread that answers at `socket` until that is stopped.
pub(crate) fn start(
    shared: &Arc<DoorShared>,
    routes: &Arc<ArcSwap<SocketRoutes>>,
    socket: &Arc<UdpSocket>,
    index: usize,
) -> io::Result<SocketReading> {
    let (reading, ended) = mpsc::channel();
    let own =
        WorkerSocket { routes: Arc::clone(routes), socket: Arc::clone(socket), _reading: reading };
    let shared = Arc::clone(shared);
    let held = shared.drain.hold();
    // Made there, so that it fails where somebody listens.
    let (ready, outcome) = mpsc::channel();
    std::thread::Builder::new().name(format!("dns-udp-{index}")).spawn(move || {
        let runtime =
            match Builder::new_current_thread().enable_all().build_local(LocalOptions::default()) {
                Ok(runtime) => runtime,
                Err(why) => return drop(ready.send(Err(why))),
            };
        drop(ready.send(Ok(())));
        let mut own = Some(own);
        // What else was received with the question that broke it is asked again by its clients.
        transport::restart_on_panic(|| runtime.block_on(run(&shared, &mut own)));
        drop(held);
    })?;
    outcome.recv().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))?;
    Ok(SocketReading(ended))
}

/// Answers until the socket is stopped, and then waits for the answers that are still to come.
async fn run(shared: &Arc<DoorShared>, own: &mut Option<WorkerSocket>) {
    let Some(at) = own.clone() else { return };
    let engine = Rc::new(shared.resolver.start_local_engine());
    // A task of its own: what wakes the outermost future costs a system call.
    let serving = tokio::task::spawn_local(serve(Arc::clone(shared), at, Rc::clone(&engine)));
    if let Err(stopped) = serving.await
        && let Ok(panic) = stopped.try_into_panic()
    {
        std::panic::resume_unwind(panic);
    }
    // The port is free for others as soon as nobody waits for an answer from it.
    *own = None;
    if let Some(engine) = Rc::into_inner(engine) {
        engine.finish().await;
    }
}

async fn serve(shared: Arc<DoorShared>, own: WorkerSocket, engine: Rc<LocalEngine>) {
    let WorkerSocket { routes, socket, _reading } = own;
    socket.start_allowed().await;
    let mut batch = DatagramBatch::new();
    let mut routes = Cache::new(routes);
    // Without room in the reactor, as with a socket that can no longer receive, the others of its
    // port go on without it.
    let Ok(receiver) = UdpReceiver::new(Arc::clone(&socket)) else { return };
    loop {
        // With nothing in flight there is nothing else to wait for on this thread, and a receive
        // that blocks spares the system call that waits for several things: a seventh of a hit.
        let outcome = if engine.is_idle() {
            batch.receive(&socket, ReceiveWait::Block)
        } else {
            receiver.receive(&mut batch).await
        };
        match outcome {
            Ok(ReceiveOutcome::Datagrams(count)) => {
                let entry = routes.load().entry();
                answer(&shared, &socket, &mut batch, count, entry);
            }
            // Nobody has asked for a second: commands may be there.
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => {}
            Ok(ReceiveOutcome::Stopped) | Err(_) => return,
        }
    }
}

/// Answers what can be answered of a batch, and lets the rest wait.
fn answer(
    shared: &Arc<DoorShared>,
    socket: &Arc<UdpSocket>,
    batch: &mut DatagramBatch,
    count: usize,
    entry: u16,
) {
    let (now, begun) = (transport::clock::now(), Instant::now());
    // Given back before the next batch is waited for: a worker that nobody asks would keep the
    // tables of millions of names that a reload replaced.
    let (policy, plan) = (shared.policy.load(), shared.plan.load());
    let view = RequestView { shared, policy: &policy, plan: &plan };
    for index in 0..count {
        let Some(Datagram { bytes, cut, peer, reply, route }) = batch.datagram(index) else {
            continue;
        };
        let caller = DnsCaller {
            client: peer.ip(),
            client_port: peer.port(),
            link_info: LinkInfo::default(),
            transport: QueryTransport::Udp,
            now,
            started: begun,
            entry,
            server_name: "",
            url_path: "",
            client_id: "",
            trace: &QueryTrace::Undecided,
        };
        let caller = caller.with_link_info(view.policy, || Some(route.arrived_at(socket)));
        if cut {
            request::refuse_oversized(&view, caller);
            continue;
        }
        let back = || ReplySink::Udp { socket: Arc::clone(socket), origin: route.origin() };
        // Whatever comes later finds its own way back.
        let (HandleOutcome::Now | HandleOutcome::Later) =
            request::handle(&view, bytes, caller, reply, back);
    }
    // What the kernel refuses here (no route, a firewall) is lost as it would be further on;
    // the client asks again.
    let _ = batch.send(socket);
}
