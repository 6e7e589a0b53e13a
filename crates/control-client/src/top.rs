//! `tidegate ctl top`: a live view of what runs: doors with their rates and times, what is asked
//! for most and by whom, pools, upstreams, caches.
//!
//! Everything is asked through the admin API. Where the output is no terminal one view is printed.

mod view;

use crate::running::RunningTidegate;
use crate::terminal::{LiveTerminal, PressedKey};
use admin_api::{
    DnsCacheList, PoolList, ProgramStatus, RequestTotals, StoreList, TopTable, UpstreamList,
};
use clap::Args;
use command_output::{CommandFailure, ExitReason};
use std::path::Path;
use std::time::{Duration, Instant};

/// Manner of the live view.
#[derive(Clone, Copy, Debug, Args)]
pub struct TopArgs {
    /// Seconds between two looks
    #[arg(long, value_name = "SECONDS", default_value_t = 2,
          value_parser = clap::value_parser!(u64).range(1..=60))]
    interval: u64,
    /// Print one view and end, as is done where the output is no terminal
    #[arg(long)]
    once: bool,
}

/// Everything that is shown, as it was at one moment.
struct TopSnapshot {
    at: Instant,
    status: ProgramStatus,
    totals: RequestTotals,
    names: TopTable,
    blocked: TopTable,
    clients: TopTable,
    upstreams: UpstreamList,
    pools: PoolList,
    caches: DnsCacheList,
    stores: StoreList,
}

impl TopSnapshot {
    fn ask(running: &mut RunningTidegate) -> Result<Self, CommandFailure> {
        let mut top = |what: &str| running.get(&format!("/api/top?what={what}&range=1h&limit=8"));
        let (names, blocked, clients) = (top("names")?, top("blocked")?, top("clients")?);
        Ok(Self {
            names,
            blocked,
            clients,
            totals: running.get("/api/totals?range=1h")?,
            upstreams: running.get("/api/upstreams")?,
            pools: running.get("/api/pools")?,
            caches: running.get("/api/caches")?,
            stores: running.get("/api/stores")?,
            status: running.status()?,
            at: Instant::now(),
        })
    }
}

/// Shows it until somebody quits.
pub(crate) fn top(state: &Path, args: TopArgs) -> Result<(), CommandFailure> {
    let mut running = RunningTidegate::find(state)
        .map_err(|absent| CommandFailure::new(ExitReason::NotStarted, absent))?;
    let mut before = None;
    let mut now = TopSnapshot::ask(&mut running)?;
    let terminal = if args.once { None } else { LiveTerminal::begin() };
    let Some(terminal) = terminal else {
        for line in view::lines(&now, None) {
            println!("{line}");
        }
        return Ok(());
    };
    let interval = Duration::from_secs(args.interval);
    loop {
        let mut lines = view::lines(&now, before.as_ref());
        lines.insert(0, format!("q quits; every {} s", args.interval));
        terminal.draw(&lines);
        let due = now.at + interval;
        loop {
            let left = due.saturating_duration_since(Instant::now());
            match terminal.key(left) {
                Some(PressedKey::Quit) => return Ok(()),
                Some(PressedKey::Other) => terminal.draw(&lines),
                None => break,
            }
        }
        // A failure is told once the screen is given back.
        let next = TopSnapshot::ask(&mut running)?;
        before = Some(std::mem::replace(&mut now, next));
    }
}
