//! `on_decide`.

use super::quiet;
use crate::DecisionScript;
use policy::{Ask, ClientIdentity, HookVerdict, Verdict, VerdictHook};
use std::path::{Path, PathBuf};
use vocab::{Action, Cause, Door, Name, RequestKind};

fn scratch() -> PathBuf {
    let name = format!("decide-{}-{:?}", std::process::id(), std::thread::current().id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn open(folder: &Path, source: &str, before: Option<&DecisionScript>) -> DecisionScript {
    std::fs::write(folder.join("decide.luau"), source).unwrap();
    let before = before.map(|it| it as &dyn VerdictHook);
    DecisionScript::open("decide.luau", folder, &quiet(), before).unwrap()
}

fn script(source: &str) -> DecisionScript {
    let folder = scratch();
    let script = open(&folder, source, None);
    std::fs::remove_dir_all(folder).unwrap();
    script
}

fn ask<'a>(host: &'a str, who: &'a ClientIdentity<'a>) -> Ask<'a> {
    Ask {
        door: Door::Proxy,
        client: "192.0.2.7".parse().unwrap(),
        identity: Some(who),
        host: Name::from_lowercase(host).unwrap(),
        kind: RequestKind::Script,
        url: Some("https://a.example/x.js"),
        page: Some(Name::from_lowercase("shop.example").unwrap()),
    }
}

const BLOCK: Verdict = Verdict::usual(Action::Block, Cause::Unlisted);

#[test]
fn a_question_is_read_as_the_policy_was_asked() {
    let script = script(
        "function on_decide(question)
           local who = { question.user, question.id or '-', question.mac or '-', question.interface }
           question:block(table.concat({ question.door, question.host, question.url, question.page,
             question.kind, question.client, question.verdict, table.concat(who, ',') }, ' '))
         end",
    );
    let who = ClientIdentity {
        user: Some("ann"),
        interface: Some("br-lan"),
        ..ClientIdentity::default()
    };
    let given = script.decide(&ask("a.example", &who), BLOCK).unwrap();
    assert_eq!(given, HookVerdict { action: Action::Block, line: 3 });
    assert_eq!(
        script.reason(3).unwrap(),
        "proxy a.example https://a.example/x.js shop.example script 192.0.2.7 block ann,-,-,br-lan"
    );
}

#[test]
fn a_verdict_is_given_taken_back_and_left() {
    let script = script(
        "function on_decide(question)
           if question.host == 'a.example' then question:pass('one\\ntwo') end
           if question.host == 'b.example' then
             question:pass('first')
             question:block(string.rep('x', 500))
           end
         end",
    );
    let who = ClientIdentity::default();
    let given = script.decide(&ask("a.example", &who), BLOCK).unwrap();
    assert_eq!(given, HookVerdict { action: Action::Pass, line: 2 });
    assert_eq!(script.reason(2).unwrap(), "one two");
    let given = script.decide(&ask("b.example", &who), BLOCK).unwrap();
    assert_eq!(given, HookVerdict { action: Action::Block, line: 5 });
    assert_eq!(script.reason(5).unwrap().len(), 200);
    assert_eq!(script.decide(&ask("c.example", &who), BLOCK), None);
}

#[test]
fn one_that_fails_leaves_the_verdict_of_the_rules() {
    let who = ClientIdentity::default();
    for fault in [
        "question:block('x') error('late')",
        "question:block()",
        "question.verdict = 'pass'",
        "question:block('x') while true do end",
        "fetch('http://x/')",
    ] {
        let script = script(&format!("function on_decide(question) {fault} end"));
        assert_eq!(script.decide(&ask("a.example", &who), BLOCK), None, "{fault}");
        assert_eq!(script.script().counts().errors, 1, "{fault}");
    }
    let kept = script(
        "local kept
         function on_decide(question) if kept then log(kept.host) end kept = question end",
    );
    for _ in 0..2 {
        assert_eq!(kept.decide(&ask("a.example", &who), BLOCK), None);
    }
}

#[test]
fn a_reload_keeps_what_is_shared_and_reasons_of_the_same_text() {
    let folder = scratch();
    let source = "function on_decide(question)
           question:block('seen ' .. shared:incr('seen'))
         end";
    let who = ClientIdentity::default();
    let first = open(&folder, source, None);
    first.decide(&ask("a.example", &who), BLOCK);
    let same = open(&folder, source, Some(&first));
    assert_eq!(same.reason(2).unwrap(), "seen 1");
    let other = open(&folder, &format!("\n{source}"), Some(&same));
    assert_eq!(other.reason(2), None);
    other.decide(&ask("a.example", &who), BLOCK);
    assert_eq!(other.reason(3).unwrap(), "seen 2");
    std::fs::remove_dir_all(folder).unwrap();
}
