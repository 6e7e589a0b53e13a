//! This machine as one of a fleet: it looks for bundles on a thread of its own, and takes a
//! revision over by the reload that there is.
//!
//! A revision is written to disk whole and chosen before the reload, so that the signer's process
//! reads the same one; what the reload refuses is no longer chosen, and what ran runs on. Nothing
//! here is on the way of a request.

use super::{RunningApp, fleet_program};
use crate::cli::{CommandFailure, CommandSetup, ExitReason};
use admin::ChangeAuthor;
use config::Plan;
use fleet_bundle::{EdgeName, EdgeState, EdgeStatus};
use fleet_edge::{
    BundleClient, BundlePlace, EdgeHost, EdgeIdentity, EdgeSetup, EdgeSync, FleetSettings,
    LaidRevision, RevisionStore, RevisionTaker, RunningProgram, ServedCounts, TakenBy,
    watch_bundles,
};
use fleet_view::{FleetView, ViewSetup};
use ledger::ReportRange;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use vocab::Source;

/// The fleet's wish that balancers leave this machine, and the view of it.
#[derive(Default)]
pub(super) struct FleetDrain {
    is_wanted: AtomicBool,
    view: OnceLock<Arc<FleetView>>,
}

impl FleetDrain {
    pub(super) fn is_wanted(&self) -> bool {
        self.is_wanted.load(Relaxed)
    }

    /// The fleet as this machine sees it; none where it looks for no bundles.
    pub(super) fn view(&self) -> Option<Arc<FleetView>> {
        self.view.get().cloned()
    }
}

/// Name of this machine in its fleet: as it is set, or the host's.
pub(super) fn edge_name(fleet: &FleetSettings) -> String {
    fleet
        .name
        .clone()
        .unwrap_or_else(|| rustix::system::uname().nodename().to_string_lossy().into_owned())
}

/// The plan of a start. A revision that was being tried when the process ended is tried once more;
/// one that is wrong by now, or that has ended the process twice, gives way to the one before.
pub(super) fn plan_at_start(setup: &CommandSetup) -> Result<Plan, CommandFailure> {
    let own = setup.own_plan()?;
    if own.file.fleet.as_ref().is_none_or(|it| it.bundles.is_none()) {
        return setup.with_layers(own);
    }
    fleet_program::become_chosen(setup, &own)?;
    let store = RevisionStore::of(&setup.state_dir(&own));
    if fleet_program::is_successor() {
        // Whoever began this one sees to what it refuses.
        return setup.with_layers(own);
    }
    let failed = |why: std::io::Error| {
        let message = format!("the record of the fleet's revisions: {why}");
        CommandFailure::new(ExitReason::NotStarted, message)
    };
    let Some(tried) = store.count_start().map_err(failed)? else { return setup.with_layers(own) };
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
    pub(super) fn join_fleet(self: &Arc<Self>, started_as: u32) {
        let plan = self.plan();
        let Some(fleet) = plan.file.fleet.clone().filter(|it| it.bundles.is_some()) else { return };
        let store = RevisionStore::of(self.state.path());
        // The doors are open: what was tried has come up.
        let confirmed = store.record().and_then(|record| match record.tried {
            Some(_) => store.confirm(),
            None => Ok(()),
        });
        if let Err(why) = confirmed {
            log::error!(target: "fleet", "the record of revisions cannot be written: {why}");
        }
        let app = Arc::clone(self);
        let begun = std::thread::Builder::new().name("fleet".into()).spawn(move || {
            // Here and not at the start: the program is read as a whole.
            let program = fleet_program::running(&plan, started_as).unwrap_or_else(|why| {
                app.note_problem(why.to_string());
                None
            });
            if let Err(why) = app.look_for_bundles(&fleet, store, program) {
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
        program: Option<RunningProgram>,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let name = EdgeName::parse(&edge_name(fleet));
        let name = name.map_err(|_| "its host name is no name of an edge: set fleet.name")?;
        let place = BundlePlace::parse(fleet.bundles.as_deref().unwrap_or_default())?;
        let identity = EdgeIdentity::open(store.make()?)?;
        let view = FleetView::new(ViewSetup {
            name: name.clone(),
            labels: fleet.labels.clone(),
            trusted: fleet.trusted(),
            version: env!("CARGO_PKG_VERSION").into(),
            place: place.clone(),
            credentials: fleet.s3_credentials(),
            dialer: self.dialer(),
            store: store.clone(),
        });
        // Fleets are joined once in the life of a process.
        let _ = self.fleet_drain.view.set(Arc::new(view));
        let client = BundleClient::open(&place, fleet.s3_credentials(), self.dialer())?;
        let setup = EdgeSetup {
            name,
            labels: fleet.labels.clone(),
            trusted: fleet.trusted(),
            version: env!("CARGO_PKG_VERSION").into(),
            program,
        };
        let sync = EdgeSync::new(setup, identity, store, client);
        watch_bundles(sync, fleet.poll(), &RunningEdge(self));
        Ok(())
    }
}

/// The running program as an edge.
struct RunningEdge<'a>(&'a Arc<RunningApp>);

impl RevisionTaker for RunningEdge<'_> {
    fn take_over(&self, laid: &LaidRevision<'_>) -> Result<TakenBy, Vec<String>> {
        let _turn = self.0.editing_turn();
        if let Some(program) = &laid.program {
            return self.0.give_way(laid, program);
        }
        let named = format!("revision {} of the fleet", laid.number);
        let why = if laid.why.is_empty() { named } else { format!("{named}: {}", laid.why) };
        let who = if laid.by.is_empty() { "fleet".into() } else { laid.by.to_owned() };
        let author = ChangeAuthor { who, from: None, why };
        self.0.reload_as(&author).map(|_| TakenBy::ThisProcess)
    }
}

impl EdgeHost for RunningEdge<'_> {
    fn now(&self) -> u64 {
        transport::clock::now().unix_secs()
    }

    fn served(&self) -> ServedCounts {
        let totals = self.0.ledger.totals(ReportRange::Hour, transport::clock::now());
        let counts = totals.map_or_else(|_| Vec::new(), |it| it.counts);
        let sum = |wanted: fn(Source) -> bool| {
            counts.iter().filter(|it| wanted(it.source)).map(|it| it.count).sum()
        };
        ServedCounts { requests: sum(|_| true), failures: sum(|it| it == Source::Failed) }
    }

    fn is_ending(&self) -> bool {
        self.0.drain.is_started() || self.0.left.is_started()
    }

    fn looked(&self, status: EdgeStatus, wanted: EdgeState) {
        let fleet = &self.0.fleet_drain;
        fleet.is_wanted.store(wanted == EdgeState::Drained, Relaxed);
        if let Some(view) = fleet.view.get() {
            view.note(status, wanted);
        }
    }
}
