//! What the admin API can see and do, as a trait that the binary implements.
//!
//! The API knows no door and no configuration: it asks here. Methods may block (a reload reads and
//! compiles every list): the handlers call them on a thread made for that, never on a core's.

use crate::change_author::ChangeAuthor;
use admin_api::{
    CachePage, ClientTrust, ConfigText, DeviceInfo, DnsCacheInfo, InspectedInfo, ListInfo,
    ListOverlaps, ListUpdateOutcome, NewServer, OriginInfo, OwnRules, OwnRulesUpdate, PoolInfo,
    ProfileTable, ProgramInfo, ReloadOutcome, ReplayOutcome, SettingEdit, StoreInfo,
    TakeBackRequest, TakenBack, UpdateRequest, UpstreamInfo, WhyAnswer, WhyQuery,
};
use fleet_api::{FleetSilence, FleetTables, FleetWhy, RevisionSource};
use ledger::Collector;
use policy::{NameOverride, OverrideClients};
use request_rows::{FleetRequests, FleetRowsQuery, RowsQuery};
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use vocab::{Action, DomainName, Door, Now, RequestKind};

/// Refusal of a change by the part that it is for, whose own error it is: the API knows no door,
/// and shows it with a remedy.
pub type ControlRefusal = Box<dyn std::error::Error + Send + Sync>;

/// Refusal of changes to the configuration's file.
#[derive(Debug)]
pub enum SettingsRefusal {
    /// Words that name no setting, or no value for one.
    Wrong(ControlRefusal),
    /// The file cannot be changed, whatever was sent.
    Fixed {
        /// Why not.
        why: ControlRefusal,
        /// Remedy.
        remedy: &'static str,
    },
    /// A reload of the file as it would be is refused, with every complaint.
    Complaints(Vec<String>),
}

/// All machines of a fleet, as the API asks them on behalf of whoever is named; a silence says why
/// the question did not reach them. Methods block for four seconds at most.
pub trait FleetAsker: Send + Sync {
    /// Asks what each says to a question.
    fn why(&self, query: &WhyQuery, who: &str) -> Result<FleetWhy, FleetSilence>;

    /// Asks for the newest rows of their request logs.
    fn requests(
        &self,
        filter: &RowsQuery,
        wanted: &FleetRowsQuery,
        who: &str,
    ) -> Result<FleetRequests, FleetSilence>;
}

/// The running program, as the API sees it.
pub trait ProgramControl: Send + Sync + 'static {
    /// Returns what the program says of itself.
    fn running(&self, now: Now) -> ProgramInfo;

    /// Returns what the policy says to a question, and what the door would do about it.
    fn why(&self, question: &WhyQuestion, now: Now) -> WhyAnswer;

    /// The lists in force, in the order of the configuration.
    fn lists(&self) -> Vec<ListInfo>;

    /// Overlaps of the lists; counted once for each set of lists, for which all names are read.
    fn overlaps(&self, now: Now) -> ListOverlaps;

    /// The upstream resolvers, in the order of the configuration.
    fn upstreams(&self) -> Vec<UpstreamInfo>;

    /// The caches of answers, in the order of the configuration.
    fn caches(&self) -> Vec<DnsCacheInfo>;

    /// Returns what the proxy's connections have taught of origins, those used last first; 200 at
    /// most.
    fn origins(&self) -> Vec<OriginInfo>;

    /// The gateway's pools, by name.
    fn pools(&self) -> Vec<PoolInfo>;

    /// Changes the servers of a pool until the program ends; or says why not.
    fn change_pool(&self, change: &PoolChange) -> Result<(), ControlRefusal>;

    /// Returns what is known of clients' trust in the authority, the one heard of last first.
    fn trust(&self, now: Now) -> Vec<ClientTrust>;

    /// Reads the configuration and all lists anew, and swaps them in; or says every complaint and
    /// changes nothing.
    fn reload(&self) -> Result<ReloadOutcome, Vec<String>>;

    /// The configuration that runs, as its file says it, with secrets hidden.
    fn config(&self) -> ConfigText;

    /// One setting as it is in force, with secrets hidden; or says that there is none of this name.
    fn setting(&self, path: &str) -> Result<serde_json::Value, ControlRefusal>;

    /// Changes settings in the configuration's file, all or none, and takes it over as a reload
    /// does; or says why not, and changes nothing.
    fn change_settings(
        &self,
        changes: &[SettingEdit],
        author: &ChangeAuthor,
    ) -> Result<ReloadOutcome, SettingsRefusal>;

    /// Adds a list, removes one that was added so, or switches one off or on, and takes that over
    /// as a reload does; or says why not, and changes nothing.
    fn change_lists(
        &self,
        change: &ListChange,
        author: &ChangeAuthor,
    ) -> Result<ReloadOutcome, SettingsRefusal>;

    /// Profiles and groups of clients.
    fn profiles(&self) -> Result<ProfileTable, SettingsRefusal>;

    /// Makes, changes or takes away a profile or group, unless they were changed since they were
    /// read, and takes that over as a reload does; or says why not, and changes nothing.
    fn change_profiles(
        &self,
        change: &ProfileChange,
        author: &ChangeAuthor,
    ) -> Result<ReloadOutcome, SettingsRefusal>;

    /// The fleet's database; none where there is none.
    fn fleet_tables(&self) -> Option<Box<dyn FleetTables>> {
        None
    }

    /// Revisions of the fleet; none where this machine looks for no bundles.
    fn fleet_revisions(&self) -> Option<Arc<dyn RevisionSource>> {
        None
    }

    /// All machines of the fleet, for questions; none where they are not to be asked.
    fn fleet_asker(&self) -> Option<Arc<dyn FleetAsker>> {
        None
    }

    /// Returns what is known of the devices with these addresses, in their order.
    fn devices(&self, clients: &[IpAddr], now: Now) -> Vec<DeviceInfo>;

    /// Own rules.
    fn own_rules(&self) -> Result<OwnRules, SettingsRefusal>;

    /// Judges recorded requests as they would be with a change; or says why it would not be taken.
    /// One at a time.
    fn replay(&self, order: &ReplayOrder) -> Result<ReplayOutcome, SettingsRefusal>;

    /// Replaces own rules, unless they were changed since they were read, and puts them in force.
    fn set_own_rules(
        &self,
        sent: &OwnRulesUpdate,
        author: &ChangeAuthor,
    ) -> Result<ReloadOutcome, SettingsRefusal>;

    /// Returns what a list of these rules would hold.
    fn check_rules(&self, text: &str) -> ListInfo;

    /// Fetches lists that have a URL, unless they are as they were, and swaps them in; returns when
    /// that is done or has taken a minute. An error says that there is no such list, or that too
    /// many ask.
    fn update_lists(&self, which: &UpdateRequest) -> Result<ListUpdateOutcome, ControlRefusal>;

    /// Lets everything pass until this moment, in milliseconds since 1970; 0 ends a pause.
    fn pause_until(&self, unix_ms: u64);

    /// Until when everything passes, in milliseconds since 1970; in the past if nothing is paused.
    fn paused_until(&self) -> u64;

    /// Allows or blocks a name by hand; or says why not.
    fn set_override(&self, made: NameOverride, now: Now) -> Result<(), ControlRefusal>;

    /// Returns what is allowed, or blocked, by hand, by name.
    fn overrides(&self, action: Action, now: Now) -> Vec<NameOverride>;

    /// Ends what was allowed or blocked by hand; says whether there was such an override.
    fn end_override(&self, key: &OverrideKey, now: Now) -> bool;

    /// Forgets answers to DNS questions, in every cache; says how many.
    fn purge(&self, what: &DnsCachePurge) -> u64;

    /// The stores of what doors fetch over HTTP.
    fn stores(&self) -> Vec<StoreInfo>;

    /// A page of what is stored, for each store that is meant; or says why there is none. It may
    /// take half a minute.
    fn cache_index(&self, wanted: &CacheIndexQuery) -> Result<Vec<CachePage>, ControlRefusal>;

    /// Takes back what is stored, in the stores of these doors; or says why that does not last.
    fn purge_stores(&self, what: &TakeBackRequest) -> Result<TakenBack, ControlRefusal>;

    /// Bodies that pages posted to blocked hosts, as far as they are kept, the newest first.
    fn inspected(&self) -> Vec<InspectedInfo>;

    /// The CA certificate, as PEM; none if no door mints certificates.
    fn ca_pem(&self) -> Option<String>;

    /// Reasons why not everything that the configuration asks for is in force; none if it is.
    fn not_ready(&self) -> Vec<NotReady>;

    /// Families that others add to the metrics page.
    fn metrics(&self) -> Vec<Arc<dyn Collector>>;
}

/// Change that is tried on recorded requests.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayOrder {
    /// Requests from this moment on, in milliseconds since 1970.
    pub since_ms: u64,
    /// The change.
    pub change: TriedChange,
}

/// Change that is tried, and not made.
#[derive(Clone, Debug, PartialEq)]
pub enum TriedChange {
    /// Own rules as they would be.
    OwnRules(String),
    /// Change of the lists.
    Lists(ListChange),
    /// Change of a profile or group.
    Item(ItemKind, ItemChange),
}

/// Reason why the program is not ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotReady {
    /// An end that has begun: what is under way finishes.
    Draining,
    /// A door of the configuration listens nowhere.
    Doors,
    /// A list of the configuration has nothing in force.
    Lists,
}

/// One of the gateway's pools, and what becomes of its servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolChange {
    /// The pool.
    pub pool: String,
    /// Change of its servers.
    pub change: PoolServerChange,
}

/// Change of the servers of a pool. Each is named by its URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PoolServerChange {
    /// One more joins the pool.
    Add(NewServer),
    /// These take the place of all; what the others work on, they may finish.
    Replace(Vec<NewServer>),
    /// Leaves the pool; what it works on, it may finish.
    Remove(String),
    /// Gets no new clients.
    Drain(String),
    /// Gets new clients again.
    Undrain(String),
    /// Gets so much beside the others.
    SetWeight(String, u32),
}

/// Answers to DNS questions that are to be forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DnsCachePurge {
    /// All of them.
    All,
    /// Those about this name, of every type.
    Name(DomainName),
    /// Those about this name and about all below it.
    Suffix(DomainName),
}

/// A page of what the stores of doors hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheIndexQuery {
    /// Extent of the listing.
    pub scope: CacheIndexScope,
    /// The store of this door; of each if none.
    pub door: Option<String>,
    /// The site or URL behind which it begins.
    pub after: Option<String>,
    /// Sites or URLs at most.
    pub limit: usize,
}

/// Extent of a listing of what is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CacheIndexScope {
    /// Every site, with counts.
    Sites,
    /// URLs of this host.
    Site(String),
    /// URLs that begin so.
    Prefix(String),
}

/// Change of the lists.
#[derive(Clone, Debug, PartialEq)]
pub enum ListChange {
    /// One more, with the keys of `policy.lists`.
    Add(serde_json::Value),
    /// No longer this one, which was added so.
    Remove(String),
    /// Holds for nobody.
    SwitchOff(String),
    /// Holds again.
    SwitchOn(String),
}

/// Change of a profile or group of clients.
#[derive(Clone, Debug, PartialEq)]
pub struct ProfileChange {
    /// The revision that it was made in.
    pub revision: String,
    /// Kind of item.
    pub kind: ItemKind,
    /// The change itself.
    pub edit: ItemChange,
}

/// Kind of item that clients are given settings by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemKind {
    /// A profile, of `policy.clients`.
    Profile,
    /// A group, of `policy.groups`.
    Group,
}

/// Change of an item that has a name.
#[derive(Clone, Debug, PartialEq)]
pub enum ItemChange {
    /// A new one, or one in the place of another.
    Put {
        /// The name of the other.
        was: Option<String>,
        /// The item, with the keys of the configuration.
        item: serde_json::Value,
    },
    /// No longer the one of this name.
    Remove(String),
}

/// Override that is meant, among those that there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverrideKey {
    /// Outcome that it gives.
    pub action: Action,
    /// The name; none for everything.
    pub host: Option<DomainName>,
    /// For whom it is.
    pub clients: OverrideClients,
}

/// A question why something is blocked or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhyQuestion {
    /// The host asked about.
    pub host: DomainName,
    /// The absolute URL, if one was given.
    pub url: Option<String>,
    /// Who asks.
    pub client: IpAddr,
    /// What kind of thing is asked for.
    pub kind: RequestKind,
    /// At which door.
    pub door: Door,
    /// The host of the page that asks, for rules about third parties; none if that is unknown.
    pub page: Option<DomainName>,
}

impl fmt::Display for SettingsRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wrong(why) => why.fmt(f),
            Self::Fixed { why, remedy } => write!(f, "{why}; {remedy}"),
            Self::Complaints(complaints) => f.write_str(&complaints.join("; ")),
        }
    }
}

impl std::error::Error for SettingsRefusal {}
