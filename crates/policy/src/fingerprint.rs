//! Names as numbers: a keyed hash that grows label by label from the right.
//!
//! The hash of `example.com` is a step on the way to that of `ads.example.com`, so one pass over a
//! name yields the fingerprints of all its parents. Two lanes of folded multiplication keep 80
//! bits: of ten million names that are asked for, one is taken for one of ten million listed with a
//! chance of one in 10^10, and without the seed nobody can make a name that is. Used by every table
//! of names.

/// The secret numbers that a seed stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HashKeys {
    seed: u64,
    start: HashState,
    letters: (u64, u64),
    length: (u64, u64),
}

/// Holds what is kept of a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NameFingerprint {
    /// Places it in a table.
    pub(crate) hash: u64,
    /// Tells it from others in the same place.
    pub(crate) check: u16,
}

#[derive(Clone, Copy, Debug)]
struct HashState {
    a: u64,
    b: u64,
}

/// The fingerprints of a name's parents and of itself, shortest first, each with the place in the
/// name where it begins.
pub(crate) struct NameSuffixes<'k, 'n> {
    keys: &'k HashKeys,
    bytes: &'n [u8],
    /// What stands left of this is still to be read; past the start when all is.
    end: usize,
    done: bool,
    state: HashState,
}

impl HashKeys {
    pub(crate) fn new(seed: u64) -> Self {
        let mut word = seed;
        let mut next = || split_mix(&mut word);
        Self {
            seed,
            start: HashState { a: next(), b: next() },
            // Odd and dense: a multiplier of few bits mixes little.
            letters: (next() | 1, next() | 1),
            length: (next() | 1, next() | 1),
        }
    }

    pub(crate) const fn seed(&self) -> u64 {
        self.seed
    }

    /// The name and its parents.
    pub(crate) fn suffixes<'k, 'n>(&'k self, name: &'n str) -> NameSuffixes<'k, 'n> {
        NameSuffixes {
            keys: self,
            bytes: name.as_bytes(),
            end: name.len(),
            done: name.is_empty(),
            state: self.start,
        }
    }

    /// The names `b.*`, `a.b.*` for a page `a.b` whose public suffix was cut off.
    pub(crate) fn entities<'k, 'n>(&'k self, stem: &'n str) -> NameSuffixes<'k, 'n> {
        let mut suffixes = self.suffixes(stem);
        let star = self.mix(self.mix(self.start, u64::from(b'*')), 0);
        suffixes.state = self.label_end(star, 1);
        suffixes
    }

    /// The fingerprint of the whole name.
    pub(crate) fn of(&self, name: &str) -> NameFingerprint {
        self.suffixes(name).last().map_or(self.start.finish(), |(name, _)| name)
    }

    #[inline]
    fn mix(&self, state: HashState, word: u64) -> HashState {
        HashState {
            a: fold(state.a ^ word, self.letters.0),
            b: fold(state.b ^ word, self.letters.1),
        }
    }

    #[inline]
    fn label_end(&self, state: HashState, length: u64) -> HashState {
        HashState {
            a: fold(state.a ^ length, self.length.0),
            b: fold(state.b ^ length, self.length.1),
        }
    }
}

impl HashState {
    #[inline]
    fn finish(self) -> NameFingerprint {
        NameFingerprint { hash: self.a, check: (self.b >> 48) as u16 }
    }
}

impl Iterator for NameSuffixes<'_, '_> {
    type Item = (NameFingerprint, usize);

    #[inline]
    fn next(&mut self) -> Option<(NameFingerprint, usize)> {
        if self.done {
            return None;
        }
        // Sixteen bytes are read whatever the label's length: where labels end nobody can guess,
        // and a wrong guess costs a processor more than a multiplication.
        let (near, far) =
            (chunk(self.bytes, self.end), chunk(self.bytes, self.end.saturating_sub(8)));
        let (near_run, far_run) = (run(near), run(far));
        let beyond = if near_run < 8 { 0 } else { far_run };
        let length = (near_run + beyond).min(self.end);
        self.state = self.keys.mix(self.state, last_bytes(near, near_run.min(length)));
        self.state = self.keys.mix(self.state, last_bytes(far, length.saturating_sub(near_run)));
        let mut at = self.end - length;
        if length == 16 {
            at = self.mix_more(at);
        }
        self.state = self.keys.label_end(self.state, (self.end - at) as u64);
        self.done = at == 0;
        self.end = at.saturating_sub(1);
        Some((self.state.finish(), at))
    }
}

impl NameSuffixes<'_, '_> {
    /// Mixes in what stands left of a label's last sixteen bytes, and says where it begins.
    fn mix_more(&mut self, mut at: usize) -> usize {
        while at > 0 {
            let word = chunk(self.bytes, at);
            let run = run(word).min(at);
            // What ends here has the same fingerprint as what goes on with a dot.
            if run > 0 {
                self.state = self.keys.mix(self.state, last_bytes(word, run));
            }
            at -= run;
            if run < 8 {
                break;
            }
        }
        at
    }
}

/// Returns how many bytes stand behind the last dot of eight.
#[inline]
fn run(word: u64) -> usize {
    dots(word).leading_zeros() as usize / 8
}

/// The uppermost bytes of a word.
#[inline]
fn last_bytes(word: u64, count: usize) -> u64 {
    word.checked_shr(64 - 8 * count as u32).unwrap_or(0)
}

/// The upper bit of each byte that is a dot. A sum of seven bits never reaches the next byte, so no
/// other byte is taken for one.
#[inline]
fn dots(word: u64) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let differs = word ^ 0x2e2e_2e2e_2e2e_2e2e;
    !((differs & LOW).wrapping_add(LOW) | differs | LOW)
}

/// The upper and the lower half of the product, laid over each other.
#[inline]
pub fn fold(x: u64, y: u64) -> u64 {
    let product = u128::from(x) * u128::from(y);
    (product >> 64) as u64 ^ product as u64
}

/// Sebastiano Vigna's `SplitMix64`, which turns one seed into many unlike numbers.
pub fn split_mix(word: &mut u64) -> u64 {
    *word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *word;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The number of a token: of the bytes of `text` from `start` to before `end`. Not keyed: a
/// collision costs a look, never an answer.
#[inline]
pub(crate) fn token_hash(text: &[u8], start: usize, end: usize) -> u64 {
    let length = end - start;
    let near = last_bytes(chunk(text, end), length.min(8));
    let far = last_bytes(chunk(text, end.saturating_sub(8)), length.saturating_sub(8).min(8));
    let mut hash = fold(near ^ length as u64, 0x9e37_79b9_7f4a_7c15);
    let mut at = end.saturating_sub(16);
    while at > start {
        let word = last_bytes(chunk(text, at), (at - start).min(8));
        hash = fold(hash ^ word, 0xbf58_476d_1ce4_e5b9);
        at = at.saturating_sub(8);
    }
    fold(hash ^ far, 0x94d0_49bb_1331_11eb)
}

/// The eight bytes before a place, the last of them uppermost; nulls where the text begins later.
#[inline]
fn chunk(text: &[u8], end: usize) -> u64 {
    let first = end.saturating_sub(8);
    match text.get(first..).and_then(|rest| rest.first_chunk::<8>()) {
        Some(bytes) => {
            let word = u64::from_le_bytes(*bytes);
            word.checked_shl(64 - 8 * end.min(8) as u32).unwrap_or(0)
        }
        // A text of less than eight bytes.
        None => text[..end].iter().fold(0, |word, byte| word >> 8 | u64::from(*byte) << 56),
    }
}

/// A sum over bytes that notices what storage does to them: not a defence against forgers.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut lanes = [1u64, 2, 3, 4];
    let (fours, tail) = words.as_chunks::<4>();
    for four in fours {
        for (lane, word) in lanes.iter_mut().zip(four) {
            *lane = fold(*lane ^ u64::from_le_bytes(*word), 0x9e37_79b9_7f4a_7c15).wrapping_add(1);
        }
    }
    let mut sum = lanes.into_iter().fold(bytes.len() as u64, step);
    for word in tail {
        sum = step(sum, u64::from_le_bytes(*word));
    }
    rest.iter().fold(sum, |sum, byte| step(sum, u64::from(*byte)))
}

fn step(sum: u64, word: u64) -> u64 {
    fold(sum ^ word, 0xbf58_476d_1ce4_e5b9).wrapping_add(word | 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parent_has_the_fingerprint_of_its_own_name() {
        let keys = HashKeys::new(7);
        let mut seen = Vec::new();
        for (fingerprint, start) in keys.suffixes("a-rather-long-label.ads.example.co") {
            let parent = &"a-rather-long-label.ads.example.co"[start..];
            assert_eq!(fingerprint, keys.of(parent));
            seen.push(parent);
        }
        assert_eq!(seen.len(), 4);
    }

    #[test]
    fn every_length_of_label_is_read_whole() {
        let keys = HashKeys::new(7);
        let mut seen = std::collections::HashSet::new();
        for length in 1..=63 {
            let label = "abcdefghijklmnopqrstuvwxyz-0123456789_".repeat(2)[..length].to_owned();
            for name in [label.clone(), format!("{label}.x"), format!("x.{label}")] {
                assert!(seen.insert(keys.of(&name).hash), "{name}");
                let mut changed = name.clone().into_bytes();
                for at in (0..changed.len()).filter(|at| name.as_bytes()[*at] != b'.') {
                    changed[at] ^= 1;
                    let other = String::from_utf8(changed.clone()).unwrap();
                    assert_ne!(keys.of(&other).hash, keys.of(&name).hash, "{name}: {other}");
                    changed[at] ^= 1;
                }
            }
        }
    }

    #[test]
    fn a_label_of_any_length_is_the_same_below_others() {
        let keys = HashKeys::new(7);
        for length in 1..=63 {
            let label = "abcdefghijklmnopqrstuvwxyz-0123456789_".repeat(2)[..length].to_owned();
            for (parent, child) in [
                (label.clone(), format!("www.{label}")),
                (format!("{label}.{label}"), format!("w.{label}.{label}")),
                (format!("{label}.de"), format!("a-longer-label.{label}.de")),
            ] {
                let suffixes: Vec<_> = keys.suffixes(&child).map(|(name, _)| name).collect();
                assert_eq!(suffixes[suffixes.len() - 2], keys.of(&parent), "{parent}");
            }
        }
    }

    #[test]
    fn labels_that_run_together_differ() {
        let keys = HashKeys::new(7);
        assert_ne!(keys.of("ab.c"), keys.of("a.bc"));
        assert_ne!(keys.of("abc"), keys.of("ab.c"));
        assert_ne!(keys.of("aaaaaaaa.a"), keys.of("a.aaaaaaaa"));
        assert_ne!(HashKeys::new(8).of("abc"), keys.of("abc"));
    }

    #[test]
    fn a_token_has_the_same_number_wherever_it_stands() {
        let text = b"abc.defghijklmnopqrstuvwxyz0123456789abcdefgh.x";
        for start in 0..text.len() {
            for end in start + 1..=text.len() {
                let alone = &text[start..end];
                assert_eq!(token_hash(text, start, end), token_hash(alone, 0, alone.len()));
            }
        }
        assert_ne!(token_hash(b"ab", 0, 1), token_hash(b"ab", 1, 2));
        assert_ne!(token_hash(b"aaaaaaaaa", 0, 8), token_hash(b"aaaaaaaaa", 0, 9));
    }

    #[test]
    fn the_checksum_sees_one_flipped_bit() {
        let bytes = [9u8; 77];
        for at in 0..bytes.len() * 8 {
            let mut other = bytes;
            other[at / 8] ^= 1 << (at % 8);
            assert_ne!(checksum(&other), checksum(&bytes), "bit {at}");
        }
    }
}
