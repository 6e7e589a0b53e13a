//! Storing of an answer: whether it may be, and the terms of its use then (RFC 9111 §3).
//!
//! It stores nothing. A refusal names its reason, which stands in `Cache-Status`, in the ledger and
//! in `why`. Pure. Called by the store when the head of an answer is there.

use super::control::{RequestDirective, RequestDirectives};
use super::partial;
use super::response_control::{ResponseControl, ResponseFlag};
use super::reuse_terms::{self, LifetimeBasis, ReuseTerms, ValidationNeed};
use super::rules::{
    CacheAudience, CachingRules, RedirectStorage, RequestFacts, ResponseFacts, SetCookie, StaleUse,
};
use super::{date, fields, tags, target, vary};
use crate::head::{FIELDS_MAX, HEAD_BYTES_MAX, StoredHead};
use http::header::{self, HeaderMap};
use http::{Method, StatusCode};
use vocab::NotStored;

/// The terms on which an answer may be stored as what [`kept`] makes of it, or why it may not.
pub fn storing(
    rules: &CachingRules,
    asked: &RequestFacts<'_>,
    answered: &ResponseFacts<'_>,
) -> Result<ReuseTerms, NotStored> {
    let control = ResponseControl::of(rules, answered.fields);
    method(asked)?;
    if RequestDirectives::of(rules, asked.fields).has(RequestDirective::NoStore) {
        return Err(NotStored::RequestNoStore);
    }
    status(rules, answered.status)?;
    directives(rules, &control, answered.status)?;
    let explicit = reuse_terms::is_explicit(rules, &control, answered.fields);
    people(rules, &control, asked.fields)?;
    if !explicit && answered.fields.contains_key(header::SET_COOKIE) {
        return Err(NotStored::SetCookie);
    }
    if *asked.method == Method::POST {
        check_post(asked, answered)?;
        if !explicit {
            return Err(NotStored::PostWithoutFreshness);
        }
    }
    if !explicit
        && !control.has(ResponseFlag::Public)
        && !reuse_terms::is_heuristically_cacheable(answered.status)
    {
        return Err(NotStored::StatusWithoutFreshness);
    }
    vary::selecting(asked.fields, answered.fields)?;
    if answered.status == StatusCode::PARTIAL_CONTENT {
        partial::first_part(answered)?;
    }
    let head = storable_head(rules, asked, answered);
    on_terms(rules, &control, &head)
}

/// The terms of a head that has just been updated, or why it may not be stored any longer.
pub(crate) fn still_stored(
    rules: &CachingRules,
    head: &StoredHead,
) -> Result<ReuseTerms, NotStored> {
    let control = ResponseControl::of(rules, &head.fields);
    directives(rules, &control, head.status)?;
    vary::selecting(&head.selecting, &head.fields)?;
    on_terms(rules, &control, head)
}

fn on_terms(
    rules: &CachingRules,
    control: &ResponseControl,
    head: &StoredHead,
) -> Result<ReuseTerms, NotStored> {
    if rules.cookies == SetCookie::Refused && fields::sets_cookie(&head.fields) {
        return Err(NotStored::SetCookie);
    }
    tags::tags(&head.fields).map_err(|tags::TooMany| NotStored::Tags)?;
    size(&head.fields)?;
    let terms = ReuseTerms::under(rules, control, head);
    check_usefulness(rules, &terms, head)?;
    Ok(terms)
}

/// Returns what is stored of an answer that [`storing`] took: without the fields that are not
/// stored, with a `Date`, and with the fields of the request that selected it.
pub fn storable_head(
    rules: &CachingRules,
    asked: &RequestFacts<'_>,
    answered: &ResponseFacts<'_>,
) -> StoredHead {
    let mut fields = fields::stored(rules, answered.fields);
    // RFC 9110 §6.6.1: who has a clock and stores a response without a date gives it one.
    if date::field(&fields, &header::DATE).is_none() {
        fields.insert(header::DATE, date::value(answered.received_ms / 1000));
    }
    let selecting = vary::selecting(asked.fields, &fields).unwrap_or_default();
    let head = StoredHead {
        status: answered.status,
        fields,
        selecting,
        requested_ms: answered.requested_ms,
        received_ms: answered.received_ms,
    };
    if answered.status == StatusCode::PARTIAL_CONTENT { partial::as_whole(head) } else { head }
}

fn method(asked: &RequestFacts<'_>) -> Result<(), NotStored> {
    // A HEAD updates what is stored (§4.3.5), and is nothing to store itself.
    if *asked.method == Method::GET || *asked.method == Method::POST {
        Ok(())
    } else {
        Err(NotStored::Method)
    }
}

/// RFC 9110 §9.3.3: what a POST was answered with is what a GET would get only if it says so.
fn check_post(asked: &RequestFacts<'_>, answered: &ResponseFacts<'_>) -> Result<(), NotStored> {
    let location = answered.fields.get(header::CONTENT_LOCATION);
    if answered.status.is_success() && location.is_some_and(|it| target::is_same(asked.url, it)) {
        Ok(())
    } else {
        Err(NotStored::PostElsewhere)
    }
}

/// Refuses statuses that are no final answer, that answer conditions or parts of one request, and
/// those that RFC 6585 forbids to store.
fn status(rules: &CachingRules, status: StatusCode) -> Result<(), NotStored> {
    match status.as_u16() {
        300..=303 | 307 | 308 if rules.redirects == RedirectStorage::Refused => {
            Err(NotStored::Redirect)
        }
        100..200 | 304 => Err(NotStored::NotFinal),
        // An answer to what this client sent or who it is, or to this connection.
        401 | 407 | 408 | 412 | 416 | 417 | 421 | 426 | 428 | 429 | 431 | 511 => {
            Err(NotStored::Status)
        }
        _ => Ok(()),
    }
}

fn directives(
    rules: &CachingRules,
    control: &ResponseControl,
    status: StatusCode,
) -> Result<(), NotStored> {
    if control.has(ResponseFlag::MustUnderstand) {
        // §5.2.2.3: `no-store` beside it is for caches that do not know the directive.
        if !is_understood(status) {
            return Err(NotStored::NotUnderstood);
        }
    } else if control.has(ResponseFlag::NoStore) {
        return Err(NotStored::NoStore);
    }
    if rules.audience == CacheAudience::Shared && control.has(ResponseFlag::Private) {
        return Err(NotStored::Private);
    }
    Ok(())
}

/// Statuses of which this cache knows what they ask of caches: all that are registered.
fn is_understood(status: StatusCode) -> bool {
    matches!(
        status.as_u16(),
        200..=208 | 226 | 300..=305 | 307 | 308 | 400..=417 | 421..=426 | 428 | 429 | 431 | 451
            | 500..=508 | 511
    )
}

/// RFC 9111 §3.5: what came for a name and password goes to others only if the origin says so.
fn people(
    rules: &CachingRules,
    control: &ResponseControl,
    asked: &HeaderMap,
) -> Result<(), NotStored> {
    let allowed = control.has(ResponseFlag::Public)
        || control.has(ResponseFlag::MustRevalidate)
        || control.s_maxage_secs.is_some();
    match rules.audience {
        CacheAudience::Shared if asked.contains_key(header::AUTHORIZATION) && !allowed => {
            Err(NotStored::Authorization)
        }
        CacheAudience::Shared | CacheAudience::Private => Ok(()),
    }
}

/// Returns what is stale at once is worth its room only if it can be asked about or served stale.
fn check_usefulness(
    rules: &CachingRules,
    terms: &ReuseTerms,
    head: &StoredHead,
) -> Result<(), NotStored> {
    let can_validate =
        head.fields.contains_key(header::ETAG) || head.fields.contains_key(header::LAST_MODIFIED);
    if terms.validation == ValidationNeed::Always && !can_validate {
        return Err(NotStored::NoCache);
    }
    let serves_stale = terms.stale_while_revalidate_secs > 0
        || terms.stale_if_error_secs > 0
        || rules.stale >= StaleUse::WhenFailing;
    let is_fresh = u64::from(terms.lifetime_secs) * 1000 > terms.initial_age_ms;
    if is_fresh || can_validate || serves_stale {
        return Ok(());
    }
    Err(if terms.basis == LifetimeBasis::Nothing {
        NotStored::NoFreshness
    } else {
        NotStored::StaleAtOnce
    })
}

fn size(fields: &HeaderMap) -> Result<(), NotStored> {
    // A little more than what the encoding takes, with room for what selects the response.
    let bytes = fields.iter().map(|(name, it)| name.as_str().len() + it.len() + 6).sum::<usize>();
    let room = HEAD_BYTES_MAX - vary::SELECTING_BYTES_MAX - 64;
    if bytes > room || fields.len() > FIELDS_MAX - vary::NAMES_MAX - 1 {
        return Err(NotStored::HeadTooLarge);
    }
    Ok(())
}
