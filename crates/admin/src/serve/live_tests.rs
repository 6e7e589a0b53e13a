//! Live rows over a connection, as a browser follows them.

use super::house::House;
use super::*;
use request_rows::{STREAMS_MAX, STREAMS_PER_CLIENT_MAX};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use vocab::Action;

/// A connection whose other end the admin serves.
struct Follower {
    client: DuplexStream,
    stop: Option<oneshot::Sender<()>>,
    served: JoinHandle<Result<(), ServeError>>,
    text: String,
}

impl Follower {
    async fn ask(house: &House, client: &str, query: &str, fields: &str) -> Self {
        let (mut near, far) = tokio::io::duplex(1 << 16);
        let (stop, stopped) = oneshot::channel();
        let stopped = Box::pin(async move { drop(stopped.await) });
        let (admin, client) = (house.admin.clone(), client.parse().unwrap());
        let served = tokio::task::spawn_local(admin.serve_connection(far, client, stopped));
        let head = format!(
            "GET /api/requests/live{query} HTTP/1.1\r\nHost: 127.0.0.1:9053\r\nAuthorization: \
             Bearer {}\r\nAccept-Encoding: gzip, br\r\n{fields}\r\n",
            house.token
        );
        near.write_all(head.as_bytes()).await.unwrap();
        Self { client: near, stop: Some(stop), served, text: String::new() }
    }

    /// Reads up to a text.
    async fn read_to(&mut self, text: &str) {
        let all = async {
            while !self.text.contains(text) {
                let mut piece = [0; 4096];
                let count = self.client.read(&mut piece).await.unwrap();
                assert!(count > 0, "the connection ended: {}", self.text);
                self.text.push_str(std::str::from_utf8(&piece[..count]).unwrap());
            }
        };
        let come = timeout(Duration::from_secs(20), all).await;
        assert!(come.is_ok(), "{text:?} does not come: {}", self.text);
    }
}

/// Connections are served within a local runtime.
async fn locally(test: impl Future<Output = ()>) {
    tokio::task::LocalSet::new().run_until(test).await;
}

#[tokio::test]
async fn rows_come_over_a_connection_as_they_are_written() {
    locally(async {
        let house = House::new();
        house.record("before.example", Action::Pass);
        house.ledger.flush();
        let mut all = Follower::ask(&house, "192.0.2.1", "", "").await;
        all.read_to(": open").await;
        let head = all.text.to_ascii_lowercase();
        assert!(head.contains("content-type: text/event-stream") && head.contains(" 200 "));
        assert!(head.contains("x-accel-buffering: no") && !head.contains("content-encoding"));
        let mut some = Follower::ask(&house, "192.0.2.1", "?name=ads.example", "").await;
        some.read_to(": open").await;
        house.record("www.example", Action::Pass);
        house.record("ads.example", Action::Block);
        all.read_to("ads.example\"").await;
        some.read_to("ads.example\"").await;
        assert!(all.text.contains("id: 2\n") && all.text.contains("www.example"));
        assert!(!all.text.contains("before.example") && !some.text.contains("www.example"));
        let last = "Last-Event-ID: 1\r\n";
        let mut again = Follower::ask(&house, "192.0.2.1", "?after=2", last).await;
        again.read_to("id: 3\n").await;
        assert!(again.text.contains("id: 2\n") && !again.text.contains("id: 1\n"));
    })
    .await;
}

#[tokio::test]
async fn a_stream_ends_at_once_when_its_connection_is_to_end() {
    locally(async {
        let house = House::new();
        let mut follower = Follower::ask(&house, "192.0.2.1", "", "").await;
        follower.read_to(": open").await;
        drop(follower.stop.take());
        let ended = timeout(Duration::from_secs(5), follower.served).await;
        ended.expect("a stream holds nobody up").unwrap().unwrap();
    })
    .await;
}

#[tokio::test]
async fn streams_are_few_and_of_one_client_fewer() {
    locally(async {
        let house = House::new();
        let mut open = Vec::new();
        for place in 0..STREAMS_MAX {
            let client = format!("192.0.2.{}", place / STREAMS_PER_CLIENT_MAX);
            let mut follower = Follower::ask(&house, &client, "", "").await;
            follower.read_to(": open").await;
            open.push(follower);
        }
        let mut late = Follower::ask(&house, "192.0.2.0", "", "").await;
        late.read_to("this client has 4").await;
        assert!(late.text.starts_with("HTTP/1.1 503"), "{}", late.text);
        let mut late = Follower::ask(&house, "192.0.2.99", "", "").await;
        late.read_to("16 streams of live rows are open already").await;
        late.read_to("remedy").await;
        let gone = open.pop().unwrap();
        drop(gone.client);
        let _ended = gone.served.await;
        let mut next = Follower::ask(&house, "192.0.2.99", "", "").await;
        next.read_to(": open").await;
    })
    .await;
}

#[tokio::test]
async fn wrong_words_and_no_credential_open_no_stream() {
    let house = House::new();
    assert_eq!(house.get("/api/requests/live?kind=soup").await.status, 400);
    assert_eq!(house.ask("GET", "/api/requests/live", &[], "").await.status, 401);
}
