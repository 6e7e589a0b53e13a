//! Live state that the machines of a fleet share: what this one was told by hand goes to the
//! others, and what they were told is done here.
//!
//! It keeps nothing: `fleet-live` speaks to the server, the policy and the caches do the work. What
//! cannot be done here (a profile that this machine has not) is told and passed over. Called at the
//! start, by reloads, and by the admin's control.

mod shared_words;

use super::fleet::edge_name;
use super::{RunningApp, stores};
use ::fleet_live::{
    EntryBody, LeaseBook, LiveCache, LiveHealth, LiveParts, LiveQuestions, LiveReceiver,
    LiveSettings, LiveState, PurgeMark, SharedEntry, TicketKeySet, check_live_files,
};
use admin::{DnsCachePurge, FleetAsker, OverrideKey, ProgramControl};
use admin_api::TakeBackRequest;
use arc_swap::ArcSwapOption;
use config::Plan;
use door_gateway::SecondLevelSlot;
use fleet_cache::{CachePurge, FleetCache, FleetResponses};
use fleet_questions::{AnswerSource, DeskParts, FleetDesk};
use ledger::Collector;
use metrics_page::FleetFigures;
use policy::{NameOverride, OverrideEnd};
use shared_words::{FleetPurge, PAUSE, override_key, override_of};
use std::io;
use std::path::Path;
use std::sync::{Arc, Weak};
use transport::tls::{SharedTicketKeys, share_ticket_keys};
use vocab::{Action, Complaint};

/// Live state of the fleet, if there is one.
#[derive(Default)]
pub(super) struct FleetLive {
    leases: Arc<LeaseBook>,
    /// Responses that other machines have stored, for the caches of doors.
    pub(super) second_level: SecondLevelSlot,
    running: ArcSwapOption<RunningLive>,
}

/// The live state as it runs.
struct RunningLive {
    settings: LiveSettings,
    edge: String,
    state: LiveState,
    caches: FleetCaches,
    desk: Option<Arc<FleetDesk>>,
}

/// This machine, as those who ask all see it.
struct OwnAnswers(Weak<RunningApp>);

impl AnswerSource for OwnAnswers {
    fn control(&self) -> Option<Arc<dyn ProgramControl>> {
        Some(self.0.upgrade()?.control())
    }

    fn revision(&self) -> Option<u64> {
        self.0.upgrade()?.fleet_drain.view()?.in_force()
    }
}

/// Caches that the machines share.
#[derive(Clone)]
struct FleetCaches {
    answers: Option<Arc<FleetCache>>,
    responses: Option<Arc<FleetResponses>>,
}

/// Does what other machines were told.
struct FleetReceiver(Weak<RunningApp>, FleetCaches);

impl RunningApp {
    /// Shares as this plan says from now on.
    pub(super) fn share_live_state(self: &Arc<Self>, plan: &Plan) {
        let fleet = plan.file.fleet.as_ref();
        let wanted = fleet.and_then(|fleet| Some((fleet.live.clone()?, edge_name(fleet))));
        let before = self.fleet.running.load_full();
        let is_same = |it: &Arc<RunningLive>| {
            wanted.as_ref().is_some_and(|(live, edge)| (live, edge) == (&it.settings, &it.edge))
        };
        if before.as_ref().is_some_and(is_same) {
            return;
        }
        self.fleet.running.store(None);
        self.resolver.share_answers(None);
        self.fleet.second_level.use_store(None);
        if let Some(before) = before {
            before.state.finish();
        }
        let Some((settings, edge)) = wanted else { return };
        let values = Arc::<LiveCache>::default();
        let caches = FleetCaches {
            answers: FleetCache::new(&settings, &values).map(Arc::new),
            responses: FleetResponses::new(&settings, &values).map(Arc::new),
        };
        let (questions, desk) = match self.question_desk(&settings, &edge) {
            Ok((questions, desk)) => (questions, desk.map(Arc::new)),
            Err(why) => return self.note_problem(format!("fleet.live: {why}; nothing is shared")),
        };
        let parts = LiveParts {
            base: plan.base(self.state.path()).to_path_buf(),
            state: self.state.path().to_path_buf(),
            edge: edge.clone(),
            clock: transport::clock::now,
            receiver: Arc::new(FleetReceiver(Arc::downgrade(self), caches.clone())),
            leases: self.fleet.leases(),
            purge_of_everything: FleetPurge::Everything.written(),
            cache: values,
            questions,
        };
        match LiveState::start(&settings, parts) {
            Ok(state) => {
                self.resolver.share_answers(caches.answers.clone().map(|cache| cache as _));
                self.fleet.second_level.use_store(caches.responses.clone().map(|it| it as _));
                let running = RunningLive { settings, edge, state, caches, desk };
                self.fleet.running.store(Some(Arc::new(running)));
            }
            Err(why) => self.note_problem(format!("fleet.live: {why}; nothing is shared")),
        }
    }

    /// Questions to all machines, with a desk where they are asked.
    fn question_desk(
        self: &Arc<Self>,
        settings: &LiveSettings,
        edge: &str,
    ) -> io::Result<(Arc<LiveQuestions>, Option<FleetDesk>)> {
        let parts = DeskParts {
            edge: edge.to_owned(),
            version: env!("CARGO_PKG_VERSION"),
            clock: transport::clock::now,
            ledger: self.ledger.clone(),
            source: Box::new(OwnAnswers(Arc::downgrade(self))),
        };
        FleetDesk::start(settings, parts)
    }

    fn do_fleet_purge(&self, purge: FleetPurge) {
        match purge {
            FleetPurge::Dns(what) => {
                self.forget_answers(&what);
            }
            FleetPurge::Stores(what) => match stores::purge(self, &what) {
                // Machines of a fleet need not have the same doors.
                Ok(_) | Err(stores::PurgeRefusal::NoStore) => {}
                Err(why) => log::warn!(target: "fleet", "a purge of the fleet: {why}"),
            },
            FleetPurge::Everything => {
                self.forget_answers(&DnsCachePurge::All);
                let everything =
                    TakeBackRequest { what: "all".into(), value: None, soft: false, door: None };
                self.do_fleet_purge(FleetPurge::Stores(everything));
            }
        }
    }
}

impl LiveReceiver for FleetReceiver {
    fn entry(&self, entry: &SharedEntry) {
        let Some(app) = self.0.upgrade() else { return };
        let now = transport::clock::now();
        if entry.key == PAUSE {
            let until = entry.said.as_ref().and_then(|said| said.until_unix_ms).unwrap_or(0);
            log::info!(target: "fleet", "another machine has changed the pause of blocking");
            app.policy.load().pause_until(until);
            return;
        }
        let Some((host, clients)) = override_of(&entry.key) else { return };
        let ended = |action| {
            let (host, clients) = (host.clone(), clients.clone());
            app.drop_override(&OverrideKey { action, host, clients }, now);
        };
        let Some(said) = &entry.said else {
            ended(Action::Pass);
            ended(Action::Block);
            return;
        };
        let action = match &*said.text {
            "pass" => Action::Pass,
            "block" => Action::Block,
            _ => return,
        };
        let until = said.until_unix_ms.map_or(OverrideEnd::Revoked, OverrideEnd::Time);
        if !until.is_future(now) {
            return;
        }
        let made = NameOverride { action, host: host.clone(), clients: clients.clone(), until };
        if let Err(why) = app.hold_override(made, now) {
            log::warn!(target: "fleet", "{:?} of another machine is passed over: {why}", entry.key);
        }
    }

    fn purge(&self, purge: &str) {
        let (Some(app), Some(purge)) = (self.0.upgrade(), FleetPurge::parse(purge)) else { return };
        app.do_fleet_purge(purge);
    }

    fn purges_missed(&self) {
        if let Some(app) = self.0.upgrade() {
            app.do_fleet_purge(FleetPurge::Everything);
        }
    }

    fn purges_at(&self, mark: &PurgeMark, last: Option<&str>) {
        let last = last.map(|it| match FleetPurge::parse(it) {
            Some(FleetPurge::Dns(DnsCachePurge::Name(name))) => CachePurge::Name(name),
            Some(FleetPurge::Dns(_)) => CachePurge::Names,
            Some(FleetPurge::Stores(_)) => CachePurge::Responses,
            Some(FleetPurge::Everything) | None => CachePurge::All,
        });
        if let Some(cache) = &self.1.answers {
            cache.purged(mark, last.as_ref());
        }
        if let Some(cache) = &self.1.responses {
            cache.purged(mark, last.as_ref());
        }
    }

    fn held(&self) -> Vec<SharedEntry> {
        let Some(app) = self.0.upgrade() else { return Vec::new() };
        let (policy, now) = (app.policy.load(), transport::clock::now());
        let mut held: Vec<SharedEntry> = policy.overrides(now).iter().map(override_entry).collect();
        let paused = policy.paused_until();
        if paused > now.unix_ms {
            held.push(pause_entry(paused));
        }
        held
    }

    fn ticket_keys(&self, keys: Option<&TicketKeySet>) {
        let keys = keys.and_then(|it| SharedTicketKeys::new(it.keys(), TicketKeySet::CURRENT));
        share_ticket_keys(keys);
    }
}

impl FleetLive {
    /// Tokens of limits that the fleet shares.
    pub(super) fn leases(&self) -> Arc<LeaseBook> {
        Arc::clone(&self.leases)
    }

    pub(super) fn tell_pause(&self, until_unix_ms: u64) {
        self.tell(|| pause_entry(until_unix_ms));
    }

    pub(super) fn tell_override(&self, made: &NameOverride) {
        self.tell(|| override_entry(made));
    }

    pub(super) fn tell_ended_override(&self, key: &OverrideKey) {
        self.tell(|| SharedEntry {
            key: override_key(key.host.as_ref(), &key.clients),
            said: None,
        });
    }

    pub(super) fn tell_dns_purge(&self, what: &DnsCachePurge) {
        self.tell_purge(|| FleetPurge::Dns(what.clone()));
    }

    pub(super) fn tell_store_purge(&self, what: &TakeBackRequest) {
        self.tell_purge(|| FleetPurge::Stores(what.clone()));
    }

    fn tell(&self, entry: impl FnOnce() -> SharedEntry) {
        if let Some(running) = &*self.running.load() {
            running.state.tell(entry());
        }
    }

    fn tell_purge(&self, purge: impl FnOnce() -> FleetPurge) {
        if let Some(running) = &*self.running.load() {
            running.state.purge(purge().written());
        }
    }

    /// All machines, for questions; none where they are not to be asked.
    pub(super) fn asker(&self) -> Option<Arc<dyn FleetAsker>> {
        let desk = self.running.load().as_ref()?.desk.clone()?;
        Some(desk)
    }

    fn health(&self) -> Option<LiveHealth> {
        self.running.load().as_ref().map(|running| running.state.health())
    }

    /// Figures for the metrics page, where there is a fleet.
    pub(super) fn figures(&self) -> Option<Arc<dyn Collector>> {
        let health = self.health()?;
        let caches = self.running.load().as_ref().map(|it| it.caches.clone())?;
        Some(Arc::new(FleetFigures {
            cache: caches.answers.map(|cache| cache.counts().by_outcome()),
            responses: caches.responses.map(|cache| cache.counts().by_outcome()),
            degraded: health.degraded_since_ms.is_some(),
            edges: health.edges.into(),
            connections: health.connected,
            exchanged: health.exchanged,
            waiting: health.waiting,
            dropped: health.dropped,
        }))
    }

    /// Warning while the server is away.
    pub(super) fn warning(&self) -> Option<String> {
        let health = self.health()?;
        let since = vocab::iso(health.degraded_since_ms?);
        let why = health.trouble.unwrap_or_else(|| "it is not connected yet".into());
        Some(format!("fleet.live: the server is away since {since}: {why}"))
    }

    /// Says what there is to say, and ends. Blocks its thread for a second at most.
    pub(super) fn finish(&self) {
        if let Some(running) = self.running.swap(None) {
            running.state.finish();
        }
    }
}

fn pause_entry(until_unix_ms: u64) -> SharedEntry {
    let body = EntryBody { text: "all".into(), until_unix_ms: Some(until_unix_ms) };
    SharedEntry { key: PAUSE.into(), said: (until_unix_ms > 0).then_some(body) }
}

fn override_entry(made: &NameOverride) -> SharedEntry {
    let text = match made.action {
        Action::Pass => "pass",
        Action::Block => "block",
    };
    let until_unix_ms = match made.until {
        OverrideEnd::Time(unix_ms) => Some(unix_ms),
        OverrideEnd::Revoked => None,
    };
    let said = Some(EntryBody { text: text.into(), until_unix_ms });
    SharedEntry { key: override_key(made.host.as_ref(), &made.clients), said }
}

/// Everything that is wrong with files that the live state names.
pub(super) fn check_files(plan: &Plan, base: &Path) -> Vec<Complaint> {
    let live = plan.file.fleet.as_ref().and_then(|fleet| fleet.live.as_ref());
    let found = live.map_or_else(Vec::new, |live| check_live_files(live, base));
    found.into_iter().map(|complaint| complaint.under("fleet.live")).collect()
}

/// A remark for whoever checks a plan that shares no TLS sessions.
pub(crate) fn session_note(plan: &Plan) -> Option<&'static str> {
    let live = plan.file.fleet.as_ref()?.live.as_ref()?;
    let note = "fleet.live has no secret: TLS sessions are resumed only where they began";
    live.secret.is_none().then_some(note)
}
