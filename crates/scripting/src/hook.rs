//! The hooks: functions that a script may define, and when each is called.

/// A place that names a script, and so the hooks that are called for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptPlace {
    /// The policy.
    Policy,
    /// The DNS door.
    Dns,
    /// The proxy.
    Proxy,
    /// A site of the web door.
    Site,
    /// A route of the gateway.
    Route,
}

/// A function that a script may define.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptHook {
    /// Each time the policy is asked about a request, once its lists have spoken.
    Decide,
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
    /// Once the doors are open, and again after each interval, on a thread of its own.
    Timer,
}

impl ScriptHook {
    /// All of them, in the order of a request.
    pub const ALL: [Self; 7] = [
        Self::Decide,
        Self::Query,
        Self::Request,
        Self::Upstream,
        Self::Response,
        Self::Log,
        Self::Timer,
    ];

    /// The name of the function.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Decide => "on_decide",
            Self::Query => "on_query",
            Self::Request => "on_request",
            Self::Upstream => "on_upstream",
            Self::Response => "on_response",
            Self::Log => "on_log",
            Self::Timer => "on_timer",
        }
    }
}

impl ScriptPlace {
    /// The hooks that are called for a script of this place.
    pub const fn hooks(self) -> &'static [ScriptHook] {
        match self {
            Self::Policy => &[ScriptHook::Decide, ScriptHook::Timer],
            Self::Dns => &[ScriptHook::Query, ScriptHook::Timer],
            Self::Proxy | Self::Site => {
                &[ScriptHook::Request, ScriptHook::Response, ScriptHook::Log, ScriptHook::Timer]
            }
            Self::Route => &[
                ScriptHook::Request,
                ScriptHook::Upstream,
                ScriptHook::Response,
                ScriptHook::Log,
                ScriptHook::Timer,
            ],
        }
    }

    /// Words for people.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Policy => "the policy",
            Self::Dns => "the DNS door",
            Self::Proxy => "the proxy",
            Self::Site => "a site",
            Self::Route => "a route",
        }
    }
}
