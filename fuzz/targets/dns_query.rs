//! Any bytes as a DNS query: read or refused; every reply made for it echoes its ID and reads back.
#![no_main]

use dns_wire::{BadQuery, DnsQuery, Ede, EdeCode, KeyBuffer, Rcode, synthesize};
use libfuzzer_sys::fuzz_target;
use vocab::NameBuffer;

const BLOCKED: Option<Ede<'_>> = Some(Ede { code: EdeCode::Blocked, text: "" });

fuzz_target!(|data: &[u8]| {
    let mut name = NameBuffer::new();
    let mut out = Vec::new();
    match DnsQuery::parse(data, &mut name) {
        Ok(query) => {
            let mut key = KeyBuffer::default();
            query.key(&mut key);
            assert_eq!(KeyBuffer::question(key.as_bytes()).len(), query.question.len());
            let makers: [fn(&DnsQuery<'_>, &mut Vec<u8>); 5] = [
                |query, out| synthesize::nodata(query, 10, BLOCKED, out),
                |query, out| synthesize::nxdomain(query, 10, BLOCKED, out),
                |query, out| synthesize::null(query, 10, BLOCKED, out),
                |query, out| synthesize::any(query, 10, out),
                |query, out| synthesize::error(query, Rcode::ServFail, out),
            ];
            for make in makers {
                out.clear();
                make(&query, &mut out);
                assert_eq!(out[..2], data[..2]);
                assert!(out[2] & 0x80 != 0, "a reply is a response");
            }
        }
        Err(BadQuery::Reply(reply)) => {
            synthesize::bad(&reply, &mut out);
            assert_eq!(out[..2], data[..2]);
        }
        Err(BadQuery::Cookie(reply, options)) => {
            synthesize::cookie_reply(&reply, 0, options, &mut out);
            assert!(out[..2] == data[..2] && out.len() <= data.len() + 23);
        }
        Err(BadQuery::Drop(_)) => {}
    }
});
