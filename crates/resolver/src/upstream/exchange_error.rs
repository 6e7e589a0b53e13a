//! Reasons why an upstream gave no answer.

use crate::question::ResolveError;

/// Why an exchange gave no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExchangeError {
    Timeout,
    /// No connection, or one that broke.
    Unreachable,
    Tls,
    /// An answer to the question came, but nothing that can be used.
    BadAnswer,
}

impl From<ExchangeError> for ResolveError {
    fn from(why: ExchangeError) -> Self {
        match why {
            ExchangeError::Timeout => Self::Timeout,
            ExchangeError::Unreachable => Self::Unreachable,
            ExchangeError::Tls => Self::Tls,
            ExchangeError::BadAnswer => Self::BadAnswer,
        }
    }
}
