//! Choices of one publication, and why there was none.

use crate::fleet_file::FleetFileFault;
use crate::source_files::SourceFault;
use fleet_bundle::{CanaryShare, EnvelopeFault, ManifestFault, SealFault};
use fleet_edge::PlaceFault;
use fleet_view::ReadFault;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Person, reason and order of one publication.
#[derive(Clone, Debug, Default)]
pub struct RevisionNote {
    /// Person.
    pub by: String,
    /// Reason.
    pub why: String,
    /// Seconds of Unix time.
    pub now: u64,
    /// Time from which no edge takes it over any more.
    pub not_after: Option<u64>,
    /// Edges that go first.
    pub rollout: RolloutChoice,
    /// Program that edges run.
    pub program: ProgramChoice,
}

/// Program of a revision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ProgramChoice {
    /// Same one as in the revision before.
    #[default]
    AsBefore,
    /// Program that each edge has installed.
    Installed,
    /// Release of which these files are builds.
    Builds(Vec<PathBuf>),
}

/// Order of a roll-out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RolloutChoice {
    /// All edges at once.
    #[default]
    All,
    /// These first.
    Canary(CanaryShare),
}

/// Reason why nothing was published.
#[derive(Debug)]
pub enum PublishFault {
    /// `fleet.yaml`.
    Fleet(FleetFileFault),
    /// The folder.
    Source(SourceFault),
    /// The place.
    Place(PlaceFault),
    /// Something published there that is not believed.
    Envelope(EnvelopeFault),
    /// The manifest.
    Manifest(ManifestFault),
    /// Secrets.
    Seal(SealFault),
    /// The key is none of the fleet's.
    ForeignKey,
    /// Nothing is published.
    Nothing,
    /// There is no such revision.
    NoRevision(u64),
    /// Somebody else has published this revision meanwhile.
    Overtaken(u64),
    /// The newest revision has no canary.
    NoCanary(u64),
    /// A file that a revision had is not at the place any more.
    Gone(String),
    /// A file that is no program for edges.
    Program(PathBuf, String),
    /// This machine.
    System(io::Error),
}

impl fmt::Display for PublishFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fleet(why) => why.fmt(f),
            Self::Source(why) => why.fmt(f),
            Self::Place(why) => write!(f, "where bundles lie: {why}"),
            Self::Envelope(why) => write!(f, "what is published is not believed: {why}"),
            Self::Manifest(why) => write!(f, "the revision would be wrong: {why}"),
            Self::Seal(why) => write!(f, "the secrets: {why}"),
            Self::ForeignKey => f.write_str("the key is none of those in fleet.yaml"),
            Self::Nothing => f.write_str("nothing is published yet"),
            Self::NoRevision(number) => write!(f, "there is no revision {number}"),
            Self::Overtaken(number) => {
                write!(f, "revision {number} was published meanwhile; look at it, then try again")
            }
            Self::NoCanary(number) => write!(f, "revision {number} is for all edges already"),
            Self::Gone(path) => write!(f, "{path} is not there any more, as it was published"),
            Self::Program(file, why) => write!(f, "{}: {why}", file.display()),
            Self::System(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for PublishFault {}

impl From<FleetFileFault> for PublishFault {
    fn from(why: FleetFileFault) -> Self {
        Self::Fleet(why)
    }
}

impl From<SourceFault> for PublishFault {
    fn from(why: SourceFault) -> Self {
        Self::Source(why)
    }
}

impl From<ReadFault> for PublishFault {
    fn from(why: ReadFault) -> Self {
        match why {
            ReadFault::Place(why) => Self::Place(why),
            ReadFault::Envelope(why) => Self::Envelope(why),
            ReadFault::Manifest(why) => Self::Manifest(why),
        }
    }
}

impl From<PlaceFault> for PublishFault {
    fn from(why: PlaceFault) -> Self {
        Self::Place(why)
    }
}

impl From<io::Error> for PublishFault {
    fn from(why: io::Error) -> Self {
        Self::System(why)
    }
}
