//! HTTP responses of a fleet's second level: any bytes are a response or none, and what is one is
//! written and read as it was; a value that nobody of the fleet has sealed is none.
#![no_main]

use fleet_cache::{AnswerSeal, read_response, write_response};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static SEAL: LazyLock<AnswerSeal> = LazyLock::new(|| {
    AnswerSeal::new("0123456789abcdef0123456789abcdef", "tidegate").expect("a seal")
});

fuzz_target!(|input: &[u8]| {
    assert!(SEAL.open(7, input).is_none());
    let Some(read) = read_response(input) else { return };
    let written = write_response(&read).expect("what was read can be written");
    assert_eq!(read_response(&written), Some(read));
});
