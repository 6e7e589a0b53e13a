//! Any text as a table of sockets: what makes sense is read, and nothing else.
#![no_main]

use diagnosis::{SocketProtocol, parse_sockets};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for protocol in [SocketProtocol::Tcp, SocketProtocol::Udp] {
        let found = parse_sockets(text, protocol);
        assert!(found.len() <= text.lines().count());
    }
});
