//! The walls of the house: which crate may name which, and what it must never contain.
//!
//! ARCHITECTURE.md says it to people, [`WALLS`] says it here. Held against the manifests, and the
//! two against each other, by [`crate::fences`].

/// The crate that tests alone name.
pub(crate) const TEST_SUPPORT: &str = "test-support";

/// One crate and its walls.
pub(crate) struct Wall {
    pub(crate) name: &'static str,
    pub(crate) folder: &'static str,
    pub(crate) floor: u8,
    /// Ours that it may name.
    pub(crate) may: &'static [&'static str],
    /// Foreign crates that it must not name, and why.
    pub(crate) never: &'static [Ban],
    pub(crate) purity: Purity,
}

/// Whether sources are searched for the clock, sockets, files and threads of the standard library.
#[derive(PartialEq, Eq)]
pub(crate) enum Purity {
    Pure,
    Free,
}

/// Foreign crates and the reason against them.
pub(crate) struct Ban {
    pub(crate) crates: &'static [&'static str],
    pub(crate) because: &'static str,
}

const RUN_TIME: Ban = Ban {
    crates: &["tokio", "mio", "async-std", "smol", "futures", "hyper", "hyper-util"],
    because: "it must run without a run time, so that its tests need none and any thread may call it",
};
const SYSTEM: Ban = Ban {
    crates: &["libc", "rustix", "nix", "socket2", "polling"],
    because: "it must not touch the system: sockets and files belong to transport and the doors",
};
const CLOCK: Ban = Ban {
    crates: &["chrono", "time", "httpdate", "coarsetime"],
    because: "time is handed in as vocab::Now",
};
const CHANCE: Ban = Ban {
    crates: &["rand", "getrandom", "fastrand", "uuid"],
    because: "randomness is handed in as a seed",
};
const LOGGING: Ban = Ban {
    crates: &["tracing", "log", "env_logger", "tracing-subscriber"],
    because: "it returns reasons; whoever calls it records them",
};
const TLS: Ban = Ban {
    crates: &["rustls", "tokio-rustls", "rcgen", "webpki-roots", "rustls-pki-types", "aws-lc-rs"],
    because: "transport speaks TLS and the signer makes certificates: they alone name its library, \
              so that it can be exchanged in two places",
};
const HTTP: Ban = Ban {
    crates: &["http", "http-body", "http-body-util", "hyper", "hyper-util", "axum"],
    because: "it knows no HTTP: that is http-engine's",
};
const SERVERS: Ban = Ban {
    crates: &["hyper", "hyper-util", "axum"],
    because: "it keeps responses and fetches none: a door sends, the store says what and keeps it",
};
const SERDE: Ban = Ban {
    crates: &["serde", "serde_json", "schemars"],
    because: "words are not tied to a file format; settings lends them their written form",
};

const PURE: &[Ban] = &[RUN_TIME, SYSTEM, CLOCK, CHANCE, LOGGING, TLS, HTTP];
const BELOW_DOORS: &[&str] = &[
    "vocab",
    "settings",
    "policy",
    "dns-wire",
    "pipeline",
    "route-matching",
    "mosdns-compat",
    "ledger",
    "passwords",
    "rate-limit",
    "sandbox",
    "signer",
    "transport",
    "http-engine",
    "http-freshness",
    "http-semantics",
    "disk-store",
    "file-access",
    "webdav",
    "process-group",
    "image-palette",
    "upload-progress",
    "cgi",
    "redirector",
    "hinsightd-config",
    "store",
    "http-cache",
    "null-answers",
    "resolver",
    "origins",
    "fetch",
    "download",
    "balancer",
    "dns-effects",
    "address-selection",
    "routeros",
    "http-front",
    "scripting",
    "wasm-filters",
];
/// The five, which must not name one another.
pub(crate) const DOORS: &[&str] =
    &["door-dns", "door-pixel", "door-proxy", "door-web", "door-gateway"];

const fn door(name: &'static str, folder: &'static str) -> Wall {
    Wall { name, folder, floor: 3, may: BELOW_DOORS, never: &[TLS], purity: Purity::Free }
}

const fn pure(name: &'static str, folder: &'static str, may: &'static [&'static str]) -> Wall {
    Wall { name, folder, floor: 1, may, never: PURE, purity: Purity::Pure }
}

/// Every crate of ours.
pub(crate) const WALLS: &[Wall] = &[
    Wall {
        name: "vocab",
        folder: "crates/vocab",
        floor: 0,
        may: &[],
        never: &[SERDE, RUN_TIME, SYSTEM, CLOCK, CHANCE, LOGGING, TLS, HTTP],
        purity: Purity::Pure,
    },
    pure("settings", "crates/settings", &["vocab"]),
    pure("filter-patterns", "crates/filter-patterns", &[]),
    pure("policy", "crates/policy", &["vocab", "settings", "filter-patterns"]),
    pure("dns-wire", "crates/dns-wire", &["vocab"]),
    pure("pipeline", "crates/pipeline", &["vocab", "policy", "dns-wire"]),
    Wall {
        name: "route-matching",
        folder: "crates/route-matching",
        floor: 1,
        may: &["vocab", "policy"],
        never: &[RUN_TIME, SYSTEM, CLOCK, CHANCE, LOGGING, TLS],
        purity: Purity::Pure,
    },
    pure("mosdns-compat", "crates/mosdns-compat", &["vocab", "settings", "dns-wire", "pipeline"]),
    pure("perlbal-config", "crates/perlbal-config", &["vocab", "route-matching"]),
    Wall {
        name: "http-freshness",
        folder: "crates/http-freshness",
        floor: 1,
        may: &["vocab"],
        // It reads and writes fields, and formats a date that it is given: the words of HTTP and
        // of its dates, no message and no clock.
        never: &[RUN_TIME, SYSTEM, CHANCE, LOGGING, TLS, SERVERS],
        purity: Purity::Pure,
    },
    Wall {
        name: "http-semantics",
        folder: "crates/http-semantics",
        floor: 1,
        may: &["vocab"],
        // As above: fields and dates that are handed in.
        never: &[RUN_TIME, SYSTEM, CHANCE, LOGGING, TLS, SERVERS],
        purity: Purity::Pure,
    },
    Wall {
        name: "ledger",
        folder: "crates/ledger",
        floor: 2,
        may: &["vocab", "settings"],
        never: &[HTTP, TLS],
        purity: Purity::Free,
    },
    Wall {
        name: "passwords",
        folder: "crates/passwords",
        floor: 2,
        may: &["vocab"],
        never: &[HTTP, TLS],
        purity: Purity::Free,
    },
    pure("rate-limit", "crates/rate-limit", &[]),
    Wall {
        name: "sandbox",
        folder: "crates/sandbox",
        floor: 2,
        may: &[],
        never: &[RUN_TIME, HTTP, TLS],
        purity: Purity::Free,
    },
    Wall {
        name: "scripting",
        folder: "crates/scripting",
        floor: 2,
        may: &["vocab", "settings", "policy"],
        // The words of HTTP, no message: a door lends it the parts of its own.
        never: &[RUN_TIME, TLS, SERVERS],
        purity: Purity::Free,
    },
    Wall {
        name: "wasm-filters",
        folder: "crates/wasm-filters",
        floor: 2,
        may: &["vocab", "settings", "scripting"],
        // The words of HTTP, no message: a door lends it the parts of its own.
        never: &[RUN_TIME, TLS, SERVERS],
        purity: Purity::Free,
    },
    Wall {
        name: "signer",
        folder: "crates/signer",
        floor: 2,
        may: &["vocab", "settings", "rate-limit", "sandbox"],
        never: &[HTTP],
        purity: Purity::Free,
    },
    Wall {
        name: "transport",
        folder: "crates/transport",
        floor: 2,
        may: &["vocab", "settings", "ledger", "rate-limit", "signer"],
        never: &[HTTP],
        purity: Purity::Free,
    },
    Wall {
        name: "http-engine",
        folder: "crates/http-engine",
        floor: 2,
        may: &["vocab", "settings", "http-semantics"],
        never: &[TLS],
        purity: Purity::Free,
    },
    Wall {
        name: "disk-store",
        folder: "crates/disk-store",
        floor: 2,
        may: &["vocab"],
        never: &[RUN_TIME, HTTP, TLS, LOGGING, SERVERS],
        purity: Purity::Free,
    },
    Wall {
        name: "file-access",
        folder: "crates/file-access",
        floor: 2,
        may: &["vocab"],
        never: &[RUN_TIME, LOGGING, HTTP, TLS],
        purity: Purity::Free,
    },
    Wall {
        name: "webdav",
        folder: "crates/webdav",
        floor: 2,
        may: &["vocab", "file-access", "http-engine"],
        never: &[TLS, LOGGING, SERVERS],
        purity: Purity::Free,
    },
    Wall {
        name: "cgi",
        folder: "crates/cgi",
        floor: 2,
        may: &["vocab", "ledger", "http-engine", "process-group"],
        never: &[TLS, LOGGING, SERVERS],
        purity: Purity::Free,
    },
    Wall {
        name: "image-palette",
        folder: "crates/image-palette",
        floor: 0,
        may: &[],
        never: PURE,
        purity: Purity::Pure,
    },
    Wall {
        name: "upload-progress",
        folder: "crates/upload-progress",
        floor: 0,
        may: &[],
        // It counts bodies on their way, and knows no message.
        never: &[RUN_TIME, SYSTEM, CLOCK, CHANCE, LOGGING, TLS, SERVERS],
        purity: Purity::Pure,
    },
    Wall {
        name: "process-group",
        folder: "crates/process-group",
        floor: 2,
        may: &[],
        never: &[TLS, HTTP, LOGGING],
        purity: Purity::Free,
    },
    Wall {
        name: "redirector",
        folder: "crates/redirector",
        floor: 2,
        may: &["vocab", "settings", "process-group"],
        never: &[TLS, LOGGING, SERVERS],
        purity: Purity::Free,
    },
    Wall {
        name: "hinsightd-config",
        folder: "crates/hinsightd-config",
        floor: 2,
        may: &[],
        never: &[TLS, HTTP, LOGGING, SERVERS],
        purity: Purity::Free,
    },
    Wall {
        name: "store",
        folder: "crates/store",
        floor: 2,
        may: &["vocab", "settings", "http-freshness", "disk-store"],
        never: &[TLS, LOGGING, SERVERS],
        purity: Purity::Free,
    },
    Wall {
        name: "null-answers",
        folder: "crates/null-answers",
        floor: 2,
        may: &["vocab", "policy", "http-engine"],
        never: &[RUN_TIME, TLS],
        purity: Purity::Free,
    },
    Wall {
        name: "resolver",
        folder: "crates/resolver",
        floor: 2,
        may: &["vocab", "settings", "dns-wire", "transport", "http-engine"],
        never: &[TLS],
        purity: Purity::Free,
    },
    Wall {
        name: "origins",
        folder: "crates/origins",
        floor: 2,
        may: &["vocab", "settings", "transport", "http-engine", "resolver"],
        never: &[TLS],
        purity: Purity::Free,
    },
    Wall {
        name: "fetch",
        folder: "crates/fetch",
        floor: 2,
        may: &["vocab", "transport", "http-engine", "origins", "resolver"],
        never: &[TLS],
        purity: Purity::Free,
    },
    Wall {
        name: "download",
        folder: "crates/download",
        floor: 2,
        may: &["transport", "http-engine"],
        never: &[TLS],
        purity: Purity::Free,
    },
    Wall {
        name: "balancer",
        folder: "crates/balancer",
        floor: 2,
        may: &["vocab", "settings", "transport", "http-engine", "origins"],
        never: &[TLS],
        purity: Purity::Free,
    },
    Wall {
        name: "routeros",
        folder: "crates/routeros",
        floor: 2,
        may: &[],
        never: &[TLS, HTTP, SYSTEM],
        purity: Purity::Free,
    },
    Wall {
        name: "address-selection",
        folder: "crates/address-selection",
        floor: 2,
        may: &["vocab", "dns-wire", "transport", "resolver"],
        never: &[TLS, HTTP],
        purity: Purity::Free,
    },
    Wall {
        name: "dns-effects",
        folder: "crates/dns-effects",
        floor: 2,
        may: &[
            "vocab",
            "settings",
            "dns-wire",
            "transport",
            "resolver",
            "origins",
            "fetch",
            "process-group",
            "routeros",
        ],
        never: &[TLS],
        purity: Purity::Free,
    },
    Wall {
        name: "http-cache",
        folder: "crates/http-cache",
        floor: 2,
        may: &["vocab", "settings", "http-engine", "http-freshness", "disk-store", "store"],
        never: &[TLS],
        purity: Purity::Free,
    },
    Wall {
        name: "http-front",
        folder: "crates/http-front",
        floor: 2,
        may: &[
            "vocab",
            "settings",
            "ledger",
            "rate-limit",
            "signer",
            "transport",
            "http-engine",
            "scripting",
            "wasm-filters",
        ],
        never: &[TLS],
        purity: Purity::Free,
    },
    door("door-dns", "doors/dns"),
    door("door-pixel", "doors/pixel"),
    door("door-proxy", "doors/proxy"),
    door("door-web", "doors/web"),
    door("door-gateway", "doors/gateway"),
    Wall {
        name: "config",
        folder: "crates/config",
        floor: 4,
        may: &[
            "vocab",
            "settings",
            "policy",
            "hinsightd-config",
            "dns-wire",
            "pipeline",
            "mosdns-compat",
            "perlbal-config",
            "ledger",
            "signer",
            "transport",
            "http-engine",
            "store",
            "http-cache",
            "resolver",
            "origins",
            "fetch",
            "admin",
            "door-dns",
            "door-pixel",
            "door-proxy",
            "door-web",
            "door-gateway",
        ],
        never: &[RUN_TIME, SYSTEM, TLS],
        purity: Purity::Free,
    },
    Wall {
        name: "admin",
        folder: "crates/admin",
        floor: 4,
        may: BELOW_DOORS,
        never: &[TLS],
        purity: Purity::Free,
    },
    Wall {
        name: "line-console",
        folder: "crates/line-console",
        floor: 4,
        may: &["vocab", "ledger", "transport", "admin"],
        never: &[TLS, HTTP],
        purity: Purity::Free,
    },
    Wall {
        name: "tidegate",
        folder: "crates/tidegate",
        floor: 5,
        may: &[
            "vocab",
            "settings",
            "policy",
            "dns-wire",
            "pipeline",
            "mosdns-compat",
            "ledger",
            "sandbox",
            "signer",
            "transport",
            "http-engine",
            "file-access",
            "resolver",
            "origins",
            "fetch",
            "download",
            "http-front",
            "scripting",
            "wasm-filters",
            "config",
            "admin",
            "line-console",
            "door-dns",
            "door-pixel",
            "door-proxy",
            "door-web",
            "door-gateway",
        ],
        never: &[TLS],
        purity: Purity::Free,
    },
    Wall {
        name: TEST_SUPPORT,
        folder: "crates/test-support",
        floor: 6,
        may: &["vocab", "policy", "ledger"],
        never: &[TLS],
        purity: Purity::Free,
    },
];
