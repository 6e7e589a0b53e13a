//! Arguments of executors that answer, or change an answer: `hosts`, `arbitrary`, `redirect`,
//! `black_hole`, `ttl`.
//!
//! Rules stay text: their sets are built by [`crate::compile`]. Called by [`super::executors`].

use super::Dialect;
use super::position::{PlacedWord, ReadNotes, SourcePosition};
use super::tree::{ConfigSection, texts_of};
use super::words::{short_circuit, split};
use pipeline::program::{AfterAnswer, BlackHole as HoleAnswer, HoleMisfits, TtlRule};
use serde_json::Value;
use std::net::IpAddr;

/// TTL of the addresses of a black hole, in seconds, as in both peers.
const BLACK_HOLE_TTL_S: u32 = 300;

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

/// One answer to every question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlackHole {
    /// The answer; none where mosdns has no address to give.
    pub answer: Option<HoleAnswer>,
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

/// Modes of OxiDNS' black hole.
const HOLE_MODES: [(&str, HoleMode); 5] = [
    ("nxdomain", HoleMode::Fixed(HoleAnswer::NxDomain)),
    ("nodata", HoleMode::Fixed(HoleAnswer::Empty)),
    ("null", HoleMode::Fixed(HoleAnswer::Null)),
    ("refused", HoleMode::Fixed(HoleAnswer::Refused)),
    ("custom", HoleMode::Custom),
];

/// A mode of OxiDNS' black hole.
#[derive(Clone)]
enum HoleMode {
    /// The same to everybody.
    Fixed(HoleAnswer),
    /// Addresses.
    Custom,
}

/// True for the name of a mode.
pub(super) fn is_hole_mode(word: &str) -> bool {
    hole_mode(word).is_some()
}

fn hole_mode(word: &str) -> Option<HoleMode> {
    let found = HOLE_MODES.iter().find(|(name, _)| word.eq_ignore_ascii_case(name));
    found.map(|(_, mode)| mode.clone())
}

/// The answer of a black hole: mosdns gives its addresses, and lets other questions pass.
fn hole_answer(
    mode: Option<HoleMode>,
    addresses: Vec<IpAddr>,
    place: &SourcePosition,
    notes: &ReadNotes,
) -> Option<HoleAnswer> {
    let misfits = if notes.is_mosdns() { HoleMisfits::Pass } else { HoleMisfits::NoData };
    let given = |addresses: Vec<IpAddr>| HoleAnswer::Addresses {
        addresses: addresses.into(),
        ttl: BLACK_HOLE_TTL_S,
        misfits,
    };
    match mode {
        None if !addresses.is_empty() => Some(given(addresses)),
        None if notes.is_mosdns() => None,
        None => Some(HoleAnswer::NxDomain),
        Some(HoleMode::Fixed(answer)) if addresses.is_empty() => Some(answer),
        Some(HoleMode::Fixed(_)) => {
            notes.refuse(place.complaint("this mode gives no addresses").remedy("write custom"))
        }
        Some(HoleMode::Custom) if addresses.is_empty() => {
            notes.refuse(place.complaint("custom has no address").remedy("name one behind it"))
        }
        Some(HoleMode::Custom) => Some(given(addresses)),
    }
}

pub(super) fn black_hole(section: &mut ConfigSection<'_>) -> BlackHole {
    let mode = if section.notes.is_mosdns() { None } else { section.text("mode") };
    let mode = mode.and_then(|word| {
        hole_mode(&word.text).or_else(|| {
            let message = format!("{:?} is no mode of black_hole", word.text);
            let remedy = "nxdomain, nodata, null, custom or refused";
            section.notes.refuse(word.position.complaint(message).remedy(remedy))
        })
    });
    let items = section.texts("ips");
    let read = |it: &PlacedWord| addresses(&[it.text.trim()], &it.position, section.notes);
    let addresses = items.iter().flat_map(read).collect();
    let answer = hole_answer(mode, addresses, &section.position, section.notes);
    BlackHole { answer, then: then(section) }
}

/// A list in the place of keys.
pub(super) fn black_hole_list(
    args: &Value,
    place: &SourcePosition,
    notes: &ReadNotes,
) -> BlackHole {
    let items = texts_of(args, place, notes);
    let read = |it: &PlacedWord| addresses(&split(&it.text, Dialect::Oxidns), &it.position, notes);
    let addresses = items.iter().flat_map(read).collect();
    BlackHole { answer: hole_answer(None, addresses, place, notes), then: AfterAnswer::Next }
}

pub(super) fn quick_black_hole(
    words: &str,
    place: &SourcePosition,
    notes: &ReadNotes,
) -> BlackHole {
    let (words, then) = short_circuit(words, place, notes);
    let mut words: Vec<&str> = words.iter().flat_map(|it| split(it, notes.dialect)).collect();
    let known = words.first().filter(|_| !notes.is_mosdns()).and_then(|word| hole_mode(word));
    if known.is_some() {
        words.remove(0);
    }
    let addresses = addresses(&words, place, notes);
    BlackHole { answer: hole_answer(known, addresses, place, notes), then }
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
