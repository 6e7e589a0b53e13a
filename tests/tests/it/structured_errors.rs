//! Structured DNS errors, as dig shows them and byte by byte: who asks for the reason gets it as
//! JSON.

use serde_json::{Value, json};
use std::net::UdpSocket;
use tidegate_tests::clients::dig;
use tidegate_tests::tidegate::Tidegate;
use tidegate_tests::wait;

fn edge() -> Tidegate {
    Tidegate::start(
        r#"
policy: { lists: [{ name: mine, rules: ["||ads.example^"] }] }
dns:
  listen: ["udp://127.0.0.1:0", "tcp://127.0.0.1:0"]
  upstreams: ["udp://127.0.0.1:9"]
  filter_types: [AAAA]
  contact: ["mailto:dns@home.example"]
  organization: Home
admin: { listen: "127.0.0.1:0" }
"#,
    )
}

/// The extended errors in an answer: number and text.
fn errors(answer: &[u8]) -> Vec<(u16, String)> {
    // OPT is the last record here: root, type 41, size, TTL, length.
    let mark = answer.windows(3).rposition(|it| it == [0, 0, 41]).unwrap();
    let mut options = &answer[mark + 11..];
    let mut found = Vec::new();
    while let [code_1, code_2, length_1, length_2, rest @ ..] = options {
        let length = usize::from(u16::from_be_bytes([*length_1, *length_2]));
        let (data, behind) = rest.split_at(length);
        if u16::from_be_bytes([*code_1, *code_2]) == 15 {
            let text = String::from_utf8(data[2..].to_vec()).unwrap();
            found.push((u16::from_be_bytes([data[0], data[1]]), text));
        }
        options = behind;
    }
    found
}

/// Asks for a name's record over UDP, with an OPT record of this size and these options.
fn ask(edge: &Tidegate, name: &str, qtype: u8, size: u16, options: &[u8]) -> Vec<u8> {
    let mut packet = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\x01".to_vec();
    for label in name.split('.') {
        packet.push(label.len() as u8);
        packet.extend(label.as_bytes());
    }
    packet.extend([0, 0, qtype, 0, 1, 0, 0, 41]);
    packet.extend(size.to_be_bytes());
    packet.extend([0; 4]);
    packet.extend((options.len() as u16).to_be_bytes());
    packet.extend(options);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(wait::DEADLINE)).unwrap();
    socket.send_to(&packet, edge.address("dns", "udp")).unwrap();
    let mut answer = vec![0; 2000];
    let count = socket.recv(&mut answer).unwrap();
    answer.truncate(count);
    answer
}

const ASKS: &[u8] = b"\0\x1a\0\0";

fn whole() -> Value {
    json!({
        "c": ["mailto:dns@home.example"], "j": "Rule ||ads.example^ on line 1 of list mine",
        "s": 6, "o": "Home", "l": "en"
    })
}

#[test]
fn dig_shows_the_reason_to_who_asks_for_it_and_to_nobody_else() {
    let edge = edge();
    let dns = edge.address("dns", "udp");
    for (at, way) in [(dns, "+notcp"), (edge.address("dns", "tcp"), "+tcp")] {
        let told = dig(at, &[way, "+yaml", "+ednsopt=26", "ads.example"]);
        assert!(told.contains("mailto:dns@home.example"), "{told}");
        assert!(told.contains("on line 1 of list mine"), "{told}");
    }
    let plain = dig(dns, &["ads.example"]);
    assert!(plain.contains("EDE: 15") && !plain.contains("mailto"), "{plain}");
    assert!(!dig(dns, &["+noedns", "ads.example"]).contains("mailto"));
}

#[test]
fn the_json_is_as_the_draft_has_it_and_data_of_the_option_is_ignored() {
    let edge = edge();
    for options in [ASKS, b"\0\x1a\0\x02de"] {
        let found = errors(&ask(&edge, "www.ads.example", 1, 1232, options));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, 15);
        assert_eq!(serde_json::from_str::<Value>(&found[0].1).unwrap(), whole());
        assert!(!found[0].1.contains(": "), "without spaces between elements");
    }
    let filtered = errors(&ask(&edge, "free.example", 28, 1232, ASKS));
    assert_eq!(filtered[0].0, 17);
    let text: Value = serde_json::from_str(&filtered[0].1).unwrap();
    assert!(text["s"].is_null() && text["c"].is_array() && text["l"] == "en", "{text}");
    assert_eq!(errors(&ask(&edge, "www.ads.example", 1, 1232, b"")), [(15, String::new())]);
}

#[test]
fn words_go_before_the_answer_outgrows_a_small_client() {
    let edge = edge();
    let label = "a".repeat(63);
    let long = format!("{label}.{label}.{label}.{}.ads.example", "b".repeat(44));
    let answer = ask(&edge, &long, 1, 512, ASKS);
    assert!(answer.len() <= 512 && answer[2] & 2 == 0, "whole, in {} bytes", answer.len());
    let found = errors(&answer);
    assert_eq!(found[0].0, 15);
    let bare = json!({ "c": ["mailto:dns@home.example"], "s": 6 });
    let text: Value = serde_json::from_str(&found[0].1).unwrap();
    assert!(text == bare || text == whole(), "{text}");
}
