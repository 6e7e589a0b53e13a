//! Redirectors: programs that say for each URL whether it is fetched, led elsewhere, or another one
//! in its place, over Squid's protocol for helpers or Polipo's.
//!
//! Programs run for as long as the settings stay; several share the questions. One that dies or
//! hangs is started again, and what it owed is answered by the settings. Called by the proxy door.

mod pool;
mod process;
mod protocol;
mod queue;
mod settings;

pub use self::pool::UrlRedirector;
pub use self::protocol::{HelperAnswer, HelperQuestion, read_answer};
pub use self::queue::RedirectorLog;
pub use self::settings::{FailureChoice, HelperProtocol, RedirectorSettings};
