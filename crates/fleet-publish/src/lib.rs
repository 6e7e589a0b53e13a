//! Publishing for a fleet: its file, revisions that are made, signed and put where edges find them,
//! and edges that join (docs/adr/0069).
//!
//! The folder of a fleet is the truth, in Git or not: `fleet.yaml`, the configuration as
//! `tidegate.yaml` with whatever it names, `overlays/` and `secrets/`. It knows no running
//! Tidegate; whether a configuration is right is asked of whoever calls it.

mod fleet_file;
mod publication;
mod publisher;
mod source_files;

pub use fleet_file::{
    EdgeInvitation, EdgeRecord, FLEET_FILE, FleetFile, FleetFileFault, FleetFolder,
};
pub use publication::{ProgramChoice, PublishFault, RevisionNote, RolloutChoice};
pub use publisher::{FleetPublisher, PublishedRevision, RepublishedFiles};
pub use source_files::{SourceFault, SourceFiles};
