//! What is said of it: RFC 9211, RFC 9209.

use http::StatusCode;
use http_freshness::{
    CollapseStatus, Doubt, Forward, Freshness, HandledRequest, NotFetched, NotRescued, NotReused,
    NotStored, ProxyError, ProxyReport, StaleAllowed, StaleBan, StoredStatus, cache_status,
    proxy_status,
};
use sfv::{List, Parser};

use vocab::{CacheUse, Caching};

fn check(handled: &HandledRequest, expected: &str) {
    let value = cache_status("tidegate", handled);
    assert_eq!(value, expected);
    Parser::new(value.as_bytes()).parse::<List>().expect("a list of structured fields");
}

const FRESH: Freshness = Freshness { age_secs: 3, ttl_secs: 57 };
const STALE: Freshness = Freshness { age_secs: 63, ttl_secs: -3 };

#[test]
fn hits_say_how_long_they_are_fresh() {
    check(&HandledRequest::Hit { freshness: FRESH, stale: None }, "tidegate;hit;ttl=57");
    check(
        &HandledRequest::Hit { freshness: STALE, stale: Some(StaleAllowed::WhileRevalidate) },
        "tidegate;hit;ttl=-3;detail=stale-while-revalidate",
    );
    check(&HandledRequest::Refused(NotFetched::OnlyIfCached), "tidegate;detail=only-if-cached");
}

#[test]
fn the_ledger_is_told_the_same() {
    let forwarded = |why, collapse, kept| HandledRequest::Forwarded {
        reason: why,
        status: None,
        collapse,
        stored: kept,
    };
    let alone = |why| forwarded(why, CollapseStatus::None, None);
    let miss = |kept| forwarded(Forward::UriMiss, CollapseStatus::None, Some(kept));
    let rescued =
        |why| HandledRequest::StaleOnError { freshness: STALE, allowed_by: why, status: None };
    let stale = |why| HandledRequest::Hit { freshness: STALE, stale: Some(why) };
    for (handled, used) in [
        (HandledRequest::Hit { freshness: FRESH, stale: None }, CacheUse::Hit),
        (stale(StaleAllowed::MaxStale), CacheUse::MaxStale),
        (stale(StaleAllowed::WhileRevalidate), CacheUse::WhileRevalidate),
        (stale(StaleAllowed::Relaxed), CacheUse::Relaxed),
        (stale(StaleAllowed::Offline), CacheUse::Offline),
        (rescued(StaleAllowed::IfError), CacheUse::IfError),
        (rescued(StaleAllowed::Unreachable), CacheUse::Unreachable),
        (rescued(StaleAllowed::Failing), CacheUse::Failing),
        (HandledRequest::Refused(NotFetched::OnlyIfCached), CacheUse::OnlyIfCached),
        (HandledRequest::Refused(NotFetched::Offline), CacheUse::OfflineMiss),
        (forwarded(Forward::UriMiss, CollapseStatus::Collapsed, None), CacheUse::Collapsed),
        (alone(Forward::Bypass), CacheUse::Bypass),
        (alone(Forward::VaryMiss), CacheUse::VaryMiss),
        (alone(Forward::Partial), CacheUse::Partial),
        (alone(Forward::Doubt(Doubt::Stale)), CacheUse::Stale),
        (alone(Forward::Doubt(Doubt::NoCache)), CacheUse::NoCache),
        (alone(Forward::Doubt(Doubt::ClientNoCache)), CacheUse::ClientNoCache),
        (alone(Forward::Doubt(Doubt::ClientMaxAge)), CacheUse::ClientMaxAge),
        (alone(Forward::Doubt(Doubt::ClientMinFresh)), CacheUse::ClientMinFresh),
        (alone(Forward::Never(NotReused::ForOrigin)), CacheUse::Precondition),
        (alone(Forward::Never(NotReused::Method)), CacheUse::Method),
        (miss(StoredStatus::Stored { ttl_secs: 60 }), CacheUse::UriMiss),
        (miss(StoredStatus::NotRescued(NotRescued::NoError)), CacheUse::UriMiss),
    ] {
        assert_eq!(handled.caching(), Caching { outcome: used, not_stored: None }, "{handled:?}");
    }
    for why in NotStored::ALL {
        let expected = Caching { outcome: CacheUse::UriMiss, not_stored: Some(*why) };
        assert_eq!(miss(StoredStatus::Not(*why)).caching(), expected);
    }
}

#[test]
fn questions_say_why_and_what_became_of_the_answer() {
    let forwarded = |why, status, collapse, kept| HandledRequest::Forwarded {
        reason: why,
        status,
        collapse,
        stored: kept,
    };
    check(
        &forwarded(
            Forward::UriMiss,
            None,
            CollapseStatus::None,
            Some(StoredStatus::Stored { ttl_secs: 60 }),
        ),
        "tidegate;fwd=uri-miss;stored;ttl=60",
    );
    check(
        &forwarded(
            Forward::UriMiss,
            None,
            CollapseStatus::Collapsed,
            Some(StoredStatus::Not(NotStored::NoStore)),
        ),
        "tidegate;fwd=uri-miss;collapsed;detail=no-store",
    );
    check(
        &forwarded(
            Forward::Doubt(Doubt::Stale),
            Some(StatusCode::NOT_MODIFIED),
            CollapseStatus::None,
            Some(StoredStatus::Stored { ttl_secs: 9 }),
        ),
        "tidegate;fwd=stale;fwd-status=304;stored;ttl=9",
    );
    check(
        &forwarded(Forward::Doubt(Doubt::ClientNoCache), None, CollapseStatus::None, None),
        "tidegate;fwd=request;detail=client-no-cache",
    );
    check(
        &forwarded(
            Forward::Doubt(Doubt::Stale),
            None,
            CollapseStatus::None,
            Some(StoredStatus::NotRescued(NotRescued::Banned(StaleBan::MustRevalidate))),
        ),
        "tidegate;fwd=stale;detail=stale-banned",
    );
    for (why, expected) in [
        (Forward::Bypass, "bypass"),
        (Forward::VaryMiss, "vary-miss"),
        (Forward::Partial, "partial"),
        (Forward::Never(NotReused::Method), "method"),
        (Forward::Never(NotReused::Vary), "vary-miss"),
        (Forward::Doubt(Doubt::ClientMaxAge), "request;detail=client-max-age"),
        (Forward::Doubt(Doubt::ClientMinFresh), "request;detail=client-min-fresh"),
        (Forward::Doubt(Doubt::NoCache), "stale;detail=no-cache"),
        (Forward::Never(NotReused::ForOrigin), "request;detail=precondition"),
    ] {
        check(
            &forwarded(why, None, CollapseStatus::None, None),
            &format!("tidegate;fwd={expected}"),
        );
    }
    check(
        &HandledRequest::StaleOnError {
            freshness: STALE,
            allowed_by: StaleAllowed::IfError,
            status: Some(StatusCode::BAD_GATEWAY),
        },
        "tidegate;fwd=stale;fwd-status=502;ttl=-3;detail=stale-if-error",
    );
}

#[test]
fn names_and_texts_are_escaped() {
    let hit = HandledRequest::Hit { freshness: FRESH, stale: None };
    assert_eq!(cache_status("my cache", &hit), "\"my cache\";hit;ttl=57");
    assert_eq!(cache_status("a\"\\\r\nü", &hit), "\"a\\\"\\\\???\";hit;ttl=57");
    let report = ProxyReport {
        error: Some(ProxyError::ConnectionRefused),
        next_hop: Some("192.0.2.1:80"),
        received_status: Some(StatusCode::IM_A_TEAPOT),
        details: Some("a \"quoted\"\nline"),
    };
    assert_eq!(
        proxy_status("tidegate", &report),
        "tidegate;error=connection_refused;next-hop=\"192.0.2.1:80\";received-status=418;\
         details=\"a \\\"quoted\\\"?line\""
    );
    let long = "x".repeat(1000);
    let report = ProxyReport { details: Some(&long), ..ProxyReport::default() };
    assert_eq!(proxy_status("tidegate", &report).len(), "tidegate;details=\"\"".len() + 256);
    assert_eq!(ProxyError::ConnectionTimeout.status(), Some(StatusCode::GATEWAY_TIMEOUT));
    assert_eq!(ProxyError::ProxyInternalResponse.status(), None);
}
