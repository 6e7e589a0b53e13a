//! An open destination: what the writer's thread writes to.

use crate::destination::LogDestination;
use crate::journal::JournalOutput;
use crate::sink::LineSeverity;
use crate::syslog::SyslogOutput;
use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// An open destination.
pub(crate) enum LogOutput {
    File(File, LastLine),
    Syslog(Box<SyslogOutput>),
    Journal(JournalOutput),
}

/// State of the last line of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LastLine {
    Whole,
    /// The disk was full in its midst.
    Torn,
}

impl LogDestination {
    /// Opens it. A syslog server is looked for when there is a line for it.
    pub(crate) fn open(&self) -> io::Result<LogOutput> {
        // Not Rust's own standard output: its lock would be held while a reader is slow.
        let whole = |file| LogOutput::File(file, LastLine::Whole);
        match self {
            Self::File(path) => open_file(path).map(whole),
            Self::Output => Ok(whole(io::stdout().as_fd().try_clone_to_owned()?.into())),
            Self::Errors => Ok(whole(io::stderr().as_fd().try_clone_to_owned()?.into())),
            Self::Syslog(stamp) => Ok(LogOutput::Syslog(Box::new(SyslogOutput::new(stamp)))),
            Self::Journal(place) => JournalOutput::open(place).map(LogOutput::Journal),
        }
    }
}

impl LogOutput {
    /// Writes `count` whole lines; returns how many were lost.
    pub(crate) fn write(&mut self, lines: &[u8], count: u64, severity: LineSeverity) -> u64 {
        match self {
            Self::File(file, last) => write_lines(file, last, lines, count),
            Self::Syslog(server) => server.write(lines, severity),
            Self::Journal(journal) => journal.write(lines),
        }
    }

    /// Opens the same again, if it can be.
    pub(crate) fn reopen(&mut self, destination: &LogDestination) {
        match (self, destination.open()) {
            (Self::Syslog(server), _) => server.reopen(),
            (open @ Self::File(..), Ok(fresh)) => *open = fresh,
            // The journal is looked for at each entry, and the old file is better than none.
            (Self::Journal(_), _) | (Self::File(..), Err(_)) => {}
        }
    }
}

/// Lines that end in these bytes.
fn left_in(lines: &[u8]) -> u64 {
    lines.split_inclusive(|byte| *byte == b'\n').count() as u64
}

/// Opens a file to append to. A named pipe that nobody reads is refused: to wait for a reader would
/// hold up the start.
fn open_file(path: &Path) -> io::Result<File> {
    let now = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().create(true).append(true).custom_flags(now).open(path)?;
    let flags = rustix::fs::fcntl_getfl(&file)?;
    rustix::fs::fcntl_setfl(&file, flags - OFlags::NONBLOCK)?;
    Ok(file)
}

fn write_lines(file: &mut File, last: &mut LastLine, mut lines: &[u8], count: u64) -> u64 {
    if *last == LastLine::Torn {
        if file.write_all(b"\n").is_err() {
            return count;
        }
        *last = LastLine::Whole;
    }
    while !lines.is_empty() {
        match file.write(lines) {
            Ok(written) if written > 0 => {
                if lines[written - 1] != b'\n' {
                    *last = LastLine::Torn;
                }
                lines = &lines[written..];
            }
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            Ok(_) | Err(_) => return left_in(lines),
        }
    }
    *last = LastLine::Whole;
    0
}
