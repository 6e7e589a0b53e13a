//! Printing to people on standard output and error, who may go away before the end.
//!
//! Rust's own `println!` panics when nobody reads any more. The macros here stand in its place
//! throughout the program: a command whose reader has gone (`tidegate schema | head`) ends as
//! other programs do, by SIGPIPE and without a word; a server goes on without one.

use std::fmt::{self, Write as _};
use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Prints a line on standard output.
#[macro_export]
macro_rules! println {
    ($($text:tt)*) => {
        $crate::output::line($crate::output::OutputStream::Out, format_args!($($text)*))
    };
}

/// Prints on standard output.
#[macro_export]
macro_rules! print {
    ($($text:tt)*) => {
        $crate::output::text($crate::output::OutputStream::Out, format_args!($($text)*))
    };
}

/// Prints a line on standard error.
#[macro_export]
macro_rules! eprintln {
    ($($text:tt)*) => {
        $crate::output::line($crate::output::OutputStream::Error, format_args!($($text)*))
    };
}

/// Prints on standard error.
#[macro_export]
macro_rules! eprint {
    ($($text:tt)*) => {
        $crate::output::text($crate::output::OutputStream::Error, format_args!($($text)*))
    };
}

/// Destination of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputStream {
    /// Standard output.
    Out,
    /// Standard error.
    Error,
}

/// True in a program that serves: it outlives whoever started it.
static SERVES: AtomicBool = AtomicBool::new(false);

/// From now on it is no reason to end that nobody reads what is printed.
pub fn ignore_broken_pipe() {
    SERVES.store(true, Relaxed);
}

/// Prints a line.
pub fn line(stream: OutputStream, text: fmt::Arguments<'_>) {
    // In one piece, so that lines of several threads do not mix.
    let mut line = text.to_string();
    line.push('\n');
    bytes(stream, line.as_bytes());
}

/// Prints a text.
pub fn text(stream: OutputStream, text: fmt::Arguments<'_>) {
    let mut whole = String::new();
    // A text grows in memory and cannot fail.
    let _ = whole.write_fmt(text);
    bytes(stream, whole.as_bytes());
}

fn bytes(stream: OutputStream, bytes: &[u8]) {
    let written = match stream {
        OutputStream::Out => {
            let mut out = io::stdout().lock();
            out.write_all(bytes).and_then(|()| out.flush())
        }
        OutputStream::Error => io::stderr().lock().write_all(bytes),
    };
    if let Err(why) = written {
        failed(&why);
    }
}

/// Ends a command whose output nobody reads. What cannot be printed for another reason, as on a
/// full disk, is lost for a server, and a fault of a command.
pub fn failed(why: &io::Error) {
    if SERVES.load(Relaxed) {
        return;
    }
    if why.kind() == io::ErrorKind::BrokenPipe {
        end_by_broken_pipe();
    }
    // Nobody can be told if it was standard error.
    let _ = writeln!(io::stderr(), "tidegate: what was to be printed could not be: {why}");
    #[expect(clippy::disallowed_methods, reason = "nobody is left to hand a failure to")]
    std::process::exit(crate::ExitReason::Fault as i32)
}

/// Ends the process as the system ends those that do not catch SIGPIPE, so that shells see why.
fn end_by_broken_pipe() -> ! {
    #[allow(unsafe_code, reason = "the standard library ignores SIGPIPE and cannot change that")]
    // SAFETY: both take numbers alone. The default action of SIGPIPE is to end the process; no
    // thread relies on its being ignored any more.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        libc::raise(libc::SIGPIPE);
    }
    // Where the signal is blocked: the code that shells make of it.
    #[expect(clippy::disallowed_methods, reason = "the signal should have ended it")]
    std::process::exit(128 + libc::SIGPIPE)
}
