//! The thread that fetches lists: two at a time, when they are due or somebody wants them.
//!
//! When the last of a batch is there, all lists are compiled once, aside, and swapped in; what asks
//! the policy meanwhile asks the one before. A list that fails keeps its last good text. It stops
//! where it is when the program ends: a file takes another's place with one rename or not at all.
//! Started with the first subscription.

use super::failure::{ListFetchError, ListsNotInForce};
use super::fetching::{self, ShrinkRule, fetch};
use super::{FetchOutcome, ItemActivity, Subscription, UpdateOrder, timetable};
use crate::owner::ListOwner;
use crate::randomness::random;
use fetch::FileOutcome;
use origins::Origins;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Duration;
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

/// Lists that are fetched at once: they come over the line that everybody else uses.
const FETCHING_MAX: usize = 2;
/// Time for which a list that is there waits for others that are under way, to be compiled with
/// them.
const SETTLE_MAX: Duration = Duration::from_secs(5);
/// The longest sleep between two looks at the clock: it may be set, or have stood still.
const LOOK_AGAIN: Duration = Duration::from_mins(5);

/// Starts it.
pub(crate) fn start(
    owner: Arc<dyn ListOwner>,
    orders: mpsc::Receiver<UpdateOrder>,
) -> io::Result<()> {
    std::thread::Builder::new().name("lists".into()).spawn(move || {
        // A local runtime cannot leave its thread, so it is built here.
        match Builder::new_current_thread().enable_all().build_local(LocalOptions::default()) {
            Ok(runtime) => runtime.block_on(run(owner, orders)),
            Err(why) => {
                let why = format!("lists cannot be fetched: {why}; restart Tidegate");
                log::error!(target: "lists", "{why}");
                *owner.subscriptions().problem() = Some(why);
            }
        }
    })?;
    Ok(())
}

async fn run(owner: Arc<dyn ListOwner>, mut orders: mpsc::Receiver<UpdateOrder>) {
    let origins = Rc::new(Origins::new(owner.list_dialer(), fetching::limits()));
    let drain = owner.list_drain();
    let mut work = FetchWork {
        owner: Arc::clone(&owner),
        origins,
        fetching: JoinSet::new(),
        compiling: JoinSet::new(),
        changed: None,
        waiters: Vec::new(),
    };
    loop {
        work.start_fetches();
        work.start_compiling();
        work.notify_waiters();
        let wake = work.next_wake();
        tokio::select! {
            () = drain.started() => return,
            () = owner.subscriptions().changed.notified() => {}
            order = orders.recv() => match order {
                Some(order) => work.accept(order),
                None => return,
            },
            Some(done) = work.fetching.join_next(), if !work.fetching.is_empty() => {
                if let Ok(done) = done {
                    work.fetched(done);
                }
            }
            Some(done) = work.compiling.join_next(), if !work.compiling.is_empty() => {
                work.compiled(done.unwrap_or(Err(ListsNotInForce::CompilingBroke)));
            }
            () = sleep_until(wake) => {}
        }
    }
}

/// Holds what is under way.
struct FetchWork {
    owner: Arc<dyn ListOwner>,
    origins: Rc<Origins>,
    fetching: JoinSet<FetchDone>,
    compiling: JoinSet<Result<String, ListsNotInForce>>,
    /// Since when texts are there that are not in force, and whose they are.
    changed: Option<(Instant, Vec<String>)>,
    waiters: Vec<ListWaiter>,
}

/// A fetch that ended.
struct FetchDone {
    subscription: Arc<Subscription>,
    result: Result<FileOutcome, ListFetchError>,
}

/// Somebody who waits.
struct ListWaiter {
    remaining: Vec<PathBuf>,
    done: Vec<FetchOutcome>,
    reply: SyncSender<Vec<FetchOutcome>>,
}

impl FetchWork {
    fn accept(&mut self, order: UpdateOrder) {
        for item in self.owner.subscriptions().items().iter_mut() {
            if !order.paths.contains(&item.subscription.path) {
                continue;
            }
            // One that is under way will do, unless more is allowed now.
            if item.doing == ItemActivity::Waiting || order.smaller == ShrinkRule::Accepted {
                item.requested = Some(order.smaller);
            }
        }
        self.waiters.push(ListWaiter {
            remaining: order.paths,
            done: Vec::new(),
            reply: order.reply,
        });
    }

    fn start_fetches(&mut self) {
        let now_s = transport::clock::now().unix_secs();
        let mut items = self.owner.subscriptions().items();
        while self.fetching.len() < FETCHING_MAX {
            let next = items
                .iter_mut()
                .filter(|item| item.doing == ItemActivity::Waiting)
                .filter(|item| {
                    let refresh = item.subscription.refresh;
                    item.requested.is_some() || timetable::is_due(item.due_s, refresh, now_s)
                })
                .min_by_key(|item| (item.requested.is_none(), item.due_s));
            let Some(item) = next else { break };
            item.doing = ItemActivity::Fetching;
            let smaller = item.requested.take().unwrap_or(ShrinkRule::Refused);
            let (what, origins) = (Arc::clone(&item.subscription), Rc::clone(&self.origins));
            self.fetching.spawn_local(async move {
                let result = fetch(&origins, &what, smaller).await;
                FetchDone { subscription: what, result }
            });
        }
    }

    fn fetched(&mut self, done: FetchDone) {
        let FetchDone { subscription: what, result } = done;
        let record = what.record();
        let mut items = self.owner.subscriptions().items();
        // A reload may have taken it away, or given it other bounds.
        if let Some(item) = items.iter_mut().find(|item| item.subscription.path == what.path) {
            item.doing = ItemActivity::Waiting;
            let is_news = record.failure != item.record.failure;
            if let Err(why) = result.as_ref()
                && is_news
            {
                let text = match &record.version {
                    Some(_) => format!("{why}; the last good one stays in force"),
                    None => format!("{why}; nothing of it is in force"),
                };
                report(&*self.owner, &what.name, &text);
            }
            item.due_s = timetable::due_s(&record, what.refresh, random());
            item.record = record;
            if matches!(result, Ok(FileOutcome::Changed)) {
                let changed = self.changed.get_or_insert_with(|| (Instant::now(), Vec::new()));
                changed.1.push(what.name.clone());
            }
            if item.subscription != what {
                item.due_s = 0;
            }
        }
        drop(items);
        for errand in &mut self.waiters {
            let waited = errand.remaining.len();
            errand.remaining.retain(|path| *path != what.path);
            if errand.remaining.len() < waited {
                errand.done.push(FetchOutcome { name: what.name.clone(), result: result.clone() });
            }
        }
    }

    /// Once all that is under way is there, or has taken too long.
    fn start_compiling(&mut self) {
        if !self.compiling.is_empty() {
            return;
        }
        let is_time =
            self.fetching.is_empty() || self.compile_at().is_some_and(|at| at <= Instant::now());
        let Some((_, names)) = self.changed.take_if(|_| is_time) else { return };
        let owner = Arc::clone(&self.owner);
        self.compiling.spawn_blocking(move || {
            let (lists, rules) = owner.reload_lists()?;
            Ok(format!("fetched {}: {lists} lists, {rules} rules", names.join(", ")))
        });
    }

    fn compiled(&mut self, result: Result<String, ListsNotInForce>) {
        let mut trouble = self.owner.subscriptions().problem();
        match result {
            Ok(done) => {
                log::info!(target: "lists", "{done}");
                *trouble = None;
            }
            Err(why) => {
                let text = format!("lists that were fetched are not all in force: {why}");
                log::warn!(target: "lists", "{text}");
                *trouble = Some(text);
            }
        }
    }

    /// Tells those whose lists are all there and in force.
    fn notify_waiters(&mut self) {
        if self.changed.is_some() || !self.compiling.is_empty() {
            return;
        }
        let items = self.owner.subscriptions().items();
        self.waiters.retain_mut(|errand| {
            // A reload may have taken away what is waited for.
            errand
                .remaining
                .retain(|path| items.iter().any(|item| item.subscription.path == *path));
            if !errand.remaining.is_empty() {
                return true;
            }
            // Whoever waited may have lost patience.
            let _ = errand.reply.try_send(std::mem::take(&mut errand.done));
            false
        });
    }

    fn compile_at(&self) -> Option<Instant> {
        self.changed.as_ref().map(|(since, _)| *since + SETTLE_MAX)
    }

    /// When to look again.
    fn next_wake(&self) -> Instant {
        let now_s = transport::clock::now().unix_secs();
        let mut sleep = LOOK_AGAIN;
        if self.fetching.len() < FETCHING_MAX {
            for item in self.owner.subscriptions().items().iter() {
                if item.doing == ItemActivity::Waiting {
                    sleep = sleep.min(Duration::from_secs(item.due_s.saturating_sub(now_s)));
                }
            }
        }
        let wake = Instant::now() + sleep;
        self.compile_at().filter(|_| self.compiling.is_empty()).map_or(wake, |at| at.min(wake))
    }
}

/// Says it in the log and in the notes.
fn report(owner: &dyn ListOwner, name: &str, text: &str) {
    log::warn!(target: "lists", "list {name}: {text}");
    owner.note_list(&format!("list {name}"), text);
}
