//! Who is called what: tags and what they stand for.
//!
//! References may point up and down the file; what they may not is lead back to where they came
//! from, for then a question would never end. Called by the rest of [`super`].

use crate::language::{
    CalledMatcher, Executor, ForeignFile, MatcherSpec, PlacedWord, Plugin, PluginKind, Provider,
    ReadNotes, RuleAction, RuleTest, SequenceRule, with_remedy,
};
use settings::suggest;
use std::collections::HashMap;

/// Number of references that may lead on from one another, at most.
const CHAIN_MAX: usize = 128;

/// The plugins of a file by their tags.
pub(super) struct PluginBook<'f> {
    pub(super) plugins: &'f [Plugin],
    tags: HashMap<&'f str, usize>,
    pub(super) notes: &'f ReadNotes,
}

impl<'f> PluginBook<'f> {
    pub(super) fn new(foreign: &'f ForeignFile, notes: &'f ReadNotes) -> Self {
        let plugins = &foreign.plugins;
        let tags = plugins.iter().enumerate().map(|(at, it)| (it.tag.as_str(), at)).collect();
        Self { plugins, tags, notes }
    }

    /// The same book with other notes.
    pub(super) fn with_notes<'n>(&self, notes: &'n ReadNotes) -> PluginBook<'n>
    where
        'f: 'n,
    {
        PluginBook { plugins: self.plugins, tags: self.tags.clone(), notes }
    }

    fn find(&self, tag: &str) -> Option<usize> {
        self.tags.get(tag).copied()
    }

    /// The plugin that `item` names, if it is of the kind that `read` wants; else a complaint.
    fn wanted<T>(
        &self,
        item: &PlacedWord,
        wanted: &str,
        read: impl Fn(&'f PluginKind) -> Option<T>,
    ) -> Option<(usize, T)> {
        let tag = item.text.as_str();
        let found = self.find(tag);
        if found.is_none() && self.notes.is_full() {
            return None;
        }
        let Some(at) = found else {
            let complaint =
                item.position.complaint(format!("there is no plugin with the tag {tag:?}"));
            let remedy = match tag.strip_prefix('$') {
                Some(bare) if self.find(bare).is_some() => Some(format!("write {bare}, without $")),
                Some(_) | None => suggest(tag, self.tags.keys().copied()),
            };
            self.notes.complain(with_remedy(complaint, remedy));
            return None;
        };
        let plugin = &self.plugins[at];
        let found = read(&plugin.kind);
        if found.is_none() {
            let message =
                format!("{tag:?} is a {}, where {wanted} is expected", plugin.kind.name());
            self.notes.complain(item.position.complaint(message));
        }
        found.map(|it| (at, it))
    }

    /// The executor with the tag that `item` is.
    pub(super) fn executor(&self, item: &PlacedWord) -> Option<(usize, &'f Executor)> {
        self.wanted(item, "an executor", |kind| match kind {
            PluginKind::Executor(it) => Some(it),
            PluginKind::Server(_) | PluginKind::Matcher(_) | PluginKind::Provider(_) => None,
        })
    }

    /// The sequence with the tag that `item` is.
    pub(super) fn sequence(&self, item: &PlacedWord) -> Option<(usize, &'f [SequenceRule])> {
        self.wanted(item, "a sequence", |kind| match kind {
            PluginKind::Executor(Executor::Sequence(rules)) => Some(rules.as_slice()),
            _ => None,
        })
    }

    pub(super) fn matcher(&self, item: &PlacedWord) -> Option<(usize, &'f MatcherSpec)> {
        self.wanted(item, "a matcher", |kind| match kind {
            PluginKind::Matcher(it) => Some(it),
            PluginKind::Server(_) | PluginKind::Executor(_) | PluginKind::Provider(_) => None,
        })
    }

    pub(super) fn provider(&self, item: &PlacedWord) -> Option<(usize, &'f Provider)> {
        self.wanted(item, "a provider", |kind| match kind {
            PluginKind::Provider(it) => Some(it),
            PluginKind::Server(_) | PluginKind::Executor(_) | PluginKind::Matcher(_) => None,
        })
    }

    /// Complains of references that lead in a circle, or too far. Gives whether there are none.
    pub(super) fn check_loops(&self) -> Result<(), ()> {
        let mut walk = ReferenceWalk {
            book: self,
            seen: vec![TagSeen::Not; self.plugins.len()],
            result: Ok(()),
        };
        for at in 0..self.plugins.len() {
            walk.visit(at, &mut Vec::new());
        }
        walk.result
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TagSeen {
    Not,
    Open,
    Done,
}

struct ReferenceWalk<'b, 'f> {
    book: &'b PluginBook<'f>,
    seen: Vec<TagSeen>,
    result: Result<(), ()>,
}

impl ReferenceWalk<'_, '_> {
    fn visit(&mut self, at: usize, path: &mut Vec<usize>) {
        if self.seen[at] != TagSeen::Not {
            return;
        }
        self.seen[at] = TagSeen::Open;
        path.push(at);
        for item in references(&self.book.plugins[at].kind) {
            // Tags that name nothing are told of elsewhere.
            let Some(next) = self.book.find(&item.text) else { continue };
            if self.seen[next] == TagSeen::Open || path.len() >= CHAIN_MAX {
                self.complain(&item, next, path);
                continue;
            }
            self.visit(next, path);
        }
        path.pop();
        self.seen[at] = TagSeen::Done;
    }

    fn complain(&mut self, item: &PlacedWord, next: usize, path: &[usize]) {
        self.result = Err(());
        let complaint = if let Some(start) = path.iter().position(|it| *it == next) {
            let tag = |at: &usize| self.book.plugins[*at].tag.as_str();
            let mut tags: Vec<&str> = path[start..].iter().map(tag).collect();
            tags.push(tag(&next));
            let circle = tags.join(" → ");
            item.position.complaint(format!("this leads in a circle: {circle}"))
        } else {
            item.position
                .complaint(format!("more than {CHAIN_MAX} references lead on from one another"))
        };
        self.book.notes.complain(complaint.remedy("let one of them lead elsewhere"));
    }
}

/// The tags that a plugin names, with their places.
fn references(kind: &PluginKind) -> Vec<PlacedWord> {
    match kind {
        PluginKind::Executor(Executor::Sequence(rules)) => rules.iter().flat_map(of_rule).collect(),
        PluginKind::Executor(Executor::Fallback(it)) => {
            vec![it.primary.clone(), it.secondary.clone()]
        }
        PluginKind::Matcher(it) => of_matcher(it),
        PluginKind::Provider(Provider::DomainSet(it) | Provider::IpSet(it)) => it.sets.clone(),
        PluginKind::Server(_) | PluginKind::Executor(_) | PluginKind::Provider(_) => Vec::new(),
    }
}

fn of_rule(rule: &SequenceRule) -> Vec<PlacedWord> {
    let mut items: Vec<PlacedWord> = rule.tests.iter().flat_map(of_test).collect();
    match &rule.exec {
        RuleAction::Jump(item) | RuleAction::Goto(item) | RuleAction::Tag(item, _) => {
            items.push(item.clone());
        }
        RuleAction::Accept
        | RuleAction::Return
        | RuleAction::Reject(_)
        | RuleAction::Mark(_)
        | RuleAction::Quick(_) => {}
    }
    items
}

fn of_test(test: &RuleTest) -> Vec<PlacedWord> {
    match &test.matcher {
        CalledMatcher::Tag(tag) => vec![PlacedWord::new(tag.as_str(), &test.position)],
        CalledMatcher::Quick(matcher) => of_matcher(matcher),
    }
}

fn of_matcher(matcher: &MatcherSpec) -> Vec<PlacedWord> {
    match matcher {
        MatcherSpec::Any(tests) => tests.iter().flat_map(of_test).collect(),
        _ => Vec::new(),
    }
}
