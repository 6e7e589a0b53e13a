//! Scripts that answer requests: programs by CGI/1.1 (RFC 3875), and `FastCGI` servers.
//!
//! Both are told of a request by the same variables and answer with the same head. Which path is a
//! script's is for the door to say. Called by the web door.

mod address;
mod answer;
mod call;
mod exchange;
mod failure;
mod names;
mod pace;
mod pool;
mod program;
mod records;
mod server;
mod sized;
mod socket;
mod stage;
mod stderr;
mod turns;

pub use self::address::{BadFastcgiAddress, FastcgiAddress};
pub use self::answer::ScriptHead;
pub use self::call::{CallSecurity, ClientTrust, ScriptCall};
pub use self::failure::ScriptFailure;
pub use self::names::NamedServer;
pub use self::program::{CgiOptions, CgiRunner};
pub use self::server::{FastcgiOptions, FastcgiServer};
pub use self::stage::ScriptAnswer;
