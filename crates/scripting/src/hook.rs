//! The hooks: functions that a script may define, and when each is called.

/// A function that a script may define.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptHook {
    /// Once a request was let through by its route's guards, before the cache is asked.
    Request,
    /// Each time before a server of the pool is asked; not for what the cache has.
    Upstream,
    /// Before an answer goes to the client.
    Response,
}

impl ScriptHook {
    /// All of them, in the order of a request.
    pub const ALL: [Self; 3] = [Self::Request, Self::Upstream, Self::Response];

    /// The name of the function.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Request => "on_request",
            Self::Upstream => "on_upstream",
            Self::Response => "on_response",
        }
    }
}
