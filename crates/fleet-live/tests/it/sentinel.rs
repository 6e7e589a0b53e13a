//! A primary that dies, its replica and a Sentinel: edges follow to the new primary.

use crate::edge::{TestEdge, clock, settings};
use crate::server_access::certificate;
use test_support::{RedisServer, ScratchFolder, until};

#[test]
fn after_a_fail_over_edges_go_on_with_the_new_primary() {
    let (mut primary, folder) = (RedisServer::start(&[]), ScratchFolder::new());
    let primary_port = primary.port().to_string();
    let replica = RedisServer::start(&["--replicaof", "127.0.0.1", &primary_port]);
    until("the replica", || primary.cli(&["INFO", "replication"]).contains("state=online"));
    folder.write("sentinel.conf", "");
    let file = folder.path().join("sentinel.conf").display().to_string();
    let sentinel = RedisServer::start_by(&[&file, "--sentinel"]);
    let tell = |args: &[&str]| assert_eq!(sentinel.cli(&[&["SENTINEL"], args].concat()), "OK");
    tell(&["MONITOR", "harbour", "127.0.0.1", &primary_port, "1"]);
    tell(&["SET", "harbour", "down-after-milliseconds", "500"]);
    tell(&["SET", "harbour", "failover-timeout", "3000"]);
    until("the Sentinel to know the replica", || {
        sentinel.cli(&["SENTINEL", "REPLICAS", "harbour"]).contains(&replica.port().to_string())
    });

    let state = |name: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(&path).unwrap();
        path
    };
    let nobody = "127.0.0.1:1";
    let more = format!(", \"sentinels\": [{nobody:?}, \"127.0.0.1:{}\"]", sentinel.port());
    let settings = settings("redis://harbour", &more);
    assert_eq!(settings.check(), []);
    let edge = |name: &str| TestEdge::start_with(&settings, name, &state(name), clock);
    let (one, two) = (edge("one"), edge("two"));
    one.connected();
    two.connected();
    one.say("k", "v", None);
    two.hears("k", Some("v"));
    until("the replica to have it", || {
        replica.cli(&["HGET", "tidegate:entries", "k"]).ends_with(" v")
    });

    primary.kill();
    one.lost();
    one.say("k", "said meanwhile", None);
    two.hears("k", Some("said meanwhile"));
    one.connected();
    assert!(replica.cli(&["INFO", "replication"]).contains("role:master"));
    assert!(replica.cli(&["HGET", "tidegate:entries", "k"]).ends_with("said meanwhile"));
    one.live.purge("p".into());
    until("a purge", || two.heard.purges() == ["p"]);
}

#[test]
fn a_name_that_no_sentinel_knows_is_told() {
    let folder = ScratchFolder::new();
    folder.write("sentinel.conf", "");
    let file = folder.path().join("sentinel.conf").display().to_string();
    let sentinel = RedisServer::start_by(&[&file, "--sentinel"]);
    let more = format!(", \"sentinels\": [\"127.0.0.1:{}\"]", sentinel.port());
    let settings = settings("redis://nobody", &more);
    let one = TestEdge::start_with(&settings, "one", folder.path(), clock);
    until("the reason", || {
        one.live.health().trouble.is_some_and(|it| it.contains("no Sentinel knows"))
    });
}

#[test]
fn a_sentinel_has_a_user_and_tls_of_its_own() {
    let (primary, folder) = (RedisServer::start(&[]), ScratchFolder::new());
    certificate(&folder, "");
    folder.write("sentinel.conf", "");
    let file = |name: &str| folder.path().join(name).display().to_string();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let sentinel = RedisServer::start_by(&[
        &file("sentinel.conf"),
        "--sentinel",
        "--tls-port",
        &port.to_string(),
        "--tls-cert-file",
        &file("cert.pem"),
        "--tls-key-file",
        &file("key.pem"),
        "--tls-ca-cert-file",
        &file("cert.pem"),
        "--tls-auth-clients",
        "no",
    ]);
    let primary_port = primary.port().to_string();
    let monitor = ["SENTINEL", "MONITOR", "harbour", "127.0.0.1", &primary_port, "1"];
    assert_eq!(sentinel.cli(&monitor), "OK");
    let user = ["on", ">word", "allchannels", "nocommands", "+hello", "+auth", "+sentinel"];
    assert_eq!(sentinel.cli(&[&["ACL", "SETUSER", "watch"], &user[..]].concat()), "OK");
    assert_eq!(sentinel.cli(&["ACL", "SETUSER", "default", "resetpass", ">hidden"]), "OK");
    let edge = |sentinel: &str, more: &str| {
        let more = format!(", \"sentinels\": [{sentinel:?}]{more}");
        let settings = settings("redis://harbour", &more);
        assert_eq!(settings.check(), []);
        TestEdge::start_with(&settings, "one", folder.path(), clock)
    };
    let plain = sentinel.port();
    let denied = edge(&format!("redis://watch:wrong@127.0.0.1:{plain}"), "");
    until("the reason", || {
        let told = denied.live.health().trouble.unwrap_or_default();
        assert!(!told.contains("wrong@"), "{told}");
        told.contains("user and password in url, or in sentinels")
    });
    edge(&format!("redis://watch:word@127.0.0.1:{plain}"), "").connected();
    let ca = ", \"ca\": \"cert.pem\"";
    edge(&format!("rediss://watch:word@127.0.0.1:{port}"), ca).connected();
}
