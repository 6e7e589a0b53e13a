//! Which upstreams of a group are asked, and in which order.
//!
//! A name goes to the upstreams responsible for its longest suffix, or to those for everything. One
//! that failed several times in a row is put aside and asked only when no other is left. It sends
//! nothing; [`super::race`] does.

use crate::settings::plan::PlannedGroup;
use crate::settings::probe::ProbeTarget;
use crate::settings::{ResponseSelection, SelectionStrategy, UPSTREAMS_MAX};
use crate::upstream::bootstrap::BootstrapResolver;
use crate::upstream::exchange::ReadyUpstream;
use crate::upstream::means::ExchangeMeans;
use crate::upstream::record::UpstreamStanding;
use dns_wire::key_of;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use vocab::Now;

/// One question in so many goes to a slower upstream too, to see whether it still is.
const PROBE_EVERY: usize = 32;

const _: () = assert!(UPSTREAMS_MAX <= u8::MAX as usize, "an order counts in bytes");

/// One group of upstreams of the current settings.
pub(crate) struct UpstreamGroup {
    all: Vec<Rc<ReadyUpstream>>,
    /// Those without domains, by their places.
    general: Vec<u8>,
    /// Those responsible for a domain, by its wire form.
    special: HashMap<Box<[u8]>, Vec<u8>>,
    strategy: SelectionStrategy,
    pub(crate) selection: ResponseSelection,
    pub(crate) concurrent: usize,
    /// How addresses are measured; none where they are not.
    pub(crate) probe_target: Option<ProbeTarget>,
    pub(crate) timeout: Duration,
    bootstrap: Rc<BootstrapResolver>,
    context: Rc<ExchangeMeans>,
}

/// Upstreams in the order in which they are to be asked.
pub(crate) struct AskOrder {
    order: [u8; UPSTREAMS_MAX],
    count: u8,
    next: u8,
    /// How many of them at once from the start.
    pub(crate) first: usize,
    /// The zone that they are responsible for, by the first of them as written.
    pub(crate) zone: u8,
    /// Whether every one of them has failed of late.
    pub(crate) outlook: OrderOutlook,
}

/// Tells what an order promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OrderOutlook {
    Some,
    /// Every upstream is put aside.
    AllEjected,
}

impl UpstreamGroup {
    /// Builds the upstreams of `plan`, taking those that stay as they are from `before`.
    pub(crate) fn new(plan: &PlannedGroup, means: &Rc<ExchangeMeans>, before: &[Rc<Self>]) -> Self {
        let servers = plan.bootstrap_servers();
        let same = before.iter().find(|it| it.bootstrap.servers() == servers);
        let bootstrap = match same {
            Some(before) => Rc::clone(&before.bootstrap),
            None => Rc::new(BootstrapResolver::new(servers, Rc::clone(means))),
        };
        let mut group = Self {
            all: Vec::new(),
            general: Vec::new(),
            special: HashMap::new(),
            strategy: plan.strategy,
            selection: plan.selection,
            concurrent: plan.concurrent.into(),
            probe_target: plan.probe_target,
            timeout: plan.timeout,
            bootstrap: Rc::clone(&bootstrap),
            context: Rc::clone(means),
        };
        for (place, planned) in (0..).zip(plan.upstreams.iter().take(UPSTREAMS_MAX)) {
            // One that stays as it is has the record of before in the plan, and no other has.
            let kept = before
                .iter()
                .flat_map(|it| &it.all)
                .find(|it| Arc::ptr_eq(&it.record, &planned.record));
            let upstream = kept.map_or_else(
                || {
                    let upstream = Rc::new(ReadyUpstream::new(planned, means, &bootstrap));
                    upstream.keep_open();
                    upstream
                },
                Rc::clone,
            );
            if planned.domains.is_empty() {
                group.general.push(place);
            }
            for domain in &planned.domains {
                if let Some(name) = key_of(domain.as_name(), 0).map(|key| name_of(&key).into()) {
                    group.special.entry(name).or_default().push(place);
                }
            }
            group.all.push(upstream);
        }
        group
    }

    pub(crate) fn all(&self) -> &[Rc<ReadyUpstream>] {
        &self.all
    }

    /// The next of `order`; none when all have been asked.
    pub(crate) fn next(&self, order: &mut AskOrder) -> Option<Rc<ReadyUpstream>> {
        if order.next == order.count {
            return None;
        }
        let place = order.order[usize::from(order.next)];
        order.next += 1;
        self.all.get(usize::from(place)).map(Rc::clone)
    }

    /// The one that will be asked next.
    pub(crate) fn peek(&self, order: &AskOrder) -> Option<&Rc<ReadyUpstream>> {
        let place = order.order[..usize::from(order.count)].get(usize::from(order.next))?;
        self.all.get(usize::from(*place))
    }

    /// Returns those responsible for the name within `key`.
    fn responsible(&self, key: &[u8]) -> &[u8] {
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

    /// Returns whom to ask the question within `key`.
    pub(crate) fn order(&self, key: &[u8], now: Now) -> AskOrder {
        let responsible = self.responsible(key);
        let count = responsible.len().min(UPSTREAMS_MAX);
        let mut order = AskOrder {
            order: [0; UPSTREAMS_MAX],
            count: count as u8,
            next: 0,
            first: 1,
            zone: responsible.first().copied().unwrap_or(0),
            outlook: OrderOutlook::Some,
        };
        let places = &mut order.order[..count];
        places.copy_from_slice(&responsible[..count]);
        let asked_first = |place: &u8| {
            let standing = self.all.get(usize::from(*place)).map(|it| it.record.status(now));
            standing != Some(UpstreamStanding::InUse)
        };
        if let [only] = places {
            order.outlook =
                if asked_first(only) { OrderOutlook::AllEjected } else { OrderOutlook::Some };
            return order;
        }
        self.sort(places);
        // Stable, so the order stands within each.
        places.sort_by_key(asked_first);
        let asked = places.iter().filter(|it| !asked_first(it)).count();
        order.first = match self.strategy {
            // With all aside, there is no telling which is back: ask several.
            _ if asked == 0 => self.concurrent,
            SelectionStrategy::Race => self.concurrent.min(asked),
            SelectionStrategy::FastestAddress => asked,
            SelectionStrategy::Fastest
                if asked > 1
                    && self.concurrent > 1
                    && self.context.random.below(PROBE_EVERY) == 0 =>
            {
                places.swap(1, 1 + self.context.random.below(asked - 1));
                2
            }
            SelectionStrategy::Fastest | SelectionStrategy::Ordered | SelectionStrategy::Random => {
                1
            }
        };
        order.outlook = if asked == 0 { OrderOutlook::AllEjected } else { OrderOutlook::Some };
        order
    }

    fn sort(&self, places: &mut [u8]) {
        match self.strategy {
            SelectionStrategy::Ordered | SelectionStrategy::FastestAddress => {}
            SelectionStrategy::Race if places.len() <= self.concurrent => {}
            SelectionStrategy::Race | SelectionStrategy::Random => {
                for last in (1..places.len()).rev() {
                    places.swap(last, self.context.random.below(last + 1));
                }
            }
            // One that was never asked comes first: it may be the fastest.
            SelectionStrategy::Fastest => places.sort_by_key(|place| {
                self.all.get(usize::from(*place)).and_then(|it| it.record.mean_time())
            }),
        }
    }
}

/// A key's name.
fn name_of(key: &[u8]) -> &[u8] {
    &key[..key.len().saturating_sub(5)]
}
