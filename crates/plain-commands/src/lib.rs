//! Commands that need no configuration and no running Tidegate: `get`, `script test`, and the
//! options of `pixelserv`.

#[macro_use]
extern crate command_output;

mod get;
mod pixelserv;
mod script;

pub use get::{GetArgs, get};
pub use pixelserv::{PixelservFiles, prepare_pixelserv};
pub use script::test as test_script;
