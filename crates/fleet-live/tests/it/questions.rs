//! Questions of one machine to all, carried by a real server, and what others may write there.

use crate::edge::TestEdge;
use fleet_live::{
    NotAsked, QUESTION_BYTES_MAX, QuestionId, REPLY_BYTES_MAX, ReplyFrame, ReplyKind,
};
use test_support::{RedisServer, ScratchFolder};

/// Bytes as the server's command line takes them.
fn pushed(server: &RedisServer, id: QuestionId, reply: &str) {
    server.cli(&["RPUSH", &format!("tidegate:answer:{id}"), reply]);
}

#[test]
fn replies_of_all_are_gathered_and_what_is_none_is_passed_over() {
    let (server, folder) = (RedisServer::start(&[]), ScratchFolder::new());
    let (one, two) = TestEdge::pair(&server, &folder);
    let id = QuestionId(7);
    pushed(&server, id, "no reply");
    pushed(&server, id, "d\u{5}ghost");
    let large = vec![7; REPLY_BYTES_MAX - 5];
    let replies = std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let mut replies = Vec::new();
            let seen = one.questions.ask(id, vec![1; QUESTION_BYTES_MAX], |it| replies.push(it));
            assert_eq!(seen.unwrap().len(), 2, "the machines that were seen");
            replies
        });
        for (edge, kind) in [(&one, ReplyKind::Busy), (&two, ReplyKind::Answer(large.clone()))] {
            let asked = edge.asked.next().unwrap();
            assert_eq!((asked.id, asked.sealed.len()), (id, QUESTION_BYTES_MAX));
            edge.asked.reply(id, kind);
        }
        asking.join().unwrap()
    });
    let of = |edge: &str| replies.iter().find(|it| it.edge == edge).map(|it| &it.kind);
    assert_eq!(of("one"), Some(&ReplyKind::Busy));
    assert_eq!(of("two"), Some(&ReplyKind::Answer(large)));
    let ghost = ReplyFrame { edge: "ghost".into(), kind: ReplyKind::Declined };
    assert!(replies.contains(&ghost), "it is the asker who believes or not");
    assert_eq!(replies.len(), 3);
    assert_eq!(one.live.health().connected, 1, "nobody lost the server by it");
}

#[test]
fn a_server_that_does_not_carry_it_is_told_and_not_lost() {
    let (server, folder) = (RedisServer::start(&[]), ScratchFolder::new());
    let (one, _two) = TestEdge::pair(&server, &folder);
    let id = QuestionId(8);
    server.cli(&["SET", &format!("tidegate:answer:{id}"), "a text"]);
    let why = one.questions.ask(id, vec![1], |_| {}).unwrap_err();
    assert!(matches!(why, NotAsked::Failed(_)), "{why:?}");
    assert_eq!(one.live.health().connected, 1);
    assert_eq!(one.live.health().degraded_since_ms, None);
}
