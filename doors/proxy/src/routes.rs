//! Which way out a host has: direct, or which parents.
//!
//! It connects to nobody. Made anew from the settings on every reload; called by `request`.

use crate::settings::{Place, Settings};
use upstream::origins::{Host, Way};

/// The ways out.
pub(crate) struct Routes {
    rules: Vec<(Vec<Place>, Way)>,
    rest: Way,
}

impl Routes {
    pub(crate) fn new(settings: &Settings) -> Self {
        let rules = settings.parents.iter().map(|rule| {
            let places = rule.domains.iter().map(|place| place.0.clone()).collect();
            (places, Way::new(rule.parent.hops().cloned()))
        });
        let rest = settings.parent.iter().flat_map(|parent| parent.hops().cloned());
        Self { rules: rules.collect(), rest: Way::new(rest) }
    }

    /// The way to `host`: of the first entry that has it.
    pub(crate) fn way(&self, host: &Host) -> &Way {
        let rule = self.rules.iter().find(|(places, _)| places.iter().any(|it| it.holds(host)));
        rule.map_or(&self.rest, |(_, way)| way)
    }
}
