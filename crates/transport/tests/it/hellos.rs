//! First messages of clients as they come in the wild and as nobody would send them, byte by byte:
//! each connection ends in a defined way, and the server goes on.

use crate::handshakes::{Rig, rig};
use crate::support::{DEADLINE, run};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use transport::tls::HANDSHAKE_DEADLINE;
use transport::{HandshakeError, dial};

const SERVER_NAME: u16 = 0;
const NAME: &str = "x.ads.example.com";

/// Extensions in their order: kind and content.
type Extensions = Vec<(u16, Vec<u8>)>;

/// Bytes behind their length, in two bytes.
fn sized(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u16).to_be_bytes()[..], bytes].concat()
}

/// A `server_name` extension with names of these types.
fn names(names: &[(u8, &[u8])]) -> Vec<u8> {
    let entry = |(kind, name): &(u8, &[u8])| [&[*kind][..], &sized(name)].concat();
    sized(&names.iter().flat_map(entry).collect::<Vec<_>>())
}

/// What a client of TLS 1.3 says, asking for `name`.
fn usual(name: &[u8]) -> Extensions {
    vec![
        (SERVER_NAME, names(&[(0, name)])),
        (10, sized(&[0, 29, 0, 23])),
        (13, sized(&[4, 3, 8, 4, 4, 1])),
        (43, vec![2, 3, 4]),
        (51, sized(&[&[0, 29, 0, 32][..], &[9; 32]].concat())),
    ]
}

/// The whole first message, in one record.
fn message(extensions: &Extensions, suites: &[u8]) -> Vec<u8> {
    let all: Vec<u8> = extensions
        .iter()
        .flat_map(|(kind, content)| [&kind.to_be_bytes()[..], &sized(content)].concat())
        .collect();
    let body = [&[3, 3][..], &[7; 32], &[0], &sized(suites), &[1, 0], &sized(&all)].concat();
    let length = body.len() as u32;
    [&[1][..], &length.to_be_bytes()[1..], &body].concat()
}

fn record(content: &[u8]) -> Vec<u8> {
    [&[22, 3, 1][..], &sized(content)].concat()
}

const SUITES: &[u8] = &[0x13, 1, 0x13, 2];

/// In records of so many bytes.
fn in_records(extensions: &Extensions, bytes: usize) -> Vec<u8> {
    message(extensions, SUITES).chunks(bytes).flat_map(record).collect()
}

fn whole(extensions: &Extensions) -> Vec<u8> {
    in_records(extensions, 16_000)
}

/// How a connection ended, as its client saw it.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    /// With a server's part of the handshake.
    Answer,
    /// With an alert.
    Alert,
    /// With the end alone.
    End,
}

async fn send(rig: &mut Rig, wire: &[u8]) -> (Seen, HandshakeError) {
    let mut tcp = dial(rig.address, DEADLINE).await.unwrap();
    tcp.write_all(wire).await.unwrap();
    tcp.shutdown_write().unwrap();
    let mut answer = Vec::new();
    let _ = tcp.read_to_end(&mut answer).await;
    let seen = match answer.first() {
        Some(22) => Seen::Answer,
        Some(21) => Seen::Alert,
        Some(_) | None => Seen::End,
    };
    (seen, rig.outcomes.recv().await.unwrap().unwrap_err())
}

/// Sends each and looks at what came of it, on one server, which serves an honest client after
/// each.
fn check(cases: Vec<(&str, Vec<u8>, Seen, HandshakeError)>) {
    run(async {
        let mut rig = rig(HANDSHAKE_DEADLINE);
        let honest = rig.trusting();
        for (what, wire, seen, outcome) in cases {
            assert_eq!(send(&mut rig, &wire).await, (seen, outcome), "{what}");
            rig.visit(&honest, "honest.ads.example.com").await.unwrap();
            rig.outcomes.recv().await.unwrap().unwrap();
        }
    });
}

#[test]
fn every_form_that_a_standard_allows_is_answered() {
    let answered = |what, wire| (what, wire, Seen::Answer, HandshakeError::ClosedAtCertificate);
    let plain = usual(NAME.as_bytes());
    let reversed: Extensions = plain.iter().rev().cloned().collect();
    // RFC 8701: values that a server must not choke on, at every place.
    let mut grease = plain.clone();
    grease.insert(0, (0x0A0A, Vec::new()));
    grease.push((0xFAFA, vec![0]));
    grease[2].1 = sized(&[0x2A, 0x2A, 0, 29]);
    grease[4].1 = vec![4, 0x5A, 0x5A, 3, 4];
    grease[5].1 = sized(&[&[0x2A, 0x2A, 0, 1, 0][..], &[0, 29, 0, 32], &[9; 32]].concat());
    let greased = record(&message(&grease, &[0xCA, 0xCA, 0x13, 1]));
    // The outer part of an encrypted hello, of a key that nobody has.
    let mut outer = plain.clone();
    outer.push((0xFE0D, [&[0, 0, 1, 0, 1, 7][..], &sized(&[5; 32]), &sized(&[6; 128])].concat()));
    let mut padded = plain.clone();
    padded.push((21, vec![0; 20_000]));
    check(vec![
        answered("as usual", whole(&plain)),
        answered("in reversed order", whole(&reversed)),
        answered("with GREASE", greased),
        answered("in records of 1 byte", in_records(&plain, 1)),
        answered("in records of 7 bytes", in_records(&plain, 7)),
        answered("with an encrypted hello", whole(&outer)),
        answered("longer than one record", whole(&padded)),
        answered("in capitals", whole(&usual(b"X.Ads.EXAMPLE.com"))),
    ]);
}

#[test]
fn who_names_nobody_gets_an_alert() {
    let unnamed = |what, wire| (what, wire, Seen::Alert, HandshakeError::NoName);
    let mut without = usual(NAME.as_bytes());
    without.remove(0);
    check(vec![
        unnamed("no name", whole(&without)),
        unnamed("an address", whole(&usual(b"127.0.0.1"))),
    ]);
}

#[test]
fn names_that_are_none_and_messages_that_are_torn_get_an_alert() {
    let refused = |what, wire| (what, wire, Seen::Alert, HandshakeError::NotTls);
    let named = |name: &[u8]| whole(&usual(name));
    let two = |second: &[u8]| {
        let mut extensions = usual(NAME.as_bytes());
        extensions[0].1 = names(&[(0, NAME.as_bytes()), (0, second)]);
        whole(&extensions)
    };
    let mut twice = usual(NAME.as_bytes());
    twice.push(twice[0].clone());
    let mut torn = usual(NAME.as_bytes());
    torn[0].1.truncate(6);
    let mut unknown = usual(NAME.as_bytes());
    unknown[0].1 = names(&[(7, b"whatever")]);
    let long = [&[b'a'; 300][..], b".ads.example.com"].concat();
    let labels = format!("{}ads.example.com", "abcdefghi.".repeat(28));
    check(vec![
        refused("a path", named(b"../../etc/passwd.ads.example.com")),
        refused("a NUL", named(b"x\0.ads.example.com")),
        refused("a label of 300 bytes", named(&long)),
        refused("labels of 295 bytes", named(labels.as_bytes())),
        refused("nothing", named(b"")),
        refused("a wildcard", named(b"*.ads.example.com")),
        refused("bytes that are no text", named(&[0xFF, 0xFE, b'.', b'a'])),
        refused("a line's end", named(b"x.ads.example.com\r\nHost: y")),
        refused("two names", two(b"www.bank.example")),
        refused("one name twice", two(NAME.as_bytes())),
        refused("the extension twice", whole(&twice)),
        refused("a torn extension", whole(&torn)),
        refused("a name of another type", whole(&unknown)),
    ]);
}

#[test]
fn a_message_over_64_kib_is_cut_off() {
    run(async {
        let mut rig = rig(HANDSHAKE_DEADLINE);
        let mut endless = usual(NAME.as_bytes());
        for kind in 0..5 {
            endless.push((0x7000 + kind, vec![0; 15_000]));
        }
        // Whether the alert comes through depends on how much the client had still to send.
        let (seen, outcome) = send(&mut rig, &in_records(&endless, 16_000)).await;
        assert_ne!(seen, Seen::Answer);
        assert_eq!(outcome, HandshakeError::NotTls);
        rig.visit(&rig.trusting(), "honest.ads.example.com").await.unwrap();
    });
}
