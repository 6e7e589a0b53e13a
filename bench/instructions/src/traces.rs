//! The looks that a request has at telemetry where none is configured: at its door, where it goes
//! out, and at its end.

use http::Request;
use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};
use telemetry::{ClientSpan, RequestArrival, ServerSpan, is_observed};
use vocab::Door;

/// Spans that are begun and rows that are wanted, of so many requests: none.
pub fn dormant(count: usize) -> usize {
    let mut request = Request::new(());
    let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let arrival = RequestArrival { door: Door::Gateway, peer, scheme: "http" };
    let mut begun = 0;
    for _ in 0..count {
        let request = black_box(&mut request);
        let server = ServerSpan::begin(request, arrival);
        let client = ClientSpan::begin(request, "http", String::new);
        begun += usize::from(server.is_some()) + usize::from(client.is_some());
        begun += usize::from(is_observed());
    }
    begun
}
