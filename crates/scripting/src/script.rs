//! A script: read, compiled, and known by the hooks that it has.

use crate::code::{ScriptCode, ScriptCounts};
use crate::decision::GivenVerdict;
use crate::failure::ScriptFailure;
use crate::fetching::ScriptFetcher;
use crate::hook::{ScriptHook, ScriptPlace};
use crate::log_budget::{LimitedLog, ScriptLog};
use crate::log_entry::ScriptedLogEntry;
use crate::machine::{self, ScriptMachine};
use crate::query::{QueryAnswer, ScriptedQuery};
use crate::request::{RequestChanges, ScriptAnswer, ScriptedRequest};
use crate::response::ScriptedResponse;
use crate::settings::{LuauChoice, LuauSettings, OnScriptError};
use crate::timer;
use crate::variables::ScriptVariables;
use mlua::chunk::Compiler;
use policy::{Ask, Verdict};
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use vocab::Complaint;

/// Bytes of the longest script.
const SOURCE_BYTES_MAX: u64 = 1024 * 1024;

/// A script as routes have it.
pub struct LuauScript {
    code: Arc<ScriptCode>,
    hooks: Vec<ScriptHook>,
    settings: LuauSettings,
}

/// Verdict of a hook about a request.
#[derive(Debug)]
pub struct RequestVerdict {
    /// True if the hook set another path.
    pub is_moved: bool,
    /// The answer that it gave, if it did.
    pub answer: Option<Box<ScriptAnswer>>,
    /// Why it did not end well.
    pub failure: Option<ScriptFailure>,
}

/// Verdict of a hook about a DNS question.
#[derive(Debug)]
pub struct QueryVerdict {
    /// The answer that it gave, if it did.
    pub answer: Option<QueryAnswer>,
    /// Why it did not end well.
    pub failure: Option<ScriptFailure>,
}

impl LuauScript {
    /// Opens the script of a place as [`LuauScript::open`] does; one without a hook of that place
    /// is refused. Complaints have paths relative to the place.
    pub fn open_at(
        place: ScriptPlace,
        choice: &LuauChoice,
        base: &Path,
        log: &ScriptLog,
        before: Option<&Self>,
    ) -> Result<Self, Complaint> {
        let opened = Self::open(&choice.settings(), base, log, before);
        let script = opened.map_err(|why| why.under("script"))?;
        if !place.hooks().iter().any(|hook| script.has(*hook)) {
            let known: Vec<&str> = place.hooks().iter().map(|hook| hook.name()).collect();
            let (name, place) = (script.name(), place.name());
            let message = format!("{name} defines no hook that {place} calls");
            return Err(Complaint::new("script", message)
                .remedy(format!("define a function of these: {}", known.join(", "))));
        }
        Ok(script)
    }

    /// Reads the script of these settings, a relative file from `base`, compiles it and runs its
    /// own lines once, to know its hooks. `before` is what stood in its place: an unchanged one is
    /// kept with its globals, and a changed one keeps what was shared.
    pub fn open(
        settings: &LuauSettings,
        base: &Path,
        log: &ScriptLog,
        before: Option<&Self>,
    ) -> Result<Self, Complaint> {
        let path = base.join(&settings.file);
        let cannot = |why: &dyn fmt::Display| {
            Complaint::new("", format!("{} cannot be read: {why}", path.display()))
                .remedy("name a file of Luau below the configuration's folder, or by its full path")
        };
        let length = std::fs::metadata(&path).map_err(|why| cannot(&why))?.len();
        if length > SOURCE_BYTES_MAX {
            return Err(cannot(&format!("it has {length} bytes, and at most 1 MiB is read")));
        }
        let source = std::fs::read(&path).map_err(|why| cannot(&why))?;
        Self::compile(settings, &source, log, before)
    }

    /// The same from a text.
    pub fn compile(
        settings: &LuauSettings,
        source: &[u8],
        log: &ScriptLog,
        before: Option<&Self>,
    ) -> Result<Self, Complaint> {
        let name = settings.file.clone();
        let compiler = Compiler::new().set_optimization_level(2).set_debug_level(1);
        let bytecode = compiler.compile(source).map_err(|why| {
            let why = ScriptFailure::of(&why);
            let place = why.message.trim_start_matches(|it: char| !it.is_ascii_digit());
            Complaint::new("", format!("{name}:{place}"))
        })?;
        let before = before.filter(|before| before.code.name == name);
        if let Some(before) = before
            && before.code.bytecode == bytecode
            && before.settings == *settings
        {
            return Ok(before.clone());
        }
        let before = before.map(|before| &before.code);
        let code = Arc::new(ScriptCode {
            number: ScriptCode::next_number(),
            log: LimitedLog::new(format!("script {name}"), log),
            name,
            bytecode,
            time_limit: settings.time_limit.0.0,
            interval: settings.timer.0.0,
            timer: OnceLock::new(),
            shared: before.map_or_else(Arc::default, |before| Arc::clone(&before.shared)),
            counters: before.map_or_else(Arc::default, |before| Arc::clone(&before.counters)),
        });
        let loaded = ScriptMachine::new()
            .map_err(|why| ScriptFailure::of(&why))
            .and_then(|mut machine| machine.load(&code));
        let hooks = loaded.map_err(|why| Complaint::new("", why.message))?;
        if hooks.is_empty() {
            let known = ScriptHook::ALL.map(ScriptHook::name).join(", ");
            return Err(Complaint::new("", format!("{} defines no hook", code.name))
                .remedy(format!("define a function of these: {known}")));
        }
        Ok(Self { code, hooks, settings: settings.clone() })
    }

    /// True if the script has this hook.
    pub fn has(&self, hook: ScriptHook) -> bool {
        self.hooks.contains(&hook)
    }

    /// Variables for one request, which its hooks keep for each other.
    pub fn variables(&self) -> ScriptVariables {
        ScriptVariables::for_hooks(&self.hooks)
    }

    /// The name of its file, as it is set.
    pub fn name(&self) -> &str {
        &self.code.name
    }

    /// True if it is the same text, compiled at the same time.
    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.code, &other.code)
    }

    /// Treatment of a request whose hook fails.
    pub const fn on_error(&self) -> OnScriptError {
        self.settings.on_error
    }

    /// The counts by now.
    pub fn counts(&self) -> ScriptCounts {
        self.code.counts()
    }

    /// Calls `on_request`, or `on_upstream` before a server is asked. The request is lent to the
    /// hook; where that fails, it is as far changed as the hook came.
    pub fn on_request(&self, hook: ScriptHook, request: &mut ScriptedRequest) -> RequestVerdict {
        let mut changes = RequestChanges::default();
        let outcome = machine::call(&self.code, hook, |machine, function| {
            let (made, outcome) = machine.call_with_request(function, hook, request);
            changes = made;
            outcome
        });
        self.code.note(&outcome);
        let RequestChanges { is_moved, answer } = changes;
        RequestVerdict { is_moved, answer, failure: outcome.err() }
    }

    /// Calls `on_query`.
    pub fn on_query(&self, query: &ScriptedQuery<'_>) -> QueryVerdict {
        let mut answer = None;
        let outcome = machine::call(&self.code, ScriptHook::Query, |machine, function| {
            let (given, outcome) = machine.call_with_query(function, query);
            answer = given;
            outcome
        });
        self.code.note(&outcome);
        QueryVerdict { answer, failure: outcome.err() }
    }

    /// Calls `on_decide`; the verdict that the script gave, if it did and ended well.
    pub(crate) fn on_decide(&self, ask: &Ask<'_>, verdict: Verdict) -> Option<GivenVerdict> {
        self.try_decide(ask, verdict).0
    }

    /// The same, with why it did not end well.
    pub(crate) fn try_decide(
        &self,
        ask: &Ask<'_>,
        verdict: Verdict,
    ) -> (Option<GivenVerdict>, Option<String>) {
        let mut given = None;
        let outcome = machine::call(&self.code, ScriptHook::Decide, |machine, function| {
            let (verdict, outcome) = machine.call_with_decision(function, ask, verdict);
            given = verdict;
            outcome
        });
        self.code.note(&outcome);
        match outcome {
            Ok(_) => (given, None),
            Err(why) => (None, Some(why.message)),
        }
    }

    /// Calls `on_response`. `asked` is what the answer is for, without its fields.
    pub fn on_response(
        &self,
        asked: &mut ScriptedRequest,
        response: &mut ScriptedResponse,
    ) -> Option<ScriptFailure> {
        let outcome = machine::call(&self.code, ScriptHook::Response, |machine, function| {
            machine.call_with_response(function, asked, response)
        });
        self.code.note(&outcome);
        outcome.err()
    }

    /// Calls `on_timer` from now on, the first time at once, on a thread of its own that ends with
    /// the script. Does nothing where the script has no such hook or a thread already.
    pub fn start_timer(&self, fetcher: &ScriptFetcher) -> io::Result<()> {
        if !self.has(ScriptHook::Timer) || self.code.timer.get().is_some() {
            return Ok(());
        }
        let timer = timer::start(&self.code, Arc::clone(fetcher))?;
        // A second one, started meanwhile, ends as it is dropped.
        let _ = self.code.timer.set(timer);
        Ok(())
    }

    /// Calls `on_log` with what became of a request. A failure is counted and named in the log, and
    /// changes nothing any more.
    pub fn on_log(&self, asked: &mut ScriptedRequest, entry: ScriptedLogEntry) {
        let outcome = machine::call(&self.code, ScriptHook::Log, |machine, function| {
            machine.call_with_entry(function, asked, entry)
        });
        self.code.note(&outcome);
    }
}

impl Clone for LuauScript {
    fn clone(&self) -> Self {
        let Self { code, hooks, settings } = self;
        Self { code: Arc::clone(code), hooks: hooks.clone(), settings: settings.clone() }
    }
}

impl fmt::Debug for LuauScript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LuauScript").field("name", &self.code.name).finish_non_exhaustive()
    }
}
