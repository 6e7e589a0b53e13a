//! The virtual machine of one core, in which all scripts of that core run.
//!
//! It is made when a request first meets a script there. One that ran out of memory is thrown away
//! whole, with the globals of all its scripts: the next call finds a new one.

use crate::code::ScriptCode;
use crate::deadline::HookDeadline;
use crate::decision::{DecisionObject, GivenVerdict};
use crate::environment::ScriptEnvironment;
use crate::failure::{FailureCause, ScriptFailure};
use crate::hook::ScriptHook;
use crate::log_entry::{LogEntryObject, ScriptedLogEntry};
use crate::query::{QueryAnswer, QueryObject, ScriptedQuery};
use crate::request::{RequestChanges, RequestObject, ScriptedRequest};
use crate::response::{ResponseObject, ScriptedResponse};
use foldhash::fast::RandomState;
use mlua::{AnyUserData, Function, Lua, LuaOptions, StdLib, Value};
use policy::{Ask, Verdict};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Bytes that all scripts of a core may hold.
const MEMORY_MAX: usize = 32 * 1024 * 1024;
/// Time for the lines outside of hooks, which run once a core and reload.
const LOAD_TIME_MAX: Duration = Duration::from_millis(100);
/// Time for one call of `on_timer`, which holds up nobody.
const TIMER_TIME_MAX: Duration = Duration::from_secs(1);
/// Functions that would lead out of a script's own environment, or load unchecked bytes.
const WITHHELD: [&str; 4] = ["loadstring", "getfenv", "setfenv", "require"];

thread_local! {
    static MACHINE: RefCell<Option<ScriptMachine>> = const { RefCell::new(None) };
}

/// A virtual machine with the scripts that were met on its core.
pub(crate) struct ScriptMachine {
    lua: Lua,
    deadline: Rc<HookDeadline>,
    request: (RequestObject, AnyUserData),
    response: (ResponseObject, AnyUserData),
    query: (QueryObject, AnyUserData),
    decision: (DecisionObject, AnyUserData),
    entry: (LogEntryObject, AnyUserData),
    /// By number of the script; one that could not be loaded is not tried again.
    environments: HashMap<u64, Result<ScriptEnvironment, ScriptFailure>, RandomState>,
}

/// Calls a hook in the machine of this thread, by `run`; the time that was measured, zero for a
/// short one. Nothing is called where the script has no such hook.
pub(crate) fn call(
    code: &Arc<ScriptCode>,
    hook: ScriptHook,
    run: impl FnOnce(&ScriptMachine, &Function) -> mlua::Result<()>,
) -> Result<Duration, ScriptFailure> {
    MACHINE.with_borrow_mut(|slot| {
        let machine = match slot {
            Some(machine) => machine,
            None => slot.insert(ScriptMachine::new().map_err(|why| ScriptFailure::of(&why))?),
        };
        let outcome = machine.call(code, hook, run);
        if outcome.as_ref().is_err_and(|why| why.cause == FailureCause::MemoryLimit) {
            *slot = None;
        }
        outcome
    })
}

impl ScriptMachine {
    /// A machine without scripts.
    pub(crate) fn new() -> mlua::Result<Self> {
        let libraries = StdLib::TABLE
            | StdLib::STRING
            | StdLib::UTF8
            | StdLib::BIT
            | StdLib::MATH
            | StdLib::BUFFER
            | StdLib::OS
            | StdLib::COROUTINE;
        let lua = Lua::new_with(libraries, LuaOptions::new())?;
        for name in WITHHELD {
            lua.globals().raw_set(name, Value::Nil)?;
        }
        lua.sandbox(true)?;
        lua.set_memory_limit(MEMORY_MAX)?;
        let deadline = Rc::new(HookDeadline::default());
        let watched = Rc::clone(&deadline);
        lua.set_interrupt(move |lua| watched.check(lua));
        let (request, response) = (RequestObject::default(), ResponseObject::default());
        let request = (request.clone(), lua.create_userdata(request)?);
        let response = (response.clone(), lua.create_userdata(response)?);
        let query = QueryObject::default();
        let query = (query.clone(), lua.create_userdata(query)?);
        let decision = DecisionObject::default();
        let decision = (decision.clone(), lua.create_userdata(decision)?);
        let entry = LogEntryObject::default();
        let entry = (entry.clone(), lua.create_userdata(entry)?);
        let environments = HashMap::default();
        Ok(Self { lua, deadline, request, response, query, decision, entry, environments })
    }

    /// Loads a script; which hooks it has.
    pub(crate) fn load(
        &mut self,
        code: &Arc<ScriptCode>,
    ) -> Result<Vec<ScriptHook>, ScriptFailure> {
        let loaded = self.environment(code)?;
        let has = |hook: &ScriptHook| loaded.hook(*hook).is_some();
        Ok(ScriptHook::ALL.into_iter().filter(has).collect())
    }

    fn environment(&mut self, code: &Arc<ScriptCode>) -> Result<&ScriptEnvironment, ScriptFailure> {
        let (lua, deadline) = (&self.lua, &self.deadline);
        let load = || {
            deadline.begin(LOAD_TIME_MAX);
            let loaded = ScriptEnvironment::load(lua, code);
            loaded.map_err(|why| failure(deadline, &why))
        };
        if !self.environments.contains_key(&code.number) {
            self.environments.retain(|_, it| it.as_ref().is_ok_and(|it| !it.is_unused()));
            // What the scripts of before held is given back before the new ones fill up.
            let _ = lua.gc_collect();
        }
        let kept = self.environments.entry(code.number).or_insert_with(load);
        kept.as_ref().map_err(Clone::clone)
    }

    fn call(
        &mut self,
        code: &Arc<ScriptCode>,
        hook: ScriptHook,
        run: impl FnOnce(&Self, &Function) -> mlua::Result<()>,
    ) -> Result<Duration, ScriptFailure> {
        let Some(function) = self.environment(code)?.hook(hook).cloned() else {
            return Ok(Duration::ZERO);
        };
        let is_timer = hook == ScriptHook::Timer;
        self.deadline.begin(if is_timer { TIMER_TIME_MAX } else { code.time_limit });
        match run(self, &function) {
            Ok(()) => Ok(self.deadline.used()),
            Err(why) => Err(failure(&self.deadline, &why)),
        }
    }

    /// Calls a function with a request, which is lent to it; what the script decided about it.
    pub(crate) fn call_with_request(
        &self,
        function: &Function,
        hook: ScriptHook,
        request: &mut ScriptedRequest,
    ) -> (RequestChanges, mlua::Result<()>) {
        let (held, object) = &self.request;
        held.lend(hook, request);
        let outcome = function.call::<()>(object);
        (held.take_back(request), outcome)
    }

    /// Calls `on_query` with a question; the answer that the script gave.
    pub(crate) fn call_with_query(
        &self,
        function: &Function,
        query: &ScriptedQuery<'_>,
    ) -> (Option<QueryAnswer>, mlua::Result<()>) {
        let (held, object) = &self.query;
        held.lend(query);
        let outcome = function.call::<()>(object);
        (held.take_back(), outcome)
    }

    /// Calls `on_decide` with a request; the verdict that the script gave.
    pub(crate) fn call_with_decision(
        &self,
        function: &Function,
        ask: &Ask<'_>,
        verdict: Verdict,
    ) -> (Option<GivenVerdict>, mlua::Result<()>) {
        let (held, object) = &self.decision;
        held.lend(ask, verdict);
        let outcome = function.call::<()>(object);
        (held.take_back(), outcome)
    }

    /// Calls `on_response` with an answer and what it is for.
    pub(crate) fn call_with_response(
        &self,
        function: &Function,
        asked: &mut ScriptedRequest,
        response: &mut ScriptedResponse,
    ) -> mlua::Result<()> {
        let ((asked_held, asked_object), (held, object)) = (&self.request, &self.response);
        asked_held.lend(ScriptHook::Response, asked);
        held.lend(response);
        let outcome = function.call::<()>((object, asked_object));
        asked_held.take_back(asked);
        held.take_back(response);
        outcome
    }

    /// Calls `on_log` with what became of a request.
    pub(crate) fn call_with_entry(
        &self,
        function: &Function,
        asked: &mut ScriptedRequest,
        entry: ScriptedLogEntry,
    ) -> mlua::Result<()> {
        let ((asked_held, asked_object), (held, object)) = (&self.request, &self.entry);
        asked_held.lend(ScriptHook::Log, asked);
        held.lend(entry);
        let outcome = function.call::<()>((object, asked_object));
        asked_held.take_back(asked);
        held.take_back();
        outcome
    }
}

/// Environments in the machine of this thread, and the bytes that it holds.
#[cfg(test)]
pub(crate) fn held_here() -> (usize, usize) {
    MACHINE.with_borrow(|slot| {
        slot.as_ref().map_or((0, 0), |it| (it.environments.len(), it.lua.used_memory()))
    })
}

fn failure(deadline: &HookDeadline, why: &mlua::Error) -> ScriptFailure {
    let mut failure = ScriptFailure::of(why);
    if deadline.is_over() {
        failure.cause = FailureCause::TimeLimit;
    }
    failure
}
