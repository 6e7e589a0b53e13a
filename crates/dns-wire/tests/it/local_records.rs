//! Local records: read as a zone file reads them, answered as a server would.

use crate::oracle;

use dns_wire::records::LocalRecords;
use domain::base::Rtype;
use oracle::{Edns, Read, parse, query, read};

fn records(lines: &[&str]) -> LocalRecords {
    LocalRecords::parse(lines).unwrap()
}

fn ask(records: &LocalRecords, owner: &str, qtype: Rtype) -> Option<Read> {
    let packet = query(owner, qtype, Edns::Size(1232));
    let mut text = vocab::NameBuffer::new();
    let asked = dns_wire::DnsQuery::parse(&packet, &mut text).unwrap();
    let answer = records.lookup(text.as_name(), asked.qtype)?;
    let mut out = Vec::new();
    answer.write(&asked, asked.udp_limit(), &mut out);
    Some(read(&out))
}

fn answers(records: &LocalRecords, owner: &str, qtype: Rtype) -> Vec<String> {
    ask(records, owner, qtype).unwrap().answers
}

/// The complaints about one bad line after a good one.
fn complaint(line: &str) -> String {
    let bad = LocalRecords::parse(&["good.lan A 192.0.2.1", line]).unwrap_err();
    assert_eq!(bad.len(), 1, "{bad:?}");
    assert_eq!(bad[0].index, 1);
    bad[0].message.clone()
}

#[test]
fn a_record_is_answered_for_its_name_and_type() {
    let records = records(&["Router.lan A 192.168.1.1", "router.lan 60 A 192.168.1.2"]);
    let found = ask(&records, "ROUTER.lan", Rtype::A).unwrap();
    assert_eq!(found.answers, ["ROUTER.lan 300 A 192.168.1.1", "ROUTER.lan 60 A 192.168.1.2"]);
    assert!(found.opt.is_some());
    let nothing = ask(&records, "router.lan", Rtype::AAAA).unwrap();
    assert_eq!((nothing.answers.len(), nothing.authorities.len()), (0, 1));
    assert_eq!(ask(&records, "a.router.lan", Rtype::A), None);
    assert_eq!(ask(&records, "lan", Rtype::A), None);
}

#[test]
fn two_bars_mean_a_name_and_all_below() {
    let records = records(&[
        "||dev.example^ A 10.0.0.5",
        "||db.dev.example A 10.0.0.6",
        "www.dev.example AAAA 2001:db8::1",
    ]);
    assert_eq!(answers(&records, "dev.example", Rtype::A), ["dev.example 300 A 10.0.0.5"]);
    assert_eq!(answers(&records, "a.b.dev.example", Rtype::A), ["a.b.dev.example 300 A 10.0.0.5"]);
    assert_eq!(
        answers(&records, "x.db.dev.example", Rtype::A),
        ["x.db.dev.example 300 A 10.0.0.6"]
    );
    // The exact name is all that counts for itself.
    assert_eq!(answers(&records, "www.dev.example", Rtype::A), Vec::<String>::new());
    assert_eq!(ask(&records, "notdev.example", Rtype::A), None);
}

#[test]
fn every_type_works() {
    let records = records(&[
        "lan MX 10 mail.lan.",
        "lan TXT \"hello world\" more",
        "_ipp._tcp.lan SRV 0 0 631 printer.lan.",
        "lan HTTPS 1 . alpn=h2",
        "1.1.168.192.in-addr.arpa PTR router.lan.",
        "lan TYPE65280 \\# 2 abcd",
    ]);
    assert_eq!(answers(&records, "lan", Rtype::MX), ["lan 300 MX 10 mail.lan."]);
    assert_eq!(answers(&records, "lan", Rtype::TXT).len(), 1);
    assert_eq!(answers(&records, "_ipp._tcp.lan", Rtype::SRV).len(), 1);
    assert_eq!(answers(&records, "lan", Rtype::HTTPS).len(), 1);
    assert_eq!(
        answers(&records, "1.1.168.192.in-addr.arpa", Rtype::PTR),
        ["1.1.168.192.in-addr.arpa 300 PTR router.lan."]
    );
    assert_eq!(answers(&records, "lan", Rtype::from_int(65280)).len(), 1);
}

#[test]
fn names_without_a_dot_at_their_end_are_whole_all_the_same() {
    let records = records(&["lan MX 10 mail.lan"]);
    assert_eq!(answers(&records, "lan", Rtype::MX), ["lan 300 MX 10 mail.lan."]);
}

#[test]
fn an_alias_brings_what_it_leads_to() {
    let records = records(&[
        "www.lan CNAME web.lan.",
        "web.lan 60 CNAME host.dev.lan.",
        "||dev.lan A 10.0.0.7",
    ]);
    assert_eq!(
        answers(&records, "WWW.lan", Rtype::A),
        [
            "WWW.lan 300 CNAME web.lan.",
            "web.lan 60 CNAME host.dev.lan.",
            "host.dev.lan 300 A 10.0.0.7"
        ]
    );
    assert_eq!(answers(&records, "www.lan", Rtype::AAAA).len(), 2);
    assert_eq!(answers(&records, "www.lan", Rtype::CNAME), ["www.lan 300 CNAME web.lan."]);
}

#[test]
fn a_bad_record_is_named() {
    assert!(complaint("router.lan").contains("a name, a type and a value are needed"));
    assert!(complaint("router.lan A 1.2.3").contains("is no record"));
    assert!(complaint("router.lan A 1.2.3.4 5").contains("is no record"));
    assert!(complaint("router.lan QQ 1.2.3.4").contains("is no record"));
    assert!(complaint("bad..lan A 1.2.3.4").contains("empty label"));
    assert!(complaint("$INCLUDE /etc/passwd").contains("$INCLUDE"));
    assert!(complaint("router.lan CH A 1.2.3.4").contains("class"));
    assert!(complaint("a.lan A 1.2.3.4\nb.lan A 1.2.3.4").contains("one line"));
    assert!(complaint("a.lan TXT ( \"x\"").contains("parentheses"));
    assert!(complaint("a.lan TXT \"x").contains("quotation mark"));
    assert!(complaint("a.lan TXT x\\").contains("backslash"));
    assert!(complaint("a.lan CNAME elsewhere.example.").contains("has no local record"));
    assert!(complaint("good.lan CNAME good.lan.").contains("can have no other record"));
}

#[test]
fn aliases_in_a_ring_are_refused() {
    let bad = LocalRecords::parse(&["a.lan CNAME b.lan.", "b.lan CNAME a.lan."]).unwrap_err();
    assert!(bad.iter().all(|it| it.message.contains("lead too far")), "{bad:?}");
}

#[test]
fn all_bad_records_are_named_at_once() {
    let bad = LocalRecords::parse(&["x", "a.lan A 1.2.3.4", "b.lan A nowhere"]).unwrap_err();
    assert_eq!(bad.iter().map(|it| it.index).collect::<Vec<_>>(), [0, 2]);
}

#[test]
fn what_does_not_fit_is_truncated() {
    let lines: Vec<String> = (0..60).map(|i| format!("big.lan A 10.0.0.{i}")).collect();
    let records = LocalRecords::parse(&lines).unwrap();
    let packet = query("big.lan", Rtype::A, Edns::None);
    let (asked, _) = parse(&packet).unwrap();
    let name = vocab::DomainName::parse("big.lan").unwrap();
    let mut out = Vec::new();
    records.lookup(name.as_name(), 1).unwrap().write(&asked, 512, &mut out);
    let cut = read(&out);
    assert_eq!((cut.truncated, cut.answers.len()), (true, 0));
    out.clear();
    records.lookup(name.as_name(), 1).unwrap().write(&asked, 65_535, &mut out);
    assert_eq!(read(&out).answers.len(), 60);
}

#[test]
fn no_line_at_all_makes_it_fail_otherwise() {
    const PARTS: &[&str] = &[
        "A",
        "TXT",
        "MX",
        "HTTPS",
        "SRV",
        "CNAME",
        "SVCB",
        "NAPTR",
        "CAA",
        "SSHFP",
        "TYPE1",
        "TYPE300",
        "\\#",
        "DS",
        "RRSIG",
        "NSEC",
        "NSEC3",
        "ZONEMD",
        "IN",
        "CH",
        "60",
        "4294967296",
        "1.2.3.4",
        "::1",
        "a.b",
        "\"",
        "\"x y\"",
        "(",
        ")",
        ";",
        "\\",
        "\\300",
        "\\046",
        "\\0",
        "alpn=h2",
        "key1=\"",
        "mandatory=",
        ".",
        "..",
        "@",
        "$TTL",
        "abcd",
        "f",
        "ü",
        "\t",
        "\u{0}",
        "-1",
        "2",
        "20240101000000",
        "ipv4hint=1.2.3.4,",
        "port=",
    ];
    let mut numbers = oracle::Numbers(5);
    for _ in 0..100_000 {
        let mut line = String::from("a.lan");
        for _ in 0..numbers.below(8) {
            if numbers.below(5) > 0 {
                line.push(' ');
            }
            line.push_str(PARTS[numbers.below(PARTS.len() as u64) as usize]);
        }
        drop(LocalRecords::parse(&[line]));
    }
}
