//! Records of one's own: hosts entries, redirects, and zone files with their directives.

use dns_wire::{CLASS_IN, DnsQuery, WireAnswer, record_type};
use pipeline::records::{
    BadEntry, BadValue, GenerateFault, HostsTable, RecordsAnswered, RedirectTable, ScanFault,
    ZoneFault, ZoneTable,
};
use pipeline::sets::BadRule;
use vocab::{DomainName, Name, NameBuffer};

const CH: u16 = 3;
const TXT: u16 = 16;

/// A query for `name`, in the case it is given, with an OPT record.
fn query(name: &str, qtype: u16, class: u16) -> Vec<u8> {
    let mut message = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\x01".to_vec();
    for label in name.split('.').filter(|label| !label.is_empty()) {
        message.push(label.len() as u8);
        message.extend_from_slice(label.as_bytes());
    }
    message.push(0);
    message.extend_from_slice(&qtype.to_be_bytes());
    message.extend_from_slice(&class.to_be_bytes());
    message.extend_from_slice(b"\0\0\x29\x04\xd0\0\0\0\0\0\0");
    message
}

/// What is written for a question; nothing if there is no answer.
fn ask(
    name: &str,
    qtype: u16,
    class: u16,
    write: impl FnOnce(&DnsQuery<'_>, Name<'_>, &mut Vec<u8>) -> RecordsAnswered,
) -> Option<Vec<u8>> {
    let message = query(name, qtype, class);
    let mut text = NameBuffer::new();
    let query = DnsQuery::parse(&message, &mut text).unwrap();
    let mut out = b"before".to_vec();
    let answered = write(&query, text.as_name(), &mut out);
    let written = out.split_off(6);
    assert_eq!(out, b"before", "what stood before stays");
    assert_eq!(answered == RecordsAnswered::Yes, !written.is_empty());
    if written.is_empty() {
        return None;
    }
    let end = 12 + query.question.len();
    assert_eq!(&written[12..end], query.question, "the question is repeated as it was asked");
    assert_eq!(written[10..12], [0, 0], "no OPT: whoever sends it adds that");
    Some(written)
}

/// The records of an answer section: type, class, TTL, value.
fn records(message: &[u8]) -> Vec<(u16, u16, u32, Vec<u8>)> {
    let word = |at: usize| u16::from_be_bytes([message[at], message[at + 1]]);
    let mut at = 12;
    while message[at] != 0 {
        at += 1 + usize::from(message[at]);
    }
    at += 5;
    let mut records = Vec::new();
    for _ in 0..word(6) {
        assert_eq!(message[at..at + 2], [0xc0, 12], "the owner is the name asked for");
        let ttl = u32::from(word(at + 6)) << 16 | u32::from(word(at + 8));
        let length = usize::from(word(at + 10));
        let data = message[at + 12..at + 12 + length].to_vec();
        records.push((word(at + 2), word(at + 4), ttl, data));
        at += 12 + length;
    }
    if word(8) == 0 {
        assert_eq!(at, message.len(), "nothing follows");
    }
    records
}

fn hosts() -> HostsTable {
    HostsTable::parse(
        &[
            "router.lan 192.168.1.1 192.168.1.2 fd00::1",
            "four.lan 192.0.2.4",
            "domain:dev.example 10.0.0.5 # ours",
            "full:www.dev.example 10.0.0.6",
            "keyword:printer fd00::9",
            r"regexp:^pc[0-9]{1,2}\.lan$ 10.0.0.7",
            "hidden.dev.example",
            "",
        ],
        10,
    )
    .unwrap()
}

fn host_addresses(name: &str, qtype: u16) -> Option<Vec<String>> {
    let written = ask(name, qtype, CLASS_IN, |query, name, out| hosts().write(query, name, out))?;
    let answer = WireAnswer::from_response(&written).unwrap();
    Some(answer.addresses().map(|address| address.to_string()).collect())
}

#[test]
fn a_host_is_answered_with_its_addresses_of_the_family() {
    let asked = |name, qtype| host_addresses(name, qtype).unwrap();
    assert_eq!(asked("Router.LAN", record_type::A), ["192.168.1.1", "192.168.1.2"]);
    assert_eq!(asked("router.lan", record_type::AAAA), ["fd00::1"]);
    assert_eq!(asked("a.b.dev.example", record_type::A), ["10.0.0.5"]);
    assert_eq!(asked("www.dev.example", record_type::A), ["10.0.0.6"]);
    assert_eq!(asked("my-printer.test", record_type::AAAA), ["fd00::9"]);
    assert_eq!(asked("pc12.lan", record_type::A), ["10.0.0.7"]);
}

#[test]
fn a_host_without_that_family_is_answered_empty_by_an_owner_of_its_own() {
    let written = ask("four.lan", record_type::AAAA, CLASS_IN, |query, name, out| {
        hosts().write(query, name, out)
    })
    .unwrap();
    assert_eq!(written[3] & 15, 0, "NOERROR");
    assert_eq!(written[6..10], [0, 0, 0, 1], "no answer, one SOA record");
    let end = 12 + "four.lan".len() + 2 + 4;
    assert_eq!(
        written[end..end + 2],
        [0xc0, 12],
        "whose owner is the name asked for, not the root"
    );
    assert_eq!(written[end + 2..end + 4], record_type::SOA.to_be_bytes());
    assert_eq!(written[end + 6..end + 10], 10u32.to_be_bytes());
}

#[test]
fn other_names_types_and_classes_are_no_concern_of_hosts() {
    assert_eq!(host_addresses("www.test", record_type::A), None);
    assert_eq!(host_addresses("router.lan", record_type::MX), None);
    assert_eq!(host_addresses("x.router.lan", record_type::A), None, "bare is full");
    assert_eq!(host_addresses("hidden.dev.example", record_type::A), None, "no address: it passes");
    let other =
        ask("router.lan", record_type::A, CH, |query, name, out| hosts().write(query, name, out));
    assert_eq!(other, None);
}

#[test]
fn the_last_of_equal_entries_counts_and_many_addresses_fit() {
    let many: Vec<String> = (0..200).map(|n| format!("10.0.0.{n}")).collect();
    let many = format!("full:A.lan. {}", many.join(" "));
    let hosts = HostsTable::parse(&["a.lan 192.0.2.1", &many], 10);
    let hosts = hosts.unwrap();
    assert_eq!(hosts.len(), 1);
    let written =
        ask("a.lan", record_type::A, CLASS_IN, |query, name, out| hosts.write(query, name, out));
    assert_eq!(records(&written.unwrap()).len(), 200);
}

#[test]
fn bad_entries_are_named_by_their_place() {
    let many: String = (0..1025).map(|_| " 10.0.0.1").collect();
    let lines = ["a.lan 1.2.3", "regex:a 1.2.3.4", "ok.lan 1.2.3.4", &format!("b.lan{many}")];
    let bad = HostsTable::parse(&lines, 10).unwrap_err();
    assert_eq!(
        bad,
        [
            (0, BadEntry::Address("1.2.3".into())),
            (1, BadEntry::Rule(BadRule::UnknownKind("regex".into()))),
            (3, BadEntry::TooManyAddresses),
        ]
    );
    let bad = RedirectTable::parse(&["a.lan", "a.lan b.lan c.lan", "a.lan b..lan"]).unwrap_err();
    assert!(matches!(bad[0], (0, BadEntry::NotTwoFields(1))));
    assert!(matches!(bad[1], (1, BadEntry::NotTwoFields(3))));
    assert!(matches!(bad[2], (2, BadEntry::Target(_))));
}

#[test]
fn a_redirect_leads_to_another_name() {
    let rules = RedirectTable::parse(&[
        "a.example target.example.",
        "domain:b.example T.example # comment",
        r"regexp:^c{1,3}\. c.example",
        "domain:self.example self.example",
    ])
    .unwrap();
    let find = |name: &str| {
        let found = rules.find(Name::from_lowercase(name).unwrap())?;
        let wire = found.wire.clone();
        assert_eq!(wire.last(), Some(&0));
        assert_eq!(wire.len(), found.name.as_str().len() + 2);
        Some(found.name.as_str().to_owned())
    };
    assert_eq!(find("a.example").as_deref(), Some("target.example"));
    assert_eq!(find("x.a.example"), None);
    assert_eq!(find("x.b.example").as_deref(), Some("t.example"));
    assert_eq!(find("ccc.test").as_deref(), Some("c.example"));
    assert_eq!(find("x.self.example").as_deref(), Some("self.example"));
    assert_eq!(find("self.example"), None, "a name that leads to itself would never end");
}

fn no_files(path: &str, _: &str) -> Result<String, String> {
    Err(format!("{path} is not there"))
}

fn zone(text: &str) -> ZoneTable {
    let mut builder = ZoneTable::builder();
    builder.add("text", text, &mut no_files).unwrap();
    builder.build()
}

fn faults(text: &str) -> Vec<(u32, ZoneFault)> {
    let bad = ZoneTable::builder().add("text", text, &mut no_files).unwrap_err();
    bad.into_iter().map(|bad| (bad.line, bad.fault)).collect()
}

fn of(zone: &ZoneTable, name: &str, qtype: u16, class: u16) -> Vec<(u16, u16, u32, Vec<u8>)> {
    let written = ask(name, qtype, class, |query, name, out| zone.write(query, name, out));
    written.map(|written| records(&written)).unwrap_or_default()
}

#[test]
fn a_record_answers_its_own_name_type_and_class_only() {
    let zone = zone(
        "a.example. 60 IN A 192.0.2.1\n\
         a.example. IN A 192.0.2.2\n\
         alias.example. 60 IN CNAME a.example.\n\
         version.server. 0 CH TXT \"ours\"\n",
    );
    let a = of(&zone, "A.Example", record_type::A, CLASS_IN);
    assert_eq!(
        a,
        [(1, 1, 60, vec![192, 0, 2, 1]), (1, 1, 60, vec![192, 0, 2, 2])],
        "the last written TTL holds on"
    );
    assert!(of(&zone, "a.example", record_type::AAAA, CLASS_IN).is_empty());
    assert!(of(&zone, "a.example", record_type::A, CH).is_empty(), "another class");
    assert!(of(&zone, "x.a.example", record_type::A, CLASS_IN).is_empty());
    assert!(of(&zone, "a.example", record_type::ANY, CLASS_IN).is_empty());
    assert!(of(&zone, "alias.example", record_type::A, CLASS_IN).is_empty());
    let alias = of(&zone, "alias.example", record_type::CNAME, CLASS_IN);
    assert_eq!(alias, [(5, 1, 60, b"\x01a\x07example\0".to_vec())]);
    assert_eq!(of(&zone, "version.server", TXT, CH), [(TXT, CH, 0, b"\x04ours".to_vec())]);
    assert!(of(&zone, "version.server", TXT, CLASS_IN).is_empty());
    assert_eq!(zone.len(), 4);
}

#[test]
fn owners_and_ttls_are_taken_from_before() {
    let zone = zone(
        "$ORIGIN example.\n\
         @ SOA ns host ( 1 ; serial\n 1h 15m\n 1w 60 )\n\
         www A 192.0.2.1\n\
         \tAAAA 2001:db8::1\n\
         $TTL 5m\n\
         \tTXT late\n\
         $ORIGIN sub\n\
         x 7 IN A 192.0.2.2\n\
         y IN 1h30m A 192.0.2.3\n\
         z MX 10 mail\n",
    );
    let ttl = |name, qtype| of(&zone, name, qtype, CLASS_IN)[0].2;
    assert_eq!(ttl("www.example", record_type::A), 3600, "nobody said otherwise");
    assert_eq!(ttl("www.example", record_type::AAAA), 3600);
    assert_eq!(ttl("www.example", TXT), 300);
    assert_eq!(ttl("x.sub.example", record_type::A), 7);
    assert_eq!(ttl("y.sub.example", record_type::A), 5400);
    assert_eq!(ttl("z.sub.example", record_type::MX), 300, "$TTL goes before the last written");
    let mx = &of(&zone, "z.sub.example", record_type::MX, CLASS_IN)[0].3;
    assert_eq!(mx, b"\0\x0a\x04mail\x03sub\x07example\0");
    let soa = &of(&zone, "example", record_type::SOA, CLASS_IN)[0].3;
    let times = &soa[soa.len() - 20..];
    assert_eq!(times[..12], [0, 0, 0, 1, 0, 0, 0x0e, 0x10, 0, 0, 3, 0x84]);
}

#[test]
fn many_types_are_read_and_others_come_by_number() {
    let zone = zone(
        "$ORIGIN t.\n\
         txt TXT \"a b;c\" d\\;e \"\\195\\188\" \"\u{fc}\" \"\"\n\
         srv SRV 1 2 53 target\n\
         caa CAA 0 issue \"ca.test\"\n\
         svcb HTTPS 1 . alpn=h2,h3 ipv4hint=192.0.2.1\n\
         num TYPE65280 \\# 4 0a000001\n\
         one TYPE1 \\# 4 c0000201\n\
         empty TYPE65281 \\# 0\n\
         ds DS 1 8 2 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n\
         d DNAME other.\n\
         class CLASS32 TXT x\n\
         a\\.b IN A 192.0.2.1\n\
         *.wild A 192.0.2.1\n",
    );
    let data = |name, qtype| of(&zone, name, qtype, CLASS_IN)[0].3.clone();
    assert_eq!(data("txt.t", TXT), b"\x05a b;c\x03d;e\x02\xc3\xbc\x02\xc3\xbc\0");
    assert_eq!(data("srv.t", 33), b"\0\x01\0\x02\0\x35\x06target\x01t\0");
    assert_eq!(data("caa.t", 257), b"\0\x05issueca.test");
    assert_eq!(data("num.t", 65_280), [10, 0, 0, 1]);
    assert_eq!(data("one.t", record_type::A), [192, 0, 2, 1]);
    assert!(data("empty.t", 65_281).is_empty());
    assert_eq!(data("ds.t", 43).len(), 36);
    assert_eq!(data("d.t", 39), b"\x05other\0");
    assert!(!data("svcb.t", 65).is_empty());
    assert_eq!(of(&zone, "class.t", TXT, 32).len(), 1);
    assert_eq!(of(&zone, "*.wild.t", record_type::A, CLASS_IN).len(), 1);
    assert!(of(&zone, "x.wild.t", record_type::A, CLASS_IN).is_empty(), "names are exact");
    assert!(of(&zone, "a.b.t", record_type::A, CLASS_IN).is_empty(), "that dot is in a label");
    assert_eq!(zone.len(), 12);
}

#[test]
fn records_are_counted_out() {
    let zone = zone(
        "$ORIGIN lan.\n\
         $TTL 60\n\
         $GENERATE 1-3 host$ A 192.0.2.$\n\
         $GENERATE 0-20/10 ${0,3}.rev 5 IN PTR host${1}.lan.\n\
         $GENERATE 1-2 text TXT \"no $ here\"\n\
         $GENERATE 1-1 cash TXT \\$\n",
    );
    assert_eq!(of(&zone, "host2.lan", record_type::A, CLASS_IN), [(1, 1, 60, vec![192, 0, 2, 2])]);
    assert!(of(&zone, "host4.lan", record_type::A, CLASS_IN).is_empty());
    let pointer = of(&zone, "010.rev.lan", record_type::PTR, CLASS_IN);
    assert_eq!(pointer, [(12, 1, 5, b"\x06host11\x03lan\0".to_vec())]);
    assert_eq!(of(&zone, "text.lan", TXT, CLASS_IN)[1].3, b"\x09no 2 here");
    assert_eq!(of(&zone, "cash.lan", TXT, CLASS_IN)[0].3, b"\x01$");
    assert_eq!(zone.len(), 9);
}

#[test]
fn files_are_included_through_whoever_may_read_them() {
    let mut asked = Vec::new();
    let mut files = |path: &str, from: &str| {
        asked.push((path.to_owned(), from.to_owned()));
        match path {
            "one.zone" => {
                Ok("in A 192.0.2.1\n$ORIGIN gone.\n$INCLUDE \"two.zone\" two.test.\n".into())
            }
            "two.zone" => Ok("@ A 192.0.2.2\n".into()),
            "bad.zone" => Ok("\n@ A 1.2.3\n".into()),
            "loop.zone" => Ok("$INCLUDE loop.zone\n".into()),
            other => Err(format!("{other} is not there")),
        }
    };
    let mut builder = ZoneTable::builder();
    let text = "$ORIGIN test.\nout A 192.0.2.3\n$INCLUDE one.zone sub\n\tAAAA ::1\n";
    builder.add("main", text, &mut files).unwrap();
    let bad = builder.add("main", "$INCLUDE bad.zone t.\n", &mut files).unwrap_err();
    assert_eq!((bad[0].file.as_str(), bad[0].line), ("bad.zone", 2));
    let bad = builder.add("main", "\n$INCLUDE none.zone\n", &mut files).unwrap_err();
    assert_eq!(bad[0].to_string(), "main, line 2: it cannot be included: none.zone is not there");
    let bad = builder.add("main", "$INCLUDE loop.zone\n", &mut files).unwrap_err();
    assert_eq!(bad[0].fault, ZoneFault::IncludeDepth);
    let zone = builder.build();
    for name in ["in.sub.test", "two.test", "out.test"] {
        assert_eq!(of(&zone, name, record_type::A, CLASS_IN).len(), 1, "{name}");
    }
    assert_eq!(of(&zone, "out.test", record_type::AAAA, CLASS_IN).len(), 1, "the owner before");
    assert_eq!(asked[0], ("one.zone".to_owned(), "main".to_owned()));
    assert_eq!(asked[1], ("two.zone".to_owned(), "one.zone".to_owned()));
}

#[test]
fn each_text_begins_anew() {
    let mut builder = ZoneTable::builder();
    builder.add("one", "$ORIGIN a.test.\n$TTL 5\nx A 192.0.2.1\n", &mut no_files).unwrap();
    let bad = builder.add("two", "x A 192.0.2.1", &mut no_files).unwrap_err();
    assert_eq!(bad[0].fault, ZoneFault::Relative("x".into()));
    let bad = builder.add("three", "\tA 192.0.2.1", &mut no_files).unwrap_err();
    assert_eq!(bad[0].fault, ZoneFault::NoOwner);
    builder.add("four", "y.test. A 192.0.2.1", &mut no_files).unwrap();
    assert_eq!(of(&builder.build(), "y.test", record_type::A, CLASS_IN)[0].2, 3600);
}

#[test]
fn every_bad_line_is_named_and_good_ones_stay() {
    let text = "$NONSENSE\n$TTL\n$TTL x\n$ORIGIN\na.test.\na.test. 60 IN\na.test. A 1.2.3\n\
                a.test. OPT x\na.test. ANY \\# 0\na.test. TXT \"open\nb..test. A 192.0.2.1\n\
                c.test. CNAME d..test.\nc.test. CNAME \\# 2 c00c\nc.test. A 192.0.2.1 192.0.2.2\n\
                $GENERATE 3-1 x$ A 1.2.3.4\n$GENERATE 1-3 x$\n\"q\". A 192.0.2.1\n\
                c.test. 4294967295 A 192.0.2.1\n";
    let found = faults(text);
    let lines: Vec<u32> = found.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, (1..=18).collect::<Vec<u32>>(), "{found:?}");
    let fault = |line: usize| &found[line - 1].1;
    assert_eq!(*fault(1), ZoneFault::Directive("$NONSENSE".into()));
    assert!(matches!(fault(2), ZoneFault::Words(_)));
    assert_eq!(*fault(3), ZoneFault::Ttl("x".into()));
    assert_eq!(*fault(5), ZoneFault::NoType);
    assert_eq!(*fault(6), ZoneFault::NoType);
    assert!(matches!(fault(7), ZoneFault::Value(BadValue::Syntax(_))));
    assert_eq!(*fault(10), ZoneFault::Scan(ScanFault::OpenQuote));
    assert!(matches!(fault(11), ZoneFault::Value(_)), "{:?}", fault(11));
    assert_eq!(*fault(12), ZoneFault::Value(BadValue::Data), "an empty label would go out");
    assert_eq!(*fault(13), ZoneFault::Value(BadValue::Data), "so would a pointer");
    assert_eq!(*fault(15), ZoneFault::Generate(GenerateFault::Range));
    assert_eq!(*fault(18), ZoneFault::Ttl("4294967295".into()));
    for (_, fault) in &found {
        assert!(!fault.to_string().is_empty());
    }
    assert_eq!(faults(&"$X\n".repeat(100)).len(), 20, "complaints have an end");
}

#[test]
fn a_set_that_fits_no_message_is_refused() {
    let text = format!("$ORIGIN t.\n$GENERATE 1-65536 big TXT {}\n", "x".repeat(200));
    assert_eq!(faults(&text), [(2, ZoneFault::SetTooLarge)]);
}

#[test]
fn broken_zone_texts_never_panic() {
    let whole = "$ORIGIN example. ; c\n$TTL 1h\n@ SOA ns h ( 1 2 3\n4 5 )\nwww 60 IN A 192.0.2.1\n\
        \tTXT \"a\\\"b\" c\\100 \\195\nt TYPE65280 \\# 4 0a00 0001\ns HTTPS 1 . alpn=\"h2,h3\" port=1\n\
        $GENERATE 1-3/2 h${1,3,x} A 192.0.2.$\nn NAPTR 1 1 \"u\" \"\" \"!^.*$!x!\" .\n\
        l LOC 1 2 3 N 1 2 3 E 1m\nk DNSKEY 256 3 8 AwEAAQ==\n$INCLUDE x\nq CAA 0 issue \"x\"\n";
    let mut word = 1u64;
    let mut next = || {
        word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (word >> 33) as usize
    };
    let pieces = ["\\", "\"", "(", ")", ";", "\n", "$", ".", "@", "\\#", "\u{fc}", " ", "\t", "0"];
    for end in 0..whole.len() {
        let _ = ZoneTable::builder().add("cut", &whole[..end], &mut no_files);
    }
    for _ in 0..6_000 {
        let mut text = whole.to_owned();
        for _ in 0..=next() % 5 {
            let mut at = next() % text.len();
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            match next() % 3 {
                0 => text.insert_str(at, pieces[next() % pieces.len()]),
                1 => drop(text.remove(at.min(text.len() - 1))),
                _ => {
                    let other = next() % whole.len();
                    text.insert_str(at, &whole[other..(other + next() % 20).min(whole.len())]);
                }
            }
        }
        let mut builder = ZoneTable::builder();
        let _ = builder.add("mutated", &text, &mut no_files);
        let zone = builder.build();
        for name in ["www.example", "s.example", "example"] {
            for qtype in [1, 6, 16, 65] {
                of(&zone, name, qtype, CLASS_IN);
            }
        }
    }
}

#[test]
fn a_target_keeps_the_text_that_was_written() {
    let rules = RedirectTable::parse(&["a.test _x-1.Example"]).unwrap();
    let found = rules.find(Name::from_lowercase("a.test").unwrap()).unwrap();
    assert_eq!(found.name, DomainName::parse("_x-1.example").unwrap());
    assert_eq!(&*found.wire, b"\x04_x-1\x07example\0");
}
