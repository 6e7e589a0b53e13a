//! Files: types, conditions, ranges, large ones.

use crate::support::{Answer, DEADLINE, Edge, Folder, send, site};
use door_web::{ListingMode, SiteSettings};
use std::io::Read;
use std::process::Command;
use std::time::{Duration, Instant, UNIX_EPOCH};
use vocab::{RequestKind, Source};

fn www() -> Folder {
    let base = Folder::new();
    base.write("www/index.html", "<h1>hello</h1>");
    base.write("www/app.js", "let a = 1;");
    base.write("www/docs/index.html", "docs");
    base.write("www/empty/file.txt", "");
    base
}

fn numbered(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at / 7 % 251) as u8).collect()
}

/// Has a file be last changed in 2001: times of the file system have a grain of milliseconds.
fn age(base: &Folder, path: &str) {
    let file = std::fs::File::options().write(true).open(base.path().join(path)).unwrap();
    file.set_modified(UNIX_EPOCH + Duration::from_secs(1_000_000_000)).unwrap();
}

#[test]
fn a_file_is_served_with_its_type_length_and_validators() {
    let base = www();
    let edge = Edge::start(&base);
    let answer = edge.ask("GET /app.js", &[]);
    assert_eq!((answer.status, answer.text().as_str()), (200, "let a = 1;"));
    for (field, value) in [
        ("content-type", "text/javascript; charset=utf-8"),
        ("content-length", "10"),
        ("accept-ranges", "bytes"),
        ("x-content-type-options", "nosniff"),
    ] {
        assert_eq!(answer.field(field), value, "{field}");
    }
    assert!(
        answer.field("etag").starts_with('"') && answer.field("last-modified").ends_with("GMT")
    );
    assert_eq!(edge.ask("GET /empty/file.txt", &[]).status, 200);
    let rows = edge.rows(2);
    let row = rows.iter().find(|row| row.subject == "http://www.example/app.js").unwrap();
    assert_eq!(row.kind, RequestKind::Script);
    assert_eq!((row.source, row.status, row.bytes), (Source::File, 200, 10));
}

#[test]
fn a_folder_shows_its_index_page_and_gets_its_slash() {
    let base = www();
    let edge = Edge::start(&base);
    assert_eq!(edge.ask("GET /", &[]).text(), "<h1>hello</h1>");
    assert_eq!(edge.ask("GET /docs/", &[]).text(), "docs");
    let moved = edge.ask("GET /docs?a=1", &[]);
    assert_eq!((moved.status, moved.field("location")), (301, "/docs/?a=1"));
    assert_eq!(edge.ask("GET //docs//", &[]).text(), "docs");
    assert_eq!(edge.ask("GET //docs", &[]).field("location"), "/docs/");
}

#[test]
fn a_folder_is_never_listed() {
    let base = www();
    let edge = Edge::start(&base);
    let answer = edge.ask("GET /empty/", &[]);
    assert_eq!((answer.status, answer.field("content-type")), (404, "text/html; charset=utf-8"));
    assert!(!answer.text().contains("file.txt") && answer.text().contains("Nothing is here"));
}

#[test]
fn head_gets_the_fields_of_get() {
    let base = www();
    let edge = Edge::start(&base);
    for path in ["/app.js", "/nothing", "/docs"] {
        let (get, head) =
            (edge.ask(&format!("GET {path}"), &[]), edge.ask(&format!("HEAD {path}"), &[]));
        assert!(head.body.is_empty());
        assert_eq!(get.status, head.status, "{path}");
        for field in ["content-length", "content-type", "etag", "last-modified", "location"] {
            assert_eq!(get.field(field), head.field(field), "{path} {field}");
        }
    }
}

#[test]
fn what_the_client_has_already_is_not_sent_again() {
    let base = www();
    let edge = Edge::start(&base);
    let first = edge.ask("GET /app.js", &[]);
    let (etag, date) = (first.field("etag"), first.field("last-modified"));
    for (field, value, status) in [
        ("If-None-Match", etag, 304),
        ("If-None-Match", "*", 304),
        ("If-None-Match", "\"other\"", 200),
        ("If-Modified-Since", date, 304),
        ("If-Modified-Since", "Fri, 01 Jan 2100 00:00:00 GMT", 304),
        ("If-Modified-Since", "Thu, 01 Jan 1970 00:00:00 GMT", 200),
        ("If-Match", "\"other\"", 412),
        ("If-Match", etag, 200),
    ] {
        let answer = edge.ask("GET /app.js", &[(field, value)]);
        assert_eq!(answer.status, status, "{field}: {value}");
        if status == 304 {
            assert_eq!(answer.field("etag"), etag);
            assert!(answer.body.is_empty());
        }
    }
    // A tag outranks a date.
    let both = [("If-None-Match", "\"other\""), ("If-Modified-Since", date)];
    assert_eq!(edge.ask("GET /app.js", &both).status, 200);
}

#[test]
fn a_changed_file_has_another_tag() {
    let base = www();
    age(&base, "www/app.js");
    let edge = Edge::start(&base);
    let before = edge.ask("GET /app.js", &[]);
    base.write("www/app.js", "let a = 2;");
    let etag = before.field("etag");
    let after = edge.until("GET /app.js", &[("If-None-Match", etag)], "let a = 2;");
    assert_eq!(after.status, 200);
    // As `mv new app.js` does it: same size, same second.
    base.write("www/new.js", "let a = 3;");
    std::fs::rename(base.path().join("www/new.js"), base.path().join("www/app.js")).unwrap();
    let etag = after.field("etag");
    let moved = edge.until("GET /app.js", &[("If-None-Match", etag)], "let a = 3;");
    assert_eq!(moved.status, 200);
}

#[test]
fn parts_are_sent_as_asked_for() {
    let base = www();
    let edge = Edge::start(&base);
    let part = edge.ask("GET /app.js", &[("Range", "bytes=4-4")]);
    assert_eq!((part.status, part.text().as_str()), (206, "a"));
    assert_eq!((part.field("content-range"), part.field("content-length")), ("bytes 4-4/10", "1"));
    assert_eq!(edge.ask("GET /app.js", &[("Range", "bytes=-2")]).text(), "1;");
    assert_eq!(edge.ask("GET /app.js", &[("Range", "bytes=8-")]).text(), "1;");
    let outside = edge.ask("GET /app.js", &[("Range", "bytes=10-")]);
    assert_eq!((outside.status, outside.field("content-range")), (416, "bytes */10"));
    // Parts that nearly touch are one; nonsense gets the whole.
    assert_eq!(edge.ask("GET /app.js", &[("Range", "bytes=0-1,3-4")]).text(), "let a");
    assert_eq!(edge.ask("GET /app.js", &[("Range", "bytes=x")]).status, 200);
    assert_eq!(edge.ask("HEAD /app.js", &[("Range", "bytes=0-1")]).status, 200);
}

#[test]
fn several_parts_come_in_one_answer() {
    let base = www();
    let large = numbered(700_000);
    base.write("www/large.bin", &large);
    base.write("www/small.bin", &large[..2000]);
    let edge = Edge::start(&base);
    for (path, ranges, parts, total) in [
        ("/small.bin", "bytes=1500-1509, 0-9", [1500..1510, 0..10], 2000),
        ("/large.bin", "bytes=5-600000, -9", [5..600_001, 699_991..700_000], 700_000),
    ] {
        let answer = edge.ask(&format!("GET {path}"), &[("Range", ranges)]);
        assert_eq!(answer.status, 206, "{path}");
        let (media, boundary) = answer.field("content-type").split_once("; boundary=").unwrap();
        assert_eq!(media, "multipart/byteranges");
        let mut expected = Vec::new();
        for part in parts {
            let (first, last) = (part.start, part.end - 1);
            let head = format!(
                "\r\n--{boundary}\r\ncontent-type: application/octet-stream\r\n\
                 content-range: bytes {first}-{last}/{total}\r\n\r\n"
            );
            expected.extend_from_slice(head.as_bytes());
            expected.extend_from_slice(&large[part]);
        }
        expected.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
        assert!(answer.body == expected[2..], "{path}: {}", answer.text());
    }
    let outside = edge.ask("GET /small.bin", &[("Range", "bytes=2000-,3000-")]);
    assert_eq!((outside.status, outside.field("content-range")), (416, "bytes */2000"));
    let many = format!("bytes={}", vec!["0-0"; 40].join(","));
    assert_eq!(edge.ask("GET /small.bin", &[("Range", &many)]).status, 200);
}

#[test]
fn a_part_of_another_version_is_not_sent() {
    let base = www();
    age(&base, "www/app.js");
    let edge = Edge::start(&base);
    let first = edge.ask("GET /app.js", &[]);
    for (condition, status) in [
        (first.field("etag"), 206),
        (first.field("last-modified"), 206),
        ("\"other\"", 200),
        ("Sun, 09 Sep 2001 01:46:41 GMT", 200),
    ] {
        let answer = edge.ask("GET /app.js", &[("Range", "bytes=0-1"), ("If-Range", condition)]);
        assert_eq!(answer.status, status, "{condition}");
    }
}

#[test]
fn a_large_file_arrives_whole_and_in_parts() {
    let base = www();
    let large = numbered(3_000_001);
    base.write("www/large.bin", &large);
    let edge = Edge::start(&base);
    let whole = edge.ask("GET /large.bin", &[]);
    assert_eq!(whole.field("content-length"), "3000001");
    assert!(whole.body == large, "the bytes differ");
    let part = edge.ask("GET /large.bin", &[("Range", "bytes=100001-2500000")]);
    assert!(part.body == large[100_001..=2_500_000], "the part differs");
    let rows = edge.rows(2);
    // Which core's row is written first is nobody's promise.
    let mut bytes: Vec<_> = rows.iter().map(|row| row.bytes).collect();
    bytes.sort_unstable();
    assert_eq!(bytes, [2_400_000, 3_000_001]);
}

#[test]
fn a_client_that_leaves_in_the_middle_is_recorded_with_what_it_took() {
    let base = www();
    base.write("www/large.bin", numbered(64 << 20));
    let edge = Edge::start(&base);
    let mut stream = edge.connect();
    send(&mut stream, "www.example", "GET /large.bin", &[]);
    let mut some = [0; 4096];
    stream.read_exact(&mut some).unwrap();
    drop(stream);
    let row = edge.rows(1).remove(0);
    assert!(row.bytes < 64 << 20, "{row:?}");
}

#[test]
fn a_file_that_is_cut_short_while_it_is_sent_is_not_taken_for_whole() {
    let base = www();
    base.write("www/large.bin", numbered(64 << 20));
    let edge = Edge::start(&base);
    let mut stream = edge.connect();
    send(&mut stream, "www.example", "GET /large.bin", &[]);
    let mut some = [0; 4096];
    stream.read_exact(&mut some).unwrap();
    let file =
        std::fs::File::options().write(true).open(base.path().join("www/large.bin")).unwrap();
    file.set_len(1).unwrap();
    let mut rest = Vec::new();
    // The connection ends, by a reset or by its end, before the promised length.
    let _ = stream.read_to_end(&mut rest);
    assert!(rest.len() + some.len() < 64 << 20);
}

#[test]
fn several_requests_share_a_connection() {
    let base = www();
    let edge = Edge::start(&base);
    let mut stream = edge.connect();
    for path in ["GET /app.js", "GET /nothing", "GET /docs/"] {
        send(&mut stream, "www.example", path, &[]);
        let answer = Answer::read(&mut stream);
        assert_ne!(answer.field("connection"), "close");
    }
}

#[test]
fn curl_resumes_a_download() {
    let base = www();
    let large = numbered(500_000);
    base.write("www/large.bin", &large);
    base.write("got.bin", &large[..123_456]);
    let edge = Edge::start(&base);
    let begun = Instant::now();
    let status = Command::new("curl")
        .args(["-sS", "--max-time", "20", "--noproxy", "*", "-C", "-", "-o"])
        .arg(base.path().join("got.bin"))
        .arg(format!("http://{}/large.bin", edge.at[0]))
        .status()
        .unwrap();
    assert!(status.success() && begun.elapsed() < DEADLINE);
    assert!(std::fs::read(base.path().join("got.bin")).unwrap() == large, "the bytes differ");
}

#[test]
fn scripts_that_nothing_runs_are_not_sent_or_listed() {
    let base = www();
    base.write("www/docs/config.php", "<?php $password = 'x';");
    base.write("www/docs/config.PHP~", "<?php $password = 'x';");
    base.write("www/list/run.cgi", "#!/bin/sh");
    base.write("www/list/script.py", "print()");
    let listed = SiteSettings { listing: ListingMode::On, ..site("www", &[]) };
    let edge = Edge::start_with(&base, std::slice::from_ref(&listed), "");
    for path in ["/docs/config.php", "/docs/config.PHP~", "/list/run.cgi", "/list/%72un.CGI"] {
        assert_eq!(edge.ask(&format!("GET {path}"), &[]).status, 404, "{path}");
    }
    assert_eq!(edge.ask("GET /list/script.py", &[]).text(), "print()");
    let listing = edge.ask("GET /list/", &[]).text();
    assert!(listing.contains("script.py") && !listing.contains("run.cgi"), "{listing}");

    let own = SiteSettings { forbidden_files: vec!["/list/*".into()], ..listed };
    let edge = Edge::start_with(&base, &[own], "");
    assert_eq!(edge.ask("GET /docs/config.php", &[]).status, 200, "the owner says so");
    assert_eq!(edge.ask("GET /list/script.py", &[]).status, 404);
}

#[test]
fn a_folder_that_is_not_listed_may_say_so_with_200() {
    let base = www();
    base.write("www/list/a.txt", "a");
    let noticed = SiteSettings { listing: ListingMode::Notice, ..site("www", &[]) };
    let edge = Edge::start_with(&base, std::slice::from_ref(&noticed), "");
    let answer = edge.ask("GET /list/", &[]);
    assert_eq!((answer.status, answer.text()), (200, "Directory listing disabled\n".into()));
    assert_eq!(edge.ask("HEAD /list/", &[]).field("content-length"), "27");
    assert_eq!(edge.ask("GET /list/??a.txt", &[]).status, 404, "it asks for something else");
    assert_eq!(edge.ask("GET /none/", &[]).status, 404);
    assert_eq!(edge.ask("GET /list/a.txt", &[]).text(), "a");
}
