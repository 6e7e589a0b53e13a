//! What clients see of names that `$dnsrewrite` rules answer.

use crate::support;

use support::{A, AAAA, Bench, CNAME, HTTPS, labels, query_edns};

/// EDE 15, Blocked.
const BLOCKED: Option<u16> = Some(15);

#[test]
fn records_of_the_type_asked_for_are_given_and_no_others() {
    let bench = Bench::start(|_| {});
    let reply = bench.ask("www.records.test", A);
    assert_eq!((reply.rcode(), reply.counts()), (0, (2, 0)));
    assert_eq!(reply.address().to_string(), "192.0.2.8");
    let reply = bench.ask("records.test", HTTPS);
    assert_eq!((reply.rcode(), reply.counts()), (0, (1, 0)));
    let reply = bench.ask("records.test", AAAA);
    assert_eq!((reply.rcode(), reply.counts()), (0, (0, 1)));
    assert_eq!(bench.upstream.asked("records.test"), 0);
}

#[test]
fn another_name_is_looked_up_and_answered_as_the_one_asked_for() {
    let bench = Bench::start(|_| {});
    let reply = bench.ask("instead.test", A);
    assert_eq!((reply.rcode(), reply.address().to_string()), (0, "192.0.2.1".into()));
    assert!(reply.bytes[12..].starts_with(&labels("instead.test")), "the question stands");
    let alias = [&CNAME.to_be_bytes()[..], &1u16.to_be_bytes()].concat();
    assert!(reply.bytes.windows(4).any(|bytes| bytes == alias), "an alias is told");
    assert_eq!(bench.upstream.asked("instead.test"), 0);
    assert_eq!(bench.upstream.asked("other.test"), 1);
}

#[test]
fn response_codes_are_given_with_the_reason() {
    let bench = Bench::start(|_| {});
    for (name, rcode) in
        [("gone.rewritten.test", 3), ("not.rewritten.test", 5), ("empty.rewritten.test", 0)]
    {
        let reply = bench.exchange(&query_edns(7, name, A));
        assert_eq!((reply.rcode(), reply.counts().0), (rcode, 0), "{name}");
        assert_eq!(reply.extended_error(), BLOCKED, "{name}");
        assert_eq!(bench.upstream.asked(name), 0);
    }
}
