//! Files that are kept in memory and change on disk: what is served is what is there.

use crate::support::{Answer, DEADLINE, Edge, Folder, send, site};
use door_web::{CompressChoice, SiteSettings};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::time::Instant;

/// A door that keeps `a/b/x.txt`, with "one" in it, in memory.
fn kept() -> (Folder, Edge) {
    let base = Folder::new();
    base.write("www/a/b/x.txt", "one");
    let edge = Edge::start(&base);
    for _ in 0..3 {
        assert_eq!(edge.ask("GET /a/b/x.txt", &[]).text(), "one");
    }
    (base, edge)
}

fn shows(edge: &Edge, path: &str, body: &str) {
    edge.until(&format!("GET {path}"), &[], body);
}

fn is_gone(edge: &Edge, path: &str) {
    shows(edge, path, include_str!("../../src/not_found.html"));
}

#[test]
fn every_way_to_change_a_file_is_seen() {
    let (base, edge) = kept();
    let file = base.path().join("www/a/b/x.txt");
    base.write("www/a/b/x.txt", "two");
    shows(&edge, "/a/b/x.txt", "two");
    base.write("new.txt", "three");
    fs::rename(base.path().join("new.txt"), &file).unwrap();
    shows(&edge, "/a/b/x.txt", "three");
    fs::remove_file(&file).unwrap();
    is_gone(&edge, "/a/b/x.txt");
    base.write("www/a/b/x.txt", "four");
    shows(&edge, "/a/b/x.txt", "four");
    fs::File::options().write(true).open(&file).unwrap().set_len(1).unwrap();
    shows(&edge, "/a/b/x.txt", "f");
}

#[test]
fn a_file_that_becomes_a_folder_is_one() {
    let (base, edge) = kept();
    fs::remove_file(base.path().join("www/a/b/x.txt")).unwrap();
    base.write("www/a/b/x.txt/index.html", "a folder");
    shows(&edge, "/a/b/x.txt", "This is at /a/b/x.txt/\n");
    assert_eq!(edge.ask("GET /a/b/x.txt/", &[]).text(), "a folder");
}

#[test]
fn a_folder_above_may_be_moved_or_removed() {
    let (base, edge) = kept();
    let path = |name: &str| base.path().join("www").join(name);
    fs::rename(path("a"), path("c")).unwrap();
    is_gone(&edge, "/a/b/x.txt");
    assert_eq!(edge.ask("GET /c/b/x.txt", &[]).text(), "one");
    base.write("www/a/b/x.txt", "another");
    shows(&edge, "/a/b/x.txt", "another");
    fs::remove_dir_all(path("a")).unwrap();
    is_gone(&edge, "/a/b/x.txt");
    assert_eq!(edge.ask("GET /c/b/x.txt", &[]).text(), "one");
}

#[test]
fn an_index_page_that_comes_first_takes_the_place_of_the_second() {
    let base = Folder::new();
    base.write("www/second.html", "second");
    let index = vec!["first.html".into(), "second.html".into()];
    let edge = Edge::start_with(&base, &[SiteSettings { index, ..site("www", &[]) }], "");
    shows(&edge, "/", "second");
    base.write("www/first.html", "first");
    shows(&edge, "/", "first");
    fs::remove_file(base.path().join("www/first.html")).unwrap();
    shows(&edge, "/", "second");
}

#[test]
fn a_link_that_is_changed_shows_what_it_leads_to() {
    let base = Folder::new();
    base.write("www/one/x.txt", "one");
    base.write("www/two/x.txt", "two");
    let link = base.path().join("www/current");
    symlink("one", &link).unwrap();
    let edge = Edge::start(&base);
    shows(&edge, "/current/x.txt", "one");
    symlink("two", base.path().join("www/next")).unwrap();
    fs::rename(base.path().join("www/next"), &link).unwrap();
    shows(&edge, "/current/x.txt", "two");
    base.write("www/two/x.txt", "three");
    shows(&edge, "/current/x.txt", "three");
}

#[test]
fn a_file_of_two_names_is_seen_to_change_under_the_other() {
    let base = Folder::new();
    base.write("www/x.txt", "one");
    fs::hard_link(base.path().join("www/x.txt"), base.path().join("other.txt")).unwrap();
    let edge = Edge::start(&base);
    shows(&edge, "/x.txt", "one");
    base.write("other.txt", "two");
    shows(&edge, "/x.txt", "two");
}

#[test]
fn no_answer_mixes_two_versions() {
    let base = Folder::new();
    let version = |letter: char| letter.to_string().repeat(40_000);
    base.write("www/x.txt", version('a'));
    let edge = Edge::start(&base);
    for letter in 'b'..='z' {
        base.write("next.txt", version(letter));
        fs::rename(base.path().join("next.txt"), base.path().join("www/x.txt")).unwrap();
        let text = edge.ask("GET /x.txt", &[]).text();
        let first = text.chars().next().unwrap();
        assert!(text == version(first), "a mix of versions");
    }
    shows(&edge, "/x.txt", &version('z'));
}

#[test]
fn coded_forms_follow_the_file_and_what_stands_beside_it() {
    let base = Folder::new();
    base.write("www/x.txt", "one ".repeat(1000));
    let compress = CompressChoice::Switch(true);
    let edge = Edge::start_with(&base, &[SiteSettings { compress, ..site("www", &[]) }], "");
    let gzip = ("Accept-Encoding", "gzip");
    let is_of_the_file = || {
        let plain = edge.ask("GET /x.txt", &[]).field("etag").to_owned();
        let coded = edge.ask("GET /x.txt", &[gzip]);
        coded.field("etag") == format!("{}-gz1\"", plain.trim_end_matches('"'))
    };
    for _ in 0..3 {
        assert!(is_of_the_file());
    }
    base.write("www/x.txt", "two ".repeat(1200));
    let begun = Instant::now();
    while !is_of_the_file() || edge.ask("GET /x.txt", &[]).body.len() != 4800 {
        assert!(begun.elapsed() < DEADLINE, "the old form is still sent");
        std::thread::yield_now();
    }
    base.write("www/x.txt.gz", "made by hand");
    edge.until("GET /x.txt", &[gzip], "made by hand");
    base.write("www/x.txt.gz", "made again");
    edge.until("GET /x.txt", &[gzip], "made again");
    base.write("www/x.txt", "short");
    edge.until("GET /x.txt", &[gzip], "short");
}

#[test]
fn a_reload_keeps_what_did_not_change_and_takes_what_did() {
    let base = Folder::new();
    base.write("www/x.txt", "one");
    base.write("other/x.txt", "other");
    let sites = [site("www", &["a.example"]), site("other", &["b.example"])];
    let edge = Edge::start_with(&base, &sites, "");
    let ask = |host: &str| edge.ask_host(host, "GET /x.txt", &[]).text();
    assert_eq!((ask("a.example"), ask("b.example")), ("one".into(), "other".into()));
    let swapped = [site("www", &["a.example"]), site("www", &["b.example"])];
    edge.door.reload(&swapped).unwrap();
    assert_eq!((ask("a.example"), ask("b.example")), ("one".into(), "one".into()));
    base.write("www/x.txt", "two");
    edge.until("GET /x.txt", &[], "two");
    let gone = [site("www", &["a.example"]), site("nowhere", &["b.example"])];
    assert_eq!(edge.door.reload(&gone).unwrap_err()[0].path, "1.root");
    assert_eq!(ask("b.example"), "two");
}

#[test]
fn a_store_of_no_memory_keeps_nothing_and_serves_all() {
    let base = Folder::new();
    base.write("www/x.txt", "one");
    let memory = "0".parse::<vocab::ByteSize>().unwrap().into();
    let edge = Edge::start_with(&base, &[SiteSettings { memory, ..site("www", &[]) }], "");
    assert_eq!(edge.ask("GET /x.txt", &[]).text(), "one");
    base.write("www/x.txt", "two");
    assert_eq!(edge.ask("GET /x.txt", &[]).text(), "two");
}

/// More than the buffers between a server and a client that does not read.
const LARGE_BYTES: usize = 48 << 20;

/// A door that is in the middle of sending `large.bin`, and the part that came; the rest waits for
/// the client.
fn half_sent() -> (Folder, Edge, TcpStream, usize) {
    let base = Folder::new();
    base.write("www/large.bin", vec![b'a'; LARGE_BYTES]);
    let edge = Edge::start(&base);
    let mut stream = edge.connect();
    send(&mut stream, "www.example", "GET /large.bin", &[("Connection", "close")]);
    let mut first = vec![0; 4096];
    stream.read_exact(&mut first).unwrap();
    let head = first.windows(4).position(|it| it == b"\r\n\r\n").unwrap() + 4;
    let length = format!("content-length: {LARGE_BYTES}\r\n");
    assert!(String::from_utf8_lossy(&first[..head]).contains(&length));
    (base, edge, stream, first.len() - head)
}

/// All that comes until the end, behind the `came` bytes of body.
fn rest_is_whole(mut stream: TcpStream, came: usize) {
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    assert_eq!(came + rest.len(), LARGE_BYTES);
    assert!(rest.iter().all(|it| *it == b'a'), "bytes of another version");
}

#[test]
fn a_file_that_grows_while_it_is_sent_ends_where_it_was_said_to() {
    let (base, edge, stream, came) = half_sent();
    let mut file =
        fs::File::options().append(true).open(base.path().join("www/large.bin")).unwrap();
    file.write_all(&vec![b'b'; 1 << 20]).unwrap();
    rest_is_whole(stream, came);
    let length = (LARGE_BYTES + (1 << 20)).to_string();
    assert_eq!(edge.ask("HEAD /large.bin", &[]).field("content-length"), length);
}

#[test]
fn a_file_that_vanishes_while_it_is_sent_is_sent_to_its_end() {
    let (base, edge, stream, came) = half_sent();
    fs::remove_file(base.path().join("www/large.bin")).unwrap();
    rest_is_whole(stream, came);
    assert_eq!(edge.ask("GET /large.bin", &[]).status, 404);
}

#[test]
fn a_file_that_becomes_a_folder_while_it_is_sent_is_sent_to_its_end() {
    let (base, edge, stream, came) = half_sent();
    fs::remove_file(base.path().join("www/large.bin")).unwrap();
    base.write("www/large.bin/index.html", "a folder");
    rest_is_whole(stream, came);
    assert_eq!(edge.ask("GET /large.bin", &[]).field("location"), "/large.bin/");
    assert_eq!(edge.ask("GET /large.bin/", &[]).text(), "a folder");
}

#[test]
fn a_file_that_is_replaced_while_it_is_sent_is_not_mixed_with_the_next() {
    let (base, edge, stream, came) = half_sent();
    base.write("next.bin", vec![b'b'; LARGE_BYTES]);
    fs::rename(base.path().join("next.bin"), base.path().join("www/large.bin")).unwrap();
    rest_is_whole(stream, came);
    assert_eq!(edge.ask("GET /large.bin", &[("Range", "bytes=0-3")]).text(), "bbbb");
}

#[test]
fn a_file_cut_short_takes_down_its_own_answer_only() {
    let (base, edge, mut stream, came) = half_sent();
    let mut other = edge.connect();
    send(&mut other, "www.example", "GET /none", &[]);
    assert_eq!(Answer::read(&mut other).status, 404);
    let file = fs::File::options().write(true).open(base.path().join("www/large.bin")).unwrap();
    file.set_len(1).unwrap();
    let mut rest = Vec::new();
    // By a reset or by the end, before the promised length.
    let _ = stream.read_to_end(&mut rest);
    assert!(came + rest.len() < LARGE_BYTES);
    send(&mut other, "www.example", "GET /large.bin", &[]);
    assert_eq!(Answer::read(&mut other).text(), "a");
}
