//! URLs to refuse: patterns of one's own, and lists in the syntaxes of the policy.
//!
//! A URL is held against both as it was sent and as percent-decoded, so that no spelling is a way
//! around. It reads files when it is made, and nothing after. Called by `decide` for every parsed.

use super::answer::BlockAnswer;
use crate::settings::{BlockSettings, PatternSource};
use percent_encoding::percent_decode_str;
use policy::{
    Ask, ClientIdentity, ClientProfiles, ListKind, ListSource, Policy, RuleText, Verdict,
};
use route_matching::{PATTERNS_FILE_BYTES_MAX, ParsedRequest, PatternSet, PatternsError};
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use vocab::{Action, Cause, Complaint, DomainName, ListId, Now, RuleRef};

/// Rules of lists whose hits are counted; those that hit first.
const COUNTED_MAX: usize = 65_536;

/// Numbers for the lists of a door, under which their rules are recorded.
pub(crate) struct ListNumbers(Cell<u8>);

/// Holds what one route, or all, refuse.
pub(crate) struct BlockRules {
    own: Option<OwnPatterns>,
    lists: Option<SharedLists>,
    pub(crate) answer: BlockAnswer,
    pub(crate) mode: BlockMode,
    /// Requests that were let pass because it only logs.
    log_only_matches: AtomicU64,
}

/// Treatment of a request that hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockMode {
    Refuse,
    LogOnly,
}

/// Why it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockOccasion {
    /// A request is there: what hits is counted.
    Request,
    /// A person wants to know.
    Question,
}

/// Patterns of one's own.
struct OwnPatterns {
    list: ListId,
    name: String,
    patterns: PatternSet,
}

/// Lists of others.
struct SharedLists {
    first: ListId,
    names: Vec<String>,
    policy: Policy,
    hits: Mutex<HashMap<RuleRef, u64>>,
}

impl ListNumbers {
    pub(crate) fn new() -> Self {
        Self(Cell::new(ListId::DOOR_FIRST.0))
    }

    /// So many numbers in a row; the first of them.
    fn reserve(&self, count: usize) -> Result<ListId, Complaint> {
        let first = self.0.get();
        let next = u8::try_from(count).ok().and_then(|count| first.checked_add(count));
        let Some(next) = next else {
            let most = usize::from(u8::MAX - ListId::DOOR_FIRST.0);
            let message = format!("the gateway has more than {most} lists of patterns");
            return Err(Complaint::new("", message).remedy("put several into one"));
        };
        self.0.set(next);
        Ok(ListId(first))
    }
}

impl BlockRules {
    /// Compiles it; `owner` is whose it is, as people say it, and the name of patterns that stand
    /// in the configuration. Complaints have paths relative to `block`.
    pub(crate) fn open(
        settings: &BlockSettings,
        owner: &str,
        base: &Path,
        numbers: &ListNumbers,
    ) -> Result<Self, Complaint> {
        let own = match &settings.patterns {
            PatternSource::Inline(lines) if lines.is_empty() => None,
            source => Some(OwnPatterns::open(source, owner, base, numbers.reserve(1)?)?),
        };
        let lists = match settings.lists.as_slice() {
            [] => None,
            lists => Some(SharedLists::open(lists, base, numbers.reserve(lists.len())?)?),
        };
        let answer =
            settings.answer.compile().map_err(|why| Complaint::new("answer", why.to_string()))?;
        let answer = BlockAnswer::new(answer);
        let mode = if settings.log_only { BlockMode::LogOnly } else { BlockMode::Refuse };
        Ok(Self { own, lists, answer, mode, log_only_matches: AtomicU64::new(0) })
    }

    /// The rule that refuses it, or would; the hit of a request is counted.
    pub(crate) fn hit(
        &self,
        parsed: &ParsedRequest,
        occasion: BlockOccasion,
        now: Now,
    ) -> Option<RuleRef> {
        let own = self.own.as_ref().and_then(|own| {
            let line = match occasion {
                BlockOccasion::Request => own.patterns.hit(&parsed.path),
                BlockOccasion::Question => own.patterns.line_of(&parsed.path),
            };
            line.map(|line| RuleRef { list: own.list, line })
        });
        let found = own.or_else(|| self.lists.as_ref()?.hit(parsed, occasion, now))?;
        if (self.mode, occasion) == (BlockMode::LogOnly, BlockOccasion::Request) {
            self.log_only_matches.fetch_add(1, Relaxed);
        }
        Some(found)
    }

    /// Requests that it would have refused.
    pub(crate) fn log_only_matches(&self) -> u64 {
        self.log_only_matches.load(Relaxed)
    }

    /// The text of a rule of its own.
    pub(crate) fn rule_text(&self, rule: RuleRef) -> Option<RuleText> {
        if let Some(own) = self.own.as_ref().filter(|own| own.list == rule.list) {
            let text = own.patterns.text(rule.line)?.to_owned();
            return Some(RuleText { list: own.name.clone(), line: rule.line, text });
        }
        self.lists.as_ref()?.rule_text(rule)
    }

    /// Where the tables of patterns and rules lie in memory.
    pub(crate) fn tables(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let own = self.own.iter().flat_map(|own| own.patterns.tables());
        own.chain(self.lists.iter().flat_map(|lists| lists.policy.rules().tables()))
    }

    /// Every rule that was hit, and how often.
    pub(crate) fn hits(&self) -> Vec<(RuleText, u64)> {
        let own = self.own.iter().flat_map(|own| {
            own.patterns.hits().map(|(line, text, hits)| {
                (RuleText { list: own.name.clone(), line, text: text.to_owned() }, hits)
            })
        });
        own.chain(self.lists.iter().flat_map(SharedLists::hits)).collect()
    }
}

impl OwnPatterns {
    fn open(
        source: &PatternSource,
        owner: &str,
        base: &Path,
        list: ListId,
    ) -> Result<Self, Complaint> {
        let wrong = |message: String| Complaint::new("patterns", message);
        let (name, patterns) = match source {
            PatternSource::Inline(lines) => {
                let compiled = PatternSet::compile(lines.iter().map(String::as_str));
                (owner.to_owned(), compiled.map_err(|why| wrong(why.to_string()))?)
            }
            PatternSource::File(path) => {
                let bytes = read(&base.join(path)).map_err(|why| {
                    wrong(format!("{path}: {why}")).remedy("name a readable text file of patterns")
                })?;
                let text =
                    String::from_utf8(bytes).map_err(|why| wrong(format!("{path}: {why}")))?;
                let compiled = PatternSet::compile(text.lines()).map_err(|why| match &why {
                    PatternsError::Line { .. } => wrong(format!("{path}, {why}")),
                    PatternsError::TooMuchText
                    | PatternsError::TooManyRegexes
                    | PatternsError::TooManyBareRegexes(_)
                    | PatternsError::BareRegexes(_) => wrong(format!("{path}: {why}")),
                });
                (path.clone(), compiled?)
            }
        };
        Ok(Self { list, name, patterns })
    }
}

impl SharedLists {
    fn open(paths: &[String], base: &Path, first: ListId) -> Result<Self, Complaint> {
        let mut texts = Vec::with_capacity(paths.len());
        for (index, path) in paths.iter().enumerate() {
            let at = format!("lists.{index}");
            let text = read(&base.join(path)).map_err(|why| {
                Complaint::new(&at, format!("{path}: {why}")).remedy("name a readable list")
            })?;
            if let Some(why) = policy::unfit(&text) {
                return Err(Complaint::new(&at, format!("{path}: {why}")));
            }
            texts.push(text);
        }
        let named = paths.iter().zip(&texts);
        let sources: Vec<_> = named
            .map(|(name, text)| ListSource { name, kind: ListKind::Block, text, files: &[] })
            .collect();
        let seed = getrandom::u64().map_err(|why| {
            Complaint::new("lists", format!("the system gives no randomness: {why}"))
        })?;
        let rules = policy::compile(&sources, seed);
        let policy = Policy::new(rules.into(), ClientProfiles::everyone());
        Ok(Self { first, names: paths.to_vec(), policy, hits: Mutex::default() })
    }

    fn hit(&self, parsed: &ParsedRequest, occasion: BlockOccasion, now: Now) -> Option<RuleRef> {
        let verdict = decide_in_both_spellings(&self.policy, parsed, None, now);
        let (Action::Block, Some(inner)) = (verdict.action, verdict.cause.rule()) else {
            return None;
        };
        let rule = RuleRef { list: ListId(self.first.0 + inner.list.0), line: inner.line };
        if occasion == BlockOccasion::Question {
            return Some(rule);
        }
        let mut hits = self.hits.lock().unwrap_or_else(PoisonError::into_inner);
        if hits.len() < COUNTED_MAX || hits.contains_key(&rule) {
            *hits.entry(rule).or_default() += 1;
        }
        Some(rule)
    }

    fn rule_text(&self, rule: RuleRef) -> Option<RuleText> {
        let at = rule.list.0.checked_sub(self.first.0)?;
        let name = self.names.get(usize::from(at))?;
        let inner = RuleRef { list: ListId(at), line: rule.line };
        let text = self.policy.rule_text(inner, vocab::Name::ROOT);
        let text = text.map_or_else(String::new, |text| text.text);
        Some(RuleText { list: name.clone(), line: rule.line, text })
    }

    fn hits(&self) -> Vec<(RuleText, u64)> {
        let counted: Vec<(RuleRef, u64)> = {
            let hits = self.hits.lock().unwrap_or_else(PoisonError::into_inner);
            hits.iter().map(|(rule, hits)| (*rule, *hits)).collect()
        };
        let texts = counted.into_iter();
        texts.filter_map(|(rule, hits)| Some((self.rule_text(rule)?, hits))).collect()
    }
}

/// Returns what a policy says of a request's URL as it was sent, and if that passes, as
/// percent-decoded. An exception for one spelling is none for the other.
pub(crate) fn decide_in_both_spellings(
    policy: &Policy,
    parsed: &ParsedRequest,
    who: Option<&ClientIdentity<'_>>,
    now: Now,
) -> Verdict {
    let ask = Ask {
        door: vocab::Door::Gateway,
        client: parsed.client,
        identity: who,
        host: parsed.host.as_name(),
        kind: parsed.kind,
        url: Some(&parsed.url),
        page: parsed.page.as_ref().map(DomainName::as_name),
    };
    let verdict = policy.decide(&ask, now);
    if verdict.action == Action::Block || verdict.cause == Cause::Paused {
        return verdict;
    }
    if !parsed.url.contains('%') {
        return verdict;
    }
    match percent_decode_str(&parsed.url).decode_utf8_lossy() {
        Cow::Borrowed(_) => verdict,
        Cow::Owned(decoded) => {
            let again = policy.decide(&Ask { url: Some(&decoded), ..ask }, now);
            if again.action == Action::Block { again } else { verdict }
        }
    }
}

fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(PATTERNS_FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > PATTERNS_FILE_BYTES_MAX {
        return Err(std::io::Error::other("it is larger than 64MiB"));
    }
    Ok(bytes)
}
