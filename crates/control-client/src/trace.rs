//! `tidegate ctl trace`: the requests of one client as they come.
//!
//! Rows of the request log are asked for twice a second, those that are newer than the last one
//! seen. It sees what the log sees: with `ledger.log: blocked` what passes is not there, and with
//! shortened addresses no client is. It says so.

use crate::running::RunningTidegate;
use admin_api::{RequestPage, RequestRow, SettingValue};
use clap::Args;
use command_output::{CommandFailure, ExitReason};
use serde_json::Value as Json;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

/// Time between two looks.
const LOOK: Duration = Duration::from_millis(500);
/// Rows of one answer.
const ROWS: u64 = 500;
/// Answers that are read at one look: what came in between beyond that is passed over, and told.
const PAGES_MAX: u32 = 40;

/// The client that is followed.
#[derive(Clone, Copy, Debug, Args)]
pub struct TraceArgs {
    /// The client's address
    #[arg(value_name = "IP")]
    client: IpAddr,
    /// End after so many requests [default: follow until Ctrl-C]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Print JSON, a line each, with the fields of `/api/requests`
    #[arg(long)]
    json: bool,
}

/// The newest rows since a look before.
struct NewRows {
    /// Oldest first.
    rows: Vec<RequestRow>,
    /// True if there were more than one look reads.
    is_cut: bool,
}

/// Follows until it has shown enough, or for ever.
pub(crate) fn trace(state: &Path, args: TraceArgs) -> Result<(), CommandFailure> {
    let mut running = RunningTidegate::find(state)
        .map_err(|absent| CommandFailure::new(ExitReason::NotStarted, absent))?;
    let first: RequestPage = running.get("/api/requests?limit=1")?;
    let mut last = first.rows.first().map_or(0, |row| row.id);
    eprintln!("tidegate: following {}; Ctrl-C ends", args.client);
    for warning in blind_spots(&mut running)? {
        eprintln!("tidegate: {warning}");
    }
    let mut left = args.count.unwrap_or(u64::MAX);
    loop {
        let found = newer(&mut running, last)?;
        last = found.rows.last().map_or(last, |row| row.id);
        if found.is_cut {
            eprintln!("tidegate: so many requests came that the oldest of them are not looked at");
        }
        for row in found.rows.iter().filter(|row| is_of(row, args.client)) {
            if args.json {
                let json = serde_json::to_string(row);
                println!("{}", json.expect("numbers and text have a form in JSON"));
            } else {
                println!("{}", line(row));
            }
            left -= 1;
            if left == 0 {
                return Ok(());
            }
        }
        std::thread::sleep(LOOK);
    }
}

/// Reasons why the log does not show everything that the client does.
fn blind_spots(running: &mut RunningTidegate) -> Result<Vec<String>, CommandFailure> {
    let mut setting = |path: &str| -> Result<Json, CommandFailure> {
        let found: SettingValue = running.get(&format!("/api/config/value?path={path}"))?;
        Ok(found.value)
    };
    let (log, anonymise) = (setting("ledger.log")?, setting("ledger.anonymise")?);
    let (log, anonymise) =
        (log.as_str().unwrap_or_default(), anonymise.as_str().unwrap_or_default());
    let mut told = Vec::new();
    if log != "all" {
        told.push(format!("the log keeps {log} requests: with ledger.log: all it shows every one"));
    }
    if anonymise != "none" {
        told.push(format!("ledger.anonymise is {anonymise}: the log does not tell clients apart"));
    }
    Ok(told)
}

fn newer(running: &mut RunningTidegate, last: u64) -> Result<NewRows, CommandFailure> {
    let mut rows: Vec<RequestRow> = Vec::new();
    let mut before = String::new();
    for _ in 0..PAGES_MAX {
        let page: RequestPage = running.get(&format!("/api/requests?limit={ROWS}{before}"))?;
        let next = page.next_before.filter(|next| *next > last + 1);
        rows.extend(page.rows.into_iter().filter(|row| row.id > last));
        let Some(next) = next else {
            rows.reverse();
            return Ok(NewRows { rows, is_cut: false });
        };
        before = format!("&before={next}");
    }
    rows.reverse();
    Ok(NewRows { rows, is_cut: true })
}

fn is_of(row: &RequestRow, client: IpAddr) -> bool {
    row.client.parse::<IpAddr>().is_ok_and(|it| it.to_canonical() == client.to_canonical())
}

/// A row in one line.
pub(crate) fn line(row: &RequestRow) -> String {
    // The date is today's; whoever wants it takes --json.
    let at = row.at.get(11..23).unwrap_or(&row.at);
    let subject: String = row.subject.chars().filter(|it| !it.is_control()).collect();
    let why = row.rule.as_ref().map_or_else(String::new, |rule| {
        format!("  by {} line {}: {}", rule.list, rule.line, rule.text)
    });
    let ms = f64::from(row.took_us) / 1e3;
    let (door, action, kind) = (&row.door, &row.action, &row.kind);
    let (status, source) = (&row.status_text, &row.source);
    format!(
        "{at} {door:<7} {action:<5} {kind:<8} {subject}  {status} from {source}, {ms:.1} ms{why}"
    )
}
