//! Steps of a pipeline as our settings know them, in the order in which it takes them.

use mosdns_compat::language::{
    CachePlugin, FallbackPlugin, ForwardPlugin, ListedRules, PlacedWord, RateLimit, SetWords,
    SourcePosition, UpstreamSpec,
};
use pipeline::program::{BlackHole, SubnetRule, TestSense, TtlRule};

/// A step and the rule that it comes from.
#[derive(Clone, Debug)]
pub(crate) struct PlacedStep<'f> {
    pub(crate) position: SourcePosition,
    pub(crate) step: FlowStep<'f>,
}

/// One step.
#[derive(Clone, Debug)]
pub(crate) enum FlowStep<'f> {
    /// Clients that may ask, or may not.
    Refuse(TestSense, &'f SetWords),
    /// A rate for each client.
    Limit(&'f RateLimit),
    /// Addresses of names.
    Hosts(&'f ListedRules),
    /// Records of one's own.
    Records(&'f ListedRules),
    /// Other names in a name's stead.
    Redirect(&'f ListedRules),
    /// Types that are answered with a code.
    RefuseTypes(&'f [u16], FixedAnswer),
    /// Names that are answered without asking anybody.
    Block(NameTest<'f>, FixedAnswer),
    /// Names of which others are asked.
    Route(NameTest<'f>, ForwardUse<'f>),
    /// Clients for whom others are asked.
    View(&'f SetWords, ForwardUse<'f>),
    /// Answers are kept.
    Cache(&'f CachePlugin),
    /// The part of a client's address that upstreams are told.
    Subnet(&'f SubnetRule),
    /// Lives of answers are changed.
    Ttl(TtlRule),
    /// Everything else is asked of these.
    Final(FinalSource<'f>),
}

/// Names that a rule is about.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NameTest<'f> {
    /// Words of `qname`.
    Words(&'f SetWords),
    /// Providers of `question`.
    Providers(&'f [PlacedWord]),
}

/// A `forward` with the upstreams that are chosen of it.
#[derive(Clone, Debug)]
pub(crate) struct ForwardUse<'f> {
    pub(crate) plugin: &'f ForwardPlugin,
    pub(crate) chosen: Vec<&'f UpstreamSpec>,
}

/// Servers that are asked in the end.
#[derive(Clone, Debug)]
pub(crate) enum FinalSource<'f> {
    /// One group.
    Forward(ForwardUse<'f>),
    /// A group, and another where it fails or is slow.
    Fallback(&'f FallbackPlugin, ForwardUse<'f>, ForwardUse<'f>),
}

/// An answer that needs nobody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FixedAnswer {
    /// A response code alone.
    Code(u16),
    /// A black hole's.
    Hole(BlackHole),
}

impl<'f> ForwardUse<'f> {
    /// The upstreams of a plugin with these tags; all of them without any.
    pub(crate) fn new(plugin: &'f ForwardPlugin, tags: &[String]) -> Option<Self> {
        let is_chosen = |it: &&UpstreamSpec| tags.is_empty() || tags.contains(&it.tag);
        let chosen: Vec<_> = plugin.upstreams.iter().filter(is_chosen).collect();
        let is_known = tags.iter().all(|tag| chosen.iter().any(|it| it.tag == *tag));
        (is_known && !chosen.is_empty()).then_some(Self { plugin, chosen })
    }
}
