//! Notice of a newer version: a small file that says which one is the latest is asked for once a
//! day, where the configuration names it.
//!
//! Nothing is downloaded but that file, and nothing of it is run: what it says is a version and a
//! page to read. Called by the binary, at its start and after each reload; asked by the admin API,
//! the metrics page and the console.

mod release;
mod settings;
mod watch;

pub use release::{NewerRelease, ReleaseFault, newer_than};
pub use settings::UpdateSettings;
pub use watch::ReleaseWatch;
