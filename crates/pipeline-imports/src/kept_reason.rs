//! Reasons for which a pipeline stays one.

use mosdns_compat::language::SourcePosition;
use std::fmt;

/// Reasons of one file, at most.
pub(crate) const REASONS_MAX: usize = 64;

/// Why our settings do not answer as a rule does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeptReason {
    /// The answer is tested, and another one taken in its place.
    AnswerTest,
    /// A rule after it may put another answer in the place of this one.
    Replaced,
    /// No setting tests this.
    Matcher(&'static str),
    /// No setting does this.
    Executor(&'static str),
    /// No setting does this under a condition.
    Conditional(&'static str),
    /// Conditions that no setting has together.
    Combined,
    /// Names of a file that changes cannot be those of an upstream.
    NamesInFile,
    /// Names of this kind cannot be those of an upstream.
    NameKind(&'static str),
    /// Files of bare names.
    BareNames(String),
    /// A file that cannot be read here.
    Unread(String),
    /// Our settings do this in another order.
    Order(&'static str),
    /// There is one of these in our settings.
    Several(&'static str),
    /// A response code that no setting gives.
    Code(u16),
    /// A value that no setting takes.
    Value(&'static str),
    /// A tag that nothing has.
    Tag(String),
    /// Questions that no rule answers.
    NoEnd,
    /// Sequences that are too deep, or too many.
    TooLong,
}

impl fmt::Display for KeptReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AnswerTest => f.write_str("settings end at the first answer and test none"),
            Self::Replaced => f.write_str("a later rule may put another answer in its place"),
            Self::Matcher(what) => write!(f, "no setting tests {what}"),
            Self::Executor(what) => write!(f, "no setting does what {what} does"),
            Self::Conditional(what) => write!(f, "{what} under a condition is no setting"),
            Self::Combined => f.write_str("no setting has these conditions together"),
            Self::NamesInFile => {
                f.write_str("upstreams have names that are written, and no files of them")
            }
            Self::NameKind(kind) => write!(f, "upstreams have names, and not {kind}"),
            Self::BareNames(file) => write!(
                f,
                "{file} has bare names, which a list takes without those below; write domain: \
                 in front of each and import again"
            ),
            Self::Unread(why) => f.write_str(why),
            Self::Order(what) => f.write_str(what),
            Self::Several(what) => write!(f, "settings have one of these: {what}"),
            Self::Code(code) => write!(f, "no setting answers with the response code {code}"),
            Self::Value(what) => write!(f, "no setting takes this {what}"),
            Self::Tag(tag) => write!(f, "no plugin is called {tag:?}"),
            Self::NoEnd => f.write_str("questions that no rule answers are not asked of anybody"),
            Self::TooLong => f.write_str("there are too many rules"),
        }
    }
}

/// A reason and the rule that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlacedReason {
    pub(crate) position: SourcePosition,
    pub(crate) reason: KeptReason,
}
