//! `tidegate ctl pools` and `tidegate ctl server`: the gateway's pools, seen and changed.
//!
//! It shapes what is sent and what is printed; it sends nothing.

use clap::{Args, Subcommand, ValueEnum};
use command_output::{CommandFailure, ExitReason};
use serde_json::{Value as Json, json};

/// Actions on a whole pool.
#[derive(Clone, Debug, Subcommand)]
pub enum PoolsCommand {
    /// Put these servers in place of all that a pool has, at once; the others finish what they work
    /// on
    Replace {
        /// The pool
        pool: String,
        /// The URL of each, or a mapping in JSON, as in '{"url": "...", "weight": 2}'
        #[arg(value_name = "URL", required = true)]
        servers: Vec<String>,
    },
}

/// A server of a pool, and what becomes of it.
#[derive(Clone, Debug, Subcommand)]
pub enum ServerCommand {
    /// Put a server into a pool
    Add {
        #[command(flatten)]
        which: ServerArgs,
        /// Share that it gets beside the others
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
        weight: u32,
        /// It serves only while no other server is up
        #[arg(long)]
        backup: bool,
        /// Requests that it works on at once [default: no bound]
        #[arg(long, value_name = "COUNT", default_value_t = 0, hide_default_value = true)]
        max_requests: u32,
        /// Host is a name that stands for several servers: its addresses, or its SRV records
        #[arg(long, value_enum)]
        resolve: Option<ResolveArg>,
    },
    /// Take a server out of its pool; it finishes what it works on
    Remove(ServerArgs),
    /// Send a server no new clients
    Drain(ServerArgs),
    /// Send it new clients again
    Undrain(ServerArgs),
    /// Change the weight of a server
    Weigh {
        #[command(flatten)]
        which: ServerArgs,
        /// From 1 to 100
        #[arg(value_parser = clap::value_parser!(u32).range(1..=100))]
        weight: u32,
    },
}

/// Tells what the name of servers is asked for.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ResolveArg {
    Addresses,
    Srv,
}

/// Which server.
#[derive(Clone, Debug, Args)]
pub struct ServerArgs {
    /// The pool
    pool: String,
    /// The URL of the server
    #[arg(value_name = "URL")]
    server: String,
}

/// Returns what is sent.
pub(super) fn change(command: &ServerCommand) -> Json {
    let (action, which) = match command {
        ServerCommand::Add { which, weight, backup, max_requests, resolve } => {
            let resolve = resolve.map(|it| match it {
                ResolveArg::Addresses => "addresses",
                ResolveArg::Srv => "srv",
            });
            return json!({
                "pool": which.pool, "server": which.server, "action": "add",
                "weight": weight, "backup": backup, "max_requests": max_requests,
                "resolve": resolve,
            });
        }
        ServerCommand::Weigh { which, weight } => {
            return json!({
                "pool": which.pool, "server": which.server, "action": "weigh", "weight": weight,
            });
        }
        ServerCommand::Remove(which) => ("remove", which),
        ServerCommand::Drain(which) => ("drain", which),
        ServerCommand::Undrain(which) => ("undrain", which),
    };
    json!({ "pool": which.pool, "server": which.server, "action": action })
}

/// Returns what is sent to replace the servers of a pool.
pub(super) fn replacement(command: &PoolsCommand) -> Result<Json, CommandFailure> {
    let PoolsCommand::Replace { pool, servers } = command;
    let server = |text: &String| {
        if !text.starts_with('{') {
            return Ok(json!(text));
        }
        let wrong = |why| CommandFailure::new(ExitReason::Wrong, format!("{text}: no JSON: {why}"));
        serde_json::from_str::<Json>(text).map_err(wrong)
    };
    let servers = servers.iter().map(server).collect::<Result<Vec<_>, _>>()?;
    Ok(json!({ "pool": pool, "servers": servers }))
}

/// A line for each pool, and one for each of its servers.
pub(super) fn print(answer: &Json) {
    let list = |of: &Json, key: &str| of[key].as_array().cloned().unwrap_or_default();
    let pools = list(answer, "pools");
    if pools.is_empty() {
        println!("no pool: the configuration has no gateway");
    }
    for pool in pools {
        let text = |of: &Json, key: &str| of[key].as_str().unwrap_or("?").to_owned();
        let number = |of: &Json, key: &str| of[key].as_u64().unwrap_or(0);
        let waiting: u64 = ["waiting_high", "waiting_normal", "waiting_low"]
            .map(|key| number(&pool, key))
            .iter()
            .sum();
        println!(
            "{}: {} requests, {} retries, {waiting} waiting, {} unserved",
            text(&pool, "name"),
            number(&pool, "requests"),
            number(&pool, "retries"),
            number(&pool, "unserved"),
        );
        for name in list(&pool, "names") {
            println!(
                "  {} ({}) leads to {} servers{}",
                text(&name, "url"),
                text(&name, "resolve"),
                number(&name, "servers"),
                name["failure"].as_str().map_or(String::new(), |why| format!(": {why}")),
            );
        }
        for server in list(&pool, "servers") {
            let rank = if server["backup"] == true { "backup" } else { "" };
            println!(
                "  {:<32} {:<9} weight {:<3} {:>5} under way {:>9} answers {:>7} failures {:>9} µs {rank}",
                text(&server, "url"),
                text(&server, "state"),
                number(&server, "weight"),
                number(&server, "pending"),
                number(&server, "answers"),
                number(&server, "failures"),
                number(&server, "latency_us"),
            );
        }
    }
}
