//! Names that look like those of lists, always the same ones.
//!
//! They are made, not read: a count must not change because a list did.

use std::collections::BTreeSet;

const SYLLABLES: [&str; 12] =
    ["ba", "den", "fil", "gor", "hu", "jan", "kel", "mo", "nis", "pra", "ret", "vul"];
const ENDS: [&str; 5] = ["com", "net", "example", "co.uk", "de"];

/// `count` different names.
pub fn made(count: usize) -> Vec<String> {
    let mut state = 0x5eed_u64;
    let mut roll = |sides: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % sides as u64) as usize
    };
    let (mut seen, mut found) = (BTreeSet::new(), Vec::with_capacity(count));
    while found.len() < count {
        let word: String = (0..3 + roll(3)).map(|_| SYLLABLES[roll(SYLLABLES.len())]).collect();
        let name = format!("{word}{}.{}", roll(100), ENDS[roll(ENDS.len())]);
        if seen.insert(name.clone()) {
            found.push(name);
        }
    }
    found
}
