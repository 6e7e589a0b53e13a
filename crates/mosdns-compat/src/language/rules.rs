//! Rules of a sequence: matches, and what is done where they hold.
//!
//! Words of control (`accept`, `jump`…), references (`$tag`) and quick forms are told apart here.
//! Called by [`super::executors`], and for matches by [`super::matchers`].

use super::executors::{self, Executor};
use super::matchers::{self, MatcherSpec};
use super::position::{PlacedWord, ReadNotes, SourcePosition, with_remedy};
use super::tree::{ConfigSection, UnknownKeys, sections_of};
use super::words::{RuleHead, head, no_words, sense};
use pipeline::program::TestSense;
use serde_json::Value;
use settings::suggest;

/// Rules of one sequence, at most.
pub const RULES_MAX: usize = 4096;

/// One rule.
#[derive(Clone, Debug, PartialEq)]
pub struct SequenceRule {
    /// Where it stands.
    pub position: SourcePosition,
    /// All must hold; asked in order up to the first that does not.
    pub tests: Vec<RuleTest>,
    /// What is done.
    pub exec: RuleAction,
}

/// A matcher and what it must say.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleTest {
    /// Where it stands.
    pub position: SourcePosition,
    /// What it must say.
    pub sense: TestSense,
    /// The matcher.
    pub matcher: CalledMatcher,
}

/// A matcher, by its tag or in place.
#[derive(Clone, Debug, PartialEq)]
pub enum CalledMatcher {
    /// The plugin with this tag.
    Tag(String),
    /// Quick form.
    Quick(MatcherSpec),
}

/// Tells what a rule does.
#[derive(Clone, Debug, PartialEq)]
pub enum RuleAction {
    /// Ends the run.
    Accept,
    /// Goes back to whoever jumped here.
    Return,
    /// Answers with a response code, and ends the run.
    Reject(u16),
    /// Goes on at another sequence, and comes back.
    Jump(PlacedWord),
    /// Goes on at another sequence for good.
    Goto(PlacedWord),
    /// Sets marks.
    Mark(Vec<u32>),
    /// Runs the plugin with this tag; the words are upstreams of a `forward`.
    Tag(PlacedWord, Vec<String>),
    /// Runs a quick form.
    Quick(Executor),
}

/// Words of control.
const CONTROL: &[&str] = &["accept", "return", "reject", "jump", "goto", "mark"];

/// The rules of a sequence.
pub(super) fn read(args: &Value, place: &SourcePosition, notes: &ReadNotes) -> Vec<SequenceRule> {
    let sections = if args.is_null() { Vec::new() } else { sections_of(args, place, notes) };
    if sections.is_empty() {
        let complaint = place.complaint("the sequence has no rules");
        if notes.is_mosdns() {
            notes.warn(complaint);
        } else {
            notes.complain(complaint);
        }
    }
    if sections.len() > RULES_MAX {
        let message = format!("{} rules are too many", sections.len());
        notes.complain(place.complaint(message).remedy(format!("{RULES_MAX} is the most")));
    }
    sections.into_iter().take(RULES_MAX).filter_map(rule).collect()
}

fn rule(mut section: ConfigSection<'_>) -> Option<SequenceRule> {
    let notes = section.notes;
    let place = section.position.clone();
    let matches = section.texts("matches");
    let tests = matches.iter().filter_map(|it| test(&it.text, &it.position, notes)).collect();
    let exec = section.needed("exec");
    section.finish(UnknownKeys::AsUsual);
    let exec = exec.and_then(|it| exec_of(&it.text, &it.position, notes))?;
    Some(SequenceRule { position: place, tests, exec })
}

/// One match: `[!]$tag` or `[!]type words`.
pub(super) fn test(text: &str, place: &SourcePosition, notes: &ReadNotes) -> Option<RuleTest> {
    let (sense, rest) = sense(text);
    let matcher = match head(rest, notes.dialect) {
        None => {
            notes.complain(place.complaint("no matcher is named"));
            return None;
        }
        Some((RuleHead::Tag(tag), words)) => {
            no_words(&format!("${tag}"), words, place, notes);
            CalledMatcher::Tag(tag.into())
        }
        Some((RuleHead::Type(name), words)) => {
            CalledMatcher::Quick(quick_matcher(name, words, place, notes)?)
        }
    };
    Some(RuleTest { position: place.clone(), sense, matcher })
}

fn quick_matcher(
    name: &str,
    words: &str,
    place: &SourcePosition,
    notes: &ReadNotes,
) -> Option<MatcherSpec> {
    let is_foreign = notes.is_mosdns() && matchers::OXIDNS_QUICK.contains(&name);
    let is_known = matchers::TYPES.contains(&name);
    if is_known && !is_foreign && !matchers::NOT_QUICK.contains(&name) {
        return matchers::quick(name, words, place, notes);
    }
    let complaint = place.complaint(format!("{name:?} is no matcher that can stand in a rule"));
    let remedy = if is_known {
        Some(format!("declare a plugin of type {name} and write $TAG"))
    } else {
        suggest(name, matchers::TYPES.iter().copied())
            .or_else(|| Some("write $TAG for a matcher that is a plugin of its own".into()))
    };
    notes.complain(with_remedy(complaint, remedy));
    None
}

fn exec_of(text: &str, place: &SourcePosition, notes: &ReadNotes) -> Option<RuleAction> {
    match head(text, notes.dialect) {
        None => {
            notes.complain(place.complaint("no executor is named"));
            None
        }
        Some((RuleHead::Tag(tag), words)) => {
            let words = words.split_whitespace().map(str::to_owned).collect();
            Some(RuleAction::Tag(PlacedWord::new(tag, place), words))
        }
        Some((RuleHead::Type(name), words)) if CONTROL.contains(&name) => {
            control(name, words, place, notes)
        }
        Some((RuleHead::Type(name), words)) => {
            quick_executor(name, words, place, notes).map(RuleAction::Quick)
        }
    }
}

fn control(
    name: &str,
    words: &str,
    place: &SourcePosition,
    notes: &ReadNotes,
) -> Option<RuleAction> {
    match name {
        "accept" | "return" => {
            no_words(name, words, place, notes);
            Some(if name == "accept" { RuleAction::Accept } else { RuleAction::Return })
        }
        "reject" => {
            // OxiDNS takes names too.
            let named = || (!notes.is_mosdns()).then(|| matchers::rcode(words)).flatten();
            let code = if words.is_empty() { Some(5) } else { words.parse().ok().or_else(named) };
            let code = code.filter(|it| *it <= 4095);
            if code.is_none() {
                let complaint = place.complaint(format!("{words:?} is no response code"));
                notes.complain(complaint.remedy("a whole number from 0 to 4095"));
            }
            code.map(RuleAction::Reject)
        }
        "mark" => Some(RuleAction::Mark(matchers::marks(words, place, notes))),
        _ => {
            if words.is_empty() || words.starts_with('$') {
                let complaint = place.complaint(format!("{name} takes the tag of a sequence"));
                notes.complain(complaint.remedy(format!("write {name} TAG, without $")));
                return None;
            }
            let target = PlacedWord::new(words, place);
            Some(if name == "jump" { RuleAction::Jump(target) } else { RuleAction::Goto(target) })
        }
    }
}

/// The quick form `name words`; a complaint where there is none.
pub(super) fn quick_executor(
    name: &str,
    words: &str,
    place: &SourcePosition,
    notes: &ReadNotes,
) -> Option<Executor> {
    let is_foreign = if notes.is_mosdns() {
        executors::OXIDNS_QUICK.contains(&name)
    } else {
        // An old name that only mosdns still knows.
        name == "ecs"
    };
    if executors::QUICK.contains(&name) && !is_foreign {
        return executors::quick(name, words, place, notes);
    }
    let complaint = place.complaint(format!("{name:?} is no executor that can stand in a rule"));
    let remedy = if executors::TYPES.contains(&name) {
        Some(format!("declare a plugin of type {name} and write $TAG"))
    } else {
        let known = executors::QUICK.iter().chain(CONTROL).copied();
        suggest(name, known)
            .or_else(|| Some("write $TAG for an executor that is a plugin of its own".into()))
    };
    notes.complain(with_remedy(complaint, remedy));
    None
}
