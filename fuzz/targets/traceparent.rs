//! Any `traceparent`: what is read is written as it was, but for flags that mean nothing here.
#![no_main]

use libfuzzer_sys::fuzz_target;
use telemetry::TraceContext;

fuzz_target!(|data: &[u8]| {
    let Some(context) = TraceContext::parse(data) else { return };
    assert_eq!(TraceContext::parse(&context.text()), Some(context));
    assert_eq!(&context.text()[2..53], &data[2..53]);
    let child = context.child();
    assert_eq!((child.trace, child.is_sampled), (context.trace, context.is_sampled));
});
