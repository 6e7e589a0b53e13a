//! What can be seen of a pool while it runs, and what can be changed of it.
//!
//! Changes last as long as the process, and as long as the file's settings of the pool stay what they
//! are. Called by `door` for the admin API.

use super::queue::Waiting;
use super::server::{Server, Standing};
use super::{Members, Pool};
use crate::settings::{SERVERS_MAX, ServerDetails, ServerSettings, WEIGHT_MAX};
use std::fmt;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};
use transport::clock;
use vocab::Now;

/// A pool as it is at this moment.
#[derive(Clone, Debug, PartialEq)]
pub struct PoolState {
    /// Its name.
    pub name: String,
    /// Requests that were sent to it, retries not counted.
    pub requests: u64,
    /// Requests that were sent to a second server, or a third.
    pub retries: u64,
    /// Requests that wait for a server: high, normal, low.
    pub waiting: [usize; 3],
    /// Requests that have waited.
    pub waited: u64,
    /// Those among them, and those that found the line full, that got 503.
    pub unserved: u64,
    /// Its servers.
    pub servers: Vec<ServerState>,
}

/// A server as it is at this moment.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerState {
    /// Its URL.
    pub url: String,
    /// How much it gets beside the others.
    pub weight: u32,
    /// Whether it serves only while no other is up.
    pub backup: bool,
    /// `up`, `trial` (its rest is over, one request tries it), `resting`, `down` (its checks fail) or
    /// `draining`.
    pub state: &'static str,
    /// What its checks say: `up`, `down`, or `unknown` without checks.
    pub health: &'static str,
    /// For how many more milliseconds it rests.
    pub rests_ms: u64,
    /// Requests that it works on.
    pub pending: u32,
    /// Answers that it gave.
    pub answers: u64,
    /// Requests that it failed.
    pub failures: u64,
    /// How long its answers take to begin, in microseconds: the average by which it is chosen;
    /// 0 while nobody has asked.
    pub latency_us: u64,
}

/// What is to change in a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PoolChange {
    /// One more server.
    Add(ServerDetails),
    /// This server goes; what it works on, it may finish.
    Remove(String),
    /// This server gets no new clients.
    Drain(String),
    /// This server gets new clients again.
    Undrain(String),
    /// This server gets so much beside the others, from 1 to 100.
    Weigh(String, u32),
}

/// Why a pool was not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unchanged {
    /// There is no such pool.
    NoPool(String),
    /// It has no such server.
    NoServer(String),
    /// It has this server already.
    Known(String),
    /// It has as many servers as a pool may have.
    Full,
    /// What was sent is wrong.
    Wrong(String),
}

impl fmt::Display for Unchanged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPool(name) => write!(f, "there is no pool {name:?}"),
            Self::NoServer(url) => write!(f, "the pool has no server {url:?}"),
            Self::Known(url) => write!(f, "the pool has the server {url:?} already"),
            Self::Full => write!(f, "the pool has {SERVERS_MAX} servers, and can have no more"),
            Self::Wrong(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Unchanged {}

impl Pool {
    /// The pool called `name` as it is now.
    pub(crate) fn state(&self, name: &str, now: Now) -> PoolState {
        let Waiting { now: waiting, entered, refused } = self.queue.waiting();
        PoolState {
            name: name.into(),
            requests: self.requests.load(Relaxed),
            retries: self.retries.load(Relaxed),
            waiting,
            waited: entered,
            unserved: refused,
            servers: self.members.load().servers.iter().map(|server| server.state(now)).collect(),
        }
    }

    /// Changes it while it runs.
    pub(crate) fn change(self: &Arc<Self>, change: &PoolChange) -> Result<(), Unchanged> {
        let turn = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut servers = self.members.load().servers.clone();
        let find = |url: &str| {
            let found = servers.iter().position(|server| &*server.url == url);
            found.ok_or_else(|| Unchanged::NoServer(url.into()))
        };
        match change {
            PoolChange::Add(details) => {
                let settings = ServerSettings::Detailed(details.clone());
                if let Some(complaint) = self.settings.check_server(&settings).into_iter().next() {
                    return Err(Unchanged::Wrong(complaint.to_string()));
                }
                if find(&details.url).is_ok() {
                    return Err(Unchanged::Known(details.url.clone()));
                }
                if servers.len() >= SERVERS_MAX {
                    return Err(Unchanged::Full);
                }
                let wrong = || Unchanged::Wrong(format!("{:?} is no server", details.url));
                let server = Server::new(details).ok_or_else(wrong)?;
                server.begin(clock::now());
                servers.push(Arc::new(server));
            }
            PoolChange::Remove(url) => {
                servers.remove(find(url)?);
            }
            PoolChange::Drain(url) => servers[find(url)?].drain(),
            PoolChange::Undrain(url) => servers[find(url)?].undrain(),
            PoolChange::Weigh(url, weight) => {
                let server = &servers[find(url)?];
                if !(1..=WEIGHT_MAX).contains(weight) {
                    let why = format!("weight: {weight} is not from 1 to {WEIGHT_MAX}");
                    return Err(Unchanged::Wrong(why));
                }
                server.weigh(*weight);
            }
        }
        self.members.store(Arc::new(Members::new(servers)));
        drop(turn);
        self.serve_line();
        Ok(())
    }
}

impl Server {
    fn state(&self, now: Now) -> ServerState {
        let (standing, counts) = (self.standing(now), self.counts());
        let (state, rests_ms) = match standing {
            Standing::Down => ("down", 0),
            Standing::Resting(left_ms) => ("resting", left_ms),
            Standing::Up | Standing::OnTrial if self.is_draining() => ("draining", 0),
            Standing::OnTrial => ("trial", 0),
            Standing::Up => ("up", 0),
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "of a u32")]
        let latency_us = self.estimate.us(now).unwrap_or(0.0) as u64;
        ServerState {
            url: self.url.to_string(),
            weight: self.weight(),
            backup: self.backup,
            state,
            health: self.health().as_str(),
            rests_ms,
            pending: counts.pending,
            answers: counts.answers,
            failures: counts.failures,
            latency_us,
        }
    }
}
