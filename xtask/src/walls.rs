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
    "log-sink",
    "access-log",
    "query-log",
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
    "command-pages",
    "service-unit",
    "durable-file",
    "image-palette",
    "upload-progress",
    "latency-histogram",
    "cgi",
    "redirector",
    "hinsightd-config",
    "yaml-text",
    "store",
    "http-cache",
    "null-answers",
    "resolver",
    "origins",
    "fetch",
    "download",
    "command-output",
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

/// A crate of floor 2 that talks to the system.
const fn system(
    name: &'static str,
    folder: &'static str,
    may: &'static [&'static str],
    never: &'static [Ban],
) -> Wall {
    Wall { name, folder, floor: 2, may, never, purity: Purity::Free }
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
    pure("yaml-text", "crates/yaml-text", &[]),
    pure("import-report", "crates/import-report", &["yaml-text"]),
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
    pure("perlbal-config", "crates/perlbal-config", &["vocab", "route-matching", "yaml-text"]),
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
    system("ledger", "crates/ledger", &["vocab", "settings"], &[HTTP, TLS]),
    system("log-sink", "crates/log-sink", &["vocab"], &[RUN_TIME, HTTP, TLS]),
    system(
        "access-log",
        "crates/access-log",
        &["vocab", "ledger", "log-sink"],
        &[RUN_TIME, SYSTEM, TLS, SERVERS],
    ),
    system(
        "query-log",
        "crates/query-log",
        &["vocab", "ledger", "dns-wire", "log-sink"],
        &[RUN_TIME, SYSTEM, HTTP, TLS],
    ),
    system(
        "program-log",
        "crates/program-log",
        &["vocab", "settings", "log-sink"],
        &[RUN_TIME, HTTP, TLS],
    ),
    system("state-archive", "crates/state-archive", &["ledger"], &[RUN_TIME, HTTP, TLS, LOGGING]),
    system("passwords", "crates/passwords", &["vocab"], &[HTTP, TLS]),
    pure("rate-limit", "crates/rate-limit", &[]),
    system("sandbox", "crates/sandbox", &[], &[RUN_TIME, HTTP, TLS]),
    system(
        "scripting",
        "crates/scripting",
        &["vocab", "settings", "policy"],
        &[RUN_TIME, TLS, SERVERS],
    ),
    system(
        "wasm-filters",
        "crates/wasm-filters",
        &["vocab", "settings", "scripting"],
        &[RUN_TIME, TLS, SERVERS],
    ),
    system(
        "signer",
        "crates/signer",
        &["vocab", "settings", "rate-limit", "sandbox", "durable-file"],
        &[HTTP],
    ),
    system(
        "transport",
        "crates/transport",
        &["vocab", "settings", "ledger", "rate-limit", "signer"],
        &[HTTP],
    ),
    system("http-engine", "crates/http-engine", &["vocab", "settings", "http-semantics"], &[TLS]),
    system(
        "disk-store",
        "crates/disk-store",
        &["vocab", "durable-file"],
        &[RUN_TIME, HTTP, TLS, LOGGING, SERVERS],
    ),
    system("file-access", "crates/file-access", &["vocab"], &[RUN_TIME, LOGGING, HTTP, TLS]),
    system(
        "webdav",
        "crates/webdav",
        &["vocab", "file-access", "http-engine"],
        &[TLS, LOGGING, SERVERS],
    ),
    system(
        "cgi",
        "crates/cgi",
        &["vocab", "ledger", "http-engine", "process-group"],
        &[TLS, LOGGING, SERVERS],
    ),
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
    system("hot-restart", "crates/hot-restart", &[], &[TLS, HTTP, LOGGING, RUN_TIME]),
    system("command-output", "crates/command-output", &[], &[RUN_TIME, HTTP, TLS, LOGGING]),
    Wall {
        name: "latency-histogram",
        folder: "crates/latency-histogram",
        floor: 0,
        may: &[],
        never: PURE,
        purity: Purity::Pure,
    },
    system("command-pages", "crates/command-pages", &[], &[RUN_TIME, TLS, HTTP, LOGGING, SYSTEM]),
    system("service-unit", "crates/service-unit", &["sandbox"], &[RUN_TIME, TLS, HTTP, LOGGING]),
    system("process-group", "crates/process-group", &[], &[TLS, HTTP, LOGGING]),
    system("durable-file", "crates/durable-file", &[], &[RUN_TIME, TLS, HTTP, LOGGING]),
    system(
        "redirector",
        "crates/redirector",
        &["vocab", "settings", "process-group"],
        &[TLS, LOGGING, SERVERS],
    ),
    system("hinsightd-config", "crates/hinsightd-config", &[], &[TLS, HTTP, LOGGING, SERVERS]),
    system(
        "store",
        "crates/store",
        &["vocab", "settings", "http-freshness", "disk-store"],
        &[TLS, LOGGING, SERVERS],
    ),
    system(
        "null-answers",
        "crates/null-answers",
        &["vocab", "policy", "http-engine"],
        &[RUN_TIME, TLS],
    ),
    system(
        "resolver",
        "crates/resolver",
        &[
            "vocab",
            "settings",
            "latency-histogram",
            "dns-wire",
            "transport",
            "http-engine",
            "durable-file",
        ],
        &[TLS],
    ),
    system(
        "origins",
        "crates/origins",
        &["vocab", "settings", "transport", "http-engine", "resolver"],
        &[TLS],
    ),
    system(
        "fetch",
        "crates/fetch",
        &["vocab", "transport", "http-engine", "origins", "resolver"],
        &[TLS],
    ),
    system(
        "terminal-text",
        "crates/terminal-text",
        &["download"],
        &[RUN_TIME, SYSTEM, LOGGING, TLS, HTTP],
    ),
    system("download", "crates/download", &["transport", "http-engine"], &[TLS]),
    system(
        "balancer",
        "crates/balancer",
        &["vocab", "settings", "latency-histogram", "transport", "http-engine", "origins"],
        &[TLS],
    ),
    system("routeros", "crates/routeros", &[], &[TLS, HTTP, SYSTEM]),
    system(
        "address-selection",
        "crates/address-selection",
        &["vocab", "dns-wire", "transport", "resolver"],
        &[TLS, HTTP],
    ),
    system(
        "dns-effects",
        "crates/dns-effects",
        &[
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
        &[TLS],
    ),
    system(
        "http-cache",
        "crates/http-cache",
        &["vocab", "settings", "http-engine", "http-freshness", "disk-store", "store"],
        &[TLS],
    ),
    system(
        "http-front",
        "crates/http-front",
        &[
            "vocab",
            "settings",
            "ledger",
            "access-log",
            "rate-limit",
            "signer",
            "transport",
            "http-engine",
            "scripting",
            "wasm-filters",
        ],
        &[TLS],
    ),
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
            "yaml-text",
            "dns-wire",
            "pipeline",
            "mosdns-compat",
            "perlbal-config",
            "ledger",
            "program-log",
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
        name: "config-imports",
        folder: "crates/config-imports",
        floor: 4,
        may: &["config", "import-report"],
        never: &[RUN_TIME, TLS, HTTP],
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
        name: "control-client",
        folder: "crates/control-client",
        floor: 4,
        may: &["vocab", "http-engine", "admin", "command-output"],
        never: &[TLS],
        purity: Purity::Free,
    },
    Wall {
        name: "diagnosis",
        folder: "crates/diagnosis",
        floor: 4,
        may: &["vocab", "config", "resolver", "transport", "http-engine", "sandbox"],
        never: &[TLS],
        purity: Purity::Free,
    },
    Wall {
        name: "metrics-page",
        folder: "crates/metrics-page",
        floor: 4,
        may: &["latency-histogram", "ledger", "transport", "resolver", "admin"],
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
            "hot-restart",
            "log-sink",
            "program-log",
            "sandbox",
            "signer",
            "transport",
            "http-engine",
            "file-access",
            "resolver",
            "origins",
            "fetch",
            "command-pages",
            "service-unit",
            "download",
            "http-front",
            "scripting",
            "wasm-filters",
            "config",
            "config-imports",
            "admin",
            "line-console",
            "command-output",
            "control-client",
            "metrics-page",
            "diagnosis",
            "state-archive",
            "terminal-text",
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
