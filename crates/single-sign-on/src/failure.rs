//! Why somebody is not signed on.

use crate::transport::ProviderUnreachable;
use std::fmt;

/// Characters of a provider's words that are told.
const TOLD_MAX: usize = 80;

/// Why somebody is not signed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignOnFailure {
    /// The provider gave no answer.
    Unreachable(ProviderDocument, ProviderUnreachable),
    /// The provider answered with another status.
    Status(ProviderDocument, u16),
    /// The provider refused, with this word.
    Refused(ProviderDocument, String),
    /// The answer cannot be understood.
    BadAnswer(ProviderDocument, String),
    /// The discovery document is another issuer's.
    OtherIssuer(String),
    /// No sign-in is under way that has this state: it was used, is too old, or never was.
    UnknownState,
    /// Another browser began this sign-in.
    OtherBrowser,
    /// The answer came from another issuer than the one that was asked, or does not say from whom.
    MixedUp,
    /// The person, or the provider for them, said no.
    Denied(String),
    /// The browser brought no code.
    NoCode,
    /// The ID token does not hold.
    IdToken(IdTokenFault),
    /// Claims of the user info endpoint about somebody else.
    OtherSubject,
    /// The system gives no randomness.
    NoRandomness,
}

/// A document of the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderDocument {
    /// Description of itself.
    Discovery,
    /// Keys for signatures.
    Keys,
    /// The tokens for a code.
    Tokens,
    /// Claims about a person besides the ID token.
    UserInfo,
}

/// Why an ID token does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdTokenFault {
    /// Not three parts, or they cannot be read.
    Malformed,
    /// Not signed in a way that is taken: `none`, a shared secret, an unknown one.
    Algorithm(String),
    /// Extensions that must be understood, and are not.
    Critical,
    /// Signed by a key that the provider does not publish, or names none where there are several.
    UnknownKey,
    /// The signature is wrong.
    Signature,
    /// Of another issuer.
    Issuer,
    /// For somebody else.
    Audience,
    /// Of another sign-in.
    Nonce,
    /// Time is over.
    Expired,
    /// Time has not come.
    NotYet,
    /// No subject, or none that can be one.
    Subject,
}

/// Words of a provider, as far as they may stand in a log: one line, and not a long one.
pub(crate) fn told(text: &str) -> String {
    text.chars().filter(|it| !it.is_control()).take(TOLD_MAX).collect()
}

impl ProviderDocument {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Discovery => "/.well-known/openid-configuration",
            Self::Keys => "the keys",
            Self::Tokens => "the token endpoint",
            Self::UserInfo => "the user info endpoint",
        }
    }
}

impl fmt::Display for SignOnFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(what, ProviderUnreachable(why)) => {
                write!(f, "the provider gave no answer for {}: {why}", what.as_str())
            }
            Self::Status(what, status) => {
                write!(f, "the provider answered with status {status} for {}", what.as_str())
            }
            Self::Refused(what, word) => {
                write!(f, "the provider refused: {} said {word:?}", what.as_str())
            }
            Self::BadAnswer(what, why) => {
                write!(f, "the provider's answer for {} cannot be used: {why}", what.as_str())
            }
            Self::OtherIssuer(issuer) => {
                write!(f, "the provider calls itself {issuer:?}, and not as the settings do")
            }
            Self::UnknownState => f.write_str(
                "no sign-in of this state is under way: it was used already, or took too long",
            ),
            Self::OtherBrowser => f.write_str("another browser began this sign-in"),
            Self::MixedUp => f.write_str("the answer is not from the issuer that was asked"),
            Self::Denied(word) => write!(f, "the provider did not let the person in: {word:?}"),
            Self::NoCode => f.write_str("the browser brought no code"),
            Self::IdToken(why) => write!(f, "the ID token does not hold: {why}"),
            Self::OtherSubject => f.write_str("the user info is about another person"),
            Self::NoRandomness => f.write_str("the system gives no randomness"),
        }
    }
}

impl fmt::Display for IdTokenFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Algorithm(name) => {
                return write!(f, "its signature is made by {name:?}, which is not taken");
            }
            Self::Malformed => "it cannot be read",
            Self::Critical => "it has extensions that are not known here",
            Self::UnknownKey => "the provider publishes no key that it is signed by",
            Self::Signature => "its signature is wrong",
            Self::Issuer => "it is of another issuer",
            Self::Audience => "it is for another client",
            Self::Nonce => "it is of another sign-in",
            Self::Expired => "it has expired",
            Self::NotYet => "it is not valid yet; one of the two clocks may be wrong",
            Self::Subject => "it does not say who somebody is",
        })
    }
}

impl std::error::Error for SignOnFailure {}
impl std::error::Error for IdTokenFault {}

impl From<IdTokenFault> for SignOnFailure {
    fn from(fault: IdTokenFault) -> Self {
        Self::IdToken(fault)
    }
}

impl From<getrandom::Error> for SignOnFailure {
    fn from(_: getrandom::Error) -> Self {
        Self::NoRandomness
    }
}
