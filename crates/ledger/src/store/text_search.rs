//! A text that is looked for in the words of blocks.
//!
//! It is found anywhere in a name, a URL or a client's address, in any case of its ASCII letters.
//! All words of a block are one text, which is searched at once: of a block without it nothing else
//! is read. Used by questions for rows.

use super::block::decode::{BlockSummary, SummaryTexts};
use memchr::memmem::Finder;

/// Characters of a text that are looked for; more are ignored.
const SOUGHT_CHARS_MAX: usize = 256;

/// A text that is looked for.
pub(super) struct TextSearch {
    finder: Finder<'static>,
    /// The texts of a block without their case.
    lowered: Vec<u8>,
}

/// The clients and words of one block that have the text.
pub(super) struct FoundPlaces {
    clients: Vec<bool>,
    words: Vec<bool>,
}

impl TextSearch {
    /// A search for `text`; none if it is empty, and everything found.
    pub(super) fn new(text: &str) -> Option<Self> {
        let sought: String = text.chars().take(SOUGHT_CHARS_MAX).collect();
        (!sought.is_empty()).then(|| Self {
            finder: Finder::new(&sought.to_ascii_lowercase()).into_owned(),
            lowered: Vec::new(),
        })
    }

    /// The block's summary and the places in it; none if the text is nowhere in the block.
    pub(super) fn find<'b>(
        &mut self,
        texts: SummaryTexts<'b>,
    ) -> Option<(BlockSummary<'b>, FoundPlaces)> {
        let has_it = |text: String| self.finder.find(text.as_bytes()).is_some();
        let clients: Vec<_> =
            texts.clients.iter().map(|entry| has_it(entry.client.to_string())).collect();
        self.lowered.clear();
        self.lowered.extend_from_slice(texts.text);
        self.lowered.make_ascii_lowercase();
        let mut next = self.finder.find(&self.lowered);
        if next.is_none() && !clients.contains(&true) {
            return None;
        }
        let summary = BlockSummary::read_words(texts)?;
        let mut words = vec![false; summary.words.len()];
        while let Some(at) = next {
            let word = summary.words.partition_point(|word| word.end <= at);
            let Some(entry) = summary.words.get(word) else { break };
            // What begins in one word and ends in the next is in neither.
            let from = if at + self.finder.needle().len() <= entry.end {
                words[word] = true;
                entry.end
            } else {
                at + 1
            };
            next = self.lowered.get(from..).and_then(|rest| self.finder.find(rest));
            next = next.map(|at| at + from);
        }
        let found = clients.contains(&true) || words.contains(&true);
        found.then_some((summary, FoundPlaces { clients, words }))
    }
}

impl FoundPlaces {
    /// `true` for this word.
    pub(super) fn has_word(&self, word: usize) -> bool {
        self.words.get(word).copied().unwrap_or(false)
    }

    /// `true` for a row with this client or this word.
    pub(super) fn has(&self, client: usize, word: usize) -> bool {
        let at = |places: &[bool], place: usize| places.get(place).copied().unwrap_or(false);
        at(&self.clients, client) || at(&self.words, word)
    }
}
