//! Readings of a request's path: all that servers might take it for.
//!
//! Some decode `%2F` before they look where a path leads, some merge slashes, some take parameters
//! off its segments. Rules are held against each reading, and a route takes a request only where
//! all readings agree that it does: otherwise a spelling would lead past a password or a block to a
//! server that sees the very path which they are for. It decides about no request as a whole. Made
//! and asked while a route is sought.

use crate::path::{BadPath, EmptySegments, EncodedSlash, SlashRule, has_encoded_slash};
use crate::request::ParsedRequest;
use crate::route_match::{MatchInput, RouteMatch};
use std::iter::once;

/// Which requests a route takes, and how it reads them.
#[derive(Clone, Debug)]
pub struct RouteRule {
    /// Which requests.
    pub takes: RouteMatch,
    /// The rule by which it reads slashes of a path.
    pub slashes: SlashRule,
    /// Purpose of the route.
    pub purpose: RoutePurpose,
}

/// Tells what a route is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoutePurpose {
    /// Leads somewhere.
    Leads,
    /// Only blocks: the routes that follow decide then.
    Blocks,
}

/// A request in every reading that servers might have of it.
pub struct PathReadings<'w> {
    request: &'w ParsedRequest,
    /// Without the parameters of its segments.
    bare: Option<ParsedRequest>,
    /// By each rule, where those differ.
    by_rule: Option<Box<ReadingsByRule>>,
}

/// A path by every rule for slashes.
struct ReadingsByRule {
    /// Reason for which a route that reads no encoded slash refuses it; none where it has none.
    encoded: Option<BadPath>,
    /// In the order of [`index`].
    all: [Result<PathReading, BadPath>; 4],
}

/// A path by one rule.
struct PathReading {
    request: ParsedRequest,
    /// Without the parameters of its segments.
    bare: Option<ParsedRequest>,
}

/// Answer of a route to a request: taken or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteFit {
    /// By all readings.
    Matches,
    /// By none.
    NoMatch,
    /// Taken by some readings, not by others.
    Refused(BadPath),
}

impl<'w> PathReadings<'w> {
    /// All readings of a request.
    pub fn of(request: &'w ParsedRequest) -> Self {
        let by_rule = request.raw.as_deref().map(|raw| Box::new(ReadingsByRule::of(request, raw)));
        Self { request, bare: request.without_parameters(SlashRule::default()), by_rule }
    }

    /// Every reading, as first read first.
    pub fn all(&self) -> impl Iterator<Item = &ParsedRequest> {
        let by_rule = self.by_rule.iter().flat_map(|by_rule| by_rule.all.iter().flatten());
        let others = by_rule.flat_map(|reading| once(&reading.request).chain(&reading.bare));
        once(self.request).chain(&self.bare).chain(others)
    }

    /// The one that the route of `rule` goes by, if it takes the request.
    pub fn of_route(&self, rule: &RouteRule) -> &ParsedRequest {
        let own = self.by_rule.as_ref().and_then(|it| it.all[index(rule.slashes)].as_ref().ok());
        own.map_or(self.request, |reading| &reading.request)
    }

    /// Answer of the route of `rule` to the request. One that leads nowhere, and only blocks,
    /// takes it if any reading fits.
    pub fn matches(&self, rule: &RouteRule, asked: MatchInput<'_>) -> RouteFit {
        if let Some(by_rule) = &self.by_rule {
            return by_rule.matches(rule, asked);
        }
        let (any, all) = agreement(self.request, self.bare.as_ref(), rule, asked);
        match (any, all || rule.purpose == RoutePurpose::Blocks) {
            (false, _) => RouteFit::NoMatch,
            (true, true) => RouteFit::Matches,
            (true, false) => RouteFit::Refused(BadPath::Parameter),
        }
    }
}

impl ReadingsByRule {
    fn of(request: &ParsedRequest, raw: &str) -> Self {
        let encoded = has_encoded_slash(raw).then(|| {
            let has_backslash = raw.contains('\\') || raw.to_ascii_lowercase().contains("%5c");
            if has_backslash { BadPath::Backslash } else { BadPath::EncodedSlash }
        });
        let all = RULES.map(|rule| {
            let request = request.reread(raw, rule)?;
            Ok(PathReading { bare: request.without_parameters(rule), request })
        });
        Self { encoded, all }
    }

    fn matches(&self, rule: &RouteRule, asked: MatchInput<'_>) -> RouteFit {
        let own = &self.all[index(rule.slashes)];
        let (mut any, mut all, why) = match own {
            Err(wrong) => (false, false, *wrong),
            Ok(reading) => {
                let (any, all) = agreement(&reading.request, reading.bare.as_ref(), rule, asked);
                (any, all, if any == all { BadPath::Slashes } else { BadPath::Parameter })
            }
        };
        for other in self.other_readings(rule).iter().filter_map(|at| self.all[*at].as_ref().ok()) {
            let (one, both) = agreement(&other.request, other.bare.as_ref(), rule, asked);
            (any, all) = (any || one, all && both);
        }
        match (any, self.encoded) {
            (false, _) => RouteFit::NoMatch,
            (true, _) if rule.purpose == RoutePurpose::Blocks => RouteFit::Matches,
            (true, Some(why)) if rule.slashes.encoded == EncodedSlash::Refuse => {
                RouteFit::Refused(why)
            }
            (true, _) if all => RouteFit::Matches,
            (true, _) => RouteFit::Refused(why),
        }
    }

    /// Readings that servers of a route might have besides its own: none, where all is decoded and
    /// merged for them, or where its pattern is about such slashes itself.
    fn other_readings(&self, rule: &RouteRule) -> &'static [usize] {
        let SlashRule { encoded, empty } = rule.slashes;
        let is_encoded = self.encoded.is_some();
        if encoded == EncodedSlash::Refuse && is_encoded {
            return &[0, 1, 2, 3];
        }
        if rule.takes.path.mentions_slashes() {
            return &[];
        }
        match (encoded, empty) {
            (EncodedSlash::Keep, _) if is_encoded => &[0, 2, 3],
            (_, EmptySegments::Keep) => &[2],
            (_, EmptySegments::Merge) => &[],
        }
    }
}

/// Every way to read slashes; what a route refuses is read as if it were kept.
const RULES: [SlashRule; 4] = [
    SlashRule { encoded: EncodedSlash::Keep, empty: EmptySegments::Merge },
    SlashRule { encoded: EncodedSlash::Keep, empty: EmptySegments::Keep },
    SlashRule { encoded: EncodedSlash::Decode, empty: EmptySegments::Merge },
    SlashRule { encoded: EncodedSlash::Decode, empty: EmptySegments::Keep },
];

/// Place of a rule in [`RULES`].
const fn index(rule: SlashRule) -> usize {
    match (rule.encoded, rule.empty) {
        (EncodedSlash::Refuse | EncodedSlash::Keep, EmptySegments::Merge) => 0,
        (EncodedSlash::Refuse | EncodedSlash::Keep, EmptySegments::Keep) => 1,
        (EncodedSlash::Decode, EmptySegments::Merge) => 2,
        (EncodedSlash::Decode, EmptySegments::Keep) => 3,
    }
}

/// Agreement of a route with any of two readings, and with both; the second counts unless the
/// route's pattern is about parameters itself.
fn agreement(
    request: &ParsedRequest,
    bare: Option<&ParsedRequest>,
    rule: &RouteRule,
    asked: MatchInput<'_>,
) -> (bool, bool) {
    let fits = rule.takes.matches(request, asked);
    match bare.filter(|_| !rule.takes.path.mentions_parameters()) {
        None => (fits, fits),
        Some(bare) => {
            let bare = rule.takes.matches(bare, asked);
            (fits || bare, fits && bare)
        }
    }
}
