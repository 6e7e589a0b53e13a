//! The program from outside, with real clients, servers and browsers: one test at a time.
#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "a test fails by panicking, and its name is a sentence"
)]

mod admin_door;
mod answered_from;
mod any_name;
mod backup;
mod block_page;
mod blocked_tunnels;
mod browser;
mod cache_memory;
mod cache_suite;
mod cached;
mod cached_disk;
mod check;
mod clock;
mod command_line;
mod configuration;
mod console;
mod dns_cache;
mod dns_door;
mod dns_foreign_state;
mod dns_pipeline;
mod dns_pipeline_oxidns;
mod dns_pipeline_trouble;
mod doctor;
mod documents;
mod found_configuration;
mod gateway_names;
mod gateway_pools;
mod gateway_reload;
mod gateway_routes;
mod get;
mod hostile_origins;
mod http_doors;
mod import;
mod import_forwarders;
mod import_pipelines;
mod import_sites;
mod import_wild;
mod let_through;
mod list_folders;
mod local_names;
mod logs;
mod made_settings;
mod metrics;
mod near;
mod operate;
mod own_names;
mod pixel_door;
mod pixelserv;
mod privileges;
mod profiles_by_hand;
mod programs;
mod reload_keeps;
mod replay;
mod reproxy;
mod scripts;
mod serve;
mod signer;
mod splice;
mod splice_browser;
mod start_and_stop;
mod statistics;
mod structured_errors;
mod subscriptions;
mod taken_over;
mod telemetry;
mod transparent;
mod upgrade;
mod users;
mod walls;
mod webdav;
mod why_equals_deed;
