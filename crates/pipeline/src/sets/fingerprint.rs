//! Names as keyed numbers of 64 bits, grown label by label from the right.
//!
//! The number of `example.com` is a step on the way to that of `ads.example.com`, so one pass over
//! a name gives all its parents. Without the seed nobody can make a name whose number is that of a
//! listed one; by chance a name meets one of a million once in 10^12, for tables keep 62 bits. Used
//! by the tables of names. `policy` keeps 96 bits, for it blocks; here a rule routes, and a cell is
//! half as large.

use policy::{fold, split_mix};

/// The secret numbers that a seed stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SetKeys {
    seed: u64,
    start: u64,
    letters: u64,
    length: u64,
}

impl SetKeys {
    pub(crate) fn new(seed: u64) -> Self {
        let mut word = seed;
        let mut next = || split_mix(&mut word);
        // Odd multipliers: an even one would lose bits.
        Self { seed, start: next(), letters: next() | 1, length: next() | 1 }
    }

    pub(crate) const fn seed(&self) -> u64 {
        self.seed
    }

    /// The numbers of the name's parents and of itself, shortest first, each with the place in the
    /// name where it begins. The root, of which every name is part, is not among them.
    #[inline]
    pub(crate) fn suffixes<'n>(&self, name: &'n str) -> SetSuffixes<'n> {
        SetSuffixes { keys: *self, bytes: name.as_bytes(), end: name.len(), state: self.start }
    }

    /// The number of the whole name.
    pub(crate) fn of(&self, name: &str) -> u64 {
        self.suffixes(name).last().map_or(self.start, |(hash, _)| hash)
    }
}

/// See [`SetKeys::suffixes`].
pub(crate) struct SetSuffixes<'n> {
    keys: SetKeys,
    bytes: &'n [u8],
    /// What stands left of this is still to be read.
    end: usize,
    state: u64,
}

impl Iterator for SetSuffixes<'_> {
    type Item = (u64, usize);

    #[inline]
    fn next(&mut self) -> Option<(u64, usize)> {
        if self.end == 0 {
            return None;
        }
        let (mut word, mut filled) = (0u64, 0);
        let mut at = self.end;
        let mut next = 0;
        while at > 0 {
            let byte = self.bytes[at - 1];
            if byte == b'.' {
                next = at - 1;
                break;
            }
            at -= 1;
            word = word << 8 | u64::from(byte);
            filled += 1;
            if filled == 8 {
                self.state = fold(self.state ^ word, self.keys.letters);
                (word, filled) = (0, 0);
            }
        }
        // The length closes a label: without it `ab.c` and `a.bc` could meet.
        let length = (self.end - at) as u64;
        self.state = fold(self.state ^ word ^ length << 56, self.keys.length);
        self.end = next;
        Some((self.state, at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn every_parent_has_the_number_of_its_own_name() {
        let keys = SetKeys::new(7);
        let name = "a-rather-long-label.ads.example.co";
        let found: Vec<_> = keys.suffixes(name).collect();
        assert_eq!(found.len(), 4);
        for (hash, start) in found {
            assert_eq!(hash, keys.of(&name[start..]));
        }
        assert_eq!(keys.suffixes("").count(), 0);
    }

    #[test]
    fn unlike_names_have_unlike_numbers() {
        let keys = SetKeys::new(7);
        let mut seen: HashMap<u64, String> = HashMap::new();
        let labels =
            ["a", "b", "ab", "ba", "aaaaaaaa", "aaaaaaaaa", "aaaaaaab", "a\\000", "0", "-"];
        for one in labels {
            let mut names = vec![one.to_owned()];
            for two in labels {
                names.push(format!("{one}.{two}"));
                for three in labels {
                    names.push(format!("{one}.{two}.{three}"));
                }
            }
            for name in names {
                let before = seen.insert(keys.of(&name), name.clone());
                assert!(before.is_none(), "{name} and {before:?}");
            }
        }
        assert_ne!(SetKeys::new(8).of("abc"), keys.of("abc"));
    }
}
