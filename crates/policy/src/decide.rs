//! The policy: rules and profiles together, and what they say to a request.
//!
//! Pure: the time comes with the request, and nothing here waits, writes or forgets. Deciding
//! allocates nothing, but for a regular expression that is met for the first time. Asked by every
//! door.

use crate::ask::{Ask, ClientIdentity};
use crate::block_page::BlockPage;
use crate::clients::overrides::{
    NameOverride, OverrideClients, OverrideEnd, OverrideTable, OverridesFull,
};
use crate::cname_cloaking::{CnameCloak, CnameTable};
use crate::hook::{PolicyHook, VerdictHook};
use crate::profiles::ClientProfiles;
use crate::request::{RuleRequest, URL_BYTES_MAX};
use crate::rules::RuleSet;
use crate::settings::BlockStyle;
use crate::verdict::{RewrittenAnswer, RuleText, StandInId, TrimmedUrl, Verdict, VerdictManner};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use vocab::{
    Action, Cause, DomainName, Door, LinkInfoNeeds, ListId, Name, Now, RequestKind, RuleRef,
};

/// Rules, who they hold for, and whether they are in force.
#[derive(Debug)]
pub struct Policy {
    pub(crate) rules: Arc<RuleSet>,
    pub(crate) profiles: ClientProfiles,
    paused_until_ms: AtomicU64,
    cnames: CnameTable,
    pub(crate) overrides: OverrideTable,
    list_times: Vec<Option<u64>>,
    block_page: Option<BlockPage>,
    pub(crate) hook: PolicyHook,
}

impl Policy {
    /// Joins compiled rules and profiles.
    pub fn new(rules: Arc<RuleSet>, profiles: ClientProfiles) -> Self {
        Self {
            rules,
            profiles,
            paused_until_ms: AtomicU64::new(0),
            cnames: CnameTable::default(),
            overrides: OverrideTable::default(),
            list_times: Vec::new(),
            block_page: None,
            hook: PolicyHook::default(),
        }
    }

    /// The same, knowing when each list last changed, in milliseconds since 1970, as far as that is
    /// known; in the order of the lists.
    #[must_use]
    pub fn with_list_times(self, list_times: Vec<Option<u64>>) -> Self {
        Self { list_times, ..self }
    }

    /// The same with the owner's page for people whose request is blocked.
    #[must_use]
    pub fn with_block_page(self, block_page: Option<BlockPage>) -> Self {
        Self { block_page, ..self }
    }

    /// The same with a hook that may give other verdicts than the rules.
    #[must_use]
    pub fn with_hook(self, hook: Option<Arc<dyn VerdictHook>>) -> Self {
        Self { hook: PolicyHook(hook), ..self }
    }

    /// The hook that may give other verdicts than the rules.
    pub const fn hook(&self) -> Option<&Arc<dyn VerdictHook>> {
        self.hook.0.as_ref()
    }

    /// The owner's page for people whose request is blocked, if there is one.
    pub const fn block_page(&self) -> Option<&BlockPage> {
        self.block_page.as_ref()
    }

    /// When a list last changed, in milliseconds since 1970; none where nobody knows.
    pub fn list_changed_ms(&self, list: ListId) -> Option<u64> {
        self.list_times.get(usize::from(list.0)).copied().flatten()
    }

    /// Returns what is to be done about a request: rules that rewrite a look-up come first; an
    /// important exception passes before an important block blocks, that before an exception
    /// passes, that before a block blocks. A hook has the last word, but for pauses and overrides.
    /// Allocates nothing without one.
    pub fn decide(&self, ask: &Ask<'_>, now: Now) -> Verdict {
        if let Some(verdict) = self.verdict_for_all(now) {
            return verdict;
        }
        let verdict = self.by_rules(ask, now);
        let opposite = verdict.action.opposite();
        if !self.overrides.may_have(opposite, now) || !self.is_overridden(ask, opposite, now) {
            return verdict;
        }
        match opposite {
            Action::Pass => Verdict::usual(Action::Pass, Cause::Paused),
            Action::Block => Verdict::usual(Action::Block, Cause::ByHand),
        }
    }

    /// The verdict on a request that another blocker may have sent to the pixel door: that of
    /// `decide`, but where no rule speaks for the name, a block.
    pub fn decide_any_name(&self, ask: &Ask<'_>, now: Now) -> Verdict {
        self.block_unnamed(self.decide(ask, now), ask, now)
    }

    /// The same for whoever has asked `decide` already, which said `verdict`.
    pub fn block_unnamed(&self, verdict: Verdict, ask: &Ask<'_>, now: Now) -> Verdict {
        if verdict != Verdict::NO_RULE {
            return verdict;
        }
        match self.with_request(ask, now, |request| self.rules.exception(request)) {
            Some(rule) => Verdict::usual(Action::Pass, Cause::Rule(rule)),
            None => Verdict::usual(Action::Block, Cause::OtherBlocker),
        }
    }

    /// Returns what the rules and the hook say, as if there were no pause and no leave.
    fn by_rules(&self, ask: &Ask<'_>, now: Now) -> Verdict {
        self.hook.review(ask, self.by_lists(ask, now))
    }

    /// The same without the hook.
    pub(crate) fn by_lists(&self, ask: &Ask<'_>, now: Now) -> Verdict {
        let verdict = self.with_request(ask, now, |request| self.rules.evaluate(request));
        // A look-up has its aliases judged by whoever makes it, answer by answer.
        if verdict == Verdict::NO_RULE
            && !matches!(ask.kind, RequestKind::Lookup(_))
            && let Some(behind) = self.cnames.lookup(ask.host, now)
            && let Some(cause) = self.blocked_by_cname(&behind, ask, now)
        {
            return Verdict::usual(Action::Block, cause);
        }
        verdict
    }

    /// Why what stands behind a name is blocked for whoever asks, if it is. At the pixel door it
    /// is: nobody else was sent there. Other doors are asked by others too: another rule or none
    /// may be for them, or an exception of theirs may name the name itself.
    fn blocked_by_cname(&self, behind: &CnameCloak, ask: &Ask<'_>, now: Now) -> Option<Cause> {
        if ask.door == Door::Pixel {
            return Some(Cause::Rule(behind.rule));
        }
        let look_up = Ask::addresses(behind.alias.as_name(), ask.client);
        let look_up = Ask { identity: ask.identity, ..look_up };
        let verdict = self.with_request(&look_up, now, |request| self.rules.evaluate(request));
        let itself = Ask { host: ask.host, ..look_up };
        let is_by_rule = verdict.action == Action::Block && verdict.cause != Cause::Unlisted;
        let is_blocked = is_by_rule && !self.is_excepted(&itself, now);
        is_blocked.then_some(verdict.cause)
    }

    /// True if anything may pass at this moment that rules block. Costs two loads.
    pub fn has_exemptions(&self, now: Now) -> bool {
        self.is_paused(now) || self.overrides.may_have(Action::Pass, now)
    }

    /// True if a request passes for an override or a pause alone: a rule would block it.
    pub fn is_exempt(&self, ask: &Ask<'_>, now: Now) -> bool {
        self.has_exemptions(now)
            && self.is_overridden(ask, Action::Pass, now)
            && self.by_rules(ask, now).action == Action::Block
    }

    /// True if an override, or a pause, gives the request this outcome, whatever rules say.
    fn is_overridden(&self, ask: &Ask<'_>, action: Action, now: Now) -> bool {
        if self.is_paused(now) {
            return action == Action::Pass;
        }
        self.by_hand(ask, now, |held| held.action) == Some(action)
    }

    /// Reads the override in force for a request, if there is one.
    fn by_hand<R>(&self, ask: &Ask<'_>, now: Now, read: impl Fn(&NameOverride) -> R) -> Option<R> {
        let profile = || self.profiles.of(ask.client, ask.identity).name.as_str();
        self.overrides.in_force(ask, profile, now, read)
    }

    /// Returns what is to be done about any request at this moment, where it makes no difference
    /// what it asks for: nothing is in force, or there are no rules. None where rules have to be
    /// asked.
    pub fn verdict_for_all(&self, now: Now) -> Option<Verdict> {
        if self.is_paused(now) {
            return Some(Verdict::usual(Action::Pass, Cause::Paused));
        }
        let is_nothing_ruled = self.hook.0.is_none()
            && self.rules.is_empty()
            && self.cnames.is_empty()
            && !self.overrides.may_have(Action::Block, now);
        (is_nothing_ruled && !self.profiles.block_unlisted()).then_some(Verdict::NO_RULE)
    }

    /// True if the name that is asked for and every name directly below it are blocked, for whoever
    /// asks and, as far as exceptions and overrides go, for everybody. `false` where that
    /// cannot be told.
    pub fn blocks_all_subdomains(&self, ask: &Ask<'_>, now: Now) -> bool {
        self.verdict_for_all(now).is_none()
            && !self.overrides.touch(ask.host.as_str(), now)
            && self.with_request(ask, now, |request| self.rules.blocks_all_subdomains(request))
    }

    /// The answer to a look-up whose verdict has [`VerdictManner::Rewrite`], to the same question
    /// at the same moment. Allocates.
    pub fn rewritten(&self, ask: &Ask<'_>, now: Now) -> Option<RewrittenAnswer> {
        let kept = self.decide(ask, now).manner == VerdictManner::Rewrite;
        if kept { self.with_request(ask, now, |it| self.rules.rewritten(it)) } else { None }
    }

    /// The name of the stand-in that a verdict of this policy speaks of.
    pub fn stand_in(&self, id: StandInId) -> Option<&str> {
        self.rules.answers.stand_in(id.0).map(|stand_in| &*stand_in.name)
    }

    /// The URL to ask for in place of one that passes, where rules take parameters off it. Costs
    /// nothing without such rules or parameters; allocates where there are both.
    pub fn remove_parameters(&self, ask: &Ask<'_>, now: Now) -> Option<TrimmedUrl> {
        if self.rules.indexes.parameter_removals.is_empty() {
            return None;
        }
        let url = ask.url.filter(|url| url.contains('?') && !self.is_paused(now))?;
        if self.is_overridden(ask, Action::Pass, now) {
            return None;
        }
        self.with_request(ask, now, |request| self.rules.without_parameters(request, url))
    }

    /// Gives a verdict by hand; one for the same name and clients is replaced.
    pub fn set_override(&self, made: NameOverride, now: Now) -> Result<(), OverridesFull> {
        self.overrides.set(made, now)
    }

    /// Ends an override now, of everything where no host is named; says which, if there was one.
    pub fn end_override(
        &self,
        action: Action,
        host: Option<&DomainName>,
        clients: &OverrideClients,
        now: Now,
    ) -> Option<NameOverride> {
        self.overrides.end(action, host.map_or("", DomainName::as_str), clients, now)
    }

    /// The overrides that have not ended. Whoever makes a new policy makes them there again.
    pub fn overrides(&self, now: Now) -> Vec<NameOverride> {
        self.overrides.all(now)
    }

    /// The override that is asked about a request, if there is one; a pause is one for everything.
    pub(crate) fn override_in_force(&self, ask: &Ask<'_>, now: Now) -> Option<NameOverride> {
        if self.is_paused(now) {
            let until = OverrideEnd::Time(self.paused_until());
            let (action, clients) = (Action::Pass, OverrideClients::Everyone);
            return Some(NameOverride { action, host: None, clients, until });
        }
        self.by_hand(ask, now, NameOverride::clone)
    }

    /// Why a name that no rule blocks is blocked all the same: upstreams say that it is an alias
    /// (CNAME) of `alias`, which is, and no exception names it. `ask` is the look-up of the name.
    /// The other doors see the name alone, so what stands behind it is noted for them.
    pub fn check_cname(&self, ask: &Ask<'_>, alias: Name<'_>, now: Now) -> Option<Cause> {
        let verdict = self.decide(&Ask { host: alias, ..*ask }, now);
        // Who lets a name pass lets it pass by whatever names stand behind it, and who blocks one
        // by hand means that one.
        let by_no_rule = matches!(verdict.cause, Cause::Unlisted | Cause::ByHand);
        let is_by_rule = verdict.action == Action::Block && !by_no_rule;
        if !is_by_rule || self.is_excepted(ask, now) {
            return None;
        }
        if let Cause::Rule(rule) = verdict.cause {
            self.note_alias(ask.host, alias, rule, now);
        }
        Some(verdict.cause)
    }

    /// True if an exception holds for the name asked for. A verdict names exceptions only where
    /// they overrule something.
    fn is_excepted(&self, ask: &Ask<'_>, now: Now) -> bool {
        self.with_request(ask, now, |request| self.rules.exception(request)).is_some()
    }

    /// Notes that `name` is blocked because `alias`, which stands behind it, is blocked by `rule`.
    /// From then on other doors block it too, until an hour after its last look-up.
    pub fn note_alias(&self, name: Name<'_>, alias: Name<'_>, rule: RuleRef, now: Now) {
        self.cnames.note(name, alias, rule, now);
    }

    /// The rule in words. `host` is the name it was matched against, for rules about plain names
    /// keep no text; none if this policy has no such rule for it. Where the rule is about an alias
    /// of `host` that was noted, its text is that of the alias.
    pub fn rule_text(&self, rule: RuleRef, host: Name<'_>) -> Option<RuleText> {
        self.own_rule_text(rule, host).or_else(|| {
            let alias = self.cnames.alias_of(host)?;
            self.own_rule_text(rule, alias.as_name())
        })
    }

    fn own_rule_text(&self, rule: RuleRef, host: Name<'_>) -> Option<RuleText> {
        if PolicyHook::is_of(rule) {
            return self.hook.text(rule);
        }
        let rules = &self.rules;
        let list = rules.lists.get(usize::from(rule.list.0))?;
        let text = if let Some(found) = rules.table.by_ref(rule) {
            rules.table.text(found).to_owned()
        } else {
            let mut text = None;
            rules.names.visit(&rules.keys, host.as_str(), |row| {
                if !row.tag.is_modified() && row.rule() == rule {
                    text = Some(row.text(host, list.syntax));
                }
            });
            text?
        };
        let (file, line) = list.in_file(rule.line);
        let list = file.map_or_else(|| list.name.clone(), |file| format!("{}/{file}", list.name));
        Some(RuleText { list, line, text })
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
    pub fn rules(&self) -> &RuleSet {
        &self.rules
    }

    /// The names of all profiles, that of everybody else first.
    pub fn profile_names(&self) -> impl Iterator<Item = &str> {
        self.profiles.names()
    }

    /// The name of the profile that holds for a client.
    pub fn profile_of(&self, client: IpAddr, who: Option<&ClientIdentity<'_>>) -> &str {
        &self.profiles.of(client, who).name
    }

    /// The block style of a client's own, if it has one.
    pub fn style_of(&self, client: IpAddr, who: Option<&ClientIdentity<'_>>) -> Option<BlockStyle> {
        self.profiles.style_of(client, who)
    }

    /// Returns what a door should find out about clients beside their addresses: a profile depends
    /// on it.
    pub fn link_info_needs(&self) -> LinkInfoNeeds {
        self.profiles.link_info_needs()
    }

    pub(crate) fn is_paused(&self, now: Now) -> bool {
        now.unix_ms < self.paused_until()
    }

    /// Makes the request ready for the rules: the copy of the URL in lower case is on the stack.
    #[inline]
    pub(crate) fn with_request<R>(
        &self,
        ask: &Ask<'_>,
        now: Now,
        judge: impl FnOnce(&RuleRequest<'_>) -> R,
    ) -> R {
        let standing = self.profiles.for_request(ask, now);
        let keys = &self.rules.keys;
        match ask.url {
            None => judge(&RuleRequest::of_name(ask, keys, standing)),
            Some(url) => {
                let mut lower = [0; URL_BYTES_MAX];
                judge(&RuleRequest::of_url(ask, url, &mut lower, keys, standing))
            }
        }
    }
}
