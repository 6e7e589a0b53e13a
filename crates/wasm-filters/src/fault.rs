//! Faults of a filter: each ends the call, and the instance with it.

use scripting::{FailureCause, ScriptFailure};
use std::fmt;
use std::time::Duration;

/// A fault that the host found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FilterFault {
    /// A host function was given a place outside the memory.
    BadPointer { function: &'static str },
    /// There is no memory to read from, or none exported.
    NoMemory,
    /// The filter exports no function that gives it memory.
    NoAllocator,
    /// The filter's own allocator gave nothing.
    NoRoom,
    /// More time than it may take.
    TimeLimit(Duration),
    /// More memory than so many bytes.
    MemoryLimit(usize),
    /// An end as programs have it.
    Exit(i32),
    /// A request held back, and nothing would wake it.
    Paused,
    /// A function returned false as it started.
    Refused,
}

impl fmt::Display for FilterFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadPointer { function } => {
                write!(f, "it gave {function} a place outside its memory")
            }
            Self::NoMemory => f.write_str("it has no memory yet"),
            Self::NoAllocator => {
                f.write_str("it exports neither proxy_on_memory_allocate nor malloc")
            }
            Self::NoRoom => f.write_str("its own allocator gave no memory"),
            Self::TimeLimit(limit) => write!(f, "it ran for more than {limit:?}"),
            Self::MemoryLimit(bytes) => write!(f, "it wanted more than {bytes} bytes of memory"),
            Self::Exit(code) => write!(f, "it ended itself with {code}"),
            Self::Paused => f.write_str("it paused the request, and nothing would go on with it"),
            Self::Refused => f.write_str("it returned false: it does not want to start"),
        }
    }
}

impl std::error::Error for FilterFault {}

impl FilterFault {
    const fn cause(&self) -> FailureCause {
        match self {
            Self::TimeLimit(_) => FailureCause::TimeLimit,
            Self::MemoryLimit(_) => FailureCause::MemoryLimit,
            Self::BadPointer { .. }
            | Self::NoMemory
            | Self::NoAllocator
            | Self::NoRoom
            | Self::Exit(_)
            | Self::Paused
            | Self::Refused => FailureCause::Error,
        }
    }
}

/// The failure of a call of `function`.
pub(crate) fn failure(function: &str, why: &wasmtime::Error) -> ScriptFailure {
    let (cause, words) = match why.downcast_ref::<FilterFault>() {
        Some(fault) => (fault.cause(), fault.to_string()),
        None => (FailureCause::Error, why.root_cause().to_string()),
    };
    ScriptFailure { cause, message: format!("{function}: {words}") }
}
