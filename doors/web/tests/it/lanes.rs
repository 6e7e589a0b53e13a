//! The fast path and the full one: the same answers, the same records.

use crate::support::{Answer, Edge, Folder, send, site};
use door_web::{CompressChoice, SiteSettings};
use vocab::{Action, RequestKind, Source};

fn edge() -> (Folder, Edge) {
    let base = Folder::new();
    base.write("www/small.js", "let a = 1;");
    base.write("www/middle.css", "a{}".repeat(20_000));
    base.write("www/blocked.js", "no");
    let edge = Edge::start_with(&base, &[site("www", &[])], "/blocked.js$script\n");
    (base, edge)
}

#[test]
fn both_lanes_answer_alike() {
    let (_base, edge) = edge();
    for path in ["/small.js", "/middle.css", "/none", "/blocked.js"] {
        let etag = edge.ask(&format!("GET {path}"), &[]).field("etag").to_owned();
        for fields in [
            vec![],
            vec![("If-None-Match", etag.as_str())],
            vec![("If-None-Match", "\"other\", W/\"x\"")],
            vec![("If-Modified-Since", "Fri, 01 Jan 2100 00:00:00 GMT")],
            vec![("If-Modified-Since", "Thu, 01 Jan 1970 00:00:00 GMT")],
        ] {
            alike(&edge, path, &fields);
        }
    }
}

/// Asks for the same by the fast path and the handler.
fn alike(edge: &Edge, path: &str, fields: &[(&str, &str)]) {
    for method in ["GET", "HEAD"] {
        let request = format!("{method} {path}");
        let quick = edge.ask(&request, fields);
        // No request with a body is simple.
        let with_body = [fields, &[("Content-Length", "0")]].concat();
        let full = edge.ask(&request, &with_body);
        let fields_of = |mut answer: Answer| {
            answer.fields.remove("date");
            (answer.status, answer.fields, answer.body)
        };
        assert_eq!(fields_of(quick), fields_of(full), "{request} {fields:?}");
    }
}

#[test]
fn both_lanes_answer_alike_in_every_coding() {
    let base = Folder::new();
    base.write("www/small.js", "let a = 1;");
    base.write("www/middle.css", "a{}".repeat(20_000));
    base.write("www/side.css", "b{}".repeat(20_000));
    base.write("www/side.css.gz", "made by hand");
    base.write("www/picture.png", vec![7; 5000]);
    let compress = CompressChoice::Switch(true);
    let edge = Edge::start_with(&base, &[SiteSettings { compress, ..site("www", &[]) }], "");
    for path in ["/small.js", "/middle.css", "/side.css", "/picture.png"] {
        for accepts in ["gzip", "br;q=0.5, gzip", "zstd, br, gzip", "identity", "x", ""] {
            let accepts = ("Accept-Encoding", accepts);
            // The first makes what the next ones get from memory.
            let first = edge.ask(&format!("GET {path}"), &[accepts]);
            let negotiable = path != "/picture.png";
            assert_eq!(first.field("vary").is_empty(), !negotiable, "{path}");
            alike(&edge, path, &[accepts]);
            let tag = first.field("etag");
            alike(&edge, path, &[accepts, ("If-None-Match", tag)]);
            let again = edge.ask(&format!("GET {path}"), &[accepts, ("If-None-Match", tag)]);
            assert_eq!(again.status, 304, "{path} {accepts:?}");
            assert_eq!(again.field("content-encoding"), "");
        }
    }
    let gzip = ("Accept-Encoding", "gzip");
    assert_eq!(edge.ask("GET /side.css", &[gzip]).text(), "made by hand");
    assert_eq!(edge.ask("GET /middle.css", &[gzip]).field("content-encoding"), "gzip");
    assert_eq!(edge.ask("GET /small.js", &[gzip]).text(), "let a = 1;");
}

#[test]
fn the_quick_lane_records_what_it_answers() {
    let (_base, edge) = edge();
    let mut stream = edge.connect();
    for (path, status) in [("/small.js?x=1", 200), ("/middle.css", 200), ("/small.js", 200)] {
        send(&mut stream, "www.example", &format!("GET {path}"), &[]);
        assert_eq!(Answer::read(&mut stream).status, status, "{path}");
    }
    // left to the handler, on the same connection.
    send(&mut stream, "www.example", "GET /blocked.js", &[]);
    assert_eq!(Answer::read(&mut stream).status, 403);
    let rows = edge.rows(4);
    let row = |path: &str| {
        let url = format!("http://www.example{path}");
        let mut found = rows.iter().filter(|row| row.subject == url);
        let row = found.next().unwrap();
        assert!(found.next().is_none(), "{path} is recorded once");
        (row.kind, row.action, row.source, row.status, row.bytes)
    };
    assert_eq!(row("/small.js?x=1"), (RequestKind::Script, Action::Pass, Source::File, 200, 10));
    assert_eq!(
        row("/middle.css"),
        (RequestKind::Stylesheet, Action::Pass, Source::File, 200, 60_000)
    );
    let blocked = row("/blocked.js");
    assert_eq!((blocked.0, blocked.1, blocked.3), (RequestKind::Script, Action::Block, 403));
    assert_eq!(rows.len(), 4);
}
