//! Any bytes as a stream of DNS over QUIC: what is taken is the one message in it, of number 0 and
//! without the option that is for TCP.
#![no_main]

use dns_wire::options::iter_options;
use dns_wire::{DnsQuery, ask_options};
use door_dns::doq_question;
use libfuzzer_sys::fuzz_target;
use vocab::NameBuffer;

fuzz_target!(|data: &[u8]| {
    let Some(message) = doq_question(data) else { return };
    assert_eq!(usize::from(u16::from_be_bytes([data[0], data[1]])), message.len());
    assert!(message == &data[2..] && message[..2] == [0, 0]);
    let mut name = NameBuffer::new();
    if let Ok(query) = DnsQuery::parse(message, &mut name) {
        assert!(iter_options(query.options).all(|(code, _)| code != ask_options::OPTION_KEEPALIVE));
    }
});
