//! The walls that the doors have in common, what stands below them, and what the program above
//! them may name.
//!
//! Part of [`crate::walls`].

use crate::bans::{CLOCK, HTTP, LOGGING, RUN_TIME, SERVERS, SYSTEM, TLS};
use crate::wall::{Purity, Wall, system};

/// Crates below the doors, which all of them may name.
pub(crate) const BELOW_DOORS: &[&str] = &[
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
    "telemetry",
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

/// The JSON of the control API.
pub(crate) const ADMIN_API: Wall = system(
    "admin-api",
    "crates/admin-api",
    &[
        "vocab",
        "policy",
        "request-rows",
        "bypass-radar",
        "page-visits",
        "first-run-api",
        "fleet-api",
        "pool-api",
    ],
    &[RUN_TIME, SYSTEM, CLOCK, TLS, HTTP, LOGGING, SERVERS],
);

/// Crates that the admin may name.
pub(crate) const BELOW_ADMIN: &[&str] = &[
    "admin-api",
    "vocab",
    "settings",
    "policy",
    "ledger",
    "api-examples",
    "table-files",
    "request-rows",
    "bypass-radar",
    "page-visits",
    "fleet-api",
    "durable-file",
    "passwords",
    "accounts",
    "single-sign-on",
    "rate-limit",
    "transport",
    "http-engine",
];

/// A running Tidegate as commands ask it.
pub(crate) const CONTROL_CLIENT: Wall = Wall {
    name: "control-client",
    folder: "crates/control-client",
    floor: 4,
    may: &[
        "vocab",
        "http-engine",
        "admin-api",
        "fleet-api",
        "request-rows",
        "admin",
        "command-output",
    ],
    never: &[TLS],
    purity: Purity::Free,
};

/// Families of the metrics page that tell of the program as a whole.
pub(crate) const METRICS_PAGE: Wall = Wall {
    name: "metrics-page",
    folder: "crates/metrics-page",
    floor: 4,
    may: &[
        "latency-histogram",
        "ledger",
        "fleet-rows",
        "telemetry",
        "transport",
        "resolver",
        "admin-api",
    ],
    never: &[TLS, HTTP],
    purity: Purity::Free,
};

/// The first run on a machine.
pub(crate) const FIRST_RUN: Wall = Wall {
    name: "first-run",
    folder: "crates/first-run",
    floor: 4,
    may: &[
        "vocab",
        "config",
        "config-history",
        "admin-api",
        "diagnosis",
        "transport",
        "door-pixel",
    ],
    never: &[RUN_TIME, TLS, HTTP],
    purity: Purity::Free,
};

/// Lists of a configuration.
pub(crate) const POLICY_LISTS: Wall = Wall {
    name: "policy-lists",
    folder: "crates/policy-lists",
    floor: 4,
    may: &[
        "vocab",
        "policy",
        "signer",
        "transport",
        "resolver",
        "origins",
        "fetch",
        "command-output",
        "door-dns",
        "config",
        "admin-api",
        "state-folder",
    ],
    never: &[TLS, HTTP],
    purity: Purity::Free,
};

/// Privileges at the start.
pub(crate) const START_PRIVILEGES: Wall = Wall {
    name: "start-privileges",
    folder: "crates/start-privileges",
    floor: 4,
    may: &[
        "vocab",
        "sandbox",
        "signer",
        "transport",
        "command-output",
        "door-dns",
        "door-web",
        "config",
        "fleet-edge",
        "admin",
    ],
    never: &[RUN_TIME, TLS, HTTP],
    purity: Purity::Free,
};

/// The five, which must not name one another.
pub(crate) const DOORS: &[&str] =
    &["door-dns", "door-pixel", "door-proxy", "door-web", "door-gateway"];

/// Crates that the program may name: it puts them together.
pub(crate) const PROGRAM: &[&str] = &[
    "vocab",
    "settings",
    "policy",
    "dns-wire",
    "pipeline",
    "mosdns-compat",
    "ledger",
    "telemetry",
    "single-sign-on",
    "durable-file",
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
    "config-history",
    "config-imports",
    "admin-api",
    "admin",
    "line-console",
    "command-output",
    "control-client",
    "metrics-page",
    "diagnosis",
    "first-run",
    "state-archive",
    "state-folder",
    "policy-lists",
    "replay",
    "device-names",
    "release-notice",
    "hybrid-heap",
    "fleet-api",
    "fleet-bundle",
    "fleet-commands",
    "plain-commands",
    "fleet-edge",
    "fleet-cache",
    "fleet-questions",
    "fleet-live",
    "fleet-rows",
    "fleet-view",
    "start-privileges",
    "terminal-text",
    "door-dns",
    "door-pixel",
    "door-proxy",
    "door-web",
    "door-gateway",
];

/// A door.
pub(crate) const fn door(name: &'static str, folder: &'static str) -> Wall {
    Wall { name, folder, floor: 3, may: BELOW_DOORS, never: &[TLS], purity: Purity::Free }
}

/// Commands that need no configuration.
pub(crate) const PLAIN_COMMANDS: Wall = Wall {
    name: "plain-commands",
    folder: "crates/plain-commands",
    floor: 4,
    may: &[
        "config",
        "command-output",
        "download",
        "scripting",
        "state-folder",
        "terminal-text",
        "transport",
    ],
    never: &[TLS, HTTP],
    purity: Purity::Free,
};
