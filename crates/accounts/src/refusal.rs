//! Why a change of users or tokens was not made, and the bounds that it met.

use std::fmt;
use std::io;
use std::ops::RangeInclusive;

/// Users at most.
pub const USERS_MAX: usize = 256;
/// Tokens at most.
pub const TOKENS_MAX: usize = 256;
/// Characters of a password that is set here.
pub const PASSWORD_LENGTHS: RangeInclusive<usize> = 10..=256;
/// Bytes of a name.
pub(crate) const NAME_LENGTHS: RangeInclusive<usize> = 1..=64;

/// Why something was not done.
#[derive(Debug)]
pub enum AccountRefusal {
    /// Somebody has this name.
    NameTaken,
    /// Nobody has this name.
    UnknownUser,
    /// A name of other characters, or too long.
    BadName,
    /// A password of too few or too many characters.
    BadPassword,
    /// Users enough.
    TooMany,
    /// Nobody could administer any more, while there are users.
    LastAdministrator,
    /// No secret was shown, or another one meanwhile.
    NoOffer,
    /// A code that is not of the secret that was shown.
    WrongCode,
    /// No token has this identifier.
    UnknownToken,
    /// A token's name that is empty, too long, or has more than one line.
    BadTokenName,
    /// Tokens enough.
    TooManyTokens,
    /// The file cannot be written, or the system gives no randomness; all is as before.
    Failed(io::Error),
}

impl fmt::Display for AccountRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NameTaken => f.write_str("there is a user of this name"),
            Self::UnknownUser => f.write_str("there is no user of this name"),
            Self::BadName => write!(
                f,
                "a user's name has {} to {} letters, digits and . _ - @",
                NAME_LENGTHS.start(),
                NAME_LENGTHS.end()
            ),
            Self::BadPassword => write!(
                f,
                "a password has {} to {} characters",
                PASSWORD_LENGTHS.start(),
                PASSWORD_LENGTHS.end()
            ),
            Self::TooMany => write!(f, "there are {USERS_MAX} users, and no more can be added"),
            Self::LastAdministrator => {
                f.write_str("this is the last administrator among the users")
            }
            Self::NoOffer => f.write_str("no secret was shown that could be confirmed"),
            Self::WrongCode => f.write_str("this is not the code of the authenticator"),
            Self::UnknownToken => f.write_str("there is no such token"),
            Self::BadTokenName => f.write_str("a token's name has 1 to 64 characters of one line"),
            Self::TooManyTokens => {
                write!(f, "there are {TOKENS_MAX} tokens, and no more can be made")
            }
            Self::Failed(why) => write!(f, "it was not stored: {why}"),
        }
    }
}

impl std::error::Error for AccountRefusal {}
