//! The fast path: what it answers, and that it says what the handler says.

use crate::answers::TABLE;
use crate::support::{Answer, Edge};
use std::io::Write;

const RULES: &str = "||ads.example^\n||matomo.example^\n";
const QUICK: &str = "tidegate_pixel_quick_total";

/// A field that keeps a request out of the fast path and means nothing.
const SLOWLY: (&str, &str) = ("Content-Length", "0");

fn without_date(answer: &Answer) -> Vec<(String, String)> {
    let mut fields: Vec<_> = answer.fields.clone().into_iter().collect();
    fields.retain(|(name, _)| name != "date");
    fields.sort();
    fields
}

#[test]
fn both_lanes_give_the_same_answer() {
    let edge = Edge::start(RULES);
    let more: &[(&str, &str)] = &[("Origin", "https://news.example"), ("X-Nothing", "1")];
    let mut quick = 0;
    // A page for people carries the request's number, and no two have the same.
    let alike = TABLE
        .iter()
        .filter(|(request, _, status, ..)| request.starts_with("GET") && *status != 403);
    for (request, fields, ..) in alike {
        for head in [*request, &request.replacen("GET", "HEAD", 1)] {
            for extra in more {
                let fields: Vec<_> = fields.iter().chain([extra]).copied().collect();
                let before = edge.figure(QUICK);
                let one = edge.ask(head, &fields);
                quick += edge.figure(QUICK) - before;
                let slowly: Vec<_> = fields.iter().copied().chain([SLOWLY]).collect();
                let before = edge.figure(QUICK);
                let other = edge.ask(head, &slowly);
                assert_eq!(edge.figure(QUICK), before, "{head} {slowly:?}");
                assert_eq!(
                    (one.status, &one.body, without_date(&one)),
                    (other.status, &other.body, without_date(&other)),
                    "{head} {fields:?}"
                );
            }
        }
    }
    assert!(quick > 100, "only {quick} requests were quick");
}

#[test]
fn a_connection_of_null_answers_stays_in_the_lane() {
    let edge = Edge::start(RULES);
    let mut stream = edge.connect();
    let asks = ["/a.js", "/b.gif", "/c", "/d?callback=f", "/generate_204", "/matomo.js", "/e.mp4"];
    for round in 1..=20 {
        for path in asks {
            let text = format!("GET {path} HTTP/1.1\r\nHost: ads.example\r\n\r\n");
            stream.write_all(text.as_bytes()).unwrap();
            assert!(matches!(Answer::read(&mut stream).status, 200 | 204), "{path}");
        }
        assert_eq!(edge.figure(QUICK), round * asks.len() as u64);
    }
    drop(stream);
    assert_eq!(edge.figure("tidegate_pixel_requests_total{method=\"get\"}"), 140);
    assert_eq!(edge.figure("tidegate_pixel_answers_total{kind=\"stand_in\"}"), 20);
    assert_eq!(edge.figure("tidegate_pixel_answers_total{kind=\"callback\"}"), 20);
    assert_eq!(edge.figure("tidegate_pixel_answers_total{kind=\"video\"}"), 20);
    edge.figure_at_least("tidegate_pixel_connection_requests_max", 140);
    assert_eq!(edge.rows_at_least(100).len(), 100, "each is an event");
}

#[test]
fn a_person_is_answered_by_the_other_lane_on_the_same_connection() {
    let edge = Edge::start(RULES);
    let mut stream = edge.connect();
    for (fields, status) in [("", 200), ("Accept: text/html\r\n", 403), ("", 200)] {
        let text = format!("GET /a HTTP/1.1\r\nHost: ads.example\r\n{fields}\r\n");
        stream.write_all(text.as_bytes()).unwrap();
        assert_eq!(Answer::read(&mut stream).status, status);
    }
    assert_eq!(edge.figure("tidegate_pixel_pages_total{page=\"blocked\"}"), 1);
}

#[test]
fn a_connection_without_a_request_is_counted_as_silent() {
    let edge = Edge::start(RULES);
    drop(edge.connect());
    edge.figure_at_least("tidegate_pixel_connections_silent_total{scheme=\"http\"}", 1);
    assert_eq!(edge.figure("tidegate_pixel_connections_open"), 0);
}
