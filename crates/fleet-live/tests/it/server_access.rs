//! Users of the server's ACL, TLS, and what an edge says when it may not do something.

use crate::edge::{TestEdge, clock, settings};
use fleet_live::{QuestionId, ReplyKind};
use std::process::Command;
use test_support::{RedisServer, ScratchFolder, until};

/// Commands that an edge uses, as the manual lists them.
const COMMANDS: &[&str] = &[
    "+hello",
    "+auth",
    "+ping",
    "+script|load",
    "+eval",
    "+evalsha",
    "+time",
    "+get",
    "+getrange",
    "+set",
    "+hget",
    "+hmget",
    "+hscan",
    "+hset",
    "+hdel",
    "+hlen",
    "+hincrby",
    "+xadd",
    "+xread",
    "+xrange",
    "+xrevrange",
    "+zadd",
    "+zcard",
    "+zrange",
    "+zrem",
    "+zremrangebyscore",
    "+llen",
    "+lpop",
    "+rpush",
    "+pexpire",
];

#[test]
fn the_user_of_the_manual_can_do_everything_and_touches_no_other_key() {
    let (server, folder) = (RedisServer::start(&[]), ScratchFolder::new());
    let user = ["ACL", "SETUSER", "edge", "on", ">word", "resetkeys", "~tidegate:*", "nocommands"];
    let said = server.cli(&[&user[..], COMMANDS].concat());
    assert_eq!(said, "OK");
    let url = format!("redis://edge:word@127.0.0.1:{}", server.port());
    let one = TestEdge::start_with(&settings(&url, ""), "one", folder.path(), clock);
    one.connected();
    one.say("k", "v", None);
    one.live.purge("p".into());
    until("both", || one.live.health().waiting == 0);
    let rate = rate_limit::SharedRate::new(1_000_000, 5);
    one.leases.take(rate_limit::BucketName(1), rate, clock().mono_ms);
    until("the lease", || !server.cli(&["KEYS", "tidegate:limit:*"]).is_empty());
    std::thread::scope(|scope| {
        scope.spawn(|| one.questions.ask(QuestionId(1), vec![1], |_| {}).unwrap());
        let asked = one.asked.next().unwrap();
        one.asked.reply(asked.id, ReplyKind::Answer(vec![2]));
    });
    assert_eq!(one.live.health().trouble, None);
    let denied = server.cli(&["ACL", "LOG"]);
    assert!(denied.is_empty(), "{denied}");
}

#[test]
fn a_wrong_password_and_a_missing_right_are_told_with_a_remedy() {
    let (server, folder) = (RedisServer::start(&[]), ScratchFolder::new());
    server.cli(&["ACL", "SETUSER", "edge", "on", ">word", "~other:*", "+@all"]);
    for (user, remedy) in [("edge:wrong", "user and password"), ("edge:word", "~PREFIX:*")] {
        let url = format!("redis://{user}@127.0.0.1:{}", server.port());
        let one = TestEdge::start_with(&settings(&url, ""), "one", folder.path(), clock);
        until("the reason", || one.live.health().trouble.is_some());
        let told = one.live.health().trouble.unwrap();
        assert!(told.contains(remedy) && !told.contains("wrong@"), "{told}");
    }
}

fn openssl(args: &[&str], folder: &ScratchFolder) {
    let output = Command::new("openssl").args(args).current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Makes `cert.pem` and `key.pem` for loopback, with this before their names.
pub(crate) fn certificate(folder: &ScratchFolder, first: &str) {
    let request = format!(
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 \
         -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1,DNS:localhost \
         -addext basicConstraints=critical,CA:FALSE -keyout {first}key.pem -out {first}cert.pem"
    );
    openssl(&request.split_whitespace().collect::<Vec<_>>(), folder);
}

#[test]
fn over_tls_the_server_is_one_that_the_authority_vouches_for() {
    let folder = ScratchFolder::new();
    certificate(&folder, "");
    certificate(&folder, "other-");
    let file = |name: &str| folder.path().join(name).display().to_string();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let _server = RedisServer::start(&[
        "--tls-port",
        &port.to_string(),
        "--tls-cert-file",
        &file("cert.pem"),
        "--tls-key-file",
        &file("key.pem"),
        "--tls-auth-clients",
        "no",
    ]);
    let url = format!("rediss://127.0.0.1:{port}");
    let trusted = settings(&url, ", \"ca\": \"cert.pem\"");
    let one = TestEdge::start_with(&trusted, "one", folder.path(), clock);
    one.connected();
    for distrusted in [settings(&url, ", \"ca\": \"other-cert.pem\""), settings(&url, "")] {
        let two = TestEdge::start_with(&distrusted, "two", folder.path(), clock);
        until("the reason", || two.live.health().trouble.is_some());
        let told = two.live.health().trouble.unwrap();
        assert!(told.contains("ertificate"), "{told}");
        assert_eq!(two.live.health().connected, 0);
    }
}
