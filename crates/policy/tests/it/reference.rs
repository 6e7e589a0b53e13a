//! The table of names against a matcher too simple to be wrong.

use crate::support::{blocks, lookup, policy};
use std::collections::HashSet;

/// A small generator (Marsaglia's xorshift), so that every run sees the same names.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    /// A name of one to five labels out of few letters, so that many are parents of others.
    fn name(&mut self) -> String {
        let labels = 1 + self.roll(5);
        let label = |dice: &mut Self| {
            let length = 1 + dice.roll(2);
            (0..length).map(|_| ['a', 'b', 'c'][dice.roll(3) as usize]).collect::<String>()
        };
        (0..labels).map(|_| label(self)).collect::<Vec<_>>().join(".")
    }
}

#[derive(Default)]
struct Reference {
    exact: HashSet<String>,
    below: HashSet<String>,
    spared: HashSet<String>,
}

impl Reference {
    fn blocks(&self, host: &str) -> bool {
        let parents = || {
            let dots = host.match_indices('.').map(|(at, _)| &host[at + 1..]);
            std::iter::once(host).chain(dots)
        };
        let blocked = self.exact.contains(host) || parents().any(|name| self.below.contains(name));
        blocked && !parents().any(|name| self.spared.contains(name))
    }
}

#[test]
fn the_table_agrees_with_a_simple_matcher() {
    let mut dice = Dice(0x9e37_79b9);
    for round in 0..20 {
        let mut list = String::new();
        let mut reference = Reference::default();
        for _ in 0..(1 << (round / 2)) {
            let name = dice.name();
            let line = match dice.roll(4) {
                0 => format!("0.0.0.0 {name}"),
                1 => name.clone(),
                2 => format!("*.{name}"),
                _ => format!("@@||{name}^$denyallow=none"),
            };
            match line.as_bytes()[0] {
                b'*' => reference.below.insert(name),
                b'@' => reference.spared.insert(name),
                _ => reference.exact.insert(name),
            };
            list += &line;
            list.push('\n');
        }
        let policy = policy(&list);
        for _ in 0..500 {
            let host = dice.name();
            let found = blocks(lookup(&policy, &host));
            assert_eq!(found, reference.blocks(&host), "{host} by\n{list}");
        }
    }
}
