//! Reasons why lists are not fetched, or not in force once they are.
//!
//! They are shown as they are: in the log, by the API and by `tidegate lists update`. Returned by
//! the parts of [`super`].

use crate::unreadable::ListReadError;
use command_output::CommandFailure;
use fetch::FetchFailure;
use signer::SignerStartError;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use transport::tls::BadPem;

/// A list that was not fetched; the last good one stays.
#[derive(Clone, Debug)]
pub enum ListFetchError {
    /// The server's fault, or the text's.
    Fetch(FetchFailure),
    /// All of it did not come in this time.
    TooSlow {
        /// The time.
        limit: Duration,
    },
    /// The authorities that the list names cannot be used.
    Authorities {
        /// Their file.
        file: PathBuf,
        /// The reason.
        why: BadAuthorities,
    },
    /// One of the above, and the state folder could not take it down.
    NotNoted {
        /// The one above.
        why: Box<Self>,
        /// The fault of the state folder.
        noting: Arc<io::Error>,
    },
    /// One of the above, and taking it down was stopped by a fault.
    NotingBroke {
        /// The one above.
        why: Box<Self>,
    },
}

/// A file of authorities that cannot be used.
#[derive(Clone, Debug)]
pub enum BadAuthorities {
    /// The file cannot be read.
    Unreadable(Arc<ListReadError>),
    /// Certificates that cannot be used.
    Pem(Arc<BadPem>),
}

/// An order to fetch lists that is not carried out.
#[derive(Debug)]
pub enum UpdateRefusal {
    /// No list that has a URL, or none of this name.
    NoSuchList(Option<String>),
    /// As many wait already as may.
    TooManyOrders,
}

/// Reasons why lists that are there are not in force.
#[derive(Debug)]
pub enum ListsNotInForce {
    /// Not all could be read.
    Unreadable(CommandFailure),
    /// They are, but the signer goes on with those of before.
    SignerKeeps(SignerStartError),
    /// A fault stopped the compiler.
    CompilingBroke,
}

impl fmt::Display for ListFetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fetch(FetchFailure::ForNow(why) | FetchFailure::ForGood(why)) => f.write_str(why),
            Self::TooSlow { limit } => write!(f, "it did not come within {} s", limit.as_secs()),
            Self::Authorities { file, why } => {
                write!(f, "ca {}: ", file.display())?;
                match why {
                    BadAuthorities::Unreadable(why) => why.fmt(f),
                    BadAuthorities::Pem(why) => why.fmt(f),
                }
            }
            Self::NotNoted { why, noting } => {
                write!(f, "{why}; and that cannot be noted: {noting}")
            }
            Self::NotingBroke { why } => write!(f, "{why}; and noting that broke off"),
        }
    }
}

impl fmt::Display for UpdateRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchList(Some(name)) => write!(f, "no list with url is called {name:?}"),
            Self::NoSuchList(None) => f.write_str("no list has a url"),
            Self::TooManyOrders => {
                f.write_str("too many orders wait; lists are being fetched already")
            }
        }
    }
}

impl std::error::Error for UpdateRefusal {}

impl fmt::Display for ListsNotInForce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(failure) => f.write_str(failure.message.trim_end()),
            Self::SignerKeeps(why) => write!(f, "the signer keeps the lists of before: {why}"),
            Self::CompilingBroke => f.write_str("compiling lists broke off"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_that_cannot_be_noted_says_both() {
        let why = Box::new(ListFetchError::TooSlow { limit: Duration::from_mins(10) });
        let noting = Arc::new(io::Error::other("the disk is full"));
        let told = ListFetchError::NotNoted { why, noting }.to_string();
        assert_eq!(
            told,
            "it did not come within 600 s; and that cannot be noted: the disk is full"
        );
    }

    #[test]
    fn a_list_that_is_not_there_is_named() {
        let refusal = UpdateRefusal::NoSuchList(Some("ads".into()));
        assert_eq!(refusal.to_string(), "no list with url is called \"ads\"");
    }
}
