//! Answers of a Redis that nobody trusts: what the gauge lets through is bounded, whole where the
//! gauge says that it is, and nothing in it is believed that was sealed with another secret.
#![no_main]

use fleet_live::{HostileAnswer, QUESTION_BYTES_MAX, ReplyGauge, WINDOW_VALUES_MAX};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let mut gauge = ReplyGauge::default();
    let outcome = gauge.take(input);
    let mut by_bytes = ReplyGauge::default();
    assert_eq!(input.iter().try_for_each(|byte| by_bytes.take(&[*byte])), outcome);
    let Ok(read) = HostileAnswer::read(input) else { return assert!(outcome.is_err()) };
    assert!(read.values <= WINDOW_VALUES_MAX);
    assert!(read.nodes <= 250 + 256);
    assert!(read.text_bytes <= 4096);
    assert!(read.carried_bytes <= QUESTION_BYTES_MAX && read.replies as u64 <= read.values);
    if gauge.is_between() && !input.is_empty() {
        assert!(!read.is_begun, "the library waits for more than the gauge");
    }
});
