//! How many connections the door takes: in all, of one client, and what a reload makes of it.

use crate::support::{Answer, DEADLINE, Edge, Folder, send, site};
use door_web::SiteSettings;
use http_front::HttpDoor;
use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::time::Instant;

/// A site with these caps: in all, and of one client.
fn capped(connections: Option<u32>, connections_per_client: Option<u32>) -> [SiteSettings; 1] {
    [SiteSettings { connections, connections_per_client, ..site("www", &[]) }]
}

fn door(sites: &[SiteSettings]) -> (Folder, Edge) {
    let base = Folder::new();
    base.write("www/x.txt", "here");
    let edge = Edge::start_with(&base, sites, "");
    (base, edge)
}

fn serves(stream: &mut TcpStream) {
    send(stream, "www.example", "GET /x.txt", &[]);
    assert_eq!(Answer::read(stream).text(), "here");
}

/// A connection that was answered, and is held.
fn held(edge: &Edge) -> TcpStream {
    let mut stream = edge.connect();
    serves(&mut stream);
    stream
}

fn is_refused(edge: &Edge) {
    match edge.connect().read(&mut [0]) {
        Ok(count) => assert_eq!(count, 0, "it is closed without a word"),
        Err(why) => assert_eq!(why.kind(), ErrorKind::ConnectionReset),
    }
}

#[test]
fn a_connection_over_the_cap_is_closed_and_a_reload_changes_the_cap() {
    let (_base, edge) = door(&capped(Some(1), None));
    let mut first = held(&edge);
    is_refused(&edge);
    edge.door.reload(&capped(Some(2), None)).unwrap();
    let second = held(&edge);
    is_refused(&edge);
    assert_eq!(edge.door.connection_limits().counts().refused_full, 2);
    // Those over a smaller cap stay.
    edge.door.reload(&capped(Some(1), None)).unwrap();
    is_refused(&edge);
    drop(second);
    serves(&mut first);
}

#[test]
fn a_client_over_its_cap_is_refused_until_it_closes_one() {
    let (_base, edge) = door(&capped(None, Some(2)));
    let (first, _second) = (held(&edge), held(&edge));
    is_refused(&edge);
    let limits = edge.door.connection_limits();
    assert_eq!(limits.counts().refused_client, 1);
    drop(first);
    let begun = Instant::now();
    while limits.counts().open > 1 {
        assert!(begun.elapsed() < DEADLINE, "the door holds on to what was closed");
        std::thread::yield_now();
    }
    let _third = held(&edge);
    is_refused(&edge);
    edge.door.reload(&capped(None, None)).unwrap();
    let _fourth = held(&edge);
}
