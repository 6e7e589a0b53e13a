//! Answers as JSON, and questions from words.

use dns_wire::json::{
    BadAsking, CheckingDisabled, DnssecOk, JsonQuestion, write_answer, write_query,
};
use dns_wire::{DnsQuery, KeyBuffer};
use vocab::NameBuffer;

const PLAIN: JsonQuestion<'_> = JsonQuestion {
    name: "example.com",
    rtype: "A",
    checking: CheckingDisabled::Enabled,
    dnssec: DnssecOk::Off,
};

fn asked(asking: &JsonQuestion<'_>) -> Result<(String, u16, Vec<u8>), BadAsking> {
    let mut packet = Vec::new();
    write_query(asking, &mut packet)?;
    let (mut text, mut key) = (NameBuffer::new(), KeyBuffer::new());
    let query = DnsQuery::parse(&packet, &mut text).unwrap();
    assert_eq!(query.id, 0);
    query.key(&mut key);
    Ok((text.as_name().as_str().to_owned(), query.qtype, key.as_bytes().to_vec()))
}

/// An answer to `example.com` with these records (type, data) in its answer section.
fn answer(records: &[(u16, &[u8])]) -> Vec<u8> {
    let mut out = vec![0, 0, 0x81, 0x80, 0, 1, 0, records.len() as u8, 0, 0, 0, 0];
    out.extend_from_slice(b"\x07example\x03com\0\0\x01\0\x01");
    for (rtype, data) in records {
        out.extend_from_slice(&[0xc0, 12]);
        out.extend_from_slice(&rtype.to_be_bytes());
        out.extend_from_slice(&[0, 1, 0, 0, 1, 44]);
        out.extend_from_slice(&(data.len() as u16).to_be_bytes());
        out.extend_from_slice(data);
    }
    out
}

fn written(message: &[u8]) -> String {
    let mut out = String::new();
    write_answer(message, &mut out).unwrap();
    out
}

fn data_of(rtype: u16, data: &[u8]) -> String {
    let text = written(&answer(&[(rtype, data)]));
    let (_, data) = text.split_once("\"data\":").unwrap();
    data.trim_end_matches("}]}").to_owned()
}

#[test]
fn a_question_is_made_from_words() {
    let (name, qtype, key) = asked(&PLAIN).unwrap();
    assert_eq!((name.as_str(), qtype, key.last()), ("example.com", 1, Some(&0)));
    for (rtype, number) in
        [("AAAA", 28), ("aaaa", 28), ("28", 28), ("TYPE65280", 65280), ("any", 255)]
    {
        assert_eq!(asked(&JsonQuestion { rtype, ..PLAIN }).unwrap().1, number, "{rtype}");
    }
    let all =
        JsonQuestion { checking: CheckingDisabled::Disabled, dnssec: DnssecOk::Wanted, ..PLAIN };
    assert_eq!(asked(&all).unwrap().2.last(), Some(&3));
    assert_eq!(asked(&JsonQuestion { name: "Example.COM.", ..PLAIN }).unwrap().0, "example.com");
    assert_eq!(asked(&JsonQuestion { name: ".", ..PLAIN }).unwrap().0, "");
    assert_eq!(asked(&JsonQuestion { name: r"a\046b.test", ..PLAIN }).unwrap().0, r"a\046b.test");
    let longest = ["a"; 127].join(".");
    assert_eq!(asked(&JsonQuestion { name: &longest, ..PLAIN }).unwrap().0, longest);
}

#[test]
fn words_that_are_no_question_say_which() {
    let long = "a.".repeat(128);
    // 256 bytes in the wire's form, of which the last label has two.
    let one_too_long = format!("aa.{}", "a.".repeat(126));
    let label = format!("{}.test", "a".repeat(64));
    let too_long = [long.as_str(), &one_too_long, one_too_long.trim_end_matches('.')];
    for name in ["", "a..b", "..", &label, "\\", "b\u{fc}cher.example"].into_iter().chain(too_long)
    {
        assert_eq!(asked(&JsonQuestion { name, ..PLAIN }), Err(BadAsking::Name), "{name:?}");
    }
    for rtype in ["", "0", "65536", "-1", "AAAAA", "TYPE", "A A"] {
        assert_eq!(asked(&JsonQuestion { rtype, ..PLAIN }), Err(BadAsking::Type), "{rtype:?}");
    }
}

#[test]
fn an_answer_is_written_whole() {
    assert_eq!(
        written(&answer(&[(5, b"\x03www\xc0\x0c"), (1, &[192, 0, 2, 1])])),
        "{\"Status\":0,\"TC\":false,\"RD\":true,\"RA\":true,\"AD\":false,\"CD\":false,\
         \"Question\":[{\"name\":\"example.com.\",\"type\":1}],\
         \"Answer\":[{\"name\":\"example.com.\",\"type\":5,\"TTL\":300,\"data\":\"www.example.com.\"},\
         {\"name\":\"example.com.\",\"type\":1,\"TTL\":300,\"data\":\"192.0.2.1\"}]}"
    );
}

#[test]
fn records_of_all_types_are_put_into_words() {
    assert_eq!(data_of(28, &[0; 16]), "\"::\"");
    assert_eq!(data_of(15, b"\0\x0a\x02mx\xc0\x0c"), "\"10 mx.example.com.\"");
    assert_eq!(data_of(16, b"\x05he\"lo\x03\x01\\z"), r#""\"he\\\"lo\" \"\\001\\\\z\"""#);
    assert_eq!(data_of(257, b"\0\x05issueca.test"), r#""0 issue \"ca.test\"""#);
    assert_eq!(data_of(65, &[0, 1, 0, 0, 1, 0, 3, 2, b'h', b'2']), "\"1 . alpn=h2\"");
    assert_eq!(data_of(65280, &[10, 0, 255]), r#""\\# 3 0a 00 ff""#);
    // An address of three bytes is none, and shown as what it is.
    assert_eq!(data_of(1, &[1, 2, 3]), r#""\\# 3 01 02 03""#);
}

#[test]
fn an_extended_error_is_the_comment_and_opt_is_not_listed() {
    let mut message = answer(&[]);
    message[11] = 1;
    message.extend_from_slice(&[0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 9, 0, 15, 0, 5, 0, 15]);
    message.extend_from_slice(b"<b>");
    let text = written(&message);
    assert!(text.ends_with(r#","Comment":"EDE(15): Blocked: \u003cb\u003e"}"#), "{text}");
    assert!(!text.contains("Additional"), "{text}");
}

#[test]
fn a_code_that_needs_edns_is_whole() {
    let mut message = answer(&[]);
    message[11] = 1;
    // BADVERS, 16: its upper bits stand in OPT.
    message.extend_from_slice(&[0, 0, 41, 4, 208, 1, 0, 0, 0, 0, 0]);
    assert!(written(&message).starts_with("{\"Status\":16,"));
}

#[test]
fn what_is_malformed_is_an_error_and_leaves_nothing() {
    let whole = answer(&[(5, b"\x03www\xc0\x0c"), (16, b"\x05hello")]);
    for length in 0..whole.len() {
        let mut out = "before".to_owned();
        assert!(write_answer(&whole[..length], &mut out).is_err(), "{length}");
        assert_eq!(out, "before");
    }
}

#[test]
fn no_bytes_make_it_panic_or_write_what_is_no_json() {
    // A generator of its own, so that a failure can be repeated.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let types = [1, 2, 5, 6, 12, 15, 16, 28, 33, 35, 39, 43, 46, 47, 48, 50, 52, 64, 65, 257, 250];
    for _ in 0..20_000 {
        let rtype = types[random() as usize % types.len()];
        let data: Vec<u8> = (0..random() % 40).map(|_| random() as u8).collect();
        let mut out = String::new();
        if write_answer(&answer(&[(rtype, &data)]), &mut out).is_ok() {
            assert!(out.starts_with('{') && out.ends_with('}'), "{out}");
            assert!(!out.chars().any(char::is_control), "{out:?}");
        }
    }
}
