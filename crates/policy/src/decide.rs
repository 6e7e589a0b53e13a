//! The policy: rules and profiles together, and what they say to a request.
//!
//! Pure: the time comes with the request, and nothing here waits, writes or forgets. Deciding
//! allocates nothing, but for a regular expression that is met for the first time. Asked by every
//! door.

use crate::aliased::Aliased;
use crate::ask::Ask;
use crate::profiles::Profiles;
use crate::request::{Request, URL_BYTES_MAX};
use crate::rules::Rules;
use crate::verdict::{RuleText, Verdict};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use vocab::{Action, Cause, Kind, Name, Now, RuleRef};

/// Rules, who they hold for, and whether they are in force.
#[derive(Debug)]
pub struct Policy {
    pub(crate) rules: Arc<Rules>,
    pub(crate) profiles: Profiles,
    paused_until_ms: AtomicU64,
    aliased: Aliased,
}

impl Policy {
    /// Joins compiled rules and profiles.
    pub fn new(rules: Arc<Rules>, profiles: Profiles) -> Self {
        Self { rules, profiles, paused_until_ms: AtomicU64::new(0), aliased: Aliased::default() }
    }

    /// What is to be done about a request: an important exception passes before an important block
    /// blocks, that before an exception passes, that before a block blocks. Allocates nothing.
    pub fn decide(&self, ask: &Ask<'_>, now: Now) -> Verdict {
        if let Some(verdict) = self.verdict_for_all(now) {
            return verdict;
        }
        let verdict = self.with_request(ask, |request| self.rules.judge(request));
        // A look-up has its aliases judged by the DNS door itself, answer by answer.
        if verdict == Verdict::NO_RULE
            && !matches!(ask.kind, Kind::Lookup(_))
            && let Some(behind) = self.aliased.behind(ask.host, now)
        {
            return Verdict { action: Action::Block, cause: Cause::Rule(behind.rule) };
        }
        verdict
    }

    /// What is to be done about any request at this moment, where it makes no difference what it asks
    /// for: nothing is in force, or there are no rules. None where rules have to be asked.
    pub fn verdict_for_all(&self, now: Now) -> Option<Verdict> {
        if self.is_paused(now) {
            return Some(Verdict { action: Action::Pass, cause: Cause::Paused });
        }
        (self.rules.is_empty() && self.aliased.is_empty()).then_some(Verdict::NO_RULE)
    }

    /// Notes that `name` is blocked because `alias`, which stands behind it, is blocked by `rule`.
    /// From then on other doors block it too, until an hour after its last look-up.
    pub fn note_alias(&self, name: Name<'_>, alias: Name<'_>, rule: RuleRef, now: Now) {
        self.aliased.note(name, alias, rule, now);
    }

    /// The rule in words. `host` is the name it was matched against, for rules about plain names
    /// keep no text; none if this policy has no such rule for it. Where the rule is about an alias of
    /// `host` that was noted, its text is that of the alias.
    pub fn rule_text(&self, rule: RuleRef, host: Name<'_>) -> Option<RuleText> {
        self.own_rule_text(rule, host).or_else(|| {
            let alias = self.aliased.alias_of(host, rule)?;
            self.own_rule_text(rule, alias.as_name())
        })
    }

    fn own_rule_text(&self, rule: RuleRef, host: Name<'_>) -> Option<RuleText> {
        let rules = &self.rules;
        let list = rules.lists.get(usize::from(rule.list.0))?.name.clone();
        let text = if let Some(found) = rules.table.by_ref(rule) {
            rules.table.text(found).to_owned()
        } else {
            let mut text = None;
            rules.names.visit(&rules.keys, host.as_str(), |row| {
                if !row.tag.is_modified() && row.rule() == rule {
                    text = Some(row.text(host));
                }
            });
            text?
        };
        Some(RuleText { list, line: rule.line, text })
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

    /// Makes the request ready for the rules: the copy of the URL in lower case is on the stack.
    #[inline]
    pub(crate) fn with_request<R>(
        &self,
        ask: &Ask<'_>,
        judge: impl FnOnce(&Request<'_>) -> R,
    ) -> R {
        let profile = self.profiles.of(ask.client);
        let keys = &self.rules.keys;
        match ask.url {
            None => judge(&Request::of_name(ask, keys, profile)),
            Some(url) => {
                let mut lower = [0; URL_BYTES_MAX];
                judge(&Request::of_url(ask, url, &mut lower, keys, profile))
            }
        }
    }
}
