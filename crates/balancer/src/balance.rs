//! Which of the servers that have room gets a request.
//!
//! Pure: the time, the dice and the key are handed in, and nothing is claimed. Called by `pool`.

use crate::order::ServerTier;
use crate::server::{PooledServer, ServerStanding};
use crate::settings::BalanceMethod;
use crate::tried::TriedServers;
use std::sync::Arc;
use vocab::Now;

/// Load above the average at which a hash passes a server by: a quarter. After
/// "Consistent Hashing with Bounded Loads" (Mirrokni, Thorup, Zadimoghaddam).
const BOUNDED_LOAD: f64 = 1.25;

/// Number of times as fast a server must be to take an idle one's turn.
const MUCH_FASTER: f64 = 2.0;

/// Holds what a choice is made from.
pub(crate) struct BalanceChoice<'c> {
    pub(crate) servers: &'c [Arc<PooledServer>],
    pub(crate) tried: &'c TriedServers,
    pub(crate) slow_start_ms: u64,
    /// The pool's turn.
    pub(crate) next: usize,
    /// 64 random bits.
    pub(crate) random: u64,
    /// Key that a hash keeps together.
    pub(crate) key: u64,
    /// The server to which a connection is idle.
    pub(crate) warm: Option<u64>,
    pub(crate) now: Now,
}

impl BalanceChoice<'_> {
    /// The one of `lane` that is due; none if none has room.
    pub(crate) fn make(&self, balance: BalanceMethod, lane: &ServerTier) -> Option<usize> {
        if lane.members.is_empty() {
            return None;
        }
        match balance {
            BalanceMethod::P2c => self.power_of_two(lane),
            BalanceMethod::RoundRobin => self.round_robin(lane, self.next),
            BalanceMethod::Random => {
                self.round_robin(lane, scaled(self.random, lane.schedule.len()))
            }
            BalanceMethod::IdleConnection => self
                .idle_connection(lane)
                .or_else(|| self.round_robin(lane, scaled(self.random, lane.schedule.len()))),
            BalanceMethod::LeastConnections => self.least(lane),
            BalanceMethod::ConsistentHash | BalanceMethod::ClientHash => self.by_hash(lane),
        }
    }

    fn can_take(&self, index: usize) -> bool {
        let server = &self.servers[index];
        !server.is_draining() && !self.tried.contains(server.tag) && server.has_room(self.now)
    }

    /// The one to which a connection is idle, if it takes it.
    fn idle_connection(&self, lane: &ServerTier) -> Option<usize> {
        let tag = self.warm?;
        let mut members = lane.members.iter().map(|&index| usize::from(index));
        members.find(|&index| self.servers[index].tag == tag && self.can_take(index))
    }

    /// The next that takes it, from `start` on; a server in its slow start lets some turns pass.
    fn round_robin(&self, lane: &ServerTier, start: usize) -> Option<usize> {
        let turns = lane.schedule.iter().cycle().skip(start % lane.schedule.len());
        let steps = lane.schedule.len().min(lane.members.len() * 2);
        let (mut dice, mut second) = (self.random, None);
        for index in turns.take(steps).map(|&index| usize::from(index)) {
            if !self.can_take(index) {
                continue;
            }
            let share = self.servers[index].slow_start(self.slow_start_ms, self.now);
            dice = dice.rotate_left(17).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            if share >= 1.0 || unit_interval(dice) < share {
                return Some(index);
            }
            second = second.or(Some(index));
        }
        second.or_else(|| self.first(lane, start))
    }

    /// The first that takes it, whatever its weight.
    fn first(&self, lane: &ServerTier, start: usize) -> Option<usize> {
        let all =
            lane.members.iter().cycle().skip(start % lane.members.len()).take(lane.members.len());
        all.map(|&index| usize::from(index)).find(|&index| self.can_take(index))
    }

    /// Of two picked at random, one by weight, the one whose requests under way will be done
    /// sooner.
    fn power_of_two(&self, lane: &ServerTier) -> Option<usize> {
        let count = lane.members.len();
        let one = self.round_robin(lane, scaled(self.random, lane.schedule.len()))?;
        let other = scaled(self.random.rotate_left(32), count);
        let all = lane.members.iter().cycle().skip(other).take(count);
        let other = all
            .map(|&index| usize::from(index))
            .find(|&index| index != one && self.can_take(index));
        let Some(other) = other else { return Some(one) };
        Some(if self.is_better(other, one) { other } else { one })
    }

    /// True if `one` should take the turn of `other`: what is under way there, and this request,
    /// takes less time. Where nobody knows how long one of them takes, the number of requests
    /// counts alone, so that a new server gets its share and no rush. Of two that are idle the one
    /// whose turn it is gets it, unless it is much slower: else the strongest would serve alone
    /// while there is little to do. One on trial is asked: nothing else would end that.
    fn is_better(&self, one: usize, other: usize) -> bool {
        let [one, other] = [one, other].map(|index| &self.servers[index]);
        if other.status(self.now) == ServerStanding::HalfOpen {
            return false;
        }
        if one.status(self.now) == ServerStanding::HalfOpen {
            return true;
        }
        let known = (one.estimate.current_us(self.now), other.estimate.current_us(self.now));
        if one.pending() == 0 && other.pending() == 0 {
            return matches!(known, (Some(us), Some(other_us)) if us * MUCH_FASTER < other_us);
        }
        let busy = |server: &PooledServer| {
            let weight = server.weight_now(self.slow_start_ms, self.now);
            (f64::from(server.pending()) + 1.0) / weight
        };
        match known {
            (Some(us), Some(other_us)) => us * busy(one) < other_us * busy(other),
            (None, _) | (_, None) => busy(one) < busy(other),
        }
    }

    /// The one with the fewest requests for its weight; those that are even take turns.
    fn least(&self, lane: &ServerTier) -> Option<usize> {
        let start = self.next % lane.members.len();
        let all = lane.members.iter().cycle().skip(start).take(lane.members.len());
        let busy = all.map(|&index| usize::from(index)).filter(|&index| self.can_take(index)).map(
            |index| {
                let server = &self.servers[index];
                let weight = server.weight_now(self.slow_start_ms, self.now);
                ((f64::from(server.pending()) + 1.0) / weight, index)
            },
        );
        busy.min_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, index)| index)
    }

    /// The one that the key likes best (weighted rendezvous hashing) among those that are not far
    /// above their share. A server that goes changes nothing for the keys of the others.
    fn by_hash(&self, lane: &ServerTier) -> Option<usize> {
        let taking =
            || lane.members.iter().map(|&index| usize::from(index)).filter(|&it| self.can_take(it));
        let (mut pending, mut weight) = (1.0, 0.0);
        for index in taking() {
            pending += f64::from(self.servers[index].pending());
            weight += f64::from(self.servers[index].weight());
        }
        let liking = |index: usize| {
            let server = &self.servers[index];
            let drawn = unit_interval(splitmix(server.tag ^ self.key));
            f64::from(server.weight()) / -drawn.ln()
        };
        let within = taking().filter(|&index| {
            let server = &self.servers[index];
            let share = pending * f64::from(server.weight()) / weight;
            f64::from(server.pending()) < (share * BOUNDED_LOAD).ceil()
        });
        within.max_by(|&one, &other| liking(one).total_cmp(&liking(other)))
    }
}

/// From random bits to a number below `bound`, by their upper half.
fn scaled(dice: u64, bound: usize) -> usize {
    let bound = u64::try_from(bound).unwrap_or(u64::MAX);
    usize::try_from(((dice >> 32) * bound) >> 32).unwrap_or(0)
}

/// From random bits to a number above 0 and below 1.
fn unit_interval(bits: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "53 bits are kept")]
    let drawn = (bits >> 11) as f64 + 0.5;
    drawn / (1_u64 << 53) as f64
}

/// Spreads every bit over all others (splitmix64).
const fn splitmix(bits: u64) -> u64 {
    let bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
