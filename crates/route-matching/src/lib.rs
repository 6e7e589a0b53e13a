//! Which route a request takes: its path in one normal form, patterns of hosts, paths and values,
//! and the URL patterns that block it.
//!
//! A path is read once, in every reading that a server might have of it; a route takes a request
//! only where all of them agree. Settings are checked by compiling them with the same parsers. It
//! knows no socket and no clock, and decides nothing about a request but which rules fit. The
//! gateway door calls it.

mod capture_groups;
mod expression;
mod host_pattern;
mod host_table;
mod location_template;
mod path;
mod path_pattern;
mod readings;
mod request;
mod rewrite;
mod route_match;
mod url_patterns;
mod value_pattern;

pub use crate::capture_groups::GroupNames;
pub use crate::expression::{BadExpression, MatchExpression};
pub use crate::host_pattern::{BadHost, HostPattern};
pub use crate::host_table::HostTable;
pub use crate::location_template::{
    BadLocation, LOCATION_BYTES_MAX, LocationFacts, LocationGroups, LocationTemplate, NoLocation,
};
pub use crate::path::{BadPath, EmptySegments, EncodedSlash, RequestPath, SlashRule};
pub use crate::path_pattern::{BadPathPattern, PathPattern};
pub use crate::readings::{PathReadings, RouteFit, RoutePurpose, RouteRule};
pub use crate::request::{ParsedRequest, PathSource, RequestAim, SlashRules};
pub use crate::rewrite::{BadRewrite, PathPrefix, PathRewrite, RewriteSettings};
pub use crate::route_match::{MatchInput, RouteMatch};
pub use crate::url_patterns::{
    BadUrlPattern, PATTERN_BYTES_MAX, PATTERNS_FILE_BYTES_MAX, PatternSet, PatternsError,
    REGEXES_BARE_MAX, REGEXES_MAX, check_pattern_line,
};
pub use crate::value_pattern::ValuePattern;
