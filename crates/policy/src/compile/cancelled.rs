//! Rules that `$badfilter` cancels, gathered from all lists before any is compiled.
//!
//! It reads only lines that hold the word. It cancels nothing itself: `compile` asks for each rule.

use super::{LINE_BYTES_MAX, ListSource};
use crate::fingerprint::checksum;
use crate::lists::bare::Bare;
use crate::lists::detect::{self, Line};
use crate::lists::options::split;
use std::collections::{HashMap, HashSet};

/// Rules that a `$badfilter` rule of any list cancels: their heads, each with the modifiers that
/// must be the same, in alphabetical order.
pub(super) struct Cancelled<'t>(HashMap<&'t str, HashSet<Vec<&'t str>>>);

impl<'t> Cancelled<'t> {
    pub(super) fn read(lists: &[ListSource<'t>]) -> Self {
        let mut cancelled: HashMap<&str, HashSet<Vec<&str>>> = HashMap::new();
        let finder = memchr::memmem::Finder::new(b"badfilter");
        for (_, text) in lists.iter().flat_map(ListSource::parts) {
            let bare = Bare::of_list(text);
            let mut from = 0;
            while let Some(found) = finder.find(&text[from..]) {
                let at = from + found;
                let start = memchr::memrchr(b'\n', &text[..at]).map_or(0, |at| at + 1);
                let end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |n| at + n);
                from = end;
                let line = &text[start..end];
                if line.len() <= LINE_BYTES_MAX
                    && let Ok(line) = std::str::from_utf8(line)
                    && let Line::Rule(rule) = detect::read(line, bare)
                    && rule.options.marks.badfilter
                {
                    cancelled.entry(rule.head).or_default().insert(modifiers(rule.tail));
                }
            }
        }
        Self(cancelled)
    }

    /// A sum over all of them, by which it is known that none came or went.
    pub(super) fn sum(&self) -> u64 {
        let rules = self.0.iter().flat_map(|(head, all)| all.iter().map(move |it| (head, it)));
        rules.fold(0, |sum: u64, (head, modifiers)| {
            sum.wrapping_add(checksum(format!("{head}${}", modifiers.join(",")).as_bytes()))
        })
    }

    pub(super) fn is_any(&self) -> bool {
        !self.0.is_empty()
    }

    pub(super) fn has(&self, head: &str, tail: &str) -> bool {
        self.0.get(head).is_some_and(|cancelled| cancelled.contains(&modifiers(tail)))
    }
}

/// The modifiers of a rule less `badfilter`, in alphabetical order.
fn modifiers(tail: &str) -> Vec<&str> {
    let words = split(tail, ',').map(str::trim);
    let mut words: Vec<&str> =
        words.filter(|word| !word.is_empty() && *word != "badfilter").collect();
    words.sort_unstable();
    words
}
