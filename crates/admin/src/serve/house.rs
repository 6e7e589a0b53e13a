//! An admin to ask, with a program, a ledger and a token of its own.

use super::files_house::Files;
use crate::change_author::ChangeAuthor;
use crate::control::{
    CacheIndexQuery, CacheIndexScope, ControlRefusal, DnsCachePurge, ItemChange, ListChange,
    NotReady, OverrideKey, PoolChange, PoolServerChange, ProfileChange, ProgramControl,
    ReplayOrder, SettingsRefusal, TriedChange, WhyQuestion,
};
use crate::tests::Folder;
use crate::{Admin, AdminParts, AdminToken, Settings};
use admin_api::{
    ApiProblem, CachePage, CachedSite, CachedUrl, ClientTrust, ConfigText, DeviceInfo,
    DnsCacheInfo, InspectedInfo, ListInfo, ListOverlap, ListOverlaps, ListUpdateOutcome, MadeItem,
    OriginInfo, OwnRules, OwnRulesUpdate, PoolInfo, ProfileTable, ProgramInfo, ReloadOutcome,
    ReplayOutcome, SettingEdit, StoreInfo, TakeBackRequest, TakenBack, UpdateRequest, UpdatedList,
    UpstreamInfo, WhyAnswer,
};
use fleet_api::{
    FleetEdge, FleetEdges, FleetPoint, FleetRevisions, FleetSilence, FleetSpan, FleetTables,
    RevisionSource,
};
use http::header::SET_COOKIE;
use http::{HeaderMap, HeaderValue, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use ledger::{EventSubject, Ledger, RequestEvent, RuleTexts};
use policy::NameOverride;
use single_sign_on::ProviderTransport;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use vocab::{Action, Caching, Cause, Door, ListId, Name, Now, RequestKind, RuleRef, Source};

const PEER: &str = "192.0.2.9";
const OWN: &str = "127.0.0.1:9053";

/// A running program for tests.
#[derive(Default)]
pub(super) struct Program {
    pub(super) paused_until: AtomicU64,
    pub(super) broken: AtomicBool,
    pub(super) orders: Mutex<Vec<NameOverride>>,
    pub(super) list_changes: Mutex<Vec<ListChange>>,
    pub(super) profiles: Mutex<Vec<serde_json::Value>>,
    /// The fleet's database, where there is one.
    pub(super) fleet: Mutex<Option<Fleet>>,
}

/// A fleet's database with one edge, or one that is away.
#[derive(Clone, Copy)]
pub(super) enum Fleet {
    OneEdge,
    Away,
}

impl FleetTables for Fleet {
    fn edges(&self) -> Result<FleetEdges, FleetSilence> {
        match self {
            Self::OneEdge => Ok(FleetEdges {
                own: "harbour".into(),
                edges: vec![FleetEdge { edge: "harbour".into(), ..FleetEdge::default() }],
                ..FleetEdges::default()
            }),
            Self::Away => Err(FleetSilence("the database does not answer".into())),
        }
    }

    fn points(&self, span: &FleetSpan) -> Result<Vec<FleetPoint>, FleetSilence> {
        let passed = u64::from(span.edge.as_deref() == Some("harbour"));
        Ok(vec![FleetPoint { at_ms: span.from_ms, passed, blocked: 2 }])
    }
}

/// A place of bundles with one revision, of which the second of the question is told.
struct OneRevision;

impl RevisionSource for OneRevision {
    fn revisions(&self, now: u64) -> FleetRevisions {
        FleetRevisions { read: now.to_string(), edges_joined: 2, ..FleetRevisions::default() }
    }
}

impl ProgramControl for Program {
    fn fleet_revisions(&self) -> Option<Arc<dyn RevisionSource>> {
        (*self.fleet.lock().unwrap())?;
        Some(Arc::new(OneRevision))
    }
    fn fleet_tables(&self) -> Option<Box<dyn FleetTables>> {
        let fleet = *self.fleet.lock().unwrap();
        fleet.map(|fleet| Box::new(fleet) as Box<dyn FleetTables>)
    }
    fn running(&self, _: Now) -> ProgramInfo {
        ProgramInfo { version: "9.9.9".into(), lists: 1, rules: 12, ..ProgramInfo::default() }
    }
    fn why(&self, question: &WhyQuestion, _: Now) -> WhyAnswer {
        WhyAnswer {
            target: question.url.clone().unwrap_or_else(|| question.host.to_string()),
            client: question.client.to_string(),
            profile: "default".into(),
            host: question.host.to_string(),
            site: question.host.to_string(),
            door: question.door.to_string(),
            kind: question.kind.to_string(),
            page: question.page.as_ref().map(ToString::to_string),
            action: "block".into(),
            cause: "none".into(),
            rule: None,
            list_changed_at: None,
            summary: String::new(),
            matches: Vec::new(),
            trimmed: None,
            door_outcome: "NODATA with SOA, EDE 15".into(),
            stored: Vec::new(),
            gateway: None,
        }
    }
    fn lists(&self) -> Vec<ListInfo> {
        vec![ListInfo { name: "starter".into(), ..ListInfo::default() }]
    }
    fn overlaps(&self, now: Now) -> ListOverlaps {
        let list = ListOverlap { name: "starter".into(), names: 12, ..ListOverlap::default() };
        ListOverlaps { counted_at: vocab::iso(now.unix_ms), lists: vec![list] }
    }
    fn upstreams(&self) -> Vec<UpstreamInfo> {
        Vec::new()
    }
    fn caches(&self) -> Vec<DnsCacheInfo> {
        Vec::new()
    }
    fn trust(&self, _: Now) -> Vec<ClientTrust> {
        Vec::new()
    }
    fn origins(&self) -> Vec<OriginInfo> {
        vec![OriginInfo { origin: "https://a.example".into(), at_once: 3, ..OriginInfo::default() }]
    }
    fn pools(&self) -> Vec<PoolInfo> {
        vec![PoolInfo { name: "app".into(), ..PoolInfo::default() }]
    }
    fn change_pool(&self, change: &PoolChange) -> Result<(), ControlRefusal> {
        let is_known = match &change.change {
            PoolServerChange::SetWeight(url, 3) => url == "http://10.0.0.1",
            PoolServerChange::Replace(servers) => {
                let told: Vec<_> = servers.iter().map(|it| (&*it.url, it.weight)).collect();
                told == [("http://10.0.0.2", 1), ("http://10.0.0.3", 5)]
            }
            _ => false,
        };
        (change.pool == "app" && is_known)
            .then_some(())
            .ok_or_else(|| format!("there is no pool {:?}", change.pool).into())
    }
    fn reload(&self) -> Result<ReloadOutcome, Vec<String>> {
        if self.broken.load(Relaxed) {
            return Err(vec!["tidegate.yaml:3:1: unknown key".into()]);
        }
        Ok(ReloadOutcome { lists: 1, ..ReloadOutcome::default() })
    }
    fn config(&self) -> ConfigText {
        ConfigText { file: Some("/etc/tidegate.yaml".into()), text: "user: t # we\n".into() }
    }
    fn setting(&self, path: &str) -> Result<serde_json::Value, ControlRefusal> {
        if path == "ledger.keep" {
            Ok("30d".into())
        } else {
            Err("there is no such setting".into())
        }
    }
    fn change_settings(
        &self,
        changes: &[SettingEdit],
        _: &ChangeAuthor,
    ) -> Result<ReloadOutcome, SettingsRefusal> {
        match changes[0].path.as_str() {
            "ledger.keep" => Ok(ReloadOutcome { lists: 1, ..ReloadOutcome::default() }),
            "wrong" => Err(SettingsRefusal::Complaints(vec!["f.yaml:1:1: unknown key".into()])),
            "built-in" => {
                let why = "it has no file".into();
                Err(SettingsRefusal::Fixed { why, remedy: "name one with --config" })
            }
            _ => Err(SettingsRefusal::Wrong("a key is missing".into())),
        }
    }
    fn change_lists(
        &self,
        change: &ListChange,
        _: &ChangeAuthor,
    ) -> Result<ReloadOutcome, SettingsRefusal> {
        self.list_changes.lock().unwrap().push(change.clone());
        Ok(ReloadOutcome::default())
    }
    fn profiles(&self) -> Result<ProfileTable, SettingsRefusal> {
        let made = self.profiles.lock().unwrap().clone();
        let profiles = made.into_iter().map(|settings| MadeItem { settings, made_here: true });
        let revision = "1".into();
        Ok(ProfileTable { revision, profiles: profiles.collect(), ..ProfileTable::default() })
    }
    fn change_profiles(
        &self,
        change: &ProfileChange,
        _: &ChangeAuthor,
    ) -> Result<ReloadOutcome, SettingsRefusal> {
        let mut made = self.profiles.lock().unwrap();
        match &change.edit {
            ItemChange::Put { item, .. } => made.push(item.clone()),
            ItemChange::Remove(name) => made.retain(|it| it["name"] != name.as_str()),
        }
        Ok(ReloadOutcome::default())
    }
    fn devices(&self, clients: &[IpAddr], _: Now) -> Vec<DeviceInfo> {
        let device = DeviceInfo { profile: "default".into(), ..DeviceInfo::default() };
        vec![device; clients.len()]
    }
    fn replay(&self, order: &ReplayOrder) -> Result<ReplayOutcome, SettingsRefusal> {
        match &order.change {
            TriedChange::OwnRules(text) if text == "||a.example^" => {
                Ok(ReplayOutcome { requests: 7, blocked: 3, ..ReplayOutcome::default() })
            }
            TriedChange::Lists(ListChange::SwitchOff(name)) if name == "starter" => {
                Ok(ReplayOutcome { requests: 7, passed: 2, ..ReplayOutcome::default() })
            }
            other => Err(SettingsRefusal::Wrong(format!("{other:?}").into())),
        }
    }
    fn own_rules(&self) -> Result<OwnRules, SettingsRefusal> {
        Ok(OwnRules { text: "||a.example^".into(), revision: "1".into() })
    }
    fn set_own_rules(
        &self,
        sent: &OwnRulesUpdate,
        _: &ChangeAuthor,
    ) -> Result<ReloadOutcome, SettingsRefusal> {
        if sent.revision == "1" {
            return Ok(ReloadOutcome::default());
        }
        Err(SettingsRefusal::Fixed { why: "changed meanwhile".into(), remedy: "ask again" })
    }
    fn check_rules(&self, text: &str) -> ListInfo {
        ListInfo { lines: text.lines().count() as u32, ..ListInfo::default() }
    }
    fn update_lists(&self, which: &UpdateRequest) -> Result<ListUpdateOutcome, ControlRefusal> {
        let name = which.list.clone().unwrap_or_else(|| "easylist".into());
        if name != "easylist" {
            return Err(format!("no list with url is called {name:?}").into());
        }
        let outcome = if which.even_if_smaller { "changed" } else { "same" };
        let lists = vec![UpdatedList { name, outcome: outcome.into(), failure: None }];
        Ok(ListUpdateOutcome { lists, is_fetching: false })
    }
    fn pause_until(&self, unix_ms: u64) {
        self.paused_until.store(unix_ms, Relaxed);
    }
    fn paused_until(&self) -> u64 {
        self.paused_until.load(Relaxed)
    }
    fn set_override(&self, made: NameOverride, _: Now) -> Result<(), ControlRefusal> {
        self.orders.lock().unwrap().push(made);
        Ok(())
    }

    fn overrides(&self, action: Action, _: Now) -> Vec<NameOverride> {
        let orders = self.orders.lock().unwrap();
        orders.iter().filter(|order| order.action == action).cloned().collect()
    }

    fn end_override(&self, key: &OverrideKey, _: Now) -> bool {
        let mut orders = self.orders.lock().unwrap();
        let before = orders.len();
        let is_it = |it: &NameOverride| {
            (it.action, &it.host, &it.clients) == (key.action, &key.host, &key.clients)
        };
        orders.retain(|it| !is_it(it));
        orders.len() < before
    }
    fn purge(&self, what: &DnsCachePurge) -> u64 {
        match what {
            DnsCachePurge::All => 9,
            DnsCachePurge::Name(_) => 1,
            DnsCachePurge::Suffix(_) => 3,
        }
    }
    fn stores(&self) -> Vec<StoreInfo> {
        vec![StoreInfo { door: "proxy".into(), hits: 7, ..StoreInfo::default() }]
    }
    fn cache_index(&self, wanted: &CacheIndexQuery) -> Result<Vec<CachePage>, ControlRefusal> {
        if wanted.door.as_deref() == Some("gateway") {
            return Err("no door has such a store".into());
        }
        let page = CachePage { door: "proxy".into(), complete: true, ..CachePage::default() };
        let named = |name: &str| format!("{name} of {}", wanted.limit);
        Ok(vec![match &wanted.scope {
            CacheIndexScope::Sites => {
                let site = CachedSite { site: named("a.example"), ..CachedSite::default() };
                CachePage { sites: vec![site], ..page }
            }
            CacheIndexScope::Site(name) | CacheIndexScope::Prefix(name) => {
                let url = CachedUrl { url: named(name), responses: Vec::new() };
                CachePage { urls: vec![url], next_after: wanted.after.clone(), ..page }
            }
        }])
    }
    fn purge_stores(&self, what: &TakeBackRequest) -> Result<TakenBack, ControlRefusal> {
        match what.door.as_deref() {
            Some("gateway") => Err("no door has such a store".into()),
            _ => Ok(TakenBack { entries: 2, fetches: u64::from(what.soft) }),
        }
    }
    fn inspected(&self) -> Vec<InspectedInfo> {
        vec![InspectedInfo { text: Some("city=Berlin".into()), ..InspectedInfo::default() }]
    }
    fn ca_pem(&self) -> Option<String> {
        Some("-----BEGIN CERTIFICATE-----\n".into())
    }
    fn not_ready(&self) -> Vec<NotReady> {
        if self.broken.load(Relaxed) { vec![NotReady::Lists] } else { Vec::new() }
    }
    fn metrics(&self) -> Vec<Arc<dyn ledger::Collector>> {
        Vec::new()
    }
}

struct NoRules;

impl RuleTexts for NoRules {
    fn text(&self, rule: RuleRef, _: &str) -> Option<(String, u32, String)> {
        Some(("starter".into(), rule.line, "||ads.example^".into()))
    }
}

/// An admin with a program, a ledger and a token of its own.
pub(super) struct House {
    pub(super) admin: Admin,
    pub(super) program: Arc<Program>,
    pub(super) ledger: Ledger,
    pub(super) token: String,
    folder: Folder,
}

pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: bytes::Bytes,
}

impl Answer {
    pub(super) fn json<T: serde::de::DeserializeOwned>(&self) -> T {
        serde_json::from_slice(&self.body).unwrap()
    }
    pub(super) fn problem(&self) -> ApiProblem {
        let problem: ApiProblem = self.json();
        assert!(!problem.error.is_empty() && !problem.remedy.is_empty());
        problem
    }
    pub(super) fn header(&self, name: impl http::header::AsHeaderName) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
    /// The cookie as a browser sends it back.
    pub(super) fn cookie(&self) -> String {
        self.header(SET_COOKIE).split(';').next().unwrap().to_owned()
    }
}

impl House {
    /// The state folder.
    pub(super) fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    pub(super) fn new() -> Self {
        Self::with(&Settings::default())
    }

    pub(super) fn with(settings: &Settings) -> Self {
        Self::with_provider(settings, None)
    }

    /// A house with a way to a provider of single sign-on.
    pub(super) fn with_provider(
        settings: &Settings,
        provider: Option<Arc<dyn ProviderTransport>>,
    ) -> Self {
        let folder = Folder::new();
        let log = ledger::Settings::default();
        let ledger = ledger::open(&log, folder.path(), Arc::new(NoRules)).unwrap();
        let token = AdminToken::open(folder.path()).unwrap();
        let text = token.as_str().to_owned();
        let program = Arc::new(Program::default());
        let parts = AdminParts {
            control: program.clone(),
            configuration: Arc::new(Files),
            first_run: Arc::new(Files),
            ledger: ledger.clone(),
            token,
            metrics_token: AdminToken::open_for_metrics(folder.path()).unwrap(),
            state_dir: folder.path().into(),
            provider,
            clock: transport::clock::now,
        };
        let (admin, troubles) = Admin::new(settings, parts);
        assert_eq!(troubles, [] as [String; 0]);
        Self { admin, program, ledger, token: text, folder }
    }

    pub(super) async fn ask(
        &self,
        method: &str,
        path: &str,
        fields: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let mut request =
            Request::builder().method(method).uri(path).body(Full::from(body.to_owned())).unwrap();
        let headers = request.headers_mut();
        headers.insert("host", HeaderValue::from_static(OWN));
        for (name, value) in fields {
            let name: http::HeaderName = name.parse().unwrap();
            headers.insert(name, value.parse().unwrap());
        }
        let answer = self.admin.answer(request, PEER.parse().unwrap()).await;
        let (parts, body) = answer.into_parts();
        // A stream has no end to wait for.
        let is_stream =
            parts.headers.get("content-type").is_some_and(|it| it == "text/event-stream");
        let body =
            if is_stream { bytes::Bytes::new() } else { body.collect().await.unwrap().to_bytes() };
        Answer { status: parts.status, headers: parts.headers, body }
    }

    pub(super) async fn get(&self, path: &str) -> Answer {
        let bearer = format!("Bearer {}", self.token);
        self.ask("GET", path, &[("authorization", &bearer)], "").await
    }

    pub(super) async fn post(&self, path: &str, body: &str) -> Answer {
        let bearer = format!("Bearer {}", self.token);
        let fields = [("authorization", bearer.as_str()), ("content-type", "application/json")];
        self.ask("POST", path, &fields, body).await
    }

    pub(super) async fn put(&self, path: &str, body: &str) -> Answer {
        let bearer = format!("Bearer {}", self.token);
        let fields = [("authorization", bearer.as_str()), ("content-type", "application/json")];
        self.ask("PUT", path, &fields, body).await
    }

    pub(super) async fn session(&self) -> String {
        let body = format!("{{\"token\": \"{}\"}}", self.token);
        let answer = self.ask("POST", "/login", &[("content-type", "application/json")], &body);
        let answer = answer.await;
        assert_eq!(answer.status, 204);
        answer.cookie()
    }

    pub(super) fn record(&self, name: &str, action: Action) {
        self.ledger.record(RequestEvent {
            at: transport::clock::now(),
            duration_us: 41,
            door: Door::Dns,
            client: "192.168.1.77".parse().unwrap(),
            kind: RequestKind::Lookup(28),
            subject: EventSubject::name(Name::from_lowercase(name).unwrap()),
            action,
            cause: match action {
                Action::Pass => Cause::NoRule,
                Action::Block => Cause::Rule(RuleRef { list: ListId(0), line: 12 }),
            },
            source: Source::Policy,
            caching: Caching::NONE,
            status: 3,
            bytes: 120,
        });
    }
}
