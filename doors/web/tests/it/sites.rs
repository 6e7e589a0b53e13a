//! Several sites: by host, by listener, and anew.

use crate::support::{Edge, Folder, site};
use door_web::{WebDoor, WebParts};
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

fn base() -> Folder {
    let base = Folder::new();
    for name in ["one", "two", "three"] {
        base.write(&format!("{name}/index.html"), name);
    }
    base
}

#[test]
fn the_host_chooses_the_site_and_the_first_takes_the_rest() {
    let base = base();
    let sites = [site("one", &["one.example"]), site("two", &["two.example", "www.two.example"])];
    let edge = Edge::start_with(&base, &sites, "");
    assert_eq!(edge.at.len(), 1, "the sites share a listener");
    for (host, shown) in [
        ("one.example", "one"),
        ("two.example", "two"),
        ("WWW.Two.Example:8000", "two"),
        ("other.example", "one"),
        ("127.0.0.1", "one"),
        ("[::1]:80", "one"),
        ("", "one"),
    ] {
        assert_eq!(edge.ask_host(host, "GET /", &[]).text(), shown, "{host}");
    }
    // The authority of an absolute target stands over Host.
    assert_eq!(edge.ask_host("one.example", "GET http://two.example/", &[]).text(), "two");
}

#[test]
fn a_listener_shows_its_own_sites_only() {
    let base = base();
    let free = std::net::TcpListener::bind("127.0.0.2:0").unwrap().local_addr().unwrap();
    let mut there = site("two", &["one.example"]);
    there.listen[0].0.address = free;
    let edge = Edge::start_with(&base, &[site("one", &["one.example"]), there], "");
    assert_eq!(edge.at.len(), 2);
    assert_eq!(edge.ask_host("one.example", "GET /", &[]).text(), "one");
    let mut stream = std::net::TcpStream::connect(free).unwrap();
    stream.set_read_timeout(Some(crate::support::DEADLINE)).unwrap();
    crate::support::send(&mut stream, "one.example", "GET /", &[]);
    assert_eq!(crate::support::Answer::read(&mut stream).text(), "two");
}

#[test]
fn a_reload_takes_new_sites_or_leaves_the_old() {
    let base = base();
    let edge = Edge::start_with(&base, &[site("one", &[])], "");
    assert_eq!(edge.ask("GET /", &[]).text(), "one");
    edge.door.reload(&[site("two", &[])]).unwrap();
    assert_eq!(edge.ask("GET /", &[]).text(), "two");
    let complaints = edge.door.reload(&[site("three", &[]), site("nowhere", &[])]).unwrap_err();
    assert_eq!(complaints[0].path, "1.root");
    assert!(complaints[0].message.contains("nowhere"));
    assert_eq!(edge.ask("GET /", &[]).text(), "two");
}

#[test]
fn a_root_that_is_no_folder_is_a_complaint() {
    let base = base();
    let edge = Edge::start_with(&base, &[site("one", &[])], "");
    let parts = WebParts { base: base.path().join("one"), ..edge.parts() };
    let complaints = WebDoor::new(&[site("index.html", &[])], parts).err().unwrap();
    assert_eq!(complaints[0].path, "0.root");
}

#[test]
fn a_root_that_is_a_link_may_change_under_a_running_door() {
    let base = base();
    let link = base.path().join("current");
    symlink("one", &link).unwrap();
    let edge = Edge::start_with(&base, &[site("current", &[])], "");
    assert_eq!(edge.ask("GET /", &[]).text(), "one");
    symlink("two", base.path().join("next")).unwrap();
    std::fs::rename(base.path().join("next"), &link).unwrap();
    let begun = Instant::now();
    while edge.ask("GET /", &[]).text() != "two" {
        assert!(begun.elapsed() < Duration::from_secs(10), "the new folder is not seen");
    }
}
