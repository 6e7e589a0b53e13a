//! The way to an origin: direct, or through parent proxies, one after another.
//!
//! A parent that cannot be reached rests for a while that doubles, and the next is taken; one that
//! rests is still asked where no other is left. It connects to nobody itself. Called by
//! [`super::through`]; made by the proxy door from its settings.

use super::error::{DialError, SendError};
use super::parent::{Hop, Parent};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use vocab::Now;

/// How long a parent rests after its first failure, in milliseconds; each further one doubles it.
const REST_MS_MIN: u64 = 1_000;
/// The longest rest, in milliseconds: a parent that is back is found within a minute.
const REST_MS_MAX: u64 = 60_000;

/// Ways out, the first first. Cheap to clone; clones share what is known of the parents.
#[derive(Clone, Debug)]
pub struct Way(Arc<[Step]>);

/// One of the ways out.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Direct,
    Through(Arc<Known>),
}

/// A parent and how it has served.
pub(super) struct Known {
    pub(super) parent: Parent,
    /// Of this process alone: connections through one parent are not taken for those through another.
    pub(super) number: u64,
    trouble: Mutex<Trouble>,
}

#[derive(Default)]
struct Trouble {
    failures: u32,
    until_ms: u64,
}

impl Way {
    /// These, in this order; without any, direct. A parent that one of `before` has too is the same:
    /// its connections stay open, and how it has served stays known.
    pub fn new(hops: impl IntoIterator<Item = Hop>, before: &[Self]) -> Self {
        let known = |parent: &Parent| {
            let steps = before.iter().flat_map(|way| way.0.iter());
            let mut parents = steps.filter_map(|step| match step {
                Step::Direct => None,
                Step::Through(known) => Some(known),
            });
            parents.find(|known| known.parent == *parent).cloned()
        };
        let steps: Vec<_> = hops
            .into_iter()
            .map(|hop| match hop {
                Hop::Direct => Step::Direct,
                Hop::Parent(parent) => {
                    Step::Through(known(&parent).unwrap_or_else(|| Arc::new(Known::new(parent))))
                }
            })
            .collect();
        if steps.is_empty() { Self::direct() } else { Self(steps.into()) }
    }

    /// To the origin itself.
    pub fn direct() -> Self {
        Self([Step::Direct].into())
    }

    /// Its steps, those that rest behind those that do not.
    pub(super) fn in_turn(&self, now: Now) -> impl Iterator<Item = &Step> {
        let fit = self.0.iter().filter(move |step| !step.rests(now));
        fit.chain(self.0.iter().filter(move |step| step.rests(now)))
    }
}

impl Known {
    fn new(parent: Parent) -> Self {
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        Self { parent, number: NUMBERS.fetch_add(1, Relaxed), trouble: Mutex::default() }
    }
}

impl Step {
    fn rests(&self, now: Now) -> bool {
        match self {
            Self::Direct => false,
            Self::Through(known) => {
                now.mono_ms < known.trouble.lock().unwrap_or_else(PoisonError::into_inner).until_ms
            }
        }
    }

    /// It led somewhere.
    pub(super) fn serves(&self) {
        if let Self::Through(known) = self {
            *known.trouble.lock().unwrap_or_else(PoisonError::into_inner) = Trouble::default();
        }
    }

    /// Whether the next step may be tried after this failure, of which nothing reached an origin. A
    /// parent that failed rests.
    pub(super) fn gives_way(&self, why: &SendError, now: Now) -> bool {
        match (self, why) {
            (Self::Through(known), SendError::Dial(DialError::Parent(_))) => {
                let mut trouble = known.trouble.lock().unwrap_or_else(PoisonError::into_inner);
                let rest_ms = (REST_MS_MIN << trouble.failures.min(16)).min(REST_MS_MAX);
                trouble.failures = trouble.failures.saturating_add(1);
                trouble.until_ms = now.mono_ms.saturating_add(rest_ms);
                true
            }
            (Self::Direct, SendError::Dial(why)) => match why {
                DialError::NoAddress(_) | DialError::Refused(_) | DialError::Timeout => true,
                DialError::Forbidden
                | DialError::Aliased(_)
                | DialError::Tls(_)
                | DialError::Parent(_)
                | DialError::ParentRefused(_) => false,
            },
            (Self::Direct | Self::Through(_), _) => false,
        }
    }
}

impl fmt::Debug for Known {
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

    fn order(way: &Way, now: Now) -> Vec<String> {
        let name = |step: &Step| match step {
            Step::Direct => "direct".to_owned(),
            Step::Through(known) => known.parent.host.to_string(),
        };
        way.in_turn(now).map(name).collect()
    }

    #[test]
    fn a_parent_that_fails_rests_longer_each_time_and_is_the_last_to_be_asked() {
        let hops = ["http://a:1", "http://b:1"].map(|it| it.parse::<Hop>().unwrap());
        let way = Way::new(hops, &[]);
        assert_eq!(order(&way, at(0)), ["a", "b"]);
        let first = way.0[0].clone();
        let gone = SendError::Dial(DialError::Parent(String::new()));
        assert!(first.gives_way(&gone, at(0)));
        assert_eq!(order(&way, at(999)), ["b", "a"]);
        assert_eq!(order(&way, at(1_000)), ["a", "b"]);
        assert!(first.gives_way(&gone, at(1_000)));
        assert_eq!(order(&way, at(2_999)), ["b", "a"]);
        first.serves();
        assert_eq!(order(&way, at(2_999)), ["a", "b"]);
    }

    #[test]
    fn a_refusal_is_final() {
        let way = Way::new(["http://a:1".parse::<Hop>().unwrap()], &[]);
        let refused = SendError::Dial(DialError::ParentRefused(String::new()));
        assert!(!way.0[0].gives_way(&refused, at(0)));
        assert!(!way.0[0].gives_way(&SendError::Timeout, at(0)));
        assert_eq!(order(&Way::new([], &[]), at(0)), ["direct"]);
    }
}
