//! Readings of a request's path: all that servers might take it for.
//!
//! Some decode `%2F` before they look where a path leads, some merge slashes, some take parameters
//! off its segments. Rules are held against each reading, and a route takes a request only where
//! all readings agree that it does: otherwise a spelling would lead past a password or a block to a
//! server that sees the very path which they are for. It decides about no request as a whole. Made
//! and asked by `decide`.

use crate::matching::MatchInput;
use crate::path::{BadPath, EmptySegments, SlashRule, has_encoded_slash};
use crate::request::GatewayRequest;
use crate::route::GatewayRoute;
use crate::settings::EncodedSlash;
use std::iter::once;

/// Rules for slashes that the routes of a gateway have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlashRules {
    /// All by the default: encoded ones are refused, several are one.
    Alike,
    /// Each by its own.
    ByRoute,
}

/// A request in every reading that servers might have of it.
pub(crate) struct PathReadings<'w> {
    wish: &'w GatewayRequest,
    /// Without the parameters of its segments.
    bare: Option<GatewayRequest>,
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
    wish: GatewayRequest,
    /// Without the parameters of its segments.
    bare: Option<GatewayRequest>,
}

/// Answer of a route to a request: taken or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RouteFit {
    Taken,
    NotTaken,
    /// Taken by some readings, not by others.
    Refused(BadPath),
}

impl<'w> PathReadings<'w> {
    pub(crate) fn of(wish: &'w GatewayRequest) -> Self {
        let by_rule = wish.raw.as_deref().map(|raw| Box::new(ReadingsByRule::of(wish, raw)));
        Self { wish, bare: wish.without_parameters(SlashRule::default()), by_rule }
    }

    /// Every reading, as first read first.
    pub(crate) fn all(&self) -> impl Iterator<Item = &GatewayRequest> {
        let by_rule = self.by_rule.iter().flat_map(|by_rule| by_rule.all.iter().flatten());
        let others = by_rule.flat_map(|reading| once(&reading.wish).chain(&reading.bare));
        once(self.wish).chain(&self.bare).chain(others)
    }

    /// The one that `route` goes by, if it takes the request.
    pub(crate) fn of_route(&self, route: &GatewayRoute) -> &GatewayRequest {
        let own = self.by_rule.as_ref().and_then(|it| it.all[index(route.slashes)].as_ref().ok());
        own.map_or(self.wish, |reading| &reading.wish)
    }

    /// Answer of `route` to the request. One that leads nowhere, and only blocks, takes it if any
    /// reading fits.
    pub(crate) fn fit(&self, route: &GatewayRoute, asked: MatchInput<'_>) -> RouteFit {
        if let Some(by_rule) = &self.by_rule {
            return by_rule.fit(route, asked);
        }
        let (any, all) = agreement(self.wish, self.bare.as_ref(), route, asked);
        match (any, all || route.to.is_none()) {
            (false, _) => RouteFit::NotTaken,
            (true, true) => RouteFit::Taken,
            (true, false) => RouteFit::Refused(BadPath::Parameter),
        }
    }
}

impl ReadingsByRule {
    fn of(wish: &GatewayRequest, raw: &str) -> Self {
        let encoded = has_encoded_slash(raw).then(|| {
            let has_backslash = raw.contains('\\') || raw.to_ascii_lowercase().contains("%5c");
            if has_backslash { BadPath::Backslash } else { BadPath::EncodedSlash }
        });
        let all = RULES.map(|rule| {
            let wish = wish.reread(raw, rule)?;
            Ok(PathReading { bare: wish.without_parameters(rule), wish })
        });
        Self { encoded, all }
    }

    fn fit(&self, route: &GatewayRoute, asked: MatchInput<'_>) -> RouteFit {
        let own = &self.all[index(route.slashes)];
        let (mut any, mut all, why) = match own {
            Err(wrong) => (false, false, *wrong),
            Ok(reading) => {
                let (any, all) = agreement(&reading.wish, reading.bare.as_ref(), route, asked);
                (any, all, if any == all { BadPath::Slashes } else { BadPath::Parameter })
            }
        };
        for other in self.others(route).iter().filter_map(|at| self.all[*at].as_ref().ok()) {
            let (one, both) = agreement(&other.wish, other.bare.as_ref(), route, asked);
            (any, all) = (any || one, all && both);
        }
        match (any, self.encoded) {
            (false, _) => RouteFit::NotTaken,
            (true, _) if route.to.is_none() => RouteFit::Taken,
            (true, Some(why)) if route.slashes.encoded == EncodedSlash::Refuse => {
                RouteFit::Refused(why)
            }
            (true, _) if all => RouteFit::Taken,
            (true, _) => RouteFit::Refused(why),
        }
    }

    /// Readings that servers of a route might have besides its own: none, where all is decoded and
    /// merged for them, or where its pattern is about such slashes itself.
    fn others(&self, route: &GatewayRoute) -> &'static [usize] {
        let SlashRule { encoded, empty } = route.slashes;
        let is_encoded = self.encoded.is_some();
        if encoded == EncodedSlash::Refuse && is_encoded {
            return &[0, 1, 2, 3];
        }
        if route.takes.path.says_slashes() {
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
    wish: &GatewayRequest,
    bare: Option<&GatewayRequest>,
    route: &GatewayRoute,
    asked: MatchInput<'_>,
) -> (bool, bool) {
    let fits = route.takes.fits(wish, asked);
    match bare.filter(|_| !route.takes.path.says_parameters()) {
        None => (fits, fits),
        Some(bare) => {
            let bare = route.takes.fits(bare, asked);
            (fits || bare, fits && bare)
        }
    }
}
