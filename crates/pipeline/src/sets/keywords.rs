//! Texts that occur somewhere in a name, looked for all at once by one automaton.
//!
//! It reads a name once, however many keywords there are. Filled by the builders of sets and maps;
//! the gate of [`super::regexps`] is one of these too.

use super::bounds::{KEYWORD_BYTES_MAX, KEYWORDS_MAX};
use super::rule::BadRule;
use aho_corasick::AhoCorasick;

/// Bytes of all keywords of a set, at most: their automaton takes some twenty times as much.
const TEXT_BYTES_MAX: usize = 4 << 20;

/// The keywords.
#[derive(Debug, Default)]
pub(crate) struct KeywordSet {
    texts: Vec<Box<str>>,
    automaton: Option<AhoCorasick>,
}

/// Keywords in the making.
#[derive(Debug, Default)]
pub(crate) struct KeywordsBuilder {
    texts: Vec<Box<str>>,
    bytes: usize,
}

impl KeywordsBuilder {
    /// Takes a keyword, lower-case and not empty. Gives its number.
    pub(crate) fn push(&mut self, text: &str) -> Result<usize, BadRule> {
        if text.len() > KEYWORD_BYTES_MAX {
            return Err(BadRule::KeywordTooLong);
        }
        if self.texts.len() == KEYWORDS_MAX || self.bytes + text.len() > TEXT_BYTES_MAX {
            return Err(BadRule::TooManyKeywords);
        }
        self.bytes += text.len();
        self.texts.push(text.into());
        Ok(self.texts.len() - 1)
    }

    pub(crate) fn len(&self) -> usize {
        self.texts.len()
    }

    pub(crate) fn build(self) -> KeywordSet {
        let automaton = (!self.texts.is_empty()).then(|| {
            AhoCorasick::new(self.texts.iter().map(|text| text.as_bytes()))
                .expect("4 MiB of keywords need fewer states than an automaton may have")
        });
        KeywordSet { texts: self.texts, automaton }
    }
}

impl KeywordSet {
    /// True if one occurs in `name`.
    #[inline]
    pub(crate) fn is_match(&self, name: &str) -> bool {
        self.automaton.as_ref().is_some_and(|automaton| automaton.is_match(name))
    }

    /// The first of them, in the order in which they were pushed, that occurs in `name`.
    pub(crate) fn first(&self, name: &str) -> Option<usize> {
        let found = self.automaton.as_ref()?.find_overlapping_iter(name);
        found.map(|found| found.pattern().as_usize()).min()
    }

    pub(crate) fn texts(&self) -> &[Box<str>] {
        &self.texts
    }

    pub(crate) fn len(&self) -> usize {
        self.texts.len()
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> u64 {
        let texts: usize = self.texts.iter().map(|text| text.len() + size_of::<Box<str>>()).sum();
        (texts + self.automaton.as_ref().map_or(0, AhoCorasick::memory_usage)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_keyword_counts_not_the_first_place() {
        let mut builder = KeywordsBuilder::default();
        for text in ["track", "ads", "stracker"] {
            builder.push(text).unwrap();
        }
        let keywords = builder.build();
        assert_eq!(keywords.first("adstracker.example"), Some(0));
        assert_eq!(keywords.first("ads.example"), Some(1));
        assert_eq!(keywords.first("www.example"), None);
        assert!(keywords.is_match("xadsx") && !keywords.is_match("xad.sx"));
        assert!(!KeywordsBuilder::default().build().is_match("any.example"));
    }
}
