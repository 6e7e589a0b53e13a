//! Rules that `$badfilter` cancels, gathered from all lists before any is compiled.
//!
//! It reads only lines that hold the word. It cancels nothing itself: `compile` asks for each rule.

use super::{LINE_BYTES_MAX, ListSource};
use crate::fingerprint::checksum;
use crate::lists::bare::BareWords;
use crate::lists::detect;
use crate::lists::line::DetectedLine;
use crate::lists::options::split;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// Rules that a `$badfilter` rule of any list cancels: their heads, each with the modifiers that
/// must be the same, in alphabetical order.
pub(super) struct CancelledRules(HashMap<String, HashSet<Vec<String>>>);

impl CancelledRules {
    pub(super) fn read(lists: &[ListSource<'_>]) -> Self {
        let mut cancelled: HashMap<String, HashSet<Vec<String>>> = HashMap::new();
        let finder = memchr::memmem::Finder::new(b"badfilter");
        for (_, text) in lists.iter().flat_map(ListSource::parts) {
            let bare = BareWords::of_list(text);
            let mut from = 0;
            while let Some(found) = finder.find(&text[from..]) {
                let at = from + found;
                let start = memchr::memrchr(b'\n', &text[..at]).map_or(0, |at| at + 1);
                let end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |n| at + n);
                from = end;
                let line = &text[start..end];
                if line.len() <= LINE_BYTES_MAX
                    && let Ok(line) = std::str::from_utf8(line)
                    && let DetectedLine::Rule(rule) = detect::read(line, bare)
                    && rule.options.marks.badfilter
                {
                    let head = canonical_head(rule.head).into_owned();
                    cancelled.entry(head).or_default().insert(modifiers(rule.tail));
                }
            }
        }
        Self(cancelled)
    }

    /// A sum over all of them, by which it is known that none came or went.
    pub(super) fn digest(&self) -> u64 {
        let rules = self.0.iter().flat_map(|(head, all)| all.iter().map(move |it| (head, it)));
        rules.fold(0, |sum: u64, (head, modifiers)| {
            sum.wrapping_add(checksum(format!("{head}${}", modifiers.join(",")).as_bytes()))
        })
    }

    pub(super) fn is_any(&self) -> bool {
        !self.0.is_empty()
    }

    /// True for a cancelled rule: one of the same head and of modifiers that mean the same.
    pub(super) fn contains(&self, head: &str, tail: &str) -> bool {
        let cancelled = self.0.get(&*canonical_head(head));
        cancelled.is_some_and(|cancelled| cancelled.contains(&modifiers(tail)))
    }
}

/// Head of a rule in lower case; in expressions case has a meaning.
fn canonical_head(head: &str) -> Cow<'_, str> {
    let is_expression = head.trim_start_matches("@@").starts_with('/');
    if is_expression || !head.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Cow::Borrowed(head);
    }
    Cow::Owned(head.to_ascii_lowercase())
}

/// Words that mean the same, the one by which they are compared first.
const SYNONYMS: [&[&str]; 18] = [
    &["third-party", "3p", "~first-party", "~1p"],
    &["first-party", "1p", "~third-party", "~3p"],
    &["document", "doc"],
    &["subdocument", "frame"],
    &["stylesheet", "css"],
    &["image", "background"],
    &["object", "object-subrequest"],
    &["xmlhttprequest", "xhr"],
    &["ping", "beacon"],
    &["~document", "~doc"],
    &["~subdocument", "~frame"],
    &["~stylesheet", "~css"],
    &["~image", "~background"],
    &["~object", "~object-subrequest"],
    &["~xmlhttprequest", "~xhr"],
    &["~ping", "~beacon"],
    &["domain", "from"],
    &["removeparam", "queryprune"],
];

/// The modifiers of a rule less `badfilter`, in one spelling and in alphabetical order.
fn modifiers(tail: &str) -> Vec<String> {
    let words = split(tail, ',').map(str::trim);
    let words = words.filter(|word| !word.is_empty() && *word != "badfilter");
    let mut words: Vec<String> = words.map(canonical_modifier).collect();
    words.sort_unstable();
    words.dedup();
    words
}

/// A modifier by the first of its names, with the entries of its value in alphabetical order.
fn canonical_modifier(word: &str) -> String {
    let (name, value) = word.split_once('=').map_or((word, None), |(name, it)| (name, Some(it)));
    let name = SYNONYMS.iter().find(|all| all.contains(&name)).map_or(name, |all| all[0]);
    let Some(value) = value else { return name.to_owned() };
    let is_list = ["domain", "denyallow", "to", "client", "ctag", "dnstype"].contains(&name);
    if !is_list {
        return format!("{name}={value}");
    }
    let mut entries: Vec<String> = split(value, '|').map(|entry| entry.trim().to_owned()).collect();
    if name != "client" {
        for entry in &mut entries {
            entry.make_ascii_lowercase();
        }
    }
    entries.sort_unstable();
    entries.dedup();
    format!("{name}={}", entries.join("|"))
}
