//! A real Redis Cluster of the test's own: primaries with a third of the slots each, on free ports
//! of loopback, ended with its value.

use crate::redis_server::RedisServer;
use crate::until;
use std::net::TcpListener;

/// Slots of every cluster.
const SLOTS: usize = 16_384;

/// A running cluster.
#[derive(Debug)]
pub struct RedisCluster {
    /// Nodes: the primaries, and replicas behind them.
    pub nodes: Vec<RedisServer>,
}

impl RedisCluster {
    /// A cluster of so many primaries that know each other.
    pub fn start(primaries: usize) -> Self {
        let nodes: Vec<RedisServer> = (0..primaries).map(|_| start_node()).collect();
        for (number, node) in nodes.iter().enumerate() {
            let (first, next) = (SLOTS * number / primaries, SLOTS * (number + 1) / primaries);
            let slots = [first.to_string(), (next - 1).to_string()];
            assert_eq!(node.cli(&["CLUSTER", "ADDSLOTSRANGE", &slots[0], &slots[1]]), "OK");
            let epoch = (number + 1).to_string();
            assert_eq!(node.cli(&["CLUSTER", "SET-CONFIG-EPOCH", &epoch]), "OK");
        }
        let cluster = Self { nodes };
        for node in &cluster.nodes[1..] {
            cluster.meet(node);
        }
        cluster.agreed();
        cluster
    }

    /// Adds a replica of a primary, and waits until it has what that has.
    pub fn add_replica(&mut self, primary: usize) {
        let replica = start_node();
        self.meet(&replica);
        let id = self.nodes[primary].cli(&["CLUSTER", "MYID"]);
        until("the replica to know the primary", || {
            replica.cli(&["CLUSTER", "REPLICATE", &id]) == "OK"
        });
        until("the replica", || {
            replica.cli(&["INFO", "replication"]).contains("master_link_status:up")
        });
        let id = replica.cli(&["CLUSTER", "MYID"]);
        self.nodes.push(replica);
        until("all to know the replica", || {
            let knows = |node: &RedisServer| node.cli(&["CLUSTER", "SLOTS"]).contains(&id);
            self.nodes.iter().all(knows)
        });
    }

    /// The primary that has the slot of a hash tag.
    pub fn node_of(&self, tag: &str) -> usize {
        let slot: usize = self.nodes[0].cli(&["CLUSTER", "KEYSLOT", tag]).parse().unwrap();
        let primaries = self.nodes.len().min(3);
        (0..primaries).find(|it| slot < SLOTS * (it + 1) / primaries).unwrap()
    }

    /// Addresses of all nodes, as `HOST:PORT`.
    pub fn addresses(&self) -> Vec<String> {
        self.nodes.iter().map(|node| format!("127.0.0.1:{}", node.port())).collect()
    }

    fn meet(&self, node: &RedisServer) {
        let (port, bus) = (self.nodes[0].port().to_string(), bus_port(&self.nodes[0]));
        assert_eq!(node.cli(&["CLUSTER", "MEET", "127.0.0.1", &port, &bus]), "OK");
    }

    fn agreed(&self) {
        let ports: Vec<String> = self.nodes.iter().map(|node| node.port().to_string()).collect();
        until("the cluster", || {
            self.nodes.iter().all(|node| {
                let slots = node.cli(&["CLUSTER", "SLOTS"]);
                node.cli(&["CLUSTER", "INFO"]).contains("cluster_state:ok")
                    && ports.iter().all(|port| slots.lines().any(|line| line == port))
            })
        });
    }
}

/// The port of a node's talk with the others; by itself Redis takes one that may not exist.
fn bus_port(node: &RedisServer) -> String {
    let said = node.cli(&["CONFIG", "GET", "cluster-port"]);
    said.lines().last().unwrap_or_default().to_owned()
}

fn start_node() -> RedisServer {
    let bus = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let bus = bus.to_string();
    let timing = ["--cluster-node-timeout", "1500", "--cluster-require-full-coverage", "no"];
    let cluster = ["--cluster-enabled", "yes", "--cluster-port", &bus];
    RedisServer::start(&[&cluster[..], &timing[..]].concat())
}
