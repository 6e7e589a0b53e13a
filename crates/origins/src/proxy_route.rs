//! The way to an origin: direct, or through parent proxies, one after another.
//!
//! A parent that cannot be reached rests for a while that doubles, and the next is taken; one that
//! rests is still asked where no other is left. It connects to nobody itself. Called by
//! [`super::through`]; made by the proxy door from its settings.

use super::error::{DialError, SendError};
use super::parent::{ParentHop, ParentProxy};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use vocab::Now;

/// Time for which a parent rests after its first failure, in milliseconds; each further one doubles
/// it.
const EJECTION_MS_MIN: u64 = 1_000;
/// The longest rest, in milliseconds: a parent that is back is found within a minute.
const EJECTION_MS_MAX: u64 = 60_000;

/// Ways out, the first first. Cheap to clone; clones share what is known of the parents.
#[derive(Clone, Debug)]
pub struct ProxyRoute(Arc<[RouteStep]>);

/// One of the ways out.
#[derive(Clone, Debug)]
pub(super) enum RouteStep {
    Direct,
    Through(Arc<KnownParent>),
}

/// A parent and how it has served.
pub(super) struct KnownParent {
    pub(super) parent: ParentProxy,
    /// Of this process alone: connections through one parent are not taken for those through
    /// another.
    pub(super) number: u64,
    failure: Mutex<ParentTrouble>,
}

#[derive(Default)]
struct ParentTrouble {
    failures: u32,
    until_ms: u64,
}

impl ProxyRoute {
    /// These, in this order; without any, direct. A parent that one of `before` has too is the
    /// same: its connections stay open, and how it has served stays known.
    pub fn new(hops: impl IntoIterator<Item = ParentHop>, before: &[Self]) -> Self {
        let known = |parent: &ParentProxy| {
            let steps = before.iter().flat_map(|way| way.0.iter());
            let mut parents = steps.filter_map(|step| match step {
                RouteStep::Direct => None,
                RouteStep::Through(known) => Some(known),
            });
            parents.find(|known| known.parent == *parent).cloned()
        };
        let steps: Vec<_> = hops
            .into_iter()
            .map(|hop| match hop {
                ParentHop::Direct => RouteStep::Direct,
                ParentHop::Parent(parent) => RouteStep::Through(
                    known(&parent).unwrap_or_else(|| Arc::new(KnownParent::new(parent))),
                ),
            })
            .collect();
        if steps.is_empty() { Self::direct() } else { Self(steps.into()) }
    }

    /// To the origin itself.
    pub fn direct() -> Self {
        Self([RouteStep::Direct].into())
    }

    /// Returns its steps, those that rest behind those that do not.
    pub(super) fn in_order(&self, now: Now) -> impl Iterator<Item = &RouteStep> {
        let fit = self.0.iter().filter(move |step| !step.is_ejected(now));
        fit.chain(self.0.iter().filter(move |step| step.is_ejected(now)))
    }
}

impl KnownParent {
    fn new(parent: ParentProxy) -> Self {
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        Self { parent, number: NUMBERS.fetch_add(1, Relaxed), failure: Mutex::default() }
    }
}

impl RouteStep {
    fn is_ejected(&self, now: Now) -> bool {
        match self {
            Self::Direct => false,
            Self::Through(known) => {
                now.mono_ms < known.failure.lock().unwrap_or_else(PoisonError::into_inner).until_ms
            }
        }
    }

    /// It led somewhere.
    pub(super) fn serves(&self) {
        if let Self::Through(known) = self {
            *known.failure.lock().unwrap_or_else(PoisonError::into_inner) =
                ParentTrouble::default();
        }
    }

    /// True if the next step may be tried after this failure, of which nothing reached an origin. A
    /// parent that failed rests.
    pub(super) fn allows_failover(&self, why: &SendError, now: Now) -> bool {
        match (self, why) {
            (Self::Through(known), SendError::Dial(DialError::Parent(_))) => {
                let mut trouble = known.failure.lock().unwrap_or_else(PoisonError::into_inner);
                let rest_ms = (EJECTION_MS_MIN << trouble.failures.min(16)).min(EJECTION_MS_MAX);
                trouble.failures = trouble.failures.saturating_add(1);
                trouble.until_ms = now.mono_ms.saturating_add(rest_ms);
                true
            }
            (Self::Direct, SendError::Dial(why)) => match why {
                DialError::NoAddress(_) | DialError::Refused(_) | DialError::Timeout => true,
                DialError::Forbidden
                | DialError::CnameBlocked(_)
                | DialError::Tls(_)
                | DialError::Parent(_)
                | DialError::ParentRefused(_) => false,
            },
            (Self::Direct | Self::Through(_), _) => false,
        }
    }
}

impl fmt::Debug for KnownParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parent.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(mono_ms: u64) -> Now {
        Now { unix_ms: 0, mono_ms }
    }

    fn order(way: &ProxyRoute, now: Now) -> Vec<String> {
        let name = |step: &RouteStep| match step {
            RouteStep::Direct => "direct".to_owned(),
            RouteStep::Through(known) => known.parent.host.to_string(),
        };
        way.in_order(now).map(name).collect()
    }

    #[test]
    fn a_parent_that_fails_rests_longer_each_time_and_is_the_last_to_be_asked() {
        let hops = ["http://a:1", "http://b:1"].map(|it| it.parse::<ParentHop>().unwrap());
        let way = ProxyRoute::new(hops, &[]);
        assert_eq!(order(&way, at(0)), ["a", "b"]);
        let first = way.0[0].clone();
        let gone = SendError::Dial(DialError::Parent(String::new()));
        assert!(first.allows_failover(&gone, at(0)));
        assert_eq!(order(&way, at(999)), ["b", "a"]);
        assert_eq!(order(&way, at(1_000)), ["a", "b"]);
        assert!(first.allows_failover(&gone, at(1_000)));
        assert_eq!(order(&way, at(2_999)), ["b", "a"]);
        first.serves();
        assert_eq!(order(&way, at(2_999)), ["a", "b"]);
    }

    #[test]
    fn a_refusal_is_final() {
        let way = ProxyRoute::new(["http://a:1".parse::<ParentHop>().unwrap()], &[]);
        let refused = SendError::Dial(DialError::ParentRefused(String::new()));
        assert!(!way.0[0].allows_failover(&refused, at(0)));
        assert!(!way.0[0].allows_failover(&SendError::Timeout, at(0)));
        assert_eq!(order(&ProxyRoute::new([], &[]), at(0)), ["direct"]);
    }
}
