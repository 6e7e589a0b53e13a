//! Any bytes as an upstream's answer: kept or refused; what is kept is written within its limit for
//! every size, fresh and stale.
#![no_main]

use dns_wire::ask_options::{self, ResponseOpt};
use dns_wire::{DnsQuery, WireAnswer};
use domain::base::iana::Class;
use domain::base::{Message, ParsedName};
use domain::rdata::AllRecordData;
use libfuzzer_sys::fuzz_target;
use vocab::NameBuffer;

/// `www.example.com A` with EDNS, as a client asks it.
const QUERY: &[u8] = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x01\x03www\x07example\x03com\x00\x00\x01\x00\x01\x00\x00\x29\x04\xd0\x00\x00\x80\x00\x00\x00";

/// Every name and record of what is taken from an upstream is one to the `domain` crate too.
fn assert_sound(message: &[u8]) {
    let read = Message::from_octets(message).expect("it has a header");
    let (question, answer, authority, additional) = read.sections().expect("it has its sections");
    assert_eq!(question.filter(Result::is_ok).count(), 1);
    for section in [answer, authority, additional] {
        for record in section {
            let record = record.expect("its owner and lengths are sound");
            if record.class() == Class::IN {
                record
                    .to_any_record::<AllRecordData<_, ParsedName<_>>>()
                    .expect("its data are sound");
            }
        }
    }
}

fuzz_target!(|data: &[u8]| {
    // Whatever it is, its options are found or not, and its times can be made older.
    let _ = ResponseOpt::of(data).map(|it| (it.rcode, it.option(ask_options::OPTION_COOKIE)));
    let mut aged = data.to_vec();
    ask_options::age_ttls(&mut aged, 7);
    assert!(aged.len() == data.len() && ask_options::question_name(data) <= Some(255));
    if let Ok(taken) = WireAnswer::from_upstream(data) {
        assert_sound(taken.message());
        // What was scrubbed once has nothing left to scrub.
        let again = WireAnswer::from_upstream(taken.message()).map(|it| it.with_options_of(&taken));
        assert_eq!(again.as_ref(), Ok(&taken));
    }
    let Ok(answer) = WireAnswer::from_response(data) else { return };
    assert!(answer.len() <= data.len());
    let _ = (answer.aliases().len(), answer.addresses().count(), answer.ttl(), answer.rcode());
    let mut name = NameBuffer::new();
    let query = DnsQuery::parse(QUERY, &mut name).expect("written above");
    if !answer.matches(query.question) {
        return;
    }
    let mut out = Vec::new();
    for limit in [512, 1232, 4096, 65_535] {
        for age in [0, 1, u32::MAX] {
            out.clear();
            answer.write(&query, age, limit, &mut out);
            assert!(out.len() <= limit && out[..2] == QUERY[..2]);
        }
        out.clear();
        answer.write_stale(&query, limit, &mut out);
        assert!(out.len() <= limit);
    }
});
