//! The time that a hook may take, watched from within.
//!
//! The virtual machine asks at each call and each turn of a loop whether to go on. The clock is
//! read at one in sixteen of these: a hook of a few lines never reads it. Between two readings at
//! most a quarter of the limit counts, so that no hook fails because its core had other work.

use mlua::{Error, Lua, VmState};
use std::cell::Cell;
use std::time::{Duration, Instant};

/// Questions between two readings of the clock, while they come fast.
const TICKS: u32 = 16;

/// Calls that are looked through for one of the script's own lines.
const CALLS_SEARCHED: usize = 16;

/// The time limit of the hook that runs.
#[derive(Default)]
pub(crate) struct HookDeadline {
    /// Questions until the next reading.
    ticks: Cell<u32>,
    read_at: Cell<Option<Instant>>,
    used: Cell<Duration>,
    limit: Cell<Duration>,
    is_over: Cell<bool>,
}

impl HookDeadline {
    /// Gives the hook that begins now so long.
    pub(crate) fn begin(&self, limit: Duration) {
        self.ticks.set(TICKS);
        self.read_at.set(None);
        self.used.set(Duration::ZERO);
        self.limit.set(limit);
        self.is_over.set(false);
    }

    /// Goes on, or ends the hook by an error. Once over, every further call and turn ends: a script
    /// that catches errors gets no further.
    pub(crate) fn check(&self, lua: &Lua) -> mlua::Result<VmState> {
        let ticks = self.ticks.get().saturating_sub(1);
        if ticks > 0 {
            self.ticks.set(ticks);
            return Ok(VmState::Continue);
        }
        let (now, limit) = (Instant::now(), self.limit.get());
        let passed = self.read_at.replace(Some(now)).map(|before| now - before);
        let passed = passed.unwrap_or_default();
        self.used.set(self.used.get() + passed.min(limit / 4));
        // Whoever takes long between two questions is asked at each of them.
        self.ticks.set(if passed > limit / 4 { 1 } else { TICKS });
        if self.is_over.get() || self.used.get() > limit {
            self.is_over.set(true);
            self.ticks.set(1);
            let place = running_line(lua).map(|(name, line)| format!("{name}:{line}: "));
            let place = place.unwrap_or_default();
            return Err(Error::runtime(format!("{place}it ran for more than {limit:?}")));
        }
        Ok(VmState::Continue)
    }

    /// True if the hook was ended.
    pub(crate) const fn is_over(&self) -> bool {
        self.is_over.get()
    }

    /// Time that the hook took, as far as it was watched: zero for a short one.
    pub(crate) fn used(&self) -> Duration {
        let since = self.read_at.get().map(|read_at| read_at.elapsed().min(self.limit.get() / 4));
        self.used.get() + since.unwrap_or_default()
    }
}

/// The line of a script that runs, with the name of its file.
pub(crate) fn running_line(lua: &Lua) -> Option<(String, u32)> {
    (0..CALLS_SEARCHED).find_map(|level| {
        lua.inspect_stack(level, |call| {
            let line = u32::try_from(call.current_line()?).ok()?;
            Some((call.source().short_src?.into_owned(), line))
        })?
    })
}
