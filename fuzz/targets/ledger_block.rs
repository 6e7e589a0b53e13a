//! Any bytes as a block of the request log: rows or none, and a block made of them reads the same.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    // The first two bytes say how long the summary is.
    let Some((length, bytes)) = data.split_first_chunk::<2>() else { return };
    let length = usize::from(u16::from_le_bytes(*length)).min(bytes.len());
    let (summary, body) = bytes.split_at(length);
    assert!(
        ledger::block_round_trips(summary, body),
        "rows that are not written as they were read"
    );
});
