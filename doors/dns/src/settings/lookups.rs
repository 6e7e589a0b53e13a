//! Who is asked for whom: views, the second resort, private reverse zones; and what that is for the
//! resolver.
//!
//! Group and cache 0 are everybody's; each view has the next of each; the second resort is the last
//! group. It asks nobody itself. Called by `simple` and the binary.

use super::Settings;
use crate::special;
use resolver::{
    CacheSettings, GroupSettings, ResolverSettings, SelectionStrategy, UpstreamDetails,
    UpstreamSettings,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::time::Duration;
use vocab::{ByteSize, Complaint, DomainName, Network, TimeSpan};

/// Views, at most: each has a cache.
pub(crate) const VIEWS_MAX: usize = 32;

/// Memory of a view's cache where nothing is said.
const VIEW_CACHE_BYTES: u64 = 16 << 20;

/// Longest time that the first upstreams have before the second resort is asked.
const AFTER_MAX: Duration = Duration::from_secs(10);

/// Other upstreams, and a cache of their own, for some clients.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ViewSettings {
    /// Name. Required.
    pub name: String,
    /// Whom it is for: addresses and networks. Of several views that fit, the first counts. At
    /// least one.
    pub clients: Vec<Text<Network>>,
    /// Whom to ask, as in `dns.upstreams`. At least one.
    pub upstreams: Vec<UpstreamSettings>,
    /// Choice among several upstreams. Default: `dns.strategy`.
    #[serde(default)]
    pub strategy: Option<SelectionStrategy>,
    /// Cache. Default: as `dns.cache`, with a size of 16MiB.
    #[serde(default)]
    pub cache: Option<CacheSettings>,
}

/// A second resort.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FallbackSettings {
    /// Whom to ask when the first upstreams fail or are slow. At least one.
    pub upstreams: Vec<UpstreamSettings>,
    /// Time that the first ones have. Default 500ms, at most 10s.
    #[serde(default = "after_default")]
    pub after: Text<TimeSpan>,
    /// `always`: they are asked at the same time, and their answer is held back until it is needed.
    /// `when-needed`: they are asked then. Default `when-needed`.
    #[serde(default)]
    pub standby: StandbyRule,
}

/// When the second resort is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StandbyRule {
    /// With the first.
    Always,
    /// When the first fails or is slow.
    #[default]
    WhenNeeded,
}

fn after_default() -> Text<TimeSpan> {
    Text(TimeSpan(Duration::from_millis(500)))
}

impl Settings {
    /// Returns what the resolver is built from.
    pub fn resolver(&self) -> ResolverSettings {
        if let Some(foreign) = &self.foreign {
            return foreign.resolver.clone();
        }
        let mut upstreams = self.upstreams.clone();
        upstreams.extend(self.private_reverse.iter().map(private));
        let mut groups = vec![self.group("", upstreams, self.strategy)];
        let mut caches = vec![CacheSettings { name: "everybody".into(), ..self.cache.clone() }];
        for view in &self.views {
            let strategy = view.strategy.unwrap_or(self.strategy);
            groups.push(self.group(&view.name, view.upstreams.clone(), strategy));
            let cache = view.cache.clone().unwrap_or_else(|| self.cache_of_view());
            caches.push(CacheSettings { name: view.name.clone(), ..cache });
        }
        if let Some(fallback) = &self.fallback {
            groups.push(self.group("fallback", fallback.upstreams.clone(), self.strategy));
        }
        ResolverSettings { groups, caches }
    }

    fn group(
        &self,
        name: &str,
        upstreams: Vec<UpstreamSettings>,
        strategy: SelectionStrategy,
    ) -> GroupSettings {
        GroupSettings {
            name: name.into(),
            upstreams,
            strategy,
            response_selection: self.response_selection,
            probe: self.probe.clone(),
            concurrent: self.concurrent,
            bootstrap: self.bootstrap.clone(),
            timeout: self.timeout,
        }
    }

    /// As everybody's, but smaller.
    fn cache_of_view(&self) -> CacheSettings {
        let size = Text(ByteSize(self.cache.size.bytes().min(VIEW_CACHE_BYTES)));
        CacheSettings { size, ..self.cache.clone() }
    }

    /// The number of the second resort's group.
    pub(crate) fn fallback_group(&self) -> Option<u16> {
        self.fallback.as_ref().map(|_| self.views.len() as u16 + 1)
    }

    /// Returns how long the first upstreams have, and when the second resort is asked.
    pub(crate) fn fallback_rule(&self) -> (Duration, StandbyRule) {
        self.fallback.as_ref().map_or((Duration::ZERO, StandbyRule::WhenNeeded), |fallback| {
            (fallback.after.0.0, fallback.standby)
        })
    }

    /// The names that some upstream is responsible for.
    pub(crate) fn delegated(&self) -> Vec<DomainName> {
        let zones = self.private_reverse.iter().flat_map(|_| special::private_zones());
        let domains = self.upstreams.iter().flat_map(UpstreamSettings::domains);
        domains.map(|domain| domain.0.clone()).chain(zones).collect()
    }

    pub(crate) fn check_lookups(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        if self.views.len() > VIEWS_MAX {
            let message = format!("{} views are too many", self.views.len());
            complaints.push(Complaint::new("views", message).remedy("32 is the most"));
        }
        for (index, view) in self.views.iter().enumerate() {
            let at = format!("views.{index}");
            if view.clients.is_empty() {
                let message = "the view has no clients";
                complaints.push(
                    Complaint::new(format!("{at}.clients"), message)
                        .remedy("write addresses or networks, as in [192.168.1.64/26]"),
                );
            }
            if self.views[..index].iter().any(|other| other.name == view.name) {
                let message = format!("another view is called {:?} too", view.name);
                complaints.push(
                    Complaint::new(format!("{at}.name"), message)
                        .remedy("give each view a name of its own"),
                );
            }
            let group = self.group(&view.name, view.upstreams.clone(), self.strategy);
            complaints.extend(group.check().into_iter().map(|it| it.under(&at)));
            let cache = view.cache.iter().flat_map(CacheSettings::check);
            complaints.extend(cache.map(|it| it.under("cache").under(&at)));
        }
        if let Some(fallback) = &self.fallback {
            let group = self.group("fallback", fallback.upstreams.clone(), self.strategy);
            complaints.extend(group.check().into_iter().map(|it| it.under("fallback")));
            if fallback.after.0.0 > AFTER_MAX {
                let message = format!("{} is out of bounds", fallback.after);
                complaints.push(Complaint::new("fallback.after", message).remedy("at most 10s"));
            }
        }
        complaints
    }
}

/// An upstream that is asked about private reverse zones only.
fn private(upstream: &UpstreamSettings) -> UpstreamSettings {
    let details = match upstream {
        UpstreamSettings::Address(address) => {
            UpstreamDetails { address: address.clone(), ..UpstreamDetails::default() }
        }
        UpstreamSettings::Detailed(details) => details.clone(),
    };
    let name = details.name.clone().unwrap_or_else(|| format!("{} (reverse)", details.address));
    let domains = special::private_zones().map(Text).collect();
    UpstreamSettings::Detailed(UpstreamDetails { name: Some(name), domains, ..details })
}
