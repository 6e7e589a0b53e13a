//! A cluster of three real servers: limits, entries and purges are shared; a node that is away
//! takes its part with it; slots that move and fail-overs are followed.

use crate::edge::{TestEdge, clock, settings};
use rate_limit::{BucketName, SharedRate};
use std::time::{Duration, Instant};
use test_support::{RedisCluster, ScratchFolder, until};

const RATE: u64 = 1000;

fn edge(cluster: &RedisCluster, folder: &ScratchFolder, name: &str) -> TestEdge {
    let state = folder.path().join(name);
    std::fs::create_dir_all(&state).unwrap();
    let nodes = cluster.addresses();
    let more = format!(", \"cluster\": {nodes:?}");
    let settings = settings(&format!("redis://{}", nodes[0]), &more);
    assert_eq!(settings.check(), []);
    TestEdge::start_with(&settings, name, &state, clock)
}

fn pair(cluster: &RedisCluster, folder: &ScratchFolder) -> (TestEdge, TestEdge) {
    let (one, two) = (edge(cluster, folder, "one"), edge(cluster, folder, "two"));
    for edge in [&one, &two] {
        edge.connected();
        until("both edges", || edge.live.health().edges == 2);
    }
    (one, two)
}

/// A bucket of this part.
fn bucket(part: u8) -> BucketName {
    BucketName(u128::from(part) << 120 | 7)
}

/// A part whose slot this node has.
fn part_of(cluster: &RedisCluster, node: usize) -> u8 {
    (0..=255).find(|part| cluster.node_of(&format!("{part:02x}")) == node).unwrap()
}

/// Asks for a token until the bucket is at the node.
fn leased(edge: &TestEdge, cluster: &RedisCluster, node: usize, part: u8) {
    let key = format!("tidegate:limit:{{{part:02x}}}{:030x}", 7);
    until(&format!("the bucket of part {part:02x}"), || {
        edge.leases.take(bucket(part), SharedRate::new(1_000_000, 5), clock().mono_ms);
        cluster.nodes[node].cli(&["EXISTS", &key]) == "1"
    });
}

#[test]
fn over_three_nodes_everything_is_shared_as_over_one() {
    let (cluster, folder) = (RedisCluster::start(3), ScratchFolder::new());
    let (one, two) = pair(&cluster, &folder);
    one.say("k", "v", None);
    two.hears("k", Some("v"));
    two.take_back("k");
    one.hears("k", None);
    one.live.purge("p".into());
    until("the purge", || two.heard.purges() == ["p"]);
    for node in 0..3 {
        leased(&one, &cluster, node, part_of(&cluster, node));
    }
    let home = &cluster.nodes[cluster.node_of("tidegate")];
    assert_eq!(home.cli(&["EXISTS", "tidegate:{tidegate}:entries"]), "1");

    let rate = SharedRate::new(1_000_000 / RATE, 50);
    let name = bucket(part_of(&cluster, 1));
    let (begun, mut passed) = (Instant::now(), [0u64; 2]);
    let limit = BucketName(name.0 + 1);
    while begun.elapsed() < Duration::from_secs(2) {
        for (edge, passed) in [&one, &two].into_iter().zip(&mut passed) {
            *passed += u64::from(edge.leases.take(limit, rate, clock().mono_ms).is_taken);
        }
        std::thread::park_timeout(Duration::from_micros(200));
    }
    let ms = begun.elapsed().as_millis() as u64;
    let (sum, most) = (passed.iter().sum::<u64>(), RATE * ms / 1000 + 50 + 50 + 2);
    assert!(sum <= most && sum >= RATE * ms / 4000, "{passed:?} in {ms} ms, at most {most}");
    assert_eq!(one.live.health().degraded_since_ms, None);
}

#[test]
fn a_node_that_hangs_takes_its_limits_with_it_and_no_more() {
    let (cluster, folder) = (RedisCluster::start(3), ScratchFolder::new());
    let (one, two) = pair(&cluster, &folder);
    let home = cluster.node_of("tidegate");
    let (hanging, other) = ((home + 1) % 3, (home + 2) % 3);
    let (away, there) = (part_of(&cluster, hanging), part_of(&cluster, other));
    leased(&one, &cluster, hanging, away);
    cluster.nodes[hanging].signal("STOP");
    let rate = SharedRate::new(1_000, 1000);
    until("the loss of the node", || {
        one.leases.take(bucket(away), rate, clock().mono_ms);
        one.live.health().degraded_since_ms.is_some()
    });
    let told = one.live.health().trouble.unwrap();
    assert!(told.contains(&format!("127.0.0.1:{}", cluster.nodes[hanging].port())), "{told}");
    assert_eq!(one.leases.standing().away, None, "the others go on");
    let alone = SharedRate::new(3_600_000_000, 10);
    let fresh = BucketName(bucket(away).0 + 1);
    let passed = (0..10).filter(|_| one.leases.take(fresh, alone, clock().mono_ms).is_taken);
    assert_eq!(passed.count(), 5, "half of the burst: two edges");
    leased(&one, &cluster, other, there);
    one.say("k", "v", None);
    two.hears("k", Some("v"));
    cluster.nodes[hanging].signal("CONT");
    until("the node", || one.live.health().degraded_since_ms.is_none());
    assert_eq!(one.live.health().connected, 1, "no session was lost by it");
}

#[test]
fn a_fail_over_of_the_node_with_the_entries_is_followed() {
    let (mut cluster, folder) = (RedisCluster::start(3), ScratchFolder::new());
    let home = cluster.node_of("tidegate");
    cluster.add_replica(home);
    let (one, two) = pair(&cluster, &folder);
    one.say("k", "v", None);
    two.hears("k", Some("v"));
    cluster.nodes[home].kill();
    one.lost();
    one.say("k", "said meanwhile", None);
    two.hears("k", Some("said meanwhile"));
    assert!(cluster.nodes[3].cli(&["INFO", "replication"]).contains("role:master"));
    one.live.purge("p".into());
    until("a purge", || two.heard.purges().last().is_some_and(|it| it == "p"));
    leased(&one, &cluster, 3, part_of(&cluster, home));
}

#[test]
fn a_fail_over_of_another_node_is_followed_without_a_loss_of_the_session() {
    let (mut cluster, folder) = (RedisCluster::start(3), ScratchFolder::new());
    let failing = (cluster.node_of("tidegate") + 1) % 3;
    cluster.add_replica(failing);
    let one = edge(&cluster, &folder, "one");
    one.connected();
    let part = part_of(&cluster, failing);
    leased(&one, &cluster, failing, part);
    cluster.nodes[failing].kill();
    leased(&one, &cluster, 3, part);
    until("all nodes", || one.live.health().degraded_since_ms.is_none());
    assert_eq!(one.live.health().connected, 1);
}

#[test]
fn slots_that_move_are_followed_underway_and_afterwards() {
    let (cluster, folder) = (RedisCluster::start(3), ScratchFolder::new());
    let one = edge(&cluster, &folder, "one");
    one.connected();
    let (from, to) = (0, 1);
    let part = part_of(&cluster, from);
    leased(&one, &cluster, from, part);
    let slot = cluster.nodes[0].cli(&["CLUSTER", "KEYSLOT", &format!("{part:02x}")]);
    let id = |node: usize| cluster.nodes[node].cli(&["CLUSTER", "MYID"]);
    let set = |node: usize, what: &[&str]| {
        let said = cluster.nodes[node].cli(&[&["CLUSTER", "SETSLOT", &slot], what].concat());
        assert_eq!(said, "OK");
    };
    set(to, &["IMPORTING", &id(from)]);
    set(from, &["MIGRATING", &id(to)]);
    // A bucket that is not there yet begins at the new node.
    let fresh = BucketName(bucket(part).0 + 1);
    let rate = SharedRate::new(1_000_000, 5);
    let keys = |node: usize| cluster.nodes[node].cli(&["CLUSTER", "GETKEYSINSLOT", &slot, "9"]);
    until("the bucket underway", || {
        one.leases.take(fresh, rate, clock().mono_ms);
        keys(to).ends_with('8')
    });
    let key = keys(from);
    cluster.nodes[from].cli(&["DEL", &key]);
    for node in [to, from, 2] {
        set(node, &["NODE", &id(to)]);
    }
    leased(&one, &cluster, to, part);
    until("all nodes", || one.live.health().degraded_since_ms.is_none());
    assert_eq!(one.live.health().connected, 1);
}

#[test]
fn a_node_whose_others_are_not_named_is_told_with_a_remedy() {
    let (cluster, folder) = (RedisCluster::start(3), ScratchFolder::new());
    let url = format!("redis://{}", cluster.addresses()[0]);
    let one = TestEdge::start_with(&settings(&url, ""), "one", folder.path(), clock);
    until("the reason", || {
        let told = one.live.health().trouble.unwrap_or_default();
        told.contains("name others in cluster") || told.contains("CROSSSLOT")
    });
}
