//! The fields by which a trace goes from one process to the next (W3C Trace Context).

use crate::trace_context::TraceContext;
use http::{HeaderMap, HeaderName, HeaderValue};

/// The field of a span's place in its trace.
pub(crate) const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
/// The field of what tracing systems add to it.
pub(crate) const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");
/// Longest `tracestate` that is kept (Trace Context §3.3.1.5).
const TRACE_STATE_BYTES_MAX: usize = 512;

/// Writes our place in the trace over the one that was there.
pub(crate) fn tell(headers: &mut HeaderMap, context: TraceContext) {
    // Digits and dashes are a value.
    if let Ok(value) = HeaderValue::from_bytes(&context.text()) {
        headers.insert(TRACEPARENT, value);
    }
}

/// The `tracestate` of a request: its lines are one list.
pub(crate) fn trace_state(headers: &HeaderMap) -> String {
    let lines = headers.get_all(&TRACESTATE).iter().filter_map(|it| it.to_str().ok());
    let state = lines.collect::<Vec<_>>().join(",");
    if state.len() > TRACE_STATE_BYTES_MAX { String::new() } else { state }
}
