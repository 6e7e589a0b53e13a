//! Views of how a fleet does: revisions and statuses, read from the place of its bundles and
//! believed for their signatures alone, and what troubles its edges.
//!
//! `tidegate fleet status` says it of a fleet's folder, the admin API of the fleet that a machine
//! is part of. Nothing here is on the way of a request.

mod facts;
mod line;
mod place_reading;
mod signed;
mod trouble;
mod view;
mod words;

pub use facts::ViewSetup;
pub use signed::{ReadFault, SignedRevision, read_revision, read_status};
pub use trouble::{EdgeTrouble, troubles};
pub use view::FleetView;
