//! A running Tidegate, as commands ask and change it.
//!
//! [`RunningTidegate`] finds the one that runs on a state folder, by the address and the token
//! there, and asks its admin API; [`ctl()`] is the command that talks to it. It reads no
//! configuration. Called by the binary.

#[macro_use]
extern crate command_output;

mod arguments;
mod ctl;
mod fleet_why;
mod requests;
mod running;
mod state_folder;
mod terminal;
mod top;
mod trace;

pub use arguments::{CtlCommand, EndOverrideArgs, OverrideArgs, PurgeArgs, PurgeWhat};
pub use ctl::ctl;
pub use fleet_why::{AnswerForm, print_fleet_why};
pub use requests::RequestsArgs;
pub use running::{AbsentReason, RunningTidegate, refused};
pub use state_folder::{ADDRESS_FILE, LOCK_FILE};
pub use top::TopArgs;
pub use trace::TraceArgs;
