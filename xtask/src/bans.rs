//! Foreign crates that crates of ours must not name, and why.

/// Foreign crates and the reason against them.
pub(crate) struct Ban {
    pub(crate) crates: &'static [&'static str],
    pub(crate) because: &'static str,
}

pub(crate) const RUN_TIME: Ban = Ban {
    crates: &["tokio", "mio", "async-std", "smol", "futures", "hyper", "hyper-util"],
    because: "it must run without a run time, so that its tests need none and any thread may call it",
};
pub(crate) const SYSTEM: Ban = Ban {
    crates: &["libc", "rustix", "nix", "socket2", "polling"],
    because: "it must not touch the system: sockets and files belong to transport and the doors",
};
pub(crate) const CLOCK: Ban = Ban {
    crates: &["chrono", "time", "httpdate", "coarsetime"],
    because: "time is handed in as vocab::Now",
};
pub(crate) const CHANCE: Ban = Ban {
    crates: &["rand", "getrandom", "fastrand", "uuid"],
    because: "randomness is handed in as a seed",
};
pub(crate) const LOGGING: Ban = Ban {
    crates: &["tracing", "log", "env_logger", "tracing-subscriber"],
    because: "it returns reasons; whoever calls it records them",
};
pub(crate) const TLS: Ban = Ban {
    crates: &["rustls", "tokio-rustls", "rcgen", "webpki-roots", "rustls-pki-types", "aws-lc-rs"],
    because: "transport speaks TLS and the signer makes certificates: they alone name its library, \
              so that it can be exchanged in two places",
};
pub(crate) const HTTP: Ban = Ban {
    crates: &["http", "http-body", "http-body-util", "hyper", "hyper-util", "axum"],
    because: "it knows no HTTP: that is http-engine's",
};
pub(crate) const SERVERS: Ban = Ban {
    crates: &["hyper", "hyper-util", "axum"],
    because: "it keeps responses and fetches none: a door sends, the store says what and keeps it",
};
pub(crate) const SERDE: Ban = Ban {
    crates: &["serde", "serde_json", "schemars"],
    because: "words are not tied to a file format; settings lends them their written form",
};

pub(crate) const PURE: &[Ban] = &[RUN_TIME, SYSTEM, CLOCK, CHANCE, LOGGING, TLS, HTTP];
