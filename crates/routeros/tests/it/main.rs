//! A connection against a router that the test plays.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

use routeros::{RouterConnection, RouterFailure, SentenceReader, write_sentence};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

/// Reads one sentence of the client and answers with these.
async fn answer(router: &mut DuplexStream, answers: &[&[&str]]) -> Vec<String> {
    let (mut reader, mut bytes) = (SentenceReader::default(), [0; 512]);
    let asked = loop {
        let count = router.read(&mut bytes).await.unwrap();
        assert!(count > 0, "the client has gone");
        reader.push(&bytes[..count]);
        if let Some(words) = reader.next_sentence().unwrap() {
            break words;
        }
    };
    let mut out = Vec::new();
    for words in answers {
        write_sentence(words.iter().copied(), &mut out);
    }
    router.write_all(&out).await.unwrap();
    asked
}

async fn logged_in() -> (RouterConnection<DuplexStream>, DuplexStream) {
    let (client, mut router) = tokio::io::duplex(64 << 10);
    let (connection, asked) = tokio::join!(
        RouterConnection::log_in(client, "me", "p=w"),
        answer(&mut router, &[&["!done"]])
    );
    assert_eq!(asked, ["/login", "=name=me", "=password=p=w"]);
    (connection.unwrap(), router)
}

#[tokio::test]
async fn rows_come_back_with_their_values() {
    let (mut connection, mut router) = logged_in().await;
    let rows: &[&[&str]] = &[
        &["!re", "=.id=*1", "=address=192.0.2.1", "=comment=a=b"],
        &["!re", "=.id=*2", ".tag=9"],
        &["!done"],
    ];
    let words = ["/ip/firewall/address-list/print", "?list=x"];
    let (answered, asked) = tokio::join!(connection.command(&words), answer(&mut router, rows));
    assert_eq!(asked, words);
    let rows = answered.unwrap();
    assert_eq!((rows[0].get(".id"), rows[0].get("comment")), (Some("*1"), Some("a=b")));
    assert_eq!((rows.len(), rows[1].get("comment")), (2, None));
}

#[tokio::test]
async fn a_trap_leaves_the_connection_and_a_fatal_ends_it() {
    let (mut connection, mut router) = logged_in().await;
    let trap: &[&[&str]] = &[&["!trap", "=message=no\x07 such\n command"], &["!done"]];
    let (failed, _) = tokio::join!(connection.command(&["/nothing"]), answer(&mut router, trap));
    let failed = failed.unwrap_err();
    assert_eq!(failed.to_string(), "the router refused: no  such  command");
    assert!(failed.leaves_connection());
    let fatal: &[&[&str]] = &[&["!fatal", "not logged in"]];
    let (failed, _) = tokio::join!(connection.command(&["/quit"]), answer(&mut router, fatal));
    let failed = failed.unwrap_err();
    assert!(matches!(&failed, RouterFailure::Fatal(why) if why == "not logged in"));
    assert!(!failed.leaves_connection());
}

#[tokio::test]
async fn what_a_router_should_not_say_is_an_error() {
    for bytes in [&b"\x05hello\0"[..], b"\xff", b"\xf0\xff\xff\xff\xff", b""] {
        let (mut connection, mut router) = logged_in().await;
        let lie = async {
            let mut asked = [0; 64];
            let _ = router.read(&mut asked).await.unwrap();
            router.write_all(bytes).await.unwrap();
            drop(router);
        };
        let (failed, ()) = tokio::join!(connection.command(&["/x"]), lie);
        assert!(failed.is_err(), "{bytes:?}");
    }
    let (client, mut router) = tokio::io::duplex(4096);
    let old: &[&[&str]] = &[&["!done", "=ret=0123456789abcdef"]];
    let (failed, _) =
        tokio::join!(RouterConnection::log_in(client, "me", "pw"), answer(&mut router, old));
    assert!(matches!(failed, Err(RouterFailure::OldLogin)));
}
