//! Tests that guard operations of a program: a matcher, and what it must say.
//!
//! [`crate::machine`] asks them; what is known when the program is made is settled there already.
//! Part of [`crate::program`], which names them too.

use crate::limiter::RateLimiter;
use crate::sets::{DomainSet, IpSet, LearnedNames, QuestionSet};
use std::sync::Arc;

/// A matcher and what it must say.
#[derive(Debug)]
pub struct GuardTest {
    /// The matcher.
    pub matcher: GuardMatcher,
    /// What it must say.
    pub sense: TestSense,
}

/// Tells whether a test holds when its matcher does, or when it does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestSense {
    /// When it does.
    Is,
    /// When it does not: `!` in front of it.
    IsNot,
}

/// One matcher. What is known when the program is made (`_true`, `env`…) is
/// [`GuardMatcher::Always`] or
/// [`GuardMatcher::Never`].
#[derive(Debug)]
pub enum GuardMatcher {
    /// It holds.
    Always,
    /// Does not.
    Never,
    /// The name asked for is in a set.
    Name(NameSets),
    /// Type is one of these.
    Type(Box<[u16]>),
    /// Class is one of these.
    Class(Box<[u16]>),
    /// The client is in a set.
    Client(AddressSets),
    /// An address of the answer is in a set.
    ResponseAddress(AddressSets),
    /// The address that a PTR question is about is in a set.
    PointerAddress(AddressSets),
    /// An alias in the answer is in a set.
    Alias(NameSets),
    /// The response code of the answer is one of these.
    Rcode(Box<[u16]>),
    /// There is an answer.
    HasResponse,
    /// There is an answer with a record of the type asked for.
    HasWantedAnswer,
    /// One of these marks is set.
    Mark(Box<[u32]>),
    /// By chance: so many of 2³² times.
    Random(u64),
    /// The client's bucket still holds a token.
    RateLimit(Arc<RateLimiter>),
    /// A text of the request fits.
    Text(TextTest),
    /// One of these tests holds.
    Any(Box<[GuardTest]>),
}

/// Sets of names, asked one after the other.
#[derive(Clone, Debug, Default)]
pub struct NameSets {
    /// Plain sets; rules written in place are one of them.
    pub sets: Box<[Arc<DomainSet>]>,
    /// Sets that sequences feed.
    pub learned: Box<[Arc<LearnedNames>]>,
    /// Rules that look at the type too.
    pub rules: Box<[Arc<QuestionSet>]>,
}

/// Sets of addresses, asked one after the other.
#[derive(Debug, Default)]
pub struct AddressSets(pub Box<[Arc<IpSet>]>);

/// A test of a text.
#[derive(Debug)]
pub struct TextTest {
    /// Which text.
    pub source: TextSource,
    /// What it must be.
    pub comparison: TextComparison,
}

/// A text of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextSource {
    /// The name asked for, without final dot.
    Name,
    /// The type's number, in digits.
    Type,
    /// The class's number, in digits.
    Class,
    /// The response code's number, in digits.
    Rcode,
    /// Each address of the answer; one that fits is enough.
    ResponseAddress,
    /// Each mark that is set, in digits; one that fits is enough.
    Mark,
    /// The client's address.
    Client,
    /// The server name of TLS.
    ServerName,
    /// The path of the URL.
    UrlPath,
}

/// Tells how a text is compared; one of the words is enough.
#[derive(Debug)]
pub enum TextComparison {
    /// Is empty.
    Empty,
    /// Is this.
    Equal(Box<[Box<str>]>),
    /// Begins so.
    Prefix(Box<[Box<str>]>),
    /// Ends so.
    Suffix(Box<[Box<str>]>),
    /// Holds this.
    Contains(Box<[Box<str>]>),
    /// It matches.
    Regexp(regex::RegexSet),
}
