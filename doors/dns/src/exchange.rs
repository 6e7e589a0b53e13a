//! An exchange with upstreams: what a run asks for in the resolver's words, and what came of it in
//! the run's.

use pipeline::state::{RunFailure, WaitOutcome};
use resolver::{CacheId, GroupId, Resolution, ResolveError, ResolverQuestion};
use telemetry::UpstreamExchange;

/// The resolver's form of what a run asks for.
pub(crate) fn question(
    group: u16,
    cache: Option<u16>,
    key: Box<[u8]>,
    options: Box<[u8]>,
) -> ResolverQuestion {
    ResolverQuestion::from_key(key)
        .to(GroupId(group))
        .with_cache(cache.map(CacheId))
        .with_options(options)
}

/// Returns what came of an exchange, as the machine takes it.
pub(crate) fn of_upstream(resolution: Resolution) -> WaitOutcome {
    match resolution.result {
        Ok((answer, age_s)) => WaitOutcome::Answer(answer, age_s, resolution.source),
        Err(why) => WaitOutcome::Failed(match why {
            ResolveError::Overloaded => RunFailure::Overloaded,
            ResolveError::Loop => RunFailure::Loop,
            ResolveError::Unreachable | ResolveError::Tls => RunFailure::Network,
            ResolveError::Timeout | ResolveError::BadAnswer | ResolveError::Stopped => {
                RunFailure::Upstream
            }
        }),
    }
}

/// Ends the span of an exchange.
pub(crate) fn end_span(span: Option<Box<UpstreamExchange>>, resolution: &Resolution) {
    let Some(span) = span else { return };
    let failure = resolution.result.as_ref().err().map(|why| match why {
        ResolveError::Timeout => "timeout",
        ResolveError::Unreachable => "unreachable",
        ResolveError::Tls => "tls",
        ResolveError::BadAnswer => "bad_answer",
        ResolveError::Overloaded => "overloaded",
        ResolveError::Loop => "loop",
        ResolveError::Stopped => "stopped",
    });
    span.end(&resolution.upstream, resolution.source.as_str(), failure);
}
