//! Lists that are fetched: which there are, what is stored of them, when they come next.
//!
//! The last good text of each stands in the state folder under `lists/`, with a record beside it,
//! so that a start needs no network. Nothing here blocks or decides: it brings texts, and has the
//! policy compiled when one has changed. Set up at the start and at each reload; asked by the admin
//! API and the command line.

mod failure;
mod fetching;
mod thread;
mod timetable;

pub use failure::{BadAuthorities, ListFetchError, ListsNotInForce, UpdateRefusal};
pub use fetching::{ShrinkRule, update_offline};

use crate::hex_text::hex;
use crate::owner::ListOwner;
use crate::randomness::random;
use config::Plan;
use fetch::{BadUrl, FetchRecord, FileOutcome, Url};
use policy::ListSettings;
use sha2::{Digest, Sha256};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, mpsc};
use vocab::Now;

/// The folder of lists in the state folder.
const FOLDER: &str = "lists";
/// Letters of a list's name that its file's name begins with.
const NAME_CHARS_MAX: usize = 32;
/// Orders to fetch at once that wait; more are refused.
const ORDERS_MAX: usize = 16;
/// Time for which somebody who ordered a fetch waits to hear of its end; it goes on by itself after
/// that.
const ORDER_WAIT: Duration = Duration::from_mins(1);

/// A list with a URL, as a configuration has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscription {
    /// Name in the configuration.
    pub name: String,
    pub(crate) url: Url,
    /// Where its text is kept.
    pub(crate) path: PathBuf,
    pub(crate) refresh: Duration,
    size_max: u64,
    sha256: Option<String>,
    /// Authorities of its own, as PEM.
    ca: Option<PathBuf>,
}

/// Outcome of a fetch, or why nothing did.
#[derive(Clone, Debug)]
pub struct FetchOutcome {
    /// Name of the list.
    pub name: String,
    /// Outcome, or the failure.
    pub result: Result<FileOutcome, ListFetchError>,
}

/// All subscriptions of the running program.
#[derive(Default)]
pub struct Subscriptions {
    items: Mutex<Vec<SubscriptionItem>>,
    /// Told when `items` are others.
    changed: Notify,
    /// To the thread that fetches, which starts with the first subscription.
    orders: OnceLock<mpsc::Sender<UpdateOrder>>,
    /// Why lists that were fetched are not in force.
    problem: Mutex<Option<String>>,
}

struct SubscriptionItem {
    subscription: Arc<Subscription>,
    record: FetchRecord,
    /// When it is asked for next, in seconds since 1970.
    due_s: u64,
    doing: ItemActivity,
    /// Somebody wants it now.
    requested: Option<ShrinkRule>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ItemActivity {
    Waiting,
    Fetching,
}

/// Somebody wants lists now.
struct UpdateOrder {
    /// By their paths.
    paths: Vec<PathBuf>,
    smaller: ShrinkRule,
    reply: SyncSender<Vec<FetchOutcome>>,
}

impl From<FetchOutcome> for admin_api::UpdatedList {
    fn from(outcome: FetchOutcome) -> Self {
        let (word, failure) = match outcome.result {
            Ok(FileOutcome::Changed) => ("changed", None),
            Ok(FileOutcome::Same) => ("same", None),
            Err(why) => ("failed", Some(why.to_string())),
        };
        Self { name: outcome.name, outcome: word.into(), failure }
    }
}

impl Subscription {
    /// The subscription that a list is, if it is one.
    pub fn of(list: &ListSettings, state_dir: &Path) -> Option<Result<Self, BadUrl>> {
        let text = list.url.as_deref()?;
        Some(Url::parse(text.trim()).map(|url| {
            let path = state_dir.join(FOLDER).join(file_name(&list.name, &url));
            Self {
                name: list.name.clone(),
                url,
                path,
                refresh: list.refresh_every(),
                size_max: list.bytes_max(),
                sha256: list.sha256.as_ref().map(|text| text.to_ascii_lowercase()),
                ca: list.ca.clone(),
            }
        }))
    }

    /// Returns those of a plan; URLs that cannot be asked are refused where lists are read.
    pub fn all(plan: &Plan, state_dir: &Path) -> Vec<Self> {
        let lists = plan.file.policy.lists.iter();
        let all = lists.filter_map(|list| Self::of(list, state_dir)?.ok());
        let base = plan.base(state_dir);
        all.map(|it| Self { ca: it.ca.map(|path| base.join(path)), ..it }).collect()
    }

    /// Returns what is known of it.
    pub fn record(&self) -> FetchRecord {
        FetchRecord::read(&self.path, &self.url.to_string()).unwrap_or_default()
    }

    /// State of the subscription by its record; the next try is told without the jitter, which only
    /// the running program knows.
    pub fn info(&self) -> admin_api::SubscriptionInfo {
        let record = self.record();
        let version = record.version.as_ref();
        let at = |seconds: u64| (seconds > 0).then(|| vocab::iso(seconds * 1000));
        admin_api::SubscriptionInfo {
            url: self.url.to_string(),
            bytes: version.map(|version| version.bytes),
            fetched_at: version.and_then(|version| at(version.fetched_s)),
            checked_at: at(record.checked_s),
            next_at: at(timetable::due_s(&record, self.refresh, self.refresh.as_secs() / 10)),
            is_fetching: false,
            failures: record.failures,
            failure: record.failure.clone(),
        }
    }

    /// The last good text; none if there is none, or if it is not the one that the configuration
    /// pins.
    pub fn stored(&self) -> Option<Vec<u8>> {
        let size = std::fs::metadata(&self.path).ok()?.len();
        if size > self.size_max {
            return None;
        }
        let text = std::fs::read(&self.path).ok()?;
        if self.sha256.as_ref().is_some_and(|pinned| *pinned != hex(&Sha256::digest(&text))) {
            return None;
        }
        policy::unfit(&text).is_none().then_some(text)
    }
}

/// `easylist-0123456789abcdef.txt`: readable, and another for another name or URL, so that the text
/// of one address never stands for another's.
fn file_name(name: &str, url: &Url) -> String {
    let tame = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
    let readable: String = name.chars().take(NAME_CHARS_MAX).map(tame).collect();
    let digest = hex(&Sha256::digest(format!("{name}\n{url}")));
    format!("{}-{}.txt", readable.to_ascii_lowercase(), &digest[..16])
}

impl Subscriptions {
    fn items(&self) -> MutexGuard<'_, Vec<SubscriptionItem>> {
        self.items.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn problem(&self) -> MutexGuard<'_, Option<String>> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All lists are in force: a reload has read them.
    pub fn all_in_force(&self) {
        *self.problem() = None;
    }

    /// Fetches nothing any more: another process does.
    pub fn end(&self) {
        self.set(Vec::new(), 0);
    }

    /// Takes those of another plan; what is under way goes on.
    fn set(&self, all: Vec<Subscription>, now_s: u64) {
        let mut items = self.items();
        let mut before = std::mem::take(&mut *items);
        for what in all {
            let same = before.iter().position(|item| item.subscription.path == what.path);
            let item = if let Some(at) = same {
                let mut item = before.swap_remove(at);
                if *item.subscription != what {
                    // Other bounds: what was refused may be right now, and the other way round.
                    item = SubscriptionItem { subscription: Arc::new(what), due_s: 0, ..item };
                }
                item
            } else {
                let (record, chance) = (what.record(), random());
                let due_s = timetable::due_at_start_s(&record, what.refresh, chance, now_s);
                let what = Arc::new(what);
                SubscriptionItem {
                    subscription: what,
                    record,
                    due_s,
                    doing: ItemActivity::Waiting,
                    requested: None,
                }
            };
            items.push(item);
        }
        drop(items);
        self.changed.notify_one();
    }

    /// True if there is any, or one of this name.
    pub fn has(&self, name: Option<&str>) -> bool {
        self.items().iter().any(|item| name.is_none_or(|name| item.subscription.name == name))
    }

    /// Returns how the list of this name is kept; none if it is no subscription.
    pub fn state(&self, name: &str) -> Option<admin_api::SubscriptionInfo> {
        let items = self.items();
        let item = items.iter().find(|item| item.subscription.name == name)?;
        let (record, version) = (&item.record, item.record.version.as_ref());
        let at = |seconds: u64| (seconds > 0).then(|| vocab::iso(seconds * 1000));
        Some(admin_api::SubscriptionInfo {
            url: item.subscription.url.to_string(),
            bytes: version.map(|version| version.bytes),
            fetched_at: version.and_then(|version| at(version.fetched_s)),
            checked_at: at(record.checked_s),
            next_at: at(item.due_s),
            is_fetching: item.doing == ItemActivity::Fetching,
            failures: record.failures,
            failure: record.failure.clone(),
        })
    }

    /// Returns what is known of the downloads of a list; none if it is no subscription.
    pub fn record(&self, name: &str) -> Option<FetchRecord> {
        let items = self.items();
        Some(items.iter().find(|item| item.subscription.name == name)?.record.clone())
    }

    /// Returns what the operator should know.
    pub fn warnings(&self) -> Vec<String> {
        let items = self.items();
        let warnings = items.iter().filter_map(|item| warning(&item.subscription, &item.record));
        warnings.chain(self.problem().clone()).collect()
    }

    /// Has lists fetched now (all of them, or the one of this name) and waits for that; none if
    /// that takes too long.
    pub fn update(
        &self,
        name: Option<&str>,
        smaller: ShrinkRule,
    ) -> Result<Option<Vec<FetchOutcome>>, UpdateRefusal> {
        let is_named =
            |item: &&SubscriptionItem| name.is_none_or(|name| item.subscription.name == name);
        let items = self.items();
        let which: Vec<PathBuf> =
            items.iter().filter(is_named).map(|item| item.subscription.path.clone()).collect();
        drop(items);
        let orders = self.orders.get().filter(|_| !which.is_empty());
        let orders = orders.ok_or_else(|| UpdateRefusal::NoSuchList(name.map(str::to_owned)))?;
        let (told, outcome) = sync_channel(1);
        orders
            .try_send(UpdateOrder { paths: which, smaller, reply: told })
            .map_err(|_| UpdateRefusal::TooManyOrders)?;
        Ok(outcome.recv_timeout(ORDER_WAIT).ok())
    }
}

/// Returns what the operator should know of a subscription.
pub(crate) fn warning(what: &Subscription, record: &FetchRecord) -> Option<String> {
    let name = &what.name;
    let why = record.failure.as_deref().unwrap_or("it was not asked for yet");
    match &record.version {
        None => Some(format!("list {name} could not be downloaded yet, and blocks nothing: {why}")),
        Some(version) if record.failures > 0 => Some(format!(
            "list {name}: still as fetched at {}; {} tries to renew it failed: {why}",
            vocab::iso(version.fetched_s * 1000),
            record.failures
        )),
        Some(_) => None,
    }
}

/// Takes the subscriptions of a plan; the first ever has the thread start that fetches them.
pub fn subscribe(
    owner: &Arc<dyn ListOwner>,
    plan: &Plan,
    state_dir: &Path,
    now: Now,
) -> io::Result<()> {
    let all = Subscription::all(plan, state_dir);
    fetching::sweep(&state_dir.join(FOLDER), &all, now);
    let subscriptions = owner.subscriptions();
    let is_needed = !all.is_empty() && subscriptions.orders.get().is_none();
    subscriptions.set(all, now.unix_secs());
    if is_needed {
        let (orders, taken) = mpsc::channel(ORDERS_MAX);
        thread::start(Arc::clone(owner), taken).map_err(|why| {
            io::Error::new(why.kind(), format!("no thread for fetching lists: {why}"))
        })?;
        // Reloads queue up, so nobody else has set it meanwhile.
        let _ = subscriptions.orders.set(orders);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(name: &str, url: &str) -> ListSettings {
        ListSettings { name: name.into(), url: Some(url.into()), ..ListSettings::default() }
    }

    fn path(name: &str, url: &str) -> String {
        let what = Subscription::of(&list(name, url), Path::new("/state"));
        what.expect("a subscription").expect("a URL").path.display().to_string()
    }

    #[test]
    fn a_list_is_kept_by_its_name_and_url_within_its_folder() {
        let easylist = path("EasyList", "https://a.example/x");
        assert!(easylist.starts_with("/state/lists/easylist-"), "{easylist}");
        assert_ne!(easylist, path("EasyList", "https://b.example/x"));
        assert_ne!(path("a/b", "https://a.example/x"), path("a-b", "https://a.example/x"));
        let hostile = path("../../etc/passwd", "https://a.example/x");
        assert!(hostile.starts_with("/state/lists/------etc-passwd-"), "{hostile}");
        let endless = path(&"ü".repeat(5000), "https://a.example/x");
        assert!(endless.len() < 80, "{endless}");
    }

    #[test]
    fn a_url_that_cannot_be_asked_is_none() {
        let of = |url: &str| Subscription::of(&list("a", url), Path::new("/state"));
        assert!(of("https://user:secret@a.example/x").is_some_and(|it| it.is_err()));
        assert!(of("https://").is_some_and(|it| it.is_err()));
        assert!(Subscription::of(&ListSettings::default(), Path::new("/state")).is_none());
    }
}
