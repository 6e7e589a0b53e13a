//! The policy: rules and profiles together, and what they say to a request.

use crate::ask::Ask;
use crate::profiles::Profiles;
use crate::rules::Rules;
use crate::verdict::{Explanation, RuleText, Verdict};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use vocab::{Action, Cause, Name, Now, RuleRef};

/// Rules and who they hold for.
#[derive(Debug)]
pub struct Policy {
    pub(crate) rules: Arc<Rules>,
    pub(crate) profiles: Profiles,
    paused_until_ms: AtomicU64,
}

impl Policy {
    /// Joins compiled rules and profiles.
    pub fn new(rules: Arc<Rules>, profiles: Profiles) -> Self {
        Self { rules, profiles, paused_until_ms: AtomicU64::new(0) }
    }

    /// What is to be done about a request. Allocates nothing.
    pub fn decide(&self, ask: &Ask<'_>, now: Now) -> Verdict {
        if self.is_paused(now) {
            return Verdict { action: Action::Pass, cause: Cause::Paused };
        }
        let _ = ask;
        Verdict::NO_RULE
    }

    /// The same, with every rule that matches and what became of it.
    pub fn explain(&self, ask: &Ask<'_>, now: Now) -> Explanation {
        Explanation {
            verdict: self.decide(ask, now),
            winner: None,
            profile: self.profile_of(ask.client).to_owned(),
            considered: Vec::new(),
        }
    }

    /// The rule in words. `host` is the name it was matched against, for rules about plain names
    /// keep no text; none if this policy has no such rule for it.
    pub fn rule_text(&self, rule: RuleRef, host: Name<'_>) -> Option<RuleText> {
        let _ = (rule, host);
        None
    }

    /// Lets everything pass until this moment, in milliseconds since 1970; 0 ends the pause.
    pub fn pause_until(&self, unix_ms: u64) {
        self.paused_until_ms.store(unix_ms, Ordering::Relaxed);
    }

    /// Until when everything passes, in milliseconds since 1970; 0 or past if nothing is paused.
    pub fn paused_until(&self) -> u64 {
        self.paused_until_ms.load(Ordering::Relaxed)
    }

    /// The compiled rules.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The name of the profile that holds for a client.
    pub fn profile_of(&self, client: IpAddr) -> &str {
        &self.profiles.of(client).name
    }

    pub(crate) fn is_paused(&self, now: Now) -> bool {
        now.unix_ms < self.paused_until()
    }
}
