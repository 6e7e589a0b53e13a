//! Questions of one machine of a fleet to all of them, and their answers: why a name is let through
//! or blocked there, and the newest rows of their request logs.
//!
//! They go through the fleet's Redis, sealed with keys of the fleet's secret. Nobody is believed
//! who has not got it, and an old question is no new one. Nothing here is on the way of a request:
//! the asker's thread waits, and a thread of its own answers. Joined by the binary.

mod answer;
mod answerer;
mod desk;
mod question;
mod question_seal;
mod recent_questions;

pub use answerer::AnswerSource;
pub use desk::{DeskParts, FleetDesk};
