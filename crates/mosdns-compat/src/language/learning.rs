//! Arguments of what learns names (OxiDNS): the set `dynamic_domain_set` and the executor
//! `learn_domain` that feeds it.
//!
//! Called by [`super::providers`] and [`super::executors`].

use super::position::PlacedWord;
use super::record_types;
use super::tree::ConfigSection;
use pipeline::program::{EffectTiming, OnError};
use pipeline::sets::LearnedKind;
use std::time::Duration;

/// Names that wait to be written, at most.
const QUEUE_MAX: u64 = 65_536;
/// Longest time in milliseconds that a name waits to be written.
const FLUSH_MS_MAX: u64 = 60_000;
/// Longest time that an answer waits.
const TIMEOUT_MAX: Duration = Duration::from_secs(30);
/// Types that are learnt where nothing is said: A and AAAA.
const TYPES_USUAL: [u16; 2] = [1, 28];

/// A set that sequences feed, and its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DynamicDomainSet {
    /// The file; made where it is not there.
    pub path: PlacedWord,
    /// Rules that a file begins with when it is made.
    pub bootstrap: Vec<PlacedWord>,
    /// Names that wait to be written, at most. Default 1024.
    pub queue: usize,
    /// So many are written at once. Default 256.
    pub batch: usize,
    /// Longest wait of a name. Default 200 ms.
    pub flush: Duration,
}

/// Puts the name asked for into such a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LearnDomainPlugin {
    /// The tag of the set.
    pub provider: PlacedWord,
    /// Moment: before the rest of the sequence, or after it. Default after.
    pub timing: EffectTiming,
    /// Types of questions whose names are learnt. Default A and AAAA.
    pub types: Vec<u16>,
    /// Answers from which it is learnt. Default: those with records.
    pub wanted: LearnedAnswer,
    /// Meaning of the name in the set. Default: itself.
    pub kind: LearnedKind,
    /// Time for which the answer waits until the name is written; none where it does not wait.
    pub wait: Option<Duration>,
    /// Consequence if it is not.
    pub on_error: OnError,
}

/// Answers from which names are learnt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LearnedAnswer {
    /// Only with the code NOERROR.
    pub success: bool,
    /// Only with records.
    pub records: bool,
}

pub(super) fn set(section: &mut ConfigSection<'_>) -> Option<DynamicDomainSet> {
    let path = section.needed("path");
    let bootstrap = section.texts("bootstrap_rules");
    let queue = section.clamped("queue_size", QUEUE_MAX).unwrap_or(1024) as usize;
    let batch = section.clamped("batch_size", QUEUE_MAX).unwrap_or(256) as usize;
    let flush_ms = section.clamped("flush_interval_ms", FLUSH_MS_MAX).unwrap_or(200);
    let flush = Duration::from_millis(flush_ms);
    Some(DynamicDomainSet { path: path?, bootstrap, queue, batch, flush })
}

pub(super) fn learn(section: &mut ConfigSection<'_>) -> Option<LearnDomainPlugin> {
    let notes = section.notes;
    let provider = section.needed("provider").map(|word| {
        let tag = word.text.trim().trim_start_matches('$').to_owned();
        PlacedWord { text: tag, ..word }
    });
    let mut choice = |key, words: &[&'static str], usual: &'static str| -> &'static str {
        let Some(word) = section.text(key) else { return usual };
        let found = words.iter().find(|it| **it == word.text);
        if found.is_none() {
            let complaint = word.position.complaint(format!("{:?} is not known here", word.text));
            notes.complain(complaint.remedy(words.join(", ")));
        }
        found.copied().unwrap_or(usual)
    };
    let timing = match choice("phase", &["before", "after"], "after") {
        "before" => EffectTiming::Now,
        _ => EffectTiming::End,
    };
    let kind = match choice("rule_kind", &["full", "domain"], "full") {
        "domain" => LearnedKind::Domain,
        _ => LearnedKind::Full,
    };
    let on_error = match choice("error_mode", &["continue", "stop", "fail"], "continue") {
        "stop" => OnError::Stop,
        "fail" => OnError::Fail,
        _ => OnError::Continue,
    };
    // No question that is answered here has more than one.
    choice("questions", &["first", "all"], "first");
    let words = section.texts("qtypes");
    let mut types = Vec::new();
    for word in &words {
        let name = word.text.trim().to_ascii_uppercase();
        let rtype = name.parse::<u16>().ok().or_else(|| record_types::rtype(&name));
        types.extend(rtype.or_else(|| {
            let message = format!("{:?} is no type of records", word.text);
            notes.refuse(word.position.complaint(message))
        }));
    }
    let wanted = LearnedAnswer {
        success: section.flag("success_only") != Some(false),
        records: section.flag("answer_required") != Some(false),
    };
    let timeout = section.span("timeout", Duration::from_secs(1)).unwrap_or(Duration::from_secs(1));
    if timeout.is_zero() || timeout > TIMEOUT_MAX {
        let complaint = section.position.below("timeout").complaint("the time is out of bounds");
        notes.complain(complaint.remedy("up to 30s"));
    }
    let wait = (section.flag("async") == Some(false)).then_some(timeout);
    let types = if words.is_empty() { TYPES_USUAL.to_vec() } else { types };
    Some(LearnDomainPlugin { provider: provider?, timing, types, wanted, kind, wait, on_error })
}
