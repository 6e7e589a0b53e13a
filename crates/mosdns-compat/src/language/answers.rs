//! Arguments of executors that answer, or change an answer: `hosts`, `arbitrary`, `redirect`,
//! `black_hole`, `ttl`.
//!
//! Rules stay text: their sets are built by [`crate::compile`]. Called by [`super::executors`].

use super::Dialect;
use super::position::{PlacedWord, ReadNotes, SourcePosition};
use super::tree::{ConfigSection, texts_of};
use super::words::{short_circuit, split};
use pipeline::program::{AfterAnswer, TtlRule};
use serde_json::Value;
use std::net::IpAddr;

/// Rules in place and in files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedRules {
    /// Rules, each as one line of a file.
    pub rules: Vec<PlacedWord>,
    /// Files of them.
    pub files: Vec<PlacedWord>,
    /// What follows an answer: `short_circuit` of OxiDNS.
    pub then: AfterAnswer,
}

/// Addresses that are given to every question for addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlackHole {
    /// The addresses. Questions of a family without one pass.
    pub addresses: Vec<IpAddr>,
    /// What follows an answer: `short_circuit` of OxiDNS.
    pub then: AfterAnswer,
}

/// Returns what follows an answer. Only OxiDNS knows the key.
pub(super) fn then(section: &mut ConfigSection<'_>) -> AfterAnswer {
    let stops = !section.notes.is_mosdns() && section.is_on("short_circuit");
    if stops { AfterAnswer::Stop } else { AfterAnswer::Next }
}

pub(super) fn listed(section: &mut ConfigSection<'_>, rules: &'static str) -> ListedRules {
    ListedRules { rules: section.texts(rules), files: section.texts("files"), then: then(section) }
}

fn addresses(words: &[&str], place: &SourcePosition, notes: &ReadNotes) -> Vec<IpAddr> {
    let mut addresses = Vec::new();
    for word in words {
        match word.parse() {
            Ok(address) => addresses.push(address),
            Err(_) => notes.complain(place.complaint(format!("{word:?} is no IP address"))),
        }
    }
    addresses
}

pub(super) fn black_hole(section: &mut ConfigSection<'_>) -> BlackHole {
    let items = section.texts("ips");
    let read = |it: &PlacedWord| addresses(&[it.text.trim()], &it.position, section.notes);
    BlackHole { addresses: items.iter().flat_map(read).collect(), then: then(section) }
}

/// A list in the place of keys.
pub(super) fn black_hole_list(
    args: &Value,
    place: &SourcePosition,
    notes: &ReadNotes,
) -> BlackHole {
    let items = texts_of(args, place, notes);
    let read = |it: &PlacedWord| addresses(&split(&it.text, Dialect::Oxidns), &it.position, notes);
    BlackHole { addresses: items.iter().flat_map(read).collect(), then: AfterAnswer::Next }
}

pub(super) fn quick_black_hole(
    words: &str,
    place: &SourcePosition,
    notes: &ReadNotes,
) -> BlackHole {
    let (words, then) = short_circuit(words, place, notes);
    let words: Vec<&str> = words.iter().flat_map(|it| split(it, notes.dialect)).collect();
    BlackHole { addresses: addresses(&words, place, notes), then }
}

/// Largest TTL (RFC 2181 §8).
const TTL_MAX: u64 = (1 << 31) - 1;

pub(super) fn ttl(section: &mut ConfigSection<'_>) -> Option<TtlRule> {
    let mut second = |key| section.whole(key, 0..=TTL_MAX).map(|it| it as u32);
    let (fix, least, most) = (second("fix"), second("min"), second("max"));
    match (fix, least, most) {
        (Some(fix), _, _) => Some(TtlRule::Fixed(fix)),
        (None, None, None) => {
            section.notes.complain(
                section.position.complaint("nothing is set").remedy("set `fix`, or `min` or `max`"),
            );
            None
        }
        (None, least, most) => Some(TtlRule::Within(least.unwrap_or(0), most.unwrap_or(0))),
    }
}

/// `ttl 300` or `ttl 60-600`.
pub(super) fn quick_ttl(words: &str, place: &SourcePosition, notes: &ReadNotes) -> Option<TtlRule> {
    let number = |text: &str| text.trim().parse().ok().filter(|it| u64::from(*it) <= TTL_MAX);
    let rule = match words.split_once('-') {
        Some((least, most)) => number(least).zip(number(most)).map(|(l, m)| TtlRule::Within(l, m)),
        // In mosdns 0 changes nothing.
        None => number(words).map(|fix: u32| match fix {
            0 if notes.is_mosdns() => TtlRule::Within(0, 0),
            fix => TtlRule::Fixed(fix),
        }),
    };
    if rule.is_none() {
        let complaint = place.complaint(format!("{words:?} is no TTL"));
        notes.complain(complaint.remedy("seconds, or bounds such as 60-600"));
    }
    rule
}
