//! The UDP side: one thread per core and listener, around batches of datagrams.
//!
//! A worker reads the clock, the policy and the plan once a batch, answers what it can into the
//! batch's own buffers and sends them together. It decides nothing. Started and stopped by
//! `listeners`.

use crate::caller::{DnsCaller, QueryTransport};
use crate::reply_sink::ReplySink;
use crate::request::{self, HandleOutcome};
use crate::shared::DoorShared;
use crate::sockets::SocketRoutes;
use crate::view::RequestView;
use arc_swap::{ArcSwap, Cache};
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;
use transport::udp::{Datagram, DatagramBatch, ReceiveOutcome, UdpSocket};
use vocab::LinkInfo;

/// Starts the thread that answers at `socket` until that is stopped.
pub(crate) fn start(
    shared: &Arc<DoorShared>,
    routes: &Arc<ArcSwap<SocketRoutes>>,
    socket: &Arc<UdpSocket>,
    index: usize,
) -> io::Result<JoinHandle<()>> {
    let (shared, routes, socket) = (Arc::clone(shared), Arc::clone(routes), Arc::clone(socket));
    let held = shared.drain.hold();
    std::thread::Builder::new().name(format!("dns-udp-{index}")).spawn(move || {
        // What else was received with the question that broke it is asked again by its clients.
        transport::restart_on_panic(|| run(&shared, Arc::clone(&routes), &socket));
        drop(held);
    })
}

fn run(shared: &Arc<DoorShared>, routes: Arc<ArcSwap<SocketRoutes>>, socket: &Arc<UdpSocket>) {
    let mut batch = DatagramBatch::new();
    let mut routes = Cache::new(routes);
    loop {
        let count = match batch.receive(socket) {
            Ok(ReceiveOutcome::Datagrams(count)) => count,
            // A socket that can no longer receive: the others of its port go on without it.
            Ok(ReceiveOutcome::Stopped) | Err(_) => return,
        };
        let (now, begun) = (transport::clock::now(), Instant::now());
        // Given back before the next batch is waited for: a worker that nobody asks would keep the
        // tables of millions of names that a reload replaced.
        let (policy, plan) = (shared.policy.load(), shared.plan.load());
        let view = RequestView { shared, policy: &policy, plan: &plan };
        let entry = routes.load().entry();
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
}
