//! Locks of `WebDAV` (RFC 4918 §6 and §7), with bounds: so many in all, so many for one client, and
//! none for ever.
//!
//! They are in memory; a restart forgets them, as RFC 4918 §6.6 lets a server do. The table is
//! ours: dav-server's has no bounds and keeps what has run out. Called by dav-server.

use dav_server::davpath::DavPath;
use dav_server::ls::{DavLock, DavLockSystem, LsFuture};
use std::future::ready;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use uuid::Uuid;
use vocab::Now;
use xmltree::Element;

/// Locks of one folder at once.
const LOCKS_MAX: usize = 4096;
/// Locks of one user, or of one address where nobody has proven a name.
const LOCKS_PER_CLIENT_MAX: usize = 256;
/// Time for which a lock holds at most, unless its client says in time that it still needs it.
const HOLD_MAX: Duration = Duration::from_hours(1);

/// Locks with bounds.
#[derive(Clone, Debug)]
pub(crate) struct BoundedLocks {
    held: Arc<Mutex<Vec<HeldLock>>>,
    clock: LockClock,
}

#[derive(Debug)]
struct HeldLock {
    lock: DavLock,
    until_ms: u64,
}

/// The time of the latest request, which dav-server does not hand on.
#[derive(Clone, Debug, Default)]
pub(crate) struct LockClock(Arc<AtomicU64>);

/// Where a lock stands to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LockPlace {
    /// The path's, or one that holds all below it.
    Above,
    /// One of something below the path.
    Below,
    Elsewhere,
}

impl LockClock {
    pub(crate) fn set(&self, now: Now) {
        self.0.fetch_max(now.mono_ms, Relaxed);
    }

    /// The end of a time that begins now.
    fn end_ms(&self, time: Duration) -> u64 {
        self.0.load(Relaxed).saturating_add(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
    }
}

impl BoundedLocks {
    pub(crate) fn new(clock: &LockClock) -> Self {
        Self { held: Arc::default(), clock: clock.clone() }
    }

    /// The locks that still hold.
    fn held(&self) -> MutexGuard<'_, Vec<HeldLock>> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let now_ms = self.clock.end_ms(Duration::ZERO);
        held.retain(|it| it.until_ms > now_ms);
        held
    }

    fn take(&self, lock: DavLock) -> Result<DavLock, DavLock> {
        let mut held = self.held();
        let place = |it: &HeldLock| place(&it.lock, &lock.path);
        let conflict = held.iter().find(|it| {
            let meets = match place(it) {
                LockPlace::Above => true,
                LockPlace::Below => lock.deep,
                LockPlace::Elsewhere => false,
            };
            meets && !(it.lock.shared && lock.shared)
        });
        if let Some(conflict) = conflict {
            return Err(conflict.lock.clone());
        }
        let of_client = held.iter().filter(|it| it.lock.principal == lock.principal).count();
        if held.len() >= LOCKS_MAX || of_client >= LOCKS_PER_CLIENT_MAX {
            return Err(lock);
        }
        let until_ms = self.clock.end_ms(lock.timeout.unwrap_or(HOLD_MAX));
        held.push(HeldLock { lock: lock.clone(), until_ms });
        Ok(lock)
    }

    /// Looks for a lock that keeps a change of `path` away, by whoever has these tokens.
    fn conflict(
        &self,
        path: &DavPath,
        deep: bool,
        has: impl Fn(&DavLock) -> bool,
    ) -> Option<DavLock> {
        let held = self.held();
        let at =
            |wanted| held.iter().map(|it| &it.lock).filter(move |it| place(it, path) == wanted);
        let has_one = at(LockPlace::Above).any(&has);
        // Who shares a lock may change what it holds.
        let above = at(LockPlace::Above).find(|it| !(has(it) || it.shared && has_one));
        let below = at(LockPlace::Below).find(|it| deep && !has(it));
        above.or(below).cloned()
    }
}

/// The names of a path.
fn names(path: &DavPath) -> impl Iterator<Item = &[u8]> {
    path.as_bytes().split(|byte| *byte == b'/').filter(|name| !name.is_empty())
}

fn place(lock: &DavLock, path: &DavPath) -> LockPlace {
    let (mut of_lock, mut of_path) = (names(&lock.path), names(path));
    loop {
        match (of_lock.next(), of_path.next()) {
            (Some(one), Some(other)) if one == other => {}
            (None, None) => return LockPlace::Above,
            (None, Some(_)) if lock.deep => return LockPlace::Above,
            (Some(_), None) => return LockPlace::Below,
            (None | Some(_), Some(_)) => return LockPlace::Elsewhere,
        }
    }
}

impl DavLockSystem for BoundedLocks {
    fn lock(
        &'_ self,
        path: &DavPath,
        principal: Option<&str>,
        owner: Option<&Element>,
        timeout: Option<Duration>,
        shared: bool,
        deep: bool,
    ) -> LsFuture<'_, Result<DavLock, DavLock>> {
        let lock = DavLock {
            token: Uuid::new_v4().urn().to_string(),
            path: Box::new(path.clone()),
            principal: principal.map(str::to_owned),
            owner: owner.map(|owner| Box::new(owner.clone())),
            timeout_at: None,
            timeout: Some(timeout.unwrap_or(HOLD_MAX).min(HOLD_MAX)),
            shared,
            deep,
        };
        Box::pin(ready(self.take(lock)))
    }

    fn unlock(&'_ self, path: &DavPath, token: &str) -> LsFuture<'_, Result<(), ()>> {
        let mut held = self.held();
        let before = held.len();
        held.retain(|it| it.lock.token != token || place(&it.lock, path) != LockPlace::Above);
        let is_gone = held.len() < before;
        Box::pin(ready(if is_gone { Ok(()) } else { Err(()) }))
    }

    fn refresh(
        &'_ self,
        path: &DavPath,
        token: &str,
        timeout: Option<Duration>,
    ) -> LsFuture<'_, Result<DavLock, ()>> {
        let timeout = timeout.unwrap_or(HOLD_MAX).min(HOLD_MAX);
        let mut held = self.held();
        let is_meant = |it: &&mut HeldLock| {
            it.lock.token == token && place(&it.lock, path) == LockPlace::Above
        };
        let renewed = held.iter_mut().find(is_meant).map(|it| {
            it.until_ms = self.clock.end_ms(timeout);
            it.lock.timeout = Some(timeout);
            it.lock.clone()
        });
        Box::pin(ready(renewed.ok_or(())))
    }

    fn check(
        &'_ self,
        path: &DavPath,
        principal: Option<&str>,
        ignore_principal: bool,
        deep: bool,
        submitted_tokens: &[String],
    ) -> LsFuture<'_, Result<(), DavLock>> {
        let conflict = self.conflict(path, deep, |lock| {
            submitted_tokens.contains(&lock.token)
                && (ignore_principal || lock.principal.as_deref() == principal)
        });
        Box::pin(ready(conflict.map_or(Ok(()), Err)))
    }

    fn discover(&'_ self, path: &DavPath) -> LsFuture<'_, Vec<DavLock>> {
        let held = self.held();
        let found = held.iter().filter(|it| place(&it.lock, path) == LockPlace::Above);
        Box::pin(ready(found.map(|it| it.lock.clone()).collect()))
    }

    fn delete(&'_ self, path: &DavPath) -> LsFuture<'_, Result<(), ()>> {
        self.held().retain(|it| {
            let is_same = names(&it.lock.path).eq(names(path));
            !is_same && place(&it.lock, path) != LockPlace::Below
        });
        Box::pin(ready(Ok(())))
    }
}

#[cfg(test)]
mod tests;
