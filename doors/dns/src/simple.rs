//! The simple settings as a program: the same operations that a foreign pipeline is compiled to.
//!
//! The order is the door's promise: what no forwarder should look up, other names in a name's stead,
//! records of one's own, special names, filtered types, the policy, and then for the view that
//! the client belongs to its cache and its upstreams. Called by `plan`.

use crate::guard::SubnetMode;
use crate::local_names::LocalNames;
use crate::lookups;
use crate::settings::Settings;
use pipeline::program::{
    Addresses, Fallback, Keeper, Matcher, Op, Own, Place, Program, Sense, Silence, Standby, Test,
    Then,
};
use pipeline::sets::IpSet;
use std::sync::Arc;
use vocab::Network;

/// The program of `settings`, which were checked, with what they answer by themselves.
pub(crate) fn program(settings: &Settings, local: &LocalNames) -> Program {
    let mut draft = Draft::default();
    draft.ops.push(Op::Own(Own::Admission));
    draft.ops.extend(local.rewrites.iter().map(|rules| Op::Redirect(Arc::clone(rules))));
    draft.ops.extend([Op::Own(Own::Records), Op::Own(Own::Special)]);
    if !settings.filter_types.is_empty() {
        draft.ops.push(Op::Own(Own::Filter));
    }
    draft.ops.push(Op::Own(Own::Policy));
    if settings.client_subnet.mode != SubnetMode::Off {
        draft.ops.push(Op::Own(Own::Subnet));
    }
    // Group and cache 0 are everybody's; each view has its own behind them.
    for (index, view) in settings.views.iter().enumerate() {
        let networks: Vec<Network> = view.clients.iter().map(|it| it.0).collect();
        draft.guarded(&networks, |draft| draft.look_up(Source::of(index + 1)));
    }
    draft.look_up(Source { fallback: settings.fallback_group(), ..Source::of(0) });
    draft.finish(settings)
}

/// Where answers come from.
#[derive(Clone, Copy)]
struct Source {
    cache: u16,
    group: u16,
    /// The group that is asked when the first fails or is slow.
    fallback: Option<u16>,
}

impl Source {
    fn of(index: usize) -> Self {
        // There are at most 64 views.
        let number = index as u16;
        Self { cache: number, group: number, fallback: None }
    }
}

#[derive(Default)]
struct Draft {
    ops: Vec<Op>,
    /// Fallbacks whose ways are not placed yet: where they stand, and the two groups.
    open: Vec<(usize, [u16; 2])>,
}

impl Draft {
    /// Adds what `body` adds, for clients in `networks` only.
    fn guarded(&mut self, networks: &[Network], body: impl FnOnce(&mut Self)) {
        let mut set = IpSet::builder();
        for network in networks {
            // There is room for more than a file can name.
            let _ = set.add(network.address(), network.prefix());
        }
        let set = Arc::new(set.build());
        let matcher = Matcher::Client(Addresses([set].into()));
        let guard = self.ops.len();
        let tests = Box::from([Test { matcher, sense: Sense::Is }]);
        self.ops.push(Op::When { tests, otherwise: 0 });
        body(self);
        let behind = self.ops.len() as Place;
        if let Op::When { otherwise, .. } = &mut self.ops[guard] {
            *otherwise = behind;
        }
    }

    fn look_up(&mut self, source: Source) {
        let Source { cache, group, fallback } = source;
        let (keeper, kept) = match fallback {
            None => (Keeper::Exchange, Some(cache)),
            // Which of two ways answers is known at the end only.
            Some(_) => (Keeper::Run, None),
        };
        self.ops.push(Op::Cache { cache, keeper, then: Then::Stop });
        match fallback {
            None => self.ops.push(Op::Forward { group, cache: kept, then: Then::Stop }),
            Some(second) => {
                self.open.push((self.ops.len(), [group, second]));
                self.ops.push(Op::End);
            }
        }
    }

    fn finish(mut self, settings: &Settings) -> Program {
        self.ops.push(Op::End);
        for (place, groups) in std::mem::take(&mut self.open) {
            let [primary, secondary] = groups.map(|group| {
                let at = self.ops.len() as Place;
                self.ops.push(Op::Forward { group, cache: None, then: Then::Stop });
                at
            });
            let (threshold, standby) = settings.fallback_rule();
            let standby = match standby {
                lookups::Standby::Always => Standby::Always,
                lookups::Standby::WhenNeeded => Standby::WhenNeeded,
            };
            let then = Then::Stop;
            self.ops[place] =
                Op::Fallback(Fallback { primary, secondary, threshold, standby, then });
        }
        Program { ops: self.ops.into(), silence: Silence::Refused }
    }
}
