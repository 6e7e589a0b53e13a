//! The words of `tidegate ctl`.
//!
//! They are read by clap, and their documentation is the help. What is done with them is
//! [`crate::ctl`]'s.

use crate::ctl::{cache, config, pools};
use crate::requests::RequestsArgs;
use crate::top::TopArgs;
use crate::trace::TraceArgs;
use clap::{Args, Subcommand};
use std::net::IpAddr;

/// Commands to a running Tidegate.
#[derive(Clone, Debug, Subcommand)]
pub enum CtlCommand {
    /// Show what runs, since when, and what it did
    Status {
        /// Print JSON, with the fields of `/api/status`
        #[arg(long)]
        json: bool,
    },
    /// Watch it live: doors, rates, times, names, clients, upstreams, pools, caches
    Top(TopArgs),
    /// Follow the requests of one client as they come
    Trace(TraceArgs),
    /// Show the newest requests, of this machine or of all of the fleet
    Requests(RequestsArgs),
    /// Read configuration and lists again; a wrong configuration changes nothing
    Reload,
    /// Let everything pass for a while
    Pause {
        /// For how many minutes
        #[arg(default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1440))]
        minutes: u32,
    },
    /// End a pause
    Resume,
    /// Let a blocked name, and all below it, pass for a while, or always
    Allow(OverrideArgs),
    /// Show what is let through, and until when
    Allows,
    /// Block again what was let through
    Revoke(EndOverrideArgs),
    /// Block a name, and all below it, for a while, or always
    Block(OverrideArgs),
    /// Show what is blocked by hand, and until when
    Blocks,
    /// End what was blocked by hand
    Unblock(EndOverrideArgs),
    /// Forget answers to DNS questions, or what the HTTP caches have stored
    Purge(PurgeArgs),
    /// List what the HTTP caches have stored, by site and by URL
    Cache(cache::CacheArgs),
    /// Show what pages posted to blocked hosts, of the clients that pixel.inspect names
    Inspected,
    /// Show the gateway's pools and the state of their servers, or replace all servers of one
    Pools {
        /// Action on a pool [default: all are shown]
        #[command(subcommand)]
        what: Option<pools::PoolsCommand>,
    },
    /// Show the configuration that runs, with passwords and tokens hidden, or changes of it
    Config {
        /// Changes, and going back [default: the text is shown]
        #[command(subcommand)]
        what: Option<config::ConfigCommand>,
    },
    /// Show a setting, or a section, as it is in force, defaults included
    Get(config::SettingArgs),
    /// Change a setting in the configuration's file, and take it over at once
    Set(config::SetArgs),
    /// Take a setting out of the configuration's file, and take that over at once
    Unset(config::SettingArgs),
    /// Add, remove, drain or weigh a server of a pool, until Tidegate ends
    Server {
        /// Action on the server
        #[command(subcommand)]
        what: pools::ServerCommand,
    },
}

/// Name that is let through or blocked.
#[derive(Clone, Debug, Args)]
pub struct OverrideArgs {
    /// The name; `*` for everything, with --client or --profile
    #[arg(value_name = "HOST")]
    pub(crate) host: String,
    /// For how long: 5m, 1h, at most 24h
    #[arg(long = "for", value_name = "TIME", default_value = "5m", conflicts_with = "always")]
    pub(crate) span: String,
    /// Until it is taken back
    #[arg(long)]
    pub(crate) always: bool,
    /// For the client with this address only [default: for all]
    #[arg(long, value_name = "IP")]
    pub(crate) client: Option<IpAddr>,
    /// For the clients of this profile only
    #[arg(long, value_name = "NAME", conflicts_with = "client")]
    pub(crate) profile: Option<String>,
}

/// Name for which the lists decide again.
#[derive(Clone, Debug, Args)]
pub struct EndOverrideArgs {
    /// The name; `*` for everything
    #[arg(value_name = "HOST")]
    pub(crate) host: String,
    /// The client that it was let through or blocked for [default: for all]
    #[arg(long, value_name = "IP")]
    pub(crate) client: Option<IpAddr>,
    /// The profile that it was let through or blocked for
    #[arg(long, value_name = "NAME", conflicts_with = "client")]
    pub(crate) profile: Option<String>,
}

/// Holds what is forgotten, and how.
#[derive(Clone, Debug, Args)]
pub struct PurgeArgs {
    #[command(flatten)]
    pub(crate) what: PurgeWhat,
    /// Keep what is stored as stale, so that the origin may confirm it
    #[arg(long)]
    pub(crate) soft: bool,
    /// In the cache of this door alone [proxy, gateway; default: both]
    #[arg(long, value_name = "DOOR")]
    pub(crate) door: Option<String>,
}

/// Holds what is forgotten.
#[derive(Clone, Debug, Args)]
#[group(required = true, multiple = false)]
pub struct PurgeWhat {
    /// What is known of this name, of every type
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// What is known of this name and of all names below it
    #[arg(long, value_name = "NAME")]
    pub(crate) suffix: Option<String>,
    /// All answers to DNS questions
    #[arg(long)]
    pub(crate) all: bool,
    /// The stored page, picture or file of this URL
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// What is stored of all URLs that begin so
    #[arg(long, value_name = "URL")]
    pub(crate) prefix: Option<String>,
    /// What is stored of this host
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Option<String>,
    /// What is stored with this tag (Surrogate-Key, Cache-Tag)
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Option<String>,
    /// All that the HTTP caches have stored
    #[arg(long)]
    pub(crate) stored: bool,
}
