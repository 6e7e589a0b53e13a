//! The running program as the admin API sees it.

use super::reload::size;
use super::{RunningApp, RunningDoors, cache_index, stores, why};
use admin::{
    ChangeAuthor, ControlRefusal, DnsCachePurge, FleetAsker, ListChange, NotReady, OverrideKey,
    PoolChange, ProfileChange, ProgramControl, ReplayOrder, SettingsRefusal, WhyQuestion,
};
use admin_api::{
    self, ConfigText, DnsCacheInfo, ListInfo, ListUpdateOutcome, ListenerInfo, NewerVersion,
    ReloadOutcome, ReplayOutcome, SettingEdit, UpdateRequest, UpdatedList, UpstreamInfo,
};
use config::MadeItems;
use door_gateway::{ForecastQuestion, GatewayForecast};
use fleet_api::{FleetTables, RevisionSource};
use policy::NameOverride;
use policy_lists::ShrinkRule;
use resolver::UpstreamStanding;
use std::net::IpAddr;
use std::sync::{Arc, PoisonError};
use vocab::{Action, Door, ListId, Now, RequestKind};

impl RunningApp {
    /// Reasons why not everything that the configuration asks for is in force.
    fn not_ready(&self) -> Vec<NotReady> {
        let mut reasons = Vec::new();
        // The admin listens once every door does: nobody is told that they are still being opened.
        let is_leaving = self.drain.is_started() || self.left.is_started();
        if is_leaving || self.fleet_drain.is_wanted() {
            reasons.push(NotReady::Draining);
        }
        let listeners = self.listeners();
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = running.plan.listen_settings();
        drop(running);
        let mut doors = wanted.iter().filter_map(|(path, _)| path.split('.').next());
        if doors.any(|door| !listeners.iter().any(|(open, _)| *open == door)) {
            reasons.push(NotReady::Doors);
        }
        let policy = self.policy.load();
        if !policy.rules().lists().iter().all(|list| super::metrics::is_in_force(self, list)) {
            reasons.push(NotReady::Lists);
        }
        reasons
    }
}

/// Holds what the API holds of the program.
pub(super) struct ControlHandle(pub(super) Arc<RunningApp>);

impl ProgramControl for ControlHandle {
    fn running(&self, now: Now) -> admin_api::ProgramInfo {
        let app = &self.0;
        let policy = app.policy.load();
        let (lists, rules) = size(&policy);
        let running = app.running.lock().unwrap_or_else(PoisonError::into_inner);
        let config =
            (!running.plan.is_built_in()).then(|| config_history::absolute(&running.plan.source));
        drop(running);
        let paused = policy.paused_until();
        admin_api::ProgramInfo {
            version: env!("CARGO_PKG_VERSION").into(),
            started_at: vocab::iso(app.started.unix_ms),
            uptime_s: now.mono_ms.saturating_sub(app.started.mono_ms) / 1000,
            paused_until: (paused > now.unix_ms).then(|| vocab::iso(paused)),
            pid: std::process::id(),
            config,
            state: config_history::absolute(app.state.path()),
            listeners: app
                .listeners()
                .into_iter()
                .map(|(door, listen)| ListenerInfo { door: door.into(), url: listen.to_string() })
                .collect(),
            lists,
            rules,
            rules_bytes: policy.rules().memory().total(),
            resident_bytes: super::memory::resident_bytes(),
            privileges: app.privileges.held.to_string(),
            ca_fingerprint: app.signer.ca().map(|ca| ca.fingerprint_text()),
            warnings: app.warnings().into_iter().chain(app.signer.warnings(now)).collect(),
            newer: app
                .releases
                .newer()
                .map(|it| NewerVersion { version: it.version, page: it.page }),
            fleet: app.fleet_name(),
            asks_fleet: app.fleet.asker().is_some(),
            fleet_parts: app.fleet_parts(),
        }
    }

    fn why(&self, question: &WhyQuestion, now: Now) -> admin_api::WhyAnswer {
        let policy = self.0.policy.load_full();
        let running = self.0.running.lock().unwrap_or_else(PoisonError::into_inner);
        let mut why = why::why(&policy, &running.plan, question, now);
        let dns = asked_of_dns(&running, question);
        drop(running);
        let host = &question.host;
        if let Some((dns, qtype)) = dns
            && let Some(foretold) = dns.preview(question.client, host.as_name(), qtype, now)
        {
            why = why::as_the_dns_door_does(why, foretold, &policy, host);
        }
        if let Some(foretold) = gateway_preview(&self.0, question, now) {
            why = why::as_the_gateway_does(why, foretold, &policy, host);
        }
        admin_api::WhyAnswer { stored: stores::explain(&self.0, question), ..why }
    }

    fn lists(&self) -> Vec<ListInfo> {
        // What cannot be read is told by the next change; the lists are shown all the same.
        let made = self.0.made_settings().ok().flatten();
        let made = made.map(|made| made.names(MadeItems::Lists)).unwrap_or_default();
        let running = self.0.running.lock().unwrap_or_else(PoisonError::into_inner);
        let policy = self.0.policy.load();
        let reports = policy.rules().lists().iter();
        let off = &running.plan.file.policy.lists_off;
        reports
            .zip(&running.plan.file.policy.lists)
            .zip(0..)
            .map(|((report, settings), number)| ListInfo {
                kind: report.kind.to_string(),
                from: policy_lists::origin_of(settings),
                changed_at: policy.list_changed_ms(ListId(number)).map(vocab::iso),
                subscription: self.0.subscriptions.state(&report.name),
                made: made.contains(&report.name),
                off: off.contains(&report.name),
                ..policy_lists::list_info(report)
            })
            .map(|list| {
                let subscription = list.subscription.as_ref();
                let loaded_at = subscription.and_then(|it| it.fetched_at.clone());
                ListInfo { loaded_at, ..list }
            })
            .collect()
    }

    fn overlaps(&self, now: Now) -> admin_api::ListOverlaps {
        self.0.overlaps.of(self.0.policy.load_full().rules(), now)
    }

    fn upstreams(&self) -> Vec<UpstreamInfo> {
        self.0
            .resolver
            .stats()
            .upstreams
            .into_iter()
            .map(|upstream| UpstreamInfo {
                group: upstream.group.to_string(),
                name: upstream.name.to_string(),
                address: upstream.address.to_string(),
                queries: upstream.sent,
                failures: upstream.failed,
                timeouts: upstream.timeouts,
                unproved: upstream.unverified,
                latency_us: upstream.mean_time.map(|time| time.as_micros() as u64),
                healthy: upstream.status == UpstreamStanding::InUse,
            })
            .collect()
    }

    fn caches(&self) -> Vec<DnsCacheInfo> {
        let stats = self.0.resolver.stats();
        let caches = stats.cache_names.into_iter().zip(stats.caches);
        caches
            .map(|(name, cache)| DnsCacheInfo {
                name,
                entries: cache.entries as u64,
                bytes: cache.bytes,
                bytes_max: cache.bytes_max,
                hits: cache.hits,
                misses: cache.misses,
                stale: cache.stale,
            })
            .collect()
    }

    fn trust(&self, now: Now) -> Vec<admin_api::ClientTrust> {
        let all = self.0.trust.all(now).into_iter();
        all.map(|(client, learned)| {
            let until = learned.avoided_until_unix_ms;
            admin_api::ClientTrust {
                client: client.to_string(),
                trust: learned.trust.as_str().into(),
                requests: learned.requests,
                alerts: learned.alerts,
                silences: learned.silences,
                heard_at: vocab::iso(learned.last_seen_unix_ms),
                avoided_until: (until > 0).then(|| vocab::iso(until)),
            }
        })
        .collect()
    }

    fn origins(&self) -> Vec<admin_api::OriginInfo> {
        self.0.origins()
    }

    fn pools(&self) -> Vec<admin_api::PoolInfo> {
        self.0.pools().into_iter().map(super::pools::pool_info).collect()
    }

    fn change_pool(&self, change: &PoolChange) -> Result<(), ControlRefusal> {
        self.0.change_pool(change)
    }

    fn reload(&self) -> Result<ReloadOutcome, Vec<String>> {
        self.0.reload()
    }

    fn config(&self) -> ConfigText {
        self.0.config_text()
    }

    fn setting(&self, path: &str) -> Result<serde_json::Value, ControlRefusal> {
        self.0.setting(path)
    }

    fn change_settings(
        &self,
        changes: &[SettingEdit],
        author: &ChangeAuthor,
    ) -> Result<ReloadOutcome, SettingsRefusal> {
        self.0.change_settings(changes, author)
    }

    fn update_lists(&self, which: &UpdateRequest) -> Result<ListUpdateOutcome, ControlRefusal> {
        let smaller =
            if which.even_if_smaller { ShrinkRule::Accepted } else { ShrinkRule::Refused };
        let name = which.list.as_deref();
        let folders = self.0.read_folders(name);
        let done = if folders.is_empty() || self.0.subscriptions.has(name) {
            self.0.subscriptions.update(name, smaller)?
        } else {
            Some(Vec::new())
        };
        let is_fetching = done.is_none();
        let fetched = done.unwrap_or_default().into_iter().map(UpdatedList::from);
        Ok(ListUpdateOutcome { lists: folders.into_iter().chain(fetched).collect(), is_fetching })
    }

    fn pause_until(&self, unix_ms: u64) {
        self.0.policy.load().pause_until(unix_ms);
        self.0.fleet.tell_pause(unix_ms);
    }

    fn paused_until(&self) -> u64 {
        self.0.policy.load().paused_until()
    }

    fn change_lists(
        &self,
        change: &ListChange,
        author: &ChangeAuthor,
    ) -> Result<ReloadOutcome, SettingsRefusal> {
        self.0.change_lists(change, author)
    }

    fn profiles(&self) -> Result<admin_api::ProfileTable, SettingsRefusal> {
        self.0.profiles()
    }

    fn change_profiles(
        &self,
        change: &ProfileChange,
        author: &ChangeAuthor,
    ) -> Result<ReloadOutcome, SettingsRefusal> {
        self.0.change_profiles(change, author)
    }

    fn fleet_tables(&self) -> Option<Box<dyn FleetTables>> {
        self.0.fleet_tables()
    }

    fn fleet_asker(&self) -> Option<Arc<dyn FleetAsker>> {
        self.0.fleet.asker()
    }

    fn fleet_revisions(&self) -> Option<Arc<dyn RevisionSource>> {
        self.0.fleet_drain.view().map(|view| view as Arc<dyn RevisionSource>)
    }

    fn devices(&self, clients: &[IpAddr], now: Now) -> Vec<admin_api::DeviceInfo> {
        self.0.devices(clients, now)
    }

    fn own_rules(&self) -> Result<admin_api::OwnRules, SettingsRefusal> {
        self.0.own_rules()
    }

    fn replay(&self, order: &ReplayOrder) -> Result<ReplayOutcome, SettingsRefusal> {
        self.0.replay(order)
    }

    fn set_own_rules(
        &self,
        sent: &admin_api::OwnRulesUpdate,
        author: &ChangeAuthor,
    ) -> Result<ReloadOutcome, SettingsRefusal> {
        self.0.set_own_rules(sent, author)
    }

    fn check_rules(&self, text: &str) -> ListInfo {
        let rules = policy_lists::compiled_alone("own-rules", text.as_bytes());
        rules.lists().first().map(policy_lists::list_info).unwrap_or_default()
    }

    fn set_override(&self, made: NameOverride, now: Now) -> Result<(), ControlRefusal> {
        self.0.set_override(made, now)
    }

    fn overrides(&self, action: Action, now: Now) -> Vec<NameOverride> {
        let held = self.0.policy.load().overrides(now).into_iter();
        held.filter(|it| it.action == action).collect()
    }

    fn end_override(&self, key: &OverrideKey, now: Now) -> bool {
        self.0.end_override(key, now)
    }

    fn purge(&self, what: &DnsCachePurge) -> u64 {
        self.0.fleet.tell_dns_purge(what);
        self.0.forget_answers(what)
    }

    fn stores(&self) -> Vec<admin_api::StoreInfo> {
        stores::stores(&self.0)
    }

    fn cache_index(
        &self,
        wanted: &admin::CacheIndexQuery,
    ) -> Result<Vec<admin_api::CachePage>, ControlRefusal> {
        Ok(cache_index::pages(&self.0, wanted)?)
    }

    fn purge_stores(
        &self,
        what: &admin_api::TakeBackRequest,
    ) -> Result<admin_api::TakenBack, ControlRefusal> {
        let taken = stores::purge(&self.0, what)?;
        // One that is refused here would be refused by all.
        self.0.fleet.tell_store_purge(what);
        // Once more, for what the fleet's cache has given back before it knew of the purge.
        stores::purge(&self.0, what)?;
        Ok(taken)
    }

    fn inspected(&self) -> Vec<admin_api::InspectedInfo> {
        let info = |it: door_pixel::InspectedBody| admin_api::InspectedInfo {
            at: vocab::iso(it.unix_ms),
            client: it.client.to_string(),
            method: it.method,
            url: it.url,
            content_type: it.content_type,
            bytes: it.bytes,
            text: it.text,
            shown_bytes: it.shown_bytes,
        };
        let door = self.0.pixel_door();
        door.map_or_else(Vec::new, |door| door.inspected().into_iter().map(info).collect())
    }

    fn ca_pem(&self) -> Option<String> {
        self.0.signer.ca().map(|ca| ca.pem.clone())
    }

    fn not_ready(&self) -> Vec<NotReady> {
        self.0.not_ready()
    }

    fn metrics(&self) -> Vec<Arc<dyn ledger::Collector>> {
        super::metrics::collectors(&self.0)
    }
}

/// The DNS door and the type of record, for a question that is about it. A foreign pipeline has
/// effects and is not run for a question.
fn asked_of_dns(
    running: &RunningDoors,
    question: &WhyQuestion,
) -> Option<(Arc<door_dns::DnsDoor>, u16)> {
    let settings = running.plan.file.dns.as_ref();
    let RequestKind::Lookup(qtype) = question.kind else { return None };
    let settings = settings.filter(|_| question.door == Door::Dns)?;
    running.doors.dns.clone().filter(|_| settings.foreign.is_none()).map(|door| (door, qtype))
}

/// Returns what the gateway would do about a question that is about it.
fn gateway_preview(app: &RunningApp, question: &WhyQuestion, now: Now) -> Option<GatewayForecast> {
    let url = question.url.as_ref().filter(|_| question.door == Door::Gateway)?;
    let (client, page, kind) = (question.client, question.page.as_ref(), question.kind);
    app.gateway()?.preview(&ForecastQuestion { client, page, url, kind }, now)
}
