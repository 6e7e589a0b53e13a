//! Commands that need no configuration and no running Tidegate: `get`, and `script test`.

#[macro_use]
extern crate command_output;

mod get;
mod script;

pub use get::{GetArgs, get};
pub use script::test as test_script;
