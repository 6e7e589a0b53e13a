//! The hooks: functions that a script may define, and when each is called.

/// A place that names a script, and so the hooks that are called for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptPlace {
    /// The DNS door.
    Dns,
    /// A site of the web door.
    Site,
    /// A route of the gateway.
    Route,
}

/// A function that a script may define.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptHook {
    /// Once a DNS question was let in, after local records and before the policy.
    Query,
    /// Once a request was let through by its route's guards, before the cache is asked.
    Request,
    /// Each time before a server of the pool is asked; not for what the cache has.
    Upstream,
    /// Before an answer goes to the client.
    Response,
    /// Once a request is over: after the last byte of its answer, or when its client has gone.
    Log,
}

impl ScriptHook {
    /// All of them, in the order of a request.
    pub const ALL: [Self; 5] =
        [Self::Query, Self::Request, Self::Upstream, Self::Response, Self::Log];

    /// The name of the function.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Query => "on_query",
            Self::Request => "on_request",
            Self::Upstream => "on_upstream",
            Self::Response => "on_response",
            Self::Log => "on_log",
        }
    }
}

impl ScriptPlace {
    /// The hooks that are called for a script of this place.
    pub const fn hooks(self) -> &'static [ScriptHook] {
        match self {
            Self::Dns => &[ScriptHook::Query],
            Self::Site => &[ScriptHook::Request, ScriptHook::Response, ScriptHook::Log],
            Self::Route => {
                &[ScriptHook::Request, ScriptHook::Upstream, ScriptHook::Response, ScriptHook::Log]
            }
        }
    }

    /// Words for people.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Dns => "the DNS door",
            Self::Site => "a site",
            Self::Route => "a route",
        }
    }
}
