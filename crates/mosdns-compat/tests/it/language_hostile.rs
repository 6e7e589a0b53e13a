//! Files that were changed at random: a program or complaints, and never a panic. The same is done
//! for longer by the fuzz target `foreign_file`, whose seeds these are.

use mosdns_compat::compile::{compile, describe};
use mosdns_compat::language::{self, ForeignFiles, PathBase};
use serde_json::Value;
use std::io;
use vocab::Complaint;

/// A file that is right and names no other; those of the fuzz target are refused as they are, for
/// the one text that all their files hold.
const RIGHT: &str = r#"{"plugins": [
    {"tag": "up", "type": "forward", "args": {"upstreams": [{"addr": "9.9.9.9"}]}},
    {"tag": "main", "type": "sequence", "args": [
        {"matches": ["qname domain:a.test", "!qtype 28"], "exec": "reject 5"},
        {"exec": "$up"}]},
    {"type": "udp_server", "args": {"entry": "main", "listen": "127.0.0.1:53"}}]}

domain:b.test
"#;
const SEEDS: [&str; 3] = [
    RIGHT,
    include_str!("../../../../fuzz/seeds/foreign_file/mosdns"),
    include_str!("../../../../fuzz/seeds/foreign_file/oxidns"),
];
const ROUNDS: u64 = 5_000;

/// Every file holds the same, and includes itself.
struct Same(String);

impl ForeignFiles for Same {
    fn read(&self, _: &str) -> io::Result<Vec<u8>> {
        Ok(self.0.as_bytes().to_vec())
    }

    fn is_missing(&self, _: &str) -> bool {
        false
    }

    fn read_document(&self, _: &str, _: PathBase) -> Result<Value, Complaint> {
        serde_json::from_str(&self.0).map_err(|why| Complaint::new("", why.to_string()))
    }

    fn variable(&self, name: &str) -> Option<String> {
        (name.len() > 2).then(|| name.to_owned())
    }
}

/// Numbers that are the same in every run (Knuth's constants).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides.max(1)
    }
}

/// Words that mean something somewhere.
const WORDS: [&str; 24] = [
    "",
    " ",
    "$",
    "!",
    "&",
    "$main",
    "$sub",
    "jump main",
    "goto sub",
    "return",
    "accept",
    "cache",
    "qname",
    "regexp:(",
    "regexp:a{9999}",
    "domain:",
    "::1",
    "0x10",
    "-1",
    "99999999999",
    "h3://x",
    "a,b",
    "é",
    "short_circuit",
];

fn change(value: &mut Value, dice: &mut Dice) {
    match value {
        Value::Array(items) if !items.is_empty() && dice.roll(8) > 0 => {
            let at = dice.roll(items.len());
            match dice.roll(10) {
                0 => drop(items.remove(at)),
                1 => items.push(items[at].clone()),
                _ => change(&mut items[at], dice),
            }
        }
        Value::Object(map) if !map.is_empty() && dice.roll(8) > 0 => {
            let key = map.keys().nth(dice.roll(map.len())).unwrap().clone();
            match dice.roll(10) {
                0 => drop(map.remove(&key)),
                1 => drop(map.insert(WORDS[dice.roll(WORDS.len())].into(), Value::Null)),
                _ => change(&mut map[&key], dice),
            }
        }
        Value::String(text) if dice.roll(2) == 0 => {
            let mut at = dice.roll(text.len() + 1);
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            text.insert_str(at, WORDS[dice.roll(WORDS.len())]);
        }
        other => {
            *other = match dice.roll(8) {
                0 => Value::Null,
                1 => Value::from(dice.roll(2) == 0),
                2 => Value::from(dice.roll(100_000)),
                3 => Value::from(-1),
                4 => Value::Array(vec![other.clone()]),
                5 => serde_json::json!({ "tag": other.clone(), "exec": "accept" }),
                _ => Value::from(WORDS[dice.roll(WORDS.len())]),
            }
        }
    }
}

#[test]
fn changed_files_are_programs_or_complaints() {
    let (mut programs, mut refused) = (0, 0);
    for round in 0..ROUNDS {
        let mut dice = Dice(round);
        let seed = SEEDS[dice.roll(SEEDS.len())];
        let (document, file) = seed.split_once("\n\n").unwrap();
        let mut document: Value = serde_json::from_str(document).unwrap();
        // Nothing, in one of four: that one seed is right is part of it.
        for _ in 0..dice.roll(4) {
            change(&mut document, &mut dice);
        }
        let files = Same(if dice.roll(4) == 0 { document.to_string() } else { file.to_owned() });
        let compiled =
            language::read(&document, &files).and_then(|foreign| compile(&foreign, round, &files));
        match compiled {
            Ok(compiled) => {
                let ops = compiled.program.ops.len();
                assert!(compiled.entries.iter().all(|it| (it.start as usize) < ops), "{round}");
                assert!(describe(&compiled).lines().count() > ops, "{round}");
                programs += 1;
            }
            Err(complaints) => {
                assert!(!complaints.is_empty(), "{round}");
                refused += 1;
            }
        }
    }
    assert!(programs > ROUNDS / 50 && refused > ROUNDS / 2, "{programs} {refused}");
}
