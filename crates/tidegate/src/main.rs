//! Tidegate: five doors at the edge of a network, one policy, one ledger.
//!
//! The story: read the command line, do what it says, leave with an exit code that means something.
//! Everything else is in [`cli`] (one file a command) and [`app`] (the running program). This
//! binary talks to people on standard output and error ([`command_output`]); what does the work
//! does not.

#[macro_use]
extern crate command_output;

mod app;
mod cli;

use std::process::ExitCode;
use terminal_text::TextStream;

#[global_allocator]
static HEAP: hybrid_heap::HybridHeap = hybrid_heap::HybridHeap;

fn main() -> ExitCode {
    hybrid_heap::begin();
    app::memory::begin_small();
    app::panics::count();
    let cli = cli::read_command_line();
    match cli::run_command(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprint!("{}", terminal_text::complaints(TextStream::Error, &failure.message));
            ExitCode::from(failure.exit as u8)
        }
    }
}
