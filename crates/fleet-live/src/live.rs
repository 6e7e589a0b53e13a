//! Live state of the fleet: a thread of its own keeps the connection to the server; whoever has
//! something to tell hands it over and goes on.
//!
//! It serves nobody's request: doors read atomics alone. Started and stopped by the binary.

use crate::entry::{ENTRY_BYTES_MAX, PURGE_BYTES_MAX, SharedEntry};
use crate::health::{HealthRecord, LiveHealth};
use crate::kept_outbox::KeptOutbox;
use crate::kept_place::KeptPlace;
use crate::live_cache::{LiveCache, PurgeMark};
use crate::live_questions::LiveQuestions;
use crate::outbox::{BoxRoom, WordOutbox};
use crate::scripts::ServerScripts;
use crate::server::{LiveFailure, ServerAddress};
use crate::server_keys::{KeySpread, ServerKeys};
use crate::server_place::ServerPlace;
use crate::session::LiveSession;
use crate::settings::{LiveSettings, WhenAway};
use crate::ticket_keys::{FleetSeal, TicketKeySet};
use back_off::BackOff;
use rate_limit::{FleetStanding, LeaseBook, PartSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use vocab::Now;

/// File in the state folder with the place in the stream of purges.
const PLACE_FILE: &str = "fleet-live.json";
/// File in the state folder with what waits to be told while the server is away.
const OUTBOX_FILE: &str = "fleet-live.outbox";
/// Time without the server after which shared keys of tickets are used no more, in milliseconds.
const TICKETS_AWAY_MS: u64 = 12 * 3_600_000;
/// First pause before the server is tried again, and the longest.
const PAUSE_FIRST: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_millis(1750);
/// Milliseconds by which a pause is longer at most, one for each edge: many are spread over a
/// second, so that they do not come back as one, and are back within three all the same.
const SPREAD_MS_MAX: u64 = 1000;
/// Time that the last words may take when the program stops.
const LEAVE_MAX: Duration = Duration::from_millis(500);

/// Doer of what other edges say. Its methods may block; they are called one after another.
pub trait LiveReceiver: Send + Sync + 'static {
    /// Does what an entry of another edge says.
    fn entry(&self, entry: &SharedEntry);

    /// Does a purge of another edge.
    fn purge(&self, purge: &str);

    /// Drops everything that a purge could have been for: it is not known which there were.
    fn purges_missed(&self);

    /// Hears up to where purges are done here, the one of which is the last where it is known. What
    /// machines keep for each other is no older than that.
    fn purges_at(&self, _mark: &PurgeMark, _last: Option<&str>) {}

    /// Returns the entries that hold here, for a server that does not know them.
    fn held(&self) -> Vec<SharedEntry>;

    /// Takes the keys of TLS tickets that the fleet shares; none ends that. Never blocks.
    fn ticket_keys(&self, keys: Option<&TicketKeySet>);
}

/// Holds what the live state is started with.
pub struct LiveParts {
    /// Folder that relative paths of the settings start from.
    pub base: PathBuf,
    /// State folder.
    pub state: PathBuf,
    /// Name of this edge.
    pub edge: String,
    /// Clock of this machine.
    pub clock: fn() -> Now,
    /// Doer of what others say.
    pub receiver: Arc<dyn LiveReceiver>,
    /// Tokens of shared limits.
    pub leases: Arc<LeaseBook>,
    /// Purge that stands for too many that wait.
    pub purge_of_everything: String,
    /// Values that machines keep for each other.
    pub cache: Arc<LiveCache>,
    /// Questions that machines ask each other.
    pub questions: Arc<LiveQuestions>,
}

/// State that this edge shares with the others.
pub struct LiveState {
    core: Arc<LiveCore>,
    /// Told when the thread ends.
    ended: Mutex<Receiver<()>>,
}

/// Everything that the thread and its callers share.
pub(crate) struct LiveCore {
    pub(crate) address: ServerAddress,
    pub(crate) keys: ServerKeys,
    pub(crate) scripts: ServerScripts,
    /// Name of this edge.
    pub(crate) edge: String,
    /// Name of this process.
    pub(crate) maker: String,
    pub(crate) health: HealthRecord,
    pub(crate) clock: fn() -> Now,
    pub(crate) receiver: Arc<dyn LiveReceiver>,
    pub(crate) leases: Arc<LeaseBook>,
    pub(crate) cache: Arc<LiveCache>,
    pub(crate) questions: Arc<LiveQuestions>,
    pub(crate) place_file: PathBuf,
    outbox_file: PathBuf,
    /// Held while that file is written or removed.
    outbox_turn: Mutex<()>,
    /// Told when something is put into the outbox.
    pub(crate) told: Notify,
    /// Told when leases are wanted.
    pub(crate) lease_wanted: Arc<Notify>,
    /// Seal of the keys of tickets, where they are shared.
    pub(crate) seal: Option<FleetSeal>,
    /// Keys of tickets in force, and when the server had them last.
    tickets: Mutex<Option<(TicketKeySet, u64)>>,
    outbox: Mutex<WordOutbox>,
    /// Parts of the buckets whose node is away.
    parts_away: Mutex<PartSet>,
    purge_of_everything: String,
    when_away: WhenAway,
    stop: Notify,
}

impl LiveState {
    /// Starts the thread, which reaches the server in its own time. An error says what is wrong
    /// with the settings' files, or that there is no thread to be had.
    pub fn start(settings: &LiveSettings, parts: LiveParts) -> io::Result<Self> {
        let address = ServerAddress::new(settings, &parts.base).map_err(io::Error::other)?;
        let spread = if address.is_cluster() { KeySpread::Cluster } else { KeySpread::One };
        let chance = getrandom::u64().map_err(io::Error::other)?;
        let place_file = parts.state.join(PLACE_FILE);
        let place = KeptPlace::read(&place_file);
        let outbox_file = parts.state.join(OUTBOX_FILE);
        let everything = &parts.purge_of_everything;
        let outbox = KeptOutbox::read(&outbox_file, everything, (parts.clock)());
        let lease_wanted = Arc::new(Notify::new());
        let core = Arc::new(LiveCore {
            address,
            keys: ServerKeys::new(&settings.prefix, spread),
            scripts: ServerScripts::new(),
            edge: parts.edge,
            maker: format!("{chance:016x}"),
            health: HealthRecord::new(place.edges, (parts.clock)().unix_ms),
            clock: parts.clock,
            receiver: parts.receiver,
            leases: parts.leases,
            cache: parts.cache,
            questions: parts.questions,
            place_file,
            outbox_file,
            outbox_turn: Mutex::default(),
            told: Notify::new(),
            lease_wanted: Arc::clone(&lease_wanted),
            seal: settings
                .secret
                .as_ref()
                .and_then(|it| FleetSeal::new(it.reveal(), &settings.prefix)),
            tickets: Mutex::default(),
            outbox: Mutex::new(outbox),
            parts_away: Mutex::default(),
            purge_of_everything: parts.purge_of_everything,
            when_away: settings.when_away,
            stop: Notify::new(),
        });
        core.leases.set_parts_away(PartSet::default(), settings.when_away.rule());
        core.leases.wake_by(Box::new(move || lease_wanted.notify_one()));
        core.note_standing();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (done, ended) = sync_channel(1);
        let own = Arc::clone(&core);
        std::thread::Builder::new().name("fleet-live".into()).spawn(move || {
            runtime.block_on(keep_connected(&own));
            own.left();
            // A receiver that hangs holds up nobody's end.
            runtime.shutdown_background();
            let _ = done.send(());
        })?;
        Ok(Self { core, ended: Mutex::new(ended) })
    }

    /// Tells the other edges of an entry, now or when the server is there again. Never waits for
    /// the server, but for the disk while that is away.
    pub fn tell(&self, entry: SharedEntry) {
        let length = entry.said.as_ref().map_or(0, |said| said.text.len()).max(entry.key.len());
        if length > ENTRY_BYTES_MAX {
            self.core.health.count_dropped();
            return;
        }
        let now = (self.core.clock)();
        self.core.note_room(self.core.with_outbox(|outbox| outbox.add_entry(entry, now)));
    }

    /// Tells the other edges of a purge, as above; of one over 4 KiB as one of everything.
    pub fn purge(&self, purge: String) {
        let core = &*self.core;
        let now = (core.clock)();
        let everything = &core.purge_of_everything;
        let is_long = purge.len() > PURGE_BYTES_MAX;
        let purge = if is_long { everything.clone() } else { purge };
        // At one stroke, or the session could take an older one for told and open the cache.
        core.note_room(core.with_outbox(|outbox| {
            core.cache.await_purge();
            outbox.add_purge(purge, everything, now)
        }));
    }

    /// The standing at this moment.
    pub fn health(&self) -> LiveHealth {
        self.core.health.read(self.core.with_outbox(|outbox| outbox.len()))
    }

    /// Says what there is to say, if the server is there, and ends. Blocks its thread for a second
    /// at most.
    pub fn finish(&self) {
        self.core.stop.notify_one();
        self.core.drop_tickets();
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever hangs is left behind.
        let _ = ended.recv_timeout(2 * LEAVE_MAX);
    }
}

impl LiveCore {
    /// Does something with what waits.
    pub(crate) fn with_outbox<T>(&self, what: impl FnOnce(&mut WordOutbox) -> T) -> T {
        what(&mut self.outbox.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn note_room(&self, room: BoxRoom) {
        if room == BoxRoom::Full {
            self.health.count_dropped();
        }
        if self.health.is_degraded() {
            self.keep_outbox();
        }
        self.told.notify_one();
    }

    /// Writes down what waits, or removes the file where nothing does.
    fn keep_outbox(&self) {
        let _turn = self.outbox_turn.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = self.with_outbox(|outbox| (outbox.len() > 0).then(|| KeptOutbox::of(outbox)));
        let done = match kept {
            Some(kept) => kept.write(&self.outbox_file),
            None => KeptOutbox::remove(&self.outbox_file),
        };
        if let Err(why) = done {
            log::warn!(target: "fleet", "{}: {why}", self.outbox_file.display());
        }
    }

    /// Notes that the server is there and that this edge knows what it knows.
    pub(crate) fn reached(&self) {
        self.keep_outbox();
        self.health.reached();
        self.note_standing();
        log::info!(
            target: "fleet",
            "connected to the live state as {}; edges seen: {}",
            self.edge,
            self.health.edges()
        );
    }

    pub(crate) fn saw_edges(&self, edges: u32) {
        self.health.saw_edges(edges);
        self.note_standing();
    }

    /// Notes that nobody speaks to the server any more.
    fn left(&self) {
        self.cache.close();
        self.questions.close();
        self.health.lost("it is left", (self.clock)().unix_ms);
        self.note_standing();
    }

    fn note_standing(&self) {
        let edges = self.health.edges();
        let away = self.health.is_degraded().then_some(self.when_away.rule());
        self.leases.set_standing(FleetStanding { edges, away });
    }

    /// Changes which parts of the buckets have no node that answers.
    pub(crate) fn parts_are_away(&self, change: impl FnOnce(&mut PartSet)) {
        let mut away = self.parts_away.lock().unwrap_or_else(PoisonError::into_inner);
        let before = *away;
        change(&mut away);
        if *away != before {
            self.health.parts_are_away(away.len(), (self.clock)().unix_ms);
            self.leases.set_parts_away(*away, self.when_away.rule());
        }
    }

    /// Notes that a node of the cluster is away; others go on.
    pub(crate) fn lost_shard(&self, node: &ServerPlace, why: &LiveFailure) {
        let ServerPlace { host, port } = node;
        let told = format!("the node {host}:{port} of the cluster is away: {why}");
        if self.health.note_trouble(&told) {
            let rule = self.when_away.told();
            log::warn!(target: "fleet", "{told}; shared limits that it has {rule}");
        }
    }

    fn lost(&self, why: &LiveFailure) {
        self.cache.close();
        self.questions.close();
        if self.health.lost(&why.to_string(), (self.clock)().unix_ms) {
            log::warn!(
                target: "fleet",
                "the live state is away: {why}; requests are served as before, shared limits {}",
                self.when_away.told()
            );
        }
        self.note_standing();
    }

    /// Keys of tickets that are in force here.
    pub(crate) fn tickets(&self) -> Option<TicketKeySet> {
        self.held_tickets().as_ref().map(|(keys, _)| keys.clone())
    }

    pub(crate) fn take_tickets(&self, keys: &TicketKeySet) {
        *self.held_tickets() = Some((keys.clone(), (self.clock)().mono_ms));
        self.receiver.ticket_keys(Some(keys));
    }

    /// Notes that the server has the keys that are in force here.
    pub(crate) fn confirm_tickets(&self) {
        if let Some((_, confirmed_ms)) = &mut *self.held_tickets() {
            *confirmed_ms = (self.clock)().mono_ms;
        }
    }

    /// Says that the keys at the server are sealed with another secret, and does without.
    pub(crate) fn foreign_tickets(&self) {
        let what = "the keys of TLS tickets at the server are sealed with another secret";
        if self.health.note_trouble(what) {
            log::warn!(target: "fleet", "{what}: sessions are not shared; give all machines one");
        }
        self.drop_tickets();
    }

    fn drop_tickets(&self) {
        if self.held_tickets().take().is_some() {
            self.receiver.ticket_keys(None);
        }
    }

    /// Ends the use of keys that nobody turns: the server is away for too long.
    fn drop_old_tickets(&self) {
        let now = (self.clock)().mono_ms;
        let confirmed = self.held_tickets().as_ref().map(|(_, confirmed_ms)| *confirmed_ms);
        if confirmed.is_some_and(|it| now.saturating_sub(it) > TICKETS_AWAY_MS) {
            self.drop_tickets();
        }
    }

    fn held_tickets(&self) -> MutexGuard<'_, Option<(TicketKeySet, u64)>> {
        self.tickets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the place down; without it, this edge drops its caches when it starts again.
    pub(crate) async fn keep(&self, place: KeptPlace) {
        let path = self.place_file.clone();
        // Beside the leases, which have no time for a disk.
        let written = tokio::task::spawn_blocking(move || place.write(&path)).await;
        if let Ok(Err(why)) = written {
            log::warn!(target: "fleet", "{}: {why}", self.place_file.display());
        }
    }

    /// A number that nobody foresees; the clock's where the system gives none.
    pub(crate) fn chance(&self) -> u64 {
        getrandom::u64().unwrap_or_else(|_| (self.clock)().unix_ms)
    }
}

/// Keeps a session with the server, and begins another when it is lost, until the program stops.
async fn keep_connected(core: &LiveCore) {
    let mut back_off = BackOff::new(PAUSE_FIRST, PAUSE_MAX);
    loop {
        let opened = tokio::select! {
            opened = LiveSession::open(core) => opened,
            () = core.stop.notified() => return,
        };
        let lost = match opened {
            Ok(session) => {
                let before = core.health.read(0).connected;
                let lost = tokio::select! {
                    lost = session.follow() => lost,
                    () = core.stop.notified() => {
                        // The others notice within ten seconds if this comes to nothing.
                        let _ = tokio::time::timeout(LEAVE_MAX, session.leave()).await;
                        return;
                    }
                };
                if core.health.read(0).connected > before {
                    back_off.reset();
                }
                lost.err()
            }
            Err(why) => Some(why),
        };
        if let Some(why) = lost {
            core.lost(&why);
        }
        core.drop_old_tickets();
        let spread_ms = u64::from(core.health.edges()).min(SPREAD_MS_MAX);
        let spread = Duration::from_millis(core.chance() % spread_ms);
        let pause = back_off.pause(core.chance()) + spread;
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = core.stop.notified() => return,
        }
    }
}

/// Everything that is wrong with the files that the settings name.
pub fn check_live_files(settings: &LiveSettings, base: &Path) -> Vec<vocab::Complaint> {
    if settings.ca.is_none() {
        return Vec::new();
    }
    let wrong = ServerAddress::new(settings, base).err();
    wrong.map(|why| vocab::Complaint::new("ca", why.to_string())).into_iter().collect()
}
