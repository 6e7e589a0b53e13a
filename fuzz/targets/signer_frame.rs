//! Any bytes as a message between Tidegate and its signer: none is read as something else than what
//! it says, and no end of a message is missed.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    assert!(signer::round_trips(data), "an order that does not come back as it went");
});
