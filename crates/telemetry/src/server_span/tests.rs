//! Traces that requests join, begin and pass on.

use super::*;
use crate::settings::{OtlpSettings, TraceSettings};
use http::HeaderValue;
use ledger::{AnonymiseMode, RuleTexts};
use std::sync::Arc;
use vocab::RuleRef;

const SAMPLED: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const UNSAMPLED: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

struct NoRules;

impl RuleTexts for NoRules {
    fn text(&self, _: RuleRef, _: &str) -> Option<(String, u32, String)> {
        None
    }
}

fn recorder(sample: f64) -> SignalRecorder {
    let traces = Some(TraceSettings { sample, ..TraceSettings::default() });
    let settings = OtlpSettings { traces, ..OtlpSettings::default() };
    SignalRecorder::new(&settings, AnonymiseMode::None, Arc::new(NoRules))
}

fn arrival(door: Door, peer: &str) -> RequestArrival {
    RequestArrival { door, peer: peer.parse().expect("an address"), scheme: "http" }
}

fn headers(traceparent: &'static str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(TRACEPARENT, HeaderValue::from_static(traceparent));
    headers.insert(TRACESTATE, HeaderValue::from_static("a=1"));
    headers
}

fn told(headers: &HeaderMap) -> Option<TraceContext> {
    TraceContext::parse(headers.get(TRACEPARENT)?.as_bytes())
}

#[test]
fn a_parent_that_is_trusted_is_continued_whatever_the_ratio() {
    let mut fields = headers(SAMPLED);
    let joined = join(&recorder(0.0), &mut fields, arrival(Door::Web, "127.0.0.1"));
    let joined = joined.expect("sampled by its parent");
    let parent = TraceContext::parse(SAMPLED.as_bytes()).expect("right");
    assert_eq!(joined.context.trace, parent.trace);
    assert_eq!(joined.parent, SpanParent::Remote(parent.span));
    assert_eq!(joined.trace_state, "a=1");
    assert_eq!(told(&fields), Some(joined.context));
    let mut fields = headers(UNSAMPLED);
    assert!(join(&recorder(1.0), &mut fields, arrival(Door::Web, "::1")).is_none());
    assert_eq!(fields.get(TRACEPARENT).expect("as it came").as_bytes(), UNSAMPLED.as_bytes());
}

#[test]
fn a_strangers_parent_is_taken_out() {
    let mut fields = headers(SAMPLED);
    let stranger = arrival(Door::Gateway, "203.0.113.7");
    let joined = join(&recorder(1.0), &mut fields, stranger).expect("all are sampled");
    assert_eq!(joined.parent, SpanParent::Root);
    assert_eq!(told(&fields), Some(joined.context));
    assert!(!fields.contains_key(TRACESTATE) && joined.trace_state.is_empty());
    let mut fields = headers(SAMPLED);
    fields.append(TRACEPARENT, HeaderValue::from_static(SAMPLED));
    let joined = join(&recorder(1.0), &mut fields, arrival(Door::Web, "127.0.0.1"));
    assert_eq!(joined.expect("all are").parent, SpanParent::Root, "two of them are none");
}

#[test]
fn what_is_not_recorded_is_told_to_servers_behind_the_gateway_alone() {
    for (door, is_told) in [(Door::Gateway, true), (Door::Proxy, false)] {
        let mut fields = HeaderMap::new();
        assert!(join(&recorder(0.0), &mut fields, arrival(door, "127.0.0.1")).is_none());
        assert_eq!(told(&fields).map(|it| it.is_sampled), is_told.then_some(false));
    }
}
