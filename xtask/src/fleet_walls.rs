//! The walls of the crates of a fleet.

use crate::bans::{HTTP, LOGGING, RUN_TIME, TLS};
use crate::wall::{Purity, Wall, system};

/// Signatures and sealing are the TLS library's own: there is no second one.
pub(crate) const FLEET_BUNDLE: Wall =
    system("fleet-bundle", "crates/fleet-bundle", &["vocab"], &[RUN_TIME, HTTP, LOGGING]);

/// Redis' client brings its protocol with it; TLS is `transport`'s, and sealing its library's own.
pub(crate) const FLEET_LIVE: Wall = system(
    "fleet-live",
    "crates/fleet-live",
    &["vocab", "settings", "back-off", "rate-limit", "durable-file", "transport"],
    &[HTTP],
);

/// Sealing is its library's own.
pub(crate) const FLEET_CACHE: Wall = system(
    "fleet-cache",
    "crates/fleet-cache",
    &["vocab", "transport", "resolver", "http-freshness", "http-cache", "fleet-live"],
    &[LOGGING],
);

/// Sealing is its library's own.
pub(crate) const FLEET_QUESTIONS: Wall = Wall {
    name: "fleet-questions",
    folder: "crates/fleet-questions",
    floor: 4,
    may: &[
        "vocab",
        "ledger",
        "transport",
        "admin-api",
        "fleet-api",
        "fleet-live",
        "request-rows",
        "admin",
    ],
    never: &[RUN_TIME, HTTP],
    purity: Purity::Free,
};

/// PostgreSQL's client brings its connections with it; ClickHouse is asked by our own.
pub(crate) const FLEET_ROWS: Wall = system(
    "fleet-rows",
    "crates/fleet-rows",
    &["vocab", "settings", "back-off", "ledger", "transport", "fetch", "origins"],
    &[TLS],
);

pub(crate) const FLEET_EDGE: Wall = system(
    "fleet-edge",
    "crates/fleet-edge",
    &[
        "vocab",
        "settings",
        "durable-file",
        "transport",
        "origins",
        "fetch",
        "fleet-bundle",
        "fleet-live",
        "fleet-rows",
    ],
    &[TLS],
);

pub(crate) const FLEET_VIEW: Wall = system(
    "fleet-view",
    "crates/fleet-view",
    &["vocab", "fleet-api", "fleet-bundle", "fleet-edge", "origins"],
    &[RUN_TIME, TLS, HTTP, LOGGING],
);

pub(crate) const FLEET_PUBLISH: Wall = Wall {
    name: "fleet-publish",
    folder: "crates/fleet-publish",
    floor: 4,
    may: &["vocab", "config", "durable-file", "fleet-bundle", "fleet-edge", "fleet-view"],
    never: &[RUN_TIME, TLS, HTTP],
    purity: Purity::Free,
};

pub(crate) const FLEET_COMMANDS: Wall = Wall {
    name: "fleet-commands",
    folder: "crates/fleet-commands",
    floor: 4,
    may: &[
        "vocab",
        "config",
        "command-output",
        "durable-file",
        "fleet-bundle",
        "fleet-edge",
        "fleet-publish",
        "fleet-view",
        "policy-lists",
        "origins",
        "resolver",
        "transport",
    ],
    never: &[RUN_TIME, TLS, HTTP],
    purity: Purity::Free,
};
