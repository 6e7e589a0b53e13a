//! The small grammar inside texts: `!$tag`, `qname domain:a.test $set &file`, `$forward up1 up2`.
//!
//! It takes texts apart and knows no plugin. Called by the rest of [`super`].

use super::Dialect;
use super::position::{PlacedWord, ReadNotes, SourcePosition};
use pipeline::program::{AfterAnswer, TestSense};
use pipeline::sets::split_rules;

/// Tells what a rule names: a plugin by its tag, or a type with words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RuleHead<'t> {
    /// `$tag`.
    Tag(&'t str),
    /// The type of a quick form.
    Type(&'t str),
}

/// `$tag words` or `type words`; nothing where no name stands.
pub(super) fn head(text: &str, dialect: Dialect) -> Option<(RuleHead<'_>, &str)> {
    let text = text.trim();
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    match (first.strip_prefix('$'), dialect) {
        // In OxiDNS all of it is the tag.
        (Some(_), Dialect::Oxidns) => {
            let tag = text[1..].trim();
            (!tag.is_empty()).then_some((RuleHead::Tag(tag), ""))
        }
        (Some(tag), Dialect::Mosdns) => {
            (!tag.is_empty()).then_some((RuleHead::Tag(tag), rest.trim()))
        }
        (None, _) => (!first.is_empty()).then_some((RuleHead::Type(first), rest.trim())),
    }
}

/// A match without its `!`.
pub(super) fn sense(text: &str) -> (TestSense, &str) {
    let text = text.trim();
    match text.strip_prefix('!') {
        Some(rest) => (TestSense::IsNot, rest.trim_start()),
        None => (TestSense::Is, text),
    }
}

/// Words that say what is in a set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetWords {
    /// Rules written in place.
    pub rules: Vec<PlacedWord>,
    /// Tags of providers: `$tag`.
    pub sets: Vec<PlacedWord>,
    /// Files of rules: `&path`.
    pub files: Vec<PlacedWord>,
}

impl SetWords {
    /// True if nothing is said.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.sets.is_empty() && self.files.is_empty()
    }

    /// Adds the words of `text`.
    pub(super) fn add(&mut self, text: &str, place: &SourcePosition, dialect: Dialect) {
        for word in split(text, dialect) {
            let (all, word) = match (word.strip_prefix('$'), word.strip_prefix('&')) {
                (Some(tag), _) => (&mut self.sets, tag),
                (_, Some(path)) => (&mut self.files, path),
                (None, None) => (&mut self.rules, word),
            };
            if !word.is_empty() {
                all.push(PlacedWord::new(word, place));
            }
        }
    }
}

/// The words of `text`. Blanks stand between them, in OxiDNS commas too, but not inside an
/// expression: the peer cuts `regexp:a{1,2}` in two.
pub(crate) fn split(text: &str, dialect: Dialect) -> Vec<&str> {
    match dialect {
        Dialect::Mosdns => text.split_whitespace().collect(),
        Dialect::Oxidns => split_rules(text).collect(),
    }
}

/// The words of `text` without `short_circuit` at their end, and what follows an answer; mosdns
/// knows no such word.
pub(super) fn short_circuit<'t>(
    text: &'t str,
    place: &SourcePosition,
    notes: &ReadNotes,
) -> (Vec<&'t str>, AfterAnswer) {
    let mut words: Vec<&str> = text.split_whitespace().collect();
    let mut then = AfterAnswer::Next;
    while let Some(last) = words.last().filter(|_| !notes.is_mosdns()) {
        then = match last.strip_prefix("short_circuit") {
            Some("" | "=true") => AfterAnswer::Stop,
            Some("=false") => AfterAnswer::Next,
            Some(other) => {
                let message = format!("short_circuit{other} says neither true nor false");
                notes.complain(place.complaint(message).remedy("write short_circuit"));
                then
            }
            None => break,
        };
        words.pop();
    }
    (words, then)
}

/// Whole numbers, each within `0..=most`.
pub(super) fn numbers(
    words: &[&str],
    most: u32,
    place: &SourcePosition,
    notes: &ReadNotes,
) -> Vec<u32> {
    let mut numbers = Vec::new();
    for word in words {
        let number = word.parse::<u32>().ok().filter(|it| *it <= most);
        numbers.extend(number.or_else(|| {
            let complaint = place.complaint(format!("{word:?} is no such number"));
            notes.refuse(complaint.remedy(format!("a whole number from 0 to {most}")))
        }));
    }
    numbers
}

/// Says that the words of something that takes none have no effect.
pub(super) fn no_words(what: &str, words: &str, place: &SourcePosition, notes: &ReadNotes) {
    if !words.is_empty() {
        notes.warn(place.complaint(format!("{what} takes no words: {words:?} has no effect")));
    }
}
