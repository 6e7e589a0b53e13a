//! Tokens: runs of letters, digits and `%`, by which patterns are found in a URL.
//!
//! A pattern that holds a whole token can match only URLs that hold it too, so each pattern is
//! filed under its rarest one. Used when an index is built and when one is asked.

use crate::fingerprint::token_hash;
use filter_patterns::{MatchEnd, MatchStart, is_token_byte};
use std::collections::HashMap;

/// Tokens in so many URLs that a rule filed under one would be tried for most: only where a rule
/// has nothing better.
const COMMON: &[&str] =
    &["http", "https", "www", "com", "net", "org", "js", "html", "htm", "php", "css", "png", "jpg"];
/// How rare a common token counts, whatever the lists hold.
const COMMON_COUNT: u32 = 1_000_000;
/// Slots of the memory of tokens that a URL has shown already.
const SEEN_SLOTS: usize = 256;

/// Holds how often each token stands in patterns: what is rare in patterns is seldom looked at.
#[derive(Default)]
pub(crate) struct TokenHistogram {
    counts: HashMap<u64, u32>,
}

/// Calls `found` once for each different token of a URL in lower case, or nearly once: the memory
/// of what was seen is small and forgets.
pub(crate) fn of_url(text: &[u8], mut found: impl FnMut(u64)) {
    let mut seen = [0u64; SEEN_SLOTS];
    of_text(text, |hash| {
        let slot = &mut seen[(hash % SEEN_SLOTS as u64) as usize];
        if *slot != hash {
            *slot = hash;
            found(hash);
        }
    });
}

/// Calls `found` for each token of a text in lower case.
#[inline]
pub(crate) fn of_text(text: &[u8], mut found: impl FnMut(u64)) {
    let mut start = 0;
    for (block, bytes) in text.chunks(64).enumerate() {
        // A bit for each byte that is no token byte: where tokens end nobody can guess, so that is
        // asked once for 64 bytes.
        let mut ends = 0;
        for at in (0..bytes.len()).step_by(8) {
            ends |= packed(others(eight_from(bytes, at))) << at;
        }
        while ends != 0 {
            let end = (64 * block + ends.trailing_zeros() as usize).min(text.len());
            if start < end {
                found(token_hash(text, start, end));
            }
            start = end + 1;
            ends &= ends - 1;
        }
    }
    if start < text.len() {
        found(token_hash(text, start, text.len()));
    }
}

/// The upper bits of eight bytes, side by side.
#[inline]
fn packed(bits: u64) -> u64 {
    (bits >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

/// The eight bytes from a place on, the first of them lowest; nulls where the text has ended.
#[inline]
fn eight_from(text: &[u8], at: usize) -> u64 {
    let rest = &text[at..];
    if let Some(bytes) = rest.first_chunk::<8>() {
        return u64::from_le_bytes(*bytes);
    }
    match text.last_chunk::<8>() {
        Some(bytes) => u64::from_le_bytes(*bytes) >> (64 - 8 * rest.len()),
        None => rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
}

/// The upper bit of each of eight bytes that is no token byte. Sums of seven bits never reach the
/// next byte.
#[inline]
fn others(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let seven = word & (0x7f * ONES);
    let from = |text: u64, first: u8| text + (0x80 - u64::from(first)) * ONES;
    let within = |text: u64, first: u8, last: u8| from(text, first) & !from(text, last + 1);
    let letter = within(seven | (0x20 * ONES), b'a', b'z');
    let token = letter | within(seven, b'0', b'9') | within(seven, b'%', b'%');
    (!token | word) & (0x80 * ONES)
}

/// Calls `found` for each token that a text matching this pattern holds whole.
pub(crate) fn of_pattern<'t>(
    pattern: &'t [u8],
    start: MatchStart,
    end: MatchEnd,
    mut found: impl FnMut(&'t [u8]),
) {
    let mut at = 0;
    while at < pattern.len() {
        if !is_token_byte(pattern[at]) {
            at += 1;
            continue;
        }
        let run = pattern[at..].iter().take_while(|byte| is_token_byte(**byte)).count();
        let after = at + run;
        let opens = match at.checked_sub(1) {
            Some(before) => pattern[before] != b'*',
            None => start != MatchStart::Anywhere,
        };
        let closes = match pattern.get(after) {
            Some(next) => *next != b'*',
            None => end == MatchEnd::Text,
        };
        if opens && closes {
            found(&pattern[at..after]);
        }
        at = after;
    }
}

fn hash_of(token: &[u8]) -> u64 {
    let token = token.to_ascii_lowercase();
    token_hash(&token, 0, token.len())
}

impl TokenHistogram {
    pub(crate) fn add(&mut self, token: &[u8]) {
        *self.counts.entry(hash_of(token)).or_default() += 1;
    }

    /// The rarest of the tokens, and how often it occurs.
    pub(crate) fn rarest<'t>(&self, tokens: impl Iterator<Item = &'t [u8]>) -> Option<(u64, u32)> {
        tokens
            .map(|token| {
                let hash = hash_of(token);
                let common = COMMON.iter().any(|word| word.as_bytes().eq_ignore_ascii_case(token));
                let count = self.counts.get(&hash).copied().unwrap_or(0);
                // A token of a letter or two stands in many URLs, however rare it is in lists.
                let short = if token.len() < 3 { 100 } else { 0 };
                (hash, if common { COMMON_COUNT } else { count + short })
            })
            .min_by_key(|(_, count)| *count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(pattern: &str, start: MatchStart, end: MatchEnd) -> Vec<String> {
        let mut tokens = Vec::new();
        of_pattern(pattern.as_bytes(), start, end, |token| {
            tokens.push(String::from_utf8_lossy(token).into_owned());
        });
        tokens
    }

    #[test]
    fn only_whole_tokens_of_a_pattern_count() {
        assert_eq!(tokens("/ads/ban*ner/x", MatchStart::Anywhere, MatchEnd::Anywhere), ["ads"]);
        assert_eq!(tokens("ads/ban", MatchStart::Label, MatchEnd::Anywhere), ["ads"]);
        assert_eq!(tokens("ads/ban", MatchStart::Anywhere, MatchEnd::Text), ["ban"]);
        assert_eq!(tokens("a^b^", MatchStart::Text, MatchEnd::Anywhere), ["a", "b"]);
        assert!(tokens("ads", MatchStart::Anywhere, MatchEnd::Anywhere).is_empty());
    }

    #[test]
    fn every_byte_at_every_place_is_told_apart() {
        for byte in 0..=u8::MAX {
            for length in [1, 7, 8, 9, 20, 63, 64, 65, 130] {
                for at in 0..length {
                    let mut text = vec![b'a'; length];
                    text[at] = byte;
                    let mut expected = Vec::new();
                    for token in text.split(|byte| !is_token_byte(*byte)) {
                        if !token.is_empty() {
                            expected.push(token_hash(token, 0, token.len()));
                        }
                    }
                    let mut found = Vec::new();
                    of_text(&text, |hash| found.push(hash));
                    assert_eq!(found, expected, "{byte} at {at} of {length}");
                }
            }
        }
    }

    #[test]
    fn a_url_shows_each_token_once() {
        let mut count = 0;
        of_url(b"https://ads.example/ads/ads?ads=1", |_| count += 1);
        assert_eq!(count, 4);
    }
}
