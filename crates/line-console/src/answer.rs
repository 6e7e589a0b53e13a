//! An answer of the console: lines, and how they end.

use std::fmt::Display;

/// The lines of an answer, as they are sent.
#[derive(Debug, Default)]
pub(crate) struct AnswerText(String);

impl AnswerText {
    /// A command that was done.
    pub(crate) fn ok() -> Self {
        Self("OK\r\n".into())
    }

    /// A command that was not, on one line.
    pub(crate) fn error(why: &dyn Display) -> Self {
        let mut answer = Self::default();
        let why = why.to_string();
        let lines: Vec<&str> = why.lines().map(str::trim).filter(|it| !it.is_empty()).collect();
        answer.line(&format_args!("ERROR: {}", lines.join("; ")));
        answer
    }

    /// One more line. What is no text for a terminal is left out.
    pub(crate) fn line(&mut self, text: &dyn Display) {
        self.0.extend(text.to_string().chars().filter(|it| !it.is_control() || *it == '\t'));
        self.0.push_str("\r\n");
    }

    /// The list ends.
    pub(crate) fn end(mut self) -> Self {
        self.0.push_str(".\r\n");
        self
    }

    /// The same with another behind it.
    pub(crate) fn then(mut self, other: &Self) -> Self {
        self.0.push_str(&other.0);
        self
    }

    pub(crate) fn into_string(self) -> String {
        self.0
    }
}
