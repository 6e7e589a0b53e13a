//! What is wrong with a setting, and how to mend it.

use std::fmt;

/// One complaint about a configuration. Every part returns all of its own at once; the `config`
/// crate adds file, line and column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// Where in the section it stands, as keys and indices joined by dots: `upstreams.0.address`.
    pub path: String,
    /// What is wrong, in one sentence without a final stop.
    pub message: String,
    /// What to write instead, if that is known.
    pub remedy: Option<String>,
}

impl Complaint {
    /// A complaint about the setting at `path`.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into(), remedy: None }
    }

    /// The same, with what to write instead.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    /// The same complaint seen from one level up.
    #[must_use]
    pub fn under(mut self, parent: &str) -> Self {
        self.path =
            if self.path.is_empty() { parent.into() } else { format!("{parent}.{}", self.path) };
        self
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)?;
        match &self.remedy {
            Some(remedy) => write!(f, "; {remedy}"),
            None => Ok(()),
        }
    }
}
