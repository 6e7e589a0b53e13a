//! One connection: who we are, then commands and their answers, one after the other.
//!
//! A failure of the connection, or an answer that cannot be read, ends it; a trap does not: the
//! router has understood, and said no. Called by whoever has dialled.

use super::sentence::{BadSentence, SentenceReader, write_sentence};
use std::collections::HashMap;
use std::{fmt, io};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Rows of one answer, at most.
const ROWS_MAX: usize = 65_536;
/// Bytes of one answer, at most.
const ANSWER_BYTES_MAX: usize = 32 << 20;
/// Characters of a reason that are kept.
const REASON_CHARS_MAX: usize = 200;

/// Why a command was not carried out.
#[derive(Debug)]
pub enum RouterFailure {
    /// The router said no, for this reason; the connection stays.
    Trap(String),
    /// The router ended the connection, for this reason.
    Fatal(String),
    /// The answer cannot be read.
    Sentence(BadSentence),
    /// The answer has more rows or bytes than are taken.
    TooLong,
    /// A sentence of another kind came than is known.
    Unknown,
    /// RouterOS before 6.43, which wants another login.
    OldLogin,
    /// The connection failed.
    Io(io::Error),
}

impl RouterFailure {
    /// True if the connection can be used after it.
    pub const fn leaves_connection(&self) -> bool {
        matches!(self, Self::Trap(_))
    }
}

impl fmt::Display for RouterFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Trap(reason) => write!(f, "the router refused: {reason}"),
            Self::Fatal(reason) => write!(f, "the router closed the connection: {reason}"),
            Self::Sentence(why) => write!(f, "the router's answer cannot be read: {why}"),
            Self::TooLong => f.write_str("the router's answer is too long"),
            Self::Unknown => f.write_str("the router's answer is of no known kind"),
            Self::OldLogin => f.write_str("RouterOS before 6.43 has another login"),
            Self::Io(why) => write!(f, "the connection to the router failed: {why}"),
        }
    }
}

impl std::error::Error for RouterFailure {}

impl From<io::Error> for RouterFailure {
    fn from(why: io::Error) -> Self {
        Self::Io(why)
    }
}

impl From<BadSentence> for RouterFailure {
    fn from(why: BadSentence) -> Self {
        Self::Sentence(why)
    }
}

/// One row of an answer: values by their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouterRow(HashMap<String, String>);

impl RouterRow {
    fn of(words: &[String]) -> Self {
        let pairs = words.iter().filter_map(|word| word.strip_prefix('=')?.split_once('='));
        Self(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    /// The value called `name`.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

/// A connection that is logged in.
#[derive(Debug)]
pub struct RouterConnection<S> {
    stream: S,
    reader: SentenceReader,
}

impl<S: AsyncRead + AsyncWrite + Unpin> RouterConnection<S> {
    /// Logs in over `stream`.
    pub async fn log_in(stream: S, name: &str, password: &str) -> Result<Self, RouterFailure> {
        let mut connection = Self { stream, reader: SentenceReader::default() };
        let (name, password) = (format!("=name={name}"), format!("=password={password}"));
        let (_, end) = connection.exchange(&["/login", &name, &password]).await?;
        // A challenge is what older ones answer, whatever the password.
        if end.get("ret").is_some() {
            return Err(RouterFailure::OldLogin);
        }
        Ok(connection)
    }

    /// Has a command carried out: its name, then `=name=value`, then `?query` words. Returns the
    /// rows of the answer.
    pub async fn command(&mut self, words: &[&str]) -> Result<Vec<RouterRow>, RouterFailure> {
        self.exchange(words).await.map(|(rows, _)| rows)
    }

    /// The same, with the number of what was added.
    pub async fn command_with_number(
        &mut self,
        words: &[&str],
    ) -> Result<(Vec<RouterRow>, Option<String>), RouterFailure> {
        let (rows, end) = self.exchange(words).await?;
        Ok((rows, end.get("ret").map(str::to_owned)))
    }

    async fn exchange(
        &mut self,
        words: &[&str],
    ) -> Result<(Vec<RouterRow>, RouterRow), RouterFailure> {
        let mut sentence = Vec::new();
        write_sentence(words.iter().copied(), &mut sentence);
        self.stream.write_all(&sentence).await?;
        self.stream.flush().await?;
        let (mut rows, mut trap) = (Vec::new(), None);
        let mut left = ANSWER_BYTES_MAX;
        loop {
            let words = self.sentence(&mut left).await?;
            let row = RouterRow::of(&words);
            match words.first().map(String::as_str) {
                Some("!re") if rows.len() == ROWS_MAX => return Err(RouterFailure::TooLong),
                Some("!re") => rows.push(row),
                // A trap is followed by the end too.
                Some("!trap") => {
                    let reason = row.get("message").unwrap_or("without a reason");
                    trap.get_or_insert_with(|| shortened(reason));
                }
                Some("!empty") => {}
                Some("!done") => {
                    return match trap {
                        Some(reason) => Err(RouterFailure::Trap(reason)),
                        None => Ok((rows, row)),
                    };
                }
                Some("!fatal") => {
                    let reason = words.get(1).map_or("without a reason", String::as_str);
                    return Err(RouterFailure::Fatal(shortened(reason)));
                }
                Some(_) | None => return Err(RouterFailure::Unknown),
            }
        }
    }

    async fn sentence(&mut self, left: &mut usize) -> Result<Vec<String>, RouterFailure> {
        let mut bytes = [0; 4096];
        loop {
            if let Some(words) = self.reader.next_sentence()? {
                return Ok(words);
            }
            let count = self.stream.read(&mut bytes).await?;
            if count == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
            *left = left.checked_sub(count).ok_or(RouterFailure::TooLong)?;
            self.reader.push(&bytes[..count]);
        }
    }
}

/// A reason in few characters, none of which could steer a terminal.
fn shortened(reason: &str) -> String {
    reason.chars().take(REASON_CHARS_MAX).map(|it| if it.is_control() { ' ' } else { it }).collect()
}
