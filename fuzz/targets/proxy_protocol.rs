//! Any first bytes of a connection: a whole PROXY header stays the same whatever follows it, each
//! part of it is a beginning, what is wrong stays wrong, and nothing is waited for without end.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::net::SocketAddr;
use transport::proxy_protocol::{ProxyHeader, ProxyIntroduction, V2_BYTES_MAX, parse};

fuzz_target!(|data: &[u8]| {
    // Parts that may decide: all short ones, and those about the ends of what was found.
    let parts = (0..data.len().min(V2_BYTES_MAX + 2)).chain([data.len()]);
    let mut before = Ok(ProxyHeader::Incomplete);
    for end in parts {
        let here = parse(&data[..end]);
        match before {
            Ok(ProxyHeader::Incomplete) => {}
            Ok(ProxyHeader::Complete(..)) | Err(_) => {
                assert_eq!(here, before, "more bytes changed it")
            }
        }
        if let (Ok(ProxyHeader::Complete(introduced, length)), Ok(ProxyHeader::Incomplete)) =
            (here, before)
        {
            assert_eq!(length, end, "it was whole before, or is not");
            assert!(length <= V2_BYTES_MAX);
            named_as_written(&data[..length], introduced);
        }
        if end > V2_BYTES_MAX {
            assert_ne!(here, Ok(ProxyHeader::Incomplete), "longer than any header");
        }
        before = here;
    }
});

/// A second, simpler reading: an IPv4 client has one spelling in version 1 and four bytes in 2.
fn named_as_written(header: &[u8], introduced: ProxyIntroduction) {
    let ProxyIntroduction::Client(SocketAddr::V4(client)) = introduced else { return };
    let (ip, port) = (client.ip(), client.port());
    if header.starts_with(b"PROXY ") {
        let line = String::from_utf8(header.to_vec()).expect("version 1 is text");
        assert!(line.starts_with(&format!("PROXY TCP4 {ip} ")), "{line:?}");
        assert_eq!(line.split(' ').nth(4), Some(port.to_string().as_str()), "{line:?}");
    } else {
        assert_eq!(header[16..20], ip.octets());
        assert_eq!(header[24..26], port.to_be_bytes());
    }
}
