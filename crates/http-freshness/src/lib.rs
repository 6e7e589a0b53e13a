//! RFC 9111 as pure functions: what may be stored, what may be reused, and how it is said.
//!
//! Nothing here stores, fetches, sends or knows the time: requests, answers and moments are handed
//! in. Every refusal is a value that names its reason. Called by the store and by the doors that
//! cache; `explain` puts the same arithmetic in words.
//!
//! The life of a response: [`storing`] and [`kept`] when it comes; [`choose`] and [`reuse`] when it
//! is asked for; [`confirmed`] and [`freshened`] when the origin has been asked about it;
//! [`rescue`] when the origin could not be asked; [`invalidation`] when it may have changed.
//!
//! A client's own preconditions and ranges are not judged here: the door does, against the response
//! that these rules let it send, with [`StoredHead::etag`] and [`StoredHead::modified_unix_secs`].

mod age;
mod cache_status;
mod coding;
mod control;
mod date;
mod explain;
mod fields;
mod head;
mod invalidation;
mod language;
mod partial;
mod proxy_status;
mod quality;
mod response_control;
mod reuse;
mod reuse_terms;
mod rules;
mod seconds_text;
mod stale_on_error;
mod status_header;
mod storing;
mod tags;
mod target;
mod targeted;
mod update;
mod validation;
mod vary;

pub use cache_status::{CollapseStatus, Forward, HandledRequest, StoredStatus, cache_status};
pub use control::{RequestDirective, RequestDirectives};
pub use explain::{explain, why_not_fresh};
pub use head::{FIELDS_MAX, HEAD_BYTES_MAX, StoredHead, TooLarge, UnreadableHead};
pub use invalidation::{invalidation, is_safe};
pub use partial::{
    BodyPart, MissingRange, NotJoined, first_part, next_part, rest, strong_validator,
};
pub use proxy_status::{ProxyError, ProxyReport, proxy_status};
pub use reuse::{
    Doubt, Freshness, NotFetched, NotReused, RefreshMode, Reuse, StaleAllowed, freshness, miss,
    reuse,
};
pub use reuse_terms::{ChangeExpectation, LifetimeBasis, ReuseTerms, StaleBan, ValidationNeed};
pub use rules::{
    CacheAudience, CacheSide, CachingRules, DELTA_SECS_MAX, RedirectStorage, RequestControl,
    RequestFacts, ResponseFacts, SetCookie, StaleUse,
};
pub use seconds_text::SecondsText;
pub use stale_on_error::{NotRescued, OriginTrouble, stale_on_error};
pub use storing::{storable_head, storing};
pub use tags::{TAG_BYTES_MAX, TAGS_MAX};
pub use update::{HeadEffect, freshened, head_effect};
pub use validation::{ValidationConditions, confirmed};
pub use vary::{accepted_codings, choose, matches, varies_by_codings_at_most};
pub use vocab::NotStored;
