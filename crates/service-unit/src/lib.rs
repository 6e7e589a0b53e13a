//! The units of systemd for those who have no package: installed, removed, looked at.
//!
//! The units are those of the package, with other paths of the binary and the configuration.
//! Nothing is overwritten that was not written here, and no binary is made a service that others
//! than root may change. Called by `tidegate service`.

mod error;
mod place;
mod status;
mod systemctl;
mod units;

pub use error::ServiceError;
pub use place::{ServicePlace, ServiceWish};
pub use status::ServiceStatus;
