//! Which connections are kept, and for how much; sockets of this machine.

use super::raw::{Log, Reply, ok, raw, talk};
use super::support::{Client, echo, plain, run, served};
use http_engine::{HttpVersions, Limits};
use origins::{DialError, SendError};
use std::path::PathBuf;
use std::time::Duration;
use tokio::net::UnixListener;
use tokio::task::spawn_local;

fn socket(test: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("tidegate-{}-{test}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}

#[test]
fn a_socket_of_this_machine_is_a_server() {
    run(async {
        let path = socket("h1.sock");
        let (listener, log) = (UnixListener::bind(&path).unwrap(), Log::default());
        let noted = log.clone();
        spawn_local(async move {
            for connection in 0.. {
                let (stream, _) = listener.accept().await.unwrap();
                let noted = noted.clone();
                spawn_local(async move { talk(stream, connection, &|_| ok("x"), &noted).await });
            }
        });
        let (client, to) = (Client::new(|_| {}), format!("unix:{}", path.display()));
        for _ in 0..3 {
            assert_eq!(client.get(&to).await.unwrap(), "x");
        }
        std::fs::remove_file(&path).unwrap();
        assert_eq!(log.borrow().len(), 3);
        assert!(log.borrow().iter().all(|it| it.connection == 0), "the connection is kept");
        let gone = Client::new(|_| {}).get(&to).await.unwrap_err();
        assert!(matches!(gone, SendError::Dial(DialError::Refused(_))), "{gone}");
    });
}

#[test]
fn http2_is_spoken_over_a_socket_of_this_machine() {
    run(async {
        let path = socket("h2.sock");
        let listener = UnixListener::bind(&path).unwrap();
        spawn_local(async move {
            let (stream, _) = listener.accept().await.unwrap();
            served(stream, HttpVersions::Http2, Limits::default(), echo).await;
        });
        let (client, to) = (Client::new(|_| {}), format!("h2c+unix:{}", path.display()));
        assert_eq!(client.get(&to).await.unwrap(), "HTTP/2.0 http://app.example/ -");
        client.get(&to).await.unwrap();
        std::fs::remove_file(&path).unwrap();
    });
}

#[test]
fn a_connection_carries_no_more_requests_than_agreed() {
    run(async {
        let (server, log) = raw(|_| ok("x")).await;
        let client = Client::new(|terms| terms.keep_alive.requests = Some(3));
        for _ in 0..7 {
            client.get(&format!("http://{}", server.at)).await.unwrap();
        }
        let connections: Vec<_> = log.borrow().iter().map(|it| it.connection).collect();
        assert_eq!(connections, [0, 0, 0, 1, 1, 1, 2]);
        let server = plain(Limits::default(), echo).await;
        for _ in 0..7 {
            client.get(&format!("h2c://{}", server.at)).await.unwrap();
        }
        assert_eq!(server.connections(), 3);
    });
}

#[test]
fn a_connection_that_is_too_old_carries_nothing_more() {
    run(async {
        let server = plain(Limits::default(), echo).await;
        for (age, connections) in [(Duration::from_hours(1), 1), (Duration::ZERO, 4)] {
            let client = Client::new(|terms| terms.keep_alive.age = Some(age));
            for scheme in ["http", "h2c"] {
                let before = server.connections();
                for _ in 0..4 {
                    client.get(&format!("{scheme}://{}", server.at)).await.unwrap();
                }
                assert_eq!(server.connections() - before, connections, "{scheme} {age:?}");
            }
        }
    });
}

#[test]
fn where_none_is_to_be_kept_none_is() {
    run(async {
        let (server, _) = raw(|_| ok("x")).await;
        let client = Client::new(|terms| terms.keep_alive.connections = 0);
        for _ in 0..3 {
            client.get(&format!("http://{}", server.at)).await.unwrap();
        }
        assert_eq!(server.connections(), 3);
    });
}

#[test]
fn an_idle_connection_that_its_server_has_closed_costs_no_request() {
    run(async {
        let (server, log) = raw(|seen| match seen.nth {
            0 => ok("x"),
            _ => Reply::Close(String::new()),
        })
        .await;
        let client = Client::new(|_| {});
        for _ in 0..3 {
            assert_eq!(client.get(&format!("http://{}", server.at)).await.unwrap(), "x");
        }
        // The second and the third request met a connection that broke, and went out again.
        assert_eq!(log.borrow().len(), 5);
        assert_eq!(server.connections(), 3);
    });
}
