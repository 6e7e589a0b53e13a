//! This machine as one of a fleet: it looks for bundles on a thread of its own, and takes a
//! revision over by the reload that there is.
//!
//! A revision is written to disk whole and chosen before the reload, so that the signer's process
//! reads the same one; what the reload refuses is no longer chosen, and what ran runs on. Nothing
//! here is on the way of a request.

use super::RunningApp;
use crate::cli::{CommandFailure, CommandSetup, ExitReason};
use admin::ChangeAuthor;
use config::Plan;
use fleet_bundle::RolloutStep;
use fleet_edge::{
    BundleClient, BundlePlace, EdgeIdentity, EdgeSetup, EdgeSync, FleetSettings, RevisionStore,
    RevisionTaker, ServedCounts,
};
use ledger::ReportRange;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};
use vocab::Source;

/// Looks after which a status is told again that has not changed.
const TELL_AGAIN: u32 = 10;
/// Pause between two looks at whether the program ends.
const LOOK_FOR_END: Duration = Duration::from_millis(200);
/// Longest time before the first look of a machine that has a revision: a fleet that gets its power
/// back does not come all at once.
const FIRST_LOOK_MAX: Duration = Duration::from_secs(3);

/// Wish of the fleet that balancers leave this machine.
#[derive(Debug, Default)]
pub(super) struct FleetDrain(AtomicBool);

impl FleetDrain {
    pub(super) fn is_wanted(&self) -> bool {
        self.0.load(Relaxed)
    }
}

/// The plan of a start. A revision that was being tried when the process ended is tried once more;
/// one that is wrong by now, or that has ended the process twice, gives way to the one before.
pub(super) fn plan_at_start(setup: &CommandSetup) -> Result<Plan, CommandFailure> {
    let own = setup.own_plan()?;
    if own.file.fleet.as_ref().is_none_or(|it| it.bundles.is_none()) {
        return setup.with_layers(own);
    }
    let store = RevisionStore::of(&setup.state_dir(&own));
    let failed = |why: std::io::Error| {
        let message = format!("the record of the fleet's revisions: {why}");
        CommandFailure::new(ExitReason::NotStarted, message)
    };
    store.count_start().map_err(failed)?;
    let Some(tried) = store.record().map_err(failed)?.tried else { return setup.with_layers(own) };
    match setup.with_layers(own.clone()) {
        Ok(plan) => Ok(plan),
        Err(why) => {
            let complaints = why.message.lines().map(str::to_owned).collect();
            store.refuse(tried.revision, complaints).map_err(failed)?;
            setup.with_layers(own)
        }
    }
}

impl RunningApp {
    /// Begins to look for bundles, where the configuration says where they lie.
    pub(super) fn join_fleet(self: &Arc<Self>) {
        let plan = self.plan();
        let Some(fleet) = plan.file.fleet.clone().filter(|it| it.bundles.is_some()) else { return };
        let store = RevisionStore::of(self.state.path());
        // The doors are open: what was tried has come up.
        let confirmed = store.record().and_then(|record| match record.tried {
            Some(_) => store.confirm(None),
            None => Ok(()),
        });
        if let Err(why) = confirmed {
            log::error!(target: "fleet", "the record of revisions cannot be written: {why}");
        }
        let app = Arc::clone(self);
        let begun = std::thread::Builder::new().name("fleet".into()).spawn(move || {
            if let Err(why) = app.look_for_bundles(&fleet, store) {
                let told = format!("this machine is no part of its fleet: {why}");
                log::error!(target: "fleet", "{told}");
                app.note_problem(told);
            }
        });
        if let Err(why) = begun {
            self.note_problem(format!("no thread for the fleet: {why}"));
        }
    }

    /// Looks until the program ends.
    fn look_for_bundles(
        self: &Arc<Self>,
        fleet: &FleetSettings,
        store: RevisionStore,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let name = fleet.edge_name(&host);
        let name = name.ok_or("its host name is no name of an edge: set fleet.name")?;
        let place = BundlePlace::parse(fleet.bundles.as_deref().unwrap_or_default())?;
        let identity = EdgeIdentity::open(store.make()?)?;
        let client = BundleClient::open(&place, self.dialer())?;
        let has_revision = store.record()?.in_force.is_some();
        let setup = EdgeSetup {
            name,
            labels: fleet.labels.clone(),
            trusted: fleet.trusted(),
            version: env!("CARGO_PKG_VERSION").into(),
        };
        let mut sync = EdgeSync::new(setup, identity, store, client);
        if has_revision {
            self.wait_within(FIRST_LOOK_MAX.min(fleet.poll()), 0.0);
        }
        let mut last = String::new();
        let mut quiet = 0;
        while !self.is_ending() {
            let (level, told) = self.look_once(&mut sync);
            quiet = if told == last { quiet + 1 } else { TELL_AGAIN };
            if told != last {
                log::log!(target: "fleet", level, "{told}");
                last = told;
            }
            if quiet >= TELL_AGAIN {
                quiet = 0;
                let now = transport::clock::now().unix_secs();
                // Whoever may only read gets bundles all the same.
                if let Err(why) = sync.tell(now, self.served()) {
                    log::debug!(target: "fleet", "the status was not told: {why}");
                }
            }
            self.fleet_drain.0.store(sync.is_drained(), Relaxed);
            self.wait_within(fleet.poll().mul_f64(1.2), 2.0 / 3.0);
        }
        Ok(())
    }

    /// One look, in a sentence.
    fn look_once(self: &Arc<Self>, sync: &mut EdgeSync) -> (log::Level, String) {
        let now = transport::clock::now().unix_secs();
        match sync.look(now, &FleetReload(self)) {
            Ok((RolloutStep::TakeOver | RolloutStep::InForce, revision)) => {
                (log::Level::Info, format!("revision {revision} is in force"))
            }
            Ok((RolloutStep::WaitForCanary, revision)) => {
                let told = format!("revision {revision} waits for other machines to try it first");
                (log::Level::Info, told)
            }
            Err(why) => (log::Level::Warn, format!("no new revision: {why}")),
        }
    }

    /// Requests of the last hour, and failed ones.
    fn served(&self) -> ServedCounts {
        let totals = self.ledger.totals(ReportRange::Hour, transport::clock::now());
        let counts = totals.map_or_else(|_| Vec::new(), |it| it.counts);
        let sum = |wanted: fn(Source) -> bool| {
            counts.iter().filter(|it| wanted(it.source)).map(|it| it.count).sum()
        };
        ServedCounts { requests: sum(|_| true), failures: sum(|it| it == Source::Failed) }
    }

    fn is_ending(&self) -> bool {
        self.drain.is_started() || self.left.is_started()
    }

    /// Waits for a time from `share` of `most` to all of it, or until the program ends.
    fn wait_within(&self, most: Duration, share: f64) {
        let span = most.mul_f64(share + (1.0 - share) * random_share());
        let until = Instant::now() + span;
        while !self.is_ending() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(LOOK_FOR_END));
        }
    }
}

/// A number from 0 to 1.
fn random_share() -> f64 {
    let mut bytes = [0; 4];
    // Without randomness machines come together, which is slow and not wrong.
    let _ = getrandom::fill(&mut bytes);
    f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX)
}

/// The reload of the program, by which a revision is taken over.
struct FleetReload<'a>(&'a Arc<RunningApp>);

impl RevisionTaker for FleetReload<'_> {
    fn take_over(&self, revision: u64, by: &str, why: &str) -> Result<(), Vec<String>> {
        let _turn = self.0.editing_turn();
        let named = format!("revision {revision} of the fleet");
        let why = if why.is_empty() { named } else { format!("{named}: {why}") };
        let who = if by.is_empty() { "fleet".into() } else { by.to_owned() };
        let author = ChangeAuthor { who, from: None, why };
        self.0.reload_as(&author).map(drop)
    }
}
