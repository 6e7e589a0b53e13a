//! The PROXY header with which connections to servers begin.

use super::raw::{ok, raw};
use super::support::{Client, echo, get, run, served, start};
use http_engine::{HttpVersions, Limits};
use origins::OriginServer;
use transport::proxy_protocol::{
    PROXY_HEADER_DEADLINE, ProxyEndpoints, ProxyIntroduction, ProxyVersion,
};

fn from(client: &str) -> ProxyEndpoints {
    ProxyEndpoints { client: client.parse().unwrap(), server: "198.51.100.1:443".parse().unwrap() }
}

async fn get_for(client: &Client, to: &str, whom: Option<ProxyEndpoints>) {
    let to: OriginServer = to.parse().unwrap();
    let sent = client.origins.send_to(&to, &client.terms, Box::new(get("/")), whom).await;
    super::support::text(sent.unwrap()).await;
}

#[test]
fn the_client_is_named_and_its_connection_is_nobody_elses() {
    run(async {
        for version in [ProxyVersion::V1, ProxyVersion::V2] {
            let (server, log) = raw(|_| ok("x")).await;
            let client = Client::new(|terms| terms.proxy_protocol = Some(version));
            let to = format!("http://{}", server.at);
            let (one, two) = ("192.0.2.7:5000", "192.0.2.8:5000");
            for whom in [one, one, two, one] {
                get_for(&client, &to, Some(from(whom))).await;
            }
            get_for(&client, &to, None).await;
            let seen: Vec<_> =
                log.borrow().iter().map(|it| (it.connection, it.introduced.unwrap())).collect();
            let named = |whom: &str| ProxyIntroduction::Client(whom.parse().unwrap());
            let expected = [
                (0, named(one)),
                (0, named(one)),
                (1, named(two)),
                (0, named(one)),
                (2, ProxyIntroduction::Local),
            ];
            assert_eq!(seen, expected, "{version:?}");
        }
    });
}

#[test]
fn http2_is_not_shared_among_clients_either() {
    run(async {
        let server = start(|stream| async {
            let stream = stream.read_proxy_header(PROXY_HEADER_DEADLINE).await.unwrap();
            served(stream, HttpVersions::Http2, Limits::default(), echo).await;
        })
        .await;
        let client = Client::new(|terms| terms.proxy_protocol = Some(ProxyVersion::V2));
        let to = format!("h2c://{}", server.at);
        for whom in ["192.0.2.7:5000", "192.0.2.7:5000", "192.0.2.8:5000", "192.0.2.7:5001"] {
            get_for(&client, &to, Some(from(whom))).await;
        }
        assert_eq!(server.connections(), 3);
    });
}

#[test]
fn without_a_header_clients_share() {
    run(async {
        let (server, log) = raw(|_| ok("x")).await;
        let client = Client::new(|_| {});
        for whom in ["192.0.2.7:5000", "192.0.2.8:5000"] {
            get_for(&client, &format!("http://{}", server.at), Some(from(whom))).await;
        }
        assert_eq!(server.connections(), 1);
        assert!(log.borrow().iter().all(|seen| seen.introduced.is_none()));
    });
}
