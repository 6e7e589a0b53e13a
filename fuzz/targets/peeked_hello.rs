//! Any first bytes of a tunnel: what they are is told once and stays so whatever follows, a name is
//! one that stands in them, and nothing is waited for without end.
#![no_main]

use libfuzzer_sys::fuzz_target;
use transport::tls::{CLIENT_HELLO_BYTES_MAX, ClientHello, read_client_hello};

fuzz_target!(|data: &[u8]| {
    let mut before = ClientHello::Unfinished;
    for end in (0..data.len().min(512)).chain([data.len()]) {
        let here = read_client_hello(&data[..end]);
        if before != ClientHello::Unfinished && end <= CLIENT_HELLO_BYTES_MAX {
            assert_eq!(here, before, "more bytes changed it");
        }
        if let ClientHello::Server(name) = &here {
            let plain = data[..end].to_ascii_lowercase();
            // One record after another may stand within a name.
            let first = name.as_bytes().first().expect("a name is not empty");
            assert!(plain.contains(first));
        }
        if end > CLIENT_HELLO_BYTES_MAX {
            assert_eq!(here, ClientHello::Malformed, "longer than any hello");
        }
        before = here;
    }
});
