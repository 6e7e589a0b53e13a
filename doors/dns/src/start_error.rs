//! Why the door could not open, or take other settings.

use crate::certificate::CertificateError;
use std::fmt;
use std::io;
use transport::{BindError, CoreStuck};
use vocab::Complaint;

/// Why the door could not open.
#[derive(Debug)]
pub enum StartError {
    /// A setting is wrong; `Settings::check` says so beforehand.
    Settings(Vec<Complaint>),
    /// An address could not be had.
    Bind(BindError),
    /// No thread could be started.
    Thread(io::Error),
    /// A core takes no more work.
    Core(CoreStuck),
    /// Encrypted listeners have nothing to present.
    Certificate(CertificateError),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settings(complaints) => {
                for (index, complaint) in complaints.iter().enumerate() {
                    write!(f, "{}{complaint}", if index > 0 { "\n" } else { "" })?;
                }
                Ok(())
            }
            Self::Bind(why) => why.fmt(f),
            Self::Thread(why) => write!(f, "no thread for the DNS door could be started: {why}"),
            Self::Core(why) => why.fmt(f),
            Self::Certificate(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for StartError {}
