//! Sockets of pages: opened and closed in order, so that pages do not connect again for ever.

use crate::support::{Answer, Edge};
use std::io::{Read, Write};

const RULES: &str = "||ads.example^\n";
const KEY: (&str, &str) = ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==");
const VERSION: (&str, &str) = ("Sec-WebSocket-Version", "13");

fn handshake(fields: &[(&str, &str)]) -> String {
    let mut text = "GET /s HTTP/1.1\r\nHost: ads.example\r\n\
                    Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"
        .to_owned();
    for (name, value) in fields {
        text.extend([name, ": ", value, "\r\n"]);
    }
    text + "\r\n"
}

#[test]
fn a_websocket_is_opened_and_closed_in_order() {
    let edge = Edge::start(RULES);
    let mut stream = edge.connect();
    let protocols = ("Sec-WebSocket-Protocol", "chat, superchat");
    stream.write_all(handshake(&[KEY, VERSION, protocols]).as_bytes()).unwrap();
    let answer = Answer::read(&mut stream);
    assert_eq!(answer.status, 101);
    assert_eq!(answer.field("sec-websocket-accept"), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    assert_eq!(answer.field("sec-websocket-protocol"), "chat");
    // Close, masked, 1000: what a browser answers a Close with.
    stream.write_all(&[0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8]).unwrap();
    let mut rest = answer.body;
    stream.read_to_end(&mut rest).unwrap();
    assert_eq!(rest, [0x88, 2, 0x03, 0xe8], "one Close frame of 1000, and the end");
    let row = edge.rows_at_least(1).remove(0);
    assert_eq!((row.status, row.kind), (101, vocab::RequestKind::Websocket));
    assert_eq!(edge.figure("tidegate_pixel_answers_total{kind=\"websocket\"}"), 1);
}

#[test]
fn a_client_that_talks_on_is_cut_off() {
    let edge = Edge::start(RULES);
    let mut stream = edge.connect();
    stream.write_all(handshake(&[KEY, VERSION]).as_bytes()).unwrap();
    assert_eq!(Answer::read(&mut stream).status, 101);
    // Text frames without end: the cap or the deadline ends it.
    let frame = [0x81, 0x80, 0, 0, 0, 0].repeat(1000);
    while stream.write_all(&frame).is_ok() {}
    edge.figure_at_least("tidegate_pixel_connections_total{scheme=\"http\"}", 1);
}

#[test]
fn a_handshake_that_is_none_is_refused() {
    let edge = Edge::start(RULES);
    for fields in [&[KEY, ("Sec-WebSocket-Version", "8")][..], &[VERSION], &[]] {
        let mut stream = edge.connect();
        stream.write_all(handshake(fields).as_bytes()).unwrap();
        assert_eq!(Answer::read(&mut stream).status, 403, "{fields:?}");
    }
    let refused = "tidegate_pixel_answers_total{kind=\"websocket_refused\"}";
    assert_eq!(edge.figure(refused), 3);
}
