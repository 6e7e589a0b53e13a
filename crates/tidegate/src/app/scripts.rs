//! Scripts of all doors: those in force, and what they fetch by themselves.
//!
//! Called by `reload` once doors have new settings, by `metrics`, and by `compiling` for the script
//! of the policy.

use super::RunningApp;
use super::doors::OpenDoors;
use config::{FileComplaint, Plan};
use door_gateway::GatewayDoor;
use door_proxy::ProxyDoor;
use door_web::WebDoor;
use fetch::{RepeatableRequest, Url, WholeBounds, whole};
use http_front::MessageHooks;
use origins::{Dialer, OriginLimits, Origins};
use policy::VerdictHook;
use scripting::{
    DecisionScript, FetchTrouble, LuauScript, ScriptCounts, ScriptFetch, ScriptFetchAnswer,
    ScriptFetcher, ScriptLog,
};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, PoisonError};
use tokio::runtime::{Builder, LocalOptions};
use wasm_filters::FilterChain;

/// Redirects that a fetch follows.
const REDIRECTS_MAX: u8 = 5;

impl OpenDoors {
    /// Scripts and filters in force at the HTTP doors.
    fn hooks(&self) -> Vec<MessageHooks> {
        let proxy = self.get::<ProxyDoor>().and_then(|door| door.hooks());
        let gateway = self.get::<GatewayDoor>().into_iter().flat_map(|door| door.hooks());
        let web = self.get::<WebDoor>().into_iter().flat_map(|door| door.hooks());
        proxy.into_iter().chain(gateway).chain(web).collect()
    }

    /// The scripts in force, one that stands in several places more than once.
    fn scripts(&self) -> Vec<LuauScript> {
        let dns = self.dns.as_ref().and_then(|door| door.script());
        let http = self.hooks();
        dns.into_iter().chain(http.iter().filter_map(MessageHooks::script).cloned()).collect()
    }
}

impl RunningApp {
    /// The scripts in force, of the policy and at all doors.
    fn scripts(&self) -> Vec<LuauScript> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let mut scripts = running.doors.scripts();
        scripts.extend(self.decision_script());
        scripts
    }

    /// Counts of scripts and filters, by the names of their files.
    pub(super) fn script_counts(&self) -> BTreeMap<String, ScriptCounts> {
        let mut counts: BTreeMap<String, ScriptCounts> = BTreeMap::new();
        let mut add = |name: &str, of: ScriptCounts| {
            counts.entry(name.to_owned()).or_default().add(of);
        };
        self.scripts().iter().for_each(|script| add(script.name(), script.counts()));
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let hooks = running.doors.hooks();
        let filters = hooks.iter().filter_map(MessageHooks::filters);
        filters.flat_map(FilterChain::counts).for_each(|(name, of)| add(name, of));
        counts
    }

    fn decision_script(&self) -> Option<LuauScript> {
        let policy = self.policy.load();
        policy.hook().and_then(|hook| DecisionScript::of(&**hook)).cloned()
    }

    /// Has scripts begin with `on_timer`, those that have it and did not begin before.
    pub(super) fn start_timers(&self, doors: &OpenDoors) {
        let dialer = self.dialer();
        let fetcher: ScriptFetcher = Arc::new(move |wish| fetch_for(dialer.clone(), wish));
        for script in doors.scripts().into_iter().chain(self.decision_script()) {
            if let Err(why) = script.start_timer(&fetcher) {
                self.note_problem(format!("{} has no thread for on_timer: {why}", script.name()));
            }
        }
    }
}

/// The script of the policy, if the plan has one; it keeps of the hook of before what may stay.
pub(crate) fn decision_script(
    plan: &Plan,
    state_dir: &Path,
    before: Option<&Arc<dyn VerdictHook>>,
) -> Result<Option<Arc<dyn VerdictHook>>, FileComplaint> {
    let Some(file) = &plan.file.policy.script else { return Ok(None) };
    let log: ScriptLog = program_log::part_log(program_log::LogPart::Policy, log::Level::Info);
    let before = before.map(|hook| &**hook);
    let opened = DecisionScript::open(file, plan.base(state_dir), &log, before);
    let script = opened.map_err(|why| plan.locate(why.under("policy")))?;
    Ok(Some(Arc::new(script)))
}

/// Fetches what a script wants, on its own thread.
fn fetch_for(dialer: Dialer, wish: ScriptFetch) -> Result<ScriptFetchAnswer, FetchTrouble> {
    let trouble = |why: &dyn std::fmt::Display| FetchTrouble(why.to_string());
    let url = Url::parse(&wish.url).map_err(|why| trouble(&why))?;
    let request = RepeatableRequest {
        method: wish.method,
        url,
        headers: wish.headers,
        body: wish.body.into(),
    };
    let bounds = WholeBounds { redirects: REDIRECTS_MAX, body: wish.body_max, time: wish.timeout };
    let limits = OriginLimits { response_timeout: wish.timeout, ..OriginLimits::default() };
    let runtime = Builder::new_current_thread().enable_all().build_local(LocalOptions::default());
    let runtime = runtime.map_err(|why| trouble(&why))?;
    let answer = runtime.block_on(async {
        let origins = Origins::new(dialer, limits);
        whole(&origins, request, bounds).await
    });
    let answer = answer.map_err(|why| trouble(&why))?;
    Ok(ScriptFetchAnswer {
        status: answer.status.as_u16(),
        headers: answer.headers,
        body: answer.body.into(),
    })
}
