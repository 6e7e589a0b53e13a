//! The resolver as its callers hold it: cheap to clone, usable from any thread.

use super::cache::{AnswerCache, CacheStats, Renew};
use super::engine;
use super::engine::{Command, Done};
use super::plan::Plan;
use super::question::{Cached, NoAddresses, Overloaded, Question, Resolution, ResolveError};
use super::record::{Roll, UpstreamStats};
use super::settings::ResolverSettings;
use dns_wire::record_type;
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use transport::ClientTls;
use vocab::{Complaint, Name, Now, Source};

/// Callers that wait at once, at most: several may wait for one question.
pub const WAITING_MAX: usize = 16_384;
/// When one family's addresses are there, the other's are waited for so long (RFC 8305 §3).
const OTHER_FAMILY_DELAY: Duration = Duration::from_millis(50);

/// Looks names up, and remembers.
#[derive(Clone)]
pub struct Resolver {
    shared: Arc<Shared>,
    /// Closed with the last clone, which ends the thread.
    commands: mpsc::UnboundedSender<Command>,
}

/// What callers and the resolver's thread both see.
pub(super) struct Shared {
    pub(super) cache: AnswerCache,
    pub(super) waiting: AtomicUsize,
    pub(super) roll: Roll,
}

/// Why a resolver could not be started.
#[derive(Debug)]
pub enum StartError {
    /// The settings are wrong.
    Settings(Vec<Complaint>),
    /// The thread could not be made.
    Thread(io::Error),
}

/// The state of the resolver.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResolverStats {
    /// Each upstream, in the order of the settings.
    pub upstreams: Vec<UpstreamStats>,
    /// The cache.
    pub cache: CacheStats,
    /// Callers waiting now.
    pub waiting: usize,
}

impl Resolver {
    /// Starts the resolver's thread.
    pub fn start(settings: &ResolverSettings, tls: ClientTls) -> Result<Self, StartError> {
        let plan = Plan::new(settings).map_err(StartError::Settings)?;
        let shared = Arc::new(Shared {
            cache: AnswerCache::new(&settings.cache),
            waiting: AtomicUsize::new(0),
            roll: Roll::default(),
        });
        // Bounded all the same: every sender counts itself in `waiting` first.
        let (commands, received) = mpsc::unbounded_channel();
        engine::spawn(plan, tls, Arc::clone(&shared), received).map_err(StartError::Thread)?;
        Ok(Self { shared, commands })
    }

    /// What the cache holds for `key` (see [`dns_wire::KeyBuffer`]). Allocates nothing.
    pub fn cached(&self, key: &[u8], now: Now) -> Cached {
        let looked = self.shared.cache.look(key, now);
        if looked.renew == Renew::Now && self.enter().is_ok() {
            let nobody = Done::new(None, Arc::clone(&self.shared));
            self.send(Command::Renew(Question::from_key(key), nobody));
        }
        looked.cached
    }

    /// Looks `question` up and runs `done` on the resolver's thread, which it must not hold up.
    ///
    /// Equal questions share one exchange. Beyond [`WAITING_MAX`] callers it refuses at once.
    pub fn submit(
        &self,
        question: Question,
        done: Box<dyn FnOnce(Resolution) + Send>,
    ) -> Result<(), Overloaded> {
        self.enter()?;
        self.send(Command::Ask(question, Done::new(Some(done), Arc::clone(&self.shared))));
        Ok(())
    }

    /// Looks `question` up, in the cache first.
    pub async fn resolve(&self, question: Question) -> Resolution {
        match self.cached(question.key(), transport::clock::now()) {
            Cached::Fresh { answer, age_s } => Resolution {
                result: Ok((answer, age_s)),
                source: Source::Cache,
                upstream: Arc::from(""),
            },
            Cached::Stale { answer, age_s } => Resolution {
                result: Ok((answer, age_s)),
                source: Source::Stale,
                upstream: Arc::from(""),
            },
            Cached::Miss => {
                let (sender, receiver) = oneshot::channel();
                // Whoever waited may be gone by then; the answer is in the cache all the same.
                let done = Box::new(move |resolution| drop(sender.send(resolution)));
                match self.submit(question, done) {
                    Ok(()) => {
                        receiver.await.unwrap_or_else(|_| Resolution::failed(ResolveError::Stopped))
                    }
                    Err(Overloaded) => Resolution::failed(ResolveError::Overloaded),
                }
            }
        }
    }

    /// The addresses of `host`, IPv6 and IPv4 by turns, IPv6 first (RFC 8305 §4).
    pub async fn addresses(&self, host: Name<'_>) -> Result<Vec<IpAddr>, NoAddresses> {
        let question = |qtype| Question::about(host, qtype).ok_or(NoAddresses::NoSuchName);
        let v6 = self.resolve(question(record_type::AAAA)?);
        let v4 = self.resolve(question(record_type::A)?);
        tokio::pin!(v6, v4);
        let (v6, v4) = tokio::select! {
            first = &mut v6 => (Some(first), Some(v4.await)),
            first = &mut v4 => {
                // An empty answer cannot be dialled: then the other is worth its full wait.
                let second = if found(&first).is_ok() {
                    tokio::time::timeout(OTHER_FAMILY_DELAY, v6).await.ok()
                } else {
                    Some(v6.await)
                };
                (second, Some(first))
            }
        };
        let v6 = v6.map_or(Err(NoAddresses::None), |it| found(&it));
        let v4 = v4.map_or(Err(NoAddresses::None), |it| found(&it));
        match (v6, v4) {
            (Ok(v6), Ok(v4)) => Ok(by_turns(&v6, &v4)),
            (Ok(found), Err(_)) | (Err(_), Ok(found)) => Ok(found),
            // What went wrong says more than that there is nothing.
            (Err(NoAddresses::None), Err(why)) | (Err(why), Err(_)) => Err(why),
        }
    }

    /// Takes other settings; the cache is kept, and so are the connections of upstreams that stay.
    pub fn reload(&self, settings: &ResolverSettings) -> Result<(), Vec<Complaint>> {
        let plan = Plan::new(settings)?;
        self.shared.cache.configure(&settings.cache);
        self.send(Command::Reload(Box::new(plan)));
        Ok(())
    }

    /// Where things stand.
    pub fn stats(&self) -> ResolverStats {
        ResolverStats {
            upstreams: self.shared.roll.stats(transport::clock::now()),
            cache: self.shared.cache.stats(),
            waiting: self.shared.waiting.load(Ordering::Relaxed),
        }
    }

    /// Forgets every answer.
    pub fn flush(&self) {
        self.shared.cache.clear();
    }

    /// Takes one of the places of those who wait.
    fn enter(&self) -> Result<(), Overloaded> {
        if self.shared.waiting.fetch_add(1, Ordering::Relaxed) < WAITING_MAX {
            return Ok(());
        }
        self.shared.waiting.fetch_sub(1, Ordering::Relaxed);
        Err(Overloaded)
    }

    /// The thread outlives every sender, so this fails only if it died; dropping the command then
    /// tells its caller so.
    fn send(&self, command: Command) {
        drop(self.commands.send(command));
    }
}

fn found(resolution: &Resolution) -> Result<Vec<IpAddr>, NoAddresses> {
    const NXDOMAIN: u8 = 3;
    let (answer, _) = resolution.result.as_ref().map_err(|why| NoAddresses::Failed(*why))?;
    let addresses: Vec<IpAddr> = answer.addresses().collect();
    match answer.rcode() {
        0 if addresses.is_empty() => Err(NoAddresses::None),
        0 => Ok(addresses),
        NXDOMAIN => Err(NoAddresses::NoSuchName),
        _ => Err(NoAddresses::UpstreamFailed),
    }
}

fn by_turns(first: &[IpAddr], second: &[IpAddr]) -> Vec<IpAddr> {
    let longest = first.len().max(second.len());
    (0..longest).flat_map(|i| [first.get(i), second.get(i)]).flatten().copied().collect()
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resolver").finish_non_exhaustive()
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settings(complaints) => match complaints.first() {
                Some(first) => write!(f, "the resolver's settings are wrong: {first}"),
                None => f.write_str("the resolver's settings are wrong"),
            },
            Self::Thread(why) => write!(f, "the resolver's thread could not be started: {why}"),
        }
    }
}

impl std::error::Error for StartError {}
