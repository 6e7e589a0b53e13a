//! Matchers of the language as those of a program.
//!
//! What is known now (`_true`, the environment) is decided now. Called by [`super::sequences`].

use super::plugins::PluginBook;
use super::sets::SetCompiler;
use crate::language::{
    CalledMatcher, ForeignFiles, MatcherSpec as Written, PlacedWord, RateLimit,
    RuleTest as WrittenTest, SourcePosition, StringOperation, StringSource, StringTest,
};
use pipeline::limiter::{BucketRate, ClientPrefixes, PER_SECOND_MAX, RateLimiter};
use pipeline::program::{
    AddressSets, GuardMatcher, GuardTest, NameSets, TestSense, TextComparison, TextTest,
};
use regex::RegexSetBuilder;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

/// Largest program of the expressions of one matcher, in bytes.
const REGEXP_PROGRAM_BYTES_MAX: usize = 1 << 20;

/// Tests of one program, at most: matchers that name others could make very many of few words.
const TESTS_MAX: usize = 65_536;

/// Limiters of one program, at most: each has half a mebibyte of buckets.
const LIMITERS_MAX: usize = 64;

/// A matcher that several rules may ask.
enum SharedMatcher {
    Names(NameSets),
    Addresses(Vec<Arc<pipeline::sets::IpSet>>),
    Limiter(Arc<RateLimiter>),
}

/// Makes matchers.
pub(super) struct MatcherCompiler<'f> {
    book: &'f PluginBook<'f>,
    sets: &'f SetCompiler<'f>,
    files: &'f dyn ForeignFiles,
    seed: u64,
    shared: RefCell<HashMap<usize, SharedMatcher>>,
    tests: Cell<usize>,
    limiters: Cell<usize>,
}

/// Tells what tests come to.
pub(super) enum CompiledTests {
    /// These must hold; none always do.
    All(Vec<GuardTest>),
    /// They never hold.
    Never,
}

impl<'f> MatcherCompiler<'f> {
    pub(super) fn new(
        book: &'f PluginBook<'f>,
        sets: &'f SetCompiler<'f>,
        files: &'f dyn ForeignFiles,
        seed: u64,
    ) -> Self {
        let (tests, limiters) = (Cell::new(0), Cell::new(0));
        Self { book, sets, files, seed, shared: RefCell::default(), tests, limiters }
    }

    /// The tests of a rule. Those that always hold are left out; one that never does decides.
    pub(super) fn all(&self, tests: &[WrittenTest]) -> CompiledTests {
        let mut all = Vec::new();
        let mut is_never = false;
        for written in tests {
            match self.test(written) {
                Some(
                    GuardTest { matcher: GuardMatcher::Always, sense: TestSense::Is }
                    | GuardTest { matcher: GuardMatcher::Never, sense: TestSense::IsNot },
                )
                | None => {}
                Some(GuardTest { matcher: GuardMatcher::Always | GuardMatcher::Never, .. }) => {
                    is_never = true;
                }
                Some(test) => all.push(test),
            }
        }
        if is_never { CompiledTests::Never } else { CompiledTests::All(all) }
    }

    /// A test; nothing where its tag was complained about.
    fn test(&self, written: &WrittenTest) -> Option<GuardTest> {
        self.tests.set(self.tests.get() + 1);
        if self.tests.get() > TESTS_MAX {
            if self.tests.get() == TESTS_MAX + 1 {
                let message = format!("the file makes more than {TESTS_MAX} tests");
                self.book.notes.complain(written.position.complaint(message));
            }
            return None;
        }
        let sense = written.sense;
        let matcher = match &written.matcher {
            CalledMatcher::Quick(matcher) => self.matcher(matcher, None, &written.position),
            CalledMatcher::Tag(tag) => {
                let item = PlacedWord::new(tag.as_str(), &written.position);
                let (at, matcher) = self.book.matcher(&item)?;
                self.matcher(matcher, Some(at), &written.position)
            }
        };
        Some(GuardTest { matcher, sense })
    }

    /// A matcher; `plugin` is the one it is, if it is one of its own.
    fn matcher(
        &self,
        written: &Written,
        plugin: Option<usize>,
        place: &SourcePosition,
    ) -> GuardMatcher {
        match written {
            Written::Always => GuardMatcher::Always,
            Written::Never => GuardMatcher::Never,
            Written::Name(words) => {
                GuardMatcher::Name(self.names(plugin, || self.sets.names(words)))
            }
            Written::Question(tags) => {
                GuardMatcher::Name(self.names(plugin, || self.sets.questions(tags)))
            }
            Written::Alias(words) => {
                GuardMatcher::Alias(self.names(plugin, || self.sets.names(words)))
            }
            Written::Client(words) => {
                GuardMatcher::Client(self.addresses(plugin, || self.sets.addresses(words)))
            }
            Written::ResponseAddress(words) => {
                GuardMatcher::ResponseAddress(self.addresses(plugin, || self.sets.addresses(words)))
            }
            Written::PointerAddress(words) => {
                GuardMatcher::PointerAddress(self.addresses(plugin, || self.sets.addresses(words)))
            }
            Written::Type(codes) => GuardMatcher::Type(codes.as_slice().into()),
            Written::Class(codes) => GuardMatcher::Class(codes.as_slice().into()),
            Written::Rcode(codes) => GuardMatcher::Rcode(codes.as_slice().into()),
            Written::HasResponse => GuardMatcher::HasResponse,
            Written::HasWantedAnswer => GuardMatcher::HasWantedAnswer,
            Written::Mark(marks) => GuardMatcher::Mark(marks.as_slice().into()),
            Written::Env(key, value) => match (self.files.variable(key), value) {
                (Some(_), None) => GuardMatcher::Always,
                (Some(is), Some(wanted)) if is == *wanted => GuardMatcher::Always,
                (Some(_) | None, _) => GuardMatcher::Never,
            },
            Written::Random(probability) => random(*probability),
            Written::RateLimiter(limit) => match self.limiter(plugin, limit, place) {
                Some(limiter) => GuardMatcher::RateLimit(limiter),
                None => GuardMatcher::Never,
            },
            Written::Text(test) => self.text(test),
            Written::Any(tests) => self.any(tests),
        }
    }

    fn any(&self, tests: &[WrittenTest]) -> GuardMatcher {
        let tests: Box<[GuardTest]> = tests.iter().filter_map(|it| self.test(it)).collect();
        GuardMatcher::Any(tests)
    }

    fn names(&self, plugin: Option<usize>, build: impl FnOnce() -> NameSets) -> NameSets {
        let Some(at) = plugin else { return build() };
        if let Some(SharedMatcher::Names(names)) = self.shared.borrow().get(&at) {
            return names.clone();
        }
        let made = build();
        self.shared.borrow_mut().insert(at, SharedMatcher::Names(made.clone()));
        made
    }

    fn addresses(&self, plugin: Option<usize>, build: impl FnOnce() -> AddressSets) -> AddressSets {
        let Some(at) = plugin else { return build() };
        if let Some(SharedMatcher::Addresses(sets)) = self.shared.borrow().get(&at) {
            return AddressSets(sets.clone().into());
        }
        let made = build();
        self.shared.borrow_mut().insert(at, SharedMatcher::Addresses(made.0.to_vec()));
        made
    }

    /// A limiter; a plugin's is one for all rules that ask it. None at the cap, with a complaint.
    fn limiter(
        &self,
        plugin: Option<usize>,
        limit: &RateLimit,
        place: &SourcePosition,
    ) -> Option<Arc<RateLimiter>> {
        let known = |at| match self.shared.borrow().get(&at) {
            Some(SharedMatcher::Limiter(limiter)) => Some(Arc::clone(limiter)),
            Some(SharedMatcher::Names(..) | SharedMatcher::Addresses(_)) | None => None,
        };
        if let Some(limiter) = plugin.and_then(known) {
            return Some(limiter);
        }
        let number = self.limiters.replace(self.limiters.get() + 1);
        if number >= LIMITERS_MAX {
            let message = format!("there are more than {LIMITERS_MAX} limiters");
            let complaint = place.complaint(message);
            return self.book.notes.refuse(complaint.remedy("let rules share one by its tag"));
        }
        let prefixes = ClientPrefixes { ipv4: limit.mask4, ipv6: limit.mask6 };
        // The second half only has to be another one.
        let seed = [self.seed, self.seed.rotate_left(29) ^ number as u64];
        let limiter = Arc::new(RateLimiter::new(rate(limit), prefixes, seed));
        if let Some(at) = plugin {
            self.shared.borrow_mut().insert(at, SharedMatcher::Limiter(Arc::clone(&limiter)));
        }
        Some(limiter)
    }

    fn text(&self, written: &StringTest) -> GuardMatcher {
        let words = || written.words.iter().map(|it| it.as_str().into()).collect();
        let comparison = match written.operation {
            StringOperation::Empty => TextComparison::Empty,
            StringOperation::Equal => TextComparison::Equal(words()),
            StringOperation::Prefix => TextComparison::Prefix(words()),
            StringOperation::Suffix => TextComparison::Suffix(words()),
            StringOperation::Contains => TextComparison::Contains(words()),
            StringOperation::Regexp => {
                let set = RegexSetBuilder::new(&written.words)
                    .size_limit(REGEXP_PROGRAM_BYTES_MAX)
                    .build();
                match set {
                    Ok(set) => TextComparison::Regexp(set),
                    Err(why) => {
                        let message = format!("the expression cannot be used: {why}");
                        self.book.notes.complain(written.position.complaint(message));
                        return GuardMatcher::Never;
                    }
                }
            }
        };
        match &written.source {
            StringSource::Request(source) => {
                GuardMatcher::Text(TextTest { source: *source, comparison })
            }
            StringSource::Variable(name) => {
                let value = self.files.variable(name).unwrap_or_default();
                if comparison.matches(&value) { GuardMatcher::Always } else { GuardMatcher::Never }
            }
        }
    }
}

#[expect(clippy::cast_sign_loss, reason = "a probability is not negative")]
fn random(probability: f64) -> GuardMatcher {
    const ALL: u64 = 1 << 32;
    match (probability * ALL as f64) as u64 {
        0 => GuardMatcher::Never,
        ALL.. => GuardMatcher::Always,
        bound => GuardMatcher::Random(bound),
    }
}

/// The limiter's own numbers; what is faster than it can count, or slower, is taken for the most
/// and the least.
#[expect(clippy::cast_sign_loss, reason = "it is at least 1")]
fn rate(limit: &RateLimit) -> BucketRate {
    const PER_MS: u32 = 1_000_000;
    let most = f64::from(PER_SECOND_MAX);
    let count = (limit.qps.min(most) * f64::from(PER_MS) / 1000.0).round().max(1.0) as u32;
    let mut burst = limit.burst.max(1);
    loop {
        match BucketRate::new(count, PER_MS, burst) {
            Ok(rate) => return rate,
            Err(_) if burst > 1 => burst /= 2,
            // A day or more for one token.
            Err(_) => {
                return BucketRate::new(1, 86_400_000, 1).expect("one a day is within the bounds");
            }
        }
    }
}
