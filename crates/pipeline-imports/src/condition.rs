//! Matches of a rule, as far as settings have them.

use crate::book::PluginBook;
use crate::kept_reason::KeptReason;
use crate::steps::NameTest;
use mosdns_compat::language::{CalledMatcher, MatcherSpec, RateLimit, RuleTest, SetWords};
use pipeline::program::TestSense;

/// The matches of one rule.
#[derive(Clone, Debug, Default)]
pub(crate) struct RuleCondition<'f> {
    pub(crate) names: Option<NameTest<'f>>,
    pub(crate) clients: Option<(TestSense, &'f SetWords)>,
    pub(crate) types: Option<&'f [u16]>,
    /// Presence of an answer, or absence.
    pub(crate) answer: Option<TestSense>,
    /// Clients over this rate.
    pub(crate) limit: Option<&'f RateLimit>,
    /// True if it never holds.
    pub(crate) is_never: bool,
    /// A match that no setting has.
    pub(crate) unsaid: Option<KeptReason>,
}

impl<'f> RuleCondition<'f> {
    pub(crate) fn of(tests: &'f [RuleTest], book: &PluginBook<'f>) -> Self {
        let mut condition = Self::default();
        for test in tests {
            let matcher = match &test.matcher {
                CalledMatcher::Quick(matcher) => Some(matcher),
                CalledMatcher::Tag(tag) => book.matcher(tag),
            };
            let unsaid = match matcher {
                Some(matcher) => condition.add(matcher, test.sense),
                None => Some(KeptReason::Matcher("a plugin that is no matcher")),
            };
            condition.unsaid = condition.unsaid.or(unsaid);
        }
        condition
    }

    /// True if nothing but whether there is an answer is asked.
    pub(crate) fn is_plain(&self) -> bool {
        self.names.is_none()
            && self.clients.is_none()
            && self.types.is_none()
            && self.limit.is_none()
            && self.unsaid.is_none()
    }

    /// Adds a match; the reason if no setting has it.
    fn add(&mut self, matcher: &'f MatcherSpec, sense: TestSense) -> Option<KeptReason> {
        let is = sense == TestSense::Is;
        let unsaid = |what| Some(KeptReason::Matcher(what));
        match matcher {
            MatcherSpec::Always => self.is_never |= !is,
            MatcherSpec::Never => self.is_never |= is,
            MatcherSpec::HasResponse if self.answer.is_none_or(|it| it == sense) => {
                self.answer = Some(sense);
            }
            MatcherSpec::HasResponse => self.is_never = true,
            MatcherSpec::Name(words) if is && self.names.is_none() => {
                self.names = Some(NameTest::Words(words));
            }
            MatcherSpec::Question(providers) if is && self.names.is_none() => {
                self.names = Some(NameTest::Providers(providers));
            }
            MatcherSpec::Type(types) if is && self.types.is_none() => self.types = Some(types),
            MatcherSpec::Client(words) if self.clients.is_none() => {
                self.clients = Some((sense, words));
            }
            MatcherSpec::RateLimiter(limit) if !is && self.limit.is_none() => {
                self.limit = Some(limit);
            }
            MatcherSpec::Name(_) | MatcherSpec::Question(_) if !is => {
                return unsaid("that a name is not in a set");
            }
            MatcherSpec::Type(_) if !is => return unsaid("that a type is another one"),
            MatcherSpec::Name(_)
            | MatcherSpec::Question(_)
            | MatcherSpec::Type(_)
            | MatcherSpec::Client(_)
            | MatcherSpec::RateLimiter(_) => return Some(KeptReason::Combined),
            MatcherSpec::Alias(_) => return unsaid("aliases in an answer"),
            MatcherSpec::ResponseAddress(_) => return unsaid("addresses in an answer"),
            MatcherSpec::PointerAddress(_) => return unsaid("the address of a PTR question"),
            MatcherSpec::Class(_) => return unsaid("classes"),
            MatcherSpec::Rcode(_) => return unsaid("the code of an answer"),
            MatcherSpec::HasWantedAnswer => return unsaid("what an answer holds"),
            MatcherSpec::Mark(_) => return unsaid("marks"),
            MatcherSpec::Env(..) => return unsaid("the environment"),
            MatcherSpec::Random(_) => return unsaid("chance"),
            MatcherSpec::Text(_) => return unsaid("texts of a request"),
            MatcherSpec::Any(_) => return unsaid("one of several"),
        }
        None
    }
}
