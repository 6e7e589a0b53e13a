//! CNAME cloaking: names that are blocked because of an alias.
//!
//! A tracker hides as `metrics.shop.example`, an alias (CNAME) of a blocked name. Only those who
//! look it up see that, the DNS door and the proxy; they have it noted here, so that the pixel door
//! answers for it, the signer certifies it, and `why` explains it. Bounded, and forgotten with the
//! policy that it was decided by.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use vocab::{DomainName, Name, Now, RuleRef};

/// Most names remembered. A page hides a handful; at the cap the oldest half is forgotten, and
/// comes back with its next look-up.
const NAMES_MAX: usize = 4096;
/// For how long after its last look-up a name is remembered: browsers keep an address for a minute
/// whatever its time to live, and connections to it for longer.
const ENTRY_TTL_MS: u64 = 60 * 60 * 1000;

/// The names.
#[derive(Debug, Default)]
pub(crate) struct CnameTable {
    names: Mutex<HashMap<Box<str>, CnameCloak>>,
    /// True if a name was ever noted: until then nobody waits for the lock.
    has_entries: AtomicBool,
}

/// Holds what stands behind a name.
#[derive(Clone, Debug)]
pub(crate) struct CnameCloak {
    /// The blocked name.
    pub(crate) alias: DomainName,
    /// The rule that blocks it.
    pub(crate) rule: RuleRef,
    noted_ms: u64,
}

impl CnameTable {
    /// True if no name was ever noted.
    pub(crate) fn is_empty(&self) -> bool {
        !self.has_entries.load(Ordering::Acquire)
    }

    /// Notes that an alias of `name` is blocked by `rule`.
    pub(crate) fn note(&self, name: Name<'_>, alias: Name<'_>, rule: RuleRef, now: Now) {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = names.get_mut(name.as_str())
            && known.rule == rule
        {
            known.noted_ms = now.unix_ms;
            return;
        }
        if names.len() >= NAMES_MAX {
            let mut times: Vec<u64> = names.values().map(|behind| behind.noted_ms).collect();
            let (_, middle, _) = times.select_nth_unstable(NAMES_MAX / 2);
            let middle = *middle;
            names.retain(|_, behind| behind.noted_ms > middle);
        }
        let behind = CnameCloak { alias: alias.to_owned(), rule, noted_ms: now.unix_ms };
        names.insert(name.as_str().into(), behind);
        self.has_entries.store(true, Ordering::Release);
    }

    /// Returns what was noted of a name, if it is not too long ago.
    pub(crate) fn lookup(&self, name: Name<'_>, now: Now) -> Option<CnameCloak> {
        if self.is_empty() {
            return None;
        }
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let behind = names.get(name.as_str())?;
        (now.unix_ms.saturating_sub(behind.noted_ms) < ENTRY_TTL_MS).then(|| behind.clone())
    }

    /// The blocked name behind a name, however long ago: for the texts of rules in the log.
    pub(crate) fn alias_of(&self, name: Name<'_>) -> Option<DomainName> {
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.get(name.as_str()).map(|behind| behind.alias.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vocab::ListId;

    const RULE: RuleRef = RuleRef { list: ListId(0), line: 7 };

    fn name(text: &str) -> Name<'_> {
        Name::from_lowercase(text).unwrap()
    }

    fn at(unix_ms: u64) -> Now {
        Now { unix_ms, mono_ms: unix_ms }
    }

    #[test]
    fn a_name_is_remembered_for_an_hour_after_its_last_look_up() {
        let aliased = CnameTable::default();
        aliased.note(name("m.example"), name("t.example"), RULE, at(0));
        aliased.note(name("m.example"), name("t.example"), RULE, at(1000));
        assert_eq!(aliased.lookup(name("m.example"), at(ENTRY_TTL_MS)).unwrap().rule, RULE);
        assert!(aliased.lookup(name("m.example"), at(ENTRY_TTL_MS + 1000)).is_none());
        assert!(aliased.lookup(name("x.example"), at(0)).is_none());
    }

    #[test]
    fn a_flood_of_names_forgets_the_oldest() {
        let aliased = CnameTable::default();
        for number in 0..NAMES_MAX as u64 * 3 {
            let text = format!("n{number}.example");
            aliased.note(name(&text), name("t.example"), RULE, at(number));
        }
        let kept = aliased.names.lock().unwrap().len();
        assert!((NAMES_MAX / 2..=NAMES_MAX).contains(&kept), "{kept}");
        let last = format!("n{}.example", NAMES_MAX * 3 - 1);
        assert!(aliased.lookup(name(&last), at(NAMES_MAX as u64 * 3)).is_some());
    }
}
