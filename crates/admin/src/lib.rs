//! The admin API, the metrics page and the dashboard.
//!
//! Nobody gets in without the token, under a foreign host name or, for a change, from a foreign
//! page; it names no door and reads no configuration: it acts through [`Control`], which the binary
//! implements. The binary serves it on a listener of its own, on loopback unless told otherwise.

mod control;
pub mod model;

pub use control::{Control, Explained, Question};
