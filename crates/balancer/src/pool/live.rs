//! State of a pool while it runs, and changes to it.
//!
//! Changes last as long as the process, and as long as the file's settings of the pool stay what
//! they are. Called by `door` for the admin API.

use super::names::ResolvedEntry;
use super::queue::QueueFigures;
use super::{PoolMembers, ServerPool};
use crate::server::{PooledServer, ServerStanding};
use crate::servers_file::ServersFileError;
use crate::settings::{SERVERS_MAX, ServerDetails, ServerSettings, WEIGHT_MAX};
use latency_histogram::LatencyFigures;
use std::fmt;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};
use transport::clock;
use vocab::{Complaint, Now};

/// A pool as it is at this moment.
#[derive(Clone, Debug, PartialEq)]
pub struct PoolState {
    /// Name.
    pub name: String,
    /// Requests that were sent to it, retries not counted.
    pub requests: u64,
    /// Requests that were sent to a second server, or a third.
    pub retries: u64,
    /// Requests that wait for a server: high, normal, low.
    pub waiting: [usize; 3],
    /// Requests that have waited.
    pub queued: u64,
    /// Requests that got 503 after waiting, or because the queue was full.
    pub rejected: u64,
    /// Servers.
    pub servers: Vec<ServerState>,
    /// The names that some of them are found by.
    pub names: Vec<NameState>,
}

/// A name that servers are found by, as it is at this moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameState {
    /// URL.
    pub url: String,
    /// Records that are asked for: `addresses` or `srv`.
    pub resolve: &'static str,
    /// Number of servers it stands for.
    pub servers: usize,
    /// Why the last look-up failed, if it did; the servers that it had stay.
    pub failure: Option<String>,
    /// When the last look-up ended, in milliseconds since 1970; none before the first.
    pub looked_up_ms: Option<u64>,
    /// When the next one is due, in milliseconds since 1970; none while one is under way.
    pub next_ms: Option<u64>,
}

/// A server as it is at this moment.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerState {
    /// URL, with the address that was found for a name.
    pub url: String,
    /// The URL with that name, if it was found.
    pub found_by: Option<String>,
    /// Share that it gets beside the others.
    pub weight: u32,
    /// True if it serves only while no other is up.
    pub backup: bool,
    /// `up`, `trial` (its rest is over, one request tries it), `resting`, `down` (its checks fail)
    /// or `draining`.
    pub state: &'static str,
    /// Health by its checks: `up`, `down`, or `unknown` without checks.
    pub health: &'static str,
    /// For how many more milliseconds it rests.
    pub ejected_ms: u64,
    /// Requests that it works on.
    pub pending: u32,
    /// Answers that it gave.
    pub answers: u64,
    /// Requests that it failed.
    pub failures: u64,
    /// Time that its answers took to begin when it was last asked, in microseconds: an average that
    /// believes a slow one at once; 0 while nobody has asked.
    pub latency_us: u64,
    /// Times that its answers took to begin.
    pub times: LatencyFigures,
}

/// Tells what is to change in a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PoolChange {
    /// One more server, or name of servers.
    Add(ServerDetails),
    /// These servers in place of all that it has. What is known of those that stay, stays known;
    /// what the others work on, they may finish.
    Replace(Vec<ServerDetails>),
    /// This server, or name with all its servers, goes; what they work on, they may finish.
    Remove(String),
    /// This server gets no new clients.
    Drain(String),
    /// This server gets new clients again.
    Undrain(String),
    /// This server gets so much beside the others, from 1 to 100.
    SetWeight(String, u32),
}

/// Why a pool was not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PoolUnchanged {
    /// There is no such pool.
    NoPool(String),
    /// Has no such server.
    NoServer(String),
    /// Has this server already.
    AlreadyThere(String),
    /// This is no server but a name that servers are found by.
    Name(String),
    /// This server was found by that name, and would be found again.
    Found(String, String),
    /// Has as many servers as a pool may have.
    Full,
    /// The change itself is wrong.
    Wrong(String),
}

/// Why a pool does not take the servers of its file.
#[derive(Debug)]
pub(super) enum FileNotTaken {
    /// The file is wrong.
    File(ServersFileError),
    /// The servers in it are.
    Pool(PoolUnchanged),
}

impl fmt::Display for FileNotTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(why) => why.fmt(f),
            Self::Pool(why) => why.fmt(f),
        }
    }
}

impl fmt::Display for PoolUnchanged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPool(name) => write!(f, "there is no pool {name:?}"),
            Self::NoServer(url) => write!(f, "the pool has no server {url:?}"),
            Self::AlreadyThere(url) => write!(f, "the pool has the server {url:?} already"),
            Self::Name(url) => {
                write!(f, "{url:?} is a name that servers are found by: name one of those")
            }
            Self::Found(url, by) => write!(
                f,
                "{url:?} was found by {by:?}, and would be found again: drain it, or remove that"
            ),
            Self::Full => write!(f, "the pool has {SERVERS_MAX} servers, and can have no more"),
            Self::Wrong(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for PoolUnchanged {}

impl ServerPool {
    /// The pool called `name` as it is now.
    pub fn state(&self, name: &str, now: Now) -> PoolState {
        let QueueFigures { now: waiting, entered, refused } = self.queue.waiting();
        let members = self.members.load();
        PoolState {
            name: name.into(),
            requests: self.requests.load(Relaxed),
            retries: self.retries.load(Relaxed),
            waiting,
            queued: entered,
            rejected: refused,
            servers: members.servers.iter().map(|server| server.state(now)).collect(),
            names: members.entries.iter().map(|entry| entry.state(&members, now)).collect(),
        }
    }

    /// Changes it while it runs.
    pub fn change(self: &Arc<Self>, change: &PoolChange) -> Result<(), PoolUnchanged> {
        let turn = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let members = self.members.load_full();
        let after = match change {
            PoolChange::Add(details) => self.with(&members, details)?,
            PoolChange::Replace(written) => {
                let all: Vec<_> = written.iter().cloned().map(ServerSettings::Detailed).collect();
                first_of(self.settings.check_servers(&all))?;
                PoolMembers::of(written.iter().cloned(), Some(&members))
            }
            PoolChange::Remove(url) => members.without(url)?,
            PoolChange::Drain(url) => {
                members.find(url)?.drain();
                members.in_new_order()
            }
            PoolChange::Undrain(url) => {
                members.find(url)?.undrain();
                members.in_new_order()
            }
            PoolChange::SetWeight(url, weight) => {
                let server = members.find(url)?;
                if !(1..=WEIGHT_MAX).contains(weight) {
                    let why = format!("weight: {weight} is not from 1 to {WEIGHT_MAX}");
                    return Err(PoolUnchanged::Wrong(why));
                }
                server.set_weight(*weight);
                members.in_new_order()
            }
        };
        self.members.store(Arc::new(after));
        drop(turn);
        self.serve_line();
        Ok(())
    }

    /// Takes the servers that its file names now beside those of its settings, if that is right.
    pub(super) fn take_file(
        self: &Arc<Self>,
        found: Result<Vec<ServerDetails>, ServersFileError>,
    ) -> Result<(), FileNotTaken> {
        let all = self.with_servers_of_file(found.map_err(FileNotTaken::File)?);
        self.change(&PoolChange::Replace(all)).map_err(FileNotTaken::Pool)
    }

    /// `members` and one more, a server or a name.
    fn with(
        &self,
        members: &PoolMembers,
        details: &ServerDetails,
    ) -> Result<PoolMembers, PoolUnchanged> {
        let url = &details.url;
        first_of(self.settings.check_server(&ServerSettings::Detailed(details.clone())))?;
        if !matches!(members.find(url), Err(PoolUnchanged::NoServer(_))) {
            return Err(PoolUnchanged::AlreadyThere(url.clone()));
        }
        let (mut servers, mut entries) = (members.servers.clone(), members.entries.clone());
        if servers.len().max(entries.len()) >= SERVERS_MAX {
            return Err(PoolUnchanged::Full);
        }
        if let Some(entry) = ResolvedEntry::new(details) {
            entries.push(Arc::new(entry));
        } else {
            let wrong = || PoolUnchanged::Wrong(format!("{url:?} is no server"));
            let server = PooledServer::new(details).ok_or_else(wrong)?;
            server.start_slow_start(clock::now());
            servers.push(Arc::new(server));
        }
        Ok(PoolMembers::new(servers, entries))
    }
}

/// The first of what is wrong, if anything is.
fn first_of(complaints: Vec<Complaint>) -> Result<(), PoolUnchanged> {
    let first = complaints.into_iter().next();
    first.map_or(Ok(()), |complaint| Err(PoolUnchanged::Wrong(complaint.to_string())))
}

impl PoolMembers {
    fn named(&self, url: &str) -> Option<&Arc<ResolvedEntry>> {
        self.entries.iter().find(|entry| entry.details.url == url)
    }

    fn find(&self, url: &str) -> Result<&Arc<PooledServer>, PoolUnchanged> {
        let found = self.servers.iter().find(|server| &*server.url == url);
        found.ok_or_else(|| match self.named(url) {
            Some(_) => PoolUnchanged::Name(url.into()),
            None => PoolUnchanged::NoServer(url.into()),
        })
    }

    /// All but a server, or a name with all that it stands for.
    fn without(&self, url: &str) -> Result<Self, PoolUnchanged> {
        let (mut servers, mut entries) = (self.servers.clone(), self.entries.clone());
        if let Some(gone) = self.named(url) {
            servers.retain(|server| !gone.has_found(server));
            entries.retain(|entry| !Arc::ptr_eq(entry, gone));
        } else {
            let gone = self.find(url)?;
            if let Some(by) = &gone.found {
                return Err(PoolUnchanged::Found(url.into(), by.entry.to_string()));
            }
            servers.retain(|server| !Arc::ptr_eq(server, gone));
        }
        Ok(Self::new(servers, entries))
    }

    /// The same, their weights looked at again.
    fn in_new_order(&self) -> Self {
        Self::new(self.servers.clone(), self.entries.clone())
    }
}

impl PooledServer {
    fn state(&self, now: Now) -> ServerState {
        let (standing, counts) = (self.status(now), self.counts());
        let (state, rests_ms) = match standing {
            ServerStanding::Down => ("down", 0),
            ServerStanding::Ejected(left_ms) => ("resting", left_ms),
            ServerStanding::Up | ServerStanding::HalfOpen if self.is_draining() => ("draining", 0),
            ServerStanding::HalfOpen => ("trial", 0),
            ServerStanding::Up => ("up", 0),
        };
        ServerState {
            url: self.url.to_string(),
            found_by: self.found.as_ref().map(|by| by.entry.to_string()),
            weight: self.weight(),
            backup: self.is_backup(),
            state,
            health: self.health().as_str(),
            ejected_ms: rests_ms,
            pending: counts.pending,
            answers: counts.answers,
            failures: counts.failures,
            latency_us: self.estimate.last_us().unwrap_or(0).into(),
            times: self.times.figures(),
        }
    }
}

impl ResolvedEntry {
    fn state(&self, members: &PoolMembers, now: Now) -> NameState {
        let unix_ms = |mono_ms: u64| (now.unix_ms + mono_ms).saturating_sub(now.mono_ms);
        NameState {
            url: self.details.url.clone(),
            resolve: self.choice.as_str(),
            servers: members.servers.iter().filter(|server| self.has_found(server)).count(),
            failure: self.failure(),
            looked_up_ms: self.looked_up_ms().map(unix_ms),
            // What is overdue is due now.
            next_ms: self.next_ms().map(|due_ms| unix_ms(due_ms.max(now.mono_ms))),
        }
    }
}
