//! A program behind a console, which keeps what it was told.

use admin::{
    CacheIndexQuery, ChangeAuthor, ControlRefusal, DnsCachePurge, ListChange, OverrideKey,
    PoolChange, PoolServerChange, ProfileChange, ProgramControl, ReplayOrder, SettingsRefusal,
    WhyQuestion,
};
use admin_api::{
    CachePage, ClientTrust, ConfigText, DeviceInfo, DnsCacheInfo, InspectedInfo, ListInfo,
    ListOverlaps, ListUpdateOutcome, ListenerInfo, OriginInfo, OwnRules, OwnRulesUpdate, PoolInfo,
    PoolServer, ProfileTable, ProgramInfo, ReloadOutcome, ReplayOutcome, SettingEdit, StoreInfo,
    TakeBackRequest, TakenBack, UpdateRequest, UpstreamInfo, WhyAnswer,
};
use ledger::Collector;
use policy::NameOverride;
use serde_json::{Value as Json, json};
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use vocab::{Action, Now};

/// A program with a pool, whose file commands may change or not.
pub(super) struct Program {
    pub(super) edits: &'static str,
    pub(super) told: Mutex<Vec<String>>,
}

impl Program {
    fn note(&self, text: String) {
        self.told.lock().unwrap().push(text);
    }
}

impl ProgramControl for Program {
    fn running(&self, _: Now) -> ProgramInfo {
        let at = |door: &str, url: &str| ListenerInfo { door: door.into(), url: url.into() };
        ProgramInfo {
            version: "9.9.9".into(),
            uptime_s: 60,
            listeners: vec![
                at("gateway", "http://0.0.0.0:80"),
                at("web", "https://127.0.0.1:8443"),
            ],
            ..ProgramInfo::default()
        }
    }
    fn why(&self, _: &WhyQuestion, _: Now) -> WhyAnswer {
        unreachable!("a console asks no such thing")
    }
    fn lists(&self) -> Vec<ListInfo> {
        Vec::new()
    }
    fn overlaps(&self, _: Now) -> ListOverlaps {
        ListOverlaps::default()
    }
    fn upstreams(&self) -> Vec<UpstreamInfo> {
        Vec::new()
    }
    fn caches(&self) -> Vec<DnsCacheInfo> {
        Vec::new()
    }
    fn origins(&self) -> Vec<OriginInfo> {
        Vec::new()
    }
    fn pools(&self) -> Vec<PoolInfo> {
        let server = |url: &str, state: &str| PoolServer {
            url: url.into(),
            state: state.into(),
            answers: 7,
            failures: 1,
            pending: 2,
            ..PoolServer::default()
        };
        vec![PoolInfo {
            name: "app".into(),
            waiting_high: 3,
            servers: vec![server("http://10.0.0.1", "up"), server("https://b.example", "down")],
            ..PoolInfo::default()
        }]
    }
    fn change_pool(&self, change: &PoolChange) -> Result<(), ControlRefusal> {
        let what = match &change.change {
            PoolServerChange::Add(server) => format!("add {}", server.url),
            PoolServerChange::Remove(url) => format!("remove {url}"),
            other => format!("{other:?}"),
        };
        self.note(format!("{} {what}", change.pool));
        Ok(())
    }
    fn cache_index(&self, _: &CacheIndexQuery) -> Result<Vec<CachePage>, ControlRefusal> {
        unreachable!("a console asks no such thing")
    }
    fn inspected(&self) -> Vec<InspectedInfo> {
        unreachable!("a console asks no such thing")
    }
    fn trust(&self, _: Now) -> Vec<ClientTrust> {
        Vec::new()
    }
    fn reload(&self) -> Result<ReloadOutcome, Vec<String>> {
        Err(vec!["f.yaml:1:1: a: wrong".into(), "f.yaml:2:1: b: wrong".into()])
    }
    fn config(&self) -> ConfigText {
        ConfigText { file: None, text: "gateway:\n  # one\n".into() }
    }
    fn setting(&self, path: &str) -> Result<Json, ControlRefusal> {
        match path {
            "admin.config_edits" => Ok(self.edits.into()),
            "gateway.pools.app.servers" => {
                Ok(json!(["http://10.0.0.1:80", { "url": "https://b.example" }]))
            }
            "admin.console.services" => {
                Ok(json!({ "images": "127.0.0.1:8443", "idle": "127.0.0.1:81" }))
            }
            "gateway.routes" => Ok(json!([{ "pool": "app" }, { "pool": null }])),
            _ => Err(format!("there is no setting {path}").into()),
        }
    }
    fn change_settings(
        &self,
        changes: &[SettingEdit],
        _: &ChangeAuthor,
    ) -> Result<ReloadOutcome, SettingsRefusal> {
        let edit = &changes[0];
        if edit.path.ends_with("wrong") {
            return Err(SettingsRefusal::Complaints(vec!["no such key".into()]));
        }
        self.note(format!("{} := {}", edit.path, edit.value.as_deref().unwrap_or("-")));
        Ok(ReloadOutcome::default())
    }
    fn change_lists(
        &self,
        _: &ListChange,
        _: &ChangeAuthor,
    ) -> Result<ReloadOutcome, SettingsRefusal> {
        unreachable!("a console asks no such thing")
    }
    fn profiles(&self) -> Result<ProfileTable, SettingsRefusal> {
        unreachable!()
    }
    fn change_profiles(
        &self,
        _: &ProfileChange,
        _: &ChangeAuthor,
    ) -> Result<ReloadOutcome, SettingsRefusal> {
        unreachable!()
    }
    fn devices(&self, _: &[IpAddr], _: Now) -> Vec<DeviceInfo> {
        unreachable!()
    }
    fn own_rules(&self) -> Result<OwnRules, SettingsRefusal> {
        unreachable!("a console asks no such thing")
    }
    fn replay(&self, _: &ReplayOrder) -> Result<ReplayOutcome, SettingsRefusal> {
        unreachable!("the console tries no change")
    }
    fn set_own_rules(
        &self,
        _: &OwnRulesUpdate,
        _: &ChangeAuthor,
    ) -> Result<ReloadOutcome, SettingsRefusal> {
        unreachable!("a console asks no such thing")
    }
    fn check_rules(&self, _: &str) -> ListInfo {
        unreachable!("a console asks no such thing")
    }
    fn update_lists(&self, _: &UpdateRequest) -> Result<ListUpdateOutcome, ControlRefusal> {
        Err("no".into())
    }
    fn pause_until(&self, _: u64) {}
    fn paused_until(&self) -> u64 {
        0
    }
    fn set_override(&self, _: NameOverride, _: Now) -> Result<(), ControlRefusal> {
        Ok(())
    }
    fn overrides(&self, _: Action, _: Now) -> Vec<NameOverride> {
        Vec::new()
    }
    fn end_override(&self, _: &OverrideKey, _: Now) -> bool {
        false
    }
    fn purge(&self, _: &DnsCachePurge) -> u64 {
        0
    }
    fn stores(&self) -> Vec<StoreInfo> {
        Vec::new()
    }
    fn purge_stores(&self, _: &TakeBackRequest) -> Result<TakenBack, ControlRefusal> {
        Err("no".into())
    }
    fn ca_pem(&self) -> Option<String> {
        None
    }
    fn not_ready(&self) -> Vec<admin::NotReady> {
        Vec::new()
    }
    fn metrics(&self) -> Vec<Arc<dyn Collector>> {
        Vec::new()
    }
}
