//! The answer, and the whole reasoning behind it for people.
//!
//! A [`Verdict`] is two words and is made on the hot path; an [`PolicyExplanation`] is made of
//! strings and is made when a person asks. Neither decides anything: that is `decide`.

use crate::clients::overrides::NameOverride;
use crate::lists::rewrite::RewriteRecord;
use std::fmt;
use vocab::{Action, Cause, DomainName, RuleRef};

/// Holds what is to be done, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Pass or block.
    pub action: Action,
    /// The rule, or that there is none.
    pub cause: Cause,
    /// How, where a rule says so.
    pub manner: VerdictManner,
}

/// Tells how a door does what is to be done. A door that cannot act on it goes by the action alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VerdictManner {
    /// In the door's own way.
    #[default]
    Default,
    /// A look-up gets the answer that [`Policy::rewritten`](crate::Policy::rewritten) tells.
    Rewrite,
    /// What is blocked gets a stand-in, whose name [`Policy::stand_in`](crate::Policy::stand_in)
    /// tells.
    StandIn(StandInId),
}

/// The stand-in that a rule of this policy names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StandInId(pub(crate) u32);

impl Verdict {
    /// What nothing forbids.
    pub const NO_RULE: Self = Self::usual(Action::Pass, Cause::NoRule);

    /// A verdict that the door carries out in its own way.
    pub const fn usual(action: Action, cause: Cause) -> Self {
        Self { action, cause, manner: VerdictManner::Default }
    }
}

/// Holds what a look-up is answered by `$dnsrewrite` rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RewrittenAnswer {
    /// The rules that say so, the first in the order of lists and lines first.
    pub rules: Vec<RuleRef>,
    /// What they say.
    pub answer: RewriteAnswer,
}

/// An answer in place of the true one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RewriteAnswer {
    /// A response code without records; 0 is NOERROR.
    Code(u8),
    /// The name is an alias of this one, which is looked up in its stead.
    Alias(DomainName),
    /// These records, at least one. A question of a type that none of them has is answered that
    /// there is nothing of that type.
    Records(Vec<RewriteRecord>),
}

/// A URL with parameters taken off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrimmedUrl {
    /// What to ask for in its stead.
    pub url: String,
    /// The rules that took something.
    pub rules: Vec<RuleRef>,
}

impl RewrittenAnswer {
    /// Returns what a door does that knows nothing of rewrites: an answer without records blocks.
    pub(crate) fn verdict(&self) -> Verdict {
        let action = match self.answer {
            RewriteAnswer::Code(_) => Action::Block,
            RewriteAnswer::Alias(_) | RewriteAnswer::Records(_) => Action::Pass,
        };
        let cause = self.rules.first().map_or(Cause::NoRule, |rule| Cause::Rule(*rule));
        Verdict { action, cause, manner: VerdictManner::Rewrite }
    }
}

/// A rule as a person reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleText {
    /// The list's name; behind it that of the file, if the list is a folder: `mine/ads.txt`.
    pub list: String,
    /// The line there, from 1.
    pub line: u32,
    /// The rule. Rules about plain names are written anew from the name and the form of the line,
    /// so comments and neighbours on the same line are not in it.
    pub text: String,
}

/// Every rule that concerns a request, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyExplanation {
    /// What `decide` says to the same request.
    pub verdict: Verdict,
    /// The rule that decided.
    pub winner: Option<RuleText>,
    /// The client's profile.
    pub profile: String,
    /// The schedule by which the list of the rule that decided holds now, if it does not always.
    pub schedule: Option<String>,
    /// The override that has its way, or the pause.
    pub by_hand: Option<NameOverride>,
    /// What a look-up is answered with in place of the truth.
    pub rewritten: Option<RewrittenAnswer>,
    /// The name of the stand-in that a blocked request gets.
    pub stand_in: Option<String>,
    /// The URL that is asked for in place of this one.
    pub without_parameters: Option<TrimmedUrl>,
    /// All rules that match host or URL, the deciding one first, those of no account last.
    pub considered: Vec<ConsideredRule>,
}

/// One rule that matches host or URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsideredRule {
    /// The rule.
    pub rule: RuleText,
    /// What it would do.
    pub effect: RuleEffect,
    /// True if it carries `$important`.
    pub important: bool,
    /// Outcome of it.
    pub outcome: RuleOutcome,
}

/// Tells what a rule does when it decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RuleEffect {
    /// It blocks.
    Block,
    /// Lets pass what another rule blocks.
    Exception,
    /// `$dnsrewrite`: it answers in place of the truth.
    Rewrite,
    /// `$redirect`, `$redirect-rule`: it names what stands in for what is blocked.
    StandIn,
    /// `$removeparam`: it takes parameters off a URL.
    RemoveParameters,
    /// Switches off rules of one of the three kinds before, and lets nothing pass.
    SwitchOff,
}

/// Outcome of a rule that matches host or URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RuleOutcome {
    /// It decides.
    Decides,
    /// Would decide if protection were not paused.
    Paused,
    /// Matches, and a rule of higher rank or an earlier one decides.
    Outranked,
    /// The rule takes parameters off URLs, and this one has none of them.
    NothingToRemove,
    /// Is an exception, and nothing matches that it could except from.
    NothingToExcept,
    /// An exception of its own kind switches it off, or an allow list spares what it is about.
    SwitchedOff,
    /// List holds for this client at other hours.
    NotAtThisHour,
    /// List is not among those of this client.
    NotInProfile,
    /// Is about URLs, and a name was asked for.
    NotForNames,
    /// Is for other kinds of request, or other record types.
    NotForThisType,
    /// Is for other clients.
    NotForThisClient,
    /// Is for clients of other tags.
    NotForThisTag,
    /// Is for requests of pages on other hosts.
    NotForThisPage,
    /// Is for requests of the other party, or the page is unknown.
    NotForThisParty,
    /// Spares this host by `$denyallow` or `$to`.
    HostExempt,
}

impl RuleEffect {
    /// Returns its name in logs and the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Block => "block",
            Self::Exception => "exception",
            Self::Rewrite => "rewrite",
            Self::StandIn => "stand-in",
            Self::RemoveParameters => "trim",
            Self::SwitchOff => "switch-off",
        }
    }
}

impl fmt::Display for RuleEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for RuleOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Decides => "decides",
            Self::Paused => "would decide, but a pause or an override has its way",
            Self::Outranked => "matches, but another rule outranks it",
            Self::NothingToRemove => "matches, but the URL has no parameter that it takes off",
            Self::NothingToExcept => "matches, but nothing would block what it excepts",
            Self::SwitchedOff => "is switched off by an exception of its kind or an allow list",
            Self::NotAtThisHour => "is in this client's lists at other hours",
            Self::NotInProfile => "is not in this client's lists",
            Self::NotForNames => "is about URLs, and a name was asked for",
            Self::NotForThisType => "is for other types of request",
            Self::NotForThisClient => "is for other clients",
            Self::NotForThisTag => "is for clients of other tags",
            Self::NotForThisPage => "is for other pages, or the page is unknown",
            Self::NotForThisParty => "is for the other party, or the page is unknown",
            Self::HostExempt => "spares this host",
        })
    }
}
