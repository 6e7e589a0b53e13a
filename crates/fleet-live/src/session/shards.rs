//! Nodes of a cluster: each has parts of the buckets, and one that is away takes its parts with it
//! and no more.
//!
//! A task for each node asks for its leases. Slots that move are followed: the map is learnt anew
//! when a node fails or says that it has a slot no more. Called by the session of a cluster.

use super::LiveSession;
use super::leases::{ROUND, lease_round, lease_underway};
use crate::cluster_map::ClusterMap;
use crate::server::{ConnectionUse, LiveFailure, ServerLink, cluster_map};
use crate::server_place::ServerPlace;
use back_off::BackOff;
use futures_util::future::select_all;
use rate_limit::{LeaseAsk, PartSet};
use redis::aio::MultiplexedConnection;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;
use tokio::sync::Notify;

/// First pause before a node is tried again, and the longest.
const PAUSE_FIRST: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// Asks that wait for one node; beyond it they are dropped, and credit comes to its end.
const QUEUE_MAX: usize = 65_536;

/// Desk at which the asks for each node wait.
struct LeaseDesk<'m> {
    map: &'m ClusterMap,
    parts: Vec<Option<usize>>,
    nodes: Vec<NodeQueue>,
}

#[derive(Default)]
struct NodeQueue {
    asks: RefCell<VecDeque<LeaseAsk>>,
    added: Notify,
}

/// Connections to the nodes, for whoever asks beside the leases.
#[derive(Default)]
pub(crate) struct NodeLinks {
    /// Node of each part.
    pub(super) parts: Vec<Option<usize>>,
    /// Connection to each node that is there.
    pub(super) nodes: Vec<Option<MultiplexedConnection>>,
}

impl NodeLinks {
    fn of(desk: &LeaseDesk<'_>) -> Self {
        Self { parts: desk.parts.clone(), nodes: vec![None; desk.nodes.len()] }
    }
}

/// Reason why a node is not asked any more.
enum NodeEnd {
    /// A slot is no more there.
    Moved,
    /// The node is away.
    Lost(LiveFailure),
}

impl LiveSession<'_> {
    /// Asks the nodes of the cluster for whatever leases are wanted.
    pub(super) async fn keep_shards(&self, mut map: ClusterMap) -> Result<Infallible, LiveFailure> {
        loop {
            let desk = LeaseDesk::new(&map);
            self.links.replace(NodeLinks::of(&desk));
            // What waited at the last desk is gone.
            self.core.leases.forget_asked();
            self.core.parts_are_away(|away| {
                *away = PartSet::default();
                desk.with_parts(None, |part| away.insert(part));
            });
            let nodes = (0..map.nodes.len()).map(|node| Box::pin(self.keep_node(&desk, node)));
            let nodes: Vec<_> = nodes.collect();
            if nodes.is_empty() {
                return Err(LiveFailure::NoNode);
            }
            let next = tokio::select! {
                (next, ..) = select_all(nodes) => next,
                never = self.hand_out(&desk) => match never {},
            };
            map = next;
            log::info!(target: "fleet", "the cluster has other nodes or slots: {} nodes", map.nodes.len());
        }
    }

    /// Puts asks at the desk as they come.
    async fn hand_out(&self, desk: &LeaseDesk<'_>) -> Infallible {
        loop {
            let wanted = self.core.lease_wanted.notified();
            let asks = self.core.leases.asks(QUEUE_MAX);
            if asks.is_empty() {
                wanted.await;
            }
            for ask in asks {
                desk.put(ask);
            }
        }
    }

    /// Keeps a node asked, until the cluster is another one, which is returned.
    async fn keep_node(&self, desk: &LeaseDesk<'_>, node: usize) -> ClusterMap {
        let place = &desk.map.nodes[node];
        let mut back_off = BackOff::new(PAUSE_FIRST, PAUSE_MAX);
        loop {
            let end = self.serve_node(desk, node, &mut back_off).await;
            self.set_link(node, None);
            let NodeEnd::Lost(why) = end else {
                tokio::time::sleep(back_off.pause(self.core.chance())).await;
                if let Some(other) = self.learn_other(desk.map).await {
                    return other;
                }
                continue;
            };
            self.core.parts_are_away(|away| desk.with_parts(Some(node), |part| away.insert(part)));
            self.core.lost_shard(place, &why);
            desk.nodes[node].asks.borrow_mut().clear();
            tokio::time::sleep(back_off.pause(self.core.chance())).await;
            if let Some(other) = self.learn_other(desk.map).await {
                return other;
            }
        }
    }

    /// The cluster, if it is another one than this.
    async fn learn_other(&self, map: &ClusterMap) -> Option<ClusterMap> {
        // Whatever is wrong with the node that is asked, its own session notices.
        let told = cluster_map(&self.commands.connection, &self.server).await.ok()?;
        (told != *map).then_some(told)
    }

    /// Asks a node for leases until it fails or has a slot no more.
    async fn serve_node(
        &self,
        desk: &LeaseDesk<'_>,
        node: usize,
        back_off: &mut BackOff,
    ) -> NodeEnd {
        let core = self.core;
        let link = match self.open_node(&desk.map.nodes[node]).await {
            Ok(link) => link,
            Err(why) => return NodeEnd::Lost(why),
        };
        self.set_link(node, Some(link.connection.clone()));
        core.parts_are_away(|away| desk.with_parts(Some(node), |part| away.remove(part)));
        loop {
            let asks = desk.take(node).await;
            let misplaced = match lease_round(core, link.connection.clone(), &asks).await {
                Ok(misplaced) => misplaced,
                Err(why) => return NodeEnd::Lost(why),
            };
            if !misplaced.asked_of.is_empty()
                && let Err(why) = self.ask_underway(misplaced.asked_of).await
            {
                return NodeEnd::Lost(why);
            }
            if !misplaced.moved.is_empty() {
                core.leases.forget_asked();
                return NodeEnd::Moved;
            }
            back_off.reset();
        }
    }

    fn set_link(&self, node: usize, link: Option<MultiplexedConnection>) {
        if let Some(held) = self.links.borrow_mut().nodes.get_mut(node) {
            *held = link;
        }
    }

    async fn open_node(&self, place: &ServerPlace) -> Result<ServerLink, LiveFailure> {
        let link = self.core.address.open(place, ConnectionUse::Commands).await?;
        self.core.scripts.lease.load_async(&mut link.connection.clone()).await?;
        Ok(link)
    }

    /// Asks the nodes to which slots are on their way, over connections of their own: it is seldom.
    async fn ask_underway(&self, mut asks: Vec<(String, LeaseAsk)>) -> Result<(), LiveFailure> {
        while let Some((node, _)) = asks.first().cloned() {
            let (here, rest): (Vec<_>, Vec<_>) = asks.into_iter().partition(|(it, _)| *it == node);
            asks = rest;
            let place = ServerPlace::parse(&node).ok_or(LiveFailure::Answer("EVALSHA"))?;
            let link = self.core.address.open(&place, ConnectionUse::Commands).await?;
            let here: Vec<LeaseAsk> = here.into_iter().map(|(_, ask)| ask).collect();
            lease_underway(self.core, link.connection.clone(), &here).await?;
        }
        Ok(())
    }
}

impl<'m> LeaseDesk<'m> {
    fn new(map: &'m ClusterMap) -> Self {
        let nodes = map.nodes.iter().map(|_| NodeQueue::default()).collect();
        Self { map, parts: map.parts(), nodes }
    }

    /// Does something for each part of a node, or for those that no node has.
    fn with_parts(&self, node: Option<usize>, mut what: impl FnMut(u8)) {
        for (part, held) in self.parts.iter().enumerate() {
            if *held == node {
                what(part as u8);
            }
        }
    }

    fn put(&self, ask: LeaseAsk) {
        let node = self.parts[usize::from(ask.bucket.part())];
        let Some(queue) = node.and_then(|node| self.nodes.get(node)) else { return };
        let mut asks = queue.asks.borrow_mut();
        if asks.len() < QUEUE_MAX {
            asks.push_back(ask);
        }
        queue.added.notify_one();
    }

    /// The next asks for a node, as soon as there are some.
    async fn take(&self, node: usize) -> Vec<LeaseAsk> {
        let queue = &self.nodes[node];
        loop {
            let asks: Vec<LeaseAsk> = {
                let mut waiting = queue.asks.borrow_mut();
                let count = waiting.len().min(ROUND);
                waiting.drain(..count).collect()
            };
            if !asks.is_empty() {
                return asks;
            }
            queue.added.notified().await;
        }
    }
}
