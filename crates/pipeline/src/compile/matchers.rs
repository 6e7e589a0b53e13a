//! Matchers of the language as those of a program.
//!
//! What is known now (`_true`, the environment) is decided now. Called by [`super::sequences`].

use super::book::Book;
use super::sets::Sets;
use crate::language::{
    Called, Files, Item, Matcher as Written, Operation, Place, RateLimit, StringSource, StringTest,
    Test as WrittenTest,
};
use crate::limiter::{PER_SECOND_MAX, Prefixes, Rate, RateLimiter};
use crate::program::{Addresses, Comparison, Matcher, Names, Sense, Test, TextTest};
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
enum Shared {
    Names(Vec<Arc<crate::sets::DomainSet>>, Vec<Arc<crate::sets::QuestionSet>>),
    Addresses(Vec<Arc<crate::sets::IpSet>>),
    Limiter(Arc<RateLimiter>),
}

/// Makes matchers.
pub(super) struct Matchers<'f> {
    book: &'f Book<'f>,
    sets: &'f Sets<'f>,
    files: &'f dyn Files,
    seed: u64,
    shared: RefCell<HashMap<usize, Shared>>,
    tests: Cell<usize>,
    limiters: Cell<usize>,
}

/// What tests come to.
pub(super) enum Tests {
    /// These must hold; none always do.
    All(Vec<Test>),
    /// They never hold.
    Never,
}

impl<'f> Matchers<'f> {
    pub(super) fn new(
        book: &'f Book<'f>,
        sets: &'f Sets<'f>,
        files: &'f dyn Files,
        seed: u64,
    ) -> Self {
        let (tests, limiters) = (Cell::new(0), Cell::new(0));
        Self { book, sets, files, seed, shared: RefCell::default(), tests, limiters }
    }

    /// The tests of a rule. Those that always hold are left out; one that never does decides.
    pub(super) fn all(&self, tests: &[WrittenTest]) -> Tests {
        let mut all = Vec::new();
        let mut is_never = false;
        for written in tests {
            match self.test(written) {
                Some(
                    Test { matcher: Matcher::Always, sense: Sense::Is }
                    | Test { matcher: Matcher::Never, sense: Sense::IsNot },
                )
                | None => {}
                Some(Test { matcher: Matcher::Always | Matcher::Never, .. }) => is_never = true,
                Some(test) => all.push(test),
            }
        }
        if is_never { Tests::Never } else { Tests::All(all) }
    }

    /// A test; nothing where its tag was complained about.
    fn test(&self, written: &WrittenTest) -> Option<Test> {
        self.tests.set(self.tests.get() + 1);
        if self.tests.get() > TESTS_MAX {
            if self.tests.get() == TESTS_MAX + 1 {
                let message = format!("the file makes more than {TESTS_MAX} tests");
                self.book.notes.complain(written.place.complaint(message));
            }
            return None;
        }
        let sense = written.sense;
        let matcher = match &written.matcher {
            Called::Quick(matcher) => self.matcher(matcher, None, &written.place),
            Called::Tag(tag) => {
                let item = Item::new(tag.as_str(), &written.place);
                let (at, matcher) = self.book.matcher(&item)?;
                self.matcher(matcher, Some(at), &written.place)
            }
        };
        Some(Test { matcher, sense })
    }

    /// A matcher; `plugin` is the one it is, if it is one of its own.
    fn matcher(&self, written: &Written, plugin: Option<usize>, place: &Place) -> Matcher {
        match written {
            Written::Always => Matcher::Always,
            Written::Never => Matcher::Never,
            Written::Name(words) => Matcher::Name(self.names(plugin, || self.sets.names(words))),
            Written::Question(tags) => {
                Matcher::Name(self.names(plugin, || self.sets.questions(tags)))
            }
            Written::Alias(words) => Matcher::Alias(self.names(plugin, || self.sets.names(words))),
            Written::Client(words) => {
                Matcher::Client(self.addresses(plugin, || self.sets.addresses(words)))
            }
            Written::ResponseAddress(words) => {
                Matcher::ResponseAddress(self.addresses(plugin, || self.sets.addresses(words)))
            }
            Written::PointerAddress(words) => {
                Matcher::PointerAddress(self.addresses(plugin, || self.sets.addresses(words)))
            }
            Written::Type(codes) => Matcher::Type(codes.as_slice().into()),
            Written::Class(codes) => Matcher::Class(codes.as_slice().into()),
            Written::Rcode(codes) => Matcher::Rcode(codes.as_slice().into()),
            Written::HasResponse => Matcher::HasResponse,
            Written::HasWantedAnswer => Matcher::HasWantedAnswer,
            Written::Mark(marks) => Matcher::Mark(marks.as_slice().into()),
            Written::Env(key, value) => match (self.files.variable(key), value) {
                (Some(_), None) => Matcher::Always,
                (Some(is), Some(wanted)) if is == *wanted => Matcher::Always,
                (Some(_) | None, _) => Matcher::Never,
            },
            Written::Random(probability) => random(*probability),
            Written::RateLimiter(limit) => match self.limiter(plugin, limit, place) {
                Some(limiter) => Matcher::RateLimit(limiter),
                None => Matcher::Never,
            },
            Written::Text(test) => self.text(test),
            Written::Any(tests) => self.any(tests),
        }
    }

    fn any(&self, tests: &[WrittenTest]) -> Matcher {
        let tests: Box<[Test]> = tests.iter().filter_map(|it| self.test(it)).collect();
        Matcher::Any(tests)
    }

    fn names(&self, plugin: Option<usize>, build: impl FnOnce() -> Names) -> Names {
        let Some(at) = plugin else { return build() };
        if let Some(Shared::Names(sets, rules)) = self.shared.borrow().get(&at) {
            return Names { sets: sets.clone().into(), rules: rules.clone().into() };
        }
        let made = build();
        let kept = Shared::Names(made.sets.to_vec(), made.rules.to_vec());
        self.shared.borrow_mut().insert(at, kept);
        made
    }

    fn addresses(&self, plugin: Option<usize>, build: impl FnOnce() -> Addresses) -> Addresses {
        let Some(at) = plugin else { return build() };
        if let Some(Shared::Addresses(sets)) = self.shared.borrow().get(&at) {
            return Addresses(sets.clone().into());
        }
        let made = build();
        self.shared.borrow_mut().insert(at, Shared::Addresses(made.0.to_vec()));
        made
    }

    /// A limiter; a plugin's is one for all rules that ask it. None at the cap, with a complaint.
    fn limiter(
        &self,
        plugin: Option<usize>,
        limit: &RateLimit,
        place: &Place,
    ) -> Option<Arc<RateLimiter>> {
        let known = |at| match self.shared.borrow().get(&at) {
            Some(Shared::Limiter(limiter)) => Some(Arc::clone(limiter)),
            Some(Shared::Names(..) | Shared::Addresses(_)) | None => None,
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
        let prefixes = Prefixes { ipv4: limit.mask4, ipv6: limit.mask6 };
        // The second half only has to be another one.
        let seed = [self.seed, self.seed.rotate_left(29) ^ number as u64];
        let limiter = Arc::new(RateLimiter::new(rate(limit), prefixes, seed));
        if let Some(at) = plugin {
            self.shared.borrow_mut().insert(at, Shared::Limiter(Arc::clone(&limiter)));
        }
        Some(limiter)
    }

    fn text(&self, written: &StringTest) -> Matcher {
        let words = || written.words.iter().map(|it| it.as_str().into()).collect();
        let comparison = match written.operation {
            Operation::Empty => Comparison::Empty,
            Operation::Equal => Comparison::Equal(words()),
            Operation::Prefix => Comparison::Prefix(words()),
            Operation::Suffix => Comparison::Suffix(words()),
            Operation::Contains => Comparison::Contains(words()),
            Operation::Regexp => {
                let set = RegexSetBuilder::new(&written.words)
                    .size_limit(REGEXP_PROGRAM_BYTES_MAX)
                    .build();
                match set {
                    Ok(set) => Comparison::Regexp(set),
                    Err(why) => {
                        let message = format!("the expression cannot be used: {why}");
                        self.book.notes.complain(written.place.complaint(message));
                        return Matcher::Never;
                    }
                }
            }
        };
        match &written.source {
            StringSource::Request(source) => {
                Matcher::Text(TextTest { source: *source, comparison })
            }
            StringSource::Variable(name) => {
                let value = self.files.variable(name).unwrap_or_default();
                if comparison.fits(&value) { Matcher::Always } else { Matcher::Never }
            }
        }
    }
}

#[expect(clippy::cast_sign_loss, reason = "a probability is not negative")]
fn random(probability: f64) -> Matcher {
    const ALL: u64 = 1 << 32;
    match (probability * ALL as f64) as u64 {
        0 => Matcher::Never,
        ALL.. => Matcher::Always,
        bound => Matcher::Random(bound),
    }
}

/// The limiter's own numbers; what is faster than it can count, or slower, is taken for the most and
/// the least.
#[expect(clippy::cast_sign_loss, reason = "it is at least 1")]
fn rate(limit: &RateLimit) -> Rate {
    const PER_MS: u32 = 1_000_000;
    let most = f64::from(PER_SECOND_MAX);
    let count = (limit.qps.min(most) * f64::from(PER_MS) / 1000.0).round().max(1.0) as u32;
    let mut burst = limit.burst.max(1);
    loop {
        match Rate::new(count, PER_MS, burst) {
            Ok(rate) => return rate,
            Err(_) if burst > 1 => burst /= 2,
            // A day or more for one token.
            Err(_) => {
                return Rate::new(1, 86_400_000, 1).expect("one a day is within the bounds");
            }
        }
    }
}
