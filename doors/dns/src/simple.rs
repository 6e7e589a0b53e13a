//! The simple settings as a program: the same operations that a foreign pipeline is compiled to.
//!
//! The order is the door's promise: what no forwarder should look up, other names in a name's
//! stead, records of one's own, special names, filtered types, the script, the policy, and then for
//! the view that the client belongs to its cache and its upstreams. Called by `plan`.

use crate::local_names::LocalNames;
use crate::settings::Settings;
use crate::settings::client_subnet::SubnetMode;
use crate::settings::lookups::StandbyRule;
use pipeline::program::{
    AddressSets, AfterAnswer, CacheKeeper, FallbackOp, GuardMatcher, GuardTest, Op, OwnAnswer,
    Place, Program, SilentAnswer, StandbyMode, TestSense,
};
use pipeline::sets::IpSet;
use std::sync::Arc;
use vocab::Network;

/// The program of `settings`, which were checked, with what they answer by themselves.
pub(crate) fn program(settings: &Settings, local: &LocalNames) -> Program {
    let mut draft = SimpleDraft::default();
    draft.ops.push(Op::DoorAnswer(OwnAnswer::Admission));
    draft.ops.extend(local.rewrites.iter().map(|rules| Op::Redirect(Arc::clone(rules))));
    draft.ops.extend([Op::DoorAnswer(OwnAnswer::Records), Op::DoorAnswer(OwnAnswer::Special)]);
    if !settings.filter_types.is_empty() {
        draft.ops.push(Op::DoorAnswer(OwnAnswer::Filter));
    }
    if settings.script.is_some() {
        draft.ops.push(Op::DoorAnswer(OwnAnswer::Script));
    }
    draft.ops.push(Op::DoorAnswer(OwnAnswer::Policy));
    if settings.client_subnet.mode != SubnetMode::Off {
        draft.ops.push(Op::DoorAnswer(OwnAnswer::Subnet));
    }
    // Group and cache 0 are everybody's; each view has its own behind them.
    for (index, view) in settings.views.iter().enumerate() {
        let networks: Vec<Network> = view.clients.iter().map(|it| it.0).collect();
        draft.guarded(&networks, |draft| draft.look_up(SimpleSource::of(index + 1)));
    }
    draft.look_up(SimpleSource { fallback: settings.fallback_group(), ..SimpleSource::of(0) });
    draft.finish(settings)
}

/// Where answers come from.
#[derive(Clone, Copy)]
struct SimpleSource {
    cache: u16,
    group: u16,
    /// The group that is asked when the first fails or is slow.
    fallback: Option<u16>,
}

impl SimpleSource {
    fn of(index: usize) -> Self {
        // There are at most 64 views.
        let number = index as u16;
        Self { cache: number, group: number, fallback: None }
    }
}

#[derive(Default)]
struct SimpleDraft {
    ops: Vec<Op>,
    /// Fallbacks whose ways are not placed yet: where they stand, and the two groups.
    open: Vec<(usize, [u16; 2])>,
}

impl SimpleDraft {
    /// Adds what `body` adds, for clients in `networks` only.
    fn guarded(&mut self, networks: &[Network], body: impl FnOnce(&mut Self)) {
        let mut set = IpSet::builder();
        for network in networks {
            // There is room for more than a file can name.
            let _ = set.add(network.address(), network.prefix());
        }
        let set = Arc::new(set.build());
        let matcher = GuardMatcher::Client(AddressSets([set].into()));
        let guard = self.ops.len();
        let tests = Box::from([GuardTest { matcher, sense: TestSense::Is }]);
        self.ops.push(Op::When { tests, otherwise: 0 });
        body(self);
        let behind = self.ops.len() as Place;
        if let Op::When { otherwise, .. } = &mut self.ops[guard] {
            *otherwise = behind;
        }
    }

    fn look_up(&mut self, source: SimpleSource) {
        let SimpleSource { cache, group, fallback } = source;
        let (keeper, kept) = match fallback {
            None => (CacheKeeper::Exchange, Some(cache)),
            // Which of two ways answers is known at the end only.
            Some(_) => (CacheKeeper::Run, None),
        };
        self.ops.push(Op::Cache { cache, keeper, then: AfterAnswer::Stop });
        match fallback {
            None => self.ops.push(Op::Forward { group, cache: kept, then: AfterAnswer::Stop }),
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
                self.ops.push(Op::Forward { group, cache: None, then: AfterAnswer::Stop });
                at
            });
            let (threshold, standby) = settings.fallback_rule();
            let standby = match standby {
                StandbyRule::Always => StandbyMode::Always,
                StandbyRule::WhenNeeded => StandbyMode::WhenNeeded,
            };
            let then = AfterAnswer::Stop;
            self.ops[place] = Op::Fallback(FallbackOp {
                primary,
                secondary,
                threshold,
                standby,
                patience: None,
                then,
            });
        }
        Program { ops: self.ops.into(), default_answer: SilentAnswer::Refused }
    }
}
