//! The commands of the console, from words.

use crate::known;
use crate::line::ConsoleLine;
use std::fmt;

/// A command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConsoleCommand {
    /// Every command, by name.
    Help,
    /// Version, start and time since then.
    Uptime,
    /// The process: its number, its time, its requests.
    Proc,
    /// Files that it may have open, and has.
    Fd,
    /// Sockets, counted.
    Socks,
    /// All pools.
    ShowPools,
    /// The servers of a pool.
    ShowPool(String),
    /// Where each door listens.
    ShowServices,
    /// One door.
    ShowService(String),
    /// Figures of servers; of the one at an address.
    Nodes(Option<String>),
    /// Requests that each server works on.
    Backends,
    /// Requests that wait.
    Queues,
    /// Servers and requests by state.
    States,
    /// The configuration.
    DumpConfig,
    /// Value of a setting.
    Get(String),
    /// A setting changed.
    Set {
        /// The place, in Perlbal's words or ours.
        target: String,
        /// The value.
        value: String,
    },
    /// A setting taken out of the file.
    Unset(String),
    /// A server joins a pool, or leaves it.
    Pool {
        /// The pool.
        pool: String,
        /// The server, as an address or a URL.
        server: String,
        /// Which of the two.
        change: NodeChange,
    },
    /// A pool begins.
    CreatePool(String),
    /// A pool ends.
    DestroyPool(String),
    /// The pool that `set` means from now on.
    Use(String),
    /// Configuration and lists are read again.
    Reload,
    /// `OK` is said or not.
    Verbose(OkLines),
    /// The token is shown.
    Auth(String),
    /// The end.
    Quit,
}

/// Change of a pool's server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeChange {
    /// The server joins.
    Add,
    /// The server leaves.
    Remove,
}

/// Lines of commands that were done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OkLines {
    /// `OK` is said.
    Told,
    /// Nothing is said.
    Silent,
}

/// Why a line is no command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandError {
    /// Nobody knows it.
    Unknown(String),
    /// Perlbal knows it, and here it means nothing.
    Meaningless(&'static str, &'static str),
    /// Used otherwise than it can be.
    Usage(&'static str),
}

/// Names of commands, in the order of `help`.
pub(crate) const NAMES: [&str; 25] = [
    "auth",
    "backends",
    "create",
    "destroy",
    "dumpconfig",
    "exit",
    "fd",
    "get",
    "help",
    "node",
    "nodes",
    "pool",
    "proc",
    "queues",
    "quit",
    "reload",
    "set",
    "show",
    "socks",
    "states",
    "unset",
    "uptime",
    "use",
    "verbose",
    "version",
];

impl ConsoleCommand {
    /// The command of a line; none on a blank one.
    pub fn parse(line: &ConsoleLine) -> Result<Option<Self>, CommandError> {
        let ConsoleLine::Words { verb, rest } = line else { return Ok(None) };
        let words: Vec<&str> = rest.split(' ').filter(|word| !word.is_empty()).collect();
        let lower: Vec<String> = words.iter().map(|word| word.to_ascii_lowercase()).collect();
        let lower: Vec<&str> = lower.iter().map(String::as_str).collect();
        let usage = CommandError::Usage;
        let own = |at: usize| words[at].to_owned();
        let command = match (verb.as_str(), lower.as_slice()) {
            ("help", []) => Self::Help,
            ("uptime" | "version", []) => Self::Uptime,
            ("proc", []) => Self::Proc,
            ("fd", []) => Self::Fd,
            ("socks", ["summary"]) => Self::Socks,
            ("socks", _) => return Err(usage("usage: SOCKS SUMMARY; no list of sockets is kept")),
            ("show", ["pool" | "pools"]) => Self::ShowPools,
            ("show", ["pool", _]) => Self::ShowPool(own(1)),
            ("show", ["service" | "services"]) => Self::ShowServices,
            ("show", ["service", _]) => Self::ShowService(own(1)),
            ("show", _) => return Err(usage("usage: SHOW {SERVICE|POOL} [<name>]")),
            ("nodes" | "node", []) => Self::Nodes(None),
            ("nodes" | "node", [_]) => Self::Nodes(Some(own(0))),
            ("nodes" | "node", _) => return Err(usage("usage: NODES [<ip>[:<port>]]")),
            ("backends", []) => Self::Backends,
            ("queues", []) => Self::Queues,
            ("states", []) => Self::States,
            ("dumpconfig", []) => Self::DumpConfig,
            ("get", [_]) => Self::Get(own(0)),
            ("get", _) => return Err(usage("usage: GET <setting>")),
            ("set", _) => return set(rest).map(Some),
            ("unset", [_]) => Self::Unset(own(0)),
            ("unset", _) => return Err(usage("usage: UNSET <setting>")),
            ("pool", _) => return pool(&words, &lower).map(Some),
            ("create", ["pool", _]) => Self::CreatePool(own(1)),
            ("create", ["service", ..]) => {
                let hint = "routes and sites are written in the file, or with SET web[0].… = …";
                return Err(CommandError::Meaningless("create service", hint));
            }
            ("create", _) => return Err(usage("usage: CREATE POOL <name>")),
            ("destroy", ["pool", _]) => Self::DestroyPool(own(1)),
            ("destroy", _) => return Err(usage("usage: DESTROY POOL <name>")),
            ("use", [_]) => Self::Use(own(0)),
            ("use", _) => return Err(usage("usage: USE <service_or_pool_name>")),
            ("reload", []) => Self::Reload,
            ("verbose", ["on"]) => Self::Verbose(OkLines::Told),
            ("verbose", ["off"]) => Self::Verbose(OkLines::Silent),
            ("verbose", _) => return Err(usage("usage: VERBOSE {on|off}")),
            ("auth", [_]) => Self::Auth(own(0)),
            ("auth", _) => return Err(usage("usage: AUTH <token>")),
            ("quit" | "exit", []) => Self::Quit,
            (verb, _) => return Err(otherwise(verb)),
        };
        Ok(Some(command))
    }

    /// True if it changes something, or shows what only the owner may see.
    pub fn needs_trust(&self) -> bool {
        match self {
            Self::Set { .. }
            | Self::Unset(_)
            | Self::Pool { .. }
            | Self::CreatePool(_)
            | Self::DestroyPool(_)
            | Self::Reload
            | Self::Get(_)
            | Self::DumpConfig => true,
            Self::Help
            | Self::Uptime
            | Self::Proc
            | Self::Fd
            | Self::Socks
            | Self::ShowPools
            | Self::ShowPool(_)
            | Self::ShowServices
            | Self::ShowService(_)
            | Self::Nodes(_)
            | Self::Backends
            | Self::Queues
            | Self::States
            | Self::Use(_)
            | Self::Verbose(_)
            | Self::Auth(_)
            | Self::Quit => false,
        }
    }
}

/// Why a verb is no command as it was used.
fn otherwise(verb: &str) -> CommandError {
    if let Some((verb, hint)) = known::meaningless(verb) {
        return CommandError::Meaningless(verb, hint);
    }
    if NAMES.contains(&verb) {
        return CommandError::Usage("the command takes no arguments");
    }
    CommandError::Unknown(verb.chars().take(64).collect())
}

fn set(rest: &str) -> Result<ConsoleCommand, CommandError> {
    let usage = CommandError::Usage("usage: SET [<pool>] <setting> = <value>");
    let (target, value) = rest.split_once('=').ok_or_else(|| usage.clone())?;
    let (target, value) = (target.trim(), value.trim());
    if target.is_empty() || value.is_empty() {
        return Err(usage);
    }
    Ok(ConsoleCommand::Set { target: target.into(), value: value.into() })
}

/// The verb may stand before the pool or behind it.
fn pool(words: &[&str], lower: &[&str]) -> Result<ConsoleCommand, CommandError> {
    let change = |word: &str| match word {
        "add" => Some(NodeChange::Add),
        "remove" => Some(NodeChange::Remove),
        _ => None,
    };
    let found = match (words, lower) {
        ([first, second, server], [one, two, _]) => match (change(two), change(one)) {
            (Some(change), _) => Some((first, server, change)),
            (None, Some(change)) => Some((second, server, change)),
            (None, None) => None,
        },
        _ => None,
    };
    let (pool, server, change) =
        found.ok_or(CommandError::Usage("usage: POOL <name> {ADD|REMOVE} <ip>[:<port>]"))?;
    Ok(ConsoleCommand::Pool { pool: (*pool).into(), server: (*server).into(), change })
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(verb) => write!(f, "unknown command: {verb}"),
            Self::Meaningless(verb, hint) => write!(f, "{verb} means nothing here; {hint}"),
            Self::Usage(usage) => f.write_str(usage),
        }
    }
}

impl std::error::Error for CommandError {}
