//! Why rows did not get to the database, and what that means for those that wait.

use std::error::Error;
use std::fmt;
use tokio_postgres::error::SqlState;

/// Reason for which something was not done at the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseFailure {
    /// Out of reach, or the connection was lost: nobody knows whether the last step was done.
    Lost(String),
    /// No answer in time.
    Silent,
    /// A no to whatever the rows are: a right is missing, its disk is full.
    Refused(String),
    /// A no to one of these rows.
    Unfit(String),
    /// A row is there already.
    Twice,
    /// Another process has sent rows under the name of this edge.
    Moved,
    /// Tables of a newer release.
    Newer(i32),
}

impl From<tokio_postgres::Error> for DatabaseFailure {
    fn from(error: tokio_postgres::Error) -> Self {
        let Some(database) = error.as_db_error() else { return Self::Lost(told(&error)) };
        let text = database.message().to_owned();
        match database.code() {
            code if *code == SqlState::UNIQUE_VIOLATION => Self::Twice,
            // Data exceptions, and rows that no partition takes.
            code if code.code().starts_with("22") || *code == SqlState::CHECK_VIOLATION => {
                Self::Unfit(text)
            }
            // Connections that are ended: shut down, crashed, starting up, too many.
            code if ["57P", "08", "53300"].iter().any(|it| code.code().starts_with(it)) => {
                Self::Lost(text)
            }
            _ => Self::Refused(text),
        }
    }
}

/// The error with its causes.
fn told(error: &tokio_postgres::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(why) = cause {
        text = format!("{text}: {why}");
        cause = why.source();
    }
    text
}

impl fmt::Display for DatabaseFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost(why) => write!(f, "the database is out of reach: {why}"),
            Self::Silent => f.write_str("the database does not answer"),
            Self::Refused(why) => write!(f, "the database refused: {why}"),
            Self::Unfit(why) => write!(f, "the database does not take a row: {why}"),
            Self::Twice => f.write_str("a row is in the database already"),
            Self::Moved => f.write_str(
                "another process sends rows under the name of this edge; give each machine a \
                 fleet.name of its own",
            ),
            Self::Newer(version) => write!(
                f,
                "the database has tables of version {version}, which a newer release has made; \
                 update this one"
            ),
        }
    }
}

impl Error for DatabaseFailure {}
