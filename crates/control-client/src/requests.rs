//! `tidegate ctl requests`: the newest rows of the request log, of this machine or of the fleet.

use crate::fleet_why::{name_width, plain, silence};
use crate::running::RunningTidegate;
use crate::trace::line;
use admin_api::RequestPage;
use clap::Args;
use command_output::{CommandFailure, ExitReason};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use request_rows::FleetRequests;
use std::fmt::Write;
use std::net::IpAddr;
use std::path::Path;

/// Rows that are wanted.
#[derive(Clone, Debug, Args)]
pub struct RequestsArgs {
    /// Of all machines of the fleet, where each allows it (fleet.live.questions)
    #[arg(long)]
    fleet: bool,
    /// Of this machine of the fleet alone
    #[arg(long, value_name = "NAME", conflicts_with = "fleet")]
    edge: Option<String>,
    /// With this in the name, URL or client address
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Of this host, and all below it
    #[arg(long, value_name = "HOST")]
    name: Option<String>,
    /// Of this client
    #[arg(long, value_name = "IP")]
    client: Option<IpAddr>,
    /// Of this door
    #[arg(long, value_name = "DOOR")]
    door: Option<String>,
    /// With this action [pass, block]
    #[arg(long, value_name = "ACTION")]
    action: Option<String>,
    /// At most so many
    #[arg(long, value_name = "COUNT", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: u32,
    /// Print JSON, with the fields of `/api/requests` or `/api/fleet/requests`
    #[arg(long)]
    json: bool,
}

impl RequestsArgs {
    fn words(&self) -> String {
        let client = self.client.map(|it| it.to_string());
        let words = [
            ("edge", &self.edge),
            ("filter", &self.filter),
            ("name", &self.name),
            ("client", &client),
            ("door", &self.door),
            ("action", &self.action),
        ];
        let mut text = format!("limit={}", self.limit);
        for (name, word) in words {
            if let Some(word) = word {
                // A text grows in memory and cannot fail.
                let _ = write!(text, "&{name}={}", utf8_percent_encode(word, NON_ALPHANUMERIC));
            }
        }
        text
    }
}

/// Prints the rows, the newest first.
pub(crate) fn requests(state: &Path, args: &RequestsArgs) -> Result<(), CommandFailure> {
    let mut running = RunningTidegate::find(state)
        .map_err(|absent| CommandFailure::new(ExitReason::NotStarted, absent))?;
    let words = args.words();
    if args.fleet || args.edge.is_some() {
        let all: FleetRequests = running.get(&format!("/api/fleet/requests?{words}"))?;
        return print_fleet(args, &all);
    }
    let page: RequestPage = running.get(&format!("/api/requests?{words}"))?;
    if args.json {
        print_json(&page);
    } else {
        page.rows.iter().for_each(|row| println!("{}", line(row)));
    }
    Ok(())
}

/// Prints the rows of the fleet, and on standard error who gave none; fails if nobody answered.
fn print_fleet(args: &RequestsArgs, all: &FleetRequests) -> Result<(), CommandFailure> {
    if args.json {
        print_json(all);
    } else {
        let width = name_width(all.machines.iter().map(|it| &it.reply));
        for row in &all.rows {
            println!("{:<width$}  {}", plain(&row.edge), line(&row.row));
        }
    }
    for machine in all.machines.iter().filter(|it| it.reply.reason.is_some()) {
        eprintln!("tidegate: {}: {}", plain(&machine.reply.edge), silence(&machine.reply));
    }
    if all.machines.iter().all(|it| it.reply.reason.is_some()) {
        return Err(CommandFailure::new(ExitReason::Fault, "no machine of the fleet has answered"));
    }
    Ok(())
}

fn print_json(told: &impl serde::Serialize) {
    let json = serde_json::to_string_pretty(told);
    println!("{}", json.expect("numbers and text have a form in JSON"));
}
