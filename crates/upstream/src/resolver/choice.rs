//! Which upstreams are asked, in which order, and whose answer is taken.
//!
//! A name goes to the upstreams responsible for its longest suffix, or to those for everything.
//! One that failed several times in a row is put aside and asked only when no other is left. The
//! first that answers with records or with "no such name" wins; whoever else was asked may finish,
//! so that its record stays true.

use super::bootstrap::Bootstrap;
use super::exchange::{ExchangeError, Means, Upstream};
use super::plan::Plan;
use super::record::Standing;
use super::settings::Strategy;
use dns_wire::{Answer, key_of};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Upstreams asked one question at once, at most.
const RACERS_MAX: usize = 3;
/// The next upstream is asked besides when the one before has not answered within four times its
/// mean, but not sooner nor later than this.
const HEDGE_MEANS: u32 = 4;
const HEDGE_MIN: Duration = Duration::from_millis(200);
const HEDGE_MAX: Duration = Duration::from_secs(1);
/// When nothing is known of it yet.
const HEDGE_UNKNOWN: Duration = Duration::from_millis(500);
/// One question in so many goes to a slower upstream too, to see whether it still is.
const PROBE_EVERY: usize = 32;

/// An answer and who gave it.
pub(super) type Won = (Answer, Arc<str>);

/// The upstreams of the current settings.
pub(super) struct Choice {
    all: Vec<Rc<Upstream>>,
    /// Those without domains.
    general: Vec<Rc<Upstream>>,
    /// Those responsible for a domain, by its wire form.
    special: HashMap<Box<[u8]>, Vec<Rc<Upstream>>>,
    strategy: Strategy,
    pub(super) timeout: Duration,
    pub(super) stale_after: Duration,
    bootstrap: Rc<Bootstrap>,
    means: Rc<Means>,
}

impl Choice {
    /// Builds the upstreams of `plan`, taking over from `before` those that stay as they are.
    pub(super) fn new(plan: &Plan, means: &Rc<Means>, before: Option<&Self>) -> Self {
        let servers = bootstrap_servers(plan);
        let bootstrap = match before {
            Some(before) if before.bootstrap.servers() == servers => Rc::clone(&before.bootstrap),
            Some(_) | None => Rc::new(Bootstrap::new(servers, Rc::clone(means))),
        };
        let mut choice = Self {
            all: Vec::new(),
            general: Vec::new(),
            special: HashMap::new(),
            strategy: plan.strategy,
            timeout: plan.timeout,
            stale_after: plan.stale_after,
            bootstrap: Rc::clone(&bootstrap),
            means: Rc::clone(means),
        };
        for planned in &plan.upstreams {
            let same =
                |it: &&Rc<Upstream>| it.name == planned.name && it.address == planned.address;
            let kept = before.and_then(|before| before.all.iter().find(same));
            let upstream =
                kept.map_or_else(|| Rc::new(Upstream::new(planned, means, &bootstrap)), Rc::clone);
            if planned.domains.is_empty() {
                choice.general.push(Rc::clone(&upstream));
            }
            for domain in &planned.domains {
                if let Some(name) = key_of(domain.as_name(), 0).map(|key| name_of(&key).into()) {
                    choice.special.entry(name).or_default().push(Rc::clone(&upstream));
                }
            }
            choice.all.push(upstream);
        }
        choice
    }

    pub(super) fn all(&self) -> &[Rc<Upstream>] {
        &self.all
    }

    /// Asks the question within `key`.
    pub(super) async fn ask(&self, key: &Rc<[u8]>) -> Result<Won, ExchangeError> {
        let group = self.group(key);
        if let [only] = group {
            let answer = only.ask(key, self.timeout).await?;
            return Ok((answer, Arc::clone(&only.name)));
        }
        let (order, first) = self.order(group);
        run(&order, first, key, self.timeout).await
    }

    /// Those responsible for the name within `key`.
    fn group(&self, key: &[u8]) -> &[Rc<Upstream>] {
        if self.special.is_empty() {
            return &self.general;
        }
        let mut name = name_of(key);
        while let Some(&length) = name.first() {
            if let Some(group) = self.special.get(name) {
                return group;
            }
            name = name.get(1 + usize::from(length)..).unwrap_or(&[]);
        }
        &self.general
    }

    /// In which order, and how many of them at once from the start.
    fn order(&self, group: &[Rc<Upstream>]) -> (Vec<Rc<Upstream>>, usize) {
        let dice = &self.means.dice;
        let mut order = group.to_vec();
        match self.strategy {
            Strategy::Ordered => {}
            Strategy::Race | Strategy::Random => {
                for last in (1..order.len()).rev() {
                    order.swap(last, dice.below(last + 1));
                }
            }
            // One that was never asked comes first: it may be the fastest.
            Strategy::Fastest => order.sort_by_key(|it| it.record.mean_time()),
        }
        // Stable, so the order stands within each.
        order.sort_by_key(|it| it.standing() == Standing::Aside);
        let asked = order.iter().filter(|it| it.standing() == Standing::Asked).count();
        let first = match self.strategy {
            Strategy::Race => RACERS_MAX,
            Strategy::Fastest if asked > 1 && dice.below(PROBE_EVERY) == 0 => {
                let other = 1 + dice.below(asked - 1);
                order.swap(1, other);
                2
            }
            Strategy::Fastest | Strategy::Ordered | Strategy::Random => 1,
        };
        // With all aside, there is no telling which is back: ask several.
        let first = if asked == 0 { RACERS_MAX } else { first.min(asked) };
        (order, first)
    }
}

/// Asks `first` of `order` at once and one more whenever one fails or is slow.
async fn run(
    order: &[Rc<Upstream>],
    first: usize,
    key: &Rc<[u8]>,
    limit: Duration,
) -> Result<Won, ExchangeError> {
    let deadline = Instant::now() + limit;
    let mut left = order.iter();
    let mut running: JoinSet<(Arc<str>, Result<Answer, ExchangeError>)> = JoinSet::new();
    let mut hedge = HEDGE_MAX;
    let mut start = |running: &mut JoinSet<_>| {
        let upstream = left.next()?;
        let (upstream, key) = (Rc::clone(upstream), Rc::clone(key));
        let patience = upstream
            .record
            .mean_time()
            .map_or(HEDGE_UNKNOWN, |mean| (mean * HEDGE_MEANS).clamp(HEDGE_MIN, HEDGE_MAX));
        running.spawn_local(async move {
            let limit = deadline.saturating_duration_since(Instant::now());
            let outcome = upstream.ask(&key, limit).await;
            (Arc::clone(&upstream.name), outcome)
        });
        Some(patience)
    };
    for _ in 0..first {
        hedge = start(&mut running).unwrap_or(hedge);
    }
    let mut second_best = Err(ExchangeError::Unreachable);
    loop {
        let Ok(finished) = tokio::time::timeout(hedge, running.join_next()).await else {
            if running.len() < RACERS_MAX {
                hedge = start(&mut running).unwrap_or(HEDGE_MAX);
            }
            continue;
        };
        match finished {
            None => return second_best,
            Some(Ok((name, Ok(answer)))) if answer.is_definite() => {
                running.detach_all();
                return Ok((answer, name));
            }
            Some(Ok((name, Ok(answer)))) => second_best = Ok((answer, name)),
            Some(Ok((_, Err(why)))) if second_best.is_err() => second_best = Err(why),
            // A panic in a task is a failed upstream.
            Some(Ok((_, Err(_))) | Err(_)) => {}
        }
        hedge = start(&mut running).unwrap_or(hedge);
    }
}

/// Whom to ask about the names of upstreams: who is set, or the upstreams that need no name and no
/// trust in one; empty means the system's.
fn bootstrap_servers(plan: &Plan) -> Vec<SocketAddr> {
    use super::address::{Host, Protocol};
    if !plan.bootstrap.is_empty() {
        return plan.bootstrap.clone();
    }
    plan.upstreams
        .iter()
        .filter(|it| it.domains.is_empty())
        .filter_map(|it| match (it.address.protocol, &it.address.host) {
            (Protocol::Udp, Host::Ip(ip)) => Some(SocketAddr::new(*ip, it.address.port)),
            (Protocol::Udp, Host::Name(_))
            | (Protocol::Tcp | Protocol::Tls | Protocol::Https, _) => None,
        })
        .collect()
}

/// A key's name.
fn name_of(key: &[u8]) -> &[u8] {
    &key[..key.len().saturating_sub(5)]
}
