//! Map of a Redis Cluster: which node has which slot, as `CLUSTER SLOTS` tells it.
//!
//! Buckets are spread over the slots in 256 parts, by the first two digits of their names, so that
//! a node that is away takes its parts with it and no more. Called by the session.

use crate::server_place::ServerPlace;
use redis::{Value, from_redis_value};

/// Slots of every cluster.
const SLOTS: u16 = 16_384;
/// Most nodes with slots; a map with more is none.
const NODES_MAX: usize = 250;
/// Parts that buckets are spread over.
pub(crate) const PARTS: usize = 256;

/// Map of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClusterMap {
    /// Primaries.
    pub(crate) nodes: Vec<ServerPlace>,
    /// First and last slot, and the node that has them.
    ranges: Vec<(u16, u16, usize)>,
}

impl ClusterMap {
    /// Reads the answer of `asked` to `CLUSTER SLOTS`; none of what is none.
    pub(crate) fn read(answer: Value, asked: &ServerPlace) -> Option<Self> {
        let Value::Array(told) = answer else { return None };
        let mut map = Self { nodes: Vec::new(), ranges: Vec::new() };
        for range in told {
            let Value::Array(parts) = range else { return None };
            let mut parts = parts.into_iter();
            let first: u16 = from_redis_value(parts.next()?).ok()?;
            let last: u16 = from_redis_value(parts.next()?).ok()?;
            let Value::Array(primary) = parts.next()? else { return None };
            let mut primary = primary.into_iter();
            let host: Option<String> = from_redis_value(primary.next()?).ok()?;
            let port: u16 = from_redis_value(primary.next()?).ok()?;
            // A node that does not know its own name leaves it out.
            let host = host.filter(|it| !it.is_empty()).unwrap_or_else(|| asked.host.clone());
            if first > last || last >= SLOTS {
                return None;
            }
            let place = ServerPlace::new(&host, port)?;
            let known = map.nodes.iter().position(|it| *it == place);
            let node = known.unwrap_or_else(|| {
                map.nodes.push(place);
                map.nodes.len() - 1
            });
            map.ranges.push((first, last, node));
        }
        map.ranges.sort_unstable();
        (map.nodes.len() <= NODES_MAX).then_some(map)
    }

    /// The node with the slot of this hash tag; none while there is none.
    pub(crate) fn node(&self, tag: &str) -> Option<usize> {
        let slot = slot(tag.as_bytes());
        let has = |(first, last, _): &&(u16, u16, usize)| (*first..=*last).contains(&slot);
        self.ranges.iter().find(has).map(|(_, _, node)| *node)
    }

    /// The node of each part.
    pub(crate) fn parts(&self) -> Vec<Option<usize>> {
        (0..PARTS).map(|part| self.node(&part_tag(part as u8))).collect()
    }
}

/// Hash tag of a part.
pub(crate) fn part_tag(part: u8) -> String {
    format!("{part:02x}")
}

/// Slot of a hash tag: CRC-16 (XMODEM), as the cluster specification says.
fn slot(tag: &[u8]) -> u16 {
    let crc = tag.iter().fold(0u16, |crc, byte| {
        (0..8).fold(crc ^ u16::from(*byte) << 8, |crc, _| {
            if crc & 0x8000 == 0 { crc << 1 } else { crc << 1 ^ 0x1021 }
        })
    });
    crc % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value {
        Value::BulkString(text.into())
    }

    fn range(first: i64, last: i64, host: Value, port: i64) -> Value {
        let node = Value::Array(vec![host, Value::Int(port), text("id"), Value::Array(vec![])]);
        Value::Array(vec![Value::Int(first), Value::Int(last), node.clone(), node])
    }

    fn asked() -> ServerPlace {
        ServerPlace::parse("[2001:db8::1]:7000").unwrap()
    }

    #[test]
    fn slots_are_those_of_the_specification() {
        assert_eq!(slot(b"123456789"), 0x31c3);
        assert_eq!(slot(b"foo"), 12_182);
        assert_eq!(slot(b""), 0);
    }

    #[test]
    fn every_part_has_its_node_and_three_nodes_have_about_as_many_each() {
        let told = Value::Array(vec![
            range(10_923, 16_383, text("10.0.0.3"), 7002),
            range(0, 5460, Value::Nil, 7000),
            range(5461, 10_922, text("two.example"), 7001),
        ]);
        let map = ClusterMap::read(told, &asked()).unwrap();
        assert_eq!(map.nodes[1].host, "2001:db8::1", "the one that was asked");
        assert_eq!(map.node("foo"), Some(0));
        let parts = map.parts();
        for node in 0..3 {
            let count = parts.iter().filter(|it| **it == Some(node)).count();
            assert!((80..=90).contains(&count), "{count}");
        }
        let half = Value::Array(vec![range(0, 5460, text("a"), 1)]);
        assert_eq!(ClusterMap::read(half, &asked()).unwrap().node("foo"), None);
    }

    #[test]
    fn what_is_no_map_is_none() {
        for told in [
            Value::Nil,
            text("x"),
            Value::Array(vec![Value::Int(1)]),
            Value::Array(vec![Value::Array(vec![Value::Int(0), Value::Int(1)])]),
            Value::Array(vec![range(5, 4, text("a"), 1)]),
            Value::Array(vec![range(0, 16_384, text("a"), 1)]),
            Value::Array(vec![range(-1, 4, text("a"), 1)]),
            Value::Array(vec![range(0, 4, text("a b"), 1)]),
            Value::Array(vec![range(0, 4, text("a"), 65_536)]),
            Value::Array(vec![range(0, 4, text(&"a".repeat(300)), 1)]),
            Value::Array((0..300).map(|it| range(it, it, text("a"), it + 1)).collect()),
        ] {
            assert_eq!(ClusterMap::read(told, &asked()), None);
        }
    }
}
